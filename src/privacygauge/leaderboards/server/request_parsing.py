"""Submissions as they arrive, read with a limit, and the owner's file of hidden labels."""

from __future__ import annotations

import asyncio
import codecs
import csv
import io
import json
import re
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast
from unicodedata import normalize

import numpy as np
from fastapi import Request
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool

from privacygauge.datasets.archives import HeadError, ObjectError, read_head
from privacygauge.datasets.reading import read_array, read_content
from privacygauge.errors import InputError, PrivacyGaugeError
from privacygauge.leaderboards.mechanism import score_digits
from privacygauge.leaderboards.metric_forms import class_numbers
from privacygauge.leaderboards.metrics import ACCURACY, Metric
from privacygauge.leaderboards.server.board import Board, Receipt
from privacygauge.runs.folder import require_local

if TYPE_CHECKING:
    from privacygauge.leaderboards.server.board import Board


JSON = "application/json"
NPY = "application/octet-stream"
CSV = "text/csv"
# Bytes for the head of a file, or for brackets and blanks.
_HEAD = 4096
# A number of 64 bits, or the digits of a label with a comma and an indented new line.
_FEWEST_BYTES = 16
# The digits of a float with a comma and an indented new line.
_FLOAT_BYTES = 32
_ID = "id"
_SEPARATORS = ",;\t"
"""Separators of columns; the first of equally frequent ones."""
_SHOWN = 64
"""Characters of a wrong first line that the answer quotes."""
_BEFORE_CLASS = re.compile(r"^(p|prob|proba|probability|class)[_ ]", re.IGNORECASE)
"""Common beginnings of the names of probability columns, before the class."""


class BodyError(PrivacyGaugeError):
    """A body that is too long, too slow, or of an unknown type."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def largest_body(
    n: int,
    n_classes: int,
    metric: Metric = ACCURACY,
    ids: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
) -> int:
    """Return the largest number of bytes of a submission about n points."""
    # A class takes its name in quotes, with a comma and an indented new line.
    longest = max(map(_bytes_of_text, classes or (str(n_classes - 1),)))
    each = max(_FEWEST_BYTES, longest + 8)
    name = 0 if ids is None else 8 + max(map(_bytes_of_text, ids))
    return _HEAD + n * (
        name + metric.width(n_classes) * (_FLOAT_BYTES if metric.form == "f" else each)
    )


def _bytes_of_text(text: str) -> int:
    """Return the largest number of bytes of a text within quotes: JSON may escape its letters."""
    return max(len(text.encode()), len(json.dumps(text)) - 2)


def _too_long(most: int, kind: str) -> BodyError:
    """Return the error of a body of more than `most` bytes; texts in an array are long."""
    way_out = ": save integers, as labels.astype('int64')" if kind == NPY else ""
    return BodyError(413, f"the body must have at most {most} bytes{way_out}")


def check_head(content_type: str | None, length: str | None, most: int) -> str:
    """Return the type of a body, JSON, NPY or CSV, from its headers alone.

    Raises
    ------
    BodyError
        If it is of another type, or says itself that it is too long.
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind not in (JSON, NPY, CSV):
        raise BodyError(415, f"Content-Type must be {JSON}, {NPY} or {CSV}")
    # int refuses texts with thousands of digits, so 20 of them are enough to compare.
    if length is not None and length.isascii() and length.isdigit() and int(length[:20]) > most:
        raise _too_long(most, kind)
    return kind


_IN_MEMORY = 2**20
"""Bytes of a body that are kept in memory; a longer one waits for its turn on the disk."""


async def receive_body(
    parts: AsyncIterator[bytes], most: int, seconds: float, *, kind: str = ""
) -> IO[bytes]:
    """Return a body as a file, counting its bytes as they arrive: a declared length proves nothing.

    Its type, `kind`, is for the error.

    Raises
    ------
    BodyError
        If it is longer than `most` bytes, takes longer than `seconds`, or the disk is full.
    """
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="privacygauge-")  # noqa: SIM115
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in parts:
                size += len(part)
                if size > most:
                    raise _too_long(most, kind)
                file.write(part)
        file.seek(0)
    except BaseException as error:
        file.close()
        if isinstance(error, TimeoutError):
            raise BodyError(408, f"the body must arrive within {seconds:g} seconds") from error
        if isinstance(error, OSError):
            raise BodyError(503, "the server has no room for the body: send it again") from error
        raise
    return cast(IO[bytes], file)


async def read_body(parts: AsyncIterator[bytes], most: int, seconds: float) -> bytes:
    """Return the bytes of a body; arguments and errors are those of `receive_body`."""
    with await receive_body(parts, most, seconds) as file:
        return file.read()


