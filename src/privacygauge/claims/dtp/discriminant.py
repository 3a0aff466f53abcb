"""Linear and quadratic discriminant analysis; leaving a record out is a rank-one change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.learner import (
    Box,
    DtpRange,
    class_log_p,
    log_priors,
    log_priors_without,
    matrix,
    training_set,
)
from privacygauge.classifiers.ratios import log_linear_dtp, some_records
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

Divisor = Literal["degrees of freedom", "records"]

TOLERANCE = 1e-4
"""Smallest deviation of a direction that counts, in units of the attributes' own deviations."""

BLOCK = 1 << 22
"""Values processed per block."""

LOST = 1e-6
"""If 1 - leverage is below this, the record is left out by refitting: the formula is inexact."""


def check_divisor(divisor: str) -> None:
    """Raise unless the divisor is one of `Divisor`."""
    if divisor not in ("degrees of freedom", "records"):
        raise InputError(f"divisor must be 'degrees of freedom' or 'records', got {divisor!r}")


@dataclass(frozen=True)
class LinearDiscriminant:
    """Linear discriminant analysis: normal classes that share one covariance.

    ``p(y | x)`` is proportional to ``n_y exp(-(x - m_y)' S^-1 (x - m_y) / 2)``. If attributes are
    collinear within the classes, the pseudo-inverse of S is taken after each attribute is divided
    by its deviation within the classes, as in scikit-learn's solver "svd". There is no answer (NaN)
    unless there are more records than classes.
    """

    divisor: Divisor = "degrees of freedom"
    """Divisor of the squares in S: n - k, or n as in scikit-learn from 1.9 on."""

    def __post_init__(self) -> None:
        check_divisor(self.divisor)

    name = "linear discriminant analysis"

    def describe(self) -> Mapping[str, Any]:
        """Return the divisor, as JSON values."""
        return {"divisor": self.divisor}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedLinearDiscriminant:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        return FittedLinearDiscriminant(*training_set(x, y, n_classes), n_classes, self.divisor)


@dataclass(frozen=True, eq=False)
class _Scatter:
    """Scatter within the classes, and its inverse."""

    means: Floats
    """(k, d) Means of the classes; 0 for one without records."""
    squares: Floats
    """(d,) Sum of each attribute's squares."""
    constant: Bools
    """(d,) Attributes that do not vary within any class."""
    inverse: Floats
    """(d, d) Pseudo-inverse of the scatter."""
    null: Floats
    """(d, m) Directions without scatter, each attribute divided by its deviation."""
    least: float
    """Smallest square among the scaled directions that count; inf if none does."""
    clear: bool
    """Whether directions that do not count have no scatter beyond rounding error."""


