"""Least squares and kernel ridge on the classes; leaving a record out is a rank-one change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from privacygauge.classifiers.learner import Learner, logs, matrix, training_set
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

BLOCK = 1 << 22
"""Values processed per block."""

_LOST = 1e-6
"""If 1 - leverage is below this, the record is left out by refitting: the formula is inexact."""

_NOTHING = 1e-12
"""Smallest score that is not taken for 0: below it there is only rounding error."""


def _log_p(scores: Floats) -> Floats:
    """Return logs of scores clipped to [0, 1] and normalised over the classes.

    The raw scores of all classes sum to 1, so one of them is at least 1/k and the sum is never 0.
    """
    clipped = np.where(scores < _NOTHING, 0.0, scores.clip(None, 1.0))
    return logs(clipped / clipped.sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class LeastSquares(Learner):
    """Linear probability model: the classes, as 0 and 1, regressed on the attributes.

    Minimises ``sum_i |y_i - b - W' x_i|^2 + l2 |W|^2``; the intercept b is free. Without a penalty
    this is ordinary least squares, and of several solutions the one with the smallest W, which is
    the limit for a vanishing penalty. Probabilities are the scores clipped to [0, 1] and
    normalised.
    """

    l2: float = 0.0
    """Penalty on the squared coefficients, at least 0."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.l2) and self.l2 >= 0):
            raise InputError(f"l2 must be finite and at least 0, got {self.l2}")

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return "ridge regression" if self.l2 else "least squares"

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedLeastSquares:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        return FittedLeastSquares(*training_set(x, y, n_classes), n_classes, self.l2)


