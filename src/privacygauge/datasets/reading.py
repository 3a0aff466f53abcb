"""Reading what users bring: archives of arrays and tables, checked and never unpickled."""

from __future__ import annotations

import json
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.datasets.files import content_of
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Content = Mapping[str, NDArray[Any]]
"""The arrays of an npz file."""

LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
"""What names of files of JSON lines end in."""


class FrameLike(Protocol):
    """A pandas or polars data frame."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""


_SUFFIXES = (".npz", ".parquet", ".csv")


def read_content(path: Path, what: str) -> Content | pd.DataFrame:
    """Return the arrays of an npz file, or the table in a parquet or csv file.

    Parameters
    ----------
    path : Path
    what : str
        What messages call the file, such as ``prediction``.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    if path.is_dir():
        raise InputError(f"{path} is a directory, not a {what} file")
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{path} must end in .npz, .parquet or .csv")
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty")
        return _read_npz(path) if path.suffix.lower() == ".npz" else _read_table(path)
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied") from error


def read_text(path: Path, what: str) -> str:
    """Return the text of a UTF-8 file, unpacked where its name ends in .gz.

    Parameters
    ----------
    path : Path
    what : str
        What messages call the file, such as ``score``.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    if path.is_dir():
        raise InputError(f"{path} is a directory, not a {what} file")
    if not path.exists():
        raise InputError(f"{path} does not exist")
    try:
        return content_of(path).decode("utf-8-sig")
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error


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


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: line {number} is no JSON object ({_first_line(error)})"
        ) from error
    if not isinstance(row, dict):
        raise InputError(f"{path}: line {number} is no JSON object, got {type(row).__name__}")
    return row


def plain(column: pd.Series[Any]) -> NDArray[Any]:
    """Return a column as an array of numbers or of texts."""
    if column.dtype.kind in "biuf":
        return column.to_numpy()
    return column.astype(str).to_numpy(dtype=np.str_)


def _read_npz(path: Path) -> Content:
    damaged = (zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError, ValueError)
    try:
        # Opened here: numpy leaves the file open when it turns out to be damaged.
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(
                    f"{path} holds a single array, not the named arrays of an npz file"
                )
            return {key: _array(archive, key, path) for key in archive.files}
    except InputError:
        raise
    except damaged as error:
        # What is no archive numpy takes for a pickle, and recommends to load it unsafely.
        reason = "not a zip archive" if "pickle" in str(error) else _first_line(error)
        raise InputError(f"{path} is damaged or no npz file ({reason})") from error


def _array(archive: Any, key: str, path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = archive[key]
    except ValueError as error:
        if "pickle" in str(error).lower() or "object" in str(error).lower():
            raise InputError(
                f"{path}: {key!r} is an object array, which could run code when loaded and is "
                "never unpickled; save it as a plain numeric or string array"
            ) from error
        raise
    return array


def _read_table(path: Path) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    try:
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Left alone, pandas takes the first of too many values for the name of the row, and
            # reads in parts, so that a column may hold both 1 and "1".
            frame: pd.DataFrame = pd.read_csv(path, index_col=False, low_memory=False)
    except pd.errors.ParserWarning as error:
        raise InputError(f"{path}: rows have more values than the header has names") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, pa.ArrowException) as error:
        kind = path.suffix[1:]
        raise InputError(f"{path} is damaged or no {kind} file ({_first_line(error)})") from error
    return frame


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
