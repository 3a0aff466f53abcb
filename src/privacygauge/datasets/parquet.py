"""Parquet files: what they unpack to is known from their index and dictionaries, and bounded."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from privacygauge.datasets.bounds import check_size, require_once

if TYPE_CHECKING:
    import pyarrow as pa

DAMAGE = (
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
"""What pyarrow and pandas raise over a damaged file."""

_CELL = 8

_UUID = 16
"""Bytes of a UUID."""


def read_columns(path: Path, names: Collection[str] | None = None) -> pa.Table:
    """Return a table's columns, of a file that exists; all of them where no names are given.

    Parameters
    ----------
    path : Path
    names : collection of str, optional
        Those that are not in the file are left out.

    Raises
    ------
    InputError
        If they unpack to far more than the file holds, or than the memory takes.
    DAMAGE
        If the file cannot be read.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        there = [x for x in file.schema_arrow.names if names is None or x in names]
        require_once(path, there)
        _check_cells(file.metadata, path)
        _check_texts(path, file.schema_arrow, there)
        table = file.read(columns=there, use_pandas_metadata=names is None)
        table.validate(full=True)  # texts may not be UTF-8
        return _readable(table)


def _readable(table: pa.Table) -> pa.Table:
    """Return a table with bytes as texts, and decimals as numbers or, where too large, texts."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        column = table.column(place)
        if isinstance(column.type, pa.BaseExtensionType):
            column = pa.chunked_array(
                [chunk.storage for chunk in column.chunks], column.type.storage_type
            )
        if pa.types.is_decimal(column.type):
            column = _number(column)
        elif pa.types.is_fixed_size_binary(column.type) or _is_binary(column.type):
            column = _text(column)
        if column.type != field.type:
            table = table.set_column(place, field.name, column)
    return table


def _is_binary(kind: pa.DataType) -> bool:
    import pyarrow as pa

    known = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(is_one(kind) for is_one in known)


def _number(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    if column.type.scale > 0:
        return column.cast(pa.float64())
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column.cast(pa.string())


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return bytes as the texts that they are, or else as UUIDs where all have 16, or else as hex.

    Texts hold no control characters.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    try:
        texts = column.cast(pa.large_string())
        if not pc.any(pc.match_substring_regex(texts, r"[\x00-\x08\x0e-\x1f]")).as_py():
            return texts
    except pa.ArrowInvalid:
        pass
    if pc.all(pc.equal(pc.binary_length(column), _UUID)).as_py():
        return _convert_values(column, lambda value: str(UUID(bytes=value)))
    return _convert_values(column, bytes.hex)


def _convert_values(column: pa.ChunkedArray, written: Callable[[bytes], str]) -> pa.ChunkedArray:
    import pyarrow as pa

    values = (None if value is None else written(value) for value in column.to_pylist())
    return pa.chunked_array([pa.array(values, pa.large_string())])


def _check_cells(index: Any, path: Path) -> None:
    """Check what the index promises: a repeated value takes a few bytes, however often it is."""
    groups = [index.row_group(i) for i in range(index.num_row_groups)]
    parts = [group.column(j) for group in groups for j in range(group.num_columns)]
    cells = sum(max(_CELL * part.num_values, part.total_uncompressed_size) for part in parts)
    cells = max(cells, index.num_rows * index.num_columns)
    check_size(path, path.stat().st_size, cells)


def _check_texts(path: Path, schema: pa.Schema, names: Collection[str]) -> None:
    """Check texts by the lengths in their dictionaries: one long text may stand in every row."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    texts = [x for x in names if pa.types.is_large_string(t := schema.field(x).type)
             or pa.types.is_string(t) or pa.types.is_binary(t)]  # fmt: skip
    total = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for group in range(file.num_row_groups if texts else 0):
            for column in file.read_row_group(group, columns=texts).columns:
                for chunk in column.chunks:
                    if pa.types.is_dictionary(chunk.type):
                        lengths = pc.binary_length(chunk.dictionary).to_numpy(zero_copy_only=False)
                        used = chunk.indices.drop_null().to_numpy(zero_copy_only=False)
                        total += int(lengths[used].sum(dtype=np.int64))
            check_size(path, path.stat().st_size, total)
