"""Tables as CSV text that brings every value back as it was."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats
from privacygauge.datasets.dates import dates_of
from privacygauge.errors import InputError
from privacygauge.synthetic.generators.returned import one_line
from privacygauge.synthetic.schema import Column, Schema
from privacygauge.synthetic.table import Table

if TYPE_CHECKING:
    import pandas as pd

_SPECIAL = frozenset(',"\n\r')


def csv_of(table: Table) -> str:
    """Return a table as CSV text with a header, empty fields where a value is missing.

    Numbers have as many digits as it takes to get the same number back, whole ones no point.
    """
    require_no_empty_category(table.schema)
    columns = zip(table.schema.columns, table.values.T, strict=True)
    rows = zip(*(_texts(column, values) for column, values in columns), strict=True)
    return "".join(_line(row) for row in (table.schema.names, *rows))


def frame_of_csv(content: bytes, schema: Schema, name: str) -> pd.DataFrame:
    """Return what a program wrote as a frame, for `table_from` to check by the schema.

    Fields of numbers are numbers where all of a column can be read as such. Unlike a file of the
    user's, nothing but an empty field is a missing value: NA may be a category.

    Parameters
    ----------
    content : bytes
        CSV in UTF-8 with a header.
    schema : Schema
        Says which columns hold numbers.
    name : str
        What messages call the program.

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
    """Refuse a category of no letters, which CSV cannot tell from a missing value."""
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
    written = [_quoted(field) if _SPECIAL & set(field) else field for field in fields]
    return (",".join(written) or '""') + "\n"


def _quoted(field: str) -> str:
    return '"' + field.replace('"', '""') + '"'


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
    """Return floats, or the texts where one is not a number: messages then show it."""
    try:
        # Python reads the nearest number; pandas is off in the last digit.
        return np.array([float(text) if text else math.nan for text in texts], dtype=np.float64)
    except ValueError:
        return _present(texts)


def _present(texts: tuple[str, ...]) -> NDArray[Any]:
    return np.array([text or None for text in texts], dtype=object)
