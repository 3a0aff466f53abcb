"""The plan of a run: everything that its result depends on, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from privacygauge.core.seeds import non_negative
from privacygauge.errors import InputError
from privacygauge.runs.source import Code, on_one_side

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
_VERSIONS = "versions"
"""Setting of a plan that names the versions of packages."""
_OWN = "privacygauge"
"""Key of the version of PrivacyGauge, among `_VERSIONS` or alone."""
CONTINUED = frozenset({"0.1.0"})
"""Earlier versions of PrivacyGauge whose runs this one continues: equal plans have equal results.
"""
MOST_CHUNKS = 10_000_000
"""Most files of a run; larger plans, as a foreign run may hold, are refused."""


@dataclass(frozen=True)
class Task:
    """Units ``start:stop`` of a plan, computed, written and repeated together."""

    number: int
    """Index among the tasks of the plan, from 0."""
    start: int
    """First unit."""
    stop: int
    """End of the units, exclusive."""

    @property
    def n_units(self) -> int:
        """Number of units of the task."""
        return self.stop - self.start


@dataclass(frozen=True)
class ArraySpec:
    """An array of a run, with one row per unit."""

    dims: tuple[str, ...]
    """Name of each dimension; the first is the plan's unit."""
    shape: tuple[int, ...]
    """Length of each dimension, at least 1; the first is the plan's number of units."""
    dtype: str
    """Numpy name of a boolean, integer or float type of at most 8 bytes, such as ``"float32"``."""
    chunks: tuple[int, ...] = ()
    """Chunk lengths of the dimensions after the first; default: whole dimensions."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dims", tuple(self.dims))
        object.__setattr__(self, "shape", _lengths(self.shape, "shape"))
        chunks = _lengths(self.chunks, "chunks") or self.shape[1:]
        object.__setattr__(self, "chunks", chunks)
        for name in self.dims:
            _check_name(name, "the name of a dimension")
        if not self.dims or len(set(self.dims)) < len(self.dims):
            raise InputError(f"dims must be at least one, each named once, got {self.dims}")
        if not len(self.dims) == len(self.shape) == len(self.chunks) + 1:
            raise InputError(
                "dims and shape must have one entry a dimension, chunks one less, "
                f"got {self.dims}, {self.shape} and {self.chunks}"
            )
        try:
            known = np.dtype(self.dtype)
        except TypeError as error:
            raise InputError(
                f"dtype must be a name such as 'float32', got {self.dtype!r}"
            ) from error
        if known.kind not in "biuf" or known.name != self.dtype or known.itemsize > 8:
            raise InputError(
                "dtype must name a boolean, integer or float of at most 8 bytes, got "
                f"{self.dtype!r}"
            )


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that the result of a run depends on: equal plans have equal results."""

    name: str
    """Kind of the run, such as ``"classifier"``."""
    seed: int
    """Seed of all random numbers of the run, at least 0."""
    n_units: int
    """Number of units, at least 1."""
    unit: str
    """Name of a unit, such as ``"model"``: the first dimension of every array."""
    units_a_task: int
    """Number of units per task, computed and written together, at least 1."""
    arrays: Mapping[str, ArraySpec]
    """Arrays of results by name, at least one."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """All other inputs, as JSON values: options, the checksum of the data."""
    code: Code = field(default_factory=Code)
    """User code that computes the results."""
    units: tuple[str, ...] = ()
    """Digest per unit of the inputs of that unit alone. With digests, a run can grow at its end;
    without, the number of units is fixed."""

    def __post_init__(self) -> None:
        _check_name(self.name, "name")
        _check_name(self.unit, "unit")
        object.__setattr__(self, "seed", non_negative(self.seed))
        object.__setattr__(self, "n_units", _lengths((self.n_units,), "n_units")[0])
        object.__setattr__(self, "units_a_task", _lengths((self.units_a_task,), "units_a_task")[0])
        # Sorted, so that plans with the same arrays have the same text.
        object.__setattr__(self, "arrays", MappingProxyType(dict(sorted(self.arrays.items()))))
        if not self.arrays:
            raise InputError("arrays must hold at least one array, got none")
        for name, spec in self.arrays.items():
            _check_name(name, "the name of an array")
            if spec.dims[0] != self.unit or spec.shape[0] != self.n_units:
                raise InputError(
                    f"the first dimension of {name} must be {self.unit} of length {self.n_units}, "
                    f"got {spec.dims[0]} of length {spec.shape[0]}"
                )
        chunks = self.n_tasks * sum(
            prod(-(-n // c) for n, c in zip(spec.shape[1:], spec.chunks, strict=True))
            for spec in self.arrays.values()
        )
        if chunks > MOST_CHUNKS:
            raise InputError(
                f"a run must have at most {MOST_CHUNKS:,} chunks, got {chunks:,}: compute more "
                "units a task, or choose larger chunks"
            )
        object.__setattr__(self, "settings", _freeze(json.loads(canonical(self.settings))))
        object.__setattr__(self, "units", tuple(self.units))
        if self.units and len(self.units) != self.n_units:
            raise InputError(
                f"units must have one digest for each of the {self.n_units} units, got "
                f"{len(self.units)}"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        # The read-only views inside cannot be pickled; the text can.
        return Plan.from_json, (self.to_json(),)

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of the canonical JSON, in hexadecimal; equal only for equal plans."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def constant(self) -> str:
        """The sha256 of everything that stays the same as the run grows: all but the units."""
        parts = self._parts()
        for spec in parts["arrays"].values():
            del spec["shape"][0]
        parts = {name: part for name, part in parts.items() if name not in ("n_units", "units")}
        return hashlib.sha256(canonical(parts).encode()).hexdigest()

    def grown_from(self, smaller: Plan) -> bool:
        """Return whether this plan is `smaller` with further units at its end."""
        n = len(smaller.units)
        return (
            0 < n < len(self.units)
            and self.units[:n] == smaller.units
            and (self.constant == smaller.constant)
        )

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return -(-self.n_units // self.units_a_task)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Tasks in the order of their units; the last one may be shorter."""
        starts = [*range(0, self.n_units, self.units_a_task), self.n_units]
        return tuple(Task(i, a, b) for i, (a, b) in enumerate(pairwise(starts)))

    def to_json(self) -> str:
        """Return the plan as canonical JSON: keys sorted, no spaces."""
        return canonical(self._parts())

    def _parts(self) -> dict[str, Any]:
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        parts["code"] = self.code.to_mapping()
        # Left out if empty, so that plans without them keep their fingerprints.
        absent = [name for name in ("code", "units") if not parts[name]]
        plain: dict[str, Any] = json.loads(
            canonical({name: part for name, part in parts.items() if name not in absent})
        )
        return plain

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan from a text made by `to_json`.

        Raises
        ------
        InputError
            If the text is not JSON or does not describe a plan.
        """
        try:
            parts = json.loads(text)
            arrays = {name: ArraySpec(**spec) for name, spec in parts.pop("arrays").items()}
            stored = parts.pop("code", {})
            code = Code(dict(stored.get("digests", {})), tuple(stored.get("unchecked", ())))
            return cls(arrays=arrays, code=code, **parts)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"the text does not describe a plan: {error}") from error


def with_versions_of(there: Plan, here: Plan, *, finished: bool) -> Plan:
    """Return a plan with the versions of a stored run, where they need not agree.

    Parameters
    ----------
    there : Plan
        Plan of the stored run.
    here : Plan
        Plan of the present call.
    finished : bool
        Whether the stored run is only read, so that any versions will do. Otherwise the one of
        PrivacyGauge may be in `CONTINUED`; numerical packages must agree, since a run of two of
        them would mix two roundings.
    """
    settings: dict[str, Any] = json.loads(here.to_json())["settings"]
    stored: dict[str, Any] = json.loads(there.to_json())["settings"]
    # Runs that are kept for their answers name only PrivacyGauge, outside of "versions".
    for now, then in (
        (settings, stored),
        (settings.get(_VERSIONS, {}), stored.get(_VERSIONS, {})),
    ):
        if then.get(_OWN) in CONTINUED and _OWN in now:
            now[_OWN] = then[_OWN]
    settings = _with_stored_modules(settings, stored)
    if finished and _VERSIONS in settings and _VERSIONS in stored:
        settings[_VERSIONS] = stored[_VERSIONS]
    return replace(here, settings=settings)


def _with_stored_modules(now: Any, then: Any) -> Any:
    """Return settings in which own code has the module that it had when a run was stored.

    Modules move between versions; a class or function is told by its name.
    """
    if isinstance(now, dict) and isinstance(then, dict):
        return {key: _with_stored_modules(value, then.get(key)) for key, value in now.items()}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [_with_stored_modules(*pair) for pair in zip(now, then, strict=True)]
    if isinstance(now, str) and isinstance(then, str):
        own = [name.startswith("privacygauge.") for name in (now, then)]
        if all(own) and now.rpartition(".")[2] == then.rpartition(".")[2]:
            return then
    return now


def first_difference(there: Plan, here: Plan) -> str | None:
    """Return the first difference between two plans in one line; None for equal plans.

    Parameters
    ----------
    there, here : Plan

    Returns
    -------
    str or None
        Such as ``"epochs is 50 there and 40 here"``.
    """
    # As JSON, which differs for settings that are equal in Python: 1, true, 1.0.
    a, b = ({name: canonical(value) for name, value in _leaves(plan)} for plan in (there, here))
    # In the order of the earlier plan, then what only the later one has.
    for name in [*a, *(name for name in b if name not in a)]:
        if a.get(name) != b.get(name):
            found = ["not set" if x is None else x.strip('"') for x in (a.get(name), b.get(name))]
            left, right = (x if len(x) <= 60 else f"{x[:57]}..." for x in found)
            return f"{name} is {left} there and {right} here"
    return on_one_side(there.code.digests, here.code.digests)


def canonical(value: object) -> str:
    """Return `value` as JSON with sorted keys and no spaces.

    Raises
    ------
    InputError
        If it holds anything but None, booleans, finite numbers, texts, lists and mappings.
    """
    try:
        return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise InputError(
            f"settings must be JSON values with finite numbers, but {error}"
        ) from error


def _plain(value: object) -> Json:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, ArraySpec):
        value = vars(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is a {type(value).__name__}")
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"the key {key!r} is not a text")
    return {key: _plain(part) for key, part in value.items()}


def _freeze(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: _freeze(part) for key, part in value.items()})
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


def _leaves(plan: Plan) -> Iterator[tuple[str, Json]]:
    # Settings first: a difference in them usually explains all others.
    parts = json.loads(plan.to_json())
    parts.get("code", {}).pop("digests", None)
    units = parts.pop("units", [])
    yield from _parts(parts.pop("settings"), ())
    arrays = parts.pop("arrays")
    n_units = parts.pop("n_units")
    yield from _parts(parts, ())
    yield "n_units", n_units
    yield from _parts(arrays, ("arrays",))
    yield f"the digest of the {plan.unit}s", hashlib.sha256(canonical(units).encode()).hexdigest()


def _parts(value: Json, path: tuple[str, ...]) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _parts(part, (*path, key))
    else:
        yield ".".join(path), value


def _lengths(values: object, name: str) -> tuple[int, ...]:
    lengths = tuple(cast(tuple[int, ...], values))
    for length in lengths:
        if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 1:
            raise InputError(f"{name} must be an integer of at least 1, got {length!r}")
    return tuple(int(length) for length in lengths)


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise InputError(f"{what} must be a word of letters, digits and underscores, got {name!r}")
