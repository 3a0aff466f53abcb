"""Macro F1, quadratic weighted kappa and R2: no means, with bounds for labels in random order.

Their bounds hold for a fixed submission and hidden values in random order, by the exchangeable
pairs of Chatterjee, "Stein's method for concentration inequalities" (2007), Theorem 1.5. Let f be
the sum over the examples of a(i, pi(i)), centred, with pi a random permutation. If the swap of two
random examples changes f by D, and the mean of D^2 over all pairs is at most 4 C/(n - 1) whatever
pi is, then f exceeds t with probability at most exp(-t^2/(2 C)).

For f = sum of u_i v_pi(i), the swap of i and j changes f by (u_i - u_j)(v_pi(i) - v_pi(j)), so C =
n var(u) R^2/2, with R the range of v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.leaderboards.metric_forms import (
    CELLS,
    Metric,
    Values,
    class_sizes,
)

_ROUNDS = 50
"""Largest number of steps towards the labels with the highest expected macro F1."""
_STEPS = (1.0, 0.5, 0.2, 0.05)
_LEAST = 1e-9
"""Smallest growth of an expected score, or spread of expected labels, that counts."""


def _variance_over_range(truth: Values) -> float:
    """Return n var(y)/R^2, with R the range of the hidden values: at most n/4."""
    y = truth.astype(np.float64)
    return float(len(y) * y.var() / np.ptp(y) ** 2)


@dataclass(frozen=True)
class _MacroF1(Metric):
    """The mean of the F1 of every class that occurs among the hidden or the submitted labels."""

    name = "macro-f1"
    like_share = False

    def score(self, submitted: Values, truth: Values) -> float:
        m = int(max(submitted.max(), truth.max())) + 1
        hits = np.bincount(truth[submitted == truth], minlength=m)
        called = np.bincount(submitted, minlength=m) + np.bincount(truth, minlength=m)
        return float((2 * hits[called > 0] / called[called > 0]).mean())

    def points(self, truth: Values) -> float:
        """Return the larger of 0.48 m^2/(sum of 1/p_c) and 0.65 (m/sum of p_c^-1/2)^2.

        p_c are the sizes of the m classes that occur, and submissions are of these alone. To first
        order (delta method) a label moves the score by (2 - F_c)/(m g_c) if it is right, else by
        -F_d/(m g_d), with d its class and g_c the number of hidden plus submitted labels of class
        c. Squared and added up, this is at most the sum of F (2 - F - F^2/2)/(m^2 g_c), and as g_c
        is at least p_c/(1 - F/2), at most 0.519/(m^2 p_c) for each class. The second form adds the
        standard deviations of the classes' F1, each with 0.65 p_c points as in the metric ``f1``.
        """
        size = class_sizes(truth)
        m = len(size)
        return float(
            max(0.48 * m**2 / (1 / size).sum(), 3 * 3**0.5 / 8 * (m / (size**-0.5).sum()) ** 2)
        )

    def tail(self, truth: Values) -> float:
        """Return the larger of two bounds for labels in random order.

        By exchangeable pairs: with weights w_c = 2/(m (p_c + q_c)), p_c hidden and q_c submitted
        labels of class c, a swap changes the score by at most A + B, for each of both examples w_c
        if the swap makes or breaks its right label; (A + B)^2 <= 2 A^2 + 2 B^2. Over all pairs this
        gives C = sum of w_c^2 (TP_c (n - 2 p_c) + q_c p_c)/n, which is largest at TP_c = q_c = p_c:
        sum of max(1 - s_c, s_c)/(m^2 p_c), with s_c = p_c/n. N = 1/(4 C).

        By Hoelder's inequality: as TP_c is drawn without replacement, F_c has the tail exp(-2 p_c
        e^2) of the metric ``f1``, and N = (m/sum of p_c^-1/2)^2.
        """
        size = class_sizes(truth)
        share = size / len(truth)
        pairs = len(size) ** 2 / (4 * (np.maximum(share, 1 - share) / size).sum())
        return float(max(pairs, (len(size) / (size**-0.5).sum()) ** 2))

    def chance(self, truth: Values) -> float:
        """Return 1/m, expected if each class is submitted as often as it occurs.

        The expected score, 2/(m n) times the sum of p_c q_c/(p_c + q_c), is concave in q and its
        derivatives are equal at q = p.
        """
        return 1 / len(class_sizes(truth))

    def effects(self, values: Values, counts: Ints) -> Floats:
        # Derivatives at a uniform draw, in which each class is submitted n/m times.
        called = counts + counts.sum() / len(values)
        expected = 2 * (counts / len(values)) / called
        return np.asarray((2 * np.eye(len(values)) - expected) / called / len(values))

    def best(self, belief: Floats, values: Values) -> Values:
        """Return labels whose expected F1, each class's by expected counts, rises no further.

        It starts from shares of labels that are the beliefs, which is best if nothing is known, and
        moves them towards the labels of the largest derivative. Examples left with several classes
        get one in proportion to their shares.
        """
        expected = belief.sum(axis=0)
        possible = expected > 0

        def ratios(shares: Floats) -> tuple[Floats, Floats]:
            called = np.where(possible, expected + shares.sum(axis=0), 1.0)
            return called, np.asarray(2 * (shares * belief).sum(axis=0) / called)

        shares = belief
        for _ in range(_ROUNDS):
            called, ratio = ratios(shares)
            slope = np.where(possible, (2 * belief - ratio) / called, -np.inf)
            target = np.eye(belief.shape[1])[slope.argmax(axis=1)]
            for step in _STEPS:
                moved = shares + step * (target - shares)
                if ratios(moved)[1].sum() > ratio.sum() + _LEAST:
                    shares = moved
                    break
            else:
                break
        # A fixed order, but not that of the examples: files of labels may be sorted.
        places = (np.random.default_rng(0).permutation(len(belief)) + 0.5) / len(belief)
        passed = (np.cumsum(shares, axis=1) < places[:, None]).sum(axis=1)
        return np.asarray(np.minimum(passed, belief.shape[1] - 1))


@dataclass(frozen=True)
class _QuadraticKappa(Metric):
    """Cohen's kappa with quadratic weights, of classes in their order; below 0 it is 0.

    With means and variances over the examples it is 2 cov(s, y)/(var(s) + var(y) + (mean(s) -
    mean(y))^2), Lin's concordance. Its chance is 0, expected of any fixed submission before values
    below 0 are scored 0.
    """

    name = "qwk"
    like_share = False
    clipped = True
    ordered = True

    def truth(self, values: ArrayLike, n_classes: int | None) -> tuple[Values, int]:
        labels, m = super().truth(values, n_classes)
        if len(class_sizes(labels)) < 2:
            raise InputError("labels must be of at least two classes: qwk compares their spread")
        return labels, m

    def score(self, submitted: Values, truth: Values) -> float:
        s = submitted - submitted.mean(dtype=np.float64)
        y = truth - truth.mean(dtype=np.float64)
        apart = float(submitted.mean(dtype=np.float64) - truth.mean(dtype=np.float64))
        return max(0.0, 2 * float(s @ y) / float(s @ s + y @ y + len(y) * apart**2))

    def points(self, truth: Values) -> float:
        """Return 0.39 n var(y)/R^2, for submissions within the range R of the hidden classes.

        By the delta method a label s_i moves kappa by 2 g_i/(n D), with D the denominator and g_i =
        (y_i - mean(y)) - kappa (s_i - mean(y)). The g_i^2 add up to n var(y)(1 - kappa^2) and are
        at most R^2, the variances of labels are at most R^2/4 and on average at most var(s), and D
        is at least var(s) + var(y): the variance is at most 0.64 R^2/(n var(y)).
        """
        return 25 / 64 * _variance_over_range(truth)

    def tail(self, truth: Values) -> float:
        """Return n var(y)/(2 R^2), for labels in random order, with R the range of those hidden.

        The denominator D >= var(s) + var(y) does not depend on the order, and by exchangeable pairs
        the sum of s_i y_pi(i) has C = n var(s) R^2/2. So kappa = 2 cov/D has C = 2 var(s) R^2/(n
        D^2) <= R^2/(2 n var(y)).
        """
        return _variance_over_range(truth) / 2

    def effects(self, values: Values, counts: Ints) -> Floats:
        n = counts.sum()
        mean = counts @ values / n
        spread = counts @ (values - mean) ** 2 / n
        # Derivatives at a uniform draw of labels.
        moves = values - values.mean()
        denominator = moves.var() + spread + (values.mean() - mean) ** 2
        return np.asarray(2 * np.outer(values - mean, moves) / (n * denominator))

    def best(self, belief: Floats, values: Values) -> Values:
        """Return expected labels, stretched to the spread of the hidden ones and rounded.

        kappa of mean + a (expected - mean) is largest where both spreads are equal.
        """
        expected = belief @ values
        mean = expected.mean()
        spread = expected.var()
        whole = (belief @ values.astype(np.float64) ** 2).mean() - mean**2
        stretch = math.sqrt(whole / spread) if spread > _LEAST else 1.0
        found = np.rint(mean + stretch * (expected - mean))
        return np.asarray(np.clip(found, 0, values[-1]).astype(np.int64))


@dataclass(frozen=True)
class _RSquared(Metric):
    """1 minus the squared error over that of the hidden values' mean; below 0 it is 0."""

    name = "r2"
    form = "f"
    numbers = True
    like_share = False
    clipped = True

    def truth(self, values: ArrayLike, n_classes: int | None) -> tuple[Values, int]:
        found, _ = super().truth(values, n_classes)
        with np.errstate(over="ignore"):
            if not 0 < np.ptp(found) ** 2 * len(found) < math.inf:
                raise InputError(
                    "labels must differ, by less than 1e150: r2 compares with their spread"
                )
        return found, 0

    def score(self, submitted: Values, truth: Values) -> float:
        with np.errstate(over="ignore"):
            error = float(((submitted - truth) ** 2).sum())
        y = truth - truth.mean(dtype=np.float64)
        return max(0.0, 1 - error / float(y @ y))

    def equivalent(self, submitted: Values, truth: Values) -> Values:
        with np.errstate(over="ignore"):
            return np.asarray(np.rint((submitted - truth.min()) / np.ptp(truth) * CELLS))

    def points(self, truth: Values) -> float:
        """Return n var(y)/(4 R^2), for errors within the range R of the hidden numbers.

        A squared error in [0, R^2] has variance at most R^2 times its mean, and these means add up
        to (1 - S) n var(y): the variance of S is at most R^2/(n var(y)).
        """
        return _variance_over_range(truth) / 4

    def tail(self, truth: Values) -> float:
        """Return n var(y)/(2 R^2), for hidden numbers in random order, with R their range.

        R2 >= e requires 2 cov(s, y) >= var(s) + e var(y). By exchangeable pairs with C = n var(s)
        R^2/2 this has probability at most exp(-n (var(s) + e var(y))^2/(4 var(s) R^2)), which is
        largest at var(s) = e var(y): exp(-n e var(y)/R^2), and e is at least e^2.
        """
        return _variance_over_range(truth) / 2

    def moves(self, values: Values, counts: Ints) -> Values:
        """Return the mean less and plus a standard deviation over the root of n.

        Numbers further from the mean have an R2 below 0, which is shown as 0.
        """
        n = counts.sum()
        mean = counts @ values / n
        return np.asarray(mean + np.array([-1, 1]) * math.sqrt(counts @ (values - mean) ** 2) / n)

    def effects(self, values: Values, counts: Ints) -> Floats:
        mean = counts @ values / counts.sum()
        off = (self.moves(values, counts) - values[:, None]) ** 2
        return np.asarray(-off / (counts @ (values - mean) ** 2))


MACRO_F1: Metric = _MacroF1()
QUADRATIC_KAPPA: Metric = _QuadraticKappa()
R_SQUARED: Metric = _RSquared()
