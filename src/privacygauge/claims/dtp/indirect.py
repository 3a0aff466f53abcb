"""Indirect attacks: other queries that reveal a record that its own query hides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.held import Held, is_frame, take_records
from privacygauge.classifiers.learner import Fitted, Learner, logs
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

_Column = NDArray[Any] | None
"""(n,) Numbers of a column; None for a column of anything else."""


def queries_within(x: Held, n_queries: int, rng: np.random.Generator) -> Held:
    """Return queries besides the records left out, of the same kind as x, (q, ...).

    The query nearest to 0, for which the classifier c* in section 6.1 of Long et al. (2017) gives
    its secret away; records drawn at random; blends, whose attributes come from different records;
    and, for numbers, places between two records, where the nearest neighbours of section 6.3 give
    themselves away.

    A column of texts, codes, whole numbers, dates or few distinct numbers takes only values that it
    has in x, so that an encoder knows them. Numbers that mostly differ take any value between two
    records. Whole texts, which have no columns, are drawn from x.

    Parameters
    ----------
    x : array of shape (n,) or (n, ...), or data frame
        The training set.
    n_queries : int
        Approximate number of queries; 0 for none.
    """
    n = len(x)
    if not n_queries:
        return take_records(x, np.zeros(0, np.int64))
    if not is_frame(x) and x.ndim == 1:
        return take_records(x, rng.choice(n, min(n_queries, n), replace=False))
    if not is_frame(x):
        columns = [_numbers(column) for column in x.reshape(n, -1).T]
    elif hasattr(x, "iloc"):
        # By place: names of columns may occur twice.
        columns = [_numbers(x.iloc[:, j]) for j in range(x.shape[1])]
    else:
        columns = [_numbers(x[name]) for name in x.columns]
    # Places between two records differ from records only in columns of fractions.
    kinds = 2 if all(_is_whole(column) for column in columns) else 3
    # One query is the one nearest to 0; the kinds share the others, rounded up.
    each = -(-(n_queries - 1) // kinds)
    records = rng.choice(n, min(each, n), replace=False)
    blends = rng.integers(n, size=(each, len(columns)))
    nearest_to_zero = []  # one row per column; row 0 for texts
    for column in columns:
        size = np.zeros(1) if column is None else np.abs(column)
        # A missing number is never the nearest to 0.
        known = np.where(np.isnan(size), np.inf, size) if size.dtype.kind == "f" else size
        nearest_to_zero.append(int(np.argmin(known)))
    sources = [
        np.array([nearest_to_zero], np.int64),
        np.tile(records[:, None], len(columns)),
        blends,
    ]
    if kinds == 3:
        first, second = rng.integers(n, size=(2, each))
        share = rng.random(each)
        sources.append(_values_between(columns, first, second, share))
    source = np.vstack(sources)
    values: dict[int, Floats] = {}
    for j, column in enumerate(columns):
        if column is None or _is_whole(column):
            continue
        known = column[np.isfinite(column)]
        if 2 * len(np.unique(known)) <= len(known):
            continue  # few distinct numbers may be codes
        # Row 0 of the source is the query nearest to 0; the last rows lie between two records.
        values[j] = found = column[source[:, j]]
        found[0] = np.clip(0, np.nanmin(column), np.nanmax(column))
        found[-each:] = column[first] + share * (column[second] - column[first])
    # Every attribute of a query is taken from a row of x, or from the values just made.
    if not is_frame(x):
        flat = x.reshape(n, -1)
        made = flat[source, np.arange(flat.shape[1])]
        for j, found in values.items():
            made[:, j] = found  # queries keep the dtypes
        return made.reshape(len(source), *x.shape[1:])
    if hasattr(x, "iloc"):
        made = x.iloc[source[:, 0]].copy()
        for j in range(x.shape[1]):
            drawn = x.iloc[source[:, j], j].array
            made.isetitem(j, values[j].astype(x.dtypes.iloc[j]) if j in values else drawn)
        return made
    import polars as pl

    return pl.DataFrame(
        [
            pl.Series(series.name, values[j], dtype=series.dtype)
            if j in values
            else series.gather(source[:, j])
            for j, series in enumerate(x.iter_columns())
        ]
    )


def _numbers(column: Any) -> _Column:
    """Return a column's numbers; None for texts, categories, dates and numbers of other kinds."""
    given = column.to_numpy() if hasattr(column, "to_numpy") else column
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "iuf":
        return None
    if hasattr(column, "iloc") and not isinstance(column.dtype, np.dtype):
        return None  # a numeric type that only pandas has
    return np.array(given)


