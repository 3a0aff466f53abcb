"""Results of played attacks: the game, its records and their evaluations."""

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
    """The game that was played, in words for the reader."""

    name: str
    """Short name, as in docs/attacks.md."""
    question: str
    """The adversary's question, as reports print it."""
    adversary: str
    """The adversary's access and resources, as reports print them."""
    secret: str
    """Origin of the secret bits: drawn by coins, or given with the data."""
    thresholds: str
    """Rows on which thresholds were learnt, as reports print them."""
    n_in: int
    """Members among the targets."""
    n_out: int
    """Non-members among the targets."""


@dataclass(frozen=True, eq=False)
class Records:
    """One row for every target."""

    ids: NDArray[Any]
    """(n,) The user's ids, or row numbers in the user's file."""
    member: Bools
    """(n,) True for a member."""
    scores: Mapping[str, Floats]
    """Attack title to (n,) scores; higher means more likely a member."""
    guesses: Mapping[str, Bools]
    """Attack title to (n,) guesses."""
    risk: Floats | None = None
    """(n,) Privacy risk score at even odds, in [0, 1]."""
    contents: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns of the user's data; filled only when the user asked for them."""
    unit: Ints | None = None
    """(n,) Person behind each record; None where all are different people."""
    vulnerability: Vulnerability | None = None
    """Vulnerability from models with and without each record; None where none were compared."""

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """Membership, ``score:TITLE`` and ``guess:TITLE`` of every attack, and the risk.

        The risk is missing throughout where none was estimated. Where models with and without the
        records were compared, `Vulnerability.columns` follow.
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
    """Results that the verdict is based on."""
    level: float
    """Level of every interval, in (0, 1)."""
    groups: tuple[Slice, ...] = ()
    """Groups of records that are significantly more exposed than the others."""
    questions: Questions | None = None
    """Results for few records and for groups; None where only the average is in question."""

    @property
    def best(self) -> Evaluation:
        """The strongest attack."""
        return self.headline.attack
