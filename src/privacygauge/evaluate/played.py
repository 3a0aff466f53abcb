"""Results of played attacks: the game, its records and the evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.questions import Questions
from privacygauge.evaluate.slices import Slice
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
    vulnerability: Vulnerability | None = None
    """Vulnerability from models with and without each record; None if none were compared."""

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns ``member``, ``score:TITLE`` and ``guess:TITLE`` of every attack, and ``risk``.

        The risk is NaN throughout if none was estimated. If models with and without the records
        were compared, `Vulnerability.columns` follow.
        """
        return {
            "member": self.member,
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
