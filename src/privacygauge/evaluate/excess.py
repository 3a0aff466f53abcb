"""Excess of an attack over a control, as a share of the largest possible excess."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate import rates

LOWEST = -1.0
"""Smallest value reported: how far the attack falls short of the control does not matter."""


def excess(
    attack: Bools,
    control: Bools,
    level: float = 0.95,
    *,
    correlation: float = 0.0,
    units: tuple[Ints | None, Ints | None] = (None, None),
) -> Estimate:
    """Return (attack - control) / (1 - control) of two shares of successes, in [-1, 1].

    Parameters
    ----------
    attack, control : ndarray of bool, shapes (n,) and (m,)
        Whether each attempt succeeded; at least one attempt each.
    level : float
        In (0, 1).
    correlation : float
        Correlation of the successes if attempts are paired, in [-1, 1]; 0 if independent.
    units : pair of ndarray of int, shapes (n,) and (m,)
        Independent unit of each attempt, as in `rates.proportion`; default: each its own.

    Returns
    -------
    Estimate
        0 if the attack does as well as the control, including when both always succeed; values
        below -1 are clipped to -1. `n` is the smaller number of units.

    Raises
    ------
    InputError
        If there are no attempts, or `level` or `correlation` is out of range.

    Notes
    -----
    One minus the ratio of the failure rates. The interval holds the ratios r for which 0 lies
    between the limits of ``attack's failure rate - r * control's failure rate``, combined from the
    exact limits of both rates (Clopper-Pearson), as Donner & Zou (2012) combine other limits,
    "Closed-form confidence intervals for functions of the normal mean and standard deviation".
    With exact limits the coverage is at least the level; with Wilson's it falls short near 0 and 1.
    """
    if not len(attack) or not len(control):
        raise InputError("a risk needs attempts on both sides, got none on one")
    if not -1.0 <= correlation <= 1.0:
        raise InputError(f"correlation must be in [-1, 1], got {correlation}")
    first, second = (
        rates.proportion(~hit, unit, level)
        for hit, unit in zip((attack, control), units, strict=True)
    )
    ours = first.value
    ours_low = first.low
    ours_high = first.high
    others = second.value
    others_low = second.low
    others_high = second.high
    product = ours * others
    # The limits of the ratio are the roots of two quadratic equations a r^2 - 2 b r + c = 0
    # (MOVER).
    least = _smaller_root(
        others_high * (2 * others - others_high),
        product - correlation * (ours - ours_low) * (others_high - others),
        ours_low * (2 * ours - ours_low),
    )
    most = _larger_root(
        others_low * (2 * others - others_low),
        product - correlation * (ours_high - ours) * (others - others_low),
        ours_high * (2 * ours - ours_high),
    )
    value = _clip_to_lowest(1 - ours / others if others else (0.0 if not ours else -np.inf))
    low = min(_clip_to_lowest(1 - most), value)
    high = max(_clip_to_lowest(1 - least), value)
    n = min(first.n, second.n)
    return Estimate(
        value=value, low=low, high=high, level=level, n=n, method="ratio of exact limits (MOVER)"
    )


def _smaller_root(a: float, b: float, c: float) -> float:
    """Return the smallest r >= 0 with a r^2 - 2 b r + c = 0, or 0 if c <= 0."""
    # Equal to (b - root) / a, but without cancellation, and defined for a <= 0.
    return c / (b + _root(a, b, c)) if c > 0 else 0.0


def _larger_root(a: float, b: float, c: float) -> float:
    # With a <= 0 the control's failure rate may be 0, and the ratio has no upper limit.
    return (b + _root(a, b, c)) / a if a > 0 else np.inf


def _root(a: float, b: float, c: float) -> float:
    return float(np.sqrt(max(0.0, b * b - a * c)))


def _clip_to_lowest(value: float) -> float:
    return max(LOWEST, value)