@dataclass(frozen=True, eq=False)
class FittedLinearDiscriminant:
    """Linear discriminant analysis, with and without each of the records.

    Without record i of class y the scatter A loses ``c v v'`` with v = x_i - m_y and c = n_y / (n_y
    - 1), so its inverse gains ``c A^-1 v v' A^-1 / (1 - h)`` with the leverage h = c v' A^-1 v
    (Sherman and Morrison). The leverages sum to at most twice the rank, so few records have one
    close to 1; for these the model is refitted.
    """

    x: Floats
    """(n, d) Records of the training set."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes, k."""
    divisor: Divisor
    """Divisor of the squares."""

    @cached_property
    def _counts(self) -> Ints:
        return np.bincount(self.y, minlength=self.n_classes).astype(np.int64)

    def _divide_by(self, n: Floats, present: Floats) -> Floats:
        """Return the divisor of the sums of squares; NaN where no answer is possible."""
        divisor = n - present if self.divisor == "degrees of freedom" else n
        return np.where(n > present, divisor, np.nan)

    @cached_property
    def _n_over(self) -> float:
        n = float(len(self.x))
        present = float(np.count_nonzero(self._counts))
        return float(self._divide_by(np.array(n), np.array(present)))

    @cached_property
    def _scatter(self) -> _Scatter:
        means = np.zeros((self.n_classes, self.x.shape[1]))
        for label in np.unique(self.y):
            means[label] = self.x[self.y == label].mean(axis=0)
        deviations = self.x - means[self.y]
        squares = (deviations**2).sum(axis=0)
        rounding = np.finfo(np.float64).eps * len(self.x) * np.abs(self.x).max(axis=0)
        # A deviation within rounding error of the mean is 0.
        constant = np.sqrt(squares / len(self.x)) <= rounding
        deviations[:, constant] = 0.0
        spread = np.where(constant, 1.0, np.sqrt(squares / len(self.x)))
        # Without an answer any divisor will do: all coefficients are NaN.
        divisor = self._n_over if self._n_over > 0 else 1.0
        # The SVD of R equals that of the matrix but for U, and R is only (d, d).
        triangle = np.linalg.qr(deviations / spread / np.sqrt(divisor), mode="r")
        _, s, vt = np.linalg.svd(triangle, full_matrices=True)
        rank = int(np.count_nonzero(s > TOLERANCE))
        # Rows that scale a difference to unit variance along each direction with scatter.
        scaled = vt[:rank] / spread / s[:rank, None]
        return _Scatter(
            means=means,
            squares=squares,
            constant=constant,
            inverse=scaled.T @ scaled / divisor,
            null=(vt[rank:] / spread).T,
            least=float(s[rank - 1] ** 2) if rank else np.inf,
            # A direction near the threshold might start or stop counting without a record: then the
            # model is refitted.
            clear=bool((s[rank:] < 1e-5 * TOLERANCE).all()),
        )

    def coefficients(self) -> tuple[Floats, Floats]:
        """Return W (d, k) and b (k,) of the log probabilities ``x' W + b`` up to a constant.

        b is minus infinity for a class without records; both are NaN if there is no answer.
        """
        if np.isnan(self._n_over):
            return np.full((self.x.shape[1], self.n_classes), np.nan), np.full(
                self.n_classes, np.nan
            )
        centre = self.x.mean(axis=0)
        # Measured from the overall mean, which changes the scores of all classes alike, so that a
        # large offset of the attributes does not cost digits.
        apart = np.where((self._counts > 0)[:, None], self._scatter.means - centre, 0.0)
        weights = self._n_over * apart @ self._scatter.inverse
        bias = log_priors(self.y, self.n_classes) - (weights * (apart / 2 + centre)).sum(axis=1)
        return weights.T, bias

    def coefficients_without(self, rows: Ints) -> tuple[Floats, Floats]:
        """Return W (r, d, k) and b (r, k) with each record left out."""
        d = self.x.shape[1]
        weights = np.full((len(rows), d, self.n_classes), np.nan)
        biases = np.full((len(rows), self.n_classes), np.nan)
        for part in _blocks(len(rows), d * (self.n_classes + self._scatter.null.shape[1])):
            weights[part], biases[part] = self._without(np.asarray(rows[part], np.int64))
        return weights, biases

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        weights, bias = self.coefficients()
        return class_log_p(asked @ weights + bias)

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        found = np.empty((len(rows), self.n_classes))
        for part in _blocks(len(rows), self.x.shape[1] * self.n_classes):
            weights, bias = self.coefficients_without(rows[part])
            joint = np.einsum("rd,rdk->rk", self.x[rows[part]], weights) + bias
            found[part] = class_log_p(joint)
        return found

    def dtp(self, rows: Ints, width: float, box: Box) -> DtpRange:
        """Return the range of each record's DTP over the box."""
        without = self.coefficients_without(rows)
        return log_linear_dtp(
            self.coefficients(),
            without,
            x_rows=self.x[rows],
            width=width,
            box=box,
            others=self.x[some_records(len(self.x))],
        )

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        weights, bias = self.coefficients_without(rows)
        return class_log_p(asked @ weights + bias[:, None, :])

    def _without(self, rows: Ints) -> tuple[Floats, Floats]:
        scatter = self._scatter
        labels = self.y[rows]
        n = len(self.x)
        counts = self._counts - np.eye(self.n_classes)[labels]
        # The class's count without the record; 0 if the record was its only one.
        rest = self._counts[labels] - 1.0
        present = counts > 0
        divisor = self._divide_by(np.full(len(rows), n - 1.0), present.sum(axis=1).astype(float))
        v = self.x[rows] - scatter.means[labels]
        ratio = np.where(rest > 0, (rest + 1) / np.maximum(rest, 1), 0.0)
        inverse_v = v @ scatter.inverse
        # 1 minus the leverage.
        left = 1 - ratio * (v * inverse_v).sum(axis=1)
        # Refit where the leverage is near 1, or where a direction may fall below the tolerance.
        lost = ~((left > LOST) & (scatter.least * left > 2 * TOLERANCE**2) & scatter.clear)
        with np.errstate(divide="ignore", invalid="ignore"):
            centre = (n * self.x.mean(axis=0) - self.x[rows]) / np.float64(n - 1)
        # (r, k, d): only the mean of the record's own class moves.
        means = np.repeat(scatter.means[None], len(rows), axis=0)
        means[np.arange(len(rows)), labels] -= v / np.maximum(rest, 1)[:, None]
        apart = np.where(present[:, :, None], means - centre[:, None, :], 0.0)
        squares = scatter.squares - ratio[:, None] * v**2
        # Constant attributes have a spread of 1 in `_scatter`.
        squares[:, scatter.constant] = 1.0
        squares[lost] = 1.0  # any value: these are refitted
        projection = _Projection(scatter.null, squares)
        # Sherman and Morrison, applied to differences of means u: u A^-1 + gain (u A^-1 v) v' A^-1.
        weights = projection.onto(apart) @ scatter.inverse
        gain = ratio / np.where(lost, 1.0, left)
        along = (weights @ v[:, :, None])[:, :, 0] * gain[:, None]
        weights = projection.back(weights + along[:, :, None] * inverse_v[:, None, :])
        weights = weights * divisor[:, None, None]
        bias = log_priors_without(self.y, rows, self.n_classes)
        bias = bias - (weights * (apart / 2 + centre[:, None, :])).sum(axis=2)
        weights = weights.transpose(0, 2, 1).copy()
        # The update is inexact at leverages near 1, or if it hides a change of rank.
        for number in np.flatnonzero(lost & ~np.isnan(divisor)):
            weights[number], bias[number] = self._anew(int(rows[number])).coefficients()
        return weights, bias

    def _anew(self, row: int) -> FittedLinearDiscriminant:
        others = np.arange(len(self.x)) != row
        return replace(self, x=self.x[others], y=self.y[others])