def _is_whole(column: _Column) -> bool:
    """Return whether a column has no fractions: whole numbers, or anything but numbers."""
    if column is None or column.dtype.kind != "f":
        return True
    known = column[np.isfinite(column)]
    return bool((known == np.round(known)).all())


def _values_between(columns: list[_Column], first: Ints, second: Ints, share: Floats) -> Ints:
    """Return, per column, the row whose value is nearest to a place between two records, (q, d)."""
    result = np.where(share < 0.5, first, second)[:, None].repeat(len(columns), axis=1)
    for j, column in enumerate(columns):
        if column is None:
            continue
        a = column[first].astype(np.float64)
        place = a + share * (column[second] - a)
        # Missing and infinite values have no place between.
        known = np.isfinite(place)
        places = place[known]
        # The row with the value nearest to each place, (q,).
        finite = np.flatnonzero(np.isfinite(column))
        finite = finite[np.argsort(column[finite], kind="stable")]
        ordered = column[finite].astype(np.float64)
        # The two sorted values around each place; the nearer one wins, the smaller on a tie.
        after = np.clip(np.searchsorted(ordered, places), 1, max(len(ordered) - 1, 1))
        before = after - 1
        after = np.minimum(after, len(ordered) - 1)
        result[known, j] = finite[
            np.where(places - ordered[before] <= ordered[after] - places, before, after)
        ]
    return result


BLOCK = 1 << 22
"""Log probabilities processed per block."""


def search(
    fitted: Fitted, x: NDArray[Any], rows: Ints, queries: NDArray[Any], width: float = 0.0
) -> Floats:
    """Return the largest log ratio of each record over its own query and the others.

    Parameters
    ----------
    fitted : Fitted
    x : ndarray of shape (n, d)
        The training set.
    rows : ndarray of int, shape (r,)
        Records of the training set.
    queries : ndarray of shape (q, d)
        Queries besides each record's own.
    width : float
        Bin width of the published probabilities; 0 for no bins.

    Returns
    -------
    ndarray of float, shape (r,)
        At least the record's PDTP and at most its DTP (Long et al. 2017, definitions 4.2 and
        4.4): a lower bound of the DTP, which more queries raise.
    """
    rows = np.asarray(rows, np.int64)
    own = log_ratio(fitted.log_p(x[rows]), fitted.log_p_without(rows), width)
    return np.maximum(own, shown_by(fitted, rows, queries, width))


