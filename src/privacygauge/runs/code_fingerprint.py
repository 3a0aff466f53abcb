"""Search for the user's code behind a run: a digest of each function, class and constant."""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from privacygauge.runs.source import (
    OWN,
    PYTHON,
    Code,
    RecordedCode,
    digest,
    files_of_module,
    is_installed,
    is_theirs,
    module_of,
    package_of,
    pieces_of,
    version_of,
)

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_STATES = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")
_COMPILED = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)


MOST_PIECES = 10_000
"""Most functions and classes that are visited, which takes some seconds."""


def code_of(*things: object) -> Code:
    """Return the user's code that the given objects reach, with the values that it uses.

    Parameters
    ----------
    *things : object
        Functions, classes, methods, partials, or objects that hold them. Objects of PrivacyGauge
        name further code with a method `reached`.

    Returns
    -------
    Code
        A function counts with its closure, its defaults and the globals it names; a class with its
        methods and bases; a constant with its value. Comments, docstrings and line breaks do not
        count.
    """
    reach = _Reach()
    for thing in things:
        reach.held(thing, "what is trained")
    for _ in range(MOST_PIECES):
        if not reach.waiting:
            break
        reach.waiting.popleft()()
    else:
        reach.unchecked.add(f"of the functions and classes all after the first {MOST_PIECES:,}")
    pieces = {name: digest(" ".join(sorted(found))) for name, found in sorted(reach.pieces.items())}
    return Code({**pieces, **dict(sorted(reach.packages.items()))}, tuple(sorted(reach.unchecked)))


