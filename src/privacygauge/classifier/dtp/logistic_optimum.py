"""Minimisation of a penalised logistic loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, helmert
from scipy.special import logsumexp, softmax

from privacygauge.classifier.dtp.standardised import Scale, squares_without
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

MOST_PARAMETERS = 12_000
"""Largest number of parameters: beyond it the Hessian takes gigabytes, and minutes to factorise."""

BLOCK = 1 << 21
"""Values processed per block."""

_NEWTONS = 200
"""Largest number of Newton steps before the fit is refused."""

_NEAR = 1e-5
"""Largest change of a score after which one more Newton step leaves only rounding error."""


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
    """(m,) Number of records that each one stands for."""
    label: Ints
    """(m,) Indices of their classes in `classes`."""
    group: Ints
    """(n,) Index of the distinct record that stands for each record."""
    classes: Ints
    """(c,) Classes that have records."""
    basis: Floats
    """(c, c - 1) Basis of the scores, scaled so that the penalty equals scikit-learn's."""
    scale: Scale
    """Centre and scale of the attributes."""
    is_rescaled: bool
    """Whether attributes are scaled again by the remaining records when one is left out."""
    penalty: Floats
    """(d + 1, 1) Penalty of each row: l2, and 0 for the intercepts."""
    enough: Floats
    """(d + 1, 1) Tolerance of the gradient."""

    @classmethod
    def of(cls, x: Floats, y: Ints, l2: float, tol: float, *, standardised: bool) -> Problem:
        """Return the problem of records (n, d) with classes (n,)."""
        classes, labels = np.unique(y, return_inverse=True)
        basis = _basis(len(classes))
        d = x.shape[1]
        if (d + 1) * basis.shape[1] > MOST_PARAMETERS:
            raise InputError(
                f"the Hessian of {(d + 1) * basis.shape[1]} parameters is too large (at most "
                f"{MOST_PARAMETERS}): drop attributes or classes, or refit for each record"
            )
        _, first, group = np.unique(
            np.column_stack([x, labels]), axis=0, return_index=True, return_inverse=True
        )
        group, n = group.reshape(-1), np.bincount(group.reshape(-1))
        scale = Scale.of(x) if standardised else Scale(x.mean(axis=0), np.ones(d))
        rows = np.hstack([scale.applied(x[first]), np.ones((len(first), 1))])
        penalty = np.append(np.full(d, l2), 0.0)[:, None]
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

        Attributes that are scaled by another deviation are these with another penalty: the weight
        of an attribute over s is s times that of the attribute.
        """
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
        if len(self.basis) == 2:
            sign = np.where(label == 1, -1.0, 1.0)[:, None, None]
            found = np.multiply(scores, -sign, out=scores)
            with np.errstate(over="ignore"):
                np.exp(found, out=found)
            found += 1.0
            return np.asarray(np.divide(sign, found, out=found))
        p = softmax(scores @ self.basis.T, axis=-1)
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
            for a, b in zip(*np.tril_indices(free), strict=True):
                found[:, a, :, b] += part.T @ (part * spreads[:, a, b, None])
        for a, b in zip(*np.tril_indices(free, -1), strict=True):
            found[:, b, :, a] = found[:, a, :, b]
        flat = found.reshape(width * free, width * free)
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
            near = self.excess(gradient)[0] <= 1
            if near and self._arrives(v, gradient[:, 0], step):
                return v - step
            v = self._downhill(v, step, float((gradient[:, 0] * step).sum()))
        if near:
            return v
        raise InputError(
            f"no optimum within the tolerance after {_NEWTONS} Newton steps; "
            "scale the attributes, or raise l2 or tol"
        )

    def _arrives(self, v: Floats, gradient: Floats, step: Floats) -> bool:
        """Return whether further steps would be indistinguishable from rounding.

        Where the loss is flat, a gradient within the tolerance may still be some way off.
        """
        if np.abs(self.x @ step).max() <= _NEAR:
            return True
        off = self.residuals((self.x @ v)[:, None], self.label)[:, 0] * self.n[:, None]
        sizes = np.abs(self.x).T @ np.abs(off) + np.abs(self.penalty * v)
        return bool((np.abs(gradient) <= 16 * np.finfo(np.float64).eps * sizes).all())

    def _downhill(self, v: Floats, step: Floats, slope: float) -> Floats:
        loss, rounding = self.loss(v)
        size = 1.0
        while size > 1e-10:
            new, more_rounding = self.loss(v - size * step)
            if new <= loss - 1e-4 * size * slope + rounding + more_rounding:
                break
            size /= 2
        return v - size * step

    def without(self, group: int) -> Problem:
        """Return the problem without one record."""
        n = self.n.copy()
        n[group] -= 1
        return replace(self, n=n, penalty=self.penalty_without(np.array([group]))[:, 0])


def _basis(n_classes: int) -> Floats:
    """Return a basis of the scores, columns (c, c - 1) that sum to 0.

    With more than two classes they are orthonormal: |v|^2 is |W|^2. With two, v is the difference
    of the two score vectors.
    """
    if n_classes == 1:
        return np.zeros((1, 0))
    if n_classes == 2:
        return np.array([[-0.5], [0.5]])
    return np.ascontiguousarray(helmert(n_classes).T)


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
