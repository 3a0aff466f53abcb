"""A table as numbers and codes, with its schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import LARGEST, Floats, Ints
from privacygauge.datasets.dates import dates_of
from privacygauge.errors import InputError
from privacygauge.synthetic.schema import Column, Schema

if TYPE_CHECKING:
    import pandas as pd

FEWEST_FOR_IDS = 50
"""Fewest records; in a smaller table whole numbers may all differ without being names."""


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
    """(n, F) Numbers, NaN where one is missing; codes 0, 1, ... of categories in the schema's
    order, and the next code where the category is missing."""
    clipped: int = 0
    """Number of values that a generator drew beyond the schema's range, and that were moved to its
    end."""
    people: Ints | None = None
    """(n,) Number of each record's person, where generators see further rows of these people."""

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        width = len(self.schema.columns)
        if values.ndim != 2 or values.shape[1] != width:
            raise InputError(f"values must have the shape (n, {width}), got {values.shape}")
        # All columns at once, which is faster; column by column only to name the wrong one.
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
        people = None if self.people is None else self.people[rows]
        return Table(self.schema, self.values[rows], people=people)

    @property
    def numbers(self) -> Floats:
        """(n, F_cont) Numbers, NaN where one is missing."""
        return self.values[:, self.schema.numbers]

    @property
    def codes(self) -> Ints:
        """(n, F_cat) Codes."""
        return self.values[:, self.schema.categorical].astype(np.int64)

    @property
    def sizes(self) -> tuple[int, ...]:
        """(F_cat,) Number of codes of each categorical column."""
        return tuple(self.schema.columns[j].n_codes for j in self.schema.categorical)

    def to_frame(self) -> pd.DataFrame:
        """Return the records with their texts and numbers, None or NaN where one is missing."""
        import pandas as pd

        columns = zip(self.schema.columns, self.values.T, strict=True)
        return pd.DataFrame(
            {column.name: _decode_column(column, found) for column, found in columns}
        )


def _check_values(column: Column, found: Floats) -> None:
    name = column.name
    missing = np.isnan(found)
    if column.low is not None and column.high is not None:
        wrong = ~missing & ~((found >= column.low) & (found <= column.high))
        rule = f"must be in [{column.low}, {column.high}]"
        _refuse(name, wrong, found, f"{rule}, the range of the schema")
        if column.kind == "integer":
            _refuse(name, ~missing & (found != np.rint(found)), found, "must hold whole numbers")
        if not column.missing:
            _refuse(name, missing, found, "must not be missing, as the schema says")
        return
    wrong = missing | (found != np.rint(found)) | (found < 0) | (found >= column.n_codes)
    _refuse(name, wrong, found, f"must hold codes in 0..{column.n_codes - 1}")


def _refuse(name: str, wrong: NDArray[np.bool_], found: NDArray[Any], rule: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"column {name!r} {rule}, got {found[row]} in row {row}: correct the value or the "
            "schema"
        )


def _decode_column(column: Column, found: Floats) -> NDArray[Any]:
    if not column.is_number:
        texts = np.array([*column.categories, None], dtype=object)
        return texts[found.astype(np.int64)]
    if column.date:
        return dates_of(found)
    whole = column.kind == "integer" and not np.isnan(found).any()
    return found.astype(np.int64) if whole else found


def column_advice(table: Table) -> tuple[str, ...]:
    """Return a note on each column that should be left out or checked.

    A column with a different value in every record identifies the records: it does not show how
    similar two of them are.
    """
    found = []
    if len(table.schema.columns) == 1:
        found.append(
            "the table has one column: if its file has others, name their separator (--separator)"
        )
    for column, values in zip(table.schema.columns, table.values.T, strict=True):
        if _names_records(column, values):
            found.append(
                f"column {column.name!r} has another value in every record, like a name or a "
                f"number of a file: if it is one, drop it (--drop {column.name})"
            )
        elif _may_be_numbers(column):
            found.append(
                f"column {column.name!r} holds numbers but for a few texts, and is taken as "
                "categories: write missing numbers as empty fields"
            )
    return tuple(found)


def _names_records(column: Column, values: Floats) -> bool:
    least = 2 if column.kind == "categorical" else FEWEST_FOR_IDS
    return (
        column.kind != "continuous"
        and len(values) > least
        and len(np.unique(values)) == len(values)
    )


def _may_be_numbers(column: Column) -> bool:
    numbers = sum(_is_number(text) for text in column.categories)
    return numbers >= 10 and 0.9 * len(column.categories) <= numbers < len(column.categories)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def require_moderate(schema: Schema) -> None:
    """Refuse a column whose range exceeds `LARGEST`: runs and models use single precision."""
    for column in schema.columns:
        for end in (column.low, column.high):
            if end is not None and abs(end) > LARGEST:
                raise InputError(
                    f"column {column.name!r} must hold numbers of at most {LARGEST:g}, got {end}: "
                    "give it in another unit, or drop it"
                )


def require_at_least(thing: object, **least: float) -> None:
    """Refuse a value with a field below its minimum; None is allowed."""
    for name, low in least.items():
        value = getattr(thing, name)
        if value is not None:
            checks.at_least(low, **{name: value})


def require_columns(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Refuse names that no column has."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(
            f"{what} names {unknown[0]!r}, which is not a column; the columns are "
            f"{checks.short_list(known, 30)}"
        )
