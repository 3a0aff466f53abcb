"""Parquet files: what they unpack to is known from their index and dictionaries, and bounded."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.datasets.bounds import check_size

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
        _check_cells(file.metadata, path)
        _check_texts(path, file.schema_arrow, there)
        table = file.read(columns=there, use_pandas_metadata=names is None)
        table.validate(full=True)  # texts may not be UTF-8
        return table


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
