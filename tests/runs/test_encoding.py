"""What is written here is what zarr itself would write, byte for byte."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.codecs import Crc32cCodec, ZstdCodec
from zarr.core.buffer.cpu import Buffer as CpuBuffer
from zarr.storage import MemoryStore

from privacygauge.runs.contents import (
    AbsentError,
    Layout,
    chunk_files,
    chunk_keys,
    group_metadata,
    layout_of,
    read_chunks,
)

TYPES = ("bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64")


def by_zarr(
    layouts: dict[str, Layout], values: dict[str, np.ndarray], start: int, attributes: dict
) -> dict[str, bytes]:
    """Return the files of a group, by zarr."""
    files: dict[str, Any] = {}
    group = zarr.create_group(MemoryStore(files), attributes=attributes, zarr_format=3)
    for name, layout in layouts.items():
        made = group.create_array(
            name,
            shape=layout.shape,
            chunks=layout.chunks,
            dtype=layout.dtype,
            fill_value=np.nan if layout.dtype.startswith("float") else 0,
            dimension_names=layout.dims,
            compressors=[ZstdCodec(level=1)] * layout.compressed + [Crc32cCodec()],
            config={"write_empty_chunks": True},
        )
        made[start : start + len(values[name])] = values[name]
    return {key: buffer.to_bytes() for key, buffer in files.items()}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Layout, int, np.ndarray]:
    """Return a layout, a row that begins a chunk, and values of some rows from there on."""
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    chunks = tuple(draw(st.integers(1, length + 2)) for length in shape)
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    start = draw(st.integers(0, (shape[0] - 1) // chunks[0])) * chunks[0]
    n_rows = draw(st.sampled_from([min(chunks[0], shape[0] - start), shape[0] - start]))
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    values = rng.integers(0, 2, size=(n_rows, *shape[1:])).astype(dtype)
    if dtype.kind == "f" and draw(st.booleans()):
        values[rng.random(values.shape) < 0.5] = np.nan
    order = draw(st.sampled_from(["C", "F"]))
    layout = Layout(tuple("abc"[: len(shape)]), shape, chunks, dtype.name, draw(st.booleans()))
    return layout, start, np.asarray(values, order=order)


@given(cases(), cases())
def test_the_files_are_those_of_zarr(one, other) -> None:
    layouts = {"one": one[0], "other": other[0]}
    attributes = {"said": ["naïve", None, 1.5, {"b": 1, "a": True}]}
    described = group_metadata(layouts, attributes)
    for name, (_, start, values) in {"one": one, "other": other}.items():
        layout = {name: layouts[name]}
        files = by_zarr(layout, {name: values}, start, attributes)
        chunks = chunk_files(layout, {name: values}, start)
        assert chunks == {key: content for key, content in files.items() if "/c/" in key}
        inside = f"{name}/zarr.json"
        assert json.loads(described[inside]) == json.loads(files[inside])
        assert described["zarr.json"] == files["zarr.json"]
        assert layout_of(described[inside]) == layouts[name]
        firsts = {key.split("/")[2] for key in chunks}
        keys = [key for i in firsts for key in chunk_keys(name, layouts[name], int(i))]
        assert sorted(keys) == sorted(chunks)


@given(cases(), st.data())
def test_reads_what_zarr_reads(case, data) -> None:
    layout, start, values = case
    files: dict[str, Any] = by_zarr({"one": layout}, {"one": values}, start, {})
    store = {key: CpuBuffer.from_bytes(content) for key, content in files.items()}
    whole = zarr.open_array(MemoryStore(store), path="one", mode="r", zarr_format=3)[:]
    places = [
        np.array(data.draw(st.lists(st.integers(0, length - 1), max_size=9)), np.intp)
        for length in layout.shape
    ]
    for asked in (places, [np.arange(length) for length in layout.shape]):
        numbers = [np.unique(some // c) for some, c in zip(asked, layout.chunks, strict=True)]
        if {"/".join(["one", "c", *map(str, at)]) for at in product(*numbers)} - set(files):
            with pytest.raises(AbsentError):
                read_chunks(layout, "one", asked, files.get)
            continue
        found = read_chunks(layout, "one", asked, files.get)
        assert found.dtype == whole.dtype
        np.testing.assert_array_equal(found, whole[np.ix_(*asked)])


@pytest.mark.parametrize("compressed", [True, False])
def test_a_damaged_chunk_is_never_read_as_values(compressed: bool) -> None:
    layout = Layout(("a", "b"), (4, 3), (2, 3), "float32", compressed)
    files = chunk_files({"one": layout}, {"one": np.arange(12.0).reshape(4, 3)})
    everything = [np.arange(4), np.arange(3)]
    content = files["one/c/1/0"]
    others = Layout(("a", "b"), (40, 30), (20, 30), "float32", compressed)
    larger = chunk_files({"one": others}, {"one": np.ones((40, 30))})["one/c/1/0"]
    flipped = [content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :] for i in range(9)]
    for damaged in (b"", content[:-1], content[:3], larger, *flipped):
        with pytest.raises((ValueError, RuntimeError)):
            read_chunks(layout, "one", everything, {**files, "one/c/1/0": damaged}.get)
