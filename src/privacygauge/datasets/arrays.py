"""Arrays in the npy format, alone or in an npz archive: bounded before they are read.

Numpy evaluates the head of an array as Python and allocates what it promises. Here a head is
matched against the few forms that plain arrays have, and held against the bytes that follow it.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.memory import bytes_text
from privacygauge.datasets.bounds import check_size
from privacygauge.errors import InputError

Content = Mapping[str, NDArray[Any]]
"""The arrays of an npz file."""

_MAGIC = b"\x93NUMPY"
_LENGTH = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}
"""How the length of the head is written in each version of the format."""
_LONGEST = 10_000
_FIELDS = r"'(descr|fortran_order|shape)'\s*:\s*('[^']{1,32}'|\[[^\]]*\]|True|False|\([\d, ]*\))"
_HEAD = re.compile(rf"\{{\s*{_FIELDS}\s*,\s*{_FIELDS}\s*,\s*{_FIELDS}\s*,?\s*\}}\s*", re.DOTALL)
_PLAIN = re.compile(r"'([<>|=]?(?:\?|b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SU]\d{1,9}"
                    r"|[mM]8(?:\[\d*[a-zA-Z]+\])?))'")  # fmt: skip
_SHAPE = re.compile(r"\(\s*((?:\d{1,18}\s*,\s*)*(?:\d{1,18})?)\s*\)")
_MOST_EMPTY = 2**24
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PART = 2**20


class HeadError(ValueError):
    """The head of an array is not one that numpy writes for plain values."""


class ObjectError(HeadError):
    """The array holds Python objects."""


def read_head(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, whether the first index runs fastest, type and bytes of an array in npy format.

    Parameters
    ----------
    stream : binary file
        At the array's start; afterwards at its values, of which nothing is read.

    Raises
    ------
    HeadError
        If this is not the head of an array of numbers or texts, or promises more than can be.
    """
    text = _head_text(stream)
    found = _HEAD.fullmatch(text)
    if not found:
        raise HeadError("its head is not one that numpy.save writes")
    fields = dict(zip(found.groups()[::2], found.groups()[1::2], strict=True))
    if len(fields) < 3 or fields["fortran_order"] not in ("True", "False"):
        raise HeadError("its head is not one that numpy.save writes")
    dtype = _dtype(fields["descr"])
    shape = _shape(fields["shape"])
    n_bytes = prod(shape) * dtype.itemsize
    if not n_bytes and prod(d for d in shape if d) > _MOST_EMPTY:
        raise HeadError(f"its head promises the shape {shape} without values")
    return shape, fields["fortran_order"] == "True", dtype, n_bytes


def _head_text(stream: IO[bytes]) -> str:
    magic = stream.read(8)
    length = _LENGTH.get((magic[6], magic[7])) if len(magic) == 8 else None
    if length is None or magic[:6] != _MAGIC:
        raise HeadError("it does not begin as numpy.save begins an array")
    packed = stream.read(struct.calcsize(length))
    if len(packed) < struct.calcsize(length):
        raise HeadError("its head is cut off")
    (size,) = struct.unpack(length, packed)
    text = stream.read(min(size, _LONGEST))
    if len(text) < size:
        raise HeadError("its head is cut off, or too long")
    return text.decode("latin-1")


def _dtype(text: str) -> np.dtype[Any]:
    plain = _PLAIN.fullmatch(text)
    if text.strip("'").lstrip("|<>=") == "O" or "O'" in text:
        raise ObjectError("it holds Python objects")
    if not plain:
        raise HeadError("it must hold plain numbers or texts")
    try:
        return np.dtype(plain[1])
    except (TypeError, ValueError) as error:
        raise HeadError("it must hold plain numbers or texts") from error


def _shape(text: str) -> tuple[int, ...]:
    found = _SHAPE.fullmatch(text)
    lengths = tuple(int(d) for d in found[1].split(",") if d.strip()) if found else ()
    if found is None or len(lengths) > 32:
        raise HeadError("its head is not one that numpy.save writes")
    return lengths


