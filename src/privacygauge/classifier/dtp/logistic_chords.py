"""Logistic optima without each of many records, from one factorised Hessian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from privacygauge.classifier.dtp.logistic_optimum import BLOCK, Problem, solver
from privacygauge.core.checks import Bools, Floats, Ints

_CHORDS = 50
_REMEMBERED = 6
_FAR = 1e-9


def optima_without(problem: Problem, optimum: Floats, group: Ints) -> Floats:
    """Return the minima (d + 1, r, c - 1), each without one record.

    Parameters
    ----------
    problem : Problem
        All records.
    optimum : ndarray of float, shape (d + 1, c - 1)
        Where its minimum is.
    group : ndarray of int, shape (r,)
        Which of the distinct records is left out; its class has other records.
    """
    found = np.repeat(optimum[:, None], len(group), axis=1)
    if not found.size:
        return found
    hessian = problem.hessian(optimum)
    metric = np.diag(hessian).reshape(optimum.shape)
    solve = solver(hessian)
    size = max(1, BLOCK // (optimum.size * optimum.shape[1]))
    for start in range(0, len(group), size):
        part = slice(start, start + size)
        chords = _Chords.of(problem, optimum, solve, metric, group[part])
        found[:, part] = chords.optima()
    return found


@dataclass(frozen=True, eq=False)
class _Steps:
    """The latest steps of many records: how well each chord did improves the next.

    Broyden's update of the inverse, in the form that needs nothing but the steps s_j (Kelley,
    Solving Nonlinear Equations with Newton's Method, 2003, section 4.3).
    """

    taken: tuple[Floats, ...]
    """Each (d + 1, r, c - 1)."""
    metric: Floats
    """(d + 1, c - 1) Weights of the parameters in a step's length."""

    @property
    def last(self) -> Floats:
        """The latest step."""
        return self.taken[-1]

    def of(self, some: Bools) -> _Steps:
        """Return the steps of some records."""
        return replace(self, taken=tuple(step[:, some] for step in self.taken))

    def followed_by(self, chord: Floats) -> _Steps:
        """Return these and the next step, improved from a chord at the new place."""
        if len(self.taken) >= _REMEMBERED or not self.taken:
            return replace(self, taken=(chord,))
        for before, after in pairwise(self.taken):
            chord = chord + after * self._share(chord, before)
        share = self._share(chord, self.last)
        # A chord as long as the last step tells that chords are far too short, not by how much.
        return replace(self, taken=(*self.taken, chord / np.maximum(1 - share, 0.1)))

    def _share(self, step: Floats, of: Floats) -> Floats:
        """Return how much of a step lies along another, (1, r, 1)."""
        weighed = of * self.metric[:, None]
        length = (of * weighed).sum(axis=(0, 2))
        share = (step * weighed).sum(axis=(0, 2))
        known = length > 0
        return np.asarray(np.divide(share, length, out=np.zeros_like(share), where=known))[:, None]