@dataclass(frozen=True, eq=False)
class _Reach:
    """State of the search: pieces found so far, and code still to visit."""

    pieces: dict[str, set[str]] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    unchecked: set[str] = field(default_factory=set)
    known: dict[int, tuple[object, str]] = field(default_factory=dict)
    waiting: deque[Callable[[], None]] = field(default_factory=deque)
    modules: set[tuple[str, int]] = field(default_factory=set)

    def of(self, value: Any, owner: str) -> str:
        """Return a text that is equal for equal values; code in them is queued for a visit."""
        if type(value) in _PLAIN:
            return f"{type(value).__name__} {value!r}"
        if id(value) in self.known:
            return self.known[id(value)][1]
        # A value that contains itself appears there by its type. The value is kept alive, since its
        # id could be reused otherwise.
        self.known[id(value)] = value, f"again {type(value).__name__}"
        text = digest(self._text(value, owner))
        self.known[id(value)] = value, text
        return text

    def add(self, name: str, text: str) -> None:
        """Add a piece; pieces of one name are hashed together."""
        self.pieces.setdefault(name, set()).add(text)

    def _text(self, value: Any, owner: str) -> str:
        # Code that exists only as a record counts with its recorded digests.
        if isinstance(value, RecordedCode):
            for name, text in value.code.digests.items():
                self.packages[name] = text
            self.unchecked.update(value.code.unchecked)
            return "recorded"
        if isinstance(value, types.FunctionType):
            self.waiting.append(lambda: self._function(value))
            return f"code {_qualified_name(value)}"
        if isinstance(value, type):
            self.waiting.append(lambda: self._class(value))
            return f"code {_qualified_name(value)}"
        if (parts := _parts(value)) is not None:
            return f"{type(value).__name__} {[self.of(part, owner) for part in parts]}"
        if isinstance(value, types.ModuleType):
            self._package(value.__name__)
            return f"module {value.__name__}"
        if isinstance(value, _COMPILED):
            holder = getattr(value, "__objclass__", None) or getattr(value, "__self__", None)
            module = module_of(value) or module_of(holder) or module_of(type(holder))
            if is_theirs(module):
                self.unchecked.add(f"{_qualified_name(value)}: compiled")
            else:
                self._package(module)
            return f"compiled {_qualified_name(value)}"
        # Data: arrays by their bytes, collections by their parts.
        torch = sys.modules.get("torch")
        if isinstance(value, np.ndarray) and value.dtype.kind not in "OV":
            return _array(value)
        if isinstance(value, np.generic | np.dtype):
            return f"{type(value).__name__} {value!r}"
        if isinstance(value, np.ndarray):
            return f"array {value.shape} {self._sequence(value.ravel().tolist(), owner)}"
        if torch is not None and isinstance(value, torch.Tensor):
            return f"tensor {value.dtype} {_array(value.detach().cpu().double().numpy())}"
        # Exact types: a subclass may hold more than its items. Sets and dicts are sorted, since
        # their order does not count.
        if type(value) in (list, tuple):
            return f"{type(value).__name__} {self._sequence(value, owner)}"
        if type(value) in (set, frozenset):
            return f"{type(value).__name__} {sorted(self._sequence(value, owner))}"
        if type(value) in (dict, types.MappingProxyType):
            return f"dict {sorted(self._sequence(value.items(), owner))}"
        return self._object(value, owner)

    def _sequence(self, values: Iterable[Any], owner: str) -> list[str]:
        return [self.of(part, owner) for part in values]

    def _object(self, value: Any, owner: str) -> str:
        kind = type(value)
        named = self.of(kind, owner)
        if isinstance(value, _STATES):
            self.unchecked.add(f"{owner}: a {kind.__name__}, whose state moves on")
            return named
        own = package_of(module_of(kind)) == OWN
        if own or (hasattr(value, "describe") and is_theirs(module_of(kind))):
            # The plan records its settings by its description: only foreign parts count.
            further = value.reached() if own and hasattr(value, "reached") else ()
            for part in (*_state(value).values(), *further):
                self.held(part, owner)
            return named
        # User code runs here and may raise anything.
        try:
            # The parts of an object: its parameters, its fields, or its pickled state.
            object_parts: list[Any]
            if hasattr(value, "get_params"):  # an estimator's fitted state is replaced by training
                object_parts = sorted(value.get_params(deep=False).items())
            elif is_dataclass(value):
                object_parts = sorted(_state(value).items())
            else:
                found = value.__reduce_ex__(2)
                if isinstance(found, str):
                    object_parts = [found]
                else:
                    object_parts = [
                        list(part) if isinstance(part, Iterator) else part for part in found
                    ]
            return f"{named} {self._sequence(object_parts, owner)}"
        except Exception:  # noqa: BLE001
            self.unchecked.add(f"{owner}: a {kind.__name__}, whose content cannot be compared")
            return named

    def held(self, value: Any, owner: str) -> None:
        text = self.of(value, owner)
        described = (*_PLAIN, types.FunctionType, type, list, tuple, dict, np.ndarray)
        if not isinstance(value, described) and package_of(module_of(type(value))) != OWN:
            while isinstance(value, functools.partial | types.MethodType):
                value = value.func if isinstance(value, functools.partial) else value.__func__
            self.add(f"the values of {_qualified_name(value)}", text)

    def _function(self, function: types.FunctionType) -> None:
        code = function.__code__
        name = _qualified_name(function)
        carried = {}
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                carried[variable] = cell.cell_contents
            except ValueError:
                # An empty cell: the function refers to itself and is not complete yet.
                carried[variable] = None
        # Whether a function was written by the user. A wrapper made by an installed decorator has
        # the module name of the wrapped function, so its file decides.
        file = function.__code__.co_filename
        if not (is_theirs(module_of(function)) if file.startswith("<") else not is_installed(file)):
            self._package(str(function.__globals__.get("__name__", "")))
            # Code among values that are not compared themselves.
            for value in (*carried.values(), getattr(function, "__wrapped__", None)):
                if _is_code(value):
                    self.of(value, name)
            return
        self.add(name, digest(_bytecode(code)))
        bound = inspect.signature(function, follow_wrapped=False).parameters.values()
        carried |= {p.name: p.default for p in bound if p.default is not p.empty}
        carried.pop("__class__", None)  # for super(): the class, which is visited by itself
        for variable, value in carried.items():
            if isinstance(value, types.ModuleType):
                self._global(name, variable, value, _names(code, _ATTRIBUTE))
            else:
                self.add(f"{name}({variable})", self.of(value, f"{variable} of {name}"))
        wrapped = getattr(function, "__wrapped__", None)
        if _is_code(wrapped):
            self.of(wrapped, name)
        # The globals that it names.
        known = function.__globals__
        attributes = _names(code, _ATTRIBUTE)
        for variable in sorted(_names(code, _GLOBAL)):
            if variable in known:
                module = str(known.get("__name__", ""))
                self._global(module, variable, known[variable], attributes)
        # The modules that it imports when called, whether or not it has been called.
        package = str(known.get("__package__") or "")
        for imported in sorted(_names(code, ("IMPORT_NAME",))):
            files = files_of_module(imported)
            if not files and package:
                files = files_of_module(f"{package}.{imported}")
            if files.cut:
                self.unchecked.add(files.cut)
            for piece, text in pieces_of(files).items():
                self.add(piece, text)
            if not files and not is_theirs(imported):
                self._package(imported)

    def _global(self, module: str, name: str, value: Any, attributes: set[str]) -> None:
        if isinstance(value, types.ModuleType):
            # Visited once per importing module: modules may import each other.
            if (module, id(value)) in self.modules:
                return
            self.modules.add((module, id(value)))
            if not is_theirs(value.__name__):
                self._package(value.__name__)
                return
            for attribute in sorted(attributes):
                if attribute in vars(value):
                    found = vars(value)[attribute]
                    self._global(value.__name__, attribute, found, attributes)
        elif _is_code(value):
            self.of(value, f"{module}.{name}")
        elif not (name.startswith("__") and name.endswith("__")):
            self.add(f"{module}.{name}", self.of(value, f"{module}.{name}"))

    def _class(self, kind: type) -> None:
        for base in (*kind.__bases__, type(kind)):
            self.of(base, _qualified_name(kind))
        if not is_theirs(module_of(kind)):
            self._package(module_of(kind))
            return
        self.add(_qualified_name(kind), f"{[_qualified_name(base) for base in kind.__mro__]}")
        # Attributes of the class: code is visited, constants count by value, and what Python itself
        # adds (slots, caches, dunder names) does not count.
        for key, value in vars(kind).items():
            owner = f"{_qualified_name(kind)}.{key}"
            if _is_code(value):
                self.of(value, owner)
            elif not (
                isinstance(value, _SLOTS)
                or key.startswith("_abc_")
                or (key.startswith("__") and key.endswith("__"))
            ):
                self.add(owner, self.of(value, owner))

    def _package(self, module: str) -> None:
        top = package_of(module)
        if is_theirs(module):
            self.unchecked.add(f"{module}: used as a whole, not by the names of its parts")
        elif top and top not in PYTHON and f"package {top}" not in self.packages:
            self.packages[f"package {top}"] = version_of(top) or "unknown"