@dataclass(frozen=True, eq=False)
class FittedLeastSquares:
    """Least squares, with and without each of the records.

    With the leverage h_i of a record, its residual without it is ``e_i / (1 - h_i)``, and the
    coefficients change by that times the coefficients of its own response. At most d + 1 records
    have a leverage close to 1, since all leverages sum to the rank; for these the model is
    refitted.
    """

    x: Floats
    """(n, d) Records of the training set."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes, k."""
    l2: float
    """Penalty on the squared coefficients."""

    @cached_property
    def _responses(self) -> Floats:
        """(d, n) Coefficients, one column per record, for a response of 1 at it and 0 elsewhere."""
        u, s, vt = np.linalg.svd(self.x - self.x.mean(axis=0), full_matrices=False)
        # Rounding error in a direction without variance must not count as a direction.
        kept = s > np.finfo(np.float64).eps * max(self.x.shape) * np.linalg.norm(self.x)
        # Ridge shrinks each singular direction by s / (s^2 + l2).
        weight = np.zeros_like(s)
        weight[kept] = s[kept] / (s[kept] ** 2 + self.l2)
        return np.asarray((vt.T * weight) @ u.T, np.float64)

    def scores(self, queries: NDArray[Any]) -> Floats:
        """Return the raw score of every class, (q, k), before clipping and normalisation."""
        asked = matrix(queries, "queries", columns=self.x.shape[1]) - self.x.mean(axis=0)
        classes = np.eye(self.n_classes)[self.y]
        weights = self._responses @ classes
        return np.asarray(classes.mean(axis=0) + asked @ weights, np.float64)

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        return _log_p(self.scores(queries))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        residuals, lost = self._residuals_without(rows)
        # The score of a record without it is its response less its residual.
        found = _log_p(np.eye(self.n_classes)[self.y[rows]] - residuals)
        for number in np.flatnonzero(lost):
            found[number] = self._anew(rows[number], self.x[[rows[number]]])[0]
        return found

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        residuals, lost = self._residuals_without(rows)
        # (q, r): influence of each record's response on each query's score.
        weight = 1 / len(self.x) + (asked - self.x.mean(axis=0)) @ self._responses[:, rows]
        change = weight.T[:, :, None] * residuals[:, None, :]
        found = _log_p(self.scores(asked) - change)
        for number in np.flatnonzero(lost):
            found[number] = self._anew(rows[number], asked)
        return found

    def log_p_without_on(self, rows: Ints, squares: Floats) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k).

        Every attribute is divided by the root of `squares` (r, d) as well.
        """
        # (r, 1, d): each record is its own single query.
        return self.log_p_without_on_at(rows, squares, self.x[rows, None])[:, 0]

    def log_p_without_on_at(self, rows: Ints, squares: Floats, queries: Floats) -> Floats:
        """Return log probabilities of queries (q, d), or (r, q, d), without each record, (r, q, k).

        Every attribute is divided by the root of `squares` (r, d) as well. Without a record, the
        scatter loses ``n / (n - 1) z z'``, with z the record's difference from the mean. An
        attribute divided by s has s^2 times the penalty on its coefficient.
        """
        n, d = self.x.shape
        result = np.full((len(rows), queries.shape[-2], self.n_classes), np.nan)
        if n == 1:
            return result
        centre = self.x.mean(axis=0)
        away = self.x - centre
        squared = (away**2).sum(axis=0)
        classes = np.eye(self.n_classes)[self.y]
        # Scores are measured from the classes' shares, because the intercept is free.
        share = classes.mean(axis=0)
        # One (d, d) scatter per record.
        step = max(1, BLOCK // d**2)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            some = rows[part]
            asked = queries if queries.ndim == 2 else queries[part]
            z = away[some]
            own = classes[some] - share
            scatter = (away.T @ away) - n / (n - 1) * z[:, :, None] * z[:, None, :]
            scatter[:, np.arange(d), np.arange(d)] += self.l2 * squares[part]
            moments = away.T @ (classes - share) - n / (n - 1) * z[:, :, None] * own[:, None, :]
            left = 1 - n / (n - 1) * z**2 / np.where(squared > 0, squared, 1.0)
            # If a record has nearly all of a variance, few digits of the others' remain.
            # Without a penalty the scatter may be singular; a refit takes the pseudo-inverse.
            is_refitted = (left < _LOST).any(axis=1) | (self.l2 == 0)
            # Any regular matrix: these results are overwritten below.
            scatter[is_refitted] = np.eye(d)
            weights = np.linalg.solve(scatter, moments)
            # Mean of the attributes and shares of the classes among the other records.
            mean = centre - z / (n - 1)
            base = share - own / (n - 1)
            found = _log_p(base[:, None] + (asked - mean[:, None]) @ weights)
            for place in np.flatnonzero(is_refitted):
                root = np.sqrt(squares[part][place])
                others = np.arange(n) != some[place]
                rest = FittedLeastSquares(
                    self.x[others] / root, self.y[others], self.n_classes, self.l2
                )
                found[place] = rest.log_p((queries if queries.ndim == 2 else asked[place]) / root)
            result[part] = found
        return result

    def _residuals_without(self, rows: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Return y_i - score_i without the record, (r, k), and True where that is inexact, (r,)."""
        centred = self.x[rows] - self.x.mean(axis=0)
        leverage = 1 / len(self.x) + (centred * self._responses[:, rows].T).sum(axis=1)
        # 1 - leverage divides the residual: near 0 its digits are lost.
        lost = 1 - leverage < _LOST
        errors = np.eye(self.n_classes)[self.y[rows]] - self.scores(self.x[rows])
        return errors / np.where(lost, 1.0, 1 - leverage)[:, None], lost

    def _anew(self, row: int, queries: Floats) -> Floats:
        others = np.arange(len(self.x)) != row
        if not others.any():
            return np.full((len(queries), self.n_classes), np.nan)
        rest = FittedLeastSquares(self.x[others], self.y[others], self.n_classes, self.l2)
        return rest.log_p(queries)


class Kernel(Protocol):
    """Similarity of records. Frozen."""

    def describe(self) -> Mapping[str, Any]:
        """Return the kind and its parameters, as JSON values; by default the class's fields."""
        return {"kernel": type(self).__name__.lower(), **vars(self)}

    def between(self, a: Floats, b: Floats) -> Floats:
        """Return the values of the kernel, (n, m), for records (n, d) and (m, d)."""


