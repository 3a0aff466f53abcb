"""The questions that one verdict answers: the average, few records and groups, with their power.

An audit that looks at the average alone calls a release safe even if its model has memorised ten
records. Few records and groups have a quarter of the verdict's error each, the average two fifths,
as one side of its two-sided intervals. All are jointly valid at the level of the audit, whatever
their dependence; the last tenth is for the reasons that raise a grade although the average shows
nothing.
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
    """The smallest leak that the same audit detects with its power, for each question."""

    average: float | None
    """Balanced accuracy of the best threshold, in (1/2, 1]; None where none is detectable."""
    records: int | None
    """Fully exposed members, above all other scores; None where not even all are detectable."""
    group: int | None
    """Records in a fully exposed group, half of them members; None where no group was tested, or
    none is detectable."""
    n_in: int
    """Independent members."""
    n_out: int
    """Independent non-members."""
    power: float = POWER
    """Share of audits that detect it, in (0, 1)."""


@dataclass(frozen=True)
class Questions:
    """Findings about few records and groups, and the smallest leaks that could have been shown."""

    tail: Tail | None
    """Test of few records; None where there are too few to show anything."""
    groups: tuple[Slice, ...]
    """Groups shown to be more exposed than the rest, the worst first."""
    detectable: Detectable
    """The smallest leaks that could have been shown."""

    @property
    def exposed(self) -> int:
        """Lower bound on the number of members that stand out."""
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
    """Test few records and groups, and find the smallest leaks that could have been shown.

    Parameters
    ----------
    played : sequence of (str, Transcript)
        Titles and scores of all attacks, on the same rows.
    slices : SliceTable or None
        Groups of the records, at the same level; None where none are given.
    rng : numpy.random.Generator
        Permutes the secret for the test of few records.
    each : float
        Level of each attack's interval (`Headline.each`).
    level : float
        Level of the whole verdict, in (0, 1).
    handicaps : mapping of str to float, optional
        Handicaps by attack title, as in `tail`.
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
