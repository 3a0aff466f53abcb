"""Bayes inference: the share of each class among records with the same attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.learner import Box, DtpRange, logs, matrix, training_set
from privacygauge.classifier.dtp.ratios import log_ratio
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True)
class BayesInference:
    """Bayes inference: ``p(y | x) = (n_xy + alpha) / (n_x + k alpha)``.

    n_x records of the training set have the attributes x, and n_xy of these the class y. Without
    smoothing there is no answer (NaN) where n_x is 0. With smoothing a class keeps its share of
    alpha even when it has no record left, since k is given; so does every class of an empty
    training set.

    Notes
    -----
    Long et al. (2017), section 6.3. Proposition 6.3 says that Bayes inference is 4/3-training
    stable; with n_x = 3 and n_xy = 2 it is not (the other class's ratio is 3/2), but it is
    3/2-training stable.
    """

    alpha: float = 0.0
    """Smoothing added to every count, at least 0."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha must be finite and at least 0, got {self.alpha}")

    name = "Bayes inference"

    def describe(self) -> Mapping[str, Any]:
        """Return the smoothing, as JSON values."""
        return {"alpha": self.alpha}

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedBayesInference:
        """Return the classifier trained on records (n, d), numbers or codes, of classes (n,)."""
        records, labels = training_set(x, y, n_classes)
        return FittedBayesInference(records, labels, n_classes, self.alpha)


def _keys(x: Floats) -> NDArray[np.void]:
    """Return one value per record, (n,), equal for equal records only."""
    # -0.0 equals 0.0 but has other bytes; their sum with 0.0 has the same.
    return (x + 0.0).view(np.dtype((np.void, x.itemsize * x.shape[1]))).ravel()


@dataclass(frozen=True, eq=False)
class FittedBayesInference:
    """Bayes inference, with and without each of its records."""

    x: Floats
    """(n, d) Records of the training set."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes, k."""
    alpha: float
    """Smoothing added to every count."""

    @cached_property
    def _groups(self) -> tuple[NDArray[np.void], Ints]:
        """The distinct records, ascending by key (g,), and the index of each record among them."""
        keys, group = np.unique(_keys(self.x), return_inverse=True)
        return keys, group.astype(np.int64)

    @cached_property
    def _counts(self) -> Floats:
        """(g + 1, k) Records of every group and class; the last row, 0, is for unknown records."""
        keys, group = self._groups
        counts = np.zeros((len(keys) + 1, self.n_classes))
        np.add.at(counts, (group, self.y), 1.0)
        return counts

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        return self._log_shares(self._counts[self._group_of(queries)])

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        return self._log_shares(self._counts[self._groups[1][rows]] - self._one(rows))

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        found = np.repeat(self.log_p(queries)[None], len(rows), axis=0)
        row, query = np.nonzero(self._groups[1][rows][:, None] == self._group_of(queries))
        found[row, query] = self.log_p_without(rows)[row]
        return found

    def dtp(self, rows: Ints, width: float, box: Box) -> DtpRange:
        """Return each record's DTP, which is its PDTP: only queries equal to it change.

        The box is not needed: any domain contains the record.
        """
        shares = self._log_shares(self._counts[self._groups[1][rows]])
        exact = log_ratio(shares, self.log_p_without(rows), width)
        return DtpRange(exact, exact, "exact: only queries equal to the record change")

    def _one(self, rows: Ints) -> Floats:
        return np.eye(self.n_classes)[self.y[rows]]

    def _group_of(self, queries: NDArray[Any]) -> Ints:
        """Return each query's group, (q,); the last row of counts if no record equals it."""
        keys = self._groups[0]
        asked = _keys(matrix(queries, "queries", columns=self.x.shape[1]))
        place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return np.where(keys[place] == asked, place, len(keys))

    def _log_shares(self, counts: Floats) -> Floats:
        total = counts.sum(axis=-1, keepdims=True) + self.n_classes * self.alpha
        with np.errstate(invalid="ignore"):
            return logs((counts + self.alpha) / total)
