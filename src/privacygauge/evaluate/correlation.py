"""Correlations of two variables over records or classes, with intervals."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtr
from scipy.stats import rankdata

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped


def correlation(x: Floats, y: Floats, level: float = 0.95) -> Estimate | Skipped:
    """Return Pearson's correlation with Fisher's interval, in [-1, 1].

    Skipped with fewer than 4 points, or if one side is constant.
    """
    name = "correlation"
    if len(x) < 4:
        return Skipped(name, f"fewer than 4 classes with members and non-members ({len(x)})")
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return Skipped(name, "one of the two does not vary over the classes")
    value = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    # Fisher's z has standard error 1 / sqrt(n - 3).
    half = float(ndtri(0.5 + checks.level(level) / 2)) / np.sqrt(len(x) - 3)
    return _fisher_interval(value, half, level=level, n=len(x), method="Fisher's z")


def _fisher_interval(value: float, half: float, level: float, n: int, method: str) -> Estimate:
    """Return a correlation with the interval of half-width `half` on the scale of its arctanh."""
    # Clipped, since arctanh is infinite at -1 and 1.
    centre = np.arctanh(np.clip(value, -1 + 1e-15, 1 - 1e-15))
    low = float(np.tanh(centre - half))
    high = float(np.tanh(centre + half))
    return Estimate(
        value=value, low=min(low, value), high=max(high, value), level=level, n=n, method=method
    )


def correlation_p_value(estimate: Estimate) -> float:
    """Return the two-sided p-value of a Pearson correlation (Student's t, n - 2 degrees)."""
    r = estimate.value
    n = estimate.n
    # A perfect line would divide by 0 below.
    if abs(r) >= 1:
        return 0.0
    return 2 * float(stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / (1 - r * r))))


def rank_correlation(x: Floats, y: Floats, level: float = 0.95) -> Estimate | Skipped:
    """Return Spearman's rank correlation, ties as mean ranks, in [-1, 1].

    The interval is Fisher's with the variance of Bonett & Wright (2000) for ranks.
    Skipped with fewer than 4 points, or if one side is constant.
    """
    # Only the value is kept: its interval is not valid for ranks.
    found = correlation(rankdata(x), rankdata(y), level)
    if isinstance(found, Skipped):
        return Skipped("rank correlation", "fewer than 4 records, or one side does not vary")
    error = np.sqrt((1 + found.value**2 / 2) / (found.n - 3))
    half = float(ndtri(0.5 + level / 2)) * error
    return _fisher_interval(found.value, half, level=level, n=found.n, method="Bonett-Wright")
