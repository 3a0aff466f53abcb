"""Readers of users' files: arrays, tables, texts and images, checked and never unpickled."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import json
import re
import tomllib
import warnings
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.datasets import archives
from privacygauge.datasets.archives import Content, check_size, require_once
from privacygauge.datasets.local_copies import content_of
from privacygauge.datasets.parsing import amounts_of, days_of, is_number
from privacygauge.errors import InputError
from privacygauge.runs.folder import copy_object, place_text, scratch, url_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
"""Endings of files of JSON lines."""

CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
"""Endings of files of separated fields."""

ENDINGS = ".npz, .parquet, .csv, .tsv, .csv.gz, .tsv.gz, .jsonl or .jsonl.gz"
"""Allowed endings of a file of arrays or of a table, for messages."""

TABLE_ENDINGS = ENDINGS.removeprefix(".npz, ")
"""Allowed endings of a file of a table, for messages."""

SEPARATORS = ",;\t|"
"""Separators of a csv file that are detected."""

MISSING = frozenset(
    ["NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL",
     "null", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
)  # fmt: skip
"""Words for a missing value in a csv column of numbers, dates or amounts.

In a column of texts they are texts, such as the name of a class, and only an empty field is
missing."""

ABSENT = "(missing)"
"""Name of a missing value among the groups of a column of texts."""

# Characters from which the separator is detected.
_HEAD = 1 << 16
# A number with a decimal comma, with or without points between thousands.
_DECIMAL_COMMA = r"(?=.*\d)\s*[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)?(?:,\d*)?(?:[eE][+-]?\d+)?\s*"


class FrameLike(Protocol):
    """A pandas or polars data frame."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""


_ENDS = (".npz", ".parquet", *CSV, *LINES)


def is_csv(path: Path) -> bool:
    """Return whether a file's name is that of a csv or tsv file, packed or not."""
    return path.name.lower().endswith(CSV)