@dataclass(frozen=True)
class Form:
    """The form of submissions about a test set."""

    columns: int = 1
    """Most numbers per point: with more than one an array may have two dimensions."""
    ids: tuple[str, ...] | None = field(default=None, repr=False)
    """(n,) Names of the points in the order of the hidden labels, for CSV; None for 0, 1, 2, ..."""
    classes: tuple[str, ...] | None = None
    """Names of the classes, which may replace their numbers; None for numbers alone."""
    by_class: bool = False
    """Whether the columns of a table are classes, matched by their names."""


PLAIN = Form()
"""Form with one number per point."""


def form_of(board: Board) -> Form:
    """Return the form of a board's submissions."""
    metric = board.holdout.metric
    m = board.holdout.n_classes
    by_class = metric.form == "f" and not metric.numbers and metric.width(m) > 1
    numbers = tuple(map(str, range(m))) if by_class else None
    return Form(metric.width(m), board.ids, board.classes or numbers, by_class)


def labels_in(body: bytes, kind: str, form: Form = PLAIN) -> object:
    """Parse a body of type `kind`; the values are not yet checked to be labels.

    Raises
    ------
    InputError
        If it is not a JSON list, an array in the npy format, or a table with every id once.
    """
    if kind == CSV:
        # Old spreadsheet programs end a line with a carriage return alone.
        lines = body if b"\n" in body else body.replace(b"\r", b"\n")
        try:
            return _table_in(lines, form)
        except InputError as error:
            # A letter with an accent may be one sign, or two.
            try:
                composed = normalize("NFC", lines.decode("utf-8")).encode()
            except UnicodeDecodeError:
                raise error from None
            if lines.isascii():
                raise
            # Names in the same way, unless some become equal by it.
            ids, classes = (
                None if names is None else tuple(normalize("NFC", name) for name in names)
                for names in (form.ids, form.classes)
            )
            given = [names for names in (ids, classes) if names is not None]
            if all(len(set(names)) == len(names) for names in given):
                form = replace(form, ids=ids, classes=classes)
            return _table_in(composed, form)
    return _array_in(body, form.columns) if kind == NPY else _list_in(body, form)


def _table_in(body: bytes, form: Form) -> NDArray[np.float64]:
    import pandas as pd

    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        # "Unicode text" of a spreadsheet program.
        try:
            body = body.decode("utf-16").encode("utf-8")
        except UnicodeError as error:
            raise InputError("the body must be CSV in UTF-8") from error
    start = len(codecs.BOM_UTF8) if body.startswith(codecs.BOM_UTF8) else 0
    while body[start : start + 1] in (b"\r", b"\n"):
        start += 1
    end = body.find(b"\n", start)
    end = len(body) if end < 0 else end
    try:
        first = body[start:end].decode("utf-8")
        # Commas, or what spreadsheet programs write where numbers have a decimal comma.
        sign = max(_SEPARATORS, key=first.count)
        head = next(csv.reader([first], delimiter=sign), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError("the body must be CSV in UTF-8") from error
    # The first column is the id; the names of the others count only for classes.
    begins = [name.strip().lower() for name in head[:1]] == [_ID] and len(head) >= 2
    if not begins or (not form.by_class and len(head) - 1 > form.columns):
        raise InputError(
            f"the body must begin with the line id,label, got {first.strip()[:_SHOWN]!a}"
        )
    # The place of each class among the columns; all in order if none is a class.
    names = [name.strip() for name in head[1:]]
    order = list(range(len(names)))
    if form.by_class and form.classes is not None and len(names) > 1:
        # Names such as "prob_cat" for the class "cat", unless the classes are called that
        # themselves.
        plain = [_BEFORE_CLASS.sub("", name) for name in names]
        if sorted(plain) != sorted(form.classes):
            plain = names
        if sorted(plain) != sorted(form.classes):
            classes = ",".join(form.classes[:5]) + ",..." * (len(form.classes) > 5)
            raise InputError(f"the columns must be called as the classes are: id,{classes}")
        order = [plain.index(name) for name in form.classes]
    read = _read_quickly(memoryview(body)[end + 1 :], len(head), form, sign=sign)
    if read is not None:
        return read[:, 0] if read.shape[1] == 1 else read[:, order]
    # Something is unusual, or wrong: read slowly, which tells what and in which line.
    rows = body[end + 1 :]
    try:
        rows.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("the body must be CSV in UTF-8") from error
    if not rows.strip():
        raise InputError("the body must have a line for every id below the first")
    try:
        with warnings.catch_warnings():
            # More columns than the head has, in every line.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                io.BytesIO(rows),
                sep=sign,
                decimal="." if sign == "," else ",",
                header=None,
                names=range(len(head)),
                index_col=False,
                dtype={0: str},
                keep_default_na=False,
                low_memory=False,
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning, ValueError) as error:
        raise InputError(f"every line must have {len(head) - 1} numbers behind its id") from error
    # Cells as numbers; NaN for those that are none.
    named = form.classes is not None and not form.by_class
    values = np.empty((len(table), len(head) - 1))
    for column in range(1, len(head)):
        cells: Any = table[column]
        if form.classes is not None and named:
            codes = _index(form.classes).get_indexer(cells.astype(str).str.strip())
            values[:, column - 1] = np.where(codes < 0, np.nan, codes)
        else:
            numbers = pd.to_numeric(cells, errors="coerce")
            values[:, column - 1] = numbers.to_numpy(np.float64, na_value=np.nan)
    if wrong := np.flatnonzero(np.isnan(values).any(axis=1)).tolist():
        wanted = "a class of the test set" if named else f"{len(head) - 1} numbers"
        raise InputError(f"line {wrong[0] + 2} must have {wanted}")
    # Lines may come in any order: the id gives the place.
    found = np.empty_like(values)
    found[_places(table[0], form.ids)] = values
    return found[:, 0] if found.shape[1] == 1 else found[:, order]


