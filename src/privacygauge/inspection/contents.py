"""Contents of a fitted model: its arrays, texts, leaf sizes and notes, from an object or a file.

Files are read as data. Nothing is unpickled but tensors, by PyTorch's own loader of weights; no
class is looked up by its name, nothing is extracted from an archive to the disk, and what a file
promises is compared with its size before memory is taken for it.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import contextlib
import datetime
import functools
import importlib
import io
import json
import lzma
import re
import struct
import types
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.datasets.archives import ObjectError, check_size, damage, read_stream_array
from privacygauge.errors import InputError

MOST_PARTS = 2_000_000
"""Most parts of an object, such as attributes and elements of lists, that are looked at."""

MOST_DENSE = 50_000_000
"""Most numbers of a sparse matrix that are looked at as a dense one."""

MOST_NUMBERS = 200_000_000
"""Most numbers of an array that is compared with a table."""

MOST_TEXT = 100_000
"""Most characters of a text in which paths, hosts and names of users are looked for."""


MOST_UNPACKED = 50_000_000
"""Most bytes of a packed or encoded text that are unpacked in memory."""

_UNREAD = 256
"""Bytes of unknown meaning beyond which they may hold rows; a key or a digest has fewer."""

_NO_DATA = (
    type, types.ModuleType, types.BuiltinFunctionType, np.ufunc, np.dtype, np.random.Generator,
    np.random.RandomState,
)  # fmt: skip
"""Kinds of objects that hold no data of anybody."""


def date_texts(values: NDArray[Any]) -> list[str]:
    """Return dates as texts, with their time if one of them has one; missing ones are empty."""
    days = values.astype("M8[D]")
    missing = np.isnat(values)
    exact = values.astype("M8[s]")
    shown = days if (missing | (days.astype("M8[s]") == exact)).all() else exact
    return np.where(missing, "", np.datetime_as_string(shown)).ravel().tolist()


@dataclass(frozen=True)
class Numbers:
    """An array of numbers and its place in the model."""

    place: str
    """Path of attributes and keys that leads to it, such as ``steps[1]._fit_X``."""
    owner: str
    """Class that holds it, or operator of a graph; empty if unknown."""
    values: NDArray[Any]
    """The numbers, of any shape."""

    @property
    def name(self) -> str:
        """Last name of the place, without indices."""
        return re.sub(r"\[[^]]*\]", "", self.place).rpartition(".")[2]


@dataclass(frozen=True)
class Texts:
    """Texts that stand together in one place of the model."""

    place: str
    """Path of attributes and keys that leads to them."""
    owner: str
    """Class that holds them; empty if unknown."""
    values: tuple[str, ...]
    """The texts."""


@dataclass(frozen=True)
class Fields:
    """Numbers and texts that stand together, such as the rows of a table."""

    place: str
    """Path of attributes and keys that leads to them."""
    owner: str
    """Class that holds them; empty if unknown."""
    values: NDArray[np.object_]
    """(rows, columns) The fields."""
    names: tuple[str, ...] = ()
    """Names of the columns; empty if unknown."""


@dataclass(frozen=True)
class Contents:
    """All that was found in a model."""

    form: str
    """Kind of object, or format of the file, in words."""
    numbers: tuple[Numbers, ...]
    """Arrays, in the order of their places."""
    texts: tuple[Texts, ...]
    """Texts, in the order of their places."""
    fields: tuple[Fields, ...]
    """Tables of numbers and texts, in the order of their places."""
    leaves: tuple[tuple[str, Ints], ...]
    """Place of each tree, and the number of training records in each of its leaves."""
    notes: tuple[tuple[str, str], ...]
    """Place and text of comments, descriptions and logs."""
    parts: tuple[tuple[str, object], ...]
    """Place and object of each estimator within an object, the outermost first."""
    skipped: tuple[Skipped, ...]
    """Parts that could not be read, with reasons."""
    model: object = None
    """The object itself; None for a file."""


@dataclass
class _Collection:
    """Contents while they are collected."""

    limit: tuple[Path, int] | None = None
    """File that is read and its size in bytes, which bounds the size of its arrays."""
    numbers: list[Numbers] = field(default_factory=list)
    texts: list[Texts] = field(default_factory=list)
    fields: list[Fields] = field(default_factory=list)
    leaves: list[tuple[str, Ints]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    parts: list[tuple[str, object]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    n_bytes: int = 0
    n_unpacked: int = 0
    """Bytes that were unpacked or decoded."""
    arrays: dict[tuple[int, tuple[int, ...], tuple[int, ...]], NDArray[Any]] = field(
        default_factory=dict
    )
    """Arrays that were seen, by address, shape and strides: each is looked at once."""

    def done(self, form: str, model: object = None) -> Contents:
        """Return the contents."""
        skipped = tuple(Skipped(what, why) for what, why in self.skipped.items())
        return Contents(
            form,
            tuple(self.numbers),
            tuple(self.texts),
            fields=tuple(self.fields),
            leaves=tuple(self.leaves),
            notes=tuple(self.notes),
            parts=tuple(self.parts),
            skipped=skipped,
            model=model,
        )

    def add_array(self, values: NDArray[Any], place: str, owner: str) -> list[object]:
        """Add an array; return the elements of an array of objects that are to be looked at."""
        key = (values.ctypes.data, values.shape, values.strides)
        if not values.size or key in self.arrays:
            return []
        if values.size > MOST_NUMBERS:
            self.skipped[place] = f"an array of {values.size:,} numbers, more than are compared"
            return []
        self.arrays[key] = values
        kind = values.dtype.kind
        self.n_bytes += values.size * values.dtype.itemsize
        if self.limit is not None:
            check_size(self.limit[0], self.limit[1], self.n_bytes)
        if values.dtype.names:
            for name in values.dtype.names:
                self.add_array(values[name], f"{place}.{name}", owner)
            if not self._add_leaves(values, place):
                rows = [list(x) for x in values.ravel().tolist()]
                self.add_rows(rows, place, owner, names=values.dtype.names)
        elif kind in "biuf":
            self.numbers.append(Numbers(place, owner, values))
            if values.dtype.itemsize == 1 and kind != "b" and _is_packed(values):
                self._add_bytes(values.tobytes(), place, owner)
        elif kind == "V":
            self._add_bytes(values.tobytes(), place, owner)
        elif kind == "c":
            self.numbers.append(Numbers(f"{place}.real", owner, values.real))
            self.numbers.append(Numbers(f"{place}.imag", owner, values.imag))
        elif kind in "mM":
            self.numbers.append(Numbers(place, owner, values.view(np.int64)))
            if kind == "M":
                self.add_texts(np.unique(date_texts(values)).tolist(), place, owner)
        elif kind in "US":
            found = values.astype(str) if kind == "U" else np.char.decode(values, "latin-1")
            self.add_texts(np.unique(found).tolist(), place, owner)
            # In their order, in which rows may stand.
            table = found.reshape(len(found) if found.ndim > 1 else 1, -1)
            self.fields.append(Fields(place, owner, table.astype(object)))
        elif kind == "O":
            flat = values.ravel().tolist()
            if values.ndim == 2 and all(isinstance(x, _SCALARS) for x in flat):
                self.fields.append(Fields(place, owner, values))
            return self.add_mixed(flat, place, owner)
        return []

    def add_rows(
        self, rows: list[list[Any]], place: str, owner: str, names: Iterable[object] = ()
    ) -> bool:
        """Add rows of equal length; return whether all of their numbers and texts were added."""
        named = tuple(map(str, names))
        numeric = [
            all(isinstance(x, _NUMERIC) for x in column) for column in zip(*rows, strict=True)
        ]
        if not all(numeric):
            table = np.empty((len(rows), len(numeric)), object)
            table[:] = rows
            self.fields.append(Fields(place, owner, table, names=named))
        # Rows of numbers are an array in all but name, and so are the numbers among their columns.
        chosen = [k for k, x in enumerate(numeric) if x]
        if chosen:
            with contextlib.suppress(OverflowError):
                numbers = [
                    [float("nan" if row[k] is None else row[k]) for k in chosen] for row in rows
                ]
                self.add_array(np.asarray(numbers, np.float64), place, owner)
        texts = [k for k, x in enumerate(numeric) if not x]
        for k in texts if chosen else ():
            others = [row[k] for row in rows]
            self.add_mixed(others, f"{place}[{k}]", owner)
        return bool(chosen)

    def add_mixed(self, values: list[object], place: str, owner: str) -> list[object]:
        """Add the numbers and texts among some values; return the others."""
        numbers = [x for x in values if isinstance(x, int | float | np.number | np.bool_)]
        texts = [x for x in values if isinstance(x, str)]
        dates = [x for x in values if isinstance(x, datetime.date | np.datetime64)]
        if dates:
            # As the wall clock of their place shows them, without its zone.
            local = [
                x.replace(tzinfo=None) if isinstance(x, datetime.datetime) else x for x in dates
            ]
            self.add_texts(date_texts(np.array(local, "M8[s]")), place, owner)
        if numbers:
            # Whole numbers beyond those of a float are no data, but the state of a generator.
            with contextlib.suppress(OverflowError):
                self.add_array(np.asarray(numbers, np.float64), place, owner)
        self.add_texts(texts, place, owner)
        if numbers and texts:
            row = np.empty((1, len(values)), object)
            row[0] = values
            self.fields.append(Fields(place, owner, row))
        others = [x for x in values if x is not None and not isinstance(x, _SCALARS)]
        if len(others) > 1 and (found := _rows_of(others)) is not None:
            rows, names = found
            if self.add_rows(rows, place, owner, names=names):
                return []
        return others

    def add_texts(self, values: Iterable[str], place: str, owner: str) -> None:
        """Add texts that stand in one place."""
        found = tuple(str(x) for x in values if x)
        if found:
            self.texts.append(Texts(place, owner, found))
        for text in found:
            if len(text) >= _SHORTEST:
                self._add_inside(text, place, owner)

    def _add_inside(self, text: str, place: str, owner: str) -> None:
        """Add the content of a long text in another form: JSON, or bytes as letters."""
        begin = text.lstrip()[:1]
        if begin in ("[", "{") and len(text) <= MOST_UNPACKED:
            try:
                document = json.loads(text)
            except (ValueError, RecursionError):
                try:  # a document on each line
                    document = [json.loads(line) for line in text.splitlines() if line.strip()]
                except (ValueError, RecursionError):
                    document = None
            if document is not None:
                self.walk(document, place, owner)
                return
        for match in _ENCODED.finditer(text):
            letters = re.sub(r"\s", "", match[0])
            kinds = len(set(letters[:10_000]))
            content = b""
            with contextlib.suppress(binascii.Error, ValueError):
                if kinds <= 22 and re.fullmatch(r"[0-9a-fA-F]+", letters):
                    content = bytes.fromhex(letters) if kinds >= 12 else b""
                elif kinds > 32:
                    plain = letters.rstrip("=").translate(str.maketrans("-_", "+/"))
                    content = base64.b64decode(plain + "=" * (-len(plain) % 4))
            if content:
                self._add_bytes(content, place, owner)
            elif kinds > 60:
                self.skipped[place] = "a text that is encoded in an unknown way"

    def _add_leaves(self, nodes: NDArray[Any], place: str) -> bool:
        """Add the sizes of leaves of a tree's nodes; return whether the array holds nodes."""
        names = nodes.dtype.names or ()
        if {"n_node_samples", "left_child"} <= set(names):
            self.leaves.append((place, nodes["n_node_samples"][nodes["left_child"] == -1]))
        elif {"count", "is_leaf"} <= set(names):
            self.leaves.append((place, nodes["count"][nodes["is_leaf"].astype(bool)].astype(int)))
        else:
            return False
        return True

    def walk(self, root: object, place: str = "", owner: str = "") -> None:
        """Look at everything that can be reached from an object."""
        waiting: deque[tuple[object, str, str]] = deque([(root, place, owner)])
        # Kept themselves: a new object could get the address of one that is gone.
        seen: dict[int, object] = {}
        while waiting:
            if len(seen) > MOST_PARTS:
                self.skipped["parts of the model"] = f"only the first {MOST_PARTS:,} were looked at"
                return
            thing, where, whose = waiting.popleft()
            if thing is None or isinstance(thing, bool | complex | range) or id(thing) in seen:
                continue
            seen[id(thing)] = thing
            waiting.extend(self._inside(thing, where, whose))

    def _inside(self, thing: object, place: str, owner: str) -> Iterator[tuple[object, str, str]]:
        """Add a thing, and yield its parts with their places and owners."""
        kind = type(thing)
        home = kind.__module__.partition(".")[0]
        if isinstance(thing, int | float | str | np.number | datetime.date | np.datetime64):
            self.add_mixed([thing], place, owner)
        elif isinstance(thing, bytes | bytearray):
            self._add_bytes(bytes(thing), place, owner)
        elif isinstance(thing, memoryview):
            try:
                yield np.asarray(thing), place, owner
            except (ValueError, TypeError):
                self._add_bytes(thing.tobytes(), place, owner)
        elif isinstance(thing, np.ndarray):
            others = self.add_array(np.asarray(thing), place, owner)
            yield from ((x, f"{place}[{i}]", owner) for i, x in enumerate(others))
        elif isinstance(thing, Mapping):
            self.add_texts((x for x in thing if isinstance(x, str)), f"{place}[]", owner)
            # Keys hold data as values do: a memo of answers has the questions as its keys.
            keys = self.add_mixed([x for x in thing if not isinstance(x, str)], f"{place}[]", owner)
            yield from ((x, f"{place}[]", owner) for x in keys)
            values = list(thing.values())
            if not values:
                pass
            elif all(isinstance(x, int | float | np.number) for x in values):
                self.add_mixed(values, place, owner)
            elif all(isinstance(x, _SCALARS) for x in values):
                row = np.empty((1, len(values)), object)
                row[0] = values
                self.fields.append(Fields(place, owner, row, names=tuple(map(str, thing))))
            table = None if len(values) < 2 else _rows_of(values)
            if table is not None and self.add_rows(table[0], place, owner, names=table[1]):
                pass
            elif not all(isinstance(x, int | float | np.number) for x in values):
                for i, (key, x) in enumerate(thing.items()):
                    name = _place_of_key(key, i, of_format=owner in _DOCUMENTS)
                    yield x, f"{place}{name}".lstrip("."), owner
            if further := getattr(thing, "__dict__", None):  # of a class of its own
                yield dict(further), place, owner
        elif isinstance(thing, list | tuple | set | frozenset | deque):
            others = self.add_mixed(list(thing), place, owner)
            yield from ((x, f"{place}[{i}]", owner) for i, x in enumerate(others))
            if further := getattr(thing, "__dict__", None):  # of a class of its own
                yield dict(further), place, owner
        elif isinstance(thing, functools.partial):
            yield thing.func, f"{place}.func", owner
            yield [*thing.args, thing.keywords], f"{place}.arguments", owner
        elif isinstance(thing, types.FunctionType):
            cells = list(thing.__defaults__ or ())
            for cell in thing.__closure__ or ():
                with contextlib.suppress(ValueError):  # a name that is not bound yet
                    cells.append(cell.cell_contents)
            yield cells, f"{place}.closure", owner
            yield dict(thing.__kwdefaults__ or {}), f"{place}.closure", owner
            if thing.__dict__:
                yield dict(thing.__dict__), f"{place}.closure", owner
        elif isinstance(thing, types.MethodType):
            yield thing.__self__, place, owner
        elif isinstance(thing, _NO_DATA):
            return
        elif home == "scipy" and hasattr(thing, "toarray") and hasattr(thing, "nnz"):
            matrix: Any = thing
            if prod(matrix.shape) <= MOST_DENSE:
                self.add_array(matrix.toarray(), place, owner)
            else:
                self.skipped[place] = "a sparse matrix that is too large to be compared"
        elif home == "pandas" and hasattr(thing, "to_numpy"):
            pandas: Any = thing
            if hasattr(pandas, "columns"):
                numeric = pandas.select_dtypes(["number", "bool"])
                self.add_array(numeric.to_numpy(np.float64), place, owner)
                others = pandas.drop(columns=numeric.columns)
                if others.shape[1]:
                    table = pandas.astype(object).to_numpy()
                    names = tuple(map(str, pandas.columns))
                    self.fields.append(Fields(place, owner, table, names=names))
                yield from ((others[x].tolist(), f"{place}[{x}]", owner) for x in others)
            else:
                yield np.asarray(pandas.to_numpy()), place, owner
        elif hasattr(thing, "detach") and hasattr(thing, "numpy"):
            tensor: Any = thing.detach().cpu()
            if str(tensor.dtype) in ("torch.bfloat16", "torch.float16"):
                tensor = tensor.float()
            if tensor.is_sparse or tensor.is_quantized:
                self.skipped[place] = "a sparse or quantised tensor"
            else:
                self.add_array(tensor.numpy(), place, owner)
        elif home == "xgboost" and hasattr(thing, "save_raw"):
            booster: Any = thing
            self._add_boosting(_ubj(bytes(booster.save_raw("ubj"))), place)
        elif home == "lightgbm" and hasattr(thing, "model_to_string"):
            lightgbm: Any = thing
            self._add_lightgbm(lightgbm.model_to_string(), place)
        elif home == "keras" and hasattr(thing, "get_weights"):
            keras: Any = thing
            for variable, values in zip(keras.weights, keras.get_weights(), strict=True):
                name = getattr(variable, "path", variable.name)
                self.add_array(np.asarray(values), f"{place}.{name}".lstrip("."), kind.__name__)
        else:
            yield from self._attributes(thing, place)

    def _attributes(self, thing: Any, place: str) -> Iterator[tuple[object, str, str]]:
        kind = type(thing)
        if hasattr(thing, "fit") or hasattr(thing, "predict"):
            self.parts.append((place, thing))
        if hasattr(thing, "n_node_samples") and hasattr(thing, "children_left"):
            self.leaves.append((place, thing.n_node_samples[thing.children_left == -1]))
        known = dict(getattr(thing, "__dict__", {}))
        if hasattr(thing, "cache_info") and thing.cache_info().currsize:
            self.skipped[place or kind.__name__] = "a memory of answers that cannot be looked into"
        for base in kind.__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(thing, name):
                    known[name] = getattr(thing, name)
        for name, x in known.items():
            yield x, f"{place}.{name}".lstrip("."), kind.__name__
        if not known:
            # A type of a compiled library, such as a tree of neighbours: what it would be saved as.
            try:
                state = thing.__getstate__()
                if state is None:
                    reduced = thing.__reduce_ex__(2)
                    state = [] if isinstance(reduced, str) else list(reduced[1:3])
            except (TypeError, ValueError, AttributeError, RuntimeError):
                try:
                    state = memoryview(thing)
                except TypeError:
                    state = None
                    self.skipped[place or kind.__name__] = (
                        f"{kind.__name__} of {kind.__module__} cannot be looked into"
                    )
            yield state, place, kind.__name__

    def _add_bytes(self, content: bytes, place: str, owner: str) -> None:
        """Add bytes: unpacked, as a text, an array of NumPy, or as numbers of both precisions."""
        if content[:6] == b"\x93NUMPY":
            try:
                _add_npy(self, content, place, Path(place), owner=owner)
            except (InputError, *_DAMAGED):
                self.skipped[place] = "an array of NumPy that cannot be read"
            return
        if (unpacker := _unpacker(content)) is not None:
            left = MOST_UNPACKED - self.n_unpacked
            inside = b""
            if left <= 0:  # a limit of 0 would be none
                self.skipped[place] = f"packed bytes after {MOST_UNPACKED:,} that were unpacked"
                return
            with contextlib.suppress(*_DAMAGED, lzma.LZMAError):
                inside = unpacker.decompress(content, left + 1)
            self.n_unpacked += len(inside)
            if inside and (len(inside) > left or not unpacker.eof or unpacker.unused_data):
                self.skipped[place] = f"packed bytes that go on, or hold over {MOST_UNPACKED:,}"
            if inside:
                self._add_bytes(inside[:left], place, owner)
                return
        if (text := _text_of(content)) is not None:
            self.add_texts([text], place, owner)
            return
        # The bytes of CatBoost are a known format, whose numbers are read.
        if len(content) > _UNREAD and owner != "CatBoost":
            pickled = content[:1] == b"\x80" and content[1:2] in b"\x02\x03\x04\x05"
            self.skipped[place] = (
                "a pickle, which would run code when it is loaded"
                if pickled
                else "bytes of unknown meaning, which may hold rows"
            )
        words = re.findall(rb"[\x20-\x7e]{6,}", content)
        self.add_texts((word.decode("ascii") for word in words[:MOST_TEXT]), place, owner)
        for size, kind in ((4, np.float32), (8, np.float64)):
            for start in range(min(size, len(content))):
                n = (len(content) - start) // size
                values = np.frombuffer(content, kind, n, start)
                if n:
                    self.numbers.append(Numbers(place, owner, values))

    def _add_boosting(self, document: object, place: str) -> None:
        """Add the document of a model of XGBoost; in its trees for squared errors records count."""
        self.walk(document, place, "XGBoost")
        try:
            learner: Any = document["learner"]  # type: ignore[index]
            objective = learner["objective"]["name"]
            booster = learner["gradient_booster"]
            trees = booster.get("gbtree", booster)["model"]["trees"]
            attributes = learner.get("attributes", {})
        except (KeyError, TypeError, AttributeError):
            return
        self.notes += [(f"attributes.{_short(x)}", str(y)) for x, y in attributes.items()]
        # The sum of second derivatives is the number of records where each is 1.
        for i, tree in enumerate(trees if objective == "reg:squarederror" else ()):
            left = np.asarray(tree["left_children"])
            hessian = np.asarray(tree["sum_hessian"], np.float64)
            self.leaves.append((f"{place}.trees[{i}]".lstrip("."), hessian[left == -1].astype(int)))

    def _add_lightgbm(self, text: str, place: str) -> None:
        """Add the text of a model of LightGBM: lines of a key and its values, a part per tree."""
        tree = ""
        leaves: dict[str, float] = {}
        n_trees = 0
        for line in text.splitlines():
            key, found, value = line.partition("=" if "=" in line else ":")
            where = f"{place}.{tree}.{key}".strip("[ ").replace("..", ".").lstrip(".")
            if key == "Tree":
                tree = f"tree[{value}]"
            elif key == "end of trees":
                tree = ""
            elif key == "pandas_categorical":
                self.walk(json.loads(value), where, "LightGBM")
            elif key.startswith("["):
                # The parameters of training, among them the path of the data.
                if "/" in value or "\\" in value:
                    self.notes.append((key.strip("["), value.strip(" ]")))
            elif found:
                words = re.split(r"[ :\[\]]+", value.strip())
                try:
                    numbers = np.array([float(x) for x in words if x and x != "none"])
                except ValueError:
                    self.add_texts(words, where, "LightGBM")
                    continue
                self.add_array(numbers, where, "LightGBM")
                if tree and key == "num_leaves":
                    leaves[tree] = float(numbers[0])
                elif tree and key == "leaf_value" and leaves.get(tree) != len(numbers):
                    raise ValueError(f"{tree} has {len(numbers):,} leaves, not as many as it says")
                elif tree and key == "leaf_value":
                    del leaves[tree]
                    n_trees += 1
                if key == "leaf_count":
                    self.leaves.append((where, numbers.astype(int)))
        if leaves or not n_trees:
            raise ValueError("it has no whole tree")