@dataclass(frozen=True, eq=False)
class _Chords:
    """Steps for many records that share one factorised Hessian.

    Record i alone adds ``B A B^T`` to the Hessian, where B is the record (with its 1) for each
    parameter of a class, (p, c - 1), and A the covariance of the basis, (c - 1, c - 1). So
    (H - B A B^T)^-1 g = H^-1 g + H^-1 B K B^T H^-1 g with K = (1 - A M)^-1 A, M = B^T H^-1 B.
    """

    problem: Problem
    """All records."""
    start: Floats
    """(d + 1, c - 1) Their optimum."""
    solve: Callable[[Floats], Floats]
    """Returns H^-1 times (p, ...)."""
    group: Ints
    """(r,) Which of the distinct records each leaves out."""
    spread: Floats
    """(r, d + 1, c - 1, c - 1) The matrix H^-1 B."""
    inner: Floats
    """(r, c - 1, c - 1) The matrix K."""
    metric: Floats
    """(d + 1, c - 1) The diagonal of H."""

    @classmethod
    def of(
        cls,
        problem: Problem,
        start: Floats,
        solve: Callable[[Floats], Floats],
        metric: Floats,
        group: Ints,
    ) -> _Chords:
        """Return the steps for records of these groups."""
        x, free = problem.x[group], start.shape[1]
        columns = np.einsum("rd,ab->darb", x, np.eye(free)).reshape(start.size, -1)
        spread = solve(columns).reshape(*start.shape, len(x), free).transpose(2, 0, 1, 3)
        own = problem.spreads(x @ start)
        # A record may carry nearly all of some direction: a chord need not be exact, but finite.
        left = np.eye(free) - (1 - 1e-9) * own @ np.einsum("rd,rdab->rab", x, spread)
        inner = np.linalg.solve(left, own)
        return cls(problem, start, solve, group, spread, inner, metric)

    def optima(self) -> Floats:
        """Return the minima (d + 1, r, c - 1)."""
        r = len(self.group)
        v = np.repeat(self.start[:, None], r, axis=1)
        everyone = self.problem.gradients(self.start[:, None])
        gradients = self._without_own(np.repeat(everyone, r, axis=1), v, np.arange(r))
        excess = self.problem.excess(gradients)
        best, moving, steps = excess, np.arange(r), _Steps((), self.metric)
        unsure = np.zeros(r, np.bool_)
        for _ in range(_CHORDS):
            steps = steps.followed_by(self._chord(gradients, moving))
            v[:, moving] -= steps.last
            # Who had arrived before this step takes it too: where the loss is flat, a gradient
            # within the tolerance may still be some way off. If it is, Newton ends the way.
            going = excess > 1
            far = self._own_scores(steps.last, moving) > _FAR
            unsure[moving[far & ~going]] = True
            if not going.any():
                break
            moving, steps = moving[going], steps.of(going)
            gradients = self.problem.gradients(v[:, moving])
            gradients = self._without_own(gradients, v[:, moving], moving)
            excess = self.problem.excess(gradients)
            # Ten times worse than it was, or not a number: chords do not get there.
            hopeful = excess < 10 * best[moving]
            best[moving] = np.where(hopeful, np.minimum(excess, best[moving]), np.nan)
            moving, gradients, steps = moving[hopeful], gradients[:, hopeful], steps.of(hopeful)
            excess = excess[hopeful]
        for i in np.flatnonzero(unsure | ~(best <= 1)):
            alone = self.problem.without(int(self.group[i]))
            v[:, i] = alone.optimum(v[:, i] if unsure[i] else self.start)
        return v

    def _own_scores(self, step: Floats, some: Ints) -> Floats:
        """Return by how much a step moves the scores of each record itself at most, (r,)."""
        moved = np.einsum("rd,dra->ra", self.problem.x[self.group[some]], step)
        return np.asarray(np.abs(moved).max(axis=1, initial=0.0))

    def _without_own(self, gradients: Floats, v: Floats, some: Ints) -> Floats:
        """Return the gradients without what each record adds at its own parameters."""
        group = self.group[some]
        x = self.problem.x[group]
        scores = np.einsum("rd,dra->ra", x, v)[:, None]
        own = self.problem.residuals(scores, self.problem.label[group])[:, 0]
        return np.asarray(gradients - x.T[..., None] * own)

    def _chord(self, gradients: Floats, some: Ints) -> Floats:
        """Return what to take from the parameters, (d + 1, r, c - 1)."""
        x, n = self.problem.x[self.group[some]], len(some)
        flat = gradients.transpose(0, 2, 1).reshape(self.start.size, n)
        plain = self.solve(flat).reshape(*self.start.shape, n)
        along = np.einsum("rab,rd,dbr->ra", self.inner[some], x, plain, optimize=True)
        more = np.einsum("rdab,rb->dra", self.spread[some], along)
        return np.asarray(plain.transpose(0, 2, 1) + more)
