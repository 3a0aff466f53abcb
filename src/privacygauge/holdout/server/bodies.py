"""Submissions as they arrive, read with a limit, and the owner's file of hidden labels."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privacygauge.datasets.arrays import HeadError, ObjectError, read_head
from privacygauge.datasets.reading import read_array, read_content
from privacygauge.errors import InputError, PrivacyGaugeError
from privacygauge.holdout.metrics import ACCURACY, Metric
from privacygauge.runs.folder import require_local

JSON = "application/json"
NPY = "application/octet-stream"
CSV = "text/csv"
# For the file's head, or for brackets and blanks.
_HEAD = 4096
# A number of 64 bits, or the digits of a label with a comma and an indented new line.
_FEWEST_BYTES = 16
# The digits of a float with a comma and an indented new line.
_FLOAT_BYTES = 32
_ID = "id"


class BodyError(PrivacyGaugeError):
    """A body that is too long, too slow, or of an unknown type."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def largest_body(
    n: int, n_classes: int, metric: Metric = ACCURACY, ids: Sequence[str] | None = None
) -> int:
    """Return the largest number of bytes of a submission about n points."""
    each = max(_FEWEST_BYTES, len(str(n_classes - 1)) + 8)
    name = 0 if ids is None else 8 + max(len(each.encode()) for each in ids)
    return _HEAD + n * (
        name + metric.width(n_classes) * (_FLOAT_BYTES if metric.form == "f" else each)
    )


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
    if length is not None and length.isascii() and length.isdigit() and int(length[:20]) > most:
        raise _too_long(most)
    return kind


async def read_body(parts: AsyncIterator[bytes], most: int, seconds: float) -> bytes:
    """Read a body, counting it while it arrives: a declared length proves nothing.

    Raises
    ------
    BodyError
        If it is longer than `most` bytes, or takes longer than `seconds`.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in parts:
                body += part
                if len(body) > most:
                    raise _too_long(most)
    except TimeoutError as error:
        raise BodyError(408, f"the body must arrive within {seconds:g} seconds") from error
    return bytes(body)


def labels_in(
    body: bytes, kind: str, *, columns: int = 1, ids: Sequence[str] | None = None
) -> object:
    """Parse a body of type `kind`; the values are not yet checked to be labels.

    Parameters
    ----------
    body : bytes
    kind : str
        JSON, NPY or CSV.
    columns : int
        Numbers per point, at most: with more than one the array may have two dimensions.
    ids : sequence of str, optional
        The points' names in the order of the hidden labels, for CSV; 0, 1, 2 and on by default.

    Raises
    ------
    InputError
        If it is not a JSON list, no array in the npy format, or no table with every id once.
    """
    if kind == CSV:
        return _table_in(body, ids)
    return _array_in(body, columns) if kind == NPY else _list_in(body)


def _table_in(body: bytes, ids: Sequence[str] | None) -> NDArray[np.float64]:
    try:
        rows = [row for row in csv.reader(io.StringIO(body.decode("utf-8-sig"), newline="")) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError("the body must be CSV in UTF-8") from error
    head = [name.strip().lower() for name in rows[0]] if rows else []
    if head[:1] != [_ID] or len(head) < 2:
        raise InputError("the body must begin with the line id,label")
    names = [str(i) for i in range(len(rows) - 1)] if ids is None else ids
    place = {name: i for i, name in enumerate(names)}
    found = np.full((len(names), len(head) - 1), np.nan)
    for line, row in enumerate(rows[1:], 2):
        where = place.pop(row[0].strip(), None)
        if where is None:
            raise InputError(f"line {line}: the id {row[0][:64]!a} is unknown, or given twice")
        try:
            found[where] = [float(value) for value in row[1:]]
        except ValueError as error:
            raise InputError(f"line {line} must have {len(head) - 1} numbers") from error
    if place:
        raise InputError(f"{len(place)} ids are missing, the first is {next(iter(place))!a}")
    return found[:, 0] if found.shape[1] == 1 else found


def _list_in(body: bytes) -> list[object]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError("the body must be JSON: a list of integers, such as [0, 2, 1]") from error
    if not isinstance(value, list):
        raise InputError(f"the body must be a JSON list of integers, got {_kind(value)}")
    # Each is looked at before numpy turns all of them into texts, or truth values into numbers.
    for row, label in enumerate(value):
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


def _too_long(most: int) -> BodyError:
    return BodyError(413, f"the body must have at most {most} bytes")


def read_hidden(path: Path) -> tuple[NDArray[np.generic], tuple[str, ...] | None]:
    """Return hidden values, (n,), and the names of the points; None where they have none.

    Parameters
    ----------
    path : pathlib.Path
        .npy; .npz with one array; or .csv (or .tsv, also with .gz), .parquet or .jsonl with a
        column of labels and perhaps one ``id``.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    require_local(path, "labels are read from a file")
    if path.suffix.lower() == ".npy":
        return read_array(path, "labels"), None
    content = read_content(path, "labels", names=(_ID,))
    if isinstance(content, Mapping):
        if len(content) != 1:
            raise InputError(f"{path} must hold one array of labels, got {len(content)}")
        return next(iter(content.values())), None
    others = [name for name in content.columns if name != _ID]
    if len(others) != 1:
        raise InputError(f"{path} must have one column of labels beside id, got {len(others)}")
    values = np.asarray(content[others[0]])
    if _ID not in content.columns:
        return values, None
    names = tuple(str(name).strip() for name in content[_ID])
    if len(set(names)) < len(names):
        raise InputError(f"{path}: every id must differ from the others")
    return values, names