@dataclass(frozen=True)
class Linear(Kernel):
    """``K(a, b) = a' b``: ridge regression."""

    def between(self, a: Floats, b: Floats) -> Floats:
        """Return the values of the kernel, (n, m), for records (n, d) and (m, d)."""
        return np.asarray(a @ b.T, np.float64)


@dataclass(frozen=True)
class Rbf(Kernel):
    """``K(a, b) = exp(-gamma |a - b|^2)``."""

    gamma: float = 1.0
    """One over twice the squared width, above 0."""

    def __post_init__(self) -> None:
        checks.positive(gamma=self.gamma)

    def between(self, a: Floats, b: Floats) -> Floats:
        """Return the values of the kernel, (n, m), for records (n, d) and (m, d)."""
        return np.asarray(np.exp(-self.gamma * cdist(a, b, "sqeuclidean")), np.float64)


@dataclass(frozen=True)
class KernelRidge:
    """Kernel ridge regression of the classes, as 0 and 1, with a free intercept.

    Minimises ``|Y - 1 b' - K A|^2 + l2 tr(A' K A)``; with the linear kernel it is `LeastSquares`
    with the same penalty. Probabilities are the scores clipped to [0, 1] and normalised. Time grows
    with the cube of the number of records, memory with its square.
    """

    l2: float
    """Penalty, above 0."""
    kernel: Kernel = field(default_factory=Rbf)
    """`Linear`, `Rbf`, or any other."""

    def __post_init__(self) -> None:
        checks.positive(l2=self.l2)

    name = "kernel ridge regression"

    def describe(self) -> Mapping[str, Any]:
        """Return the penalty and the kernel, as JSON values."""
        return {"l2": self.l2, **self.kernel.describe()}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedKernelRidge:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        return FittedKernelRidge(*training_set(x, y, n_classes), n_classes, self)


@dataclass(frozen=True, eq=False)
class FittedKernelRidge:
    """Kernel ridge regression, with and without each of the records.

    The coefficients solve ``[K + l2 I, 1; 1', 0] [A; b'] = [Y; 0]``. With Q the inverse of that
    matrix, a record's residual without it is ``A_i / Q_ii``, and the coefficients change by that
    times column i of Q.
    """

    x: Floats
    """(n, d) Records of the training set."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes, k."""
    learner: KernelRidge
    """The penalty and the kernel."""

    @cached_property
    def _inverse(self) -> Floats:
        """(n + 1, n) The first n columns of Q."""
        n = len(self.x)
        ridge = self.learner.kernel.between(self.x, self.x) + self.learner.l2 * np.eye(n)
        # Inverse by blocks; the Schur complement of the intercept is 1' (K + l2 I)^-1 1.
        inverse = np.linalg.inv(ridge)
        sums = inverse.sum(axis=0)
        intercept = sums / sums.sum()
        return np.vstack([inverse - np.outer(sums, intercept), intercept])

    @cached_property
    def _coefficients(self) -> Floats:
        """(n + 1, k) A, and the intercepts below."""
        return np.asarray(self._inverse @ np.eye(self.n_classes)[self.y], np.float64)

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        # A 1 for the intercept, below the coefficients.
        features = np.hstack([self.learner.kernel.between(asked, self.x), np.ones((len(asked), 1))])
        return _log_p(features @ self._coefficients)

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        return _log_p(np.eye(self.n_classes)[self.y[rows]] - self._residuals(rows))

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        features = np.hstack([self.learner.kernel.between(asked, self.x), np.ones((len(asked), 1))])
        weight = features @ self._inverse[:, rows]
        change = weight.T[:, :, None] * self._residuals(rows)[:, None, :]
        return _log_p(features @ self._coefficients - change)

    def _residuals(self, rows: Ints) -> Floats:
        """Return y_i - score_i without the record, (r, k); NaN if it is the only one."""
        if len(self.x) == 1:
            return np.full((len(rows), self.n_classes), np.nan)
        return np.asarray(self._coefficients[rows] / self._inverse[rows, rows][:, None])
