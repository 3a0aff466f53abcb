"""A released table, the records it was made from, and records it was not made from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.units import join_units
from privacygauge.datasets.parsing import text_order
from privacygauge.errors import InputError
from privacygauge.tables.frames import (
    NOTES,
    ROW_NUMBERS,
    category_places,
    read_beside,
    read_frame,
    read_table,
)
from privacygauge.tables.released.named import (
    Apart,
    JoinedRows,
    TextColumn,
    identifying_columns,
)
from privacygauge.tables.released.spelling import (
    as_written,
    coarsened_alike,
    in_the_same_words,
    rounded_alike,
    without_suppressed,
)
from privacygauge.tables.table import Column, Kind, Schema, Table, require_columns

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 10
"""Fewest records in a table; fewer show nothing."""
_DAY_DECIMALS = 6
"""Decimals of a number of days that are compared: a tenth of a second."""
NO_CONTROL = (
    "without records that the generator did not learn from, what the synthetic table gives away "
    "about people in general cannot be told from what it gives away about those in the real table"
)
"""Note for the reader of a result without a holdout."""


@dataclass(frozen=True, eq=False)
class ReleasedTables:
    """A synthetic table, and the records to judge it by.

    Raises
    ------
    InputError
        If the schemas differ, or a table has fewer than ten records.
    """

    real: Table
    """Records that the generator learnt from: members."""
    synthetic: Table
    """The released synthetic table."""
    holdout: Table | None = None
    """Records of the same source that the generator did not learn from; None for none."""
    unit: Ints | None = None
    """(n,) Person behind each real record; None where every record is of another person."""
    holdout_unit: Ints | None = None
    """(m,) Person behind each holdout record, with the same number for the same person."""
    read: tuple[str, ...] = ()
    """Notes on values read otherwise than written, or left out, one sentence each."""
    texts: tuple[TextColumn, ...] = ()
    """Columns of free text and of names, left out of the tables."""
    apart: tuple[str, ...] = ()
    """Names of all columns that were left out without being asked for."""
    joined: tuple[JoinedRows, ...] = ()
    """Rows that columns of names or numbers join, one entry per column that was left out."""
    people_named: bool = False
    """True where `unit` and `holdout_unit` come from an automatically recognised column."""
    learnt: tuple[str, ...] = ()
    """Columns whose values stand on one side alone and in the synthetic table."""

    @property
    def everyone(self) -> Table:
        """Real records, then those of the holdout if there is one."""
        return self.real if self.holdout is None else stack_tables(self.real, self.holdout)

    @property
    def units(self) -> tuple[Ints, Ints]:
        """Numbers of the people behind the real and the holdout records, (n,) and (m,)."""
        n = len(self.real)
        m = 0 if self.holdout is None else len(self.holdout)
        real = np.arange(n) if self.unit is None else self.unit
        # The holdout's people are numbered from here unless the sides share their numbers.
        first = int(real.max(initial=-1)) + 1
        if self.holdout_unit is None:
            return real, first + np.arange(m)
        # A column recognised automatically names nobody on both sides, and its codes start at 0 on
        # each: equal codes are different people.
        return real, self.holdout_unit + (first if self.people_named else 0)

    @property
    def alike(self) -> tuple[Ints, Ints]:
        """Numbers shared by the records of one person and by equal records of a side, (n,), (m,).

        An attack tells no two equal records apart: it finds all of them, or none.
        """
        both = (self.real,) if self.holdout is None else (self.real, self.holdout)
        kinds = [number_equal_records((one,))[0] for one in both]
        found = [join_units(*one) for one in zip(self.units, kinds, strict=False)]
        first = int(found[0].max()) + 1
        return found[0], first + (found[1] if len(found) > 1 else np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        for name, table in self.tables().items():
            if table.schema != self.schema:
                raise InputError(
                    f"{name} must have the schema of real, got another one: use read_together"
                )
            if len(table) < FEWEST:
                raise InputError(
                    f"{name} must have at least {FEWEST} records, got {len(table)}: give more"
                )

    @property
    def schema(self) -> Schema:
        """Schema shared by all tables."""
        return self.real.schema

    def tables(self) -> dict[str, Table]:
        """Return the tables that are present, by name."""
        given = {"real": self.real, "synthetic": self.synthetic, "holdout": self.holdout}
        return {name: table for name, table in given.items() if table is not None}

    @cached_property
    def between_dates(self) -> ReleasedTables | None:
        """Release with the days between dates in place of the dates.

        Where all dates of a record are moved alike, these days stay as they are: from each date to
        the next one, in the order of the medians of the released dates. None if fewer than two
        columns hold dates.
        """
        columns = self.schema.columns
        dates = np.flatnonzero([column.date for column in columns])
        if len(dates) < 2:
            return None
        made = self.synthetic.values[:, dates]
        # A column without released dates comes first.
        there = [one[~np.isnan(one)] for one in made.T]
        middle = [float(np.median(one)) if len(one) else -np.inf for one in there]
        pairs = tuple(pairwise(dates[np.argsort(middle, kind="stable")].tolist()))
        others = [j for j in range(len(columns)) if not columns[j].date]
        tables = self.tables()
        everything = stack_tables(*tables.values()).values
        days = np.column_stack([everything[:, b] - everything[:, a] for a, b in pairs])
        days = np.round(days, _DAY_DECIMALS)
        values = np.column_stack([everything[:, others], days])
        intervals = []
        for (a, b), one in zip(pairs, days.T, strict=True):
            known = one[~np.isnan(one)]
            intervals.append(
                Column(
                    f"days from {columns[a].name} to {columns[b].name}",
                    "continuous",
                    float(known.min(initial=0.0)),
                    float(known.max(initial=0.0)),
                    missing=len(known) < len(one),
                )
            )
        schema = Schema((*(columns[j] for j in others), *intervals))
        ends = np.cumsum([len(table) for table in tables.values()])[:-1]
        found = dict(zip(tables, np.split(values, ends), strict=True))
        real_unit, holdout_unit = self.units
        return ReleasedTables(
            Table(schema, found["real"]),
            Table(schema, found["synthetic"]),
            Table(schema, found["holdout"]) if "holdout" in found else None,
            unit=real_unit,
            holdout_unit=holdout_unit if "holdout" in found else None,
        )

    def people(self, rows: Sequence[Ints]) -> list[Ints]:
        """Return the people behind the given rows of each table."""
        return [unit[some] for unit, some in zip(self.units, rows, strict=False)]

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of a result, one sentence each."""
        if self.holdout is None:
            return (NO_CONTROL,)
        shared = int(np.count_nonzero(occurs(self.holdout, self.real)))
        if not shared:
            return ()
        # Twins within the real table show how much of the sharing is chance.
        (kind,) = number_equal_records((self.real,))
        twins = int(np.count_nonzero(np.bincount(kind)[kind] > 1))
        return (
            f"{shared:,} of the {len(self.holdout):,} holdout records equal a real one, and of the "
            f"{len(self.real):,} real ones {twins:,} equal another real one: no attack can tell "
            "equal records apart",
        )


