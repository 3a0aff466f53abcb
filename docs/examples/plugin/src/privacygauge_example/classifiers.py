"""An attack, a signal, a defence and a model."""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.claims.defences.defence import FixedRule
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut


@dataclass(frozen=True)
class MeanConfidence:
    """Guess "member" where the confidence is above its mean on members."""

    name: str = "mean-confidence"
    variant: str = ""
    thresholds: str = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return each target's confidence, (n,)."""
        shadow = observation.shadow
        if shadow is None:
            return Skipped(self.name, "needs shadow records")
        cut = float(shadow.signals["confidence"][shadow.member].mean())
        return Scores(observation.signals["confidence"], Cut(cut, "mean of the shadow's members"))


def margin(p: pg.Predictions) -> np.ndarray:
    """Return the score of the true class less the largest of the others, (n,)."""
    true = np.eye(p.n_classes, dtype=bool)[p.labels]
    return p.values[true] - np.where(true, -np.inf, p.values).max(axis=1)


@dataclass(frozen=True)
class Damped(FixedRule):
    """Moves every answer a part of the way to equal probabilities."""

    part: float = 0.5
    """Part of the way, in [0, 1]."""

    name = "damped"
    variant_form = "part {part:g}"

    def answer(self, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the answers, (n, k)."""
        return (1 - self.part) * p + self.part / p.shape[1]


def stump(seed: int) -> DecisionTreeClassifier:
    """Return a tree of depth 1 that has not been trained."""
    return DecisionTreeClassifier(max_depth=1, random_state=seed)
