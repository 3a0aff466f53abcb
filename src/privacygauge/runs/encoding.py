"""Arrays as the files of a zarr group: bytes by key, without touching a disk.

Every file is made in memory and written afterwards, so that a run can be compared with its expected
content byte for byte: damage is detected without being understood.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEVEL = 1


class AbsentError(Exception):
    """A chunk is missing: its task is not done, or it was lost."""


@dataclass(frozen=True)
class Layout:
    """Layout of one array in the store."""

    dims: tuple[str, ...]
    """A name for every dimension."""
    shape: tuple[int, ...]
    """The length of every dimension."""
    chunks: tuple[int, ...]
    """The length of a chunk along every dimension."""
    dtype: str
    """Numpy's name of the type."""
    compressed: bool = True
    """Whether chunks are compressed; they have a checksum in any case."""

    @property
    def fill(self) -> float | bool:
        """The fill value of unwritten chunks: NaN for floats, otherwise 0."""
        return np.nan if np.dtype(self.dtype).kind == "f" else False


def group_metadata(
    layouts: Mapping[str, Layout], attributes: Mapping[str, Any]
) -> dict[str, bytes]:
    """Return the metadata files of a group: one for the group, one for every array."""
    group = {"attributes": dict(attributes), "zarr_format": 3, "node_type": "group"}
    described = {f"{name}/zarr.json": _array_metadata(layout) for name, layout in layouts.items()}
    return {
        key: json.dumps(told, indent=2).encode()
        for key, told in {"zarr.json": group, **described}.items()
    }


def _array_metadata(layout: Layout) -> dict[str, Any]:
    """Return the metadata of an array in zarr's format 3."""
    kind = np.dtype(layout.dtype)
    order = {"configuration": {"endian": "little"}} if kind.itemsize > 1 else {}
    zstd = {"name": "zstd", "configuration": {"level": _LEVEL, "checksum": False}}
    return {
        "shape": layout.shape,
        "data_type": layout.dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": layout.chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": {"f": "NaN", "b": False}.get(kind.kind, 0),
        "codecs": [{"name": "bytes", **order}, *[zstd] * layout.compressed, {"name": "crc32c"}],
        "attributes": {},
        "dimension_names": layout.dims,
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }


def chunk_files(
    layouts: Mapping[str, Layout], values: Mapping[str, NDArray[Any]], start: int = 0
) -> dict[str, bytes]:
    """Return the chunks that hold `values` from row `start` on, which begins a chunk.

    Parameters
    ----------
    layouts : mapping of str to Layout
    values : mapping of str to array
        For every layout the rows ``start:start + len(values)``: whole chunks, or the last ones.
    start : int
        Default 0.

    Returns
    -------
    dict of str to bytes
        Every chunk is there, one that holds nothing but the fill value too: an absent file is
        always a loss.
    """
    return {
        "/".join([name, "c", *map(str, place)]): content
        for name, layout in layouts.items()
        for place, content in _chunks(layout, values[name], start)
    }