def read_together(
    real: object,
    synthetic: object,
    holdout: object | None = None,
    *,
    schema: Schema | None = None,
    continuous: Sequence[str] = (),
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    compared: Sequence[str] = (),
) -> ReleasedTables:
    """Read tables with one schema that covers the values of all of them.

    The real table decides the kind of a column: if it holds numbers there, it holds numbers in the
    other tables. Ranges cover all tables together, and so do categories, in the order of their
    texts: no code reveals which table a record comes from. Values spelt differently are read as the
    real table spells them (`as_written`), and numbers are compared with the decimals of the
    synthetic table.

    Parameters
    ----------
    real, synthetic : Table, pandas or polars frame, str or Path
        As `read_table` takes them. The synthetic table may have its columns in another order.
    holdout : Table, pandas or polars frame, str or Path, optional
        Records of the same source that the generator did not learn from.
    schema : Schema, optional
        Schema of the real table; by default inferred.
    continuous, categorical : sequence of str
        Columns to take as numbers or as categories, whatever they look like.
    drop : sequence of str
        Columns to leave out, such as file numbers; not every table needs to have them.
    compared : sequence of str
        Columns to compare although they look like names or free text; `continuous` and
        `categorical` columns always are.

    Raises
    ------
    InputError
        If a column is missing from one of the tables, or a value does not fit; one line.

    Examples
    --------
    >>> import pandas as pd
    >>> real = pd.DataFrame({"age": range(20, 30), "town": list("ABABABABAB")})
    >>> made = pd.DataFrame({"town": list("AABBCCAABB"), "age": range(24, 34)})
    >>> found = read_together(real, made)
    >>> [(column.name, column.high, column.categories) for column in found.schema.columns]
    [('age', 33.0, ()), ('town', None, ('A', 'B', 'C'))]
    """
    given = {"real": real, "synthetic": synthetic, "holdout": holdout}
    contents: dict[str, Table | pd.DataFrame] = {}
    for name, data in given.items():
        if data is not None:
            with _about(name):
                contents[name] = (
                    data if isinstance(data, Table) else read_frame(data, as_exported=True)
                )
    notes = [
        note
        for one in contents.values()
        if not isinstance(one, Table)
        for note in one.attrs.get(NOTES, ())
    ]
    # Frames have row numbers in all of them if any has some: by default their places.
    frames = {name: one for name, one in contents.items() if not isinstance(one, Table)}
    if len(frames) == len(contents) and any(ROW_NUMBERS in one for one in frames.values()):
        contents |= {
            name: one.assign(**{ROW_NUMBERS: np.arange(len(one))})
            for name, one in frames.items()
            if ROW_NUMBERS not in one
        }
    require_columns(drop, [x for one in contents.values() for x in _names(one)], "drop")
    left = {name: _without(one, drop) for name, one in contents.items()}
    named = Apart((), (), None, ())
    # The columns of a Table were already chosen and encoded by the caller: none is taken for names.
    if not any(isinstance(one, Table) for one in left.values()):
        named = identifying_columns(
            {name: one for name, one in left.items() if not isinstance(one, Table)}, compared
        )
    drop = (*drop, *named.columns)
    people = {name: _people(named.person, one) for name, one in contents.items()}
    frames = {name: one for name, one in contents.items() if not isinstance(one, Table)}
    coarse: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    # Ranges, cut values and periods are texts: they can be compared in frames only.
    if len(frames) == len(contents):
        frames, hidden, suppressed = without_suppressed(frames, (*compared, *drop))
        frames, words = in_the_same_words(frames, (*continuous, *drop))
        frames, coarse = coarsened_alike(frames, (*continuous, *drop))
        coarse = (*suppressed, *words, *coarse)
        contents = dict(frames)
    with _about("real"):
        kept = _without(contents.pop("real"), drop)
        first = read_table(kept, schema=schema, continuous=continuous, categorical=categorical)
    sources = [first]
    read: dict[str, Table] = {}
    said: list[str] = []
    # The holdout goes first: the synthetic table is read by both sides, or they would differ.
    for name in sorted(contents, key=("holdout", "synthetic").index):
        content = contents[name]
        with _about(name):
            further = _without(content, drop)
            _check_columns("the table", _names(further), first.schema.names)
            table = read_beside(further, first.schema)
        spelt, changes = as_written(sources, table, name)
        sources.append(spelt)
        read[name] = spelt
        said.extend(changes)
    # In the order real, synthetic, holdout: the joined schema lists the real table's columns first.
    found = [first, read["synthetic"], *(read[name] for name in read if name == "holdout")]
    joined = joined_schema(*(table.schema for table in found))
    first, made, *others = (recode_table(table, joined) for table in found)
    # Last, since rounding clips numbers to the joint range.
    (first, *others), rounded = rounded_alike(made, [first, *others])
    return ReleasedTables(
        first,
        made,
        others[0] if others else None,
        unit=people["real"],
        holdout_unit=people.get("holdout"),
        read=(*notes, *coarse, *said, *rounded, *named.said),
        texts=named.texts,
        apart=(*named.columns, *hidden),
        joined=named.joined,
        people_named=named.person is not None,
        learnt=named.learnt,
    )


