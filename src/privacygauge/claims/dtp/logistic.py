"""Logistic regression, and its exact optimum without any one of its records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, helmert
from scipy.special import logsumexp, softmax

from privacygauge.classifiers.learner import Box, DtpRange, Scale, class_log_p, squares_without
from privacygauge.classifiers.ratios import log_linear_dtp, some_records
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

MOST_PARAMETERS = 12_000
"""Largest number of parameters: beyond it the Hessian takes gigabytes, and minutes to factorise."""

BLOCK = 1 << 21
"""Values processed per block."""

_NEWTONS = 200
"""Largest number of Newton steps before the fit is refused."""

_NEAR = 1e-5
"""Largest change of a score by a Newton step that counts as the last one."""


@dataclass(frozen=True, eq=False)
class Problem:
    """The function to minimise, in parameters v (d + 1, c - 1) that the records identify.

    The scores of the c classes are ``x v basis^T``; the columns of the basis sum to 0, so that a
    shift common to all classes, which moves no probability, cannot be expressed. The intercepts
    have no penalty, so attributes may be centred.
    """

    x: Floats
    """(m, d + 1) Distinct records by attributes and class, scaled, with a 1."""
    n: Floats
    """(m,) Copies of each distinct record."""
    label: Ints
    """(m,) Indices of their classes in `classes`."""
    group: Ints
    """(n,) Index of the distinct record that each record is a copy of."""
    classes: Ints
    """(c,) Classes that have records."""
    basis: Floats
    """(c, c - 1) Basis of the scores, scaled so that the penalty equals scikit-learn's."""
    scale: Scale
    """Centre and scale of the attributes."""
    is_rescaled: bool
    """Whether attributes are rescaled by the remaining records when one is left out."""
    penalty: Floats
    """(d + 1, 1) Penalty of each row: l2, and 0 for the intercepts."""
    enough: Floats
    """(d + 1, 1) Tolerance of the gradient."""

    @classmethod
    def of(cls, x: Floats, y: Ints, l2: float, tol: float, *, standardised: bool) -> Problem:
        """Return the problem of records (n, d) with classes (n,)."""
        classes, labels = np.unique(y, return_inverse=True)
        # Scores sum to 0. Orthonormal columns make |v|^2 equal |W|^2 with more than two classes;
        # with two, v is the difference of the two score vectors.
        if len(classes) == 1:
            basis = np.zeros((1, 0))
        elif len(classes) == 2:
            basis = np.array([[-0.5], [0.5]])
        else:
            basis = np.ascontiguousarray(helmert(len(classes)).T)
        d = x.shape[1]
        if (d + 1) * basis.shape[1] > MOST_PARAMETERS:
            raise InputError(
                f"the Hessian of {(d + 1) * basis.shape[1]} parameters is too large (at most "
                f"{MOST_PARAMETERS}): drop attributes or classes, or refit for each record"
            )
        # Equal records of one class share their gradient: keep one of each, with its count.
        _, first, group = np.unique(
            np.column_stack([x, labels]), axis=0, return_index=True, return_inverse=True
        )
        group = group.reshape(-1)
        n = np.bincount(group)
        scale = Scale.of(x) if standardised else Scale(x.mean(axis=0), np.ones(d))
        rows = np.hstack([scale.applied(x[first]), np.ones((len(first), 1))])
        penalty = np.append(np.full(d, l2), 0.0)[:, None]
        # Attributes are centred or scaled: their sizes set the unit in which a gradient is small.
        size = np.abs(rows)
        # Sums of n terms are not more exact than this, whatever the tolerance.
        rounding = 16 * np.finfo(np.float64).eps * (n @ size)
        enough = np.maximum(tol * size.max(axis=0), rounding)[:, None]
        enough[enough == 0] = 1.0  # an attribute that is always 0 has no gradient
        own = labels[first]
        times = n.astype(np.float64)
        return cls(
            x=rows,
            n=times,
            label=own,
            group=group,
            classes=classes,
            basis=basis,
            scale=scale,
            is_rescaled=standardised,
            penalty=penalty,
            enough=enough,
        )

    def penalty_without(self, group: Ints) -> Floats:
        """Return the penalties (d + 1, r, 1) of a problem without one record.

        Rescaling an attribute is the same as changing its penalty: divided by s, it has s times
        the weight.
        """
        # (d + 1, r, 1): the last row, of the intercepts, stays 0.
        penalty = np.repeat(self.penalty[:, None], len(group), axis=1)
        if self.is_rescaled:
            squares = squares_without(self.x[:, :-1], self.n, group, self.scale)
            penalty[:-1] *= squares.T[..., None]
        return penalty

    def residuals(self, scores: Floats, label: Ints) -> Floats:
        """Return ``(p - e_y) @ basis`` for scores (m, r, c - 1) of records with classes (m,).

        For a record that is almost certain of its class, 1 - p keeps all its digits. The memory of
        `scores` may be overwritten.
        """
        # Two classes: p - 1 of the own class from one logistic function, in place.
        if len(self.basis) == 2:
            sign = np.where(label == 1, -1.0, 1.0)[:, None, None]
            found = np.multiply(scores, -sign, out=scores)
            with np.errstate(over="ignore"):
                np.exp(found, out=found)
            found += 1.0
            return np.asarray(np.divide(sign, found, out=found))
        p = softmax(scores @ self.basis.T, axis=-1)
        # p - 1 of the own class as minus the sum of the others, where 1 - p would lose digits.
        own = label[:, None, None]
        np.put_along_axis(p, own, 0.0, axis=-1)
        np.put_along_axis(p, own, -p.sum(axis=-1, keepdims=True), axis=-1)
        return np.asarray(p @ self.basis, np.float64)

    def spreads(self, scores: Floats) -> Floats:
        """Return the covariance of the basis under the probabilities, (..., c - 1, c - 1)."""
        p = softmax(scores @ self.basis.T, axis=-1)
        away = self.basis - (p @ self.basis)[..., None, :]
        return np.asarray(np.swapaxes(away * p[..., None], -1, -2) @ away, np.float64)

    def loss(self, v: Floats) -> tuple[float, float]:
        """Return the objective, and a bound on its rounding error."""
        scores = self.x @ v @ self.basis.T
        own = self.label[:, None]
        # Relative to the own class: its loss is log(1 + sum of the others' exponentials).
        scores -= np.take_along_axis(scores, own, axis=1)
        np.put_along_axis(scores, own, -np.inf, axis=1)
        losses = np.logaddexp(0.0, logsumexp(scores, axis=1))
        value = float(self.n @ losses + (self.penalty * v * v).sum() / 2)
        # A rounding error in a score moves the loss by 1 - p times as much.
        unsure = -np.expm1(-losses) * (np.abs(self.x) @ np.abs(v)).max(axis=1)
        return value, 16 * np.finfo(np.float64).eps * (value + float(self.n @ unsure))

    def gradients(self, v: Floats) -> Floats:
        """Return the gradients at many parameters (d + 1, r, c - 1) at once."""
        flat = v.reshape(len(v), -1)
        found = self.penalty * flat
        # All r problems share the records, so one product serves them all.
        size = max(256, BLOCK // max(1, flat.shape[1]))
        for start in range(0, len(self.x), size):
            some = slice(start, start + size)
            part = self.x[some]
            scores = (part @ flat).reshape(len(part), *v.shape[1:])
            off = self.residuals(scores, self.label[some])
            off *= self.n[some, None, None]
            found += part.T @ off.reshape(len(part), -1)
        return found.reshape(v.shape)

    def hessian(self, v: Floats) -> Floats:
        """Return the second derivatives at v, (p, p) for the p = (d + 1)(c - 1) parameters."""
        width, free = v.shape
        found = np.zeros((width, free, width, free))
        size = max(256, BLOCK // max(width, free * len(self.basis)))
        for start in range(0, len(self.x), size):
            part = self.x[start : start + size]
            spreads = self.spreads(part @ v) * self.n[start : start + size, None, None]
            # The blocks (a, b) of parameters are symmetric: only the lower half is summed.
            for a, b in zip(*np.tril_indices(free), strict=True):
                found[:, a, :, b] += part.T @ (part * spreads[:, a, b, None])
        for a, b in zip(*np.tril_indices(free, -1), strict=True):
            found[:, b, :, a] = found[:, a, :, b]
        flat = found.reshape(width * free, width * free)
        # Parameters are ordered by attribute, then by free class.
        flat[np.diag_indices_from(flat)] += np.repeat(self.penalty[:, 0], free)
        return flat

    def excess(self, gradients: Floats) -> Floats:
        """Return each record's largest gradient relative to the tolerance, (r,)."""
        return np.asarray((np.abs(gradients) / self.enough[..., None]).max(axis=(0, 2), initial=0))

    def optimum(self, start: Floats | None = None) -> Floats:
        """Return the minimiser, by Newton steps that are halved until the loss decreases."""
        v = np.zeros((self.x.shape[1], self.basis.shape[1])) if start is None else start
        if not v.size:
            return v
        for _ in range(_NEWTONS):
            gradient = self.gradients(v[:, None])
            step = solver(self.hessian(v))(gradient.reshape(-1, 1)).reshape(v.shape)
            # The gradient in units of its tolerance.
            near = self.excess(gradient)[0] <= 1
            if near:
                # Where the loss is flat, a gradient within the tolerance may still be some way off:
                # go on until further steps would be indistinguishable from rounding.
                off = self.residuals((self.x @ v)[:, None], self.label)[:, 0] * self.n[:, None]
                # The size of the terms of a gradient bounds the rounding of their sum.
                sizes = np.abs(self.x).T @ np.abs(off) + np.abs(self.penalty * v)
                within = np.abs(gradient[:, 0]) <= 16 * np.finfo(np.float64).eps * sizes
                if np.abs(self.x @ step).max() <= _NEAR or within.all():
                    return v - step
            slope = float((gradient[:, 0] * step).sum())
            loss, rounding = self.loss(v)
            length = 1.0
            # Armijo's rule, with both losses' rounding errors as slack.
            while length > 1e-10:
                new, more_rounding = self.loss(v - length * step)
                if new <= loss - 1e-4 * length * slope + rounding + more_rounding:
                    break
                length /= 2
            v = v - length * step
        if near:
            return v
        raise InputError(
            f"no optimum within the tolerance after {_NEWTONS} Newton steps; "
            "scale the attributes, or raise l2 or tol"
        )

    def without(self, group: int) -> Problem:
        """Return the problem without one record."""
        n = self.n.copy()
        n[group] -= 1
        return replace(self, n=n, penalty=self.penalty_without(np.array([group]))[:, 0])


def solver(hessian: Floats) -> Callable[[Floats], Floats]:
    """Return the function that applies the inverse of a Hessian."""
    diagonal = np.diag(hessian).copy()
    for ridge in (0.0, *10.0 ** np.arange(-14, 1)):
        # Where all probabilities are near 0 or 1, rounding may leave an intercept no curvature.
        damped = hessian.copy()
        damped[np.diag_indices_from(damped)] = diagonal * (1 + ridge) + ridge * 1e-12
        try:
            factor = cho_factor(damped, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return lambda right: np.asarray(cho_solve(factor, right, check_finite=False))
    raise InputError("the Hessian is not positive; scale the attributes, or raise l2")


_CHORDS = 50
"""Largest number of chord steps for a record; after them, it gets its own Newton steps."""

_REMEMBERED = 6
"""Number of the latest steps that improve the next chord."""

_FAR = 1e-9
"""Largest change of a record's own scores by the last step of a converged record."""


def optima_without(problem: Problem, optimum: Floats, group: Ints) -> Floats:
    """Return the minimisers (d + 1, r, c - 1), each without one record.

    Parameters
    ----------
    problem : Problem
        All records.
    optimum : ndarray of float, shape (d + 1, c - 1)
        The minimiser for all records.
    group : ndarray of int, shape (r,)
        Index of the distinct record that is left out; its class has other records.
    """
    found = np.repeat(optimum[:, None], len(group), axis=1)
    if not found.size:
        return found
    hessian = problem.hessian(optimum)
    # Weights of the parameters in a step's length.
    metric = np.diag(hessian).reshape(optimum.shape)
    solve = solver(hessian)
    # `spread` of each record has as many values as the optimum times c - 1.
    size = max(1, BLOCK // (optimum.size * optimum.shape[1]))
    for start in range(0, len(group), size):
        part = slice(start, start + size)
        found[:, part] = _optima_by_chords(
            problem, optimum, solve=solve, metric=metric, group=group[part]
        )
    return found


def _with_next_step(taken: list[Floats], chord: Floats, metric: Floats) -> list[Floats]:
    """Return the steps taken and the next one, improved from a chord at the new parameters.

    Broyden's update of the inverse, in the form that needs only the steps s_j (Kelley, Solving
    Nonlinear Equations with Newton's Method, 2003, section 4.3): each chord improves the next.

    Parameters
    ----------
    taken : list of ndarray of float, shape (d + 1, r, c - 1)
        The latest steps for many records.
    chord : ndarray of float, shape (d + 1, r, c - 1)
    metric : ndarray of float, shape (d + 1, c - 1)
        Weights of the parameters in a step's length.
    """
    # Start again with a full memory: the recursion needs every step since its first.
    if len(taken) >= _REMEMBERED or not taken:
        return [chord]
    for before, after in zip(taken, [*taken[1:], None], strict=True):
        weighed = before * metric[:, None]
        length = (before * weighed).sum(axis=(0, 2))
        along = (chord * weighed).sum(axis=(0, 2))
        # Coefficient of the chord's projection on the step; one of length 0 has no direction.
        share = np.divide(along, length, out=np.zeros_like(along), where=length > 0)[:, None]
        if after is not None:
            chord = chord + after * share
    # A chord as long as the last step shows that chords are far too short, not by how much.
    return [*taken, chord / np.maximum(1 - share, 0.1)]


def _optima_by_chords(
    problem: Problem,
    start: Floats,
    *,
    solve: Callable[[Floats], Floats],
    metric: Floats,
    group: Ints,
) -> Floats:
    """Return the minimisers (d + 1, r, c - 1) by steps that share one factorised Hessian.

    Record i alone adds ``B A B^T`` to the Hessian, where B is the record (with its 1) for each
    parameter of a class, (p, c - 1), and A the covariance of the basis, (c - 1, c - 1). So (H - B A
    B^T)^-1 g = H^-1 g + H^-1 B K B^T H^-1 g with K = (1 - A M)^-1 A, M = B^T H^-1 B. `start` is
    the optimum of all records, and `solve` applies H^-1 to (p, ...).
    """
    r = len(group)
    free = start.shape[1]
    x = problem.x[group]
    # B of all records side by side, (p, r (c - 1)): one solve for all of them.
    columns = np.einsum("rd,ab->darb", x, np.eye(free)).reshape(start.size, -1)
    # (r, d + 1, c - 1, c - 1): the matrix H^-1 B.
    spread = solve(columns).reshape(*start.shape, r, free).transpose(2, 0, 1, 3)
    own = problem.spreads(x @ start)
    # A record may carry nearly all of some direction: a chord must be finite, not exact.
    left = np.eye(free) - (1 - 1e-9) * own @ np.einsum("rd,rdab->rab", x, spread)
    # (r, c - 1, c - 1): the matrix K.
    inner = np.linalg.solve(left, own)
    more_penalty = problem.penalty_without(group) - problem.penalty[:, None]
    v = np.repeat(start[:, None], r, axis=1)
    gradients = np.repeat(problem.gradients(start[:, None]), r, axis=1)
    moving = np.arange(r)
    some = v
    taken: list[Floats] = []
    best = np.full(r, np.inf)
    unsure = np.zeros(r, np.bool_)
    for number in range(_CHORDS + 1):
        # From the gradients of all records to those without each one: the own score (r, 1, c - 1),
        # its residual (r, c - 1) and the gradient x times residual are taken out.
        x = problem.x[group[moving]]
        scores = np.einsum("rd,dra->ra", x, some)[:, None]
        own = problem.residuals(scores, problem.label[group[moving]])[:, 0]
        gradients = gradients - x.T[..., None] * own + more_penalty[:, moving] * some
        excess = problem.excess(gradients)
        if number == 0:
            best = excess
        else:
            # Ten times worse than the best, or not a number: chords do not converge.
            hopeful = excess < 10 * best[moving]
            # NaN fails the comparison below: such a record gets Newton steps.
            best[moving] = np.where(hopeful, np.minimum(excess, best[moving]), np.nan)
            moving = moving[hopeful]
            gradients = gradients[:, hopeful]
            taken = [step[:, hopeful] for step in taken]
            excess = excess[hopeful]
        if number == _CHORDS:
            break
        # The chord: the step to subtract from the parameters, (d + 1, r, c - 1).
        x = problem.x[group[moving]]
        flat = gradients.transpose(0, 2, 1).reshape(start.size, len(moving))
        plain = solve(flat).reshape(*start.shape, len(moving))
        # K B^T H^-1 g first, (r, c - 1), then H^-1 B times it: no (p, p) matrix per record.
        along = np.einsum("rab,rd,dbr->ra", inner[moving], x, plain, optimize=True)
        more = np.einsum("rdab,rb->dra", spread[moving], along)
        taken = _with_next_step(taken, np.asarray(plain.transpose(0, 2, 1) + more), metric)
        v[:, moving] -= taken[-1]
        # A record that had converged takes this step too: where the loss is flat, a gradient
        # within the tolerance may still be some way off. If so, Newton steps finish it.
        going = excess > 1
        moved = np.einsum("rd,dra->ra", x, taken[-1])
        far = np.abs(moved).max(axis=1, initial=0.0) > _FAR
        unsure[moving[far & ~going]] = True
        if not going.any():
            break
        moving = moving[going]
        taken = [step[:, going] for step in taken]
        some = v[:, moving]
        gradients = problem.gradients(some)
    for i in np.flatnonzero(unsure | ~(best <= 1)):
        # An unsure record starts from its own parameters, a lost one from the optimum of all
        # records.
        alone = problem.without(int(group[i]))
        v[:, i] = alone.optimum(v[:, i] if unsure[i] else start)
    return v


@dataclass(frozen=True)
class Logistic:
    """Logistic regression with an L2 penalty on the weights and none on the intercepts.

    Minimises ``sum_i -log p(y_i | x_i) + l2 / 2 * |W|^2``. Its optimum is that of scikit-learn's
    ``LogisticRegression(C=1 / l2)``: with two classes the difference of the two weight vectors is
    penalised, with more of them every class's vector.
    """

    l2: float = 1.0
    """L2 penalty, above 0: separable records have no optimum without it."""
    tol: float = 1e-10
    """Largest gradient at the optimum, relative to the largest contribution of a single record."""
    standardised: bool = False
    """Whether each attribute is divided by its standard deviation over the training records, which
    is recomputed when a record is left out."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.l2) and self.l2 > 0):
            raise InputError(f"l2 must be above 0, got {self.l2}; 1e-6 is nearly no penalty")
        if not 0 < self.tol < 1:
            raise InputError(f"tol must be in (0, 1), got {self.tol}")

    name = "logistic regression"

    def describe(self) -> Mapping[str, Any]:
        """Return the penalty and the tolerance, as JSON values."""
        scaled = {"standardised": True} if self.standardised else {}
        return {"l2": self.l2, "tol": self.tol, **scaled}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedLogistic:
        """Return the classifier trained on records (n, d) with classes (n,) in 0..k-1.

        Raises
        ------
        InputError
            If records are not finite, classes not in 0..k-1, or there are too many parameters.
        """
        x = _finite(x)
        y = np.asarray(y, np.int64)
        if x.shape[0] != len(y) or not len(y):
            raise InputError(f"x and y must have as many rows, at least 1, got {len(x)}, {len(y)}")
        if y.min() < 0 or y.max() >= n_classes:
            raise InputError(f"classes must be in 0..{n_classes - 1}, got {y.min()}..{y.max()}")
        problem = Problem.of(x, y, self.l2, self.tol, standardised=self.standardised)
        return FittedLogistic(
            learner=self, x=x, y=y, n_classes=n_classes, problem=problem, optimum=problem.optimum()
        )


def _finite(x: NDArray[Any]) -> Floats:
    x = np.asarray(x, np.float64)
    if x.ndim != 2 or not np.isfinite(x).all():
        raise InputError(f"x must be finite numbers of the shape (n, d), got {x.shape}")
    return x


@dataclass(frozen=True, eq=False)
class FittedLogistic:
    """Logistic regression with its records, any one of which can be left out exactly.

    A class without records has probability 0, and the others are fitted among themselves; the same
    holds for a class whose only record is left out. A single class has probability 1.
    """

    learner: Logistic
    """The learner and its settings."""
    x: Floats
    """(n, d) Records."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes, k, those without records included."""
    problem: Problem
    """The minimisation problem of all records."""
    optimum: Floats
    """(d + 1, c - 1) The minimiser, for the c classes that have records."""

    def coefficients(self) -> tuple[Floats, Floats]:
        """Return weights W (d, k) and intercepts b (k,): ``p = softmax(x @ W + b)``.

        They sum to 0 over the classes that have records. A class without records has weights 0 and
        intercept -inf.
        """
        weights, intercepts = self._expanded(self.problem, self.optimum[:, None])
        return weights[0], intercepts[0]

    def coefficients_without(self, rows: Ints) -> tuple[Floats, Floats]:
        """Return weights (r, d, k) and intercepts (r, k) with each record left out.

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
        until each gradient is within the tolerance. A record that does not converge gets its own
        Newton steps. So the result is the optimum of n - 1 records.
        """
        rows = np.asarray(rows, np.int64)
        group = self.problem.group[rows]
        k = self.n_classes
        # Leaving out equal records gives the same classifier.
        _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
        one_of_each = rows[first]
        # Without its last record a class is gone: other parameters, which are fitted again.
        last = np.bincount(self.y, minlength=k)[self.y[one_of_each]] == 1
        weights = np.empty((len(first), self.x.shape[1], k))
        intercepts = np.empty((len(first), k))
        usual = one_of_each[~last]
        found = optima_without(self.problem, self.optimum, self.problem.group[usual])
        weights[~last], intercepts[~last] = self._expanded(self.problem, found)
        for i in np.flatnonzero(last):
            kept = np.arange(len(self.y)) != int(one_of_each[i])
            if not kept.any():
                raise InputError("a single record cannot be left out: none is left to learn from")
            learner = self.learner
            reduced = Problem.of(
                self.x[kept],
                self.y[kept],
                learner.l2,
                learner.tol,
                standardised=learner.standardised,
            )
            w, b = self._expanded(reduced, reduced.optimum()[:, None])
            weights[i] = w[0]
            intercepts[i] = b[0]
        return weights[inverse], intercepts[inverse]

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        weights, intercepts = self.coefficients()
        return class_log_p(_finite(queries) @ weights + intercepts)

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        weights, intercepts = self.coefficients_without(rows)
        scores = np.einsum("rd,rdk->rk", self.x[rows], weights) + intercepts
        return class_log_p(scores)

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        weights, intercepts = self.coefficients_without(rows)
        scores = _finite(queries) @ weights + intercepts[:, None]
        return class_log_p(scores)

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

    def _expanded(self, problem: Problem, found: Floats) -> tuple[Floats, Floats]:
        """Return weights (r, d, k) and intercepts (r, k) of optima (d + 1, r, c - 1)."""
        # (r, d + 1, c): scores per scaled unit, turned into attributes' own units below.
        scores = np.moveaxis(found @ problem.basis.T, 1, 0)
        weights = np.zeros((len(scores), self.x.shape[1], self.n_classes))
        intercepts = np.full((len(scores), self.n_classes), -np.inf)
        per_unit = scores[:, :-1] / problem.scale.spread[:, None]
        # Other classes keep weights of 0 and intercepts of -inf.
        weights[..., problem.classes] = per_unit
        intercepts[..., problem.classes] = scores[:, -1] - problem.scale.centre @ per_unit
        return weights, intercepts