def _read_quickly(
    rows: memoryview, columns: int, form: Form, *, sign: str
) -> NDArray[np.float64] | None:
    """Return the values, (n, columns - 1), of a plain table by their ids; None of any other.

    Arrow keeps a column of texts in one buffer, where pandas has an object for each cell.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    names = [str(column) for column in range(columns)]
    try:
        table = arrow_csv.read_csv(
            pa.py_buffer(rows),
            read_options=arrow_csv.ReadOptions(use_threads=False, column_names=names),
            parse_options=arrow_csv.ParseOptions(delimiter=sign),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
        cells = [pc.utf8_trim_whitespace(table[name]) for name in names]
        del table
        n = len(cells[0]) if form.ids is None else len(form.ids)
        if n == 0 or len(cells[0]) != n:
            return None
        known = None if form.ids is None else _arrow_texts(form.ids)
        if known is None:
            places = cells[0].cast(pa.int64()).to_numpy()
        elif cells[0].equals(pa.chunked_array([known])):
            places = np.arange(n)
        else:
            # Null, for a name that is unknown, becomes -1.
            places = pc.fill_null(pc.index_in(cells[0], value_set=known), -1).to_numpy()
        named = form.classes is not None and not form.by_class
        values = np.empty((n, columns - 1))
        for column, texts in enumerate(cells[1:]):
            if named:
                texts = pc.index_in(texts, value_set=_arrow_texts(form.classes))
            elif sign != ",":
                texts = pc.replace_substring(texts, ",", ".")
            values[:, column] = pc.cast(texts, pa.float64()).to_numpy()
    except pa.ArrowException:
        return None
    if places.min() < 0 or places.max() >= n or np.isnan(values).any():
        return None
    if (np.bincount(places, minlength=n) != 1).any():
        return None
    found = np.empty_like(values)
    found[places] = values
    return found


@lru_cache(maxsize=2)
def _arrow_texts(names: tuple[str, ...]) -> Any:
    import pyarrow as pa

    return pa.array(names, pa.string())


def _places(ids: Any, names: tuple[str, ...] | None) -> NDArray[np.int64]:
    """Return the place of each line's id; every id must occur once."""
    import pandas as pd

    stripped = ids.str.strip()
    if names is None:
        numbers = pd.to_numeric(stripped, errors="coerce").to_numpy(np.float64, na_value=np.nan)
        # Ids are 0 to n - 1; a wrong one becomes -1, which no index is.
        known = (numbers >= 0) & (numbers < len(ids)) & (numbers == np.floor(numbers))
        places = np.where(known, numbers, -1).astype(np.int64)
    else:
        places = np.asarray(_index(names).get_indexer(stripped), np.int64)
    wrong = (places < 0) | pd.Series(places).duplicated().to_numpy()
    if wrong.any():
        line = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"line {line + 2}: the id {str(ids.iloc[line])[:64]!a} is unknown, or given twice"
        )
    if names is not None and len(places) < len(names):
        missing = np.setdiff1d(np.arange(len(names)), places)
        many = "1 id is missing:" if len(missing) == 1 else f"{len(missing)} ids are missing, first"
        raise InputError(f"{many} {names[missing[0]]!a}")
    return places


# Building the index of all names takes longer than a lookup; one for ids, one for classes.
@lru_cache(maxsize=2)
def _index(names: tuple[str, ...]) -> Any:
    import pandas as pd

    return pd.Index(names)


