"""Contents of a run: its record, its arrays as zarr files, and checks of results."""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import frozen, short_list
from privacygauge.core.release import Coins, Stored
from privacygauge.errors import InputError
from privacygauge.runs.folder import Folder
from privacygauge.runs.plan import ArraySpec, Plan, Task, canonical
from privacygauge.runs.threads import bytes_text, free_memory

_LEVEL = 1


class AbsentError(Exception):
    """A chunk is missing: its task is not done, or it was lost."""


@dataclass(frozen=True)
class Layout:
    """Layout of one array in the store."""

    dims: tuple[str, ...]
    """Name of each dimension."""
    shape: tuple[int, ...]
    """Length of each dimension."""
    chunks: tuple[int, ...]
    """Length of a chunk along each dimension."""
    dtype: str
    """Name of the numpy type."""
    compressed: bool = True
    """Whether chunks are compressed; they always have a checksum."""


def group_metadata(
    layouts: Mapping[str, Layout], attributes: Mapping[str, Any]
) -> dict[str, bytes]:
    """Return the metadata files of a group by key: one for the group, one per array."""
    group = {"attributes": dict(attributes), "zarr_format": 3, "node_type": "group"}
    described = {f"{name}/zarr.json": _array_metadata(layout) for name, layout in layouts.items()}
    return {
        key: json.dumps(told, indent=2).encode()
        for key, told in {"zarr.json": group, **described}.items()
    }