_SCALARS = (
    int, float, str, np.number, np.bool_, datetime.date, np.datetime64, type(None),
)  # fmt: skip
"""Kinds of a single field."""

_NUMERIC = (int, float, np.number, np.bool_)

_SHORTEST = 20
"""Fewest characters of a text that may hold something in another form."""

_ENCODED = re.compile(r"(?:[A-Za-z0-9+/]{60,76}\r?\n){4,}[A-Za-z0-9+/]*={0,2}|[^\s,:\"']{344,}")
"""Bytes as letters, in lines or in one run: as many as may hold rows."""


def _rows_of(values: list[object]) -> tuple[list[list[Any]], tuple[object, ...]] | None:
    """Return rows of equal length and the names of their columns; None if these are no rows."""
    rows: list[list[Any]] = []
    names: tuple[object, ...] = ()
    for x in values:
        if isinstance(x, Mapping):
            if not rows:
                names = tuple(x)
            if not isinstance(values[0], Mapping) or set(x) != set(names):
                return None
            row = [x[name] for name in names]
        elif isinstance(x, list | tuple):
            row = list(x)
        elif getattr(x, "ndim", 0) == 1 and type(x).__module__.startswith(("numpy", "pandas")):
            row = np.asarray(x).tolist()
        else:
            return None
        if not row or (rows and len(row) != len(rows[0])):
            return None
        if not all(isinstance(y, _SCALARS) for y in row):
            return None
        rows.append(row)

    def of_one_kind(groups: Iterable[Iterable[object]]) -> bool:
        return all(len({isinstance(x, str) for x in group}) == 1 for group in groups)

    columns = [list(x) for x in zip(*rows, strict=True)]
    if of_one_kind(rows) and not of_one_kind(columns):
        return columns, ()  # a list per column
    return rows, names


