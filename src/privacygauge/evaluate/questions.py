"""The questions that one verdict answers: the average, few records, groups; and what it could see.

An audit that looks at the average alone calls a release safe whose model knows ten records by
heart. Each question has a quarter of the verdict's error, the average as one side of its two-sided
intervals. All hold together at the level of the audit, however they depend on each other; the last
quarter is for the reasons that raise a grade in spite of an average that shows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core import checks
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.detectable import POWER, SHARE, smallest_average
from privacygauge.evaluate.slices import Slice, SliceTable
from privacygauge.evaluate.tail import Tail, smallest_tail, tail


@dataclass(frozen=True)
class Detectable:
    """The least that the same audit would show in four of five plays, question by question."""

    average: float | None
    """Balanced accuracy of the best threshold, in (1/2, 1]; None where nothing would be shown."""
    records: int | None
    """Members wholly exposed, above all other scores; None where not even all would be shown."""
    group: int | None
    """Records in a group whose members are all known for sure, as many members as others; None
    where no group was looked at, or none would be shown."""
    n_in: int
    """Independent members."""
    n_out: int
    """Independent non-members."""
    power: float = POWER
    """The share of audits in which it is shown."""


@dataclass(frozen=True)
class Questions:
    """What an audit shows beside the average, and the least that it could have shown."""

    tail: Tail | None
    """Few records; None where there are too few to show anything."""
    groups: tuple[Slice, ...]
    """Groups that are shown to be more exposed than the rest, the worst first."""
    detectable: Detectable
    """The least that could have been shown."""

    @property
    def exposed(self) -> int:
        """The number of members that are shown to stand out, at least."""
        return 0 if self.tail is None else self.tail.exposed


def answer_questions(
    played: Sequence[tuple[str, Transcript]],
    slices: SliceTable | None,
    rng: np.random.Generator,
    each: float,
    level: float = 0.95,
    *,
    handicaps: Mapping[str, float] | None = None,
) -> Questions:
    """Return what attacks show of few records and of groups, and what they could have shown.

    Parameters
    ----------
    played : sequence of (str, Transcript)
        Titles and scores of all attacks, on the same rows.
    slices : SliceTable or None
        Groups of the records, at the same level; None where there are none.
    rng : numpy.random.Generator
        Deals other bits for the test of few records.
    each : float
        The level of each attack's interval (`Headline.each`).
    level : float
        Of the whole verdict, in (0, 1).
    handicaps : mapping of str to float, optional
        Of attacks by their titles, as in `tail`.
    """
    checks.level(level)
    rows = played[0][1]
    found = tail(played, rng, 1 - SHARE * (1 - level), handicaps=handicaps)
    shown = () if slices is None else slices.shown
    n_in, n_out = rows.independent
    detectable = Detectable(
        average=smallest_average(n_in, n_out, each),
        records=None if found is None else smallest_tail(found),
        group=None if slices is None else slices.smallest,
        n_in=n_in,
        n_out=n_out,
    )
    return Questions(found, shown, detectable)
