"""Multinomial naive Bayes; a record is left out by subtracting it from its class's counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.learner import (
    class_log_p,
    log_priors,
    log_priors_without,
    matrix,
    training_set,
)
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True)
class MultinomialNaiveBayes:
    """Multinomial naive Bayes, for counts such as those of words.

    ``p(x | y)`` is proportional to the product over attributes of ``p_jy ** x_j`` with ``p_jy =
    (N_jy + alpha) / (N_y + d alpha)``, N_jy the sum of attribute j over the records of class y, and
    N_y the sum of these. The classes have prior probabilities n_y / n.
    """

    alpha: float = 1.0
    """Smoothing added to every sum, at least 0."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha must be finite and at least 0, got {self.alpha}")

    name = "multinomial naive Bayes"

    def describe(self) -> Mapping[str, Any]:
        """Return the smoothing, as JSON values."""
        return {"alpha": self.alpha}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedMultinomial:
        """Return the classifier trained on counts (n, d), at least 0, with classes (n,)."""
        records, labels = training_set(x, y, n_classes)
        return FittedMultinomial(_counts(records, "x"), labels, n_classes, self.alpha)


def _counts(x: Floats, name: str) -> Floats:
    if x.size and x.min() < 0:
        row = int(np.flatnonzero((x < 0).any(axis=1))[0])
        raise InputError(f"{name} must hold counts of at least 0, got {x[row].min()} in row {row}")
    return x


@dataclass(frozen=True, eq=False)
class FittedMultinomial:
    """Multinomial naive Bayes, with and without each of its records."""

    x: Floats
    """(n, d) Counts of the training set."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes, k."""
    alpha: float
    """Smoothing added to every sum."""

    @cached_property
    def _of_classes(self) -> Floats:
        sums = [self.x[self.y == label].sum(axis=0) for label in range(self.n_classes)]
        return self._log_shares(np.array(sums))

    @cached_property
    def _of_others(self) -> Floats:
        """(n, d) The sums of each record's class without it.

        The sums before it and after it are added. A subtraction would leave traces of the record
        behind if counts are not integers.
        """
        found = np.zeros_like(self.x)
        for label in range(self.n_classes):
            rows = np.flatnonzero(self.y == label)
            found[rows[1:]] += self.x[rows[:-1]].cumsum(axis=0)
            found[rows[:-1]] += self.x[rows[:0:-1]].cumsum(axis=0)[::-1]
        return found

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        likely = _log_likelihood(self._queries(queries), self._of_classes)
        return class_log_p(likely + log_priors(self.y, self.n_classes))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        own = self.x[rows]
        each = np.arange(len(rows))
        joint = _log_likelihood(own, self._of_classes)
        shares = self._log_shares(self._of_others[rows])
        joint[each, self.y[rows]] = _times(own, shares).sum(axis=1)
        return class_log_p(joint + log_priors_without(self.y, rows, self.n_classes))

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        asked = self._queries(queries)
        each = np.arange(len(rows))
        likely = _log_likelihood(asked, self._of_classes)
        joint = np.repeat(likely[None], len(rows), axis=0)
        own = _log_likelihood(asked, self._log_shares(self._of_others[rows]))
        joint[each, :, self.y[rows]] = own.T
        priors = log_priors_without(self.y, rows, self.n_classes)
        return class_log_p(joint + priors[:, None, :])

    def _queries(self, queries: NDArray[Any]) -> Floats:
        return _counts(matrix(queries, "queries", columns=self.x.shape[1]), "queries")

    def _log_shares(self, sums: Floats) -> Floats:
        """Return log p_jy from N_jy, (..., d); minus infinity if the class has no counts."""
        smoothed = sums + self.alpha
        total = smoothed.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(smoothed / np.where(total > 0, total, 1.0)), np.float64)


def _times(counts: Floats, log_shares: Floats) -> Floats:
    """Return the products, 0 where a count is 0 and the logarithm infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, counts * log_shares, 0.0)


def _log_likelihood(queries: Floats, log_shares: Floats) -> Floats:
    """Return sum_j x_j log p_j for queries (q, d) and shares (m, d), (q, m)."""
    never = np.isneginf(log_shares)
    found = queries @ np.where(never, 0.0, log_shares).T
    if never.any():
        found[(queries > 0).astype(float) @ never.T.astype(float) > 0] = -np.inf
    return np.asarray(found, np.float64)
