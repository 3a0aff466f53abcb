"""Gain of an attack over a control, as a share of the largest possible gain."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate import rates

LOWEST = -1.0
"""Lower values are clipped: by how much the control does better does not matter."""


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
        Successes of attempts, at least one attempt each.
    level : float
        In (0, 1).
    correlation : float
        Between the successes of an attempt in both, where they are paired, in [-1, 1].
    units : pair of ndarray of int, shapes (n,) and (m,)
        The independent unit of each attempt, as in `rates.proportion`; each its own by default.

    Returns
    -------
    Estimate
        0 where the attack does as well as the control, also where both always succeed; `n` is
        the smaller number of units. What is below -1 is given as -1.

    Raises
    ------
    InputError
        If there are no attempts, or level or correlation lie outside of their ranges.

    Notes
    -----
    One minus the ratio of the shares of failures. The interval holds the ratios r for which 0 is
    between the limits of ``attack's failures - r * control's failures``, put together from the
    exact limits of both shares (Clopper-Pearson), as Donner & Zou (2012) do for other limits,
    "Closed-form confidence intervals for functions of the normal mean and standard deviation".
    With exact limits it covers at least its level, where Wilson's fall short near 0 and 1.
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
    # The limits of the ratio are the roots of two quadratic equations (MOVER).
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
    """Return the smallest r >= 0 with a r^2 - 2 b r + c = 0, and 0 where c <= 0."""
    return c / (b + _root(a, b, c)) if c > 0 else 0.0


def _larger_root(a: float, b: float, c: float) -> float:
    return (b + _root(a, b, c)) / a if a > 0 else np.inf


def _root(a: float, b: float, c: float) -> float:
    return float(np.sqrt(max(0.0, b * b - a * c)))


def _clip_to_lowest(value: float) -> float:
    return max(LOWEST, value)
