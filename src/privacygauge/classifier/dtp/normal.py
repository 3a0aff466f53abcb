"""Normal distributions of numbers in each class, with and without one record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privacygauge.core.checks import Floats, Ints

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
        means[some, label], whole[some, label] = mean, variance + floor[:, None]
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
