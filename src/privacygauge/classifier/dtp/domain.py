"""Exact DTP of naive Bayes over every query that its categories allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from privacygauge.classifier.dtp.counts import Counts, Removal, largest_log_ratio
from privacygauge.classifier.dtp.learner import class_log_p
from privacygauge.classifier.dtp.ratios import log_ratio
from privacygauge.core.checks import Bools, Floats, Ints

MOST_SUBSETS = 1 << 12
"""Largest number of attribute sets to enumerate; beyond it, those that cannot matter are pruned."""

MOST_PAIRS = 200_000
"""Largest frontier to follow."""

MOST_WORK = 1_000_000_000
"""Largest number of frontier entries for all records; a few minutes."""

_TRIAL = 20

_BLOCK = 1 << 21


def dtp_of_two_classes(counts: Counts, codes: Ints, y: Ints) -> Floats:
    """Return the exact DTP of records over every query of categories, with smoothing, (r,).

    NaN for a record whose frontier grew longer than `MOST_PAIRS`, and for all records of a class
    that would take more than `MOST_WORK`, judging by its first twenty. The codes (r, m) and classes
    (r,) are of records that are in the counts, which have two classes and alpha > 0.

    Notes
    -----
    A query agrees with the record in a set S of attributes, which fixes the change log rho of
    the joint. With two classes the log odds are a sum over attributes, so their extremes for S
    are found attribute by attribute. Up to 12 attributes all S are enumerated. Beyond that, sets
    are grown one attribute at a time, and a set is dropped when another one has both a larger
    (or smaller) log rho and lower (or higher) log odds: in each corner the change of the
    posterior is monotone in both, so no maximum is lost.
    """
    if (counts.n == 0).any():
        # A single class is certain in any case; without any record there is no answer.
        return np.where(counts.n[y] == 1, np.inf, 0.0)
    removal = counts.leaving_out(codes, y)
    result = np.empty(len(y))
    for label in (0, 1):
        mine = np.flatnonzero(y == label)
        sums = _Sums.of(counts, codes[mine], label=label, removal=removal, rows=mine)
        result[mine] = sums.all_subsets() if sums.n_subsets <= MOST_SUBSETS else sums.frontiers()
    return result


@dataclass(frozen=True, eq=False)
class _Sums:
    """Addends of each attribute to log rho and to the log odds, where it agrees and where not."""

    base: Floats
    step: Floats
    prior: float
    same: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, counts: Counts, codes: Ints, label: int, removal: Removal, rows: Ints) -> _Sums:
        log_prior = counts.log_prior()
        same, low, high = (np.empty(codes.shape) for _ in range(3))
        for j, mine in enumerate(codes.T):
            conditional = counts.log_conditional(j)
            odds = conditional[label] - conditional[1 - label]
            same[:, j] = odds[mine]
            low[:, j] = _without_own(odds, mine, np.inf)
            high[:, j] = _without_own(odds, mine)
        prior = float(log_prior[label] - log_prior[1 - label])
        return cls(
            base=removal.base[rows],
            step=removal.step[rows],
            prior=prior,
            same=same,
            low=low,
            high=high,
        )

    @property
    def n_subsets(self) -> int:
        return int(2 ** self.step.shape[1])

    def all_subsets(self) -> Floats:
        """Return the largest change over all sets of attributes, for blocks of records."""
        result = np.zeros(len(self.base))
        size = max(1, _BLOCK // self.n_subsets)
        for start in range(0, len(result), size):
            part = slice(start, start + size)
            rho = self.base[part, None]
            low = np.full_like(rho, self.prior)
            high = low
            for j in range(self.step.shape[1]):
                rho = np.hstack([rho + self.step[part, j, None], rho])
                low = np.hstack([low + self.same[part, j, None], low + self.low[part, j, None]])
                high = np.hstack([high + self.same[part, j, None], high + self.high[part, j, None]])
            result[part] = np.maximum(
                _finite_log_ratio(low, rho), _finite_log_ratio(high, rho)
            ).max(axis=1)
        return result

    def frontiers(self) -> Floats:
        """Return the largest change over all sets that can matter, record by record."""
        n = len(self.base)
        work = 0
        result = np.full(n, np.nan)
        for i in range(n):
            if i >= _TRIAL and work / i * n > MOST_WORK:
                break
            # The largest change is at an extreme of log rho and of the odds, of either sign.
            corners = [
                self._corner(i, other, rho_sign, odds_sign)
                for other, odds_sign in ((self.low, -1.0), (self.high, 1.0))
                for rho_sign in (-1.0, 1.0)
            ]
            values, entries = zip(*corners, strict=True)
            result[i] = np.max(values)
            work += sum(entries)
        return result

    def _corner(
        self, i: int, other: Floats, rho_sign: float, odds_sign: float
    ) -> tuple[float, int]:
        rho = np.array([self.base[i]])
        odds = np.array([self.prior])
        entries = 0
        for j in np.argsort(self.step[i]):
            rho = np.concatenate([rho + self.step[i, j], rho])
            odds = np.concatenate([odds + self.same[i, j], odds + other[i, j]])
            entries += len(rho)
            kept = _pareto_front(rho_sign * rho, odds_sign * odds)
            rho = rho[kept]
            odds = odds[kept]
            if len(rho) > MOST_PAIRS:
                return float("nan"), entries
        return float(_finite_log_ratio(odds, rho).max(initial=0.0)), entries


def _finite_log_ratio(odds: Floats, rho: Floats) -> Floats:
    """Return `largest_log_ratio`, 0 where no query is left: an attribute with a single category."""
    real = np.isfinite(odds)
    return np.where(real, largest_log_ratio(np.where(real, odds, 0.0), rho), 0.0)


def _without_own(odds: Floats, own: Ints, empty: float = -np.inf) -> Floats:
    """Return the smallest (empty = inf) or largest of all other entries, for each entry."""
    sign = -1.0 if empty > 0 else 1.0
    ordered = np.sort(sign * odds)[::-1]
    second = ordered[1] if len(ordered) > 1 else -np.inf
    best = sign * odds[own] == ordered[0]
    alone = np.count_nonzero(odds == sign * ordered[0]) == 1
    return np.asarray(sign * np.where(best & alone, second, ordered[0]), np.float64)


def _pareto_front(first: Floats, second: Floats) -> Ints:
    """Return the Pareto-optimal entries: no other one is larger in both."""
    real = np.flatnonzero(np.isfinite(second))
    order = real[np.lexsort((-second[real], -first[real]))]
    ordered = second[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = ordered[1:] > np.maximum.accumulate(ordered)[:-1]
    return np.asarray(order[new], np.int64)


MOST_CELLS = 10_000_000
"""Largest number of distinct queries for enumeration of the domain."""

MOST_STEPS = 4_000_000_000
"""Largest number of steps over the domain's cells."""