def read_content(
    path: Path,
    what: str,
    *,
    separator: str | None = None,
    names: Collection[str | None] = (),
    without: Collection[str] = (),
    missing: Collection[str] = (),
) -> Content | pd.DataFrame:
    """Return the arrays of an npz file, or the table in a parquet, csv, tsv or jsonl file.

    A csv, tsv or jsonl file is unpacked if its name ends in .gz. With a separator other than the
    comma, 1,5 is a number. Words of `MISSING` are missing values in columns of numbers, dates and
    amounts, and texts in all others.

    Parameters
    ----------
    path : Path
    what : str
        Name of the file in messages, such as ``prediction``.
    separator : str, optional
        Separator of a csv file; default: `separator_of`.
    names : collection of str
        Columns that name records or people: they are read as written, so that 007 is not 7. None
        and columns that are not in the file are ignored.
    without : collection of str
        Columns of a csv, tsv or parquet file whose values are not read: they come back as NaN, and
        take no memory while the file is read.
    missing : collection of str
        Further words for a missing value, such as ``?`` or ``-9``, in every column of a table but
        `names`.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    with _readable(path, what):
        name = path.name.lower()
        if not name.endswith(_ENDS):
            raise InputError(f"{path} must end in {ENDINGS}")
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty")
        if name.endswith(LINES):
            import pandas as pd

            rows = read_json_lines(path, what)
            if not rows:
                raise InputError(f"{path} is empty")
            frame = pd.DataFrame.from_records([row for _, row in rows])
            for column in frame.select_dtypes("float").columns:
                given = [row.get(column) for _, row in rows]
                # Beside a gap pandas reads whole numbers as floats, which would round these.
                if frame[column].abs().max() >= 2**53 and not any(
                    isinstance(value, float) for value in given
                ):
                    frame[column] = [None if value is None else str(value) for value in given]
            return _without_missing(frame, missing, names)
        if name.endswith(".npz"):
            return archives.read_npz(path)
        known = {name for name in names if name is not None}
        return _read_table(path, separator, known, set(without), missing)


LONG = 1_000
"""Median number of characters above which the texts of a column are long, such as notes."""

_FIRST = 100
"""Number of rows that show whether the texts of a column are long."""

_OPENING = ("[", "(", "{")


_BEGINNING = 1 << 25
"""Most characters of a csv file in which long texts are looked for."""


def long_columns(content: Path | pd.DataFrame, separator: str | None = None) -> list[str]:
    """Return the columns of long texts, such as notes, by the first rows that have a text.

    Lists that are written as texts are not among them.

    Parameters
    ----------
    content : Path or pandas.DataFrame
        A table, or an existing csv, tsv or parquet file, of which the first rows alone are read.
    separator : str, optional
        As in `read_content`.
    """
    if not isinstance(content, Path):
        columns = {
            str(name): content[name].head(_FIRST).tolist()
            for name in content.columns
            if content[name].dtype.kind not in "biufcmM"
        }
    elif is_csv(content):
        with _readable(content, "table"):
            beginning = _beginning(content, _BEGINNING)
        if len(beginning) == _BEGINNING:
            beginning = beginning[: beginning.rfind("\n") + 1]
        columns = {}
        # A damaged file is refused later, when the whole of it is read.
        with contextlib.suppress(csv.Error), fields_of_any_length():
            given = csv.reader(io.StringIO(beginning), delimiter=separator_of(content, separator))
            header, *rows = [*itertools.islice(filter(None, given), _FIRST + 1)] or [[]]
            padded = [row + [""] * (len(header) - len(row)) for row in rows]
            columns = {name: [row[place] for row in padded] for place, name in enumerate(header)}
    else:
        with _readable(content, "table"):
            columns = archives.first_texts(content, _FIRST)
    found = []
    for name, values in columns.items():
        texts = [text for text in values if isinstance(text, str) and text]
        long = len(texts) and np.median([len(text) for text in texts]) > LONG
        if long and not any(text.lstrip().startswith(_OPENING) for text in texts):
            found.append(name)
    return found


def first_rows(path: Path, n: int = _FIRST) -> dict[str, list[Any]]:
    """Return the columns of a table with their first values, without reading the whole file.

    Values of csv files are texts, as written; but a decimal comma is a point, and a word for a
    missing value among numbers is an empty text.

    Parameters
    ----------
    path : Path
        A csv, tsv, parquet or jsonl file, packed or not.
    n : int
        Number of rows.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    import pandas as pd

    with _readable(path, "table"):
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty")
        if path.name.lower().endswith(".parquet"):
            return archives.first_values(path, n)
        beginning = _beginning(path, _BEGINNING)
    if len(beginning) == _BEGINNING:
        beginning = beginning[: beginning.rfind("\n") + 1]
    if is_csv(path):
        try:
            separator = separator_in(beginning, path)
            with fields_of_any_length():
                given = csv.reader(io.StringIO(beginning, newline=""), delimiter=separator)
                header, *rows = [*itertools.islice(filter(None, given), n + 1)] or [[]]
        except csv.Error as error:
            raise InputError(f"{path} is damaged or no csv file ({error})") from error
        padded = [row + [""] * (len(header) - len(row)) for row in rows]
        columns = {name: [row[place] for row in padded] for place, name in enumerate(header)}
        for name, texts in columns.items():
            there = [text for text in texts if text.strip() and text not in MISSING]
            pointed = None if separator == "," else _with_points(pd.Series(there, dtype=str))
            # Numbers as `read_content` reads them; other texts stay as they are.
            if pointed is not None or all(is_number(text) for text in there):
                read = dict(zip(there, there if pointed is None else pointed, strict=True))
                columns[name] = [read.get(text, "") for text in texts]
        return columns
    lines = [line for line in beginning.split("\n") if line.strip()][:n]
    objects = [_object(line, path, number) for number, line in enumerate(lines, 1)]
    names = dict.fromkeys(name for row in objects for name in row)
    return {name: [row.get(name) for row in objects] for name in names}


def _with_points(texts: pd.Series) -> pd.Series | None:
    """Return texts of numbers with decimal commas with points instead; None if not all are such."""
    if texts.str.contains(",").any() and texts.str.fullmatch(_DECIMAL_COMMA).all():
        return texts.str.replace(".", "").str.replace(",", ".")
    return None


