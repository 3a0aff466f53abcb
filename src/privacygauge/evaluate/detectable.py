"""The smallest leak that an audit of a given size would detect."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import binom

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate import rates
from privacygauge.evaluate.roc import Roc, area_of_curve

POWER = 0.8
"""Default power: the share of audits that must detect a leak."""

SHARE = 0.25
"""Share of a verdict's error spent on the question of few records, and on that of groups: a
verdict is the gravest answer to several questions."""

AVERAGE_SHARE = 0.8
"""Share of a verdict's error spent on the average, if it is one of three questions. Its intervals
have two sides, only one of which raises an alarm, so it errs with two fifths of the error; few
records and groups err with a quarter each. With this share, 1,000 people still suffice to show the
smallest moderate leak."""

GAMES = 200
"""Simulated audits; the standard error of a power of 0.8 is then about 0.03."""

_HALVINGS = 8
"""Bisection steps of a search."""
_WIDE = 8.0
"""End of the first search, in standard errors: for most sizes far beyond the detectable leak."""
_FARTHEST = 8.0
"""Largest distance between the sides, in standard deviations; the AUC is then 1 - 8e-9."""


@lru_cache
def smallest_auc(n_in: int, n_out: int, level: float = 0.95, power: float = POWER) -> float | None:
    """Return the smallest AUC that an audit detects with a given power.

    Parameters
    ----------
    n_in, n_out : int
        Independent rows of members and of non-members, at least 1.
    level : float
        Level of the interval, in (0, 1).
    power : float
        Share of audits in which the interval of `auc` lies above 1/2, in (0, 1).

    Returns
    -------
    float or None
        In (1/2, 1]; None if the interval holds 1/2 even for a perfect attack.

    Notes
    -----
    Simulates audits with normal scores of equal variance on both sides, and takes the interval of
    each. The AUC depends on ranks alone, so any monotone transform of such scores gives the same.

    Examples
    --------
    >>> round(smallest_auc(257, 257), 2), round(smallest_auc(16, 16), 2), smallest_auc(3, 3)
    (0.57, 0.79, None)
    """
    checks.level(power, "power")
    checks.at_least(1, n_in=n_in, n_out=n_out)
    # Fixed draws, reused for every shift, so that powers at two shifts are comparable.
    rng = np.random.default_rng(0)
    inside, outside = (np.sort(rng.normal(size=(GAMES, n)), axis=1) for n in (n_in, n_out))

    def seen(shift: float) -> float:
        curves = map(Roc, inside + shift, outside)
        lows = [area_of_curve(curve, level).low for curve in curves]
        return float(np.mean(np.array(lows) > 0.5))

    wide = min(_FARTHEST, _WIDE * np.sqrt(1 / n_in + 1 / n_out))
    # The first search covers a short range finely; the second is for small samples.
    shift = _smallest(seen, 0.0, wide, power) or _smallest(seen, wide, _FARTHEST, power)
    # AUC of two unit normals at this distance.
    return None if shift is None else float(ndtr(shift / np.sqrt(2)))


@lru_cache
def smallest_accuracy(
    n_coins: int, level: float = 0.95, power: float = POWER, *, chance: float = 0.5
) -> float | None:
    """Return the smallest accuracy of guesses that an audit detects with a given power.

    Parameters
    ----------
    n_coins : int
        Guesses about coins or dice, of all fits together, at least 1; right or wrong
        independently.
    level : float
        Level of the interval, in (0, 1).
    power : float
        Share of audits in which the interval of right guesses lies above `chance`, in (0, 1).
    chance : float
        Accuracy of guessing, in (0, 1).

    Returns
    -------
    float or None
        In (chance, 1]; None if the interval holds `chance` even with all guesses right.

    Examples
    --------
    >>> round(smallest_accuracy(200), 2), smallest_accuracy(3)
    (0.6, None)
    >>> round(smallest_accuracy(200, chance=0.2), 2)
    0.28
    """
    checks.level(power, "power")
    checks.level(chance, "chance")
    checks.at_least(1, n_coins=n_coins)
    drawn = np.random.default_rng(0).random(GAMES)

    def seen(share: float) -> float:
        # Inverse transform of fixed uniforms, so that the counts rise with the share.
        counts = binom.ppf(drawn, n_coins, share).astype(np.int64)
        lows = [rates.share(int(right), n_coins, level).low for right in counts]
        return float(np.mean(np.array(lows) > chance))

    return _smallest(seen, chance, 1.0, power)


def detectable_with(found: Estimate, chance: float, power: float = POWER) -> float:
    """Return the smallest value that an estimate as precise as this one shows with a given power.

    Parameters
    ----------
    found : Estimate
        Result of an audit that found nothing; the width of its interval tells the precision.
    chance : float
        Value of an attack that only guesses.
    power : float
        Share of audits in which an interval of that width lies above `chance`, in (0, 1).

    Returns
    -------
    float
        At least `chance`; beyond the range of the measure if no value would be shown.

    Examples
    --------
    >>> round(detectable_with(Estimate(0.51, 0.46, 0.56, 0.95, 400, "example"), 0.5), 3)
    0.571
    """
    checks.level(power, "power")
    # The longer side, as the other may be cut off at the end of the range.
    half = max(found.high - found.value, found.value - found.low)
    return float(chance + half * (1 + ndtri(power) / ndtri(0.5 + found.level / 2)))


def enough_guesses(
    advantage: float, level: float = 0.95, power: float = POWER, *, chance: float = 0.5
) -> int:
    """Return the fewest guesses by which an advantage is shown with a given power.

    Parameters
    ----------
    advantage : float
        Way from guessing (0) to certainty (1), in (0, 1].
    level : float
        Level of the interval of right guesses, in (0, 1).
    power : float
        Share of audits in which that interval lies above `chance`, in (0, 1).
    chance : float
        Accuracy of guessing, in (0, 1).

    Returns
    -------
    int
        By the normal approximation with the variance of guessing, as `detectable_with` has it.

    Examples
    --------
    >>> enough_guesses(0.1), enough_guesses(0.1, chance=0.2)
    (785, 197)
    """
    checks.level(power, "power")
    checks.level(chance, "chance")
    reach = float(ndtri(0.5 + checks.level(level) / 2) + ndtri(power))
    return int(np.ceil((reach / advantage) ** 2 * chance / (1 - chance)))


def smallest_average(n_in: int, n_out: int, each: float, power: float = POWER) -> float | None:
    """Return the smallest average leak that one of several attacks detects with a given power.

    Parameters
    ----------
    n_in, n_out : int
        Independent members and non-members, at least 1.
    each : float
        Level of each attack's interval, at which all are jointly valid, in (0, 1).
    power : float
        Share of audits in which the AUC's interval, of the one attack that sees the leak, lies
        above 1/2; in (0, 1).

    Returns
    -------
    float or None
        Balanced accuracy of the best threshold, in (1/2, 1]; None if not even a perfect attack
        would be detected.

    Notes
    -----
    For normal scores of equal variance at distance d: AUC ``Phi(d / sqrt 2)``, accuracy
    ``Phi(d / 2)``; the standard error of the AUC is Hanley and McNeil's (1982). `smallest_auc` does
    the same by simulation.

    Examples
    --------
    >>> round(smallest_average(2000, 2000, 0.99), 3), round(smallest_average(440, 440, 0.99), 3)
    (0.522, 0.547)
    """
    checks.level(power, "power")
    checks.level(each, "each")
    checks.at_least(1, n_in=n_in, n_out=n_out)
    fewest = min(n_in, n_out)
    if fewest < 2:
        return None
    # Only one side of the two-sided interval shows a leak.
    error = (1 - each) / 2
    # Standard errors between 1/2 and the smallest detectable AUC.
    reach = float(stdtrit(fewest - 1, 1 - error) + ndtri(power))

    def seen(area: float) -> float:
        # Variance of the AUC for exponential scores (Hanley & McNeil 1982).
        inside = area / (2 - area) - area**2
        outside = 2 * area**2 / (1 + area) - area**2
        spread = area * (1 - area) + (n_in - 1) * inside + (n_out - 1) * outside
        return area - 0.5 - reach * float(np.sqrt(max(spread, 0.0) / (n_in * n_out)))

    # A perfect ranking has no variance; its interval is that of `fewest` pairs, all ranked right,
    # which excludes 1/2 only if 0.5**fewest is below the error.
    if error > 0.5**fewest and seen(1 - 1e-6) > 0:
        low = 0.5
        high = 1 - 1e-6
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if seen(middle) > 0 else (middle, high)
        # The accuracy of the best threshold on normal scores with that AUC.
        return float(ndtr(ndtri(high) / np.sqrt(2)))
    return None


_TIMES = 100
"""Most non-members per member: beyond that hardly anything changes."""


def fewest_nonmembers(n_in: int, each: float, average: float) -> int | None:
    """Return how many non-members show an average leak beside so many members.

    Parameters
    ----------
    n_in : int
        Independent members, at least 1.
    each : float
        Level of each attack's interval, as in `smallest_average`.
    average : float
        Balanced accuracy of the leak, in (1/2, 1].

    Returns
    -------
    int or None
        Fewest non-members with which `smallest_average` is at most `average`; None where even a
        hundred times as many as there are members are too few.

    Examples
    --------
    >>> fewest_nonmembers(400, 0.99, 0.55), fewest_nonmembers(100, 0.99, 0.55)
    (370, None)
    """

    def enough(n_out: int) -> bool:
        least = smallest_average(n_in, n_out, each)
        return least is not None and least <= average

    low = 0
    high = _TIMES * n_in
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _smallest(
    seen: Callable[[float], float], low: float, high: float, power: float
) -> float | None:
    """Return the smallest argument at which the increasing power curve `seen` reaches `power`."""
    # Even the largest leak would often be missed.
    if seen(high) < power:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) >= power else (middle, high)
    return high