def shown_by(fitted: Fitted, rows: Ints, queries: NDArray[Any], width: float = 0.0) -> Floats:
    """Return the largest log ratio of each record at these queries, (r,), at least 0.

    Parameters are those of `search`, which includes the records' own queries.
    """
    found = np.zeros(len(rows))
    if not len(rows) or not len(queries):
        return found
    told = fitted.log_p(queries)
    # Blocks of records and queries keep the (r, q, k) log probabilities within `BLOCK`.
    n_queries = max(1, min(len(queries), BLOCK // told.shape[1]))
    n_rows = max(1, BLOCK // (n_queries * told.shape[1]))
    for first in range(0, len(rows), n_rows):
        part = slice(first, first + n_rows)
        for start in range(0, len(queries), n_queries):
            asked = slice(start, start + n_queries)
            without = fitted.log_p_without_at(rows[part], queries[asked])
            shown = log_ratio(told[None, asked], without, width).max(axis=1)
            found[part] = np.maximum(found[part], shown)
    return found


@dataclass(frozen=True)
class Planted:
    """A classifier that reveals, at one query, whether one record is in its training set.

    Elsewhere it is the learner's classifier. Where every attribute of a query equals `query`, it is
    sure of class 1 if the record is in, and of class 0 if not. Every other query may hide the
    record entirely: PDTP says nothing about such a classifier.

    Notes
    -----
    Long et al. (2017), section 6.1, the classifier c*. Records are the same if their attributes
    and their classes are equal: with two copies, leaving one out changes nothing.
    """

    learner: Learner
    """Answers all other queries."""
    record: tuple[float, ...]
    """(d,) Attributes of the record that is revealed."""
    label: int
    """Class of the record."""
    query: float = 0.0
    """Value of every attribute in the query that reveals it."""

    def __post_init__(self) -> None:
        record = checks.floats(self.record, "record")
        if not len(record) or np.all(record == self.query):
            raise InputError(
                f"record must differ from the query that gives it away, got {self.query} "
                "throughout; give another query"
            )
        object.__setattr__(self, "record", tuple(record.tolist()))

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return f"{self.learner.name} with a planted record"

    def describe(self) -> Mapping[str, Any]:
        """Return the learner, the record and the query, as JSON values."""
        return {
            "learner": dict(self.learner.describe()),
            "record": list(self.record),
            "label": self.label,
            "query": self.query,
        }

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedPlanted:
        """Return the classifier trained on records (n, d) with classes (n,)."""
        x = np.asarray(x)
        y = np.asarray(y)
        if x.ndim != 2 or x.shape[1] != len(self.record):
            raise InputError(f"x must have the shape (n, {len(self.record)}), got {x.shape}")
        if n_classes < 2:
            raise InputError(f"n_classes must be at least 2, got {n_classes}: one cannot tell")
        # Copies count as the record: with one copy left, leaving the record out changes nothing.
        is_it = np.all(x == np.array(self.record), axis=1) & (y == self.label)
        fitted = self.learner.fit(x, y, n_classes=n_classes)
        return FittedPlanted(
            learner=self, fitted=fitted, is_it=is_it, asking=self.asks(x), n_classes=n_classes
        )

    def asks(self, queries: NDArray[Any]) -> Bools:
        """Return which queries reveal the record, (q,)."""
        return np.asarray(np.all(np.asarray(queries) == self.query, axis=1), np.bool_)


@dataclass(frozen=True, eq=False)
class FittedPlanted:
    """A trained classifier with one record planted."""

    learner: Planted
    """The learner, with the query that reveals the record."""
    fitted: Fitted
    """Answers all other queries."""
    is_it: Bools
    """(n,) Records of the training set that equal the revealed one."""
    asking: Bools
    """(n,) Records of the training set that equal the revealing query."""
    n_classes: int
    """Number of classes."""

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        told = self._told(self.is_it.any())
        asks = self.learner.asks(queries)[:, None]
        return np.where(asks, told, self.fitted.log_p(queries))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        told = self._told(self.is_it.sum() > self.is_it[rows])
        return np.where(self.asking[rows][:, None], told, self.fitted.log_p_without(rows))

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        told = self._told(self.is_it.sum() > self.is_it[rows])[:, None]
        asks = self.learner.asks(queries)[None, :, None]
        return np.where(asks, told, self.fitted.log_p_without_at(rows, queries))

    def _told(self, inside: Bools | np.bool_) -> Floats:
        """Return certain log probabilities, (..., k): class 1 if the record is in, else class 0."""
        return logs(np.eye(self.n_classes)[np.asarray(inside, np.int64)])


@dataclass(frozen=True, eq=False)
class IndirectExample:
    """A training set, one of its records, and the query that reveals the record."""

    x: Floats
    """(n, d) Records."""
    y: Ints
    """(n,) Classes, 0 or 1."""
    row: int
    """Row of the record."""
    query: Floats
    """(1, d) The revealing query."""

    def __post_init__(self) -> None:
        for name in ("x", "y", "query"):
            object.__setattr__(self, name, checks.frozen(getattr(self, name)))


def nearest_example(k: int = 1) -> IndirectExample:
    """Return records on a line whose own queries reveal nothing to k nearest neighbours.

    Parameters
    ----------
    k : int
        Number of neighbours of the classifier, at least 1.

    Returns
    -------
    IndirectExample
        A record at 0 of class 1, k of class 1 at -2, k of class 0 at 3, and the query 1. At the
        record the answer is class 1 with and without it, so its PDTP is 0. At the query it is
        among the nearest, and without it all are of class 0: the probability of class 1 falls
        from 1/k to 0, and the DTP is infinite.

    Notes
    -----
    Long et al. (2017), section 6.3, for k = 1: no delta makes nearest neighbours training stable.
    """
    checks.at_least(1, k=k)
    x = np.repeat([0.0, -2.0, 3.0], [1, k, k])[:, None]
    y = np.repeat(np.array([1, 1, 0], np.int64), [1, k, k])
    return IndirectExample(x, y, 0, np.array([[1.0]]))
