"""Counts and normal distributions behind naive Bayes, with and without one record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privacygauge.classifier.dtp.learner import class_log_p
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
        found = _log_normal(queries[:, None], self.mean, variance)
        return np.where(self.n > 0, found, 0.0)

    def log_density_without(self, rows: Ints, queries: Floats) -> Floats:
        """Return the log density of the i-th query without the i-th record, (r, k)."""
        if not self.x.shape[1]:
            return np.zeros((len(rows), len(self.n)))
        mean, variance = self.without(rows)
        label = self.y[rows]
        some = np.arange(len(rows))
        floor = self.floors_without(rows)
        whole = self.squares / np.maximum(self.n, 1)[:, None] + floor[:, None, None]
        means = np.broadcast_to(self.mean, whole.shape).copy()
        means[some, label] = mean
        whole[some, label] = variance + floor[:, None]
        left = np.broadcast_to(self.n, (len(rows), len(self.n))).copy()
        left[some, label] -= 1
        return np.where(left > 0, _log_normal(queries[:, None], means, whole), 0.0)

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
        bend = 1 / before[1] - 1 / after[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = (before[0] / before[1] - after[0] / after[1]) / bend
        vertex = np.where(np.isfinite(vertex), vertex, low)
        places = (low + np.zeros(shape), high + np.zeros(shape), np.clip(vertex, low, high))
        values = np.stack(
            [_each_log_normal(x, *after) - _each_log_normal(x, *before) for x in places]
        )
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
    """Return the log density summed over the last axis, up to the constant."""
    return np.asarray(_each_log_normal(x, mean, variance).sum(axis=-1), np.float64)


def _each_log_normal(x: Floats, mean: Floats, variance: Floats) -> Floats:
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
    sizes: tuple[int, ...]
    """(c,) Number of categories of each categorical attribute."""
    alpha: float
    """Smoothing added to every count of a category."""
    numeric: Bools
    """(c + m,) Attributes that are numbers."""

    @cached_property
    def counts(self) -> Counts:
        """The counts of categories."""
        return count_categories(
            self.codes, self.y, sizes=self.sizes, n_classes=self.n_classes, alpha=self.alpha
        )

    @cached_property
    def normals(self) -> Normals:
        """The moments of numbers."""
        return Normals.of(self.numbers, self.y, self.n_classes)

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
        agree = codes == self.codes[rows]
        steps = np.where(agree, self.removal.step[rows], 0.0).sum(axis=1)
        joint[np.arange(len(rows)), self.y[rows]] += self.removal.base[rows] + steps
        return class_log_p(joint + self.normals.log_density_without(rows, numbers))

    def own_log_p(self, rows: Ints) -> Floats:
        """Return log probabilities of training records under the full model, (r, k)."""
        return self.log_p(self.codes[rows], self.numbers[rows])

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        return self.log_p_without_at(rows, self.codes[rows], self.numbers[rows])


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
            found = np.log(table + self.alpha) - np.log(np.maximum(total, 1e-300))[:, None]
        return np.where((self.n == 0)[:, None], 0.0, found)

    def log_joint(self, codes: Ints) -> Floats:
        """Return log p(x, y) + log n of records (q, m), (q, k)."""
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
            base = np.log(n - 1) - np.log(n)
            rest = np.log(n[:, None] - 1 + sizes * self.alpha)
            base -= np.where(n > 1, (rest - np.log(n[:, None] + sizes * self.alpha)).sum(axis=1), 0)
            step = np.log(own - 1 + self.alpha) - np.log(own + self.alpha)
        return Removal(base, step)

    def occurrences(self, codes: Ints, y: Ints) -> Floats:
        """Return how many records of each record's class share each of its categories, (r, m)."""
        if not self.tables:
            return np.zeros((len(y), 0))
        shared = [table[y, codes[:, j]] for j, table in enumerate(self.tables)]
        return np.stack(shared, axis=1).astype(np.float64)

    def less(self, codes: Ints, y: int) -> Counts:
        """Return the counts without one record of the categories (m,)."""
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

    @property
    def at_record(self) -> Floats:
        """(r,) log rho at the record itself."""
        return np.asarray(self.base + self.step.sum(axis=1), np.float64)


def count_categories(
    codes: Ints, y: Ints, sizes: tuple[int, ...], n_classes: int, alpha: float
) -> Counts:
    """Return the counts of records (n, m) with classes (n,)."""
    n = np.bincount(y, minlength=n_classes).astype(np.int64)
    tables = tuple(
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
        evidence = np.logaddexp(0.0, log_odds + log_rho) - to_own
        other = np.where(log_odds == np.inf, 0.0, np.abs(evidence))
        own = np.where(log_odds == -np.inf, 0.0, np.abs(log_rho - evidence))
    # If y_t is certain with the record, it is without it too, unless no answer is left.
    own = np.where(log_odds == np.inf, np.where(log_rho == -np.inf, np.inf, 0.0), own)
    return np.maximum(own, other)
