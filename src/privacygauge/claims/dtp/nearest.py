"""k nearest neighbours; when a record is left out, the next one takes its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.learner import Learner, log_shares, logs, matrix, training_set
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

BLOCK = 1 << 22
"""Values processed per block."""

_ALIKE = 1.1
"""Largest ratio of the attributes' weights at which the search is limited to near records."""


@dataclass(frozen=True)
class NearestNeighbours(Learner):
    """The share of each class among the k nearest records, by Euclidean distance.

    Among records at the same distance, those that come first in the training set are nearer. With
    fewer than k records, all of them answer. Attributes are not scaled: bring them to one scale
    first.

    Notes
    -----
    Long et al. (2017), section 6.3: not training stable for any delta. A query between neighbours
    other than the record's own may reveal everything while the record itself reveals nothing, so
    its DTP over all queries has no bound.
    """

    k: int = 5
    """Number of neighbours, at least 1."""

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k must be at least 1, got {self.k}")

    name = "nearest neighbours"

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedNeighbours:
        """Return the classifier with records (n, d) and classes (n,)."""
        return FittedNeighbours(*training_set(x, y, n_classes), n_classes, self.k)


@dataclass(frozen=True, eq=False)
class FittedNeighbours:
    """Nearest neighbours, with and without each of the records."""

    x: Floats
    """(n, d) Records of the training set."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes."""
    k: int
    """Number of neighbours."""

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log share of every class, (q, n_classes), for queries (q, d)."""
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        return log_shares(self._counts(nearest_records(self.x, asked, self.k)))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        # One more than k, because a record is its own nearest neighbour.
        near = nearest_records(self.x, self.x[rows], self.k + 1)
        own = near == np.asarray(rows)[:, None]
        # A record with many equals before it is not among its own neighbours: drop the last one.
        gone = np.where(own.any(axis=1), own.argmax(axis=1), near.shape[1] - 1)
        kept = np.arange(near.shape[1]) != gone[:, None]
        return log_shares(self._counts(near[kept].reshape(len(near), -1)))

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model.

        Shape (r, q, n_classes).
        """
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        near = nearest_records(self.x, asked, self.k + 1)
        first = near[:, : self.k]
        identity = np.eye(self.n_classes)
        # (r, q): whether the record is among the query's k nearest.
        inside = np.zeros((len(rows), len(near)), np.bool_)
        for column in first.T:
            inside |= column == np.asarray(rows)[:, None]
        change = np.repeat(identity[self.y[rows]][:, None], len(near), axis=1)
        # The next neighbour moves up where the record was among the k; without one, fewer answer.
        if near.shape[1] > self.k:
            change -= identity[self.y[near[:, self.k]]]
        counts = self._counts(first) - np.where(inside[:, :, None], change, 0.0)
        return log_shares(counts)

    def log_p_without_on(self, rows: Ints, squares: Floats) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k).

        Every attribute is divided by the root of `squares` (r, d) as well.
        """
        found = [
            log_shares(self._counts(self._nearest_others(row, square, self.x[[row]])))
            for row, square in zip(rows.tolist(), squares, strict=True)
        ]
        return np.concatenate([*found, np.empty((0, self.n_classes))])

    def log_p_without_on_at(self, rows: Ints, squares: Floats, queries: Floats) -> Floats:
        """Return log probabilities of every query under each leave-one-out model.

        Shape (r, q, n_classes). Every attribute is divided by the root of `squares` (r, d) as well.

        Notes
        -----
        Scales that differ little move no record past one that is much nearer. So for most of the
        records left out, only the neighbours up to about the last one's distance are compared.
        """
        found = np.empty((len(rows), len(queries), self.n_classes))
        weights = 1 / squares
        # Scales that hardly move keep the order of far records: only near ones are compared again.
        is_near = weights.max(axis=1, initial=0) <= _ALIKE * weights.min(axis=1, initial=np.inf)
        for place in np.flatnonzero(~is_near):
            near = self._nearest_others(int(rows[place]), squares[place], queries)
            found[place] = log_shares(self._counts(near))
        some = np.flatnonzero(is_near)
        for column, query in enumerate(queries):
            found[some, column] = self._shares_near(query, rows[some], weights[some])
        return found

    def _nearest_others(self, row: int, square: Floats, queries: Floats) -> Ints:
        """Return the rows nearest to every query, one row excluded, (q, min(k, n - 1))."""
        others = np.flatnonzero(np.arange(len(self.x)) != row)
        if not len(others):
            return np.empty((len(queries), 0), np.int64)
        root = np.sqrt(square)
        asked = matrix(queries, "queries", columns=self.x.shape[1])
        near = nearest_records(self.x[others] / root, asked / root, self.k)
        return np.asarray(others[near], np.int64)

    def _shares_near(self, query: Floats, rows: Ints, weights: Floats) -> Floats:
        """Return the log shares (r, n_classes) at a query without each row, on its own scale.

        The weights (r, d) of the squared differences must be similar within each row.
        """
        k = min(self.k, len(self.x) - 1)
        if not k:
            return np.full((len(rows), self.n_classes), np.nan)
        away = (self.x - query) ** 2
        far = away.sum(axis=1)
        # Without one record, the k nearest are among the k + 1 nearest, up to the change of scale.
        candidate = np.flatnonzero(far <= _ALIKE * np.partition(far, k)[k])
        counts = np.empty((len(rows), self.n_classes))
        step = max(1, BLOCK // (len(candidate) * self.x.shape[1]))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            # Summed in one order, so that equal records stay equally far.
            scaled = (weights[part, None] * away[candidate]).sum(axis=2)
            scaled[candidate == rows[part, None]] = np.inf
            # Everyone nearer than the k-th, then the first rows at its distance while there is
            # room.
            last = np.partition(scaled, k - 1, axis=1)[:, [k - 1]]
            inside = scaled < last
            edge = scaled == last
            room = k - inside.sum(axis=1, keepdims=True)
            inside |= edge & (np.cumsum(edge, axis=1) <= room)
            counts[part] = inside @ np.eye(self.n_classes)[self.y[candidate]]
        return logs(counts / k)

    def _counts(self, near: Ints) -> Floats:
        """Return the number of neighbours (q, m) of each class, (q, n_classes)."""
        counts = np.zeros((len(near), self.n_classes))
        for column in near.T:
            counts[np.arange(len(near)), self.y[column]] += 1
        return counts


def nearest_records(x: Floats, queries: Floats, m: int) -> Ints:
    """Return the m records nearest to every query, nearest first, (q, min(m, n)).

    Parameters
    ----------
    x : ndarray of float, shape (n, d)
        Records.
    queries : ndarray of float, shape (q, d)
    m : int
        Neighbours, at least 1.

    Returns
    -------
    ndarray of int, shape (q, min(m, n))
        Rows of `x`, by the sum of squared differences and, where that is equal, by row.

    Notes
    -----
    Matrix products find the candidates, with a margin for rounding; the candidates' distances are
    then computed from differences, which are identical for equal records. So the time grows with
    the number of records that share the distance of the last neighbour.
    """
    m = min(m, len(x))
    step = max(1, BLOCK // len(x))
    found = np.empty((len(queries), m), np.int64)
    norms = (x**2).sum(axis=1)
    # A generous bound on the rounding of d products of this size; every record has its own, so
    # that one far away does not make candidates of all.
    off = 8 * (x.shape[1] + 4) * np.finfo(np.float64).eps
    for first in range(0, len(queries), step):
        block = queries[first : first + step]
        asked = (block**2).sum(axis=1)
        # The query's own norm does not change the order.
        most = (1 + off) * norms - 2 * (block @ x.T)
        last = np.partition(most, m - 1, axis=1)[:, m - 1] + 2 * off * asked
        # All records that may be among the m nearest, given both rounding errors.
        query, row = np.nonzero(most - 2 * off * norms <= last[:, None])
        squares = np.empty(len(query))
        size = max(1, BLOCK // x.shape[1])
        for i in range(0, len(query), size):
            part = slice(i, i + size)
            squares[part] = ((x[row[part]] - block[query[part]]) ** 2).sum(axis=1)
        order = np.lexsort((squares, query))  # stable: rows ascend where distances are equal
        start = np.searchsorted(query, np.arange(len(block)))
        found[first : first + step] = row[order][start[:, None] + np.arange(m)]
    return found


def are_tie_free(x: Floats, y: Ints, queries: NDArray[Any], k: int) -> Bools:
    """Return True for queries whose answer does not depend on how ties are broken, (q,).

    The classes of their k nearest, k less than n, follow from distances alone, with all records and
    without any one of them. Distances that differ by no more than the rounding of matrix products
    are ties.
    """
    queries = np.asarray(queries, np.float64)
    step = max(1, BLOCK // len(x))
    found = np.ones(len(queries), np.bool_)
    norms = (x**2).sum(axis=1)
    for start in range(0, len(queries), step):
        block = queries[start : start + step]
        asked = (block**2).sum(axis=1)[:, None]
        # Bound on the rounding error of each squared distance, from the sizes of both points.
        off = 8 * (x.shape[1] + 4) * np.finfo(np.float64).eps * (norms + asked)
        far = norms + asked - 2 * (block @ x.T)
        # Without a record that is among the nearest, the one after them moves up.
        lows, highs = (np.partition(far + e, (k - 1, k), axis=1) for e in (-off, off))
        # A k-th place is certain if all candidates at its distance fit in, or have one class.
        for last in (k - 1, k):
            inside = far + off < lows[:, [last]]
            edge = ~inside & (far - off <= highs[:, [last]])
            room = last + 1 - inside.sum(axis=1)
            # Smallest and largest class at the edge: equal if all candidates share one.
            first = np.where(edge, y, y.max()).min(axis=1)
            same = first == np.where(edge, y, 0).max(axis=1)
            found[start : start + step] &= same | (edge.sum(axis=1) == room)
    return found
