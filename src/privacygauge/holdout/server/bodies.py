"""Submissions as they arrive: read with a limit, then out of JSON or the npy format."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator

import numpy as np
from numpy.typing import NDArray

from privacygauge.datasets.arrays import HeadError, ObjectError, read_head
from privacygauge.errors import InputError, PrivacyGaugeError

JSON = "application/json"
NPY = "application/octet-stream"
# For the file's head, or for brackets and blanks.
_HEAD = 4096
# A number of 64 bits, or the digits of a label with a comma and an indented new line.
_FEWEST_BYTES = 16


class BodyError(PrivacyGaugeError):
    """A body that is too long, too slow, or of an unknown type."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def largest_body(n: int, n_classes: int) -> int:
    """Return how many bytes a submission of n labels may have."""
    return _HEAD + n * max(_FEWEST_BYTES, len(str(n_classes - 1)) + 8)


def check_head(content_type: str | None, length: str | None, most: int) -> str:
    """Return the type of a body, JSON or NPY, from its headers alone.

    Raises
    ------
    BodyError
        If it is of another type, or says itself that it is too long.
    """
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind not in (JSON, NPY):
        raise BodyError(415, f"Content-Type must be {JSON} or {NPY}")
    if length is not None and length.isascii() and length.isdigit() and int(length[:20]) > most:
        raise _too_long(most)
    return kind


async def read_body(parts: AsyncIterator[bytes], most: int, seconds: float) -> bytes:
    """Return a body, counted while it arrives: what it says of its length proves nothing.

    Raises
    ------
    BodyError
        If it is longer than `most` bytes, or takes longer than so many seconds.
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


def labels_in(body: bytes, kind: str) -> object:
    """Return what a body of type `kind` holds, which is not checked to be labels yet.

    Raises
    ------
    InputError
        If it is not a JSON list, or no array in the npy format.
    """
    return _array_in(body) if kind == NPY else _list_in(body)


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


def _array_in(body: bytes) -> NDArray[np.generic]:
    stream = io.BytesIO(body)
    try:
        shape, _, dtype, n_bytes = read_head(stream)
    except ObjectError as error:
        raise InputError(
            "the body must be an array of integers of shape (n,), got objects: save "
            "labels.astype('int64')"
        ) from error
    except HeadError as error:
        raise InputError(f"the body must be an array as numpy.save writes it: {error}") from error
    if dtype.kind not in "iuf" or len(shape) != 1:
        raise InputError(
            f"the body must be an array of integers of shape (n,), got shape {shape} and "
            f"{dtype.kind!r}: save labels.astype('int64')"
        )
    # Compared before anything is allocated: the head may promise any number of rows.
    if n_bytes != len(body) - stream.tell():
        raise InputError(f"the body must hold the {shape[0]} labels that its head promises")
    return np.frombuffer(body, dtype, offset=stream.tell())


def _too_long(most: int) -> BodyError:
    return BodyError(413, f"the body must have at most {most} bytes")