def _people(name: str | None, content: Table | pd.DataFrame) -> Ints | None:
    """Return a number for the person behind each row, from the column that names people."""
    if name is None or isinstance(content, Table):
        return None
    import pandas as pd

    column = content[name]
    # A missing name says nothing about who it is: each such row is a person of its own.
    codes, names = pd.factorize(column)
    alone = codes < 0
    codes[alone] = len(names) + np.arange(int(alone.sum()))
    return np.asarray(codes, np.int64)


def joined_schema(*schemas: Schema) -> Schema:
    """Return the smallest schema that covers all values of the given schemas.

    Columns keep the order of the first schema. Categories that differ are sorted by their texts,
    whichever schema they come from: with those of the first schema in front, the code of a category
    would reveal which table its record is in.

    Raises
    ------
    InputError
        If a column is missing from a schema, or holds numbers in one and categories in another.
    """
    if not schemas:
        raise InputError("schemas must be at least one, got none")
    names = schemas[0].names
    for schema in schemas[1:]:
        _check_columns("another schema", schema.names, names)
    by_name = [dict(zip(schema.names, schema.columns, strict=True)) for schema in schemas]
    joined = []
    for name in names:
        columns = [schema[name] for schema in by_name]
        first = columns[0]
        if any(column.is_number != first.is_number for column in columns):
            raise InputError(
                f"column {name!r} holds numbers in one table and categories in another: name it "
                "continuous or categorical"
            )
        if any(column.date != first.date for column in columns):
            raise InputError(
                f"column {name!r} holds dates in one table and numbers in another: write the "
                "same in all, or name it categorical"
            )
        missing = any(column.missing for column in columns)
        if not first.is_number:
            texts = {text for column in columns for text in column.categories}
            same = len(texts) == len(first.categories)
            # Unless a category was added the first schema's order stays, so that its codes stay
            # valid.
            categories = first.categories if same else tuple(sorted(texts, key=text_order))
            joined.append(Column(name, "categorical", categories=categories, missing=missing))
            continue
        whole = all(column.kind == "integer" for column in columns)
        kind: Kind = "integer" if whole else "continuous"
        low = min(column.low for column in columns if column.low is not None)
        high = max(column.high for column in columns if column.high is not None)
        joined.append(Column(name, kind, low, high, missing=missing, date=first.date))
    return Schema(tuple(joined))