def _is_packed(values: NDArray[Any]) -> bool:
    """Return whether an array of single bytes may be packed: they are as if drawn at random."""
    if values.size <= _UNREAD or values.ndim > 1:
        return False
    shares = np.bincount(values.view(np.uint8)[:100_000], minlength=256) / min(len(values), 100_000)
    shares = shares[shares > 0]
    return bool(-(shares * np.log2(shares)).sum() > 7.0)


def _unpacker(content: bytes) -> Any:
    """Return a new unpacker of the kind in which bytes are packed; None if they are not."""
    if content[:2] == b"\x1f\x8b" or (
        content[:1] == b"\x78" and len(content) > 2 and int.from_bytes(content[:2], "big") % 31 == 0
    ):
        return zlib.decompressobj(wbits=47)
    if content[:3] == b"BZh":
        return bz2.BZ2Decompressor()
    if content[:6] == b"\xfd7zXZ\x00":
        return lzma.LZMADecompressor(memlimit=1 << 28)
    return None


def _text_of(content: bytes) -> str | None:
    """Return bytes as a text; None if they are none."""
    encodings = ["utf-8-sig", "utf-16"] if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ["utf-8"]
    # In western Europe's letters of one byte, if most are letters without an accent.
    sample = content[:10_000]
    if sum(x in b"\t\n\r" or 0x20 <= x < 0x7F for x in sample) > 0.9 * len(sample):
        encodings.append("latin-1")
    for encoding in encodings:
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if re.sub(r"\s", "", text).isprintable():
                return text
    return None