def _parts(value: Any) -> list[Any] | None:
    """Return the values inside a wrapper of code, such as a partial; None for anything else."""
    # Wrappers by type, then any decorator that sets `__wrapped__`.
    if isinstance(value, functools.partial | functools.partialmethod):
        return [value.func, value.args, dict(value.keywords)]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, functools.cached_property):
        return [value.func]
    wrapped = (
        None if isinstance(value, type) else inspect.getattr_static(value, "__wrapped__", None)
    )
    return [wrapped] if callable(wrapped) and not isinstance(value, types.FunctionType) else None


def _is_code(value: Any) -> bool:
    kinds = (types.FunctionType, types.MethodType, type, functools.partial, *_COMPILED)
    return isinstance(value, kinds) or (not isinstance(value, type) and _parts(value) is not None)


def _state(value: Any) -> dict[str, Any]:
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value) if f.compare}
    return dict(getattr(value, "__dict__", {}))


def _array(values: np.ndarray) -> str:
    content = np.ascontiguousarray(values)
    return f"{content.dtype} {content.shape} {hashlib.sha256(content.tobytes()).hexdigest()}"


def _names(code: types.CodeType, operations: tuple[str, ...]) -> set[str]:
    """Return the names used by the given instructions, in a function and its inner functions."""
    own = {i.argval for i in dis.get_instructions(code) if i.opname in operations}
    inside = [_names(c, operations) for c in code.co_consts if isinstance(c, types.CodeType)]
    return {name for names in (own, *inside) for name in names if isinstance(name, str)}


def _bytecode(code: types.CodeType) -> str:
    """Return the behaviour of a function as text, without docstring, lines and addresses."""
    # Constants by value, not by place: a docstring among them shifts the others.
    steps = [
        (i.opname, _constant(i.argval) if i.opcode in dis.hasconst else i.arg)
        for i in dis.get_instructions(code)
    ]
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], code.co_names
    return f"{named} {code.co_freevars} {code.co_exceptiontable.hex()} {steps}"


def _constant(value: object) -> str:
    if isinstance(value, types.CodeType):
        return _bytecode(value)
    if isinstance(value, tuple):
        return f"({[_constant(part) for part in value]})"
    # Sorted, since the order of a set of texts changes with every start of Python.
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _qualified_name(thing: Any) -> str:
    name = str(getattr(thing, "__qualname__", type(thing).__qualname__))
    return f"{module_of(thing)}.{name}" if module_of(thing) else name
