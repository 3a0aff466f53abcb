"""Reading what users bring: archives of arrays and tables, checked and never unpickled."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.datasets import arrays, parquet
from privacygauge.datasets.arrays import Content
from privacygauge.datasets.bounds import check_size
from privacygauge.datasets.files import content_of
from privacygauge.errors import InputError
from privacygauge.runs.copies import copied
from privacygauge.runs.folder import shown, url_of

if TYPE_CHECKING:
    import pandas as pd

LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
"""What names of files of JSON lines end in."""


SEPARATORS = ",;\t|"
"""What may separate the fields of a csv file without being named."""

_HEAD = 1 << 16
# With or without points between thousands.
_DECIMAL_COMMA = r"(?=.*\d)\s*[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)?(?:,\d*)?(?:[eE][+-]?\d+)?\s*"


class FrameLike(Protocol):
    """A pandas or polars data frame."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""


_SUFFIXES = (".npz", ".parquet", ".csv")


def read_content(path: Path, what: str, *, separator: str | None = None) -> Content | pd.DataFrame:
    """Return the arrays of an npz file, or the table in a parquet, csv or jsonl file.

    Where a csv file has another separator than the comma, 1,5 is a number.

    Parameters
    ----------
    path : Path
    what : str
        What messages call the file, such as ``prediction``.
    separator : str, optional
        Between the fields of a csv file; default: `separator_of`.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    with _readable(path, what):
        lines = path.name.lower().endswith(LINES)
        if path.suffix.lower() not in _SUFFIXES and not lines:
            raise InputError(f"{path} must end in .npz, .parquet, .csv or .jsonl")
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty")
        if lines:
            return _of_lines(path, what)
        return (
            arrays.read_npz(path) if path.suffix.lower() == ".npz" else _read_table(path, separator)
        )


def separator_of(path: Path, given: str | None = None) -> str:
    """Return what separates the fields of a csv file: what was given, or what its lines show.

    The one of `SEPARATORS` that cuts the first lines into equally many fields, the most if there
    are several; where none does, the one that cuts the header into most. A file without any has
    one column, and the comma is returned.

    Parameters
    ----------
    path : Path
    given : str, optional
        One character, or ``tab``.

    Raises
    ------
    InputError
        If what was given cannot separate fields.
    """
    if given is not None:
        separator = "\t" if given in ("tab", "\\t") else given
        if len(separator) != 1 or separator.isalnum() or separator in ' "\n\r.+-':
            raise InputError(f"separator must be one character such as ; or tab, got {given!r}")
        return separator
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as stream:
        head = stream.read(_HEAD)
    widths = {separator: _widths(head, separator) for separator in SEPARATORS}
    even = [separator for separator in SEPARATORS if len(set(widths[separator])) == 1]
    return max(
        even if any(widths[s][0] > 1 for s in even) else SEPARATORS,
        key=lambda separator: max(widths[separator][:1], default=0),
    )


def _widths(head: str, separator: str) -> list[int]:
    """Return the number of fields of the header and of each line that the head holds whole."""
    lines = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
    try:
        found = [len(line) for line in lines if line]
    except csv.Error:
        return [1]
    return found[:-1] if len(head) == _HEAD and len(found) > 1 else found


def read_array(path: Path, what: str) -> NDArray[Any]:
    """Return the array of numbers or texts in an npy file.

    Parameters
    ----------
    path : Path
    what : str
        What messages call the values, such as ``labels``.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    with _readable(path, what):
        return arrays.read_npy(path, what)


