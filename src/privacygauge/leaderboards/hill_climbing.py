"""Hill climbing: random changes of the best submission, kept where the shown score rises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import norm

from privacygauge.core.checks import Floats, Ints
from privacygauge.leaderboards.naive_bayes import budget_of
from privacygauge.leaderboards.oracle import Oracle
from privacygauge.leaderboards.priors import Informed, Knowledge

_SIZES = 60
"""Number of sizes of a change among which one is chosen, in even ratios."""


@dataclass(frozen=True)
class HillClimbing(Informed):
    """Changes some random labels of the best submission, and keeps them if the answer rises.

    Random labels differ in accuracy by about the root of the number that changed, which a Ladder
    takes for progress once in a few submissions. How many labels change follows from what the guard
    asks for before it shows a rise (`Oracle.points_to_rise`) and from the accuracy on display: the
    number whose expected shown gain is largest. The points must keep their positions.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; by default random labels."""

    name: ClassVar[str] = "hill-climbing"

    needs_points = True

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Ints:
        """Return labels, (n,), after the whole budget."""
        left = budget_of(oracle)
        if self.knowledge is None:
            n = oracle.n
            m = oracle.n_classes
            codes = rng.integers(0, m, n)
            candidates = np.broadcast_to(np.arange(m), (n, m))
            points = np.arange(n)
            labels = codes.copy()
            right = 1 / m
            known = 1.0
        else:
            candidates = self.knowledge.candidates.astype(np.int64)
            points = self.knowledge.points
            codes = np.zeros(len(points), np.int64)
            labels = self.knowledge.base.astype(np.int64)
            right = float(np.exp(self.knowledge.log_prior[:, 0]).mean())
            known = self.knowledge.mass
        if left == 0 or not len(points):
            return labels
        r = candidates.shape[1]
        shown = oracle.submit(labels)
        for _ in range(left - 1):
            wrong_to_right = (known - right) / (r - 1)
            size = _best_change(oracle, len(points), lost=right, won=wrong_to_right)
            chosen = rng.choice(len(points), size, replace=False)
            tried = codes.copy()
            tried[chosen] = (tried[chosen] + rng.integers(1, r, size)) % r
            after = labels.copy()
            after[points[chosen]] = candidates[chosen, tried[chosen]]
            answer = oracle.submit(after)
            if answer > shown:
                right = min(known, right + (answer - shown) * oracle.n / len(points))
                codes = tried
                labels = after
                shown = answer
        return labels


def _best_change(oracle: Oracle, n_points: int, lost: float, won: float) -> int:
    """Return the number of random changes whose expected shown gain is largest.

    Parameters
    ----------
    oracle : Oracle
    n_points : int
        Number of points that may change.
    lost, won : float
        Probabilities that a changed label was right, and that it becomes right.
    """
    sizes: Ints = np.unique(np.geomspace(1, n_points, _SIZES).astype(np.int64))
    moved: Floats = np.asarray(sizes * (lost + won), np.float64)
    middle = sizes * (won - lost)
    # Points are drawn without replacement: to change all of them leaves nothing to chance.
    spread = (moved - sizes * (won - lost) ** 2) * (1 - sizes / (n_points + 1))
    deviation = np.sqrt(np.maximum(spread, 1e-12))
    z = (oracle.points_to_rise(moved) - middle) / deviation
    # Mean of the part of a normal variable above what shows.
    gain: Floats = middle * norm.sf(z) + deviation * norm.pdf(z)
    return int(sizes[np.argmax(gain)])
