"""People and their further rows, such as visits: one record per person, and generators of both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.errors import InputError
from privacygauge.tables.frames import read_beside, read_frame, read_table
from privacygauge.tables.games.releases import digest_of_units, table_digest
from privacygauge.tables.generators.adapters import Call, FitSample, GeneratorInput
from privacygauge.tables.generators.foreign import table_from
from privacygauge.tables.generators.generator import Generator
from privacygauge.tables.generators.named import as_generator
from privacygauge.tables.table import Column, Schema, Table, require_columns

if TYPE_CHECKING:
    import pandas as pd


PEOPLE = "people"
"""Key of the table of people in the dicts of frames of generators."""
ROWS = "rows"
"""Key of the table of their rows in the dicts of frames of generators."""


@dataclass(frozen=True, eq=False)
class Related:
    """People and the rows that belong to them: training data of a generator of both tables."""

    people: Table
    """(n, ...) People, without the key."""
    rows: Table
    """(m, ...) Rows of all people, without the key."""
    key: str
    """Name of the column that names the person, in both tables."""
    keys: NDArray[Any]
    """(n,) Key of each person."""
    owner: Ints
    """(m,) Position in `people` of each row's person."""

    @classmethod
    def of(
        cls,
        people: object,
        rows: object,
        key: str,
        *,
        schema: Schema | None = None,
        continuous: Sequence[str] = (),
        categorical: Sequence[str] = (),
        drop: Sequence[str] = (),
    ) -> Related:
        """Read both tables as `per_person` does.

        Parameters
        ----------
        people, rows, key
            As in `per_person`.
        schema : Schema, optional
            Schema of `people` without the key; by default inferred, as the schema of `rows` always
            is.
        continuous, categorical, drop : sequence of str
            As in `read_table`, for columns of either table.

        Raises
        ------
        InputError
            As in `per_person` and `read_table`.
        """
        frames = [read_frame(people), read_frame(rows)]
        for frame in frames:
            require_columns((key,), list(frame.columns), "key")
        owner = _owners(frames[0][key], frames[1][key])
        columns = {"continuous": continuous, "categorical": categorical, "drop": drop}
        # Each name must be in one of the tables, and counts for those that have it.
        for what, names in columns.items():
            require_columns(names, [name for frame in frames for name in frame.columns], what)
        tables = []
        for frame, known in zip(frames, (schema, None), strict=True):
            own: dict[str, Any] = {
                what: [name for name in names if name in frame.columns]
                for what, names in columns.items()
            }
            tables.append(read_table(frame.drop(columns=key), schema=known, **own))
        keys = np.asarray(frames[0][key])
        return cls(people=tables[0], rows=tables[1], key=key, keys=keys, owner=owner)

    def frames(self, places: Ints) -> dict[str, pd.DataFrame]:
        """Return some of the people and all their rows, with the key, by table name."""
        own = np.flatnonzero(np.isin(self.owner, places))
        people = self.people[places].to_frame()
        rows = self.rows[own].to_frame()
        people.insert(0, self.key, self.keys[places])
        rows.insert(0, self.key, self.keys[self.owner[own]])
        return {PEOPLE: people, ROWS: rows}

    def table(self) -> Table:
        """Return one record per person (see `per_person`), with the person's position.

        Its ranges and categories cover what both tables allow, so that a synthetic person may have
        any rows, or none.
        """
        n = len(self.people)
        # Largest number of rows per person: the range of the column that counts them.
        largest = int(np.bincount(self.owner, minlength=n).max())
        # The columns that `per_person` adds, with all their possible values.
        added = [Column("rows", "integer", 0, largest)]
        for column in self.rows.schema.columns:
            if column.is_number:
                for part in ("least", "mean", "largest"):
                    # A mean of whole numbers need not be whole.
                    kind = "continuous" if part == "mean" else column.kind
                    added.append(
                        Column(f"{column.name} {part}", kind, column.low, column.high, missing=True)
                    )
                continue
            known = column.categories
            most = f"{column.name} most frequent"
            added.append(Column(most, "categorical", categories=known, missing=True))
            added.append(Column(f"{column.name} kinds", "integer", 0, len(known)))
        schema = Schema((*self.people.schema.columns, *added))
        both = self.frames(np.arange(n))
        joined, _ = per_person(both[PEOPLE], both[ROWS], self.key, schema=self.rows.schema)
        table = read_table(joined.drop(columns=self.key), schema=schema)
        return replace(table, people=np.arange(n))

    def joined(self, made: object, name: str) -> pd.DataFrame:
        """Return one record per person from the tables that a generator made.

        Raises
        ------
        InputError
            If these are not both tables, or their keys do not match; the message has the
            generator's `name`.
        """
        if not isinstance(made, dict) or set(made) != {PEOPLE, ROWS}:
            got = (
                checks.short_list(map(str, made)) if isinstance(made, dict) else type(made).__name__
            )
            raise InputError(
                f"generator {name!r} must return a dict of the tables {PEOPLE!r} and {ROWS!r}, got "
                f"{got}"
            )
        try:
            joined, _ = per_person(made[PEOPLE], made[ROWS], self.key, schema=self.rows.schema)
        except InputError as error:
            raise InputError(f"generator {name!r} returned wrong tables: {error}") from error
        return joined.drop(columns=self.key)


