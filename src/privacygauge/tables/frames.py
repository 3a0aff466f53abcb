"""Tables from data frames and files: kinds of columns, and codes of values."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.parsing import amounts_of, days_of, text_order
from privacygauge.datasets.reading import (
    MISSING,
    TABLE_ENDINGS,
    csv_stream,
    fields_of_any_length,
    is_csv,
    read_content,
    read_text,
    separator_of,
)
from privacygauge.errors import InputError
from privacygauge.tables.table import LARGEST_WHOLE, Column, Kind, Schema, Table, require_columns

if TYPE_CHECKING:
    import pandas as pd

ROW_NUMBERS = "Unnamed: 0"
"""Name that pandas gives a first column without one."""
NOTES = "privacygauge notes"
"""Key of the notes on a file in the ``attrs`` of its frame."""
_UNNAMED = re.compile(r"Unnamed: \d+")
_NO_NAME = (
    "{}: column {} has no name in the header: give it one, or save the table without row numbers"
)

# Results of pandas.api.types.infer_dtype.
_NUMBERS = ("integer", "floating", "decimal", "mixed-integer-float")
_MIXED = ("mixed", "mixed-integer")


def read_table(
    data: object,
    *,
    schema: Schema | None = None,
    continuous: Sequence[str] = (),
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    separator: str | None = None,
) -> Table:
    """Return the records of a frame or a file, with a given or inferred schema.

    Columns of numbers are numbers, integer if every value is whole. Dates are numbers too: days
    since 1970-01-01 (`days_of`), and so are amounts such as $1,006.25 or 12% (`amounts_of`). All
    other columns, true and false included, are categories. A category is the text that a CSV file
    shows (1 and 1.0 are the same). Empty fields are missing values, and so are the words of
    `MISSING` (NA, null, NaN, ...) in columns of numbers.

    Parameters
    ----------
    data : Table, pandas or polars frame, str or Path
        Records; a file is CSV or Parquet with a header.
    schema : Schema, optional
        Schema that the columns must have; by default inferred.
    continuous : sequence of str
        Columns to take as numbers, whatever they look like.
    categorical : sequence of str
        Columns to take as categories, even if they hold numbers.
    drop : sequence of str
        Columns to leave out.
    separator : str, optional
        Separator between the fields of a CSV file; by default recognised (`separator_of`).

    Raises
    ------
    InputError
        If the data do not fit: the column or the row, the problem and the way out, in one line.
    """
    checks.kind(schema, "schema", Schema, "a Schema, such as that of read_table(...)")
    if isinstance(data, Table):
        if schema is not None or continuous or categorical or drop:
            raise InputError("a Table has a schema: give a frame to choose columns or kinds")
        return data
    frame = read_frame(data, separator)
    require_columns(drop, list(frame.columns), "drop")
    frame = frame.drop(columns=list(drop))
    if not len(frame) or not len(frame.columns):
        raise InputError(f"a table must have records and columns, got {frame.shape}")
    if schema is None:
        columns, values = zip(*_infer_columns(frame, continuous, categorical), strict=True)
        return Table(Schema(columns), np.column_stack(values))
    if continuous or categorical:
        raise InputError("give a schema, or continuous and categorical, not both: edit the schema")
    absent = [name for name in schema.names if name not in frame.columns]
    if absent:
        raise InputError(
            f"the table has no column {absent[0]!r}, which the schema names; its columns are "
            f"{checks.short_list(frame.columns, 30)}"
        )
    further = [name for name in frame.columns if name not in schema.names]
    if further:
        raise InputError(
            f"column {further[0]!r} is not in the schema: add it there, or drop the column"
        )
    coded = []
    for column in schema.columns:
        name = column.name
        if column.is_number:
            coded.append(_numbers(frame[name], date=column.date))
            continue
        codes, texts = _categories(frame[name])
        known = set(column.categories)
        unknown = [text for text in texts if text not in known]
        if unknown:
            row = int(np.flatnonzero(codes == texts.index(unknown[0]))[0])
            raise InputError(
                f"column {name!r} must hold a category of the schema, got {unknown[0]!r} in row "
                f"{row}: add it to the schema, or correct it"
            )
        if not column.missing and (codes < 0).any():
            row = int(np.flatnonzero(codes < 0)[0])
            raise InputError(
                f"column {name!r} has no value in row {row}: set its missing to true in the "
                "schema, or fill it"
            )
        coded.append(category_places(codes, texts, column.categories))
    return Table(schema, np.column_stack(coded))


def read_beside(data: object, schema: Schema, *, drop: Sequence[str] = ()) -> Table:
    """Return the records of a further table, with the column kinds of the schema.

    Its values need not be in the schema. See `read_table`.
    """
    if isinstance(data, Table):
        return data
    numbers = [column.name for column in schema.columns if column.is_number]
    texts = [column.name for column in schema.columns if not column.is_number]
    return read_table(data, continuous=numbers, categorical=texts, drop=drop)


def _infer_columns(
    frame: pd.DataFrame, continuous: Sequence[str], categorical: Sequence[str]
) -> Iterator[tuple[Column, Floats]]:
    """Yield each column, with the ranges and categories that occur, and its values."""
    names = list(frame.columns)
    require_columns(continuous, names, "continuous")
    require_columns(categorical, names, "categorical")
    both = sorted(set(continuous) & set(categorical))
    if both:
        raise InputError(f"column {both[0]!r} is named both continuous and categorical: choose one")
    for name, column in frame.items():
        if name in continuous or (name not in categorical and _is_number(column)):
            days = days_of(column)
            numbers = _numbers(column) if days is None else days
            absent = np.isnan(numbers)
            if absent.all():
                raise InputError(
                    f"column {column.name!r} holds no number: name it categorical, or drop it"
                )
            there = numbers[~absent]
            low = float(there.min())
            high = float(there.max())
            # Beyond 2**53 float64 skips whole numbers, so they cannot be called exact.
            whole = np.array_equal(there, np.rint(there)) and max(-low, high) <= LARGEST_WHOLE
            kind: Kind = "integer" if whole else "continuous"
            gaps = bool(absent.any())
            is_date = days is not None
            yield Column(str(name), kind, low, high, missing=gaps, date=is_date), numbers
            continue
        codes, texts = _categories(column)
        ordered = tuple(sorted(texts, key=text_order))
        gaps = bool((codes < 0).any())
        yield (
            Column(str(name), "categorical", categories=ordered, missing=gaps),
            category_places(codes, texts, ordered),
        )


def read_schema(path: str | Path) -> Schema:
    """Read a schema from a JSON file."""
    return Schema.from_json(read_text(Path(path), "schema"))


def read_frame(
    data: object,
    separator: str | None = None,
    *,
    names: Collection[str | None] = (),
    missing: Collection[str] = (),
    as_exported: bool = False,
) -> pd.DataFrame:
    """Return the rows of a frame or a file; column names become texts, and rows count from 0.

    Parameters
    ----------
    data : pandas or polars frame, str or Path
    separator : str, optional
        As in `read_table`.
    names : collection of str
        Columns of a file that name records or people, as in `read_content`.
    missing : collection of str
        Further words for a missing value in a file, as in `read_content`.
    as_exported : bool
        Whether a csv file may begin with row numbers without a name, as pandas writes them, which
        become the column `ROW_NUMBERS`, and end in empty columns and lines, as spreadsheets do,
        which are left out. Notes on that are in ``attrs[NOTES]`` of the frame.

    Raises
    ------
    InputError
        If the file cannot be read, or two columns have the same name; one line.
    """
    import pandas as pd

    if isinstance(data, str | Path):
        path = Path(data)
        if path.is_file() and is_csv(path) and path.stat().st_size:
            _check_csv(path, separator, unnamed=as_exported)
        if path.is_file() and path.suffix.lower() == ".txt":
            raise InputError(
                f"{path} must end in {TABLE_ENDINGS}: rename a text with tabs, such as Excel's "
                "Unicode text, to .tsv"
            )
        content = read_content(path, "table", separator=separator, names=names, missing=missing)
        if isinstance(content, Mapping):
            raise InputError(f"{path} holds arrays, not a table: save it as .csv or .parquet")
        frame = _without_export_marks(content, path) if as_exported and is_csv(path) else content
    elif isinstance(data, pd.DataFrame):
        frame = data
    elif hasattr(data, "to_pandas"):
        frame = data.to_pandas()
    else:
        raise InputError(
            f"a table must be a pandas or polars frame or a path, got {type(data).__name__}"
        )
    names = [str(name) for name in frame.columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"column names must differ, got {twice[0]!r} twice: rename one of them")
    return frame.set_axis(names, axis=1).reset_index(drop=True)


def column_named(frame: pd.DataFrame, name: str | None, flag: str) -> NDArray[Any] | None:
    """Return the column that an option names; None without a name."""
    if name is None:
        return None
    require_columns((name,), list(frame.columns), flag)
    return np.asarray(frame[name])


def _without_export_marks(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a frame without the empty columns and lines that end a spreadsheet, with notes."""
    import pandas as pd

    unnamed = [str(name) for name in frame if _UNNAMED.fullmatch(str(name))]
    empty = [name for name in unnamed if frame[name].isna().all()]
    frame = frame.drop(columns=empty)
    there = np.flatnonzero(frame.notna().any(axis=1).to_numpy())
    n = int(there[-1]) + 1 if len(there) else len(frame)
    notes = []
    if empty:
        notes.append(f"{path.name}: {len(empty)} empty columns without a name are left out")
    if n < len(frame):
        notes.append(f"{path.name}: {len(frame) - n} empty lines at the end are left out")
    frame = frame.iloc[:n]
    for name in unnamed:
        if name in empty:
            continue
        numbers = frame[name]
        if name != ROW_NUMBERS or not pd.api.types.is_numeric_dtype(numbers) or (
            numbers.isna().any() or not np.array_equal(numbers, np.rint(numbers))
        ):  # fmt: skip
            raise InputError(_NO_NAME.format(path, int(name.split()[1]) + 1))
        notes.append(
            f"{path.name}: the first column has no name and is taken for row numbers, as pandas "
            f"writes them ({ROW_NUMBERS!r})"
        )
    frame.attrs[NOTES] = tuple(notes)
    return frame