def contents_of(model: object) -> Contents:
    """Return the arrays, texts and notes that can be reached from a fitted model."""
    found = _Collection()
    found.walk(model)
    return found.done(f"an object, {type(model).__name__}", model)


_CODE = re.compile(r"[a-z_][a-z0-9_]{0,39}(?:\.[a-z0-9_]{1,40})*")
"""Keys that may be words of code rather than of data, such as names of weights."""

_DOCUMENTS = ("XGBoost", "Keras", "LightGBM")
"""Owners whose keys are words of their format."""


def _place_of_key(key: object, i: int, *, of_format: bool) -> str:
    """Return how a key is named in a place: by its number if it may be the name of a person."""
    # Names of weights have several parts; a single word in small letters may be a surname.
    code = _CODE.fullmatch(str(key)) and (of_format or "." in str(key) or "_" in str(key))
    return f".{key}" if code else f"[{i}]"


def _short(key: object) -> str:
    text = str(key)
    return text if len(text) <= 40 else f"{text[:37]}..."


# Files.

PICKLES = (".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle")
"""Endings of files that run code when they are loaded."""

FORMATS = (
    ".skops, .onnx, .safetensors, .keras, .h5, .pt, .pth, .json, .ubj, .txt (LightGBM), .cbm, .npz"
)
"""Endings of files that are read, for messages."""