def read_text(path: Path, what: str) -> str:
    """Return the text of a UTF-8 file, here or at a URL, unpacked where its name ends in .gz.

    Parameters
    ----------
    path : Path
        A URL is one also where slashes were made one, as by `Path`.
    what : str
        What messages call the file, such as ``score``.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    try:
        with _here(path) as file, _readable(file, what):
            return content_of(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{shown(path)} is not UTF-8 ({error.reason}): save it as UTF-8"
        ) from error


@contextmanager
def _here(path: Path) -> Iterator[Path]:
    """Give a file itself, or a copy of one at a URL, which is removed afterwards."""
    url = url_of(path)
    if url is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="privacygauge-") as folder:
        yield copied(url, Path(folder, path.name))


def read_json_lines(path: Path, what: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects of a file with one a line, each with the number of its line from 1.

    Blank lines are left out.

    Parameters
    ----------
    path, what
        As in `read_text`.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    lines = enumerate(read_text(path, what).split("\n"), 1)
    return [(number, _object(line, path, number)) for number, line in lines if line.strip()]


@contextmanager
def _readable(path: Path, what: str) -> Iterator[None]:
    """Refuse what is not a file whose size is known, and say why one cannot be read."""
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory, not a {what} file")
        if not path.exists():
            raise InputError(f"{path} does not exist")
        if not path.is_file():
            raise InputError(f"{path} is a device or a pipe: save the {what} file first")
        yield
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise InputError(f"{path} does not fit into memory: give fewer rows") from error


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: line {number} is not a JSON object ({_first_line(error)})"
        ) from error
    if not isinstance(row, dict):
        raise InputError(f"{path}: line {number} is not a JSON object, got {type(row).__name__}")
    return row


def plain(column: pd.Series[Any]) -> NDArray[Any]:
    """Return a column as an array of numbers or of texts."""
    if column.dtype.kind in "biuf":
        return column.to_numpy()
    return column.astype(str).to_numpy(dtype=np.str_)


def csv_texts(path: Path, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return columns of a CSV file as they stand there: 007 is not a number, NA not a gap.

    Parameters
    ----------
    path : Path
    names : sequence of str, optional
        Columns of the file; all of them where none are given.
    """
    with _readable(path, "table"):
        used = None if names is None else list(names)
        return _read_csv(
            path, sep=separator_of(path), usecols=used, dtype=str, keep_default_na=False
        )


def _of_lines(path: Path, what: str) -> pd.DataFrame:
    import pandas as pd

    rows = read_json_lines(path, what)
    if not rows:
        raise InputError(f"{path} is empty")
    return pd.DataFrame.from_records([row for _, row in rows])


def _read_table(path: Path, separator: str | None) -> pd.DataFrame:
    if path.suffix.lower() == ".csv":
        found = separator_of(path, separator)
        # Read in parts, a column may hold both 1 and "1".
        read = _read_csv(path, sep=found, low_memory=False)
        return read if found == "," else _with_decimal_commas(read)
    try:
        frame: pd.DataFrame = parquet.read_columns(path).to_pandas()
    except (InputError, PermissionError):
        raise
    except parquet.DAMAGE as error:
        reason = _first_line(error)
        raise InputError(f"{path} is damaged or no parquet file ({reason})") from error
    return frame


def _with_decimal_commas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with numbers in each column of texts that are such with a decimal comma."""
    numbers = {}
    for name, column in frame.items():
        if column.dtype.kind not in "biuf":
            texts = column.dropna().astype(str)
            if texts.str.contains(",").any() and texts.str.fullmatch(_DECIMAL_COMMA).all():
                with_points = texts.str.replace(".", "").str.replace(",", ".")
                numbers[str(name)] = with_points.astype(np.float64).reindex(column.index)
    return frame.assign(**numbers)


def _read_csv(path: Path, **options: Any) -> pd.DataFrame:
    import pandas as pd

    check_size(path, path.stat().st_size, path.stat().st_size)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Left alone, pandas takes the first of too many values for the name of the row.
            frame: pd.DataFrame = pd.read_csv(path, index_col=False, **options)
    except pd.errors.ParserWarning as error:
        raise InputError(f"{path}: rows have more values than the header has names") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error
    except (ValueError, OverflowError) as error:  # pandas' ParserError and EmptyDataError too
        raise InputError(f"{path} is damaged or no csv file ({_first_line(error)})") from error
    return frame


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
