"""A table as numbers and codes, with its schema: kinds of columns, and possible values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import LARGEST, Bools, Floats, Ints
from privacygauge.datasets.parsing import dates_of, is_number
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


# Schemas of tables: the kinds of columns, and their possible values.

Kind = Literal["continuous", "integer", "categorical"]
"""Kind of a column: numbers, whole numbers, or texts without an order."""

LARGEST_WHOLE = 2**53
"""Largest whole number up to which float64 represents all whole numbers."""

FORMAT = "privacygauge-schema/1"
"""First entry of a schema in JSON."""


@dataclass(frozen=True)
class Column:
    """A column's kind and domain.

    Raises
    ------
    InputError
        If a number's range is invalid, or a category occurs twice.
    """

    name: str
    """Name of the column, as in the header."""
    kind: Kind
    """Kind: continuous, integer or categorical."""
    low: float | None = None
    """Smallest number; None for categories."""
    high: float | None = None
    """Largest number; None for categories."""
    categories: tuple[str, ...] = ()
    """Possible texts; empty for numbers."""
    missing: bool = False
    """True if values may be missing: for categories, missing is the last code of the column."""
    date: bool = False
    """True if the numbers are days since 1970-01-01, displayed as dates."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(
                f"column {self.name!r}: kind must be {checks.short_list(get_args(Kind))}, got "
                f"{self.kind!r}"
            )
        if self.is_number:
            ends = (self.low, self.high)
            finite = all(isinstance(end, float | int) and math.isfinite(end) for end in ends)
            if self.low is None or self.high is None or not finite or self.low > self.high:
                raise InputError(
                    f"column {self.name!r}: low and high must be numbers, low at most high, got "
                    f"{self.low} and {self.high}"
                )
        elif self.date:
            raise InputError(f"column {self.name!r}: date is for columns of numbers")
        elif len(set(self.categories)) < len(self.categories):
            twice = next(c for c in self.categories if self.categories.count(c) > 1)
            raise InputError(f"column {self.name!r}: category {twice!r} is listed twice")

    @property
    def is_number(self) -> bool:
        """True for a column of numbers, whole or not."""
        return self.kind != "categorical"

    @property
    def n_codes(self) -> int:
        """Number of codes of a categorical column, including that of a missing value."""
        return len(self.categories) + self.missing


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order.

    Examples
    --------
    >>> schema = Schema(
    ...     (
    ...         Column("age", "integer", 18, 90),
    ...         Column("town", "categorical", categories=("A", "B"), missing=True),
    ...     )
    ... )
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[Column, ...]
    """Columns, at least one, with distinct names."""

    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """Names of the columns."""
    numbers: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """Positions of the numeric columns."""
    categorical: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """Positions of the categorical columns."""

    def __post_init__(self) -> None:
        # Kept, since loops over records ask for them.
        places = list(enumerate(self.columns))
        names = tuple(column.name for column in self.columns)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "numbers", tuple(j for j, x in places if x.is_number))
        object.__setattr__(self, "categorical", tuple(j for j, x in places if not x.is_number))
        if not self.columns:
            raise InputError("a schema must have at least one column, got none")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"column names must differ, got {twice!r} twice: rename one of them")

    @cached_property
    def limits(self) -> tuple[Floats, Floats, Bools, Bools]:
        """(F,) each: smallest and largest value, and masks of whole and of missing values."""
        return (
            np.array([0.0 if c.low is None else c.low for c in self.columns]),
            np.array([c.n_codes - 1.0 if c.high is None else c.high for c in self.columns]),
            np.array([c.kind != "continuous" for c in self.columns]),
            np.array([c.is_number and c.missing for c in self.columns]),
        )

    def to_json(self) -> str:
        """Return the schema as JSON, to edit and read back."""
        rows = []
        for column in self.columns:
            unused = {"categories"} if column.is_number else {"low", "high"}
            unused |= set() if column.date else {"date"}
            entry = {name: value for name, value in asdict(column).items() if name not in unused}
            rows.append(json.dumps(entry, ensure_ascii=False))
        body = ",\n    ".join(rows)
        return f'{{\n  "schema": "{FORMAT}",\n  "columns": [\n    {body}\n  ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Parse a schema written by `to_json`, possibly edited.

        Raises
        ------
        InputError
            If an entry is wrong: the entry and the problem, in one line.
        """
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the schema is not JSON ({error}): write it again") from error
        if not isinstance(found, Mapping) or found.get("schema") != FORMAT:
            raise InputError(f'a schema must begin with {{"schema": "{FORMAT}"}}: write it again')
        columns = found.get("columns")
        if not isinstance(columns, list):
            raise InputError('a schema must have a list "columns": write it again')
        read = []
        for entry in columns:
            if not isinstance(entry, Mapping) or not {"name", "kind"} <= set(entry):
                raise InputError(
                    f'every column of a schema must have "name" and "kind", got {entry}'
                )
            name = str(entry["name"])
            for key, value in entry.items():
                if key not in _TYPES:
                    raise InputError(
                        f"column {name!r} of the schema has an unknown entry {key!r}; it may have "
                        f"{checks.short_list(_TYPES)}"
                    )
                types, kind = _TYPES[key]
                # True is an int in Python, but not a limit.
                wrong = not isinstance(value, types) or (value is True and bool not in types)
                texts = value if isinstance(value, list) else ()
                if wrong or not all(isinstance(text, str) for text in texts):
                    raise InputError(
                        f"column {name!r} of the schema: {key} must be {kind}, got {value!r}"
                    )
            categories = tuple(entry.get("categories", ()))
            read.append(Column(**{**entry, "categories": categories}))
        return cls(tuple(read))


_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "name": ((str,), "a text"),
    "kind": ((str,), "a text"),
    "low": ((int, float), "a number"),
    "high": ((int, float), "a number"),
    "categories": ((list,), "a list of texts"),
    "missing": ((bool,), "true or false"),
    "date": ((bool,), "true or false"),
}
"""Types of each entry of a column in JSON, and their name in messages."""


FEWEST_FOR_IDS = 50
"""Fewest records; in a smaller table, whole numbers may all differ without being names."""


@dataclass(frozen=True, eq=False)
class Table:
    """Records: numbers as they are, categories as codes.

    Raises
    ------
    InputError
        If the shape is wrong, or a value is outside the schema's domain.
    """

    schema: Schema
    """Schema of the columns."""
    values: Floats
    """(n, F) Numbers, NaN where missing; codes 0, 1, ... of categories in the schema's order, and
    the next code where the category is missing."""
    clipped: int = 0
    """Number of values that a generator drew beyond the schema's range, and that were moved to its
    nearer end."""
    people: Ints | None = None
    """(n,) Person of each record, where generators see further rows of these people."""

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        width = len(self.schema.columns)
        if values.ndim != 2 or values.shape[1] != width:
            raise InputError(f"values must have the shape (n, {width}), got {values.shape}")
        # All columns at once, which is faster; column by column only to name the wrong value.
        low, high, whole, missing = self.schema.limits
        inside = (values >= low) & (values <= high)
        inside &= ~whole | (values == np.rint(values))
        if not (inside | (missing & np.isnan(values))).all():
            for column, found in zip(self.schema.columns, values.T, strict=True):
                _check_values(column, found)
        object.__setattr__(self, "values", checks.frozen(values))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Ints) -> Table:
        # `clipped` belongs to the whole table, not to some of its rows.
        people = None if self.people is None else self.people[rows]
        return Table(self.schema, self.values[rows], people=people)

    @property
    def numbers(self) -> Floats:
        """(n, F_cont) Numbers, NaN where missing."""
        return self.values[:, self.schema.numbers]

    @property
    def codes(self) -> Ints:
        """(n, F_cat) Category codes."""
        return self.values[:, self.schema.categorical].astype(np.int64)

    @property
    def sizes(self) -> tuple[int, ...]:
        """(F_cat,) Number of codes of each categorical column."""
        return tuple(self.schema.columns[j].n_codes for j in self.schema.categorical)

    def to_frame(self) -> pd.DataFrame:
        """Return the records with texts and numbers, None or NaN where missing."""
        import pandas as pd

        shown: dict[str, NDArray[Any]] = {}
        for column, found in zip(self.schema.columns, self.values.T, strict=True):
            if not column.is_number:
                # The code past the last category is a missing value.
                texts = np.array([*column.categories, None], dtype=object)
                shown[column.name] = texts[found.astype(np.int64)]
            elif column.date:
                shown[column.name] = dates_of(found)
            else:
                whole = column.kind == "integer" and not np.isnan(found).any()
                shown[column.name] = found.astype(np.int64) if whole else found
        return pd.DataFrame(shown)


def _check_values(column: Column, found: Floats) -> None:
    """Raise on the first value of a column that its schema does not allow."""
    missing = np.isnan(found)
    fraction = ~missing & (found != np.rint(found))
    rules: dict[str, Bools] = {}
    if column.low is not None and column.high is not None:
        # Negated, so that the comparison is not true for NaN.
        beyond = ~missing & ~((found >= column.low) & (found <= column.high))
        rules[f"must be in [{column.low}, {column.high}], the range of the schema"] = beyond
        if column.kind == "integer":
            rules["must hold whole numbers"] = fraction
        if not column.missing:
            rules["must not be missing, as the schema says"] = missing
    else:
        wrong = missing | fraction | (found < 0) | (found >= column.n_codes)
        rules[f"must hold codes in 0..{column.n_codes - 1}"] = wrong
    for rule, wrong in rules.items():
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"column {column.name!r} {rule}, got {found[row]} in row {row}: correct the value "
                "or the schema"
            )


def column_advice(table: Table) -> tuple[str, ...]:
    """Return a note on each column that should be left out or checked.

    A column that differs in every record identifies the records: it does not show how similar two
    of them are.
    """
    found = []
    if len(table.schema.columns) == 1:
        found.append(
            "the table has one column: if its file has others, name their separator (--separator)"
        )
    for column, values in zip(table.schema.columns, table.values.T, strict=True):
        numbers = sum(is_number(text) for text in column.categories)
        least = 2 if column.kind == "categorical" else FEWEST_FOR_IDS
        if (
            column.kind != "continuous"
            and len(values) > least
            and len(np.unique(values)) == len(values)
        ):
            found.append(
                f"column {column.name!r} has another value in every record, like a name or a "
                f"number of a file: if it is one, drop it (--drop {column.name})"
            )
        elif numbers >= 10 and 0.9 * len(column.categories) <= numbers < len(column.categories):
            found.append(
                f"column {column.name!r} holds numbers but for a few texts, and is taken as "
                "categories: write missing numbers as empty fields"
            )
    return tuple(found)


def require_moderate(schema: Schema) -> None:
    """Raise on a column with a range beyond `LARGEST`: runs and models use single precision."""
    for column in schema.columns:
        for end in (column.low, column.high):
            if end is not None and abs(end) > LARGEST:
                raise InputError(
                    f"column {column.name!r} must hold numbers of at most {LARGEST:g}, got {end}: "
                    "give it in another unit, or drop it"
                )


def require_at_least(thing: object, **least: float) -> None:
    """Raise on a field below its minimum; None is allowed."""
    for name, low in least.items():
        value = getattr(thing, name)
        if value is not None:
            checks.at_least(low, **{name: value})


def require_columns(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Raise on names that no column has."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(
            f"{what} names {unknown[0]!r}, which is not a column; the columns are "
            f"{checks.short_list(known, 30)}"
        )