def join_related_rows(
    frames: Mapping[str, pd.DataFrame],
    related: Sequence[str],
    key: str | None,
    left: Collection[str] = (),
    separator: str | None = None,
    missing: Collection[str] = (),
) -> tuple[dict[str, pd.DataFrame], dict[str, list[str]]]:
    """Return one record per person with aggregates of further rows, and column names by part.

    Parameters
    ----------
    frames : mapping of str to pandas.DataFrame
        Tables of people by name, the real one first.
    related : sequence of str
        File of rows for each table; empty if people have no further rows.
    key : str, optional
        As in `per_person`.
    left : collection of str
        Columns to leave out of the names by part.
    separator, missing
        As in `read_frame`.
    """
    found = dict(frames)
    schema = None
    parts = {}
    for name, path in zip(frames, related, strict=False):
        rows = read_frame(path, separator, names=(key,), missing=missing)
        alone = list(frames[name].columns)
        found[name], own = per_person(frames[name], rows, str(key), schema=schema)
        further = [x for x in found[name].columns if x not in alone]
        # The real table comes first: its schema decides the kinds of columns in the others.
        schema = schema or own
        parts = {"the people's table": alone, "related rows": further}
    known = {name: [x for x in columns if x not in left] for name, columns in parts.items()}
    return found, {name: columns for name, columns in known.items() if columns}


