"""Proportions, means, rates of two samples and correlations, each with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, expit, logit, ndtri, stdtr, stdtrit
from scipy.stats import rankdata

from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import bonferroni_level


def clopper_pearson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided interval for a binomial proportion.

    Parameters
    ----------
    successes : float
        In [0, n]; need not be an integer (an effective count).
    n : float
        Trials, at least 0; with 0, the interval is (0, 1).
    level : float
        In (0, 1).

    Returns
    -------
    tuple of float
        Lower and upper limit, in [0, 1].

    Notes
    -----
    Clopper & Pearson (1934): each limit errs with probability at most ``(1 - level) / 2``, for
    every true value.
    """
    tail = (1.0 - checks.level(level)) / 2.0
    return lower_limit(successes, n, tail), upper_limit(successes, n, tail)


def lower_limit(successes: float, n: float, tail: float) -> float:
    """Return the exact lower confidence limit that fails with probability at most `tail`."""
    _require_count(successes, n)
    return float(betaincinv(successes, n - successes + 1.0, tail)) if successes > 0 else 0.0


def upper_limit(successes: float, n: float, tail: float) -> float:
    """Return the exact upper confidence limit that fails with probability at most `tail`."""
    _require_count(successes, n)
    return float(betaincinv(successes + 1.0, n - successes, 1.0 - tail)) if successes < n else 1.0


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval for a binomial proportion.

    Parameters
    ----------
    successes : float
        In [0, n]; need not be an integer.
    n : float
        Trials, above 0.
    level : float
        In (0, 1).

    Returns
    -------
    tuple of float
        Lower and upper limit, in [0, 1].

    Notes
    -----
    Wilson (1927). The coverage is `level` on average over the true values, not for each of them.
    """
    _require_count(successes, n)
    z = float(ndtri(0.5 + checks.level(level) / 2.0))
    value = successes / n
    middle = (value + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    # The value is inside in exact arithmetic; rounding must not exclude it.
    return max(0.0, min(value, middle - half)), min(1.0, max(value, middle + half))


def share(
    successes: int, n: int, level: float = 0.95, *, effective: float | None = None
) -> Estimate:
    """Return ``successes / n`` with Clopper-Pearson's interval, in [0, 1].

    With `effective`, the interval is for that number of independent trials.
    """
    worth = float(n) if effective is None else effective
    value = successes / n
    low, high = clopper_pearson(value * worth, worth, level)
    return Estimate(
        value=value,
        # Rounding of the scaled count may leave the value just outside.
        low=min(low, value),
        high=max(high, value),
        level=level,
        n=int(worth),
        method="Clopper-Pearson",
    )


def proportion(hit: Bools, unit: Ints | None = None, level: float = 0.95) -> Estimate:
    """Return the share of True values with its exact interval, in [0, 1].

    Parameters
    ----------
    hit : ndarray of bool, shape (n,)
        At least one value.
    unit : ndarray of int, shape (n,), optional
        Independent unit of each value, such as the target; default: all different. If units
        repeat, the interval is widened by the design effect.
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        In [0, 1]; `n` is the number of independent units.

    Notes
    -----
    Clopper & Pearson (1934); with repeated units, the same interval at the effective number of
    trials (Korn & Graubard 1998).
    """
    if len(hit) == 0:
        raise InputError("a proportion of nothing is undefined")
    successes = int(np.count_nonzero(hit))
    n = len(hit)
    n_units = n if unit is None else checks.n_distinct(unit)
    if n_units == n:
        return share(successes, n, level)
    assert unit is not None
    # Few units estimate the design effect poorly: Student's quantile in place of the normal one,
    # squared, since a variance is scaled.
    end = 0.5 + checks.level(level) / 2
    student = stdtrit(n - 1, end) / stdtrit(max(n_units - 1, 1), end)
    effective = effective_size(hit, unit) * float(student) ** 2
    low, high = clopper_pearson(successes / n * effective, effective, level)
    return Estimate(
        value=successes / n, low=low, high=high, level=level, n=n_units, method="Korn-Graubard"
    )


def mean(
    values: Floats,
    level: float = 0.95,
    *,
    unit: str,
    owner: Ints | None = None,
    least: float = -np.inf,
    most: float = np.inf,
) -> Estimate:
    """Return the mean of values with Student's interval; unbounded for a single unit.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
    level : float
        In (0, 1).
    unit : str
        Name of the independent unit, for the name of the method.
    owner : ndarray of int, shape (n,), optional
        Unit of each value; default: all different.
    least, most : float
        Range of possible means, to which the interval is clipped.
    """
    owner = np.arange(len(values)) if owner is None else owner
    n = checks.n_distinct(owner)
    value = float(np.mean(values))
    half = np.inf
    # One unit shows no variance.
    if n > 1:
        error = standard_error(np.asarray(values), owner)
        half = float(stdtrit(n - 1, 0.5 + checks.level(level) / 2)) * error
    low = max(least, value - half)
    high = min(most, value + half)
    return Estimate(value=value, low=low, high=high, level=level, n=n, method=f"t over {unit}")


def standard_error(values: Floats, unit: Ints) -> float:
    """Return the standard error of a mean, clustered by unit; 1 for a single unit."""
    n = len(values)
    n_units = checks.n_distinct(unit)
    if n_units < 2:
        return 1.0
    if n_units == n:
        # Without repeated units: the usual standard error.
        return float(values.std(ddof=1)) / float(np.sqrt(n))
    return standard_error_of_units(values - values.mean(), unit) / n


def standard_error_of_units(influence: Floats, unit: Ints) -> float:
    """Return the standard error of a statistic from the influence of each row, shape (n,).

    Rows of one unit are summed first; 0 if all influences are 0.
    """
    of_units = units.sums(unit, influence)
    n = len(of_units)
    # n / (n - 1) for the estimated mean, as in a sample variance.
    return float(np.sqrt(np.sum(of_units**2) * n / max(n - 1, 1)))


def clustered_variance(influence: Floats, unit: Ints, member: Bools) -> tuple[float, float]:
    """Return the variance of a statistic, clustered by unit, and its degrees of freedom.

    Parameters
    ----------
    influence : ndarray of float, shape (n,)
        Influence of each row on the statistic, with mean 0 on each side.
    unit : ndarray of int, shape (n,)
        Independent unit of each row; its rows are summed.
    member : ndarray of bool, shape (n,)
        Side of each row.

    Notes
    -----
    A unit with a large share of a side pulls the side's mean towards itself: its contribution is
    too small by the square root of one minus its share (HC2, MacKinnon and White 1985). Units of
    unequal size are worth fewer degrees of freedom, which follow from the kurtosis of the
    contributions, 3 for normal errors of equal units (Satterthwaite 1946). At least 1 of them.
    """
    part = np.array(influence, np.float64)
    _, index = np.unique(unit, return_inverse=True)
    for side in (member, ~member):
        of_side = index[side]
        share = (np.bincount(of_side) / len(of_side))[of_side]
        part[side] /= np.sqrt(np.where(share < 1.0, 1.0 - share, 1.0))
    squares = np.bincount(index, weights=part) ** 2
    variance = float(squares.sum())
    if variance <= 0.0:
        return 0.0, 1.0
    df = 3.0 * variance**2 / float(np.sum(squares**2))
    return variance, max(min(df, len(squares) - 1.0), 1.0)


def on_logit_scale(value: float, half: float, level: float, n: int, method: str) -> Estimate:
    """Return a number in (0, 1) with an interval of half-width `half`, made on the logit scale."""
    # Delta method: the derivative of the logit is 1 / (value (1 - value)).
    half /= value * (1 - value)
    low = float(expit(logit(value) - half))
    high = float(expit(logit(value) + half))
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        level=level,
        n=n,
        method=f"{method} on the logit scale",
    )


def on_pairs(value: float, pairs: int, level: float, n: int) -> Estimate:
    """Return an AUC of unknown variance with the exact interval of `pairs` independent pairs."""
    low, high = clopper_pearson(value * pairs, pairs, level)
    return Estimate(
        value=value, low=low, high=high, level=level, n=n, method="Clopper-Pearson on pairs"
    )


def less(first: Estimate, second: Estimate, by: float = 0.0) -> Estimate:
    """Return ``first - second - by`` for two independent estimates.

    Half-widths are combined separately on each side (Zou & Donner 2008). `n` is the smaller one,
    ignoring an estimate of width 0.
    """
    value = first.value - second.value - by
    low = value - float(np.hypot(first.value - first.low, second.high - second.value))
    high = value + float(np.hypot(first.high - first.value, second.value - second.low))
    # A number without an interval, such as a formula's, limits no n.
    n = min((found.n for found in (first, second) if found.low < found.high), default=1)
    method = "root of the sum of squared half-widths"
    return Estimate(value=value, low=low, high=high, level=first.level, n=n, method=method)


def difference(
    first: Bools,
    second: Bools,
    level: float = 0.95,
    *,
    owners: tuple[Ints, Ints] | None = None,
) -> Estimate:
    """Return the share of True values in `first` minus that in `second`, in [-1, 1].

    Parameters
    ----------
    first, second : ndarray of bool, shapes (n,) and (m,)
        Independent samples, at least one value each.
    level : float
        In (0, 1).
    owners : pair of ndarray of int, shapes (n,) and (m,), optional
        Unit of each value; default: all different.

    Notes
    -----
    Newcombe (1998), method 10: the Wilson limits of both shares, combined.
    """
    if not len(first) or not len(second):
        raise InputError("a difference needs values on both sides")
    a = float(np.mean(first))
    b = float(np.mean(second))
    # With repeated units, the counts are scaled to the effective number of rows.
    n, m = (len(first), len(second)) if owners is None else map(units.worth, owners)
    a_low, a_high = wilson(int(np.count_nonzero(first)) * n / len(first), n, level)
    b_low, b_high = wilson(int(np.count_nonzero(second)) * m / len(second), m, level)
    # Each limit takes the far end of one share and the near end of the other.
    low = a - b - float(np.hypot(a - a_low, b_high - b))
    high = a - b + float(np.hypot(a_high - a, b - b_low))
    return Estimate(
        value=a - b,
        low=low,
        high=high,
        level=level,
        n=len(first) + len(second),
        method="Newcombe's method 10",
    )


def effective_size(hit: Bools, unit: Ints) -> float:
    """Return the number of independent trials that carry the same information.

    Parameters
    ----------
    hit : ndarray of bool, shape (n,)
    unit : ndarray of int, shape (n,)

    Returns
    -------
    float
        ``n`` divided by the design effect, between 1 and ``n``; the number of units if all values
        are equal, since the effect cannot be estimated then.
    """
    n = len(hit)
    _, inverse = np.unique(unit, return_inverse=True)
    mean = float(np.mean(hit))
    n_units = int(inverse.max()) + 1
    if mean in (0.0, 1.0) or n_units < 2:
        return float(n_units)
    sums = np.bincount(inverse, weights=hit - mean)
    # Clustered variance of the sum of hits; over the binomial variance it is the design effect.
    clustered = float(np.sum(sums**2)) * n_units / (n_units - 1)
    return float(np.clip(n * n * mean * (1 - mean) / max(clustered, 1e-300), 1, n))


def _require_count(successes: float, n: float) -> None:
    if not 0 <= successes <= n:
        raise InputError(f"successes must be in [0, n], got {successes} of {n}")


# Excess of an attack over a control, as a share of the largest possible excess.

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
        Independent unit of each attempt, as in `proportion`; default: each its own.

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
        proportion(~hit, unit, level) for hit, unit in zip((attack, control), units, strict=True)
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
    a = others_high * (2 * others - others_high)
    b = product - correlation * (ours - ours_low) * (others_high - others)
    c = ours_low * (2 * ours - ours_low)
    # The smaller root, equal to (b - root) / a but without cancellation and defined for a <= 0.
    least = c / (b + float(np.sqrt(max(0.0, b * b - a * c)))) if c > 0 else 0.0
    a = others_low * (2 * others - others_low)
    b = product - correlation * (ours_high - ours) * (others - others_low)
    c = ours_high * (2 * ours - ours_high)
    # The larger root. With a <= 0 the control's failure rate may be 0: the ratio has no upper end.
    most = (b + float(np.sqrt(max(0.0, b * b - a * c)))) / a if a > 0 else np.inf
    value = max(LOWEST, 1 - ours / others if others else (0.0 if not ours else -np.inf))
    low = min(max(LOWEST, 1 - most), value)
    high = max(LOWEST, 1 - least, value)
    n = min(first.n, second.n)
    return Estimate(
        value=value, low=low, high=high, level=level, n=n, method="ratio of exact limits (MOVER)"
    )


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


@dataclass(frozen=True)
class BothSides:
    """A rate among members, the same rate among non-members, and their difference."""

    name: str
    """Name of the rate, as reports print it."""
    members: Estimate
    """Rate among members, in [0, 1]."""
    others: Estimate
    """Rate among non-members, in [0, 1]."""
    difference: Estimate
    """Rate among members minus that among non-members, in [-1, 1]; the interval is corrected for
    the number of rates."""


def both_sides(
    hits: Mapping[str, Bools], member: Bools, unit: Ints, level: float = 0.95
) -> tuple[BothSides, ...]:
    """Return each rate on both sides, with jointly valid intervals of the differences.

    Parameters
    ----------
    hits : mapping of str to ndarray of bool, shape (n,)
        The events to count, by name.
    member : ndarray of bool, shape (n,)
        Both values must occur.
    unit : ndarray of int, shape (n,)
        Independent unit (such as the person) of each row.
    level : float
        In (0, 1): of each rate's interval, and of all differences together (Bonferroni).

    Examples
    --------
    >>> import numpy as np
    >>> member = np.arange(200) < 100
    >>> [found] = both_sides({"guess": np.arange(200) < 80}, member, np.arange(200))
    >>> found.members.value, found.others.value, found.difference.low > 0.7
    (0.8, 0.0, True)
    """
    each = bonferroni_level(level, max(1, len(hits)))
    # Each rate is stated on its own; only the differences are compared with each other.
    owners = unit[member], unit[~member]
    return tuple(
        BothSides(
            name,
            proportion(hit[member], owners[0], level),
            proportion(hit[~member], owners[1], level),
            difference(hit[member], hit[~member], each, owners=owners),
        )
        for name, hit in hits.items()
    )
