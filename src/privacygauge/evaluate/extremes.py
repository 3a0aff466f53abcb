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
_COUNTS = (3, 4, 5, 7, 10, 15, 25, 50, 100)
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
    def of(cls, values: Floats) -> ParetoTail | None:
        """Fit the tail of values; None where too few lie in it, or they hardly differ."""
        ordered = np.sort(values)[::-1]
        n = min(int(_TAIL * len(ordered)), _MOST)
        if n < _FEWEST or not np.isfinite(ordered[[0, n]]).all():
            return None
        excess = np.sort(ordered[:n] - ordered[n])
        mean = float(excess.mean())
        place = 1 - (np.arange(1, n + 1) - 0.35) / n
        weighted = float(np.mean(place * excess))
        if mean <= 0 or mean <= 2 * weighted:
            return None
        shape = 2 - mean / (mean - 2 * weighted)
        heavier = max(shape + _STANDARD_ERRORS / np.sqrt(n), _LIGHTEST)
        if heavier > _HEAVIEST:
            return None
        return cls(float(ordered[n]), n / len(ordered), mean * (1 - shape), heavier)

    def beyond(self, value: float) -> float:
        """Return the probability of a value above the given one, which is above the threshold."""
        excess = max(value - self.threshold, 0.0) / self.scale
        return float(self.share * (1 + self.shape * excess) ** (-1 / self.shape))


def standing_apart(values: Floats, others: Floats, *, times: float = 1.0) -> tuple[int, float]:
    """Return how many of the highest values stand apart from all others, and the expected number.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        Those that may stand apart.
    others : ndarray of float, shape (m,)
        Values of the same distribution, unless `values` are special.
    times : float
        Number of draws per value in `values`, where each is the highest of several.

    Returns
    -------
    tuple of int and float
        The largest number k of values, all above all of the others, of which chance makes as many
        with a probability of at most `SURELY`; 0 for none. And the expected number by chance, 0
        for none.
    """
    tail = ParetoTail.of(others)
    highest = np.sort(values)[::-1]
    above = int(np.count_nonzero(highest > others.max(initial=-np.inf)))
    if tail is None or above < _COUNTS[0]:
        return 0, 0.0
    counts = [k for k in {*_COUNTS, above} if k <= above]
    for k in sorted(counts, reverse=True):
        expected = len(values) * times * tail.beyond(float(highest[k - 1]))
        if len(counts) * poisson.sf(k - 1, expected) <= SURELY:
            return k, expected
    return 0, 0.0
