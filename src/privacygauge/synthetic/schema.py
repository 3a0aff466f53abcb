"""Schemas of tables: the kinds of columns, and the values that may occur in them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
from privacygauge.errors import InputError

Kind = Literal["continuous", "integer", "categorical"]
"""Kind of a column: numbers, whole numbers, or texts without an order."""

LARGEST_WHOLE = 2**53
"""Largest whole number that float64 tells from the next."""

FORMAT = "privacygauge-schema/1"
"""First entry of a schema in JSON."""


@dataclass(frozen=True)
class Column:
    """A column's kind and domain.

    Raises
    ------
    InputError
        If a number's range is not a range, or a category occurs twice.
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
    """Texts that may occur; empty for numbers."""
    missing: bool = False
    """True where a value may be missing: a category of its own, the last code of a column."""
    date: bool = False
    """True where the numbers are days since 1970-01-01, shown as dates."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(
                f"column {self.name!r}: kind must be {checks.short_list(get_args(Kind))}, got "
                f"{self.kind!r}"
            )
        if self.is_number:
            self._check_range()
        elif self.date:
            raise InputError(f"column {self.name!r}: date is for columns of numbers")
        elif len(set(self.categories)) < len(self.categories):
            twice = next(c for c in self.categories if self.categories.count(c) > 1)
            raise InputError(f"column {self.name!r}: category {twice!r} is listed twice")

    def _check_range(self) -> None:
        ends = (self.low, self.high)
        finite = all(isinstance(end, float | int) and math.isfinite(end) for end in ends)
        if self.low is None or self.high is None or not finite or self.low > self.high:
            raise InputError(
                f"column {self.name!r}: low and high must be numbers, low at most high, got "
                f"{self.low} and {self.high}"
            )

    @property
    def is_number(self) -> bool:
        """True for a column of numbers, whole or not."""
        return self.kind != "categorical"

    @property
    def n_codes(self) -> int:
        """Number of codes of a categorical column, that of a missing value included."""
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
    """Columns, at least one; names differ."""

    def __post_init__(self) -> None:
        if not self.columns:
            raise InputError("a schema must have at least one column, got none")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(f"column names must differ, got {twice!r} twice: rename one of them")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Positions of the columns of numbers."""
        return tuple(j for j, column in enumerate(self.columns) if column.is_number)

    @property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the categorical columns."""
        return tuple(j for j, column in enumerate(self.columns) if not column.is_number)

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
        """Return the schema as JSON, to be edited and read back."""
        rows = [json.dumps(_column_to_dict(column), ensure_ascii=False) for column in self.columns]
        body = ",\n    ".join(rows)
        return f'{{\n  "schema": "{FORMAT}",\n  "columns": [\n    {body}\n  ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Parse a schema that `to_json` wrote, or that was edited.

        Raises
        ------
        InputError
            One line: the entry, and what is wrong with it.
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
        return cls(tuple(_column_from_dict(entry) for entry in columns))


def _column_to_dict(column: Column) -> dict[str, Any]:
    unused = {"categories"} if column.is_number else {"low", "high"}
    unused |= set() if column.date else {"date"}
    return {name: value for name, value in asdict(column).items() if name not in unused}


_TYPES: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "kind": (str,),
    "low": (int, float),
    "high": (int, float),
    "categories": (list,),
    "missing": (bool,),
    "date": (bool,),
}


def _column_from_dict(entry: object) -> Column:
    if not isinstance(entry, Mapping) or not {"name", "kind"} <= set(entry):
        raise InputError(f'every column of a schema must have "name" and "kind", got {entry}')
    for key, value in entry.items():
        _check_entry(str(entry["name"]), key, value)
    return Column(**{**entry, "categories": tuple(entry.get("categories", ()))})


def _check_entry(name: str, key: str, value: object) -> None:
    if key not in _TYPES:
        raise InputError(
            f"column {name!r} of the schema has an unknown entry {key!r}; it may have "
            f"{checks.short_list(_TYPES)}"
        )
    wrong = not isinstance(value, _TYPES[key]) or (key in ("low", "high") and value is True)
    if wrong or (isinstance(value, list) and not all(isinstance(text, str) for text in value)):
        kinds = {
            "categories": "a list of texts",
            "missing": "true or false",
            "date": "true or false",
        }
        wanted = kinds.get(key, "a number" if key in ("low", "high") else "a text")
        raise InputError(f"column {name!r} of the schema: {key} must be {wanted}, got {value!r}")
