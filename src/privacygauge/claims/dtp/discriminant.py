"""Linear and quadratic discriminant analysis; leaving a record out is a rank-one change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.learner import (
    Box,
    DtpRange,
    Learner,
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

_DIVISOR_RULE = "divisor must be 'degrees of freedom' or 'records'"

TOLERANCE = 1e-4
"""Smallest deviation of a direction that counts, in units of the attributes' own deviations."""

BLOCK = 1 << 22
"""Values processed per block."""

LOST = 1e-6
"""If 1 - leverage is below this, the record is left out by refitting: the formula is inexact."""


@dataclass(frozen=True)
class LinearDiscriminant(Learner):
    """Linear discriminant analysis: normal classes that share one covariance.

    ``p(y | x)`` is proportional to ``n_y exp(-(x - m_y)' S^-1 (x - m_y) / 2)``. If attributes are
    collinear within the classes, the pseudo-inverse of S is taken after each attribute is divided
    by its deviation within the classes, as in scikit-learn's solver "svd". There is no answer (NaN)
    unless there are more records than classes.
    """

    divisor: Divisor = "degrees of freedom"
    """Divisor of the squares in S: n - k, or n as in scikit-learn from 1.9 on."""

    def __post_init__(self) -> None:
        if self.divisor not in get_args(Divisor):
            raise InputError(f"{_DIVISOR_RULE}, got {self.divisor!r}")

    name = "linear discriminant analysis"

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedLinearDiscriminant:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        return FittedLinearDiscriminant(*training_set(x, y, n_classes), n_classes, self.divisor)


