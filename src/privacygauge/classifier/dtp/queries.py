"""Synthetic queries, each attribute of which has a value that its column could hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.held import Held, is_frame, take_records
from privacygauge.core.checks import Floats, Ints

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
    columns = _columns(x)
    kinds = 2 if all(_is_whole(column) for column in columns) else 3
    each = -(-(n_queries - 1) // kinds)
    records = rng.choice(n, min(each, n), replace=False)
    blends = rng.integers(n, size=(each, len(columns)))
    sources = [_nearest_to_zero(columns), np.tile(records[:, None], len(columns)), blends]
    if kinds == 3:
        first, second = rng.integers(n, size=(2, each))
        share = rng.random(each)
        sources.append(_values_between(columns, first, second, share))
    source = np.vstack(sources)
    values: dict[int, Floats] = {}
    for j, column in enumerate(columns):
        if column is None or not _is_smooth(column):
            continue
        values[j] = found = column[source[:, j]]
        found[0] = np.clip(0, np.nanmin(column), np.nanmax(column))
        found[-each:] = column[first] + share * (column[second] - column[first])
    return _build_queries(x, source, values)


def append_queries(x: Held, queries: Held) -> Held:
    """Return the concatenation of records and queries of one kind."""
    if not len(queries):
        return x
    if not is_frame(x):
        return np.concatenate([x, queries])
    if hasattr(x, "iloc"):
        import pandas as pd

        return pd.concat([x, queries])
    import polars as pl

    return pl.concat([x, queries])


def _columns(x: Held) -> list[_Column]:
    if not is_frame(x):
        return [_numbers(column) for column in x.reshape(len(x), -1).T]
    if hasattr(x, "iloc"):
        return [_numbers(x.iloc[:, j]) for j in range(x.shape[1])]
    return [_numbers(x[name]) for name in x.columns]


def _numbers(column: Any) -> _Column:
    """Return a column's numbers; None for texts, categories, dates and numbers of other kinds."""
    given = column.to_numpy() if hasattr(column, "to_numpy") else column
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "iuf":
        return None
    if hasattr(column, "iloc") and not isinstance(column.dtype, np.dtype):
        return None  # a numeric type that only pandas has
    return np.array(given)


def _is_whole(column: _Column) -> bool:
    """Return whether a column has no numbers other than whole ones, with nothing between them."""
    if column is None or column.dtype.kind != "f":
        return True
    known = column[np.isfinite(column)]
    return bool((known == np.round(known)).all())


def _is_smooth(column: NDArray[Any]) -> bool:
    """Return whether a column holds numbers that mostly differ and are not all whole."""
    known = column[np.isfinite(column)] if column.dtype.kind == "f" else column
    return not _is_whole(column) and 2 * len(np.unique(known)) > len(known)


def _nearest_to_zero(columns: list[_Column]) -> Ints:
    """Return the row whose value is nearest to 0 in each column, (1, d); row 0 for texts."""
    rows = []
    for column in columns:
        size = np.zeros(1) if column is None else np.abs(column)
        known = np.where(np.isnan(size), np.inf, size) if size.dtype.kind == "f" else size
        rows.append(int(np.argmin(known)))
    return np.array([rows], np.int64)


def _values_between(columns: list[_Column], first: Ints, second: Ints, share: Floats) -> Ints:
    """Return, per column, the row whose value is nearest to a place between two records, (q, d)."""
    result = np.where(share < 0.5, first, second)[:, None].repeat(len(columns), axis=1)
    for j, column in enumerate(columns):
        if column is None:
            continue
        a = column[first].astype(np.float64)
        place = a + share * (column[second] - a)
        known = np.isfinite(place)
        result[known, j] = _nearest(column, place[known])
    return result


def _nearest(column: NDArray[Any], places: Floats) -> Ints:
    """Return the rows whose values are nearest to some places."""
    rows = np.flatnonzero(np.isfinite(column))
    rows = rows[np.argsort(column[rows], kind="stable")]
    values = column[rows].astype(np.float64)
    after = np.clip(np.searchsorted(values, places), 1, max(len(values) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(values) - 1)
    return rows[np.where(places - values[before] <= values[after] - places, before, after)]


def _build_queries(x: Held, source: Ints, values: dict[int, Floats]) -> Held:
    """Return queries (q, ...) with attributes from rows `source` (q, d), or from `values`."""
    if not is_frame(x):
        flat = x.reshape(len(x), -1)
        made = flat[source, np.arange(flat.shape[1])]
        for j, found in values.items():
            made[:, j] = found  # queries keep the dtypes
        return made.reshape(len(source), *x.shape[1:])
    if hasattr(x, "iloc"):
        made = x.iloc[source[:, 0]].copy()
        for j in range(x.shape[1]):
            column = x.iloc[source[:, j], j].array
            made.isetitem(j, values[j].astype(x.dtypes.iloc[j]) if j in values else column)
        return made
    import polars as pl

    return pl.DataFrame(
        [
            pl.Series(column.name, values[j], dtype=column.dtype)
            if j in values
            else column.gather(source[:, j])
            for j, column in enumerate(x.iter_columns())
        ]
    )
