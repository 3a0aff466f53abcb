"""Thresholds and lines for tests of two counts, chosen on rows that no bound is taken on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from privacygauge.core.checks import Bools, Floats
from privacygauge.evaluate.two_rates import Line

_TRIED = 256
"""Thresholds that are tried from either end, and evenly in between."""

_CAUTION = 3.0
"""Standard deviations that are taken off: the best of many is not to be one that was lucky."""

_MIDDLE = 0.7
"""Added to a count of false positives: the median of a Poisson mean where none was seen."""

_LEAST_EPSILON = 0.05
"""No line is flatter than that of this epsilon."""

_FARTHEST = 8.0
"""Of a normal quantile."""


@dataclass(frozen=True)
class ChosenCut:
    """A threshold, and the line by which counts beyond it are ordered."""

    cut: float
    """Members are guessed where the score reaches it."""
    line: Line
    """Of the counts, or of the turned ones."""
    turned: bool = False
    """Whether epsilon shows in who was left out, below the threshold."""


def epsilon_cut(score: Floats, secret: Bools, delta: float) -> ChosenCut:
    """Return the threshold whose bound on epsilon is likely to be the largest on other rows.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
    secret : ndarray of bool, shape (n,)
        Some are members and some are not.
    delta : float
        In [0, 1).

    Notes
    -----
    ``log((TPR - delta) / FPR)`` less its distance from a limit three standard deviations away, by
    the observed counts; and the same for the other two rates.
    """
    inside, outside = np.sort(score[secret]), np.sort(score[~secret])
    upper, lower = _tried(inside), _tried(outside)
    of_in = _cautious(*_above(inside, upper), *_above(outside, upper), delta)
    of_out = _cautious(*_below(outside, lower), *_below(inside, lower), delta)
    turned = bool(of_out.max() > of_in.max())
    found, cuts = (of_out, lower) if turned else (of_in, upper)
    best = int(np.argmax(found))
    slope = math.exp(max(float(found[best]), _LEAST_EPSILON))
    return ChosenCut(float(cuts[best]), Line(slope, delta), turned)


def mu_line(score: Floats, secret: Bools, cut: float, mu: float) -> Line:
    """Return the tangent of the Gaussian curve of `mu` at the false-positive rate of a cut.

    Parameters
    ----------
    score, secret : ndarray, shapes (n,)
    cut : float
        The threshold.
    mu : float
        About what the counts will refute, at least 0.
    """
    outside = score[~secret]
    fpr = (np.count_nonzero(outside >= cut) + 0.5) / (len(outside) + 1)
    start = float(np.clip(ndtri(fpr), -_FARTHEST, _FARTHEST))
    slope = math.exp(-mu * start - mu * mu / 2)
    return Line(slope, float(ndtr(start + mu)) - slope * float(ndtr(start)))


def _tried(ascending: Floats) -> Floats:
    """Return values of a sample, close to each other at both ends, (c,)."""
    n = len(ascending)
    ends = np.geomspace(1, n, _TRIED) - 1
    places = np.concatenate([ends, n - 1 - ends, np.linspace(0, n - 1, _TRIED)])
    return np.unique(ascending[np.unique(places.round().astype(np.int64))])


def _above(ascending: Floats, cuts: Floats) -> tuple[Floats, int]:
    """Return how many values reach each cut, and of how many."""
    n = len(ascending)
    return (n - np.searchsorted(ascending, cuts, side="left")).astype(np.float64), n


def _below(ascending: Floats, cuts: Floats) -> tuple[Floats, int]:
    """Return how many values do not reach each cut, and of how many."""
    found = np.searchsorted(ascending, cuts, side="left").astype(np.float64)
    return found, len(ascending)


def _cautious(hits: Floats, n_in: int, false: Floats, n_out: int, delta: float) -> Floats:
    tpr = hits / n_in
    # The middle of what so few false positives may mean, and Clopper-Pearson's upper limit.
    fpr = (false + _MIDDLE) / n_out
    limit = betaincinv(false + 1, np.maximum(n_out - false, _MIDDLE), ndtr(_CAUTION))
    gain = tpr - delta
    shown = gain > 0
    gain = np.where(shown, gain, 1.0)
    spread = np.hypot(
        _CAUTION * np.sqrt(tpr * (1 - tpr) / n_in) / gain, np.log(np.maximum(limit / fpr, 1.0))
    )
    return np.where(shown, np.log(gain / fpr) - spread, -np.inf)