def _chunks(
    layout: Layout, rows: NDArray[Any], start: int
) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """Yield the place and the bytes of each chunk, the same as zarr's but much faster."""
    from google_crc32c import value
    from numcodecs.zstd import Zstd

    encode = Zstd(level=_LEVEL).encode if layout.compressed else np.ndarray.tobytes
    kind = np.dtype(layout.dtype).newbyteorder("<")
    numbers = [range(-(-n // c)) for n, c in zip(rows.shape, layout.chunks, strict=True)]
    for place in product(*numbers):
        corner = (slice(i * c, (i + 1) * c) for i, c in zip(place, layout.chunks, strict=True))
        part = rows[tuple(corner)]
        chunk = np.full(layout.chunks, layout.fill, kind)
        chunk[tuple(map(slice, part.shape))] = part
        content = encode(chunk)
        at = (start // layout.chunks[0] + place[0], *place[1:])
        yield at, content + value(content).to_bytes(4, "little")


def chunk_keys(name: str, layout: Layout, number: int) -> list[str]:
    """Return the keys of the chunks number `number` along the first dimension of an array."""
    sizes = zip(layout.shape[1:], layout.chunks[1:], strict=True)
    later = product(*(range(-(-length // chunk)) for length, chunk in sizes))
    return ["/".join([name, "c", str(number), *map(str, place)]) for place in later]


def layout_of(content: bytes) -> Layout:
    """Parse the layout of an array from its metadata file.

    A foreign store may name a codec that runs code, such as one that unpickles: only layouts that
    this module writes are accepted.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it is not JSON, of another format, or names other codecs or types.
    """
    told = json.loads(content)
    lengths = told["shape"], told["chunk_grid"]["configuration"]["chunk_shape"]
    shape, chunks = (tuple(operator.index(length) for length in axis) for axis in lengths)
    compressed = "zstd" in [codec["name"] for codec in told["codecs"]]
    layout = Layout(
        dims=tuple(told["dimension_names"]),
        shape=shape,
        chunks=chunks,
        dtype=str(told["data_type"]),
        compressed=compressed,
    )
    fits = len(shape) == len(chunks) == len(layout.dims) and min(*shape, *chunks, 1) == 1
    # As JSON gives it back, with lists for tuples.
    written = json.loads(json.dumps(_array_metadata(layout)))
    if np.dtype(layout.dtype).kind not in "biuf" or not fits or told != written:
        raise ValueError("an array that was not written as runs are")
    return layout


Selection = NDArray[np.intp]
"""Indices along a dimension, in the order in which they are read."""


def read_chunks(
    layout: Layout, name: str, places: Sequence[Selection], get: Callable[[str], bytes | None]
) -> NDArray[Any]:
    """Return the values at some indices along each dimension, reading only their chunks.

    Parameters
    ----------
    layout : Layout
    name : str
        The array's.
    places : sequence of ndarray of int
        For each dimension.
    get : callable
        Returns the bytes under a key, or None where there are none.

    Raises
    ------
    AbsentError
        If a chunk is missing. Zarr would read the fill value, which for booleans and integers looks
        like any other value: no members, or all records of class 0.
    ValueError, RuntimeError
        If a chunk is damaged.
    """
    values = np.empty([len(some) for some in places], layout.dtype)
    parts = [list(_by_chunk(some, c)) for some, c in zip(places, layout.chunks, strict=True)]
    for part in product(*parts):
        numbers, there, here = zip(*part, strict=True)
        content = get("/".join([name, "c", *map(str, numbers)]))
        if content is None:
            raise AbsentError
        values[_index(there)] = _decode_chunk(layout, content)[_index(here)]
    return values


def _by_chunk(places: Selection, length: int) -> Iterator[tuple[int, Selection, Selection]]:
    """Yield each chunk's number, the target indices of its values, and their indices in it."""
    numbers = places // length
    for number in np.unique(numbers).tolist():
        there = np.flatnonzero(numbers == number)
        yield number, there, places[there] - number * length


def _index(places: Sequence[Selection]) -> tuple[Any, ...]:
    """Return an index for positions along each dimension; slices, where possible, copy fast."""
    steps = [slice(some[0], some[-1] + 1) for some in places]
    runs = (len(some) == s.stop - s.start and (np.diff(some) == 1).all()
            for some, s in zip(places, steps, strict=True))  # fmt: skip
    return tuple(steps) if all(runs) else np.ix_(*places)


def _decode_chunk(layout: Layout, content: bytes) -> NDArray[Any]:
    from google_crc32c import value
    from numcodecs.zstd import Zstd

    packed = content[:-4]
    checksum = content[-4:]
    if len(checksum) < 4 or value(packed) != int.from_bytes(checksum, "little"):
        raise ValueError("a chunk differs from its checksum")
    chunk = np.zeros(layout.chunks, np.dtype(layout.dtype).newbyteorder("<"))
    # Into memory of the planned size: a chunk that unpacks to more is refused.
    if layout.compressed:
        Zstd().decode(packed, chunk)
        return chunk
    return np.frombuffer(packed, chunk.dtype).reshape(layout.chunks)
