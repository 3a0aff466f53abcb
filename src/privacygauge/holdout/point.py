"""NB at a single point, simulated exactly without a test set or a matrix of queries.

Given the accuracies, a point's k query labels are independent, right with probability a_j and
otherwise uniform on the wrong labels (Lemma 4.1); and each accuracy is Bin(n, 1/m)/n. So one
point of a test set of any size costs k draws.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import share
from privacygauge.holdout.naive_bayes import argmax_random_ties, label_sums, log_odds

# Labels drawn at a time.
_BATCH = 1_000_000


def simulate_point(
    n: int, m: int, k: int, points: int, rng: np.random.Generator, *, level: float = 0.95
) -> Estimate:
    """Return the expected bias above 1/m of NB, from independent plays of one point.

    Parameters
    ----------
    n, m, k : int
        Points of the test set, classes and queries.
    points : int
        Plays, each with accuracies of its own; at least 1.
    rng : numpy.random.Generator
    level : float, default 0.95
        Level of the Clopper-Pearson interval.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Lemma 4.1.
    """
    if min(n, k, points) < 1 or m < 2:
        raise InputError(f"n, k and points must be at least 1 and m 2, got {n}, {k}, {points}, {m}")
    batch = max(1, _BATCH // max(k, m))
    wins = 0
    for start in range(0, points, batch):
        size = (min(batch, points - start), k)
        # The right label is 0: labels are exchangeable.
        accuracies = rng.binomial(n, 1 / m, size) / n
        right = rng.random(size) < accuracies
        labels = np.where(right, 0, rng.integers(1, m, size))
        sums = label_sums(labels, log_odds(accuracies, m), m)
        wins += int(np.count_nonzero(argmax_random_ties(sums, rng) == 0))
    found = share(wins, points, level)
    return replace(
        found,
        value=found.value - 1 / m,
        low=found.low - 1 / m,
        high=found.high - 1 / m,
        method=f"exact simulation of one point, {found.method}",
    )