def n_cells(sizes: tuple[int, ...]) -> int:
    """Return the number of distinct queries."""
    cells = 1
    for v in sizes:
        cells *= v
    return cells


def is_small(sizes: tuple[int, ...], n_classes: int) -> bool:
    """Return whether `dtp_over_cells` is feasible, given the number of categories per attribute."""
    cells = n_cells(sizes)
    return cells <= MOST_CELLS and cells * 2 ** (len(sizes) + 2) * n_classes <= MOST_STEPS


def dtp_over_cells(counts: Counts, codes: Ints, y: Ints) -> Floats:
    """Return the exact DTP of records over the whole domain of categories, (r,).

    Infinite where leaving the record out makes some probability 0, or leaves some query without an
    answer. The codes (r, m) and classes (r,) are of records that are in the counts.

    Notes
    -----
    Leaving a record out changes the joint of its class by a factor that depends only on the set S
    of attributes in which a query agrees with it. For a given factor the change of the posterior is
    monotone in p(y_t | x). So for each S the two extremes of p(y_t | x) over the queries that agree
    in exactly S are enough, and these are computed for all records at once: the smallest over all
    other values of an attribute is one pass over the domain. That makes ``2^m`` passes instead of
    one for every record.
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
    for agree, low, high, any_possible in _subsets(
        lowest, highest, possible=some, axis=0, agree=()
    ):
        log_rho = removal.base + removal.step[:, agree].sum(axis=1)
        found = np.maximum(
            largest_log_ratio(low[cell], log_rho), largest_log_ratio(high[cell], log_rho)
        )
        if vanishing:
            gone = np.isneginf(log_rho)
            found = np.where(gone, np.where(any_possible[cell], np.inf, 0.0), found)
        np.maximum(result, found, out=result)
    return result


Part = tuple[list[int], Floats, Floats, Bools]
"""Attributes that agree; lowest and highest log odds; whether y_t is possible; per own cell."""


def _subsets(
    low: Floats, high: Floats, possible: Bools, axis: int, agree: tuple[int, ...]
) -> Iterator[Part]:
    """Yield the extremes over the queries that agree in exactly each subset of attributes."""
    if axis == low.ndim:
        yield list(agree), low, high, possible
        return
    yield from _subsets(low, high, possible=possible, axis=axis + 1, agree=(*agree, axis))
    yield from _subsets(
        _over_others(low, axis, np.minimum, np.inf),
        _over_others(high, axis, np.maximum, -np.inf),
        possible=possible
        if possible.size == 1
        else _over_others(possible, axis, np.logical_or, False),
        axis=axis + 1,
        agree=agree,
    )


def _over_others(
    values: NDArray[Any], axis: int, join: np.ufunc, empty: float | bool
) -> NDArray[Any]:
    """Return, in place of each entry, the extreme of all others along the axis."""
    values = np.moveaxis(values, axis, 0)
    before = np.full_like(values, empty)
    after = np.full_like(values, empty)
    join.accumulate(values[:-1], axis=0, out=before[1:])
    join.accumulate(values[:0:-1], axis=0, out=after[-2::-1])
    return np.moveaxis(join(before, after), 0, axis)


def dtp_over_cells_binned(counts: Counts, codes: Ints, y: Ints, width: float) -> Floats:
    """Return the exact DTP of records over the whole domain with binned probabilities.

    Every query is examined for every record: bins are not monotone.
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
