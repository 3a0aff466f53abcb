"""Logistic regression, and exactly what it would be without any one of its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.learner import Box, DtpRange
from privacygauge.classifier.dtp.log_linear import log_linear_dtp
from privacygauge.classifier.dtp.logistic_chords import optima_without
from privacygauge.classifier.dtp.logistic_optimum import Problem
from privacygauge.classifier.dtp.records import class_log_p
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True)
class Logistic:
    """Logistic regression with an L2 penalty on the weights and none on the intercepts.

    Minimises ``sum_i -log p(y_i | x_i) + l2 / 2 * |W|^2``. Its optimum is that of scikit-learn's
    ``LogisticRegression(C=1 / l2)``: with two classes the difference of the two weight vectors
    is penalised, with more of them every class's vector.
    """

    l2: float = 1.0
    """Weight of the penalty, above 0: separable records have no optimum without it."""
    tol: float = 1e-10
    """Largest gradient at the optimum, relative to the most that one record can add to it."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.l2) and self.l2 > 0):
            raise InputError(f"l2 must be above 0, got {self.l2}; 1e-6 is nearly no penalty")
        if not 0 < self.tol < 1:
            raise InputError(f"tol must be in (0, 1), got {self.tol}")

    name = "logistic regression"

    def describe(self) -> Mapping[str, Any]:
        """Return the penalty and the tolerance, as JSON values."""
        return {"l2": self.l2, "tol": self.tol}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedLogistic:
        """Return the classifier trained on records (n, d) of the classes (n,) in 0..k-1.

        Raises
        ------
        InputError
            If records are not finite, classes not in 0..k-1, or there are too many parameters.
        """
        x, y = _finite(x), np.asarray(y, np.int64)
        if x.shape[0] != len(y) or not len(y):
            raise InputError(f"x and y must have as many rows, at least 1, got {len(x)}, {len(y)}")
        if y.min() < 0 or y.max() >= n_classes:
            raise InputError(f"classes must be in 0..{n_classes - 1}, got {y.min()}..{y.max()}")
        problem = Problem.of(x, y, self.l2, self.tol)
        return FittedLogistic(self, x, y, n_classes, problem, problem.optimum())


def _finite(x: NDArray[Any]) -> Floats:
    x = np.asarray(x, np.float64)
    if x.ndim != 2 or not np.isfinite(x).all():
        raise InputError(f"x must be finite numbers of the shape (n, d), got {x.shape}")
    return x


@dataclass(frozen=True, eq=False)
class FittedLogistic:
    """Logistic regression with its records, any one of which can be left out exactly.

    A class without records has the probability 0, and the others are fitted among themselves;
    so it is for a class whose only record is left out. A single class has the probability 1.
    """

    learner: Logistic
    """How it was trained."""
    x: Floats
    """(n, d) Records."""
    y: Ints
    """(n,) Their classes."""
    n_classes: int
    """Number of classes k, those without records included."""
    problem: Problem
    """What was minimised."""
    optimum: Floats
    """(d + 1, c - 1) Where the minimum is, for the c classes that have records."""

    def coefficients(self) -> tuple[Floats, Floats]:
        """Return weights W (d, k) and intercepts b (k,): ``p = softmax(x @ W + b)``.

        They sum to 0 over the classes that have records. A class without records has the weights
        0 and the intercept -inf.
        """
        weights, intercepts = self._expanded(self.problem, self.optimum[:, None])
        return weights[0], intercepts[0]

    def coefficients_without(self, rows: Ints) -> tuple[Floats, Floats]:
        """Return weights (r, d, k) and intercepts (r, k) had each record been left out.

        Parameters
        ----------
        rows : ndarray of int, shape (r,)
            Records of the training set.

        Notes
        -----
        Leaving out record i leaves the gradient -g_i. The first step solves with the Hessian at
        the full optimum, from which the record's own part, of rank k - 1, is taken (Woodbury);
        this is the influence function, and only the start. The true gradients of all records
        follow from two products with the training set, and the same matrix gives the next step,
        until each gradient is within the tolerance. A record that does not get there is given
        Newton steps of its own. So the result is the optimum of n - 1 records.
        """
        rows = np.asarray(rows, np.int64)
        group = self.problem.group[rows]
        k = self.n_classes
        # Equal records leave the same classifier behind.
        _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
        one_of_each = rows[first]
        last = np.bincount(self.y, minlength=k)[self.y[one_of_each]] == 1
        weights = np.empty((len(first), self.x.shape[1], k))
        intercepts = np.empty((len(first), k))
        usual = one_of_each[~last]
        found = optima_without(self.problem, self.optimum, self.problem.group[usual])
        weights[~last], intercepts[~last] = self._expanded(self.problem, found)
        for i in np.flatnonzero(last):
            weights[i], intercepts[i] = self._without_class(int(one_of_each[i]))
        return weights[inverse], intercepts[inverse]

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        weights, intercepts = self.coefficients()
        return class_log_p(_finite(queries) @ weights + intercepts)

    def log_p_without(self, rows: Ints) -> Floats:
        """Return what each record would be told had it been left out, (r, k)."""
        weights, intercepts = self.coefficients_without(rows)
        scores = np.einsum("rd,rdk->rk", self.x[rows], weights) + intercepts
        return class_log_p(scores)

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return what every query would be told, had each record been left out, (r, q, k)."""
        weights, intercepts = self.coefficients_without(rows)
        scores = _finite(queries) @ weights + intercepts[:, None]
        return class_log_p(scores)

    def dtp(self, rows: Ints, width: float, box: Box) -> DtpRange:
        """Return the range of each record's DTP over the box."""
        without = self.coefficients_without(rows)
        return log_linear_dtp(self.coefficients(), without, self.x[rows], width, box)

    def _expanded(self, problem: Problem, found: Floats) -> tuple[Floats, Floats]:
        """Return weights (r, d, k) and intercepts (r, k) of optima (d + 1, r, c - 1)."""
        scores = np.moveaxis(found @ problem.basis.T, 1, 0)
        weights = np.zeros((len(scores), self.x.shape[1], self.n_classes))
        intercepts = np.full((len(scores), self.n_classes), -np.inf)
        weights[..., problem.classes] = scores[:, :-1]
        intercepts[..., problem.classes] = scores[:, -1] - problem.centre @ scores[:, :-1]
        return weights, intercepts

    def _without_class(self, row: int) -> tuple[Floats, Floats]:
        """Return the coefficients without the only record of a class."""
        others = np.arange(len(self.y)) != row
        if not others.any():
            raise InputError("a single record cannot be left out: none is left to learn from")
        problem = Problem.of(self.x[others], self.y[others], self.learner.l2, self.learner.tol)
        weights, intercepts = self._expanded(problem, problem.optimum()[:, None])
        return weights[0], intercepts[0]