_DAMAGED = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OverflowError,
    RuntimeError,
    MemoryError,
    OSError,
)
"""Errors that a damaged or forged file raises in parsers."""


_IN_JSON = {"learner", "oblivious_trees", "trees"}
"""Keys of the documents that XGBoost and CatBoost write, one of which each has."""


def read_model(path: Path) -> Contents:
    """Return the contents of a model's file, without running any code that it names.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_dir():
        raise InputError(f"{path} is a directory: name the file of the model ({FORMATS})")
    ending = path.suffix.lower()
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(16)
    if not head:
        raise InputError(f"{path} is empty")
    if ending in PICKLES or (head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05"):
        raise InputError(
            f"{path} is a pickle, which runs code when it is loaded, and is never loaded here: "
            "name a loader of your own, FILE.py:NAME, or save the model with skops"
        )
    check_size(path, size, size)
    found = _Collection((path, size))
    form = "model"
    try:
        if head[:4] == b"PK\x03\x04":
            form = _add_archive(found, path)
        elif head[:8] == b"\x89HDF\r\n\x1a\n":
            form = "an HDF5 file"
            _add_hdf(found, path, io.BytesIO(path.read_bytes()))
        elif ending == ".safetensors":
            form = "a safetensors file"
            _add_safetensors(found, path.read_bytes())
        elif ending == ".onnx":
            form = "an ONNX file"
            _add_onnx(found, path.read_bytes())
        elif ending == ".ubj":
            form = "an XGBoost file"
            found._add_boosting(_ubj(path.read_bytes()), "")
        elif ending == ".json":
            form = "a JSON file"
            document = json.loads(path.read_bytes())
            if not isinstance(document, dict) or not _IN_JSON & set(document):
                raise InputError(
                    f"{path} is JSON, but no model of XGBoost or CatBoost, which has "
                    "learner, or oblivious_trees or trees"
                )
            found._add_boosting(document, "")
        elif head[:5] == b"tree\n" or head[:6] == b"tree\r\n":
            form = "a LightGBM file"
            found._add_lightgbm(path.read_text("utf-8"), "")
        elif head[:4] == b"CBM1":
            form = "a CatBoost file"
            content = path.read_bytes()
            (length,) = struct.unpack("<I", content[4:8])
            if length > len(content) - 8:
                raise ValueError(
                    f"its head promises {length:,} bytes, and {len(content) - 8:,} follow"
                )
            found._add_bytes(content, "model", "CatBoost")
        elif head[:6] == b"\x93NUMPY":
            form = "an array of NumPy"
            _add_npy(found, path.read_bytes(), "array", path)
        else:
            raise InputError(f"{path} is not in a format that is read here ({FORMATS})")
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(
            f"{path} is damaged or no model ({form}: {damage(error)[:200]})"
        ) from error
    # Bytes of unknown meaning are numbers too, but hardly ever any that is finite.
    n = sum(int(np.isfinite(x.values).sum()) for x in found.numbers)
    if n < 2 and not found.skipped:
        raise InputError(f"{path} holds no numbers that can be read: it is damaged or no model")
    return found.done(form)


def _add_archive(found: _Collection, path: Path) -> str:
    """Add the members of a zip archive; return its format in words."""
    with zipfile.ZipFile(path) as archive:
        members: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            name = info.filename
            if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or ":" in name[:3]:
                raise InputError(
                    f"{path} has the member {name[:60]!r}, which points outside of it: no tool "
                    "that saves models writes that, so do not unpack it"
                )
            if name in members:
                raise InputError(f"{path} holds {name[:60]!r} twice: save the model again")
            if info.flag_bits & 1 or info.compress_type not in (
                zipfile.ZIP_STORED,
                zipfile.ZIP_DEFLATED,
            ):
                raise InputError(f"{path} is encrypted or packed unusually: save the model again")
            members[name] = info
        # By the sizes in the archive's index: nothing is unpacked before.
        check_size(path, path.stat().st_size, sum(x.file_size for x in members.values()))
        if archive.comment:
            found.notes.append(("comment of the archive", archive.comment.decode("latin-1")))
        for info in members.values():
            if info.comment:
                found.notes.append((info.filename, info.comment.decode("latin-1")))
        read = {name: info for name, info in members.items() if not info.is_dir()}
        if "schema.json" in read:
            _add_skops(found, archive, read, path)
            return "a skops file"
        if "config.json" in read and any(name.endswith(".h5") for name in read):
            for name in read:
                content = archive.read(name)
                if name.endswith(".h5"):
                    _add_hdf(found, path, io.BytesIO(content))
                elif name.endswith(".json"):
                    # The configuration is data: no layer is made from it.
                    found.walk(json.loads(content), name.removesuffix(".json"), "Keras")
                else:
                    _add_member(found, name, content)
            return "a Keras file"
        if any(name.endswith("/data.pkl") or name == "data.pkl" for name in read):
            _add_torch(found, path)
            return "a PyTorch file"
        arrays = [name for name in read if name.endswith(".npy")]
        if arrays:
            for name in arrays:
                _add_npy(found, archive.read(name), name.removesuffix(".npy"), path)
            return "an archive of NumPy"
    raise InputError(f"{path} is a zip archive, but of no format that is read here ({FORMATS})")


def _add_member(found: _Collection, name: str, content: bytes) -> None:
    """Add a member of an archive that is no part of the model, such as a log of its training."""
    found._add_bytes(content, name, "")
    with contextlib.suppress(UnicodeDecodeError):
        found.notes.append((name, content.decode()[:MOST_TEXT]))


def _add_npy(found: _Collection, content: bytes, place: str, path: Path, owner: str = "") -> None:
    stream = io.BytesIO(content)
    try:
        values = read_stream_array(stream, len(content), path)
    except ObjectError as error:
        raise InputError(
            f"{path}: {place[:60]!r} is an object array, which could run code when loaded and is "
            "never unpickled"
        ) from error
    except ValueError:
        # Records, such as the nodes of a tree, which the reader of users' arrays refuses.
        stream.seek(0)
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, by_column, dtype = read(stream)
        left = len(content) - stream.tell()
        if dtype.hasobject or dtype.names is None or prod(shape) * dtype.itemsize != left:
            raise
        flat = np.frombuffer(content, dtype, offset=stream.tell())
        values = flat.reshape(shape, order="F" if by_column else "C")
    found.add_array(values, place, owner)


def _add_skops(
    found: _Collection, archive: zipfile.ZipFile, read: Mapping[str, zipfile.ZipInfo], path: Path
) -> None:
    """Add the tree of nodes in JSON that skops saves, with arrays in members of their own."""
    schema = json.loads(archive.read("schema.json"))
    done = set()
    waiting: deque[tuple[Any, str, str]] = deque([(schema, "", "")])
    while waiting:
        node, place, owner = waiting.popleft()
        if isinstance(node, list):
            waiting.extend((x, f"{place}[{i}]", owner) for i, x in enumerate(node))
        if not isinstance(node, dict):
            continue
        loader = str(node.get("__loader__", ""))
        name = str(node.get("__class__", ""))
        file = node.get("file")
        content = node.get("content")
        if isinstance(file, str):
            if file not in read:
                raise ValueError(f"its schema names {file[:60]!r}, which is not in it")
            if file in done:
                continue
            done.add(file)
            inside = archive.read(file)
            if file.endswith(".npy"):
                _add_npy(found, inside, place, path, owner=owner)
            elif file.endswith(".npz"):
                _add_sparse(found, inside, place, path)
            else:
                found.skipped[place or file] = f"{loader or 'a member'} is not read"
        elif loader == "JsonNode" and isinstance(content, str):
            value = json.loads(content)
            found.add_mixed([value], place, owner) if not isinstance(value, bool) else None
        elif loader == "DictNode" and isinstance(content, dict):
            keys = [x for x in content if isinstance(x, str)]
            # The names of attributes are words of the code, not of the data.
            attributes = place.endswith("__state__")
            where = place.removesuffix("__state__").rstrip(".")
            if not attributes:
                found.add_texts(keys, f"{where}[]", owner)
            for i, (key, x) in enumerate(content.items()):
                named = f".{key}" if attributes else _place_of_key(key, i, of_format=False)
                waiting.append((x, f"{where}{named}".lstrip("."), owner))
            continue
        elif content is not None and loader in ("ListNode", "TupleNode", "SetNode"):
            values = [
                json.loads(x["content"])
                if isinstance(x, dict) and x.get("__loader__") == "JsonNode"
                else x
                for x in content
            ]
            others = found.add_mixed(values, place, owner)
            if others:
                waiting.append((content, place, owner))
            continue
        if isinstance(content, dict | list) and loader != "JsonNode":
            inner = name if "Object" in loader or "Tree" in loader else owner
            if isinstance(content, dict) and "__loader__" in content:
                where = f"{place}.__state__" if loader != "NdArrayNode" else place
                waiting.append((content, where.lstrip("."), inner))
            elif isinstance(content, dict):
                waiting.extend((x, f"{place}.{k}".lstrip("."), inner) for k, x in content.items())
            else:
                waiting.append((content, place, inner))
        for key, x in node.items():
            if isinstance(x, dict) and key != "content":
                waiting.append((x, place, name))
    for name in read:
        if name not in done and name != "schema.json":
            _add_member(found, name, archive.read(name))


def _add_sparse(found: _Collection, content: bytes, place: str, path: Path) -> None:
    """Add a sparse matrix as scipy saves it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        check_size(path, len(content), sum(info.file_size for info in archive.infolist()))
        inner = _Collection(found.limit)
        for info in archive.infolist():
            if not info.filename.startswith("format"):
                _add_npy(inner, archive.read(info), info.filename.removesuffix(".npy"), path)
    parts = {x.place: x.values for x in inner.numbers}
    shape = tuple(int(x) for x in parts["shape"])
    if prod(shape) > MOST_DENSE:
        found.skipped[place] = "a sparse matrix that is too large to be compared"
        return
    from scipy.sparse import csr_matrix

    matrix = csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    found.add_array(matrix.toarray(), place, "")