def require_utf8(path: Path) -> None:
    """Refuse a text file in another encoding, wherever it shows, without keeping its text.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    with _readable(path, "table"):
        try:
            with csv_stream(path) as stream:
                while stream.read(_BLOCK):
                    pass
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error


def separator_of(path: Path, given: str | None = None) -> str:
    """Return the separator of a csv file: the given one, or the one that its first lines show.

    This is the one of `SEPARATORS` that splits all first lines into the same number of fields, the
    largest if several do; if none does, the one that splits the header into most. A file without
    any has one column, and the comma is returned. A .tsv file has the tab.

    Parameters
    ----------
    path : Path
    given : str, optional
        One character, or ``tab``.

    Raises
    ------
    InputError
        If the given separator cannot separate fields.
    """
    if given is not None:
        separator = "\t" if given in ("tab", "\\t") else given
        if len(separator) != 1 or separator.isalnum() or separator in ' "\n\r.+-':
            raise InputError(f"separator must be one character such as ; or tab, got {given!r}")
        return separator
    return separator_in(_beginning(path, _HEAD), path)


def _beginning(path: Path, most: int) -> str:
    """Return the first characters of a csv file; an empty text of a damaged packed one.

    They alone are unpacked: a packed file may hold far more than memory does, in one line.
    """
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rb") as stream:
            # A character has at most four bytes.
            first = stream.read(4 * most)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        return ""  # refused later, when the whole file is read
    return _as_plain_csv(first, "replace").decode("utf-8-sig", "replace")[:most]


_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SEPARATOR_LINE = re.compile(rb"\A(\xef\xbb\xbf)?sep=[^\r\n]\r?\n")


def _as_plain_csv(content: bytes, errors: str = "strict") -> bytes:
    """Return a csv file as Excel may write it in UTF-8 without the line that names the separator.

    Excel's "Unicode text" is UTF-16; ``sep=;`` above the names tells Excel the separator.
    """
    if content.startswith(_UTF16):
        content = content.decode("utf-16", errors).encode()
    return _SEPARATOR_LINE.sub(b"", content)


def separator_in(text: str, path: Path) -> str:
    """Return the separator of a csv file with this text, as in `separator_of`."""
    if path.name.lower().endswith((".tsv", ".tsv.gz")):
        return "\t"
    head = text[:_HEAD]
    # Number of fields of the header and of each complete line in the head, by separator.
    widths = {}
    for separator in SEPARATORS:
        lines = csv.reader(io.StringIO(head, newline=""), delimiter=separator)
        try:
            found = [len(line) for line in lines if line]
        except csv.Error:
            found = [1]
        # The last line of a full head may be cut off.
        cut = len(head) == _HEAD and len(found) > 1
        widths[separator] = found[:-1] if cut else found
    even = [separator for separator in SEPARATORS if len(set(widths[separator])) == 1]
    # A separator that never occurs splits all lines evenly, into one field: that is no evidence.
    return max(
        even if any(widths[s][0] > 1 for s in even) else SEPARATORS,
        key=lambda separator: max(widths[separator][:1], default=0),
    )


_LONGEST = 2**31 - 1
"""Most characters of a field; the size of the file, which is checked, bounds them anyway."""


@contextmanager
def fields_of_any_length() -> Iterator[None]:
    """Let the csv module read fields of more than 131,072 characters, such as a long note."""
    before = csv.field_size_limit(_LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def csv_stream(path: Path) -> IO[str]:
    """Return a csv file opened as text in UTF-8, unpacked if its name ends in .gz.

    Raises
    ------
    InputError
        If a packed file is damaged or empty, or unpacks to more than `check_size` allows.
    """
    return _as_text(path, _unpack(path), "strict")


def csv_text(path: Path, what: str) -> str:
    """Return the text of a csv file as `csv_stream` opens it.

    Parameters
    ----------
    path : Path
    what : str
        Name of the file in messages, such as ``history``.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    with _readable(path, what):
        try:
            with csv_stream(path) as stream:
                return stream.read()
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error


def _as_text(path: Path, unpacked: bytes | None, errors: str) -> IO[str]:
    raw = path.open("rb") if unpacked is None else io.BytesIO(unpacked)
    return io.TextIOWrapper(raw, newline="", encoding="utf-8-sig", errors=errors)


