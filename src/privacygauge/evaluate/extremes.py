"""Rarity of values above all others, extrapolated from the tail of the others.

By ranks alone, many records must be exposed before it shows: the three highest scores may all be
members by chance. Their distance from all others carries more information.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import poisson

from privacygauge.core.checks import Floats

SURELY = 1e-3
"""Largest probability of as many such values by chance at which values stand apart."""

_TAIL = 0.1
"""Share of the values that the tail is fitted to, but at most `_MOST` values."""
_FEWEST = 20
"""Fewest values that a tail is fitted to."""
_MOST = 200
"""Most values that a tail is fitted to."""
_STANDARD_ERRORS = 2.0
"""Standard errors added to the fitted shape, so that the tail is not too light."""
_LIGHTEST = 0.05
"""Smallest shape of a tail; 0 would be exponential."""
_HEAVIEST = 0.5
"""Largest shape of a tail: a heavier one has infinite variance, its shape cannot be estimated by
moments, and no value stands out from it."""
_ENDING = -1.0
"""Smallest shape that is fitted: the uniform distribution."""
_COUNTS = (*range(2, 11), 12, 15, 20, 25, 50, 100)
"""Numbers of highest values to test, besides all values above the others."""


@dataclass(frozen=True)
class ParetoTail:
    """A generalised Pareto distribution of the values above a threshold.

    Notes
    -----
    Above a high threshold, the excess of independent values approximately has this distribution
    (Balkema and de Haan 1974, Pickands 1975). It is fitted by probability-weighted moments (Hosking
    and Wallis 1987), and its shape is then increased by two standard errors.
    """

    threshold: float
    share: float
    """Share of the values above the threshold, in (0, 1)."""
    scale: float
    shape: float

    @classmethod
    def of(cls, values: Floats, step: float | None = None) -> ParetoTail | None:
        """Fit the tail of values; None if too few lie in it, or all are equal without a `step`.

        Parameters
        ----------
        values : ndarray of float, shape (m,)
        step : float, optional
            Typical distance between values; gives a tail its scale if all values are equal.
        """
        ordered = np.sort(values)[::-1]
        n = min(int(_TAIL * len(ordered)), _MOST)
        if n < _FEWEST or not np.isfinite(ordered[[0, n]]).all():
            return None
        threshold = float(ordered[n])
        if ordered[0] == threshold:
            # The highest values are tied, as counts often are: lower the threshold to the next
            # value.
            threshold = float(ordered[ordered < threshold].max(initial=-np.inf))
        if not np.isfinite(threshold):
            few = 3 / len(ordered)  # with 95% confidence no more lie above (rule of three)
            return None if step is None else cls(float(ordered[0]), few, 2 * step, _HEAVIEST)
        excess = np.sort(ordered[ordered > threshold] - threshold)
        n = len(excess)
        share = n / len(ordered)
        mean = float(excess.mean())
        if n < _FEWEST:  # the threshold is a tie: too few above it to say how heavy their tail is
            return cls(threshold, share, mean * (1 - _ENDING), _HEAVIEST)
        # One minus the plotting positions (i - 0.35) / n of Hosking and Wallis, excesses ascending.
        place = 1 - (np.arange(1, n + 1) - 0.35) / n
        weighted = float(np.mean(place * excess))
        # Equal excesses, or a tail that ends at once, would give a shape without lower bound and a
        # scale without upper bound.
        apart = mean - 2 * weighted
        shape = max(2 - mean / apart, _ENDING) if apart > 0 else _ENDING
        heavier = max(shape + _STANDARD_ERRORS / np.sqrt(n), _LIGHTEST)
        if heavier > _HEAVIEST:
            return None
        # The scale that gives the mean excess at the fitted shape, before it was increased.
        return cls(threshold, share, mean * (1 - shape), heavier)

    def beyond(self, value: float) -> float:
        """Return the probability of exceeding `value`, which must be above the threshold."""
        excess = max(value - self.threshold, 0.0) / self.scale
        return float(self.share * (1 + self.shape * excess) ** (-1 / self.shape))


def standing_apart(
    values: Floats,
    others: Floats,
    *,
    times: float = 1.0,
    step: float | None = None,
    fewest: int = 3,
) -> tuple[int, float]:
    """Return how many of the highest values stand apart from all others, and the expected number.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        Values that may stand apart.
    others : ndarray of float, shape (m,)
        Values with the same distribution under the null hypothesis.
    times : float
        Draws per value in `values`, above 1 if each is the highest of several.
    step : float, optional
        Typical distance between values; without it, none stands apart from others that are all
        equal.
    fewest : int
        Fewest values that can stand apart, at least 2.

    Returns
    -------
    tuple of int and float
        The largest k such that the k highest values lie above all others and chance gives that many
        with a probability of at most `SURELY`, and the number expected by chance; (0, 0) if none.
    """
    tail = ParetoTail.of(others, step)
    highest = np.sort(values)[::-1]
    above = int(np.count_nonzero(highest > others.max(initial=-np.inf)))
    if tail is None or above < fewest:
        return 0, 0.0
    counts = [k for k in {*_COUNTS, above} if fewest <= k <= above]
    for k in sorted(counts, reverse=True):
        expected = len(values) * times * tail.beyond(float(highest[k - 1]))
        # Bonferroni over the numbers tried.
        if len(counts) * poisson.sf(k - 1, expected) <= SURELY:
            return k, expected
    return 0, 0.0
