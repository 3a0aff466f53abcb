"""Archives of arrays and Parquet files, refused before unpacking if they exceed the free memory."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from privacygauge.errors import InputError
from privacygauge.runs.threads import bytes_text, free_memory

if TYPE_CHECKING:
    import pyarrow as pa


SMALL = 2**28
"""Bytes to which any file may unpack."""
EXPANSION = 100
"""Largest ratio of unpacked to packed size of a file that unpacks to more than `SMALL`."""

PART = 2**20
"""Bytes read at a time."""


def check_size(path: Path | str, there: int, promised: int) -> None:
    """Refuse a file that unpacks to far more than its size, or to more than the free memory.

    Parameters
    ----------
    path : Path or str
        Name in the message.
    there : int
        Size of the file in bytes.
    promised : int
        Size of its unpacked content in bytes.

    Raises
    ------
    InputError
        One line: the file, its unpacked size, and the way out.
    """
    if promised > max(SMALL, EXPANSION * there):
        raise InputError(
            f"{path} has {bytes_text(there)} and unpacks to {bytes_text(promised)}, more than "
            f"{EXPANSION} times as much: if the data are truly so, save them uncompressed"
        )
    if promised > free_memory():
        raise InputError(
            f"{path} takes {bytes_text(promised)} of memory, and {bytes_text(free_memory())} are "
            "free: give fewer rows, or use a larger machine"
        )


def require_once(path: Path, names: Sequence[str]) -> None:
    """Refuse a table with a column that occurs twice.

    Raises
    ------
    InputError
        One line: the column.
    """
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"{path}: column {twice!r} occurs twice: name each column differently")


# Arrays in the npy format, alone or in an npz archive: bounded before they are read.
#
# Numpy evaluates the head of an array as Python and allocates the size that it states. Here a head
# is matched against the few forms of plain arrays and compared with the bytes that follow it.

Content = Mapping[str, NDArray[Any]]
"""Name to array of an npz file."""

_MAGIC = b"\x93NUMPY"
_LENGTH = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}
"""Version of the format to the `struct` format of the head's length."""
# Longest head in bytes, numpy's own limit.
_LONGEST = 10_000
_FIELDS = r"'(descr|fortran_order|shape)'\s*:\s*('[^']{1,32}'|\[[^\]]*\]|True|False|\([\d, ]*\))"
_HEAD = re.compile(rf"\{{\s*{_FIELDS}\s*,\s*{_FIELDS}\s*,\s*{_FIELDS}\s*,?\s*\}}\s*", re.DOTALL)
_PLAIN = re.compile(r"'([<>|=]?(?:\?|b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[SU]\d{1,9}"
                    r"|[mM]8(?:\[\d*[a-zA-Z]+\])?))'")  # fmt: skip
_SHAPE = re.compile(r"\(\s*((?:\d{1,18}\s*,\s*)*(?:\d{1,18})?)\s*\)")
# Largest product of the nonzero dimensions of an array without values: its shape costs no bytes.
_MOST_EMPTY = 2**24
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class HeadError(ValueError):
    """The head of an array is not one that numpy writes for plain values."""


class ObjectError(HeadError):
    """The array holds Python objects."""


