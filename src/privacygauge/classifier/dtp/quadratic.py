"""Quadratic discriminant analysis; leaving a record out is a rank-one change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.discriminant import LOST, Divisor, check_divisor
from privacygauge.classifier.dtp.learner import (
    class_log_p,
    log_priors,
    log_priors_without,
    matrix,
    training_set,
)
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True)
class QuadraticDiscriminant:
    """Quadratic discriminant analysis: normal classes, each with its own covariance.

    ``p(y | x)`` is proportional to ``n_y |S_y|^(-1/2) exp(-(x - m_y)' S_y^-1 (x - m_y) / 2)`` with
    S_y the covariance times 1 - reg plus reg times the identity. There is no answer (NaN) while a
    class has only one record, or a singular covariance.
    """

    reg: float = 0.0
    """Shrinkage of the covariances towards the identity, in [0, 1]."""
    divisor: Divisor = "degrees of freedom"
    """Divisor of the squares in S_y: n_y - 1, or n_y as in scikit-learn from 1.9 on."""

    def __post_init__(self) -> None:
        if not 0 <= self.reg <= 1:
            raise InputError(f"reg must be in [0, 1], got {self.reg}")
        check_divisor(self.divisor)

    name = "quadratic discriminant analysis"

    def describe(self) -> Mapping[str, Any]:
        """Return the shrinkage and the divisor, as JSON values."""
        return {"reg": self.reg, "divisor": self.divisor}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedQuadraticDiscriminant:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        return FittedQuadraticDiscriminant(*training_set(x, y, n_classes), n_classes, self)


@dataclass(frozen=True, eq=False)
class FittedQuadraticDiscriminant:
    """Quadratic discriminant analysis, with and without each of the records.

    Leaving record i out changes its own class only, whose scatter loses ``c v v'`` with v = x_i -
    m_y and c = n_y / (n_y - 1). With M the class's covariance for the smaller number of records,
    before that loss, and a the factor of the scatter in it, ``S^-1 = M^-1 + a c M^-1 v v' M^-1 / (1
    - h)`` and ``|S| = |M| (1 - h)`` for h = a c v' M^-1 v. For the few records with h close to 1
    the class is refitted.
    """

    x: Floats
    """(n, d) Records of the training set."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes, k."""
    learner: QuadraticDiscriminant
    """The shrinkage and the divisor."""

    @cached_property
    def _normals(self) -> list[_Normal]:
        return [_normal_of(self.x[self.y == label]) for label in range(self.n_classes)]

    def _log_densities(self, queries: Floats) -> Floats:
        """Return the log density of queries in each class, (q, k); NaN if it is singular."""
        each = [normal.log_density(queries, self.learner) for normal in self._normals]
        return np.stack(each, axis=1)

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        return class_log_p(self._log_densities(asked) + log_priors(self.y, self.n_classes))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        asked = self.x[rows]
        labels = self.y[rows]
        joint = self._log_densities(asked)
        for label in np.unique(labels):
            own = np.flatnonzero(labels == label)
            loss = _Loss(self._normals[label], self.learner, asked[own])
            joint[own, label] = loss.own()
            for number in own[loss.lost]:
                joint[number, label] = self._anew(rows[number], asked[[number]])[0]
        return class_log_p(joint + log_priors_without(self.y, rows, self.n_classes))

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        labels = self.y[rows]
        joint = np.repeat(self._log_densities(asked)[None], len(rows), axis=0)
        for label in np.unique(labels):
            own = np.flatnonzero(labels == label)
            loss = _Loss(self._normals[label], self.learner, self.x[rows][own])
            joint[own, :, label] = loss.at(asked)
            for number in own[loss.lost]:
                joint[number, :, label] = self._anew(rows[number], asked)
        priors = log_priors_without(self.y, rows, self.n_classes)
        return class_log_p(joint + priors[:, None, :])

    def _anew(self, row: int, queries: Floats) -> Floats:
        same = (self.y == self.y[row]) & (np.arange(len(self.x)) != row)
        return _normal_of(self.x[same]).log_density(queries, self.learner)


