"""The attack that ignores the signal and flips a coin: the chance baseline of a game."""

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
    """Empty: there is only one form."""
    thresholds: str = "none"
    """``none``: no threshold is learnt."""

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores:
        """Return uniform scores, and the threshold 1/2 for a fair guess."""
        return Scores(rng.random(len(observation)), Cut(0.5, "of a fair coin"))
