"""Results of played attacks: the game, its records, the evaluations and answers to three questions.

An audit of the average alone calls a release safe even if its model has memorised ten records. The
tests of few records and of groups spend a quarter of the verdict's error each, the average two
fifths (one side of its two-sided intervals). All are jointly valid at the level of the audit,
whatever their dependence; the last tenth is for reasons that raise a grade although the average
shows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.detectable import POWER, SHARE, smallest_average
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.group_ranks import RankedGroup
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.slices import Slice, SliceTable
from privacygauge.evaluate.tail import Tail, smallest_tail, tail
from privacygauge.evaluate.vulnerability import Vulnerability


@dataclass(frozen=True)
class GameDescription:
    """The game that was played, as reports describe it."""

    name: str
    """Short name, as in docs/attacks.md."""
    question: str
    """The adversary's question, as reports print it."""
    adversary: str
    """The adversary's access and resources, as reports print them."""
    secret: str
    """Origin of the secret bits: drawn by fair coins, or given with the data."""
    thresholds: str
    """Rows on which thresholds were learnt, as reports print them."""
    n_in: int
    """Members among the targets."""
    n_out: int
    """Non-members among the targets."""


@dataclass(frozen=True, eq=False)
class Records:
    """Scores and guesses per target, one row each."""

    ids: NDArray[Any]
    """(n,) Ids given by the user, or row numbers in the user's file."""
    member: Bools
    """(n,) True for a member."""
    scores: Mapping[str, Floats]
    """(n,) scores by attack title; higher means more likely a member."""
    guesses: Mapping[str, Bools]
    """(n,) guesses by attack title; True for "member"."""
    risk: Floats | None = None
    """(n,) Privacy risk score at even odds, in [0, 1]; None if none was estimated."""
    contents: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns of the user's data; empty unless the user asked for them."""
    unit: Ints | None = None
    """(n,) Person behind each record; None if all are different people."""
    people: NDArray[Any] | None = None
    """(n,) Name of the person behind each record, as the user gave it; None if none was given."""
    vulnerability: Vulnerability | None = None
    """Vulnerability from models with and without each record; None if none were compared."""
    compared: Bools | None = None
    """(n,) True for the records that ROC curves and rates count; None if they count all."""

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns ``member``, ``score:TITLE`` and ``guess:TITLE`` of every attack, and ``risk``.

        Where ROC curves and rates leave records out, ``compared`` says which they count. The risk
        is NaN throughout if none was estimated. If models with and without the records were
        compared, `Vulnerability.columns` follow.
        """
        return {
            "member": self.member,
            **({} if self.compared is None else {"compared": self.compared}),
            **{f"score:{title}": score for title, score in self.scores.items()},
            **{f"guess:{title}": guess for title, guess in self.guesses.items()},
            "risk": np.full(len(self.member), np.nan) if self.risk is None else self.risk,
            **({} if self.vulnerability is None else self.vulnerability.columns),
        }


@dataclass(frozen=True, eq=False)
class Attacks:
    """Attacks evaluated on the same units, with the headline of the verdict."""

    game: GameDescription
    """The game, with its numbers of members and non-members."""
    evaluations: tuple[Evaluation, ...]
    """One per attack, in the order of the suite."""
    headline: Headline
    """The result that the verdict is based on."""
    level: float
    """Level of every interval, in (0, 1)."""
    groups: tuple[Slice, ...] = ()
    """Groups of records that are significantly more exposed than the rest."""
    questions: Questions | None = None
    """Results for few records and for groups; None if only the average is in question."""

    @property
    def best(self) -> Evaluation:
        """The strongest attack."""
        return self.headline.attack


@dataclass(frozen=True)
class Detectable:
    """Smallest leaks that the same audit would detect with its power, one per question."""

    average: float | None
    """Balanced accuracy of the best threshold, in (1/2, 1]; None if none is detectable."""
    records: int | None
    """Fully exposed members, with scores above all others; None if not even all are detectable."""
    group: int | None
    """Records in a fully exposed group, half of them members; None if no group was tested or none
    is detectable."""
    n_in: int
    """Number of independent members."""
    n_out: int
    """Number of independent non-members."""
    power: float = POWER
    """Share of audits that would detect such a leak, in (0, 1)."""


@dataclass(frozen=True)
class Questions:
    """Results for few records and for groups, and the smallest detectable leaks."""

    tail: Tail | None
    """Test of few records; None if there are too few records to show anything."""
    groups: tuple[Slice, ...]
    """Groups shown to be more exposed than the rest, by descending exposure."""
    detectable: Detectable
    """Smallest leaks that this audit would have detected."""
    below: int = 0
    """Lower bound on the number of members with scores below all other records, beyond chance; 0
    if some stand out above the others."""
    group_below: RankedGroup | None = None
    """The group whose members rank below its non-members, worse than by chance."""

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
    """Test few records and groups, and compute the smallest detectable leaks.

    Parameters
    ----------
    played : sequence of (str, Transcript)
        Titles and scores of all attacks, on the same rows.
    slices : SliceTable or None
        Groups of the records, at the same level; None if there are none.
    rng : numpy.random.Generator
        Permutes the secret for the test of few records.
    each : float
        Level of each single attack's interval (`Headline.each`).
    level : float
        Level of the whole verdict, in (0, 1).
    handicaps : mapping of str to float, optional
        Factors on p-values by attack title, as in `tail`.
    """
    checks.level(level)
    rows = played[0][1]
    # The search for a few members takes a quarter of the error rate of the verdict.
    of_few = 1 - SHARE * (1 - level)
    found = tail(played, rng, of_few, handicaps=handicaps)
    # Members below all others are looked for only where none stand out above them: one leak is
    # enough for a verdict, and each look costs a share of the error.
    beneath = None
    if found is not None and not found.shown and not found.apart:
        turned = [(title, replace(one, score=-one.score)) for title, one in played]
        beneath = tail(turned, rng, of_few, handicaps=handicaps)
    shown = () if slices is None else slices.shown
    # Rows of one unit count once.
    n_in, n_out = rows.independent
    detectable = Detectable(
        average=smallest_average(n_in, n_out, each),
        records=None if found is None else smallest_tail(found),
        group=None if slices is None else slices.smallest,
        n_in=n_in,
        n_out=n_out,
    )
    return Questions(
        tail=found,
        groups=shown,
        detectable=detectable,
        below=0 if beneath is None else beneath.exposed,
        group_below=None if slices is None else slices.below,
    )