def read_head(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return shape, column-major order or not, type and size in bytes of an array in npy format.

    Parameters
    ----------
    stream : binary file
        Positioned at the start of the array; afterwards at its values, which are not read.

    Raises
    ------
    HeadError
        If this is not the head of an array of numbers or texts, or has an impossible shape.
    """
    magic = stream.read(8)
    length = _LENGTH.get((magic[6], magic[7])) if len(magic) == 8 else None
    if length is None or magic[:6] != _MAGIC:
        raise HeadError("it does not begin as numpy.save begins an array")
    packed = stream.read(struct.calcsize(length))
    if len(packed) < struct.calcsize(length):
        raise HeadError("its head is cut off")
    (size,) = struct.unpack(length, packed)
    # `size` may be up to 4 GiB in a forged head.
    head = stream.read(min(size, _LONGEST))
    if len(head) < size:
        raise HeadError("its head is cut off, or too long")
    # Every byte is a character in Latin-1: what is not allowed is refused by the pattern.
    text = head.decode("latin-1")
    found = _HEAD.fullmatch(text)
    if not found:
        raise HeadError("its head is not one that numpy.save writes")
    # Three pairs of key and value, in any order: a key that occurs twice leaves fewer than three.
    fields = dict(zip(found.groups()[::2], found.groups()[1::2], strict=True))
    if len(fields) < 3 or fields["fortran_order"] not in ("True", "False"):
        raise HeadError("its head is not one that numpy.save writes")
    # Objects, alone or as a field of records, have an error of their own with its own way out.
    described = fields["descr"]
    plain = _PLAIN.fullmatch(described)
    if described.strip("'").lstrip("|<>=") == "O" or "O'" in described:
        raise ObjectError("it holds Python objects")
    if not plain:
        raise HeadError("it must hold plain numbers or texts")
    try:
        dtype: np.dtype[Any] = np.dtype(plain[1])
    except (TypeError, ValueError) as error:
        raise HeadError("it must hold plain numbers or texts") from error
    lengths = _SHAPE.fullmatch(fields["shape"])
    shape = tuple(int(d) for d in lengths[1].split(",") if d.strip()) if lengths else ()
    # 32 is the most dimensions of numpy before version 2.
    if lengths is None or len(shape) > 32:
        raise HeadError("its head is not one that numpy.save writes")
    n_bytes = prod(shape) * dtype.itemsize
    if not n_bytes and prod(d for d in shape if d) > _MOST_EMPTY:
        raise HeadError(f"its head promises the shape {shape} without values")
    return shape, fields["fortran_order"] == "True", dtype, n_bytes


def read_stream_array(stream: IO[bytes], there: int, path: Path | str) -> NDArray[Any]:
    """Return the array in a stream of `there` bytes that holds nothing else.

    Parameters
    ----------
    stream : binary file
    there : int
        Bytes from the stream's position to its end, which must equal the size in the head.
    path : Path or str
        Name in messages about memory.

    Raises
    ------
    HeadError
        If it does not hold an array of numbers or texts, or only part of one.
    InputError
        If the array does not fit into memory.
    """
    start = stream.tell()
    shape, by_column, dtype, n_bytes = read_head(stream)
    left = there - (stream.tell() - start)
    if n_bytes != left:
        promised = " x ".join(map(str, shape)) or "one value"
        raise HeadError(
            f"its head promises {promised} of {dtype}, {bytes_text(n_bytes)}, and "
            f"{bytes_text(left)} follow"
        )
    check_size(path, there, n_bytes)
    # In parts, since an archive's stream keeps a copy of each read.
    values = np.empty(n_bytes, np.uint8)
    for begin in range(0, n_bytes, PART):
        part = stream.read(min(PART, n_bytes - begin))
        if len(part) < min(PART, n_bytes - begin):
            raise HeadError("it is cut off")
        values[begin : begin + len(part)] = np.frombuffer(part, np.uint8)
    array: NDArray[Any] = values.view(dtype) if n_bytes else np.empty(prod(shape), dtype)
    if dtype.kind == "U":
        # UTF-32 beyond Unicode's last code, or half of a surrogate pair: such texts would fail
        # later, when they are read or encoded.
        codes = array.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))).any():
            raise HeadError("it holds texts that are not Unicode")
    return array.reshape(shape, order="F" if by_column else "C")


_DAMAGED = (
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
"""Errors that zipfile, zlib and the reading of an array may raise on a damaged archive."""


def read_npz(path: Path) -> Content:
    """Return the arrays of an existing npz file.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    try:
        with path.open("rb") as stream:
            # A single array begins as an npy file does, an archive as a zip file.
            if stream.read(len(_MAGIC)) == _MAGIC:
                raise InputError(
                    f"{path} holds a single array, not the named arrays of an npz file"
                )
            stream.seek(0)
            with zipfile.ZipFile(stream) as archive:
                # Files of the archive by the name of their array, without repeats.
                members: dict[str, zipfile.ZipInfo] = {}
                for info in archive.infolist():
                    if not info.filename.endswith(".npy"):
                        continue  # not an array, such as a note
                    name = info.filename.removesuffix(".npy")
                    if name in members:
                        raise InputError(
                            f"{path} holds {name[:60]!r} twice: write each array once, with "
                            "numpy.savez"
                        )
                    if info.flag_bits & 1 or info.compress_type not in _PACKED:
                        raise InputError(
                            f"{path} is encrypted or packed unusually: write it with numpy.savez"
                        )
                    members[name] = info
                # By the sizes in the archive's index: nothing is unpacked before.
                check_size(
                    path, path.stat().st_size, sum(info.file_size for info in members.values())
                )
                return {name: _member(archive, info, path) for name, info in members.items()}
    except (InputError, PermissionError):
        raise
    except _DAMAGED as error:
        raise InputError(f"{path} is damaged or no npz file ({damage(error)})") from error


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


def damage(error: BaseException) -> str:
    """Return the reason why an array or an archive cannot be read, in one line."""
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    if isinstance(error, zipfile.BadZipFile) and "not a zip" in str(error):
        return "not a zip archive"
    return (str(error).splitlines() or [type(error).__name__])[0]


# Parquet files: their unpacked size follows from index and dictionaries, and is checked first.

PARQUET_DAMAGE = (
    ValueError,  # pyarrow's ArrowInvalid among them
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    NotImplementedError,
    RuntimeError,  # RecursionError among them
    OverflowError,
    MemoryError,
    OSError,
)
"""Errors that pyarrow and pandas raise on a damaged file."""

# Bytes of a cell in memory, at least.
_CELL = 8

_CONTROL = r"[\x00-\x08\x0e-\x1f]"
_UUID = 16
"""Bytes of a UUID."""


def read_parquet(path: Path, without: Collection[str] = ()) -> pa.Table:
    """Return the table in an existing file.

    Parameters
    ----------
    path : Path
    without : collection of str
        Columns whose values are not read; they come back as missing numbers.

    Raises
    ------
    InputError
        If the columns unpack to far more than the file's size, or to more than the free memory.
    PARQUET_DAMAGE
        If the file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        require_once(path, file.schema_arrow.names)
        there = [name for name in file.schema_arrow.names if name not in without]
        # The size by the index: a repeated value takes a few bytes, however often it occurs.
        index = file.metadata
        groups = [index.row_group(i) for i in range(index.num_row_groups)]
        parts = [
            part
            for group in groups
            for part in map(group.column, range(group.num_columns))
            if part.path_in_schema.partition(".")[0] not in without
        ]
        cells = sum(max(_CELL * part.num_values, part.total_uncompressed_size) for part in parts)
        check_size(path, path.stat().st_size, max(cells, index.num_rows * index.num_columns))
        # The total length of texts by their dictionaries: one long text may be in every row.
        kind = pa.types
        texts = []
        for name in there:
            of = file.schema_arrow.field(name).type
            if kind.is_large_string(of) or kind.is_string(of) or kind.is_binary(of):
                texts.append(name)
        total = 0
        with pq.ParquetFile(path, read_dictionary=texts) as coded:
            for number in range(coded.num_row_groups if texts else 0):
                for column in coded.read_row_group(number, columns=texts).columns:
                    for chunk in column.chunks:
                        if kind.is_dictionary(chunk.type):
                            lengths = pc.binary_length(chunk.dictionary)
                            used = chunk.indices.drop_null().to_numpy(zero_copy_only=False)
                            of_used = lengths.to_numpy(zero_copy_only=False)[used]
                            total += int(of_used.sum(dtype=np.int64))
                check_size(path, path.stat().st_size, total)
        table = file.read(columns=there, use_pandas_metadata=True)
        table.validate(full=True)  # texts may not be UTF-8
        table = _readable(table)
        for place, name in enumerate(file.schema_arrow.names):
            if name in without:
                table = table.add_column(place, name, pa.nulls(index.num_rows).cast(pa.float64()))
        return table


def first_texts(path: Path, n: int) -> dict[str, list[str | None]]:
    """Return the first `n` values of each column of texts; nothing of a damaged file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = pa.types
    try:
        # Read as it streams: a group of rows may be larger than the memory.
        with pq.ParquetFile(path, buffer_size=PART, pre_buffer=False) as file:
            schema = file.schema_arrow
            names = [
                field.name
                for field in schema
                if kind.is_string(field.type) or kind.is_large_string(field.type)
            ]
            # Refused in `read_parquet`.
            if not names or len(set(schema.names)) < len(schema.names):
                return {}
            for batch in file.iter_batches(n, columns=names, use_threads=False):
                found: dict[str, list[str | None]] = batch.to_pydict()
                return found
    except PARQUET_DAMAGE:
        pass
    return {}


def first_values(path: Path, n: int) -> dict[str, list[Any]]:
    """Return the first `n` values of each column of a parquet file.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, buffer_size=PART, pre_buffer=False) as file:
            names = file.schema_arrow.names
            require_once(path, names)
            found: dict[str, list[Any]] = {name: [] for name in names}
            for batch in file.iter_batches(n, use_threads=False):
                found = batch.to_pydict()
                break
            return found
    except (InputError, PermissionError):
        raise
    except PARQUET_DAMAGE as error:
        raise InputError(f"{path} is damaged or no parquet file ({damage(error)})") from error


def shapes_in(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays in an npz or npy file by name, without reading the values.

    The array of an npy file is called "".

    Raises
    ------
    InputError
        If the file is damaged, or holds Python objects.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(len(_MAGIC)) == _MAGIC:
                stream.seek(0)
                return {"": read_head(stream)[0]}
            stream.seek(0)
            with zipfile.ZipFile(stream) as archive:
                found = {}
                for info in archive.infolist():
                    if info.filename.endswith(".npy"):
                        with archive.open(info) as member:
                            name = info.filename.removesuffix(".npy")
                            found[name] = read_head(member)[0]
                return found
    except _DAMAGED as error:
        raise InputError(
            f"{path} is damaged or no npz file of plain arrays ({damage(error)}): write it with "
            "numpy.savez"
        ) from error


def _readable(table: pa.Table) -> pa.Table:
    """Return a table with bytes as texts, and numbers that floats would round as texts.

    Those are large decimals, and large whole numbers in a column with gaps.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.types
    of_bytes = (
        kind.is_fixed_size_binary,
        kind.is_binary,
        kind.is_large_binary,
        kind.is_binary_view,
    )
    for place, field in enumerate(table.schema):
        column = table.column(place)
        # An extension type, such as a UUID, is read as the type that stores it.
        if isinstance(column.type, pa.BaseExtensionType):
            column = pa.chunked_array(
                [chunk.storage for chunk in column.chunks], column.type.storage_type
            )
        if kind.is_decimal(column.type) and column.type.scale > 0:
            column = column.cast(pa.float64())
        elif kind.is_decimal(column.type):
            # Whole decimals stay exact: a float would round above 2^53.
            try:
                column = column.cast(pa.int64())
            except pa.ArrowInvalid:
                column = column.cast(pa.string())
        elif any(is_one(column.type) for is_one in of_bytes):
            # Texts if they are UTF-8 without control characters; else UUIDs if every value has
            # their 16 bytes, or hex.
            if kind.is_fixed_size_binary(column.type):
                column = column.cast(pa.binary())
            try:
                texts = column.cast(pa.large_string())
                plain = not pc.any(pc.match_substring_regex(texts, _CONTROL)).as_py()
            except pa.ArrowInvalid:
                plain = False
            if not plain:
                of_uuids = pc.all(pc.equal(pc.binary_length(column), _UUID)).as_py()
                values = (
                    None if value is None else str(UUID(bytes=value)) if of_uuids else value.hex()
                    for value in column.to_pylist()
                )
                texts = pa.chunked_array([pa.array(values, pa.large_string())])
            column = texts
        elif kind.is_integer(column.type) and 0 < column.null_count < len(column):
            ends = pc.min_max(column).as_py()
            if max(-ends["min"], ends["max"]) >= 2**53:
                column = column.cast(pa.string())
        if column.type != field.type:
            table = table.set_column(place, field.name, column)
    return table
