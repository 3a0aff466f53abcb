"""Arrays as the files of a zarr group: bytes by key, without touching a disk.

Every file is made in memory and written afterwards, so what a run holds can be compared with what
it should hold byte for byte: no damage has to be understood to be found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CODECS = {"bytes", "zstd", "crc32c"}


@dataclass(frozen=True)
class Layout:
    """How one array lies in the store."""

    dims: tuple[str, ...]
    """A name for every dimension."""
    shape: tuple[int, ...]
    """The length of every dimension."""
    chunks: tuple[int, ...]
    """The length of a chunk along every dimension."""
    dtype: str
    """Numpy's name of the type."""
    compressed: bool = True
    """Whether chunks are compressed; a checksum they have in any case."""

    @property
    def fill(self) -> float | bool:
        """What is read where nothing was written: no number for floats, else 0."""
        return np.nan if np.dtype(self.dtype).kind == "f" else False


def metadata(layouts: Mapping[str, Layout], attributes: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files that describe a group: one for the group, one for every array."""
    files: dict[str, Any] = {}
    _arrays(files, layouts, attributes)
    return {key: buffer.to_bytes() for key, buffer in files.items()}


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
    files: dict[str, Any] = {}
    for name, array in _arrays(files, layouts, {}).items():
        array[start : start + len(values[name])] = values[name]
    return {key: buffer.to_bytes() for key, buffer in files.items() if "/c/" in key}


def chunk_keys(name: str, layout: Layout, number: int) -> list[str]:
    """Return the keys of the chunks number `number` along the first dimension of an array."""
    sizes = zip(layout.shape[1:], layout.chunks[1:], strict=True)
    later = product(*(range(-(-length // chunk)) for length, chunk in sizes))
    return ["/".join([name, "c", str(number), *map(str, place)]) for place in later]


def require_plain(content: bytes) -> None:
    """Refuse the description of an array unless it is one that this module writes.

    A store of somebody else's may name a codec that runs code, such as one that unpickles.

    Raises
    ------
    ValueError
        If it is not JSON, of another format, or names other codecs or types.
    """
    told = json.loads(content)
    codecs = {codec["name"] for codec in told["codecs"]}
    kind = np.dtype(str(told["data_type"])).kind
    plain = kind in "biuf" and codecs <= _CODECS and not told.get("storage_transformers")
    if told["zarr_format"] != 3 or not plain:
        raise ValueError(f"an array of {told['data_type']} with the codecs {sorted(codecs)}")


def _arrays(
    files: dict[str, Any], layouts: Mapping[str, Layout], attributes: Mapping[str, Any]
) -> dict[str, Any]:
    import zarr
    from zarr.codecs import Crc32cCodec, ZstdCodec
    from zarr.storage import MemoryStore

    group = zarr.create_group(MemoryStore(files), attributes=dict(attributes), zarr_format=3)
    return {
        name: group.create_array(
            name,
            shape=layout.shape,
            chunks=layout.chunks,
            dtype=layout.dtype,
            fill_value=layout.fill,
            dimension_names=layout.dims,
            compressors=[ZstdCodec(level=1)] * layout.compressed + [Crc32cCodec()],
            config={"write_empty_chunks": True},
        )
        for name, layout in layouts.items()
    }
