"""People and the rows that belong to them, such as their visits, as one record a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.synthetic.frames import read_beside, read_frame, read_table
from privacygauge.synthetic.schema import Column, Schema
from privacygauge.synthetic.table import require_columns

if TYPE_CHECKING:
    import pandas as pd


def per_person(
    people: object, rows: object, key: str, *, schema: Schema | None = None
) -> tuple[pd.DataFrame, Schema]:
    """Return one record a person: their columns, and what their rows of another table come to.

    Parameters
    ----------
    people : pandas or polars frame, str or Path
        A row for each person, n of them.
    rows : pandas or polars frame, str or Path
        Any number of rows for each person.
    key : str
        The column that names the person, in both.
    schema : Schema, optional
        Of the columns of `rows` but for the key, from the real table: what is a number there is
        one here. Default: inferred.

    Returns
    -------
    tuple of pandas.DataFrame and Schema
        n rows: the columns of `people`, then ``rows`` (how many a person has), of each column of
        numbers (dates are days) ``NAME least``, ``NAME mean`` and ``NAME largest``, and of each
        column of categories ``NAME most frequent`` (of equally frequent ones the first in the
        schema) and ``NAME kinds`` (how many different ones). Missing where a person has no value.
        And the schema of the columns of `rows`.

    Raises
    ------
    InputError
        If the key is missing, two people have the same, or a row has one that nobody has.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"id": [7, 8], "age": [30, 50]})
    >>> visits = pd.DataFrame({"id": [8, 8, 8], "days": [2, 4, 3], "ward": ["a", "b", "b"]})
    >>> print(*per_person(people, visits, "id")[0].iloc[1])
    8 50 3 2.0 3.0 4.0 b 2
    """
    import pandas as pd

    whole, further = read_frame(people), read_frame(rows)
    for frame in (whole, further):
        require_columns((key,), list(frame.columns), "key")
    owner = _owners(whole[key], further[key])
    content = further.drop(columns=key)
    table = read_table(content) if schema is None else read_beside(content, schema)
    n = len(whole)
    found: dict[str, object] = {"rows": np.bincount(owner, minlength=n)}
    for values, column in zip(table.values.T, table.schema.columns, strict=True):
        if column.is_number:
            grouped = pd.Series(values).groupby(owner)
            parts = {"least": grouped.min(), "mean": grouped.mean(), "largest": grouped.max()}
            found |= {f"{column.name} {x}": y.reindex(range(n)) for x, y in parts.items()}
        else:
            most, kinds = _frequent(column, values, owner, n)
            found |= {f"{column.name} most frequent": most, f"{column.name} kinds": kinds}
    twice = [name for name in found if name in whole.columns]
    if twice:
        raise InputError(f"column {twice[0]!r} is in both tables: rename it in one")
    return pd.concat([whole, pd.DataFrame(found, index=whole.index)], axis=1), table.schema


def _frequent(column: Column, values: Floats, owner: Ints, n: int) -> tuple[NDArray[Any], Ints]:
    """Return the most frequent category of each person, None for none, and how many they have."""
    size = len(column.categories) + 1  # the last code is that of a missing value
    there = values < size - 1
    pairs, counts = np.unique(
        owner[there] * size + values[there].astype(np.int64), return_counts=True
    )
    order = np.lexsort((pairs, -counts, pairs // size))
    who, first = np.unique(pairs[order] // size, return_index=True)
    most = np.full(n, None, dtype=object)
    most[who] = np.array(column.categories, dtype=object)[pairs[order][first] % size]
    return most, np.bincount(pairs // size, minlength=n)


def _owners(people: pd.Series[Any], rows: pd.Series[Any]) -> Ints:
    """Return the place of the person of each row."""
    import pandas as pd

    again = people[people.isna() | people.duplicated()]
    if len(again):
        raise InputError(
            f"key {people.name!r} must name each person once, got {again.iloc[0]} in row "
            f"{again.index[0]}: correct it, or give the rows of the table of people once"
        )
    found = pd.Index(people).get_indexer(rows)
    nobody = np.flatnonzero(found < 0)
    if len(nobody):
        raise InputError(
            f"key {people.name!r} must name a person, got {rows.iloc[nobody[0]]} in row "
            f"{nobody[0]} of the related table: leave the row out, or add the person"
        )
    return np.asarray(found, np.int64)