def _check_csv(path: Path, given: str | None, *, unnamed: bool = False) -> None:
    """Raise on a CSV file that pandas would silently pad, shift or rename."""
    try:
        separator = separator_of(path, given)
        with csv_stream(path) as stream, fields_of_any_length():
            lines = csv.reader(stream, delimiter=separator)
            header = next((line for line in lines if line), [])
            twice = [name for name in header if header.count(name) > 1 and (name or not unnamed)]
            if twice:
                raise InputError(f"{path}: two columns are named {twice[0]!r}: rename one of them")
            if "" in header and not unnamed:
                raise InputError(_NO_NAME.format(path, header.index("") + 1))
            for line in lines:
                if line and len(line) != len(header):
                    raise InputError(
                        f"{path}, line {lines.line_num}: {len(line)} fields, but the header has "
                        f"{len(header)}, separated by {separator!r}: quote texts that hold one, "
                        "fill up short lines, or name another separator (--separator)"
                    )
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not in UTF-8 ({error.reason}): save it in UTF-8") from error
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied") from error
    except csv.Error as error:
        raise InputError(f"{path} is damaged or no csv file ({error})") from error


def _is_number(column: pd.Series[Any]) -> bool:
    import pandas as pd

    if column.isna().all() or pd.api.types.is_bool_dtype(column.dtype):
        return False
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.dtype.kind != "c"
    if days_of(column) is not None or amounts_of(column) is not None:
        return True
    # A number among texts would become a category "1", which is hardly meant.
    found = pd.api.types.infer_dtype(column, skipna=True)
    if found in _MIXED and any(isinstance(value, int | float) for value in column.dropna()):
        raise InputError(
            f"column {column.name!r} mixes texts and numbers: make all values numbers or all "
            "texts, or name it categorical"
        )
    return found in _NUMBERS