@dataclass(frozen=True, eq=False)
class _Normal:
    """A class's mean and scatter."""

    count: int
    """Number of records."""
    mean: Floats
    """(d,) Mean of the records."""
    axes: Floats
    """(d, d) Principal axes of the scatter, one per row."""
    squares: Floats
    """(d,) Sum of squares along each axis; 0 if it is only rounding error."""
    rounding: float
    """Largest rounding error of a deviation that is 0."""

    def variances(self, learner: QuadraticDiscriminant, count: int) -> Floats:
        """Return the variances along the axes for `count` records, (d,)."""
        divisor = count - 1 if learner.divisor == "degrees of freedom" else count
        return np.asarray((1 - learner.reg) * self.squares / divisor + learner.reg, np.float64)

    def log_density(self, queries: Floats, learner: QuadraticDiscriminant) -> Floats:
        """Return the log density up to a constant, (q,); 0 in an empty class, NaN if unknown."""
        if self.count == 0:
            return np.zeros(len(queries))
        if self.count == 1:
            return np.full(len(queries), np.nan)
        variances = self.variances(learner, self.count)
        if variances.min() <= 0:
            return np.full(len(queries), np.nan)
        far = ((queries - self.mean) @ self.axes.T) ** 2 / variances
        return np.asarray(-(far.sum(axis=1) + np.log(variances).sum()) / 2, np.float64)


def _normal_of(x: Floats) -> _Normal:
    d = x.shape[1]
    if not len(x):
        return _Normal(count=0, mean=np.zeros(d), axes=np.eye(d), squares=np.zeros(d), rounding=0.0)
    mean = x.mean(axis=0)
    _, s, axes = np.linalg.svd(np.linalg.qr(x - mean, mode="r"), full_matrices=True)
    singular = np.zeros(d)
    singular[: len(s)] = s
    largest = max(float(s.max()), float(np.abs(x).max()))
    rounding = 10 * max(x.shape) * float(np.finfo(np.float64).eps) * largest
    squares = np.where(singular > rounding, singular**2, 0.0)
    return _Normal(count=len(x), mean=mean, axes=axes, squares=squares, rounding=rounding)


@dataclass(frozen=True, eq=False)
class _Loss:
    """A class's normal without each of some of its records; see the formulas above."""

    normal: _Normal
    """The class with all of its records."""
    learner: QuadraticDiscriminant
    """The shrinkage and the divisor."""
    x: Floats
    """(r, d) The records that are left out one by one."""

    @cached_property
    def _variances(self) -> Floats:
        return self.normal.variances(self.learner, self.normal.count - 1)

    @cached_property
    def _v(self) -> Floats:
        """(r, d) The records' differences from the mean, each axis over its deviation."""
        return self._whitened(self.x)

    @cached_property
    def inner(self) -> Floats:
        """(r,) v' M^-1 v."""
        return np.asarray((self._v**2).sum(axis=1), np.float64)

    @cached_property
    def _factor(self) -> float:
        count = self.normal.count
        divisor = count - 2 if self.learner.divisor == "degrees of freedom" else count - 1
        return (1 - self.learner.reg) / divisor * count / (count - 1)

    @cached_property
    def lost(self) -> Bools:
        """(r,) Where the formula is inexact, or may hide that the covariance is singular."""
        if not self._known:
            return np.zeros(len(self.x), np.bool_)
        left = 1 - self._factor * self.inner
        singular = self.normal.squares.min() * left <= 2 * self.normal.rounding**2
        return np.asarray((left < LOST) | (singular & (self.learner.reg == 0)), np.bool_)

    @property
    def _known(self) -> bool:
        return self.normal.count > 2 and bool(self._variances.min() > 0)

    @property
    def _unknown(self) -> float:
        """Log density where a class has too few records left.

        An empty class is impossible by its prior; one with too few records has no answer.
        """
        return 0.0 if self.normal.count == 1 else float("nan")

    def _whitened(self, queries: Floats) -> Floats:
        """Return the queries' differences from the mean, each axis over its deviation."""
        return (queries - self.normal.mean) @ self.normal.axes.T / np.sqrt(self._variances)

    def own(self) -> Floats:
        """Return each record's log density without it, (r,)."""
        if not self._known:
            return np.full(len(self.x), self._unknown)
        return self._log_density(self.inner, self.inner, self.inner)

    def at(self, queries: Floats) -> Floats:
        """Return every query's log density without each record, (r, q)."""
        if not self._known:
            return np.full((len(self.x), len(queries)), self._unknown)
        asked = self._whitened(queries)
        return self._log_density(self._v @ asked.T, (asked**2).sum(axis=1), self.inner[:, None])

    def _log_density(self, cross: Floats, norms: Floats, inner: Floats) -> Floats:
        """Return the log density from v' M^-1 q, q' M^-1 q and v' M^-1 v."""
        rest = self.normal.count - 1
        left = np.maximum(1 - self._factor * inner, LOST)
        far = norms + 2 * cross / rest + inner / rest**2
        far = far + self._factor * (cross + inner / rest) ** 2 / left
        return np.asarray(-(far + np.log(self._variances).sum() + np.log(left)) / 2, np.float64)