def recode_table(table: Table, schema: Schema) -> Table:
    """Return a table's records under a schema that covers its own."""
    place = {name: j for j, name in enumerate(table.schema.names)}
    columns = []
    for new in schema.columns:
        old = table.schema.columns[place[new.name]]
        values = table.values[:, place[new.name]]
        # Equal categories keep their codes; only a changed list needs a translation.
        if not old.is_number and old != new:
            values = category_places(values.astype(np.int64), old.categories, new.categories)
        columns.append(values)
    return Table(schema, np.column_stack(columns))


def select_columns(table: Table, positions: Sequence[int]) -> Table:
    """Return the records with the columns at these positions."""
    schema = Schema(tuple(table.schema.columns[j] for j in positions))
    return Table(schema, table.values[:, list(positions)])


def without_columns(released: ReleasedTables, names: Sequence[str]) -> ReleasedTables:
    """Return the release without some columns of its tables."""
    kept = [j for j, name in enumerate(released.schema.names) if name not in names]
    if not kept or len(kept) == len(released.schema.names):
        return released
    real, synthetic = (select_columns(one, kept) for one in (released.real, released.synthetic))
    holdout = None if released.holdout is None else select_columns(released.holdout, kept)
    return replace(released, real=real, synthetic=synthetic, holdout=holdout)


def stack_tables(*tables: Table) -> Table:
    """Return the records of tables of one schema as one table, in the order given."""
    return Table(tables[0].schema, np.concatenate([table.values for table in tables]))


def number_equal_records(tables: Sequence[Table]) -> tuple[Ints, ...]:
    """Return a number per record of each table, equal for equal records.

    A missing value equals a missing value. Returns one array (n,) per table.
    """
    values = np.concatenate([table.values for table in tables])
    keys = np.zeros(len(values), np.int64)
    for column in values.T:
        distinct, codes = np.unique(column, return_inverse=True)
        # Renumbered after each column: the products stay below n times the values of one column,
        # and so cannot overflow.
        keys = np.unique(keys * len(distinct) + codes, return_inverse=True)[1]
    return tuple(np.split(keys, np.cumsum([len(table) for table in tables])[:-1]))


def sums_but_one(
    rng: np.random.Generator, columns: Sequence[int], *tables: Table
) -> list[NDArray[np.uint64]]:
    """Return keys (c, n) per table, equal where two records agree in all columns but column c.

    As `sums_but_some`, of one column each.
    """
    return sums_but_some(rng, [(j,) for j in columns], *tables)