def _unpack(path: Path) -> bytes | None:
    """Return the content of a packed file or one that Excel wrote in its own way; None for others.

    Others are plain csv files, which are read in place.
    """
    if path.suffix.lower() != ".gz":
        with path.open("rb") as stream:
            first = stream.read(16)
        if not first.startswith(_UTF16) and not _SEPARATOR_LINE.match(first):
            return None
    content = content_of(path)
    if not content:
        raise InputError(f"{path} is empty")
    try:
        return _as_plain_csv(content)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-16 ({error.reason}): save it as UTF-8") from error


def read_array(path: Path, what: str) -> NDArray[Any]:
    """Return the array of numbers or texts in an npy file.

    Parameters
    ----------
    path : Path
    what : str
        Name of the values in messages, such as ``labels``.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    with _readable(path, what):
        try:
            with path.open("rb") as stream:
                return archives.read_stream_array(stream, path.stat().st_size, path)
        except (archives.HeadError, MemoryError) as error:
            raise InputError(
                f"{path} is damaged or no npy file of numbers ({archives.damage(error)}): write "
                f"the {what} with numpy.save"
            ) from error


def read_text(path: Path, what: str) -> str:
    """Return the text of a UTF-8 file, local or at a URL, unpacked if its name ends in .gz.

    Parameters
    ----------
    path : Path
        File or URL; a URL may have lost a slash, as `Path` merges two into one.
    what : str
        Name of the file in messages, such as ``score``.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    url = url_of(path)
    try:
        with contextlib.ExitStack() as stack:
            file = path
            if url is not None:
                # A temporary copy, which is removed once it is read.
                file = copy_object(url, Path(stack.enter_context(scratch()), path.name))
            stack.enter_context(_readable(file, what))
            return content_of(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{place_text(path)} is not UTF-8 ({error.reason}): save it as UTF-8"
        ) from error


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Return the values of a TOML file; arguments and errors are those of `read_text`.

    Raises
    ------
    InputError
        Also if the text is not TOML.
    """
    text = read_text(path, what)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{place_text(path)} is not TOML: {error}") from error


def read_json_lines(path: Path, what: str) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects of a file with one per line, each with its line number from 1.

    Blank lines are left out.

    Parameters
    ----------
    path, what
        As in `read_text`.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    # Not `splitlines`, which also splits at characters that JSON allows within a text.
    lines = enumerate(read_text(path, what).split("\n"), 1)
    return [(number, _object(line, path, number)) for number, line in lines if line.strip()]


def read_json(path: Path, what: str) -> Any:
    """Return the value in a JSON file; arguments are those of `read_text`.

    Raises
    ------
    InputError
        Also if the text is not JSON, has a key twice, or holds half of a character.
    """
    text = read_text(path, what)
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except _TwiceError as error:
        raise InputError(
            f"{path} has the key {str(error)!r} twice in an object: name each differently"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: save it again, or as .jsonl") from error
    _require_characters(text, found, str(path))
    return found


@contextmanager
def _readable(path: Path, what: str) -> Iterator[None]:
    """Refuse a path that is not a regular file, and turn errors of reading into `InputError`."""
    try:
        if path.is_dir():
            raise InputError(f"{path} is a directory, not a {what} file")
        if not path.exists():
            raise InputError(f"{path} does not exist")
        # Reading a pipe could block for ever, and its size is unknown.
        if not path.is_file():
            raise InputError(f"{path} is a device or a pipe: save the {what} file first")
        yield
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise InputError(f"{path} does not fit into memory: give fewer rows") from error


class _TwiceError(ValueError):
    """A key of an object occurs twice; the json module would silently keep the last."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return found


def _object(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line, object_pairs_hook=_once)
    except _TwiceError as error:
        raise InputError(
            f"{path}: line {number} has the key {str(error)!r} twice: name each differently"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: line {number} is not a JSON object ({_first_line(error)})"
        ) from error
    _require_characters(line, row, f"{path}: line {number}")
    if not isinstance(row, dict):
        raise InputError(f"{path}: line {number} is not a JSON object, got {type(row).__name__}")
    return row


def _require_characters(line: str, row: object, place: str) -> None:
    """Refuse a value with half of a surrogate pair: not a character, so it cannot be written."""
    # In UTF-8 it can only come from an escape, so that other lines need no encoding.
    if "\\ud" not in line.lower():
        return
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        code = f"\\u{ord(error.object[error.start]):04x}"
        raise InputError(
            f"{place} holds {code} alone, which is half of a character: write texts as UTF-8"
        ) from error


