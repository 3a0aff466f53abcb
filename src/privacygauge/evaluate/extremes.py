"""Rarity of values beyond all others, extrapolated from the tail of the others.

Ranks alone need many exposed records: the three highest scores may all be members by chance. Their
distance from all others carries more information.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import poisson

from privacygauge.core.checks import Floats

SURELY = 1e-3
"""Values stand apart where chance gives as many with at most this probability."""

_TAIL = 0.1
"""Share of the values, at most `_MOST` of them, to which the tail is fitted."""
_FEWEST = 20
"""Fewest values that a tail is fitted to."""
_MOST = 200
"""Most values that a tail is fitted to."""
_STANDARD_ERRORS = 2.0
"""Standard errors that are added to the fitted shape, so that the tail is not too light."""
_LIGHTEST = 0.05
"""Smallest shape of a tail."""
_HEAVIEST = 0.5
"""Largest shape: a heavier tail has no variance, moments do not estimate its shape, and no value
stands out from it."""
_ENDING = -1.0
"""Smallest shape that is fitted: that of excesses as likely near the end of the tail as before."""
_COUNTS = (*range(2, 11), 12, 15, 20, 25, 50, 100)
"""Numbers of highest values that are tested, beside all that lie above the others."""


@dataclass(frozen=True)
class ParetoTail:
    """A generalised Pareto distribution of the values above a threshold.

    Notes
    -----
    Above a high threshold the excess of independent values has such a distribution (Balkema and de
    Haan 1974, Pickands 1975). It is fitted by probability-weighted moments (Hosking and Wallis
    1987), and its shape is then taken two standard errors heavier.
    """

    threshold: float
    share: float
    """Share of the values above the threshold, in (0, 1)."""
    scale: float
    shape: float

    @classmethod
    def of(cls, values: Floats, step: float | None = None) -> ParetoTail | None:
        """Fit the tail of values; None where too few of them lie in it, or all are equal.

        Parameters
        ----------
        values : ndarray of float, shape (m,)
        step : float, optional
            Usual size of a step between values, by which a tail is made where all are equal.
        """
        ordered = np.sort(values)[::-1]
        n = min(int(_TAIL * len(ordered)), _MOST)
        if n < _FEWEST or not np.isfinite(ordered[[0, n]]).all():
            return None
        threshold = float(ordered[n])
        if ordered[0] == threshold:
            # The highest values are ties, as counts are: they are the tail of those below.
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
        place = 1 - (np.arange(1, n + 1) - 0.35) / n
        weighted = float(np.mean(place * excess))
        # Of equal excesses, and of a tail that ends at once, the shape would be without bound, and
        # the scale that goes with it.
        apart = mean - 2 * weighted
        shape = max(2 - mean / apart, _ENDING) if apart > 0 else _ENDING
        heavier = max(shape + _STANDARD_ERRORS / np.sqrt(n), _LIGHTEST)
        if heavier > _HEAVIEST:
            return None
        return cls(threshold, share, mean * (1 - shape), heavier)

    def beyond(self, value: float) -> float:
        """Return the probability of a value above the given one, which is above the threshold."""
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
        Those that may stand apart.
    others : ndarray of float, shape (m,)
        Values of the same distribution, unless `values` are special.
    times : float
        Number of draws per value in `values`, where each is the highest of several.
    step : float, optional
        Usual size of a step between values: without it none stands apart from others that are all
        equal.
    fewest : int
        Fewest values that can stand apart, at least 2.

    Returns
    -------
    tuple of int and float
        The largest number k of values, all above all of the others, of which chance makes as many
        with a probability of at most `SURELY`; 0 for none. And the expected number by chance, 0
        for none.
    """
    tail = ParetoTail.of(others, step)
    highest = np.sort(values)[::-1]
    above = int(np.count_nonzero(highest > others.max(initial=-np.inf)))
    if tail is None or above < fewest:
        return 0, 0.0
    counts = [k for k in {*_COUNTS, above} if fewest <= k <= above]
    for k in sorted(counts, reverse=True):
        expected = len(values) * times * tail.beyond(float(highest[k - 1]))
        if len(counts) * poisson.sf(k - 1, expected) <= SURELY:
            return k, expected
    return 0, 0.0