_SAFETENSORS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
    "I16": "<i2", "I8": "<i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "?",
}  # fmt: skip


def _add_safetensors(found: _Collection, content: bytes) -> None:
    (length,) = struct.unpack("<Q", content[:8])
    if length > len(content) - 8:
        raise ValueError(f"its head promises {length:,} bytes, and {len(content) - 8:,} follow")
    head = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    for name, about in head.items():
        if name == "__metadata__":
            found.notes += [(f"metadata.{_short(key)}", str(x)) for key, x in about.items()]
            continue
        begin, end = about["data_offsets"]
        shape = tuple(int(x) for x in about["shape"])
        if about["dtype"] not in _SAFETENSORS:
            found.skipped[_short(name)] = f"a tensor of type {_short(about['dtype'])}"
            continue
        dtype = np.dtype(_SAFETENSORS[about["dtype"]])
        if not 0 <= begin <= end <= len(data) or prod(shape) * dtype.itemsize != end - begin:
            raise ValueError(f"{name[:60]!r} does not fit the bytes that it names")
        values = np.frombuffer(data[begin:end], dtype).reshape(shape)
        if about["dtype"] == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        found.add_array(values, name, "")
    found.add_texts((name for name in head if name != "__metadata__"), "names of tensors", "")


def _add_torch(found: _Collection, path: Path) -> None:
    """Add the tensors of a file of PyTorch, by its loader of weights, which runs no code."""
    try:
        import torch
    except ImportError as error:
        raise InputError(
            f"{path} is a file of PyTorch: install privacygauge[torch] to read it"
        ) from error
    import pickle
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = torch.load(path, map_location="cpu", weights_only=True, mmap=False)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{path} holds more than weights, which would run code when it is loaded: save its "
            "state_dict, or name a loader of your own, FILE.py:NAME"
        ) from error
    found.walk(state)