def _array_metadata(layout: Layout) -> dict[str, Any]:
    """Return the metadata of an array in zarr's format 3."""
    kind = np.dtype(layout.dtype)
    # Bytewise what zarr writes: items of one byte have no endianness, and the checksum comes last.
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
    """Return the files of the chunks that hold `values`, from row `start` on, by key.

    Parameters
    ----------
    layouts : mapping of str to Layout
    values : mapping of str to array
        Rows ``start:start + len(values)`` of each array: whole chunks, or up to the end.
    start : int
        First row, at the start of a chunk; default 0.

    Returns
    -------
    dict of str to bytes
        With every chunk, even one that holds only the fill value, so that an absent file is
        always a loss.
    """
    from google_crc32c import value
    from numcodecs.zstd import Zstd

    # Bytes equal those of zarr, but are made much faster.
    files = {}
    for name, layout in layouts.items():
        rows = values[name]
        encode = Zstd(level=_LEVEL).encode if layout.compressed else np.ndarray.tobytes
        kind = np.dtype(layout.dtype).newbyteorder("<")
        numbers = [range(-(-n // c)) for n, c in zip(rows.shape, layout.chunks, strict=True)]
        for first, *later in product(*numbers):
            place = zip((first, *later), layout.chunks, strict=True)
            part = rows[tuple(slice(i * c, (i + 1) * c) for i, c in place)]
            # The last chunk of a dimension is padded to full length, as zarr does.
            chunk = np.full(layout.chunks, np.nan if kind.kind == "f" else 0, kind)
            chunk[tuple(map(slice, part.shape))] = part
            content = encode(chunk)
            key = "/".join([name, "c", *map(str, (start // layout.chunks[0] + first, *later))])
            files[key] = content + value(content).to_bytes(4, "little")
    return files


def chunk_keys(name: str, layout: Layout, number: int) -> list[str]:
    """Return the keys of all chunks with index `number` along the first dimension."""
    sizes = zip(layout.shape[1:], layout.chunks[1:], strict=True)
    later = product(*(range(-(-length // chunk)) for length, chunk in sizes))
    return ["/".join([name, "c", str(number), *map(str, place)]) for place in later]


def layout_of(content: bytes) -> Layout:
    """Parse the layout of an array from its metadata file.

    A foreign store may name a codec that runs code, such as one that unpickles, so only layouts
    that this module writes are accepted.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it is not JSON, has another format, or names other codecs or types.
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
    # Through JSON, which turns tuples into lists.
    written = json.loads(json.dumps(_array_metadata(layout)))
    if np.dtype(layout.dtype).kind not in "biuf" or not fits or told != written:
        raise ValueError("an array that was not written as runs are")
    return layout


Selection = NDArray[np.intp]
"""Indices along one dimension, in the order of the result."""


def read_chunks(
    layout: Layout, name: str, places: Sequence[Selection], get: Callable[[str], bytes | None]
) -> NDArray[Any]:
    """Return the values at the given indices along each dimension, reading only their chunks.

    Parameters
    ----------
    layout : Layout
    name : str
        Name of the array.
    places : sequence of ndarray of int
        Indices along each dimension.
    get : callable
        Maps a key to its bytes, or to None if there are none.

    Raises
    ------
    AbsentError
        If a chunk is missing. Zarr would return the fill value, which for booleans and integers
        looks like any other value: no members, or all records of class 0.
    ValueError, RuntimeError
        If a chunk is damaged.
    """
    values = np.empty([len(some) for some in places], layout.dtype)
    # Along each dimension and per chunk: its number, the indices of its values in the result, and
    # those in the chunk.
    parts = []
    for some, length in zip(places, layout.chunks, strict=True):
        owner = some // length
        found = [(number, np.flatnonzero(owner == number)) for number in np.unique(owner).tolist()]
        parts.append([(number, there, some[there] - number * length) for number, there in found])
    for part in product(*parts):
        numbers, there, here = zip(*part, strict=True)
        content = get("/".join([name, "c", *map(str, numbers)]))
        if content is None:
            raise AbsentError
        values[_index(there)] = _decode_chunk(layout, content)[_index(here)]
    return values


def _index(places: Sequence[Selection]) -> tuple[Any, ...]:
    """Return an index for positions along each dimension; slices if possible, to copy fast."""
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
    # Decoded into memory of the planned size, so that a chunk that unpacks to more is refused.
    if layout.compressed:
        Zstd().decode(packed, chunk)
        return chunk
    return np.frombuffer(packed, chunk.dtype).reshape(layout.chunks)


DIGEST = "digest"
_BLOCK = 1 << 24
"""Bytes of an array hashed at a time."""


@dataclass(frozen=True, eq=False)
class Static:
    """An array known before the run starts, such as the membership in each model."""

    dims: tuple[str, ...]
    """Name of each dimension."""
    values: NDArray[Any]
    """Booleans, integers or floats, at least one value; `Coins` are drawn block by block."""

    def __post_init__(self) -> None:
        values = self.values if isinstance(self.values, Coins) else np.asarray(self.values)
        # Checked by the rules of a spec: one name per dimension, a portable type.
        ArraySpec(self.dims, values.shape, values.dtype.name)
        object.__setattr__(self, "dims", tuple(self.dims))
        if not isinstance(values, Coins):
            object.__setattr__(self, "values", frozen(np.ascontiguousarray(values)))

    @property
    def sha256(self) -> str:
        """Checksum of names, type, shape and values, in hexadecimal."""
        values = self.values
        kind = self.values.dtype
        digest = hashlib.sha256(f"{self.dims} {kind.name} {values.shape} ".encode())
        step = max(1, _BLOCK // max(1, prod(values.shape[1:]) * kind.itemsize))
        for start in range(0, len(values), step):
            part = values[start : start + step].astype(kind.newbyteorder("<"), copy=False)
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def layouts(plan: Plan) -> dict[str, Layout]:
    """Return the layouts of the plan's arrays; a task is one chunk along the first dimension."""
    return {
        name: Layout(spec.dims, spec.shape, (plan.units_a_task, *spec.chunks), spec.dtype)
        for name, spec in plan.arrays.items()
    }


def digest_layout(plan: Plan) -> dict[str, Layout]:
    """Return the layout of the digests: one chunk of 32 bytes per task."""
    shape = (plan.n_tasks, 32)
    return {DIGEST: Layout(("task", "byte"), shape, (1, 32), "uint8", compressed=False)}


def task_digest(plan: Plan, task: Task, files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the sha256 of a task's inputs and its chunks; `files` must be sorted by key."""
    inputs = plan.fingerprint
    # In a run that can grow, only the inputs of the task's own units count.
    if plan.units:
        inputs = canonical([plan.constant, task.start, *plan.units[task.start : task.stop]])
    digest = hashlib.sha256(inputs.encode())
    for key, content in files:
        digest.update(f"\n{key} {len(content)}\n".encode())
        digest.update(content)
    return digest.digest()


def check_task_arrays(
    plan: Plan, task: Task, values: Mapping[str, ArrayLike]
) -> dict[str, NDArray[Any]]:
    """Convert a task's results to the planned types, and refuse any that do not fit."""
    if set(values) != set(plan.arrays):
        raise InputError(
            f"a task must give the arrays {short_list(plan.arrays)}, got "
            f"{short_list(sorted(values))}"
        )
    converted = {}
    for name, spec in plan.arrays.items():
        array = np.asarray(values[name])
        shape = (task.n_units, *spec.shape[1:])
        if array.shape != shape:
            raise InputError(f"{name} must have the shape {shape} in this task, got {array.shape}")
        if not np.can_cast(array.dtype, spec.dtype, "same_kind"):
            raise InputError(f"{name} must be of type {spec.dtype}, got {array.dtype}")
        # A value beyond a narrower float becomes infinite, which is refused below.
        with np.errstate(over="ignore"):
            fitting = array.astype(spec.dtype, copy=False)
        if fitting.dtype.kind == "f" and fitting.dtype.itemsize < array.dtype.itemsize:
            beyond = np.isinf(fitting) & np.isfinite(array)
            if beyond.any():
                raise InputError(
                    f"{name} holds {array[beyond][0]:g}, which is beyond {spec.dtype}: plan a "
                    "wider type"
                )
        converted[name] = fitting
    return converted


_FORMAT = 1


@dataclass(frozen=True)
class Record:
    """Record of a run; stored twice with a checksum, so that one copy may be lost or damaged."""

    plan: Plan
    """Plan of the run."""
    static: Mapping[str, str]
    """The sha256 of each static array, by name."""
    invocation: Mapping[str, Any] | None
    """Arguments of the command that started the run; None if it was started from Python."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "static", MappingProxyType(dict(sorted(self.static.items()))))

    def to_mapping(self) -> dict[str, Any]:
        """Return the record as JSON values, including its checksum."""
        content = {
            "format": _FORMAT,
            "plan": json.loads(self.plan.to_json()),
            "static": self.static,
            "invocation": self.invocation,
        }
        plain: dict[str, Any] = json.loads(canonical(content))
        checksum = hashlib.sha256(canonical(plain).encode()).hexdigest()
        return {**plain, "fingerprint": self.plan.fingerprint, "sha256": checksum}

    def to_bytes(self) -> bytes:
        """Return the record as an indented JSON file."""
        return (json.dumps(self.to_mapping(), indent=2) + "\n").encode()


def record_in(content: bytes | None, *, inside: tuple[str, ...] = ()) -> Record | None:
    """Return the record in a JSON file; None if it is absent or damaged.

    Parameters
    ----------
    content : bytes or None
        Content of the file.
    inside : tuple of str
        Keys that lead to the record; default: the file itself is the record.

    Raises
    ------
    InputError
        If another version of PrivacyGauge wrote it, with a different format.
    """
    try:
        stored = json.loads(content or b"")
        for key in inside:
            stored = stored[key]
        # The checksum covers these four; a damaged or foreign file fails on the way, if not here.
        named = ("format", "plan", "static", "invocation")
        plain = {name: stored[name] for name in named}
        sound = stored["sha256"] == hashlib.sha256(canonical(plain).encode()).hexdigest()
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not sound:
        return None
    if plain["format"] != _FORMAT:
        raise InputError(
            f"the run has format {plain['format']}, this version of PrivacyGauge reads {_FORMAT}: "
            "use the version that wrote it"
        )
    plan = Plan.from_json(json.dumps(plain["plan"]))
    return Record(plan, plain["static"], plain["invocation"])


UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    RuntimeError,  # RecursionError, and what codecs raise
    OverflowError,
    MemoryError,
)
"""Exceptions that reading a damaged array may raise."""


class Rows(Stored, Protocol):
    """An array on disk; slicing it reads only the chunks of the selected rows."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """An array in a run's folder, which may be damaged or foreign."""

    layout: Layout
    """Layout of the array."""
    folder: Folder
    """Folder of the run."""
    group: str
    """Prefix of the keys of the run's arrays."""
    name: str
    """Name of the array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""
        return self.layout.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.dtype(self.layout.dtype)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Length of a chunk along each dimension."""
        return self.layout.chunks

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the selected rows as a numpy array.

        Parameters
        ----------
        rows : int, slice, array of int or bool, or a tuple of them
            Selection along the first dimensions; several index arrays select all combinations.

        Raises
        ------
        InputError
            If some rows are missing or unreadable, or the whole array is requested and does not fit
            into memory.
        """
        path = self.folder.path
        # Slices are small; only a request for the whole array may not fit into memory.
        whole = isinstance(rows, slice) and rows == slice(None)
        n_bytes = prod(self.shape) * self.dtype.itemsize if whole else 0
        if n_bytes > free_memory():
            raise InputError(
                f"{path}: the array {self.name} takes {bytes_text(n_bytes)} of memory, and "
                f"{bytes_text(free_memory())} are free: use a larger machine"
            )
        asked = (rows if isinstance(rows, tuple) else (rows,)) + (slice(None),) * len(self.shape)
        pairs = list(zip(asked[: len(self.shape)], self.shape, strict=True))
        places = [np.atleast_1d(np.arange(length)[some]) for some, length in pairs]
        # A single number drops its dimension, as in numpy.
        kept = tuple(0 if np.ndim(np.arange(length)[some]) == 0 else slice(None)
                     for some, length in pairs)  # fmt: skip
        try:
            return read_chunks(self.layout, f"{self.group}/{self.name}", places, self.folder.get)[
                kept
            ]
        except AbsentError as error:
            raise InputError(
                f"{path} lacks a part of the array {self.name}: start the run again to complete it"
            ) from error
        except UNREADABLE as error:
            raise unreadable(path, self.name) from error


def unreadable(path: str, name: str) -> InputError:
    """Return the error for a damaged array."""
    return InputError(f"{path} has no readable array {name}: start the run again to repair it")
