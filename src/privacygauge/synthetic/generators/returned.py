"""Tables returned by foreign generators: checked, and coded by the schema; CSV both ways."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.datasets.dates import dates_of, days_of
from privacygauge.errors import InputError
from privacygauge.synthetic.frames import read_table
from privacygauge.synthetic.schema import Column, Schema
from privacygauge.synthetic.table import Table

if TYPE_CHECKING:
    import pandas as pd


ROUNDING = 1e-9
"""Largest distance of a number from its range, relative to the range's larger end."""
ROUNDING_SINGLE = 1e-6
"""Largest distance for columns of float32, as networks return them."""
# Of whole numbers, however large they are: so that none is taken for the next.
_MOST = 0.01


def table_from(frame: object, schema: Schema, n: int, name: str) -> Table:
    """Return a generator's output as a table of the schema.

    Numbers beyond the schema's range are moved to its nearer end, and `Table.clipped` counts them.
    Numbers that miss the range, or a whole number, by float rounding alone (`ROUNDING`) are
    corrected silently. Nothing else is corrected: a missing or infinite value, or a fraction where
    none may be, or a category that the schema lacks, is refused. Training on the table cannot yield
    such a category.

    Parameters
    ----------
    frame : pandas or polars frame
        Its columns in any order; what its rows are called does not matter.
    schema : Schema
        The table's that the generator learnt from.
    n : int
        Number of records that it was asked for.
    name : str
        Name of the generator in messages.

    Returns
    -------
    Table
        n records, columns in the schema's order.

    Raises
    ------
    InputError
        One line: the generator, the rule it broke, the value, and the way out.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema((Column("age", "integer", 18, 90),))
    >>> table_from(pd.DataFrame({"age": [20.0, 33.0]}), schema, 2, "mine").values.ravel()
    array([20., 33.])
    """
    given = _frame(frame, name)
    _check_columns(given, schema, name)
    if len(given) != n:
        raise InputError(
            f"generator {name!r} must return as many records as it is asked for, {n}, got "
            f"{len(given)}: let it draw until it has them all"
        )
    dates = {c.name: days_of(given[c.name]) for c in schema.columns if c.date}
    given = given.assign(**{name: days for name, days in dates.items() if days is not None})
    numbers = {}
    clipped = 0
    for column in schema.columns:
        if given[column.name].dtype.kind in "iufc" and column.is_number:
            numbers[column.name], beyond = _inside(given[column.name], column, name)
            clipped += beyond
    try:
        return replace(read_table(given.assign(**numbers), schema=schema), clipped=clipped)
    except InputError as error:
        raise InputError(f"generator {name!r} returned a wrong value: {error}") from error


