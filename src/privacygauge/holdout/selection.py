"""Honest selection: the best of many submissions looks better than it is, without any attack."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr, ndtri

from privacygauge.core import checks
from privacygauge.errors import InputError

_MOST = 10**12


def honest_best_of_k(n: int, k: int, *, accuracy: float = 0.8, correlation: float = 0.0) -> float:
    """Return the expected bias, at most, of the best of k submissions of equal true accuracy.

    sqrt(p (1 - p)/n) E[max of k standard normals] sqrt(1 - correlation). Nobody attacks here:
    the best score is chosen, as on any leaderboard.

    Parameters
    ----------
    n, k : int
        Points and submissions, each at least 1.
    accuracy : float, default 0.8
        True accuracy p of each, in (0, 1).
    correlation : float, default 0.0
        Between the errors of two submissions, in [0, 1]: models that err on the same points
        leave less to choose from.
    """
    return _deviation(n, accuracy, correlation) * expected_maximum(k)


def honest_submissions(
    bias: float,
    n: int,
    *,
    accuracy: float = 0.8,
    correlation: float = 0.0,
    probability: float = 0.95,
) -> int:
    """Return the number of submissions whose best stays within `bias` with this probability.

    The maximum of k independent normals is below x with probability Phi(x)^k. At most 10^12.
    """
    deviation = _deviation(n, accuracy, correlation)
    one = float(log_ndtr(bias / deviation)) if deviation else 0.0
    wanted = math.log(checks.level(probability, "probability"))
    return int(wanted / one) if wanted / _MOST > one else _MOST


def honest_points(
    bias: float,
    k: int,
    *,
    accuracy: float = 0.8,
    correlation: float = 0.0,
    probability: float = 0.95,
) -> int:
    """Return the fewest points on which the best of k submissions stays within `bias`."""
    if bias <= 0:
        raise InputError(f"bias must be above 0, got {bias}")
    x = float(ndtri(checks.level(probability, "probability") ** (1 / some(k, "k"))))
    return max(1, math.ceil((max(x, 0.0) * _deviation(1, accuracy, correlation) / bias) ** 2))


def expected_maximum(k: int) -> float:
    """Return the expected maximum of k independent standard normals; 0 for one."""
    x = np.linspace(-12.0, 12.0, 4_801)
    log_density = -0.5 * x**2 - 0.5 * math.log(2 * math.pi) + (some(k, "k") - 1) * log_ndtr(x)
    return float((x * k * np.exp(log_density)).sum() * (x[1] - x[0]))


def _deviation(n: int, accuracy: float, correlation: float) -> float:
    if not 0 <= correlation <= 1:
        raise InputError(f"correlation must be in [0, 1], got {correlation}")
    p = checks.level(accuracy, "accuracy")
    return math.sqrt(p * (1 - p) * (1 - correlation) / some(n, "n"))


def some(value: int, name: str) -> int:
    """Return `value`, at least 1."""
    checks.at_least(1, **{name: value})
    return value
