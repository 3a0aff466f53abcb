"""Naive Bayes for every metric: random submissions whose scores are sums over the examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from privacygauge.core.checks import Floats, Ints
from privacygauge.holdout.metrics import Metric, Values
from privacygauge.holdout.naive_bayes import ROWS, LabelSums, budget_of
from privacygauge.holdout.oracle import Holdout, Oracle
from privacygauge.holdout.queries import RandomQueries

_GROUPS = 15
"""Number of groups of numeric hidden values; odd, so that the median is one of them."""
_AT_ONCE = 2**23
"""Numbers that are submitted at a time."""


@dataclass(frozen=True, eq=False)
class LinearBayes:
    """The attack NB for any metric, for an attacker who knows the frequency of every hidden value.

    Each part of a submission is drawn uniformly from the metric's `moves`, so that a score is a
    sum over the examples of effects g(y, x), y the hidden value and x the move. All others' parts
    of it are noise of the variance s^2, about normal, so k answers a_j multiply the odds of y by

        exp(sum over j of (a_j - mean) g(y, x_j)/s^2 - k/(2 s^2) mean over x of g(y, x)^2),

    g centred over the moves. The answer is what scores best if each example's hidden value has
    that posterior. It needs no access to the points and spends all of the oracle's budget. Memory:
    a few arrays of n times the number of hidden values or moves.

    Notes
    -----
    For a mean over the examples it is the attack on accuracies, `NaiveBayes`, with its odds to the
    first order. A guard's error adds to s^2. With a majority's weights, the sign of a_j less its
    median, it would be the attack of the source, at 2/pi of the submissions' worth.

    Sources
    -------
    Blum and Hardt, "The Ladder: a reliable leaderboard for machine learning competitions" (2015),
    Section 4; Feldman, Frostig and Hardt (2019), Algorithm 1.
    """

    metric: Metric
    """Metric of submissions."""
    values: Values
    """(v,) Distinguished hidden values: all classes, or ascending numbers."""
    counts: Ints
    """(v,) The number of examples with each."""

    name: ClassVar[str] = "nb"
    needs_points: ClassVar[bool] = False

    @classmethod
    def told(cls, holdout: Holdout) -> LinearBayes:
        """Return the attacker who knows only the frequency of every value in `holdout`.

        Numbers are known in fifteen groups of equal size, by their means.
        """
        if holdout.n_classes:
            counts = np.bincount(holdout.labels, minlength=holdout.n_classes)
            return cls(holdout.metric, np.arange(holdout.n_classes), counts)
        values, counts = np.unique(holdout.labels, return_counts=True)
        if len(values) > _GROUPS:
            groups = np.array_split(np.sort(holdout.labels), _GROUPS)
            values = np.array([group.mean() for group in groups])
            counts = np.array([len(group) for group in groups])
        return cls(holdout.metric, values, counts)

    def unaided(self) -> Values:
        """Return the best submission without any query: a constant, but for AUC."""
        n = int(self.counts.sum())
        return self._best(np.zeros((n, len(self._effects[0]))), 0, 0.0)

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Values:
        """Return predictions in the metric's form, (n,) or (n, columns), after the whole budget."""
        moves = self.metric.moves(len(self.values))
        queries = RandomQueries.drawn(oracle.n, len(moves), budget_of(oracle), rng)
        answers = np.empty(queries.k)
        block = max(1, _AT_ONCE // (oracle.n * moves[0].size))
        for start, codes in queries.blocks(block):
            answers[start : start + block] = oracle.submit_all(moves[codes.T])
        return self._best(_sums(queries, answers), queries.k, oracle.error)

    def expected(self, truth: Values, k: int, error: float, rng: np.random.Generator) -> float:
        """Return the expected final score after k answers with such an `error`.

        One draw of it: the sums of answers by move are drawn from the normal distribution that they
        have about, in place of asking.
        """
        midpoints = np.asarray((self.values[1:] + self.values[:-1]) / 2, np.float64)
        # Each example takes the nearest of the values.
        of = np.searchsorted(midpoints, truth)
        effects = self._effects
        spread = self._spread(error)
        noise = rng.normal(size=(len(truth), effects.shape[1]))
        noise -= noise.mean(axis=1, keepdims=True)
        share = k / effects.shape[1]
        sums = share * effects[of] + np.sqrt(share * spread) * noise
        return self.metric.score(self._best(sums, k, error), truth)

    def _best(self, sums: Floats, k: int, error: float) -> Values:
        """Return the best answer to sums of the centred answers by move, (n, c)."""
        effects = self._effects
        sizes = (effects**2).mean(axis=1)
        with np.errstate(divide="ignore"):  # A class without examples.
            log_prior = np.log(self.counts / self.counts.sum())
        # Without any effect there is nothing to know.
        gained = (sums @ effects.T - k / 2 * sizes) / (self._spread(error) or 1.0)
        return self.metric.best(softmax(gained + log_prior, axis=1), self.values)

    @property
    def _effects(self) -> Floats:
        effects = self.metric.effects(self.values, self.counts)
        return np.asarray(effects - effects.mean(axis=1, keepdims=True))

    def _spread(self, error: float) -> float:
        """Return the variance of a random submission's answer."""
        return float(self.counts @ (self._effects**2).mean(axis=1)) + error**2


def _sums(queries: RandomQueries, answers: Floats) -> Floats:
    """Return for each point the sums of the answers less their mean, by move: (n, c)."""
    sums = np.zeros((queries.n, queries.m))
    brush = queries.brush()
    if not queries.k:
        return sums
    sums_of = LabelSums(answers - answers.mean(), queries.m)
    height = queries.tile[0]
    for start in range(0, queries.n, height):
        codes = brush.points(start, min(start + height, queries.n))
        for row in range(0, len(codes), ROWS):
            part = sums_of(codes[row : row + ROWS])
            sums[start + row : start + row + len(part)] = part
    return sums