def _numbers(column: pd.Series[Any], *, date: bool = False) -> Floats:
    """Return finite numbers, NaN where missing; days if the column holds dates."""
    import pandas as pd

    if (days := days_of(column) if date else None) is not None:
        return days
    # Only texts may be words for a missing value.
    if column.dtype.kind not in "biuf":
        column = column.astype(object)
        column = column.mask(column.isin(MISSING))
    there = column.notna().to_numpy()
    if (amounts := amounts_of(column)) is not None:
        return amounts
    coerced = pd.to_numeric(column, errors="coerce")
    found = coerced.to_numpy(dtype=np.float64, na_value=np.nan).copy()
    whole = column.dtype.kind in "iu" or pd.api.types.infer_dtype(column) == "integer"
    # float64 rounds larger whole numbers, so that different ids would become one.
    large = np.flatnonzero(np.abs(found) > LARGEST_WHOLE)
    if whole and len(large):
        raise InputError(
            f"column {column.name!r} must hold whole numbers of at most 2**53, got "
            f"{column.iloc[large[0]]} in row {large[0]}: name the column categorical, or drop it"
        )
    # Present, but not read as a finite number.
    bad = np.flatnonzero(there & ~np.isfinite(found))
    if len(bad):
        value = column.iloc[bad[0]]
        shown = repr(value) if isinstance(value, str) else str(value)
        raise InputError(
            f"column {column.name!r} must hold finite numbers, got {shown} in row "
            f"{bad[0]}: correct it, leave the field empty if it is missing, or name the column "
            "categorical"
        )
    return found


def category_places(codes: Ints, texts: Sequence[str], categories: Sequence[str]) -> Floats:
    """Return the positions of texts among the categories."""
    place = {text: code for code, text in enumerate(categories)}
    # Code -1, a missing value, selects the last entry.
    return np.array([*(place[text] for text in texts), len(place)], dtype=np.float64)[codes]


def _categories(column: pd.Series[Any]) -> tuple[Ints, list[str]]:
    """Return codes, -1 where missing, and the text of each code."""
    import pandas as pd

    try:
        first, values = pd.factorize(column, use_na_sentinel=True)
    except TypeError:  # lists and the like have no hash
        first, values = pd.factorize(column.astype(str), use_na_sentinel=True)
    # Whole floats read as whole numbers: 1.0 is "1".
    texts = [
        str(int(value))
        if isinstance(value, float | np.floating) and float(value).is_integer()
        else str(value)
        for value in values
    ]
    # 1 and 1.0 are different values with one text: their codes are merged.
    distinct = list(dict.fromkeys(texts))
    place = {text: code for code, text in enumerate(distinct)}
    merged = np.array([*(place[text] for text in texts), -1], dtype=np.int64)
    return merged[first], distinct