def _add_hdf(found: _Collection, path: Path, stream: io.BytesIO) -> None:
    """Add the arrays and attributes of an HDF5 file; links out of it are not followed."""
    try:
        h5py: Any = importlib.import_module("h5py")
    except ImportError as error:
        raise InputError(f"{path} holds HDF5: install h5py to read it") from error
    with h5py.File(stream, "r") as file:
        waiting: deque[tuple[Any, str, int]] = deque([(file, "", 0)])
        while waiting:
            group, place, depth = waiting.popleft()
            for key, value in group.attrs.items():
                found.notes.append((f"{place}@{_short(key)}", str(value)[:MOST_TEXT]))
            for name in group if depth < 50 and hasattr(group, "keys") else ():
                where = f"{place}.{name}".lstrip(".")
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    found.skipped[where] = "a link out of the file, which is not followed"
                    continue
                inner = group[name]
                if not isinstance(inner, h5py.Dataset):
                    waiting.append((inner, where, depth + 1))
                    continue
                if inner.external or inner.is_virtual:
                    found.skipped[where] = "data in another file, which is not read"
                    continue
                size = path.stat().st_size
                check_size(path, size, found.n_bytes + inner.size * inner.dtype.itemsize)
                if inner.dtype.kind == "O":
                    others = [x.decode("latin-1") for x in np.ravel(inner[()]) if type(x) is bytes]
                    found.add_texts(others, where, "")
                else:
                    found.add_array(np.asarray(inner[()]), where, "")


# ONNX: the wire format of protocol buffers, of which a few messages are read.

_ONNX_TYPES = {
    1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2",
    11: "<f8", 12: "<u4", 13: "<u8",
}  # fmt: skip


def _varint(data: memoryview, start: int) -> tuple[int, int]:
    value = 0
    for i in range(10):
        byte = data[start + i]
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, start + i + 1
    raise ValueError("a number of its wire format does not end")


def _message(data: memoryview) -> dict[int, list[Any]]:
    """Return the fields of a message by number: numbers, and bytes of all else."""
    fields: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        value: Any
        if wire == 0:
            value, at = _varint(data, at)
        else:
            length = 8 if wire == 1 else 4
            if wire == 2:
                length, at = _varint(data, at)
            elif wire not in (1, 5):
                raise ValueError("its wire format is none of protocol buffers")
            if length > len(data) - at:
                raise ValueError(f"a part promises {length:,} bytes, and {len(data) - at:,} follow")
            value = data[at : at + length]
            at += length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _repeated_numbers(values: Iterable[Any], dtype: str) -> NDArray[Any]:
    """Return repeated numbers, each alone or several packed into one field."""
    parts = []
    for value in values:
        if isinstance(value, int):
            parts.append(np.array([value], np.uint64).astype(np.int64))
        elif dtype == "varint":
            numbers = []
            at = 0
            while at < len(value):
                number, at = _varint(value, at)
                numbers.append(number)
            parts.append(np.array(numbers, np.uint64).astype(np.int64))
        else:
            parts.append(np.frombuffer(value, dtype))
    return np.concatenate(parts) if parts else np.empty(0)


def _string(fields: Mapping[int, list[Any]], number: int) -> str:
    found = fields.get(number)
    return bytes(found[-1]).decode("utf-8", "replace") if found else ""


def _strings(values: Iterable[Any]) -> list[str]:
    return [bytes(x).decode("utf-8", "replace") for x in values]


def _add_onnx(found: _Collection, content: bytes) -> None:
    model = _message(memoryview(content))
    if 7 not in model:
        raise ValueError("it has no graph")
    if text := _string(model, 6):
        found.notes.append(("comment", text))
    _add_pairs(found, model.get(14, ()))
    waiting = deque(
        [*model[7], *(_message(x)[1][0] for x in model.get(20, ()) if 1 in _message(x))]
    )
    while waiting:
        graph = _message(waiting.popleft())
        if text := _string(graph, 10):
            found.notes.append((f"graph {_string(graph, 2)}", text))
        _add_pairs(found, graph.get(16, ()))
        for tensor in graph.get(5, ()):
            _add_tensor(found, _message(tensor), "", "")
        for part in graph.get(1, ()):
            node = _message(part)
            operator = _string(node, 4)
            place = _string(node, 3) or operator
            if text := _string(node, 6):
                found.notes.append((place, text))
            for entry in node.get(5, ()):
                attribute = _message(entry)
                where = f"{place}.{_string(attribute, 1)}"
                if text := _string(attribute, 13):
                    found.notes.append((where, text))
                for number, dtype in ((7, "<f4"), (8, "varint")):
                    if number in attribute:
                        found.add_array(
                            _repeated_numbers(attribute[number], dtype), where, operator
                        )
                found.add_texts(
                    _strings([*attribute.get(4, ()), *attribute.get(9, ())]), where, operator
                )
                for tensor in [*attribute.get(5, ()), *attribute.get(10, ())]:
                    _add_tensor(found, _message(tensor), where, operator)
                waiting.extend([*attribute.get(6, ()), *attribute.get(11, ())])