@dataclass(frozen=True, eq=False)
class _Projection:
    """Projection that removes the directions without scatter from differences of means.

    With each attribute divided by its deviation, the pseudo-inverse drops the part orthogonal to
    the scatter. The deviations change with the record that is left out, and so does the dropped
    part.
    """

    null: Floats
    """(d, m) Directions N without scatter."""
    squares: Floats
    """(r, d) Each attribute's sum of squares D without the record."""

    @cached_property
    def _gram(self) -> Floats:
        d, m = self.null.shape
        # The outer products of N's rows turn N' D N for all records into one product of matrices.
        products = (self.null[:, :, None] * self.null[:, None, :]).reshape(d, m * m)
        return (self.squares @ products).reshape(-1, m, m)

    def onto(self, u: Floats) -> Floats:
        """Return ``u - D N (N' D N)^-1 N' u`` for u (r, k, d)."""
        if not self.null.shape[1]:
            return u
        solved = np.linalg.solve(self._gram, (u @ self.null).transpose(0, 2, 1))
        return u - (self.null @ solved).transpose(0, 2, 1) * self.squares[:, None, :]

    def back(self, w: Floats) -> Floats:
        """Return ``w - N (N' D N)^-1 N' D w`` for w (r, k, d)."""
        if not self.null.shape[1]:
            return w
        inner = ((w * self.squares[:, None, :]) @ self.null).transpose(0, 2, 1)
        return w - (self.null @ np.linalg.solve(self._gram, inner)).transpose(0, 2, 1)


def _blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of n rows, each with at most `BLOCK` values for `size` values per row."""
    step = max(1, BLOCK // max(size, 1))
    return (slice(i, i + step) for i in range(0, n, step))


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
            # Only the record's own class changes: the other columns of the joint stay.
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
        # (r, q, k): the models differ in the column of the record's class only.
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
        # One record has no covariance: no answer.
        if self.count == 1:
            return np.full(len(queries), np.nan)
        variances = self.variances(learner, self.count)
        # Without spread in a direction the covariance has no inverse.
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
    # Ten times the usual tolerance of a rank, and at least the rounding error of x itself.
    largest = max(float(s.max()), float(np.abs(x).max()))
    rounding = 10 * max(x.shape) * float(np.finfo(np.float64).eps) * largest
    squares = np.where(singular > rounding, singular**2, 0.0)
    return _Normal(count=len(x), mean=mean, axes=axes, squares=squares, rounding=rounding)


@dataclass(frozen=True, eq=False)
class _Loss:
    """A class's normal without each of these records, as in `FittedQuadraticDiscriminant`."""

    normal: _Normal
    """The class with all of its records."""
    learner: QuadraticDiscriminant
    """The shrinkage and the divisor."""
    x: Floats
    """(r, d) Records of the class, each left out by itself."""

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
        # With any shrinkage, the covariance is not singular.
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
        # Records below LOST are refitted; for them the clip only keeps the logarithm finite.
        left = np.maximum(1 - self._factor * inner, LOST)
        # The mean moves by -v / (n_y - 1), so q - m becomes q - m + v / (n_y - 1).
        far = norms + 2 * cross / rest + inner / rest**2
        # The update of the inverse, as in the class above.
        far = far + self._factor * (cross + inner / rest) ** 2 / left
        return np.asarray(-(far + np.log(self._variances).sum() + np.log(left)) / 2, np.float64)
