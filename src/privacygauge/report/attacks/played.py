"""The attacks that are spoken of: on one kind of units, all judged on the same ones."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.findings import GameDescription, Headline
from privacygauge.evaluate.slices import Slice


@dataclass(frozen=True, eq=False)
class Attacks:
    """Attacks that were judged on the same units, and what to speak of."""

    game: GameDescription
    """What was played, with the number of members and non-members."""
    evaluations: tuple[Evaluation, ...]
    """One an attack, in the order of the suite."""
    headline: Headline
    """What the verdict speaks of."""
    level: float
    """Of every interval."""
    groups: tuple[Slice, ...] = ()
    """Groups of records that are more exposed than the others, beyond doubt."""

    @property
    def best(self) -> Evaluation:
        """The attack that came furthest."""
        return self.headline.attack