def read_stream_array(stream: IO[bytes], there: int, path: Path | str) -> NDArray[Any]:
    """Return the array that is all a stream of `there` bytes holds.

    Parameters
    ----------
    stream : binary file
    there : int
        The bytes from where the stream is: the head must promise what follows it.
    path : Path or str
        For messages about memory.

    Raises
    ------
    HeadError
        If it holds no array of numbers or texts, or only a part of one.
    InputError
        If there is not enough memory for it.
    """
    start = stream.tell()
    shape, by_column, dtype, n_bytes = read_head(stream)
    left = there - (stream.tell() - start)
    if n_bytes != left:
        raise HeadError(
            f"its head promises {_shape_text(shape)} of {dtype}, {bytes_text(n_bytes)}, and "
            f"{bytes_text(left)} follow"
        )
    check_size(path, there, n_bytes)
    values = _read_bytes(stream, n_bytes)
    array: NDArray[Any] = values.view(dtype) if n_bytes else np.empty(prod(shape), dtype)
    if dtype.kind == "U":
        _check_texts(array)
    return array.reshape(shape, order="F" if by_column else "C")


def _check_texts(array: NDArray[Any]) -> None:
    codes = array.view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any():
        raise HeadError("it holds texts that are not Unicode")


def _shape_text(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "one value"


def _read_bytes(stream: IO[bytes], n_bytes: int) -> NDArray[np.uint8]:
    # In parts: an archive's stream keeps a copy of what is read at once.
    values = np.empty(n_bytes, np.uint8)
    for start in range(0, n_bytes, _PART):
        part = stream.read(min(_PART, n_bytes - start))
        if len(part) < min(_PART, n_bytes - start):
            raise HeadError("it is cut off")
        values[start : start + len(part)] = np.frombuffer(part, np.uint8)
    return values


def read_npy(path: Path, what: str) -> NDArray[Any]:
    """Return the array of numbers or texts in an npy file, which exists.

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
    try:
        with path.open("rb") as stream:
            return read_stream_array(stream, path.stat().st_size, path)
    except (HeadError, MemoryError) as error:
        raise InputError(
            f"{path} is damaged or no npy file of numbers ({_reason(error)}): write the {what} "
            "with numpy.save"
        ) from error


def read_npz(path: Path) -> Content:
    """Return the arrays of an npz file, which exists.

    Raises
    ------
    InputError
        One line: the file, what is wrong, and the way out.
    """
    damaged = (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        ValueError,  # HeadError among them
        NotImplementedError,
        MemoryError,
        IndexError,
        OverflowError,
        RuntimeError,
    )
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MAGIC)) == _MAGIC:
                raise InputError(
                    f"{path} holds a single array, not the named arrays of an npz file"
                )
            stream.seek(0)
            with zipfile.ZipFile(stream) as archive:
                members = _members(archive, path)
                return {name: _member(archive, info, path) for name, info in members.items()}
    except (InputError, PermissionError):
        raise
    except damaged as error:
        raise InputError(f"{path} is damaged or no npz file ({_reason(error)})") from error


def _members(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the archive's files by the names of their arrays, each once and not too large."""
    found: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if not info.filename.endswith(".npy"):
            continue  # a note beside the arrays
        name = info.filename.removesuffix(".npy")
        if name in found:
            raise InputError(
                f"{path} holds {name[:60]!r} twice: write each array once, with numpy.savez"
            )
        if info.flag_bits & 1 or info.compress_type not in _PACKED:
            raise InputError(f"{path} is encrypted or packed unusually: write it with numpy.savez")
        found[name] = info
    check_size(path, path.stat().st_size, sum(info.file_size for info in found.values()))
    return found


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> NDArray[Any]:
    name = info.filename.removesuffix(".npy")
    try:
        with archive.open(info) as stream:
            return read_stream_array(stream, info.file_size, path)
    except ObjectError as error:
        raise InputError(
            f"{path}: {name!r} is an object array, which could run code when loaded and is "
            "never unpickled; save it as a plain numeric or string array"
        ) from error
    except HeadError as error:
        raise InputError(f"{path} is damaged or no npz file ({name[:60]!r}: {error})") from error


def _reason(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    if isinstance(error, zipfile.BadZipFile) and "not a zip" in str(error):
        return "not a zip archive"
    return (str(error).splitlines() or [type(error).__name__])[0]