def one_line(text: str, most: int = 200) -> str:
    """Return a printable, one-line version of a user's text for a message, cut to a length."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    words = " ".join(plain.split())
    return words if len(words) <= most else words[: most - 3] + "..."


def _frame(frame: object, name: str) -> pd.DataFrame:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame) and hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"generator {name!r} must return a pandas or polars frame, got "
            f"{type(frame).__name__}: return a frame with the columns of the one it was given"
        )
    return frame.set_axis([str(label) for label in frame.columns], axis=1).reset_index(drop=True)


def _check_columns(frame: pd.DataFrame, schema: Schema, name: str) -> None:
    found = list(frame.columns)
    wrong = {
        "lacks": [label for label in schema.names if label not in found],
        "has besides": [label for label in found if label not in schema.names],
        "has twice": sorted({label for label in found if found.count(label) > 1}),
    }
    said = [
        f"{verb} {checks.short_list(repr(one_line(label, 40)) for label in labels)}"
        for verb, labels in wrong.items()
        if labels
    ]
    if said:
        raise InputError(
            f"generator {name!r} must return the columns of the table, but what it returned "
            f"{' and '.join(said)}: return each once, under its name, and no others"
        )


def _inside(given: pd.Series[Any], column: Column, name: str) -> tuple[Floats, int]:
    """Return numbers clipped to the column's range, and how many were outside.

    Whole where they must be; NaN and inf stay.
    """
    if given.dtype.kind == "c":
        raise InputError(
            f"generator {name!r} must return real numbers in column {column.name!r}, got "
            f"{given.dtype}: take their real part"
        )
    single = given.dtype.kind == "f" and getattr(given.dtype, "itemsize", 8) < 8
    slack = ROUNDING_SINGLE if single else ROUNDING
    values = given.to_numpy(dtype=np.float64, na_value=np.nan)
    assert column.low is not None
    assert column.high is not None
    low = float(column.low)
    high = float(column.high)
    most = _MOST if column.kind == "integer" else np.inf
    near = min(slack * max(abs(low), abs(high)), most)
    there = np.isfinite(values)
    beyond = there & ~((values >= low - near) & (values <= high + near))
    if column.kind == "integer":
        whole = np.rint(values)
        apart = np.zeros(len(values))
        np.subtract(values, whole, out=apart, where=there)
        _refuse(
            there & ~(np.abs(apart) <= np.clip(slack * np.abs(values), slack, most)),
            values,
            f"generator {name!r} must return whole numbers in column {column.name!r}",
            "round them, or make the column continuous in the schema (--schema)",
        )
        values = whole
    return np.where(there, np.clip(values, low, high), values), int(beyond.sum())


def _refuse(wrong: NDArray[np.bool_], values: Floats, rule: str, way_out: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(f"{rule}, got {values[row]} in row {row}: {way_out}")


_SPECIAL = frozenset(',"\n\r')


def csv_of(table: Table) -> str:
    """Return a table as CSV text with a header; missing values are empty fields.

    Numbers have as many digits as it takes to get the same number back, whole ones no point.
    """
    require_no_empty_category(table.schema)
    columns = zip(table.schema.columns, table.values.T, strict=True)
    rows = zip(*(_texts(column, values) for column, values in columns), strict=True)
    return "".join(_line(row) for row in (table.schema.names, *rows))


def frame_of_csv(content: bytes, schema: Schema, name: str) -> pd.DataFrame:
    """Return a program's CSV output as a frame, for `table_from` to check by the schema.

    Fields of numbers are numbers where all of a column can be read as such. Unlike a file of the
    user's, nothing but an empty field is a missing value: NA may be a category.

    Parameters
    ----------
    content : bytes
        CSV in UTF-8 with a header.
    schema : Schema
        Says which columns hold numbers.
    name : str
        Name of the program in messages.

    Raises
    ------
    InputError
        If that is not CSV text, or a line has another number of fields than the header.
    """
    import pandas as pd

    header, rows = _rows(content, name)
    numbers = {schema.names[j] for j in schema.numbers}
    fields = zip(*rows, strict=True) if rows else ((),) * len(header)
    columns = [
        _numbers(texts) if label in numbers else _present(texts)
        for label, texts in zip(header, fields, strict=True)
    ]
    return pd.DataFrame(dict(enumerate(columns))).set_axis(header, axis=1)


def require_no_empty_category(schema: Schema) -> None:
    """Refuse an empty category, which CSV cannot tell from a missing value."""
    for column in schema.columns:
        if "" in column.categories:
            raise InputError(
                f"column {column.name!r} has the empty text as a category, which CSV cannot tell "
                "from a missing value: give the category a name"
            )


def _texts(column: Column, values: Floats) -> Iterable[str]:
    if not column.is_number:
        texts = [*column.categories, ""]
        return [texts[int(code)] for code in values]
    if column.date:
        return ["" if np.isnat(date) else str(date) for date in dates_of(values)]
    whole = column.kind == "integer"
    return [_number(value, whole=whole) for value in values.tolist()]


def _number(value: float, *, whole: bool) -> str:
    if math.isnan(value):
        return ""
    return str(int(value)) if whole else repr(value)


def _line(fields: tuple[str, ...]) -> str:
    # The csv module of Python 3.11 leaves a lone carriage return bare, which ends a line. A
    # lone empty field would make an empty line, which readers skip.
    written = [
        '"' + field.replace('"', '""') + '"' if _SPECIAL & set(field) else field for field in fields
    ]
    return (",".join(written) or '""') + "\n"


def _rows(content: bytes, name: str) -> tuple[list[str], list[list[str]]]:
    try:
        text = content.decode("utf-8-sig")
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [row for row in lines if row]
    except UnicodeDecodeError as error:
        raise _no_csv(name, f"not in UTF-8, {error.reason} at byte {error.start}") from error
    except csv.Error as error:
        raise _no_csv(name, str(error)) from error
    if not rows:
        raise _no_csv(name, "it has no lines")
    header = rows[0]
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(header):
            raise _no_csv(
                name,
                f"record {number} has {len(row)} fields, the header "
                f"{len(header)}: {one_line(','.join(row), 60)!r}",
            )
    return header, rows[1:]


def _no_csv(name: str, why: str) -> InputError:
    return InputError(
        f"generator {name!r} must write a CSV table with a header on standard output and nothing "
        f"else, but that is none ({why}): write other things to standard error"
    )


def _numbers(texts: tuple[str, ...]) -> NDArray[Any]:
    """Return floats, or the texts where one of them is not a number: messages then show it."""
    try:
        # Python reads the nearest number; pandas is off in the last digit.
        return np.array([float(text) if text else math.nan for text in texts], dtype=np.float64)
    except ValueError:
        return _present(texts)


def _present(texts: tuple[str, ...]) -> NDArray[Any]:
    return np.array([text or None for text in texts], dtype=object)