@dataclass(frozen=True, eq=False)
class _Scatter:
    """Scatter within the classes, and its inverse."""

    counts: Ints
    """(k,) Records of each class."""
    divisor: float
    """Divisor of the sums of squares; NaN where no answer is possible."""
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
    def _scatter(self) -> _Scatter:
        n = len(self.x)
        counts = np.bincount(self.y, minlength=self.n_classes).astype(np.int64)
        present = int(np.count_nonzero(counts))
        divisor = float(n - present if self.divisor == "degrees of freedom" else n)
        means = np.zeros((self.n_classes, self.x.shape[1]))
        for label in np.unique(self.y):
            means[label] = self.x[self.y == label].mean(axis=0)
        deviations = self.x - means[self.y]
        squares = (deviations**2).sum(axis=0)
        rounding = np.finfo(np.float64).eps * n * np.abs(self.x).max(axis=0)
        # A deviation within rounding error of the mean is 0.
        constant = np.sqrt(squares / n) <= rounding
        deviations[:, constant] = 0.0
        spread = np.where(constant, 1.0, np.sqrt(squares / n))
        # Without an answer any divisor will do: all coefficients are NaN.
        if n <= present:
            divisor = 1.0
        # The SVD of R equals that of the matrix but for U, and R is only (d, d).
        triangle = np.linalg.qr(deviations / spread / np.sqrt(divisor), mode="r")
        _, s, vt = np.linalg.svd(triangle, full_matrices=True)
        rank = int(np.count_nonzero(s > TOLERANCE))
        # Rows that scale a difference to unit variance along each direction with scatter.
        scaled = vt[:rank] / spread / s[:rank, None]
        return _Scatter(
            counts=counts,
            divisor=divisor if n > present else np.nan,
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
        scatter = self._scatter
        if np.isnan(scatter.divisor):
            return np.full((self.x.shape[1], self.n_classes), np.nan), np.full(
                self.n_classes, np.nan
            )
        centre = self.x.mean(axis=0)
        # Measured from the overall mean, which changes the scores of all classes alike, so that a
        # large offset of the attributes does not cost digits.
        apart = np.where((scatter.counts > 0)[:, None], scatter.means - centre, 0.0)
        weights = scatter.divisor * apart @ scatter.inverse
        bias = log_priors(self.y, self.n_classes) - (weights * (apart / 2 + centre)).sum(axis=1)
        return weights.T, bias

    def coefficients_without(self, rows: Ints) -> tuple[Floats, Floats]:
        """Return W (r, d, k) and b (r, k) with each record left out."""
        rows = np.asarray(rows, np.int64)
        scatter = self._scatter
        n, d = self.x.shape
        found = np.full((len(rows), d, self.n_classes), np.nan)
        biases = np.full((len(rows), self.n_classes), np.nan)
        null = scatter.null
        m = null.shape[1]
        step = max(1, BLOCK // max(d * (self.n_classes + m), 1))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            some = rows[part]
            labels = self.y[some]
            counts = scatter.counts - np.eye(self.n_classes)[labels]
            # The class's count without the record; 0 if the record was its only one.
            rest = scatter.counts[labels] - 1.0
            present = counts > 0
            n_present = present.sum(axis=1).astype(float)
            divisor = np.full(len(some), n - 1.0)
            divisor = divisor - n_present if self.divisor == "degrees of freedom" else divisor
            divisor = np.where(n - 1.0 > n_present, divisor, np.nan)
            v = self.x[some] - scatter.means[labels]
            ratio = np.where(rest > 0, (rest + 1) / np.maximum(rest, 1), 0.0)
            inverse_v = v @ scatter.inverse
            # 1 minus the leverage.
            left = 1 - ratio * (v * inverse_v).sum(axis=1)
            # Refit where the leverage is near 1, or where a direction may fall below the tolerance.
            lost = ~((left > LOST) & (scatter.least * left > 2 * TOLERANCE**2) & scatter.clear)
            with np.errstate(divide="ignore", invalid="ignore"):
                centre = (n * self.x.mean(axis=0) - self.x[some]) / np.float64(n - 1)
            # (r, k, d): only the mean of the record's own class moves.
            means = np.repeat(scatter.means[None], len(some), axis=0)
            means[np.arange(len(some)), labels] -= v / np.maximum(rest, 1)[:, None]
            apart = np.where(present[:, :, None], means - centre[:, None, :], 0.0)
            projected = apart
            # With each attribute divided by its deviation, the pseudo-inverse drops the part
            # orthogonal to the scatter, whose directions are N. The deviations, and so their
            # squares D (r, d), change with the record that is left out.
            if m:
                squares = scatter.squares - ratio[:, None] * v**2
                # Constant attributes have a spread of 1 in `_scatter`.
                squares[:, scatter.constant] = 1.0
                squares[lost] = 1.0  # any value: these are refitted
                # The outer products of N's rows turn N' D N for all records into one product.
                products = (null[:, :, None] * null[:, None, :]).reshape(d, m * m)
                gram = (squares @ products).reshape(-1, m, m)
                # u - D N (N' D N)^-1 N' u.
                solved = np.linalg.solve(gram, (apart @ null).transpose(0, 2, 1))
                projected = apart - (null @ solved).transpose(0, 2, 1) * squares[:, None, :]
            # Sherman and Morrison, applied to differences of means u: u A^-1 + gain (u A^-1 v) v'
            # A^-1.
            weights = projected @ scatter.inverse
            gain = ratio / np.where(lost, 1.0, left)
            along = (weights @ v[:, :, None])[:, :, 0] * gain[:, None]
            weights = weights + along[:, :, None] * inverse_v[:, None, :]
            if m:
                # w - N (N' D N)^-1 N' D w.
                inner = ((weights * squares[:, None, :]) @ null).transpose(0, 2, 1)
                weights = weights - (null @ np.linalg.solve(gram, inner)).transpose(0, 2, 1)
            weights = weights * divisor[:, None, None]
            bias = log_priors_without(self.y, some, self.n_classes)
            bias = bias - (weights * (apart / 2 + centre[:, None, :])).sum(axis=2)
            weights = weights.transpose(0, 2, 1).copy()
            # The update is inexact at leverages near 1, or if it hides a change of rank.
            for number in np.flatnonzero(lost & ~np.isnan(divisor)):
                weights[number], bias[number] = self._anew(int(some[number])).coefficients()
            found[part] = weights
            biases[part] = bias
        return found, biases

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        weights, bias = self.coefficients()
        return class_log_p(asked @ weights + bias)

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        found = np.empty((len(rows), self.n_classes))
        step = max(1, BLOCK // max(self.x.shape[1] * self.n_classes, 1))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
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

    def _anew(self, row: int) -> FittedLinearDiscriminant:
        others = np.arange(len(self.x)) != row
        return replace(self, x=self.x[others], y=self.y[others])


@dataclass(frozen=True)
class QuadraticDiscriminant(Learner):
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
        if self.divisor not in get_args(Divisor):
            raise InputError(f"{_DIVISOR_RULE}, got {self.divisor!r}")

    name = "quadratic discriminant analysis"

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedQuadraticDiscriminant:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        records, labels = training_set(x, y, n_classes)
        return FittedQuadraticDiscriminant(
            x=records,
            y=labels,
            n_classes=n_classes,
            learner=self,
            normals=[_normal_of(records[labels == label]) for label in range(n_classes)],
        )


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
    normals: list[_Normal]
    """(k,) Mean and scatter of each class."""

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        densities = np.stack([x.log_density(asked, self.learner) for x in self.normals], axis=1)
        return class_log_p(densities + log_priors(self.y, self.n_classes))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        asked = self.x[rows]
        labels = self.y[rows]
        joint = np.stack([x.log_density(asked, self.learner) for x in self.normals], axis=1)
        for label in np.unique(labels):
            # Only the record's own class changes: the other columns of the joint stay.
            own = np.flatnonzero(labels == label)
            normal = self.normals[label]
            joint[own, label], lost = _log_density_without(normal, self.learner, asked[own])
            for number in own[lost]:
                joint[number, label] = self._anew(rows[number], asked[[number]])[0]
        return class_log_p(joint + log_priors_without(self.y, rows, self.n_classes))

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        labels = self.y[rows]
        # (r, q, k): the models differ in the column of the record's class only.
        densities = np.stack([x.log_density(asked, self.learner) for x in self.normals], axis=1)
        joint = np.repeat(densities[None], len(rows), axis=0)
        for label in np.unique(labels):
            own = np.flatnonzero(labels == label)
            joint[own, :, label], lost = _log_density_without(
                self.normals[label], self.learner, self.x[rows][own], asked
            )
            for number in own[lost]:
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


def _log_density_without(
    normal: _Normal, learner: QuadraticDiscriminant, x: Floats, queries: Floats | None = None
) -> tuple[Floats, Bools]:
    """Return log densities of a class without each of its records x (r, d), and where they fail.

    Densities of the record itself (r,), or of the queries (r, q) if there are any. The mask (r,) is
    true where the formula of `FittedQuadraticDiscriminant` is inexact, or may hide that the
    covariance is singular.
    """
    count = normal.count
    rest = count - 1
    variances = normal.variances(learner, rest) if count > 2 else np.zeros(1)
    if not variances.min() > 0:
        # An empty class is impossible by its prior; one with too few records has no answer.
        unknown = 0.0 if count == 1 else float("nan")
        shape = (len(x),) if queries is None else (len(x), len(queries))
        return np.full(shape, unknown), np.zeros(len(x), np.bool_)
    # Differences from the mean, each axis over its deviation; `inner` is v' M^-1 v, (r,).
    v = (x - normal.mean) @ normal.axes.T / np.sqrt(variances)
    inner = np.asarray((v**2).sum(axis=1), np.float64)
    divisor = count - 2 if learner.divisor == "degrees of freedom" else rest
    factor = (1 - learner.reg) / divisor * count / rest
    left = 1 - factor * inner
    singular = normal.squares.min() * left <= 2 * normal.rounding**2
    # With any shrinkage, the covariance is not singular.
    lost = np.asarray((left < LOST) | (singular & (learner.reg == 0)), np.bool_)
    # v' M^-1 q and q' M^-1 q.
    cross = inner
    norms = inner
    if queries is not None:
        asked = (queries - normal.mean) @ normal.axes.T / np.sqrt(variances)
        cross = v @ asked.T
        norms = (asked**2).sum(axis=1)
        inner = inner[:, None]
    # Records below LOST are refitted; for them the clip only keeps the logarithm finite.
    left = np.maximum(1 - factor * inner, LOST)
    # The mean moves by -v / (n_y - 1), so q - m becomes q - m + v / (n_y - 1).
    far = norms + 2 * cross / rest + inner / rest**2
    # The update of the inverse, as in the class above.
    far = far + factor * (cross + inner / rest) ** 2 / left
    return np.asarray(-(far + np.log(variances).sum() + np.log(left)) / 2, np.float64), lost
