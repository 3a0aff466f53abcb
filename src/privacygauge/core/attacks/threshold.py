"""The threshold attack on one signal (Song & Mittal 2021, section 3.1), and a fair coin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core import checks
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut, best_threshold, learn_thresholds


@dataclass(frozen=True)
class Threshold:
    """Guess "member" if a signal is at least the threshold that is best on shadow records."""

    signal: str
    """Name of the signal in the observation."""
    per_class: bool = True
    """Whether each class has its own threshold; otherwise all classes share one."""

    @property
    def name(self) -> str:
        """Name of the signal: metric attacks are named by their metric."""
        return self.signal

    variant = ""

    @property
    def thresholds(self) -> str:
        """``per-class`` or ``global``."""
        return "per-class" if self.per_class else "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the signal (one threshold), or the signal minus its class's threshold.

        Guesses are the same either way: the difference is at least 0 exactly if the signal reaches
        the threshold.
        """
        shadow = observation.shadow_with(self.signal, self.name)
        if isinstance(shadow, Skipped):
            return shadow
        known = shadow.signals[self.signal]
        values = observation.signals[self.signal]
        if not self.per_class:
            overall = best_threshold(known[shadow.member], known[~shadow.member])
            return Scores(values, Cut(overall, "learnt on records with known membership"))
        learnt = learn_thresholds(known, shadow.member, shadow.stratum, observation.n_classes)
        # Only classes that targets have are worth a note.
        missing = np.intersect1d(learnt.fell_back, observation.stratum)
        notes: tuple[str, ...] = ()
        if len(missing):
            notes = (
                f"{len(missing)} class(es) lack shadow members or shadow non-members and fall back "
                f"to the global threshold: {checks.short_list(missing.tolist())}",
            )
        margin = values - learnt.of(observation.stratum)
        return Scores(
            margin, Cut(0.0, "of each class, learnt on records with known membership"), notes
        )


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