def sums_but_some(
    rng: np.random.Generator, columns: Sequence[Sequence[int]], *tables: Table
) -> list[NDArray[np.uint64]]:
    """Return keys (c, n) per table, equal where two records agree in all columns but those of c.

    A key is a sum of random 64-bit numbers drawn for the values. Sums of different values collide
    once in 10^19 pairs.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the numbers.
    columns : sequence of sequences of int, length c
        The columns left out in each row of keys.
    tables : Table
        Tables of one schema; a missing value equals a missing value.
    """
    wanted = {j for left_out in columns for j in left_out}
    values = np.concatenate([table.values for table in tables])
    numbers: dict[int, NDArray[np.uint64]] = {}
    total = np.zeros(len(values), np.uint64)
    for j, column in enumerate(values.T):
        distinct, codes = np.unique(column, return_inverse=True)
        own = rng.integers(2**64, size=len(distinct), dtype=np.uint64)[codes]
        total += own  # unsigned: wraps around modulo 2^64
        if j in wanted:
            numbers[j] = own
    # Subtracting a column costs (n,) per column; summing the others again would cost (n, F).
    none = np.zeros(len(values), np.uint64)
    sums = np.array([total - sum((numbers[j] for j in some), none) for some in columns])
    return np.split(sums, np.cumsum([len(table) for table in tables])[:-1], axis=1)


def of_several(keys: NDArray[Any], owner: Ints) -> Bools:
    """Return where records of several people have the same key, (n,)."""
    kinds = np.unique(keys, return_inverse=True)[1]
    # Equal records of one person are one pair (key, person).
    pairs = np.unique(np.column_stack([kinds, owner]), axis=0)
    persons = np.bincount(pairs[:, 0], minlength=int(kinds.max(initial=-1)) + 1)
    return np.asarray(persons[kinds] > 1, np.bool_)


def occurs(records: Table, among: Table) -> Bools:
    """Return (n,) True where a record equals one of another table in every column."""
    asked, there = number_equal_records((records, among))
    return np.isin(asked, there)


def fill_missing(table: Table) -> Floats:
    """Replace each missing value by a number one below the column's range."""
    return np.where(np.isnan(table.values), table.schema.limits[0] - 1.0, table.values)


def draw_rows(n: int, most: int, rng: np.random.Generator) -> Ints:
    """Draw `most` of n rows without replacement, ascending; all rows if there are no more."""
    if n <= most:
        return np.arange(n)
    return np.sort(rng.choice(n, most, replace=False))


def evenly(rows: Ints, most: int) -> Ints:
    """Return at most so many of some rows, evenly spread."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.int64)]


@contextlib.contextmanager
def _about(name: str) -> Iterator[None]:
    """Prefix input errors raised in a block with the name of the table."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _names(content: Table | pd.DataFrame) -> tuple[str, ...]:
    return content.schema.names if isinstance(content, Table) else tuple(content.columns)


def _without(content: Table | pd.DataFrame, drop: Sequence[str]) -> Table | pd.DataFrame:
    kept = [name not in drop for name in _names(content)]
    if isinstance(content, Table):
        return content if all(kept) else select_columns(content, np.flatnonzero(kept).tolist())
    return content.loc[:, kept]


def _check_columns(what: str, names: Sequence[str], required: Sequence[str]) -> None:
    absent = [name for name in required if name not in names]
    if absent:
        raise InputError(
            f"{what} has no column {absent[0]!r}, which the real one has: name it as there, or "
            f"leave it out of all (drop); its columns are {checks.short_list(names, 30)}"
        )
    further = [name for name in names if name not in required]
    if further:
        raise InputError(
            f"{what} has a column {further[0]!r}, which the real one has not: leave it out (drop)"
        )


def tables_of(
    real: object,
    synthetic: object,
    holdout: object | None,
    schema: Schema | None,
    columns: tuple[Sequence[str], Sequence[str], Sequence[str]],
    compared: Sequence[str] = (),
) -> ReleasedTables:
    """Read the tables of an audit with one schema: the given one, or one inferred from all.

    `columns` holds the columns to take as numbers, those to take as categories, and those to drop.
    """
    continuous, categorical, drop = columns
    if schema is None:
        return read_together(
            real,
            synthetic,
            holdout,
            continuous=continuous,
            categorical=categorical,
            drop=drop,
            compared=(*compared, *continuous, *categorical),
        )
    given = {"real": real, "synthetic": synthetic, "holdout": holdout}
    found: dict[str, Table] = {}
    for name, data in given.items():
        if data is not None:
            with _about(name):
                found[name] = read_table(
                    data, schema=schema, continuous=continuous, categorical=categorical, drop=drop
                )
    return ReleasedTables(found["real"], found["synthetic"], found.get("holdout"))