def _list_in(body: bytes, form: Form) -> list[object]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError("the body must be JSON: a list of integers, such as [0, 2, 1]") from error
    if not isinstance(value, list):
        raise InputError(f"the body must be a JSON list of integers, got {_kind(value)}")
    codes: dict[object, object] = {}
    if form.classes is not None and not form.by_class:
        codes = {name: code for code, name in enumerate(form.classes)}

        def coded(label: object) -> object:
            return codes.get(label, label) if isinstance(label, str) else label

        # With several columns a row is a list of classes.
        value = [
            [coded(x) for x in label] if isinstance(label, list) else coded(label)
            for label in value
        ]
    # Each is checked before numpy turns all of them into texts, or truth values into numbers.
    for row, label in enumerate(value):
        if form.columns > 1 and isinstance(label, list):
            inner = [x for x in label if isinstance(x, bool) or not isinstance(x, int | float)]
            if not inner:
                continue
        if isinstance(label, bool) or not isinstance(label, int | float):
            raise InputError(f"labels must be integers, got {_kind(label)} in row {row}")
    return value


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def _array_in(body: bytes, columns: int) -> NDArray[np.generic]:
    stream = io.BytesIO(body)
    try:
        shape, fortran, dtype, n_bytes = read_head(stream)
    except ObjectError as error:
        raise InputError(
            "the body must be an array of integers of shape (n,), got objects: save "
            "labels.astype('int64')"
        ) from error
    except HeadError as error:
        raise InputError(f"the body must be an array as numpy.save writes it: {error}") from error
    if dtype.kind not in "iuf" or not 1 <= len(shape) <= 1 + (columns > 1):
        raise InputError(
            f"the body must be an array of integers of shape (n,), got shape {shape} and "
            f"{dtype.kind!r}: save labels.astype('int64')"
        )
    # Compared before anything is allocated: the head may promise any number of rows.
    if n_bytes != len(body) - stream.tell():
        raise InputError(f"the body must hold the {shape[0]} labels that its head promises")
    return np.frombuffer(body, dtype, offset=stream.tell()).reshape(
        shape, order="F" if fortran else "C"
    )


@dataclass(frozen=True, eq=False)
class HiddenLabels:
    """Content of the owner's file of hidden values."""

    values: NDArray[np.generic] = field(repr=False)
    """(n,) Labels, integers from 0, or numbers."""
    ids: tuple[str, ...] | None = None
    """(n,) Names of the points; None if the file has none."""
    classes: tuple[str, ...] | None = None
    """Names of the classes from 0, in alphabetical order; None if the labels are not texts."""


def read_hidden(path: Path) -> HiddenLabels:
    """Return hidden values with the names of points and classes.

    Parameters
    ----------
    path : pathlib.Path
        .npy; .npz with one array; or .csv (or .tsv, also with .gz), .parquet or .jsonl with a
        column of labels, integers from 0 or texts, and perhaps one ``id``.

    Raises
    ------
    InputError
        One line: the problem, and the way out.
    """
    require_local(path, "labels are read from a file")
    if path.suffix.lower() == ".npy":
        return HiddenLabels(read_array(path, "labels"))
    content = read_content(path, "labels", names=(_ID, _ID.upper(), _ID.title()))
    if isinstance(content, Mapping):
        if len(content) != 1:
            raise InputError(f"{path} must hold one array of labels, got {len(content)}")
        return HiddenLabels(next(iter(content.values())))
    if _ID not in content.columns:
        # As in submissions, ID and Id are ids too.
        named = [name for name in content.columns if str(name).strip().lower() == _ID]
        content = content.rename(columns={named[0]: _ID}) if len(named) == 1 else content
    others = [name for name in content.columns if name != _ID]
    if len(others) != 1:
        raise InputError(f"{path} must have one column of labels beside id, got {len(others)}")
    values, classes = class_numbers(np.asarray(content[others[0]]))
    if _ID not in content.columns:
        return HiddenLabels(values, None, classes)
    names = tuple(str(name).strip() for name in content[_ID])
    if len(set(names)) < len(names):
        raise InputError(f"{path}: every id must differ from the others")
    return HiddenLabels(values, names, classes)


SECONDS_FOR_BODY = 60.0
"""Seconds within which a body must arrive."""


async def receive_submission(
    request: Request,
    account: str,
    read: Callable[[], bytes],
    kind: str,
    *,
    key: str | None = None,
    claimed: float | None = None,
) -> Receipt:
    """Parse and score a body of this account, read in its turn; return its receipt."""
    board: Board = request.app.state.board
    # A body becomes many times its bytes for a while: few at a time, parsed and scored, bound the
    # memory.
    async with request.app.state.parsing:
        labels: Any = await run_in_threadpool(lambda: labels_in(read(), kind, form_of(board)))
        async with request.app.state.turn:
            receipt = await run_in_threadpool(
                partial(board.submit, account, labels, key=key, claimed=claimed)
            )
    return round_score(board, receipt)


def round_score(board: Board, receipt: Receipt) -> Receipt:
    """Return a receipt without digits of the score that stem from the arithmetic alone."""
    return replace(receipt, score=round(receipt.score, score_digits(len(board.holdout))))