def _add_pairs(found: _Collection, entries: Iterable[Any]) -> None:
    for entry in entries:
        pair = _message(entry)
        found.notes.append((f"metadata.{_short(_string(pair, 1))}", _string(pair, 2)))


def _add_tensor(
    found: _Collection, tensor: Mapping[int, list[Any]], place: str, owner: str
) -> None:
    name = place or _string(tensor, 8) or "initializer"
    if tensor.get(14, [0])[-1] == 1:
        found.skipped[name] = "numbers in another file, which is not followed"
        found.notes += [(name, _string(_message(x), 2)) for x in tensor.get(13, ())]
        return
    shape = tuple(int(x) for x in _repeated_numbers(tensor.get(1, ()), "varint"))
    if 6 in tensor:
        found.add_texts(_strings(tensor[6]), name, owner)
        return
    code = tensor.get(2, [0])[-1]
    if code not in _ONNX_TYPES:
        found.skipped[name] = f"numbers of the type {code}"
        return
    dtype = np.dtype(_ONNX_TYPES[code])
    if 9 in tensor:
        values = np.frombuffer(tensor[9][-1], dtype)
    else:
        forms = ((4, "<f4"), (10, "<f8"), (5, "varint"), (7, "varint"), (11, "varint"))
        values = next(
            (_repeated_numbers(tensor[n], form) for n, form in forms if n in tensor), np.empty(0)
        )
    if any(x < 0 for x in shape) or prod(shape) != values.size:
        raise ValueError(f"{name[:60]!r} promises {shape}, and {values.size:,} numbers follow")
    found.add_array(values.reshape(shape), name, owner)


# UBJSON, as XGBoost writes it.

_UBJ = {
    b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8",
}  # fmt: skip
_DEEPEST = 100


def _ubj(content: bytes) -> object:
    """Return a document in UBJSON as Python's own values and arrays."""
    stream = io.BytesIO(content)

    def need(n: int) -> bytes:
        if n < 0 or n > len(content) - stream.tell():
            raise ValueError(f"a part promises {n:,} bytes, and fewer follow")
        return stream.read(n)

    def number(mark: bytes) -> Any:
        kind = np.dtype(_UBJ[mark])
        return np.frombuffer(need(kind.itemsize), kind)[0].item()

    def length() -> int:
        return int(number(need(1)))

    def value(mark: bytes, depth: int) -> object:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if mark in _UBJ:
            return number(mark)
        if mark in b"ZTFN":
            return {b"T": True, b"F": False}.get(mark)
        if mark in b"SHC":
            return need(1 if mark == b"C" else length()).decode("utf-8", "replace")
        if mark not in b"[{":
            raise ValueError(f"{mark!r} begins no value")
        kind = b""
        n = None
        after = need(1)
        if after == b"$":
            kind = need(1)
            after = need(1)
            if after != b"#":
                raise ValueError("a type without a length")
        if after == b"#":
            n = length()
            if n > len(content):
                raise ValueError(f"a part promises {n:,} values")
            after = b""
        if mark == b"[" and kind in _UBJ:
            dtype = np.dtype(_UBJ[kind])
            return np.frombuffer(need((n or 0) * dtype.itemsize), dtype).astype(
                dtype.newbyteorder("=")
            )
        items: list[object] = []
        pairs: dict[str, object] = {}
        while n is None or len(items) + len(pairs) < n:
            after = after or (b"" if mark == b"[" and kind else need(1))
            if n is None and after == (b"]" if mark == b"[" else b"}"):
                break
            if mark == b"{":
                key = need(int(number(after))).decode("utf-8", "replace")
                if key in pairs:
                    raise ValueError(f"{key[:60]!r} occurs twice")
                pairs[key] = value(kind or need(1), depth + 1)
            else:
                items.append(value(kind or after, depth + 1))
            after = b""
        return items if mark == b"[" else pairs

    return value(need(1), 0)


# Paths, hosts and names of users.

_OPTIMISER = {"exp_avg", "exp_avg_sq", "momentum_buffer", "square_avg"}
"""Names of arrays that only a training needs, made of the last gradients."""

_TRACES = {
    "path": r"(?:/(?:home|Users|root|mnt|media|scratch|data|srv|nfs|tmp|var|opt)/[^\s\"'<>|;,()]+"
    r"|\b[A-Za-z]:\\[^\s\"'<>|;,()]+|\\\\[\w.-]+\\[^\s\"'<>|;,()]+"
    r"|\b(?:s3|gs|file|abfss?|hdfs|dbfs)://?[^\s\"'<>|;,()]+)",
    "e-mail address": r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+",
    "host": r"\b(?:[\w-]{1,63}\.)+(?:local|internal|intranet|lan|corp)\b"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}\b(?!\.)",
    "web address": r"\bhttps?://[^\s\"'<>]+",
}
_PATTERNS = {kind: re.compile(pattern) for kind, pattern in _TRACES.items()}


def traces(contents: Contents) -> Iterator[tuple[str, str, str]]:
    """Yield kind, place and text of notes and of names of machines, people and places."""
    for place, text in contents.notes:
        if text.strip():
            yield "note", place, text
    for x in contents.numbers:
        if x.name in _OPTIMISER:
            yield "optimiser state", x.place, x.name
    every = [*contents.notes, *((x.place, text) for x in contents.texts for text in x.values)]
    for place, text in every:
        # Most texts are categories or words: none of the marks, none of the patterns.
        if any(mark in text for mark in "/\\@.:"):
            for kind, pattern in _PATTERNS.items():
                for match in pattern.finditer(text[:MOST_TEXT]):
                    # Four numbers with points may be a version rather than an address.
                    is_version = match[0].replace(".", "").isdigit() and (
                        match[0].startswith(("0.", "1.0", "2.0"))
                        or any(int(x) > 255 for x in match[0].split("."))
                    )
                    if kind != "host" or not is_version:
                        yield kind, place, match[0]
