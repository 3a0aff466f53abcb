"""The attack that ignores the signal and flips a coin: chance in the same game."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut


@dataclass(frozen=True)
class Coin:
    """Score every target at random."""

    name: str = "coin"
    """Name in tables."""
    variant: str = ""
    """There is one form only."""
    thresholds: str = "none"
    """Nothing is learnt."""

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores:
        """Return uniform scores and a fair guess from them."""
        return Scores(rng.random(len(observation)), Cut(0.5, "of a fair coin"))