def plain_array(column: pd.Series[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return a column as an array of numbers or of texts, with `ABSENT` for a missing text.

    Texts are objects, so that a single long one does not widen every row.
    """
    if column.dtype.kind in "biufU":
        return np.asarray(column)
    if column.dtype.kind in "mM":
        return np.asarray(column.astype(str), np.object_)
    values = np.asarray(column, dtype=np.object_).tolist()
    texts = [ABSENT if checks.is_absent(value) else str(value) for value in values]
    return np.array(texts, dtype=np.object_)


def csv_texts(path: Path, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return columns of a csv file as texts, as written: 007 is not a number, NA is not missing.

    Parameters
    ----------
    path : Path
    names : sequence of str, optional
        Columns of the file; all of them by default.
    """
    with _readable(path, "table"):
        used = None if names is None else list(names)
        return _read_csv(
            path, sep=separator_of(path), usecols=used, dtype=str, keep_default_na=False
        )


def _read_table(
    path: Path,
    separator: str | None,
    names: Collection[str],
    without: Collection[str],
    missing: Collection[str],
) -> pd.DataFrame:
    import pandas as pd

    if is_csv(path):
        found = separator_of(path, separator)
        # In parts (low_memory) pandas could read both 1 and "1" in one column.
        read = _read_csv(
            path,
            sep=found,
            low_memory=False,
            keep_default_na=False,
            na_values=[""],
            dtype=dict.fromkeys(set(names).difference(without), str),
            without=without,
        )
        read = read.assign(**_codes(path, found, read))
        words = MISSING.union(missing)
        columns: dict[str, pd.Series[Any]] = {}
        for name, column in read.items():
            if column.dtype.kind in "biuf":
                continue
            if name in names:
                # As written; as numbers only if each is a whole number in its usual form, of at
                # most 18 digits, which fit into 64 bits.
                ids = column.str.strip()
                plain = r"0|-?[1-9]\d{0,17}"
                if ids.isna().any() or not ids.str.fullmatch(plain).all():
                    columns[str(name)] = ids.mask(ids == "")
                else:
                    columns[str(name)] = ids.astype(np.int64)
                continue
            # Words are gaps if all other texts are numbers or the like. Numbers are converted;
            # dates and amounts stay texts.
            gaps = column.isin(words)
            others = column[~gaps].dropna()
            if not gaps.any() or not len(others):
                continue
            if others.str.fullmatch(_CODE, na=False).any():
                continue
            # `reindex` brings the gaps back: they are not among the others.
            values = pd.to_numeric(others, errors="coerce")
            if values.notna().all():
                columns[str(name)] = values.astype(np.float64).reindex(column.index)
            elif days_of(others) is not None or amounts_of(others) is not None:
                columns[str(name)] = column.mask(gaps)
        read = _without_missing(read.assign(**columns), missing, names)
        if found == ",":
            return read
        # Numbers in place of texts with a decimal comma: only whole columns of such texts change.
        numbers = {}
        for name, column in read.items():
            if column.dtype.kind not in "biuf" and name not in names:
                texts = column[~column.isin(MISSING)].dropna().astype(str)
                if (pointed := _with_points(texts)) is not None:
                    numbers[str(name)] = pointed.astype(np.float64).reindex(column.index)
        read = read.assign(**numbers)
        return read.assign(**_thousands(path, found, read, names, certain=bool(numbers)))
    try:
        frame: pd.DataFrame = archives.read_parquet(path, without=without).to_pandas()
    except (InputError, PermissionError):
        raise
    except archives.PARQUET_DAMAGE as error:
        reason = _first_line(error)
        raise InputError(f"{path} is damaged or no parquet file ({reason})") from error
    return _without_missing(frame, missing, names)


# A whole number as nobody writes one: 007, +49, 1E1. Programs write 10, 10.0 or 1E+01, people 1e1.
# Beyond 15 digits float64, which columns with gaps have, makes different numbers one.
_CODE = r"\s*(?:0\d+(?:\.\d+)?|\+\d+|\d+E\d+)\s*"
_LEADING_ZERO = r"\s*0\d+(?:\.\d+)?\s*"
_BEYOND_FLOAT = r"\s*-?\d{16,}\s*"
_BLOCK = 1 << 24


def _codes(path: Path, separator: str, read: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """Return the columns of codes that were read as whole numbers, as written.

    As numbers 007 and 7 would be one class or region, and so would 1E1 and 10E0.
    """
    floats = {str(name): column.dropna() for name, column in read.items() if column.dtype == float}
    whole = [
        name for name, there in floats.items() if there.size and (there == there.round()).all()
    ]
    large = [name for name in whole if (floats[name].abs() >= 2**53).any()]
    # Fractions may have leading zeros, such as 01.1, but no exponents that matter.
    numbers = [
        str(name)
        for name, column in read.items()
        if column.dtype.kind in "iuf" and column.notna().any()
    ]
    if not numbers or not (large or _may_hold_codes(path)):
        return {}
    import pandas as pd
    import pyarrow.compute as pc

    fractions = set(floats).difference(whole)
    return {
        name: pd.Series(pd.array(texts, dtype="str"))
        for name, texts in _as_written(path, separator, read, numbers).items()
        if pc.any(_matches(texts, _LEADING_ZERO if name in fractions else _CODE)).as_py()
        or (name in large and pc.any(_matches(texts, _BEYOND_FLOAT)).as_py())
    }


def _as_written(
    path: Path, separator: str, read: pd.DataFrame, names: Sequence[str]
) -> dict[str, pa.ChunkedArray]:
    """Return columns of a csv file as texts, with null for an empty field.

    Arrow looks through texts ten times as fast as pandas does. What it refuses, such as rows that
    are too short, is read by pandas.

    Parameters
    ----------
    path, separator
        As in `read_content`.
    read : pandas.DataFrame
        The file as pandas reads it.
    names : sequence of str
        Columns to return.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # By place, with the header as a first row: pandas names the columns that have no name.
    numbers = {str(name): i for i, name in enumerate(read.columns)}
    places = {f"f{numbers[name]}": name for name in names}
    unpacked = _unpack(path)
    try:
        table = arrow_csv.read_csv(
            path if unpacked is None else pa.py_buffer(unpacked),
            read_options=arrow_csv.ReadOptions(
                use_threads=False, autogenerate_column_names=True, block_size=_BLOCK
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(places, pa.string()),
                include_columns=[*places],
                null_values=[""],
                strings_can_be_null=True,
            ),
        ).slice(1)
    except (pa.ArrowException, KeyError):
        table = None
    if table is None or not _same_rows([table[place] for place in places], read[[*names]]):
        texts = _read_csv(
            path, sep=separator, usecols=[*names], dtype=str, keep_default_na=False, na_values=[""]
        )
        table = pa.Table.from_pandas(texts, preserve_index=False)
        places = {name: name for name in names}
    return {name: table[place] for place, name in places.items()}


def _same_rows(texts: Sequence[pa.ChunkedArray], read: pd.DataFrame) -> bool:
    """Return whether columns as written have the rows that pandas read.

    A blank line may be a row to one and not to the other: then a gap stands where a value was
    read, or the first column has other values.
    """
    import pandas as pd
    import pyarrow.compute as pc

    if len(texts[0]) != len(read):
        return False
    if any(
        (pc.is_null(column).to_numpy() & read[name].notna().to_numpy()).any()
        for column, name in zip(texts, read, strict=True)
    ):
        return False
    written = pd.to_numeric(pd.Series(pd.array(texts[0], dtype="str")), errors="coerce")
    first = pd.to_numeric(read.iloc[:, 0], errors="coerce")
    # Two ways to read a fraction may differ in the last bit.
    return bool((np.isclose(written, first, rtol=1e-9) | written.isna() | first.isna()).all())


def _matches(texts: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    """Return whether each text matches a pattern as a whole; null for a gap."""
    import pyarrow.compute as pc

    return pc.match_substring_regex(texts, rf"\A(?:{pattern})\z")


def _may_hold_codes(path: Path) -> bool:
    """Return whether some bytes of a file may be a code, much faster than its fields are read.

    Bytes of a packed file, or of one in UTF-16, say nothing about its fields.
    """
    if path.suffix.lower() == ".gz":
        return True
    before = np.ones(256, np.bool_)
    # In 0.05, 2024-01-05 and 10:05 the zero begins no field.
    before[[*b"0123456789.-/:"]] = False
    digit = np.zeros(256, np.bool_)
    digit[[*b"0123456789"]] = True
    last = b"\n"
    # Mostly the first rows show a code.
    size = _HEAD
    with path.open("rb") as stream:
        if stream.read(2).startswith(_UTF16):
            return True
        stream.seek(0)
        while block := stream.read(size):
            size = _BLOCK
            found = np.frombuffer(last + block, np.uint8)
            left = found[:-2]
            middle = found[1:-1]
            begins = ((middle == ord("0")) | (middle == ord("+"))) & before[left]
            exponent = (middle == ord("E")) & digit[left]
            if ((begins | exponent) & digit[found[2:]]).any():
                return True
            last = block[-2:]
    return False


def _without_missing(
    frame: pd.DataFrame, missing: Collection[str], names: Collection[str | None]
) -> pd.DataFrame:
    """Return a frame with gaps in place of words, and numbers, for a missing value."""
    if not missing:
        return frame
    numbers = [float(word) for word in missing if is_number(word)]
    gaps = {
        str(name): column.mask(
            column.isin(numbers if column.dtype.kind in "iuf" else [*missing, *numbers])
        )
        for name, column in frame.items()
        if name not in names and column.dtype.kind not in "bmM"
    }
    return frame.assign(**gaps)


_THOUSANDS = r"\s*-?(?:[0-9]{1,3}|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)\s*"
_ENOUGH_POINTS = 20


def _thousands(
    path: Path,
    separator: str,
    read: pd.DataFrame,
    names: Collection[str],
    *,
    certain: bool,
) -> dict[str, pd.Series[Any]]:
    """Return the columns in which a point stands between thousands, as numbers.

    Where 12.500 stands beside 950 a point is no decimal point if another column has decimal commas
    (`certain`), if some number has two points, or if at least 20 numbers have a point, each with
    three digits behind it: whoever writes decimals either fixes their number, so that all have a
    point, or drops zeros at the end, so that one in ten is shorter.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = []
    for name, column in read.items():
        if name in names:
            continue
        values = column.dropna()
        if column.dtype == float:
            # A number with one point between thousands was read as one below 1,000.
            fits = bool(values.size) and bool((abs(values) < 1000).all())
            if fits:
                thousandths = values.to_numpy() * 1000
                fits = bool((abs(thousandths - thousandths.round()) < 1e-6).all())
        elif column.dtype.kind in "biufmM":
            fits = False
        else:
            fits = bool(values.astype(str).str.fullmatch(_THOUSANDS).all())
        if fits:
            wanted.append(str(name))
    if not wanted:
        return {}
    found = {}
    for name, texts in _as_written(path, separator, read, wanted).items():
        gaps = pc.is_in(texts, value_set=pa.array(sorted(MISSING), texts.type))
        if not pc.all(pc.or_(gaps, _matches(texts, _THOUSANDS))).as_py():
            continue
        column = pd.Series(pd.array(texts, dtype="str"))
        there = column[~column.isin(MISSING)].dropna()
        points = there.str.count(r"\.")
        enough = (points > 0).sum() >= _ENOUGH_POINTS and (points == 0).any()
        if not (points > 0).any() or not (certain or (points > 1).any() or enough):
            continue
        if not there.str.fullmatch(_CODE, na=False).any():
            numbers = pd.to_numeric(there.str.replace(".", "", regex=False))
            found[str(name)] = numbers.astype(np.float64).reindex(column.index)
    return found


def _read_csv(path: Path, *, without: Collection[str] = (), **options: Any) -> pd.DataFrame:
    import pandas as pd

    if not without:
        check_size(path, path.stat().st_size, path.stat().st_size)
    unpacked = _unpack(path)
    # pandas checks the encoding when it reads; here only the header counts.
    with _as_text(path, unpacked, "replace") as stream:
        try:
            # The first line that is not blank, like pandas, which would rename a repeated name.
            header = next((row for row in csv.reader(stream, delimiter=options["sep"]) if row), [])
        except csv.Error:
            header = []  # refused later, when the table is read
        require_once(path, [name for name in header if name.strip()])
    if without:
        unpacked = _with_empty_columns(path, unpacked, without, options["sep"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Without index_col=False pandas takes the first of too many values as the row's name;
            # with it pandas warns, which is an error here.
            source = path if unpacked is None else io.BytesIO(unpacked)
            frame: pd.DataFrame = pd.read_csv(source, index_col=False, **options)
    except pd.errors.ParserWarning as error:
        raise InputError(
            f"{path}: rows have more values than the header has names; remove any lines above the "
            "names"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error
    except (ValueError, OverflowError) as error:  # pandas' ParserError and EmptyDataError too
        raise InputError(f"{path} is damaged or no csv file ({_first_line(error)})") from error
    return frame


def _with_empty_columns(
    path: Path, unpacked: bytes | None, without: Collection[str], separator: str
) -> bytes:
    """Return the content of a csv file with empty fields in some columns, read row by row."""
    kept = io.StringIO(newline="")
    writer = csv.writer(kept, delimiter=separator, lineterminator="\n")
    with _as_text(path, unpacked, "strict") as stream, fields_of_any_length():
        begun: list[str] = []  # lines of the row being read

        def remembered() -> Iterator[str]:
            for line in stream:
                begun.append(line)
                yield line

        lines = csv.reader(remembered(), delimiter=separator)
        try:
            header: list[str] | None = None
            for row in filter(None, lines):
                if header is None:
                    header = row
                    places = [i for i, name in enumerate(header) if name in without]
                else:
                    for place in places:
                        if place < len(row):
                            row[place] = ""
                writer.writerow(row)
                last = [*begun]
                begun.clear()
                if kept.tell() > archives.SMALL:
                    check_size(path, path.stat().st_size, kept.tell())
            # The csv module ends a quoted text with the file; pandas calls that damage, rightly.
            if header is not None:
                list(csv.reader(last, delimiter=separator, strict=True))
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8 ({error.reason}): save it as UTF-8") from error
        except csv.Error as error:
            raise InputError(f"{path} is damaged or no csv file ({_first_line(error)})") from error
    return kept.getvalue().encode()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# Images from one folder per class.


def image_files(folder: Path) -> list[Path]:
    """Return the image files in the subfolders of a folder, by subfolder and then by name.

    Raises
    ------
    InputError
        If there are no images in subfolders.
    """
    from PIL import Image

    known = Image.registered_extensions()
    # Sorted: rows have the same numbers on every machine.
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    found = [
        path
        for each in classes
        for path in sorted(each.rglob("*"))
        if path.is_file() and path.suffix.lower() in known
    ]
    if not found:
        raise InputError(
            f"{folder} holds no images in a folder for each class, such as {folder}/cat/1.png"
        )
    return found


def read_images(files: Sequence[Path]) -> NDArray[np.uint8]:
    """Return images of one size, (n, c, h, w), with c = 1 if all are grey, else 3.

    Raises
    ------
    InputError
        One line: the image, the fault, and the way out.
    """
    # Twice over the files: opening reads only the head, so that sizes and memory are checked before
    # any pixels are unpacked.
    from PIL import Image, UnidentifiedImageError

    sizes = []
    grey = True
    for path in files:
        try:
            with Image.open(path) as image:
                sizes.append(image.size)
                grey = grey and image.mode in ("1", "L")
        except UnidentifiedImageError as error:
            raise InputError(f"{path} is damaged or no image") from error
    other = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if other is not None:
        width, height = sizes[0]
        w, h = sizes[other]
        raise InputError(
            f"images must be of one size: {files[0]} is {width} x {height}, {files[other]} is "
            f"{w} x {h}; resize them, or read them in functions of your own (Training)"
        )
    width, height = sizes[0]
    channels = 1 if grey else 3
    there = sum(path.stat().st_size for path in files)
    check_size(files[0].parent.parent, there, len(files) * channels * height * width)
    result = np.empty((len(files), height, width, channels), np.uint8)
    for place, path in zip(result, files, strict=True):
        try:
            with Image.open(path) as image:
                pixels = np.asarray(image.convert("L" if grey else "RGB"))
        except OSError as error:
            raise InputError(f"{path} is damaged or no image") from error
        place[:] = pixels.reshape(place.shape)
    # From (n, h, w, c), as Pillow has it, to channels first, as networks take it.
    return np.ascontiguousarray(result.transpose(0, 3, 1, 2))