def per_person(
    people: object, rows: object, key: str, *, schema: Schema | None = None
) -> tuple[pd.DataFrame, Schema]:
    """Return one record per person: own columns, and aggregates of their rows in another table.

    Parameters
    ----------
    people : pandas or polars frame, str or Path
        One row per person, n rows.
    rows : pandas or polars frame, str or Path
        Any number of rows per person.
    key : str
        Name of the column that names the person, in both tables.
    schema : Schema, optional
        Schema of `rows` without the key, from the real table: its numeric columns are read as
        numbers. By default inferred.

    Returns
    -------
    tuple of pandas.DataFrame and Schema
        n rows: the columns of `people`, then ``rows`` (number per person), for each column of
        numbers (dates as days) ``NAME least``, ``NAME mean`` and ``NAME largest``, and for each
        column of categories ``NAME most frequent`` (of equally frequent ones, the first in the
        schema) and ``NAME kinds`` (number of distinct ones). Missing if a person has no value. Also
        the schema of the columns of `rows`.

    Raises
    ------
    InputError
        If the key is missing, two people share one, or a row has a key that nobody has.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"id": [7, 8], "age": [30, 50]})
    >>> visits = pd.DataFrame({"id": [8, 8, 8], "days": [2, 4, 3], "ward": ["a", "b", "b"]})
    >>> print(*per_person(people, visits, "id")[0].iloc[1])
    8 50 3 2.0 3.0 4.0 b 2
    """
    import pandas as pd

    whole = read_frame(people)
    further = read_frame(rows)
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
            least = grouped.min()
            largest = grouped.max()
            # The rounded mean of equal numbers may lie outside their range.
            parts = {
                "least": least,
                "mean": grouped.mean().clip(least, largest),
                "largest": largest,
            }
            found |= {f"{column.name} {x}": y.reindex(range(n)) for x, y in parts.items()}
        else:
            size = len(column.categories) + 1  # the last code is that of a missing value
            there = values < size - 1
            # A pair is owner * size + code: sorted, then by count within the owner, ties by code.
            pairs, counts = np.unique(
                owner[there] * size + values[there].astype(np.int64), return_counts=True
            )
            order = np.lexsort((pairs, -counts, pairs // size))
            who, first = np.unique(pairs[order] // size, return_index=True)
            most = np.full(n, None, dtype=object)
            most[who] = np.array(column.categories, dtype=object)[pairs[order][first] % size]
            found[f"{column.name} most frequent"] = most
            found[f"{column.name} kinds"] = np.bincount(pairs // size, minlength=n)
    twice = [name for name in found if name in whole.columns]
    if twice:
        raise InputError(f"column {twice[0]!r} is in both tables: rename it in one")
    return pd.concat([whole, pd.DataFrame(found, index=whole.index)], axis=1), table.schema


def _owners(people: pd.Series[Any], rows: pd.Series[Any]) -> Ints:
    """Return the position of each row's person in `people`."""
    import pandas as pd

    again = people[people.isna() | people.duplicated()]
    if len(again):
        raise InputError(
            f"key {people.name!r} must name each person once, got {again.iloc[0]} in row "
            f"{again.index[0]}: correct it, or give the rows of the table of people once"
        )
    # 1 in one file may be "1" in the other: unless both are numbers, both are compared as texts.
    if people.dtype.kind not in "iuf" or rows.dtype.kind not in "iuf":  # 1 is the person "1"
        people, rows = (keys.astype(str).where(keys.notna()) for keys in (people, rows))
    found = pd.Index(people).get_indexer(rows)
    nobody = np.flatnonzero(found < 0)
    if len(nobody):
        raise InputError(
            f"key {people.name!r} must name a person, got {rows.iloc[nobody[0]]} in row "
            f"{nobody[0]} of the related table: leave the row out, or add the person"
        )
    return np.asarray(found, np.int64)


@dataclass(frozen=True)
class OfTables:
    """Generator of two tables: learns from all rows of people, returns one record per person.

    All rows of a person, in either table, are thus in or out together.
    """

    made_by: Call | FitSample
    """Generator from a dict of two frames to another."""
    related: Related
    """Both tables of all people."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""
        return self.made_by.name

    def describe(self) -> Mapping[str, Any]:
        """Return the origin of the generator, and digests of the rows and their owners."""
        related = {
            "rows": table_digest(self.related.rows),
            "owners": digest_of_units(self.related.owner),
        }
        return {**self.made_by.describe(), "related": related}

    def reached(self) -> tuple[object, ...]:
        """Return further code that is run."""
        return (self.made_by,)

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n people that the generator made from the table's people and their rows."""
        if table.people is None:
            raise InputError(
                "a generator of several tables learns from real people alone: choose other "
                "--knowledge than synthetic"
            )
        frames = self.related.frames(table.people)
        # Schemas of both tables, without the key.
        schemas = {PEOPLE: self.related.people.schema, ROWS: self.related.rows.schema}
        given = GeneratorInput(frames, schemas, self.related.key)
        made = self.made_by.asked(given, n, rng)
        return table_from(self.related.joined(made, self.name), table.schema, n, self.name)


def takes_tables(generator: object) -> bool:
    """Return whether a generator learns from several tables."""
    return bool(getattr(generator, "takes_tables", False))


def over(generator: object, related: Related) -> Generator:
    """Return a generator of people: of both tables, or of one record per person if it takes one.

    Parameters
    ----------
    generator : Generator, str, class, object, or callable
        As in `as_generator`, or one that takes and returns a dict of frames: a function with a
        first argument called ``tables``, an object with a ``fit`` that has it, or an SDV
        synthesizer of several tables.
    related : Related
        Both tables.

    Raises
    ------
    InputError
        As in `as_generator`.
    """
    made_by = as_generator(generator)
    if not takes_tables(made_by):
        return made_by
    assert isinstance(made_by, Call | FitSample)
    return OfTables(made_by, related)
