"""Counts and normal distributions behind naive Bayes, and its exact DTP over every query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from privacygauge.classifiers.learner import class_log_p
from privacygauge.core.checks import Bools, Floats, Ints

VAR_SMOOTHING = 1e-9
"""Share of the largest variance of a number that is added to all variances."""

_LOST = 1e-6
"""A sum of squares that shrinks below this share is summed again: the difference is inexact."""


@dataclass(frozen=True, eq=False)
class Normals:
    """Mean and variance of every number in every class (Gaussian naive Bayes).

    The largest variance of a number over all records, times 1e-9, is added to every variance, as
    scikit-learn does; it changes, too, when a record is left out.
    """

    x: Floats
    """(n, m) Numbers."""
    y: Ints
    """(n,) Classes."""
    n: Ints
    """(k,) Records of each class."""
    mean: Floats
    """(k, m) Means of the classes."""
    squares: Floats
    """(k, m) Sums of squared differences from the mean."""

    @classmethod
    def of(cls, x: Floats, y: Ints, n_classes: int) -> Normals:
        """Return the moments of records (n, m) with classes (n,)."""
        n = np.bincount(y, minlength=n_classes)
        mean, squares = np.zeros((2, n_classes, x.shape[1]))
        for label in np.unique(y):
            mean[label], squares[label] = _moments(x[y == label])
        return cls(x=x, y=y, n=n, mean=mean, squares=squares)

    @cached_property
    def _overall(self) -> tuple[Floats, Floats]:
        return _moments(self.x)

    @cached_property
    def floor(self) -> float:
        """Smoothing added to every variance; 1 where no number varies and none is informative."""
        if not self.x.shape[1]:
            return 1.0
        largest = float((self._overall[1] / len(self.x)).max())
        return VAR_SMOOTHING * largest or 1.0

    def log_density(self, queries: Floats) -> Floats:
        """Return the log density of queries (q, m) in each class, (q, k); 0 in an empty one."""
        variance = self.squares / np.maximum(self.n, 1)[:, None] + self.floor
        # (q, 1, m) against (k, m).
        found = _log_normal(queries[:, None], self.mean, variance).sum(axis=-1)
        return np.where(self.n > 0, found, 0.0)

    def log_density_without(self, rows: Ints, queries: Floats) -> Floats:
        """Return the log density of the i-th query without the i-th record, (r, k)."""
        # Without numbers there is no variance to take the largest of.
        if not self.x.shape[1]:
            return np.zeros((len(rows), len(self.n)))
        mean, variance = self.without(rows)
        label = self.y[rows]
        some = np.arange(len(rows))
        floor = self.floors_without(rows)
        # (r, k, m): every class gets the new floor, only the record's own class new moments.
        whole = self.squares / np.maximum(self.n, 1)[:, None] + floor[:, None, None]
        means = np.broadcast_to(self.mean, whole.shape).copy()
        means[some, label] = mean
        whole[some, label] = variance + floor[:, None]
        # A class that the record leaves empty has log density 0: its prior makes it impossible.
        left = np.broadcast_to(self.n, (len(rows), len(self.n))).copy()
        left[some, label] -= 1
        found = _log_normal(queries[:, None], means, whole).sum(axis=-1)
        return np.where(left > 0, found, 0.0)

    def change_over(self, rows: Ints, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Return the smallest and largest change of the log density over a box, (r, k) each.

        The change is quadratic in each number: its extremes are at the ends or the vertex.
        """
        mean, variance, floor = (*self.without(rows), self.floors_without(rows))
        k = len(self.n)
        some = np.arange(len(rows))
        shape = (len(rows), k, self.x.shape[1])
        before = (
            np.broadcast_to(self.mean, shape),
            np.broadcast_to(self.squares / np.maximum(self.n, 1)[:, None] + self.floor, shape),
        )
        after = before[0].copy(), before[1] - self.floor + floor[:, None, None]
        after[0][some, self.y[rows]] = mean
        after[1][some, self.y[rows]] = variance + floor[:, None]
        # The derivative is 0 where x (1/v - 1/v') = m/v - m'/v'; m', v' without the record.
        bend = 1 / before[1] - 1 / after[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = (before[0] / before[1] - after[0] / after[1]) / bend
        # Equal variances make the change linear, without a vertex: the ends decide.
        vertex = np.where(np.isfinite(vertex), vertex, low)
        places = (low + np.zeros(shape), high + np.zeros(shape), np.clip(vertex, low, high))
        values = np.stack([_log_normal(x, *after) - _log_normal(x, *before) for x in places])
        # Numbers are independent within a class, so each one's extremes add up.
        return values.min(axis=0).sum(axis=-1), values.max(axis=0).sum(axis=-1)

    def without(self, rows: Ints) -> tuple[Floats, Floats]:
        """Return mean and variance (r, m) of each record's class without the record."""
        label = self.y[rows]
        members = [np.flatnonzero(self.y == k) for k in range(len(self.n))]
        return _taken_out(
            self.x,
            rows,
            mean=self.mean[label],
            squares=self.squares[label],
            n=self.n[label],
            members=members,
            group=label,
        )

    def floors_without(self, rows: Ints) -> Floats:
        """Return the smoothing of the variances without each record, (r,)."""
        mean, squares = self._overall
        # The smoothing is about all records, as one group.
        everyone = np.zeros(len(rows), np.int64)
        n = np.full(len(rows), len(self.x))
        _, variance = _taken_out(
            self.x,
            rows,
            mean=mean[None],
            squares=squares[None],
            n=n,
            members=[np.arange(len(self.x))],
            group=everyone,
        )
        largest = variance.max(axis=1)
        return np.where(largest > 0, VAR_SMOOTHING * largest, 1.0)


def _moments(x: Floats) -> tuple[Floats, Floats]:
    # The mean of equal values is rounded, which would give them a variance.
    mean = np.where(x.min(axis=0) == x.max(axis=0), x[0], x.mean(axis=0))
    return mean, np.square(x - mean).sum(axis=0)


def _taken_out(
    x: Floats,
    rows: Ints,
    mean: Floats,
    squares: Floats,
    n: Ints,
    members: list[Ints],
    group: Ints,
) -> tuple[Floats, Floats]:
    """Return mean and variance (r, m) of each record's group of size n without the record."""
    # Welford's update in reverse: the mean moves by away / (n - 1), and the sum of squares loses
    # away^2 n / (n - 1).
    left = np.maximum(n - 1, 1)[:, None]
    away = x[rows] - mean
    rest = squares - np.square(away) * (n[:, None] / left)
    means = mean - away / left
    # A small difference of large sums is mostly rounding error: these few are summed again.
    for i in np.flatnonzero((rest < _LOST * squares).any(axis=1) & (n > 1)):
        others = members[group[i]]
        means[i], rest[i] = _moments(x[others[others != rows[i]]])
    return means, np.maximum(rest, 0.0) / left


def _log_normal(x: Floats, mean: Floats, variance: Floats) -> Floats:
    # The constant of a normal density is the same for all classes, and left out.
    return np.asarray(-0.5 * (np.log(variance) + np.square(x - mean) / variance), np.float64)


@dataclass(frozen=True, eq=False)
class CountedRecords:
    """Records with their counts and moments."""

    codes: Ints
    """(n, c) Categories."""
    numbers: Floats
    """(n, m) Numbers."""
    y: Ints
    """(n,) Classes."""
    n_classes: int
    """Number of classes."""
    counts: Counts
    """Counts of the categories."""
    normals: Normals
    """Moments of the numbers."""
    numeric: Bools
    """(c + m,) Attributes that are numbers."""

    @cached_property
    def removal(self) -> Removal:
        """Change of the counts when each record is left out."""
        return self.counts.leaving_out(self.codes, self.y)

    def log_p(self, codes: Ints, numbers: Floats) -> Floats:
        """Return the log probability of every class for categories and numbers, (q, k)."""
        joint = self.counts.log_joint(codes) + self.normals.log_density(numbers)
        return class_log_p(joint)

    def log_p_without_at(self, rows: Ints, codes: Ints, numbers: Floats) -> Floats:
        """Return log probabilities of the i-th query without the i-th record, (r, k)."""
        joint = self.counts.log_joint(codes)
        # log rho at each query, for the joint of the record's own class.
        agree = codes == self.codes[rows]
        steps = np.where(agree, self.removal.step[rows], 0.0).sum(axis=1)
        joint[np.arange(len(rows)), self.y[rows]] += self.removal.base[rows] + steps
        return class_log_p(joint + self.normals.log_density_without(rows, numbers))


@dataclass(frozen=True, eq=False)
class Counts:
    """Number of records in each class with each category."""

    n: Ints
    """(k,) Records of each class."""
    tables: tuple[Ints, ...]
    """One (k, v) per attribute: records of a class with each category."""
    alpha: float
    """Smoothing added to every count of a category."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each attribute."""
        return tuple(table.shape[1] for table in self.tables)

    def log_prior(self) -> Floats:
        """Return the log of each class's number of records, (k,); -inf for an empty one.

        Not divided by the number of all records, which is the same for all classes.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.n), np.float64)

    def log_conditional(self, attribute: int) -> Floats:
        """Return log p(category | class), (k, v); 0 throughout for an empty class."""
        table = self.tables[attribute]
        total = self.n + table.shape[1] * self.alpha
        with np.errstate(divide="ignore"):
            # 1e-300 keeps inf - inf out of an empty class without smoothing, which is masked below.
            found = np.log(table + self.alpha) - np.log(np.maximum(total, 1e-300))[:, None]
        return np.where((self.n == 0)[:, None], 0.0, found)

    def log_joint(self, codes: Ints) -> Floats:
        """Return log p(x, y) + log n for queries (q, m), shape (q, k)."""
        joint = np.tile(self.log_prior(), (len(codes), 1))
        for j in range(len(self.tables)):
            joint += self.log_conditional(j).T[codes[:, j]]
        return joint

    def leaving_out(self, codes: Ints, y: Ints) -> Removal:
        """Return the change of log probabilities when each of these records leaves the counts.

        Their categories (r, m) and classes (r,) are in the counts.
        """
        n = self.n[y].astype(np.float64)
        sizes = np.array(self.sizes, np.float64)
        own = self.occurrences(codes, y)
        with np.errstate(divide="ignore", invalid="ignore"):
            # The prior falls by (n - 1) / n, and n + v alpha under every count by 1. With n = 1 the
            # prior alone gives -inf, and without smoothing the rest would be inf - inf.
            base = np.log(n - 1) - np.log(n)
            rest = np.log(n[:, None] - 1 + sizes * self.alpha)
            base -= np.where(n > 1, (rest - np.log(n[:, None] + sizes * self.alpha)).sum(axis=1), 0)
            # A category that the query shares with the record loses one from its count.
            step = np.log(own - 1 + self.alpha) - np.log(own + self.alpha)
        return Removal(base, step)

    def occurrences(self, codes: Ints, y: Ints) -> Floats:
        """Return the counts of each record's categories within its own class, (r, m)."""
        if not self.tables:
            return np.zeros((len(y), 0))
        shared = [table[y, codes[:, j]] for j, table in enumerate(self.tables)]
        return np.stack(shared, axis=1).astype(np.float64)

    def less(self, codes: Ints, y: int) -> Counts:
        """Return the counts without one record of class y with these categories, (m,)."""
        n = self.n.copy()
        n[y] -= 1
        tables = tuple(table.copy() for table in self.tables)
        for table, code in zip(tables, codes, strict=True):
            table[y, code] -= 1
        return Counts(n, tables, self.alpha)


@dataclass(frozen=True, eq=False)
class Removal:
    """Change of the joint p(x, y) of a record's own class when the record is left out.

    Relative to the other classes, whose joint changes by the same factor everywhere: ``log rho(x) =
    base + sum of step over the attributes in which x agrees with the record``.
    """

    base: Floats
    """(r,) Change where no attribute agrees, at least ``log((n - 1) / n)``; -inf for a class's last
    one."""
    step: Floats
    """(r, m) Further change for each attribute that agrees, at most 0."""


def count_categories(
    codes: Ints, y: Ints, sizes: tuple[int, ...], n_classes: int, alpha: float
) -> Counts:
    """Return the counts of records (n, m) with classes (n,)."""
    n = np.bincount(y, minlength=n_classes).astype(np.int64)
    tables = tuple(
        # Class and category as one number: a single pass per attribute.
        np.bincount(y * v + codes[:, j], minlength=n_classes * v).reshape(n_classes, v)
        for j, v in enumerate(sizes)
    )
    return Counts(n, tables, alpha)


def largest_log_ratio(log_odds: Floats, log_rho: Floats) -> Floats:
    """Return the larger of the log ratios of p(y_t | x) and of the other labels.

    `log_odds` are those of p(y_t | x) with the record; -inf and inf where y_t is impossible or the
    only possible label. `log_rho` is the change of the joint of y_t relative to the others. With p
    the probability, p' without the record: ``p'/p = rho / (1 + p (rho - 1))``, and ``1 / (1 + p
    (rho - 1))`` for every other label, which has no ratio where p = 1.
    """
    with np.errstate(invalid="ignore"):
        to_own = np.logaddexp(0.0, log_odds)  # -log(1 - p)
        # log(1 + p (rho - 1)).
        evidence = np.logaddexp(0.0, log_odds + log_rho) - to_own
        other = np.where(log_odds == np.inf, 0.0, np.abs(evidence))
        own = np.where(log_odds == -np.inf, 0.0, np.abs(log_rho - evidence))
    # If y_t is certain with the record, it is without it too, unless no answer is left.
    own = np.where(log_odds == np.inf, np.where(log_rho == -np.inf, np.inf, 0.0), own)
    return np.maximum(own, other)


MOST_SUBSETS = 1 << 12
"""Largest number of attribute sets to enumerate; beyond it, those that cannot matter are pruned."""

MOST_PAIRS = 200_000
"""Largest frontier, in attribute sets, that is followed for a record."""

MOST_WORK = 1_000_000_000
"""Largest number of frontier entries for all records of a class; takes a few minutes."""

_TRIAL = 20
"""Records of a class after which the work for all of them is extrapolated."""

_BLOCK = 1 << 21
"""Attribute sets, over all records of a block, that are enumerated at once."""


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
    log_prior = counts.log_prior()
    result = np.zeros(len(y))
    for label in (0, 1):
        mine = np.flatnonzero(y == label)
        same, low, high = (np.empty((len(mine), codes.shape[1])) for _ in range(3))
        for j, own in enumerate(codes[mine].T):
            conditional = counts.log_conditional(j)
            # Two classes: log odds of the record's class against the other.
            odds = conditional[label] - conditional[1 - label]
            same[:, j] = odds[own]
            low[:, j] = -_largest_of_others(-odds, own)
            high[:, j] = _largest_of_others(odds, own)
        sums = _Sums(
            base=removal.base[mine],
            step=removal.step[mine],
            prior=float(log_prior[label] - log_prior[1 - label]),
            same=same,
            low=low,
            high=high,
        )
        n_subsets = 2 ** codes.shape[1]
        if n_subsets > MOST_SUBSETS:
            result[mine] = sums.largest_on_frontiers()
            continue
        size = max(1, _BLOCK // n_subsets)
        for start in range(0, len(mine), size):
            part = slice(start, start + size)
            # (r, 2^j) after j attributes: one column for each set of agreeing attributes.
            rho = sums.base[part, None]
            least = np.full_like(rho, sums.prior)
            most = least
            for j in range(codes.shape[1]):
                rho = np.hstack([rho + sums.step[part, j, None], rho])
                least = np.hstack([least + same[part, j, None], least + low[part, j, None]])
                most = np.hstack([most + same[part, j, None], most + high[part, j, None]])
            # For each set the ratio is monotone in the log odds, so its extremes suffice.
            result[mine[part]] = np.maximum(
                _finite_log_ratio(least, rho), _finite_log_ratio(most, rho)
            ).max(axis=1)
    return result


@dataclass(frozen=True, eq=False)
class _Sums:
    """Addends of each attribute to log rho and to the log odds if it agrees, and if it differs."""

    base: Floats
    """(r,) Log rho where no attribute agrees."""
    step: Floats
    """(r, m) Addend to log rho for each attribute that agrees."""
    prior: float
    """Log odds of the records' class before any attribute is known."""
    same: Floats
    """(r, m) Addend to the log odds for each attribute that agrees."""
    low: Floats
    """(r, m) Smallest addend for each attribute that differs; inf if there is no other category."""
    high: Floats
    """(r, m) Largest addend for each attribute that differs; -inf if there is no other category."""

    def largest_on_frontiers(self) -> Floats:
        """Return the largest change over all sets that can matter, record by record."""
        n = len(self.base)
        work = 0
        result = np.full(n, np.nan)
        for i in range(n):
            # Extrapolate to all records from the entries so far.
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
            # A set stays only if no other one lies further into the corner in both.
            second = odds_sign * odds
            real = np.flatnonzero(np.isfinite(second))
            # The Pareto front. By falling first, ties by falling second: an entry stays if its
            # second exceeds all before.
            order = real[np.lexsort((-second[real], -(rho_sign * rho)[real]))]
            ordered = second[order]
            new = np.ones(len(order), np.bool_)
            new[1:] = ordered[1:] > np.maximum.accumulate(ordered)[:-1]
            kept = np.asarray(order[new], np.int64)
            rho = rho[kept]
            odds = odds[kept]
            # Too many sets to follow: no answer.
            if len(rho) > MOST_PAIRS:
                return float("nan"), entries
        return float(_finite_log_ratio(odds, rho).max(initial=0.0)), entries


def _finite_log_ratio(odds: Floats, rho: Floats) -> Floats:
    """Return `largest_log_ratio`, 0 where no query is left: an attribute with a single category."""
    real = np.isfinite(odds)
    return np.where(real, largest_log_ratio(np.where(real, odds, 0.0), rho), 0.0)


def _largest_of_others(odds: Floats, own: Ints) -> Floats:
    """Return the largest entry apart from each record's own, (r,); -inf if there is no other."""
    ordered = np.sort(odds)[::-1]
    second = ordered[1] if len(ordered) > 1 else -np.inf
    # A record with the best category gets the second best, unless another category ties with it.
    alone = np.count_nonzero(odds == ordered[0]) == 1
    best = (odds[own] == ordered[0]) & alone
    return np.asarray(np.where(best, second, ordered[0]), np.float64)


MOST_CELLS = 10_000_000
"""Largest number of distinct queries for which the domain is enumerated."""

MOST_STEPS = 4_000_000_000
"""Largest number of array operations on cells for which the domain is enumerated."""


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
        others = np.delete(joint, label, axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            rest = logsumexp(others, axis=0) if len(others) else np.full(joint.shape[1:], -np.inf)
            # NaN where no class is possible.
            log_odds = joint[label] - rest
        # Neutral values keep impossible queries out of both extremes. A certain answer (inf)
        # changes only if rho = 0, so the maximum leaves it out too.
        possible = log_odds > -np.inf  # False for NaN too
        lowest = np.where(possible, log_odds, np.inf)
        highest = np.where(np.isfinite(log_odds), log_odds, -np.inf)
        # Each record reads the extremes at its own cell.
        cell = tuple(codes[mine].T)
        base = removal.base[mine]
        step = removal.step[mine]
        # Only without smoothing may a probability become 0; then it matters whether it was above 0.
        vanishing = bool(np.isneginf(base).any() or np.isneginf(step).any())
        # A single cell stands in where the mask is never read.
        some = possible if vanishing else np.ones((1,) * codes.shape[1], np.bool_)
        for agree, low, high, any_possible in _subsets(
            lowest, highest, possible=some, axis=0, agree=()
        ):
            log_rho = base + step[:, agree].sum(axis=1)
            found = np.maximum(
                largest_log_ratio(low[cell], log_rho), largest_log_ratio(high[cell], log_rho)
            )
            if vanishing:
                # rho = 0 at these queries: infinite if y_t was possible at any of them.
                gone = np.where(any_possible[cell], np.inf, 0.0)
                found = np.where(np.isneginf(log_rho), gone, found)
            result[mine] = np.maximum(result[mine], found)
    return result


def joint_over_cells(counts: Counts) -> Floats:
    """Return log p(x, y) + log n for every query of the domain, (k, v_1, ..., v_m)."""
    m = len(counts.tables)
    joint = counts.log_prior().reshape(-1, *([1] * m))
    for j in range(m):
        shape = [len(counts.n), *([1] * m)]
        shape[j + 1] = counts.sizes[j]
        # Each attribute's table along its own axis: broadcasting spans the domain.
        joint = joint + counts.log_conditional(j).reshape(shape)
    return joint


Part = tuple[list[int], Floats, Floats, Bools]
"""Attributes that agree; lowest and highest log odds; whether y_t is possible; per own cell."""


def _subsets(
    low: Floats, high: Floats, possible: Bools, axis: int, agree: tuple[int, ...]
) -> Iterator[Part]:
    """Yield the extremes over the queries that agree in exactly each subset of attributes."""
    # All attributes are settled.
    if axis == low.ndim:
        yield list(agree), low, high, possible
        return
    # Queries that agree on this axis are those of the own cell.
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
    # Extremes before and after each entry, together those of all others.
    values = np.moveaxis(values, axis, 0)
    before = np.full_like(values, empty)
    after = np.full_like(values, empty)
    join.accumulate(values[:-1], axis=0, out=before[1:])
    join.accumulate(values[:0:-1], axis=0, out=after[-2::-1])
    return np.moveaxis(join(before, after), 0, axis)
