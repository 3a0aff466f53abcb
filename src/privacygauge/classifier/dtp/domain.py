"""The exact DTP of naive Bayes over every query that its categories allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from privacygauge.classifier.dtp.counts import Counts, Removal, moved
from privacygauge.classifier.dtp.ratios import log_ratio
from privacygauge.classifier.dtp.records import class_log_p
from privacygauge.core.checks import Bools, Floats, Ints

MOST_CELLS = 10_000_000
"""A domain with more different queries is not looked at query by query."""

MOST_STEPS = 4_000_000_000
"""Number of steps over the domain's cells that are made at most."""


def n_cells(sizes: tuple[int, ...]) -> int:
    """Return how many different queries there are."""
    cells = 1
    for v in sizes:
        cells *= v
    return cells


def is_small(sizes: tuple[int, ...], n_classes: int) -> bool:
    """Return whether `dtp_over_cells` is feasible, given the categories of each attribute."""
    cells = n_cells(sizes)
    return cells <= MOST_CELLS and cells * 2 ** (len(sizes) + 2) * n_classes <= MOST_STEPS


def dtp_over_cells(counts: Counts, codes: Ints, y: Ints) -> Floats:
    """Return the exact DTP of records over the whole domain of categories, (r,).

    Infinite where leaving the record out makes some probability 0, or some query without an answer.
    The codes (r, m) and classes (r,) are of records that are in the counts.

    Notes
    -----
    Leaving a record out changes the joint of its class by a factor that depends on the
    attributes S alone in which a query agrees with it. For a given factor the change of the
    posterior is monotone in p(y_t | x). So for each S the two extremes of p(y_t | x) over the
    queries that agree in S and nowhere else are enough, and these are had for all records at
    once: the smallest over all other values of an attribute is one pass over the domain. That
    makes ``2^m`` passes instead of one for every record.
    """
    removal = counts.leaving_out(codes, y)
    result = np.zeros(len(y))
    joint = joint_over_cells(counts)
    for label in np.unique(y):
        mine = np.flatnonzero(y == label)
        log_odds = _log_odds(joint, int(label))
        one = Removal(removal.base[mine], removal.step[mine])
        result[mine] = _largest(log_odds, codes[mine], one)
    return result


def joint_over_cells(counts: Counts) -> Floats:
    """Return log p(x, y) + log n of every query of the domain, (k, v_1, ..., v_m)."""
    m = len(counts.tables)
    joint = counts.log_prior().reshape(-1, *([1] * m))
    for j in range(m):
        shape = [len(counts.n), *([1] * m)]
        shape[j + 1] = counts.sizes[j]
        joint = joint + counts.log_conditional(j).reshape(shape)
    return joint


def _log_odds(joint: Floats, label: int) -> Floats:
    """Return the log odds of a class against all others; NaN where no class is possible."""
    others = np.delete(joint, label, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = logsumexp(others, axis=0) if len(others) else np.full(joint.shape[1:], -np.inf)
        return np.asarray(joint[label] - rest, np.float64)


def _largest(log_odds: Floats, codes: Ints, removal: Removal) -> Floats:
    possible = log_odds > -np.inf  # False for NaN too
    lowest = np.where(possible, log_odds, np.inf)
    highest = np.where(np.isfinite(log_odds), log_odds, -np.inf)
    result = np.zeros(len(codes))
    cell = tuple(codes.T)
    # Only without smoothing may a probability become 0; then it matters whether it was above 0.
    vanishing = bool(np.isneginf(removal.base).any() or np.isneginf(removal.step).any())
    some = possible if vanishing else np.ones((1,) * codes.shape[1], np.bool_)
    for agree, low, high, any_possible in _subsets(lowest, highest, some, 0, ()):
        log_rho = removal.base + removal.step[:, agree].sum(axis=1)
        found = np.maximum(moved(low[cell], log_rho), moved(high[cell], log_rho))
        if vanishing:
            gone = np.isneginf(log_rho)
            found = np.where(gone, np.where(any_possible[cell], np.inf, 0.0), found)
        np.maximum(result, found, out=result)
    return result


Part = tuple[list[int], Floats, Floats, Bools]
"""Attributes that agree; lowest and highest log odds; whether y_t is possible; by own cell."""


def _subsets(
    low: Floats, high: Floats, possible: Bools, axis: int, agree: tuple[int, ...]
) -> Iterator[Part]:
    """Yield the extremes over the queries that agree in each subset, and only there."""
    if axis == low.ndim:
        yield list(agree), low, high, possible
        return
    yield from _subsets(low, high, possible, axis + 1, (*agree, axis))
    yield from _subsets(
        _over_others(low, axis, np.minimum, np.inf),
        _over_others(high, axis, np.maximum, -np.inf),
        possible if possible.size == 1 else _over_others(possible, axis, np.logical_or, False),
        axis + 1,
        agree,
    )


def _over_others(
    values: NDArray[Any], axis: int, join: np.ufunc, empty: float | bool
) -> NDArray[Any]:
    """Return, in place of each entry, the extreme of all others along the axis."""
    values = np.moveaxis(values, axis, 0)
    before, after = np.full_like(values, empty), np.full_like(values, empty)
    join.accumulate(values[:-1], axis=0, out=before[1:])
    join.accumulate(values[:0:-1], axis=0, out=after[-2::-1])
    return np.moveaxis(join(before, after), 0, axis)


def dtp_over_cells_binned(counts: Counts, codes: Ints, y: Ints, width: float) -> Floats:
    """Return the exact DTP of records over the whole domain where probabilities are binned.

    Every query is looked at for every record: bins are not monotone.
    """
    joint = joint_over_cells(counts).reshape(len(counts.n), -1)
    shown = class_log_p(joint.T)
    cells = np.indices(counts.sizes).reshape(len(counts.sizes), -1).T
    removal = counts.leaving_out(codes, y)
    result = np.zeros(len(y))
    for i, label in enumerate(y):
        agree = cells == codes[i]
        log_rho = removal.base[i] + np.where(agree, removal.step[i], 0.0).sum(axis=1)
        changed = joint.copy()
        changed[label] += log_rho
        result[i] = log_ratio(shown, class_log_p(changed.T), width).max()
    return result
