"""What a run holds: how its arrays lie, what a task must give, and the digest of a task."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import frozen, listed
from privacygauge.core.coins import Coins
from privacygauge.errors import InputError
from privacygauge.runs.encoding import Layout
from privacygauge.runs.plan import ArraySpec, Plan, Task

DIGEST = "digest"
_BLOCK = 1 << 24
"""Bytes of an array that are hashed at a time."""


@dataclass(frozen=True, eq=False)
class Static:
    """An array that is known before the run starts, such as who is a member of which model."""

    dims: tuple[str, ...]
    """A name for every dimension."""
    values: NDArray[Any]
    """Booleans, integers or floats, with at least one value; `Coins` are drawn part by part."""

    def __post_init__(self) -> None:
        values = self.values if isinstance(self.values, Coins) else np.asarray(self.values)
        # The spec's own rules: one name a dimension, a type that every machine knows.
        ArraySpec(self.dims, values.shape, values.dtype.name)
        object.__setattr__(self, "dims", tuple(self.dims))
        if not isinstance(values, Coins):
            object.__setattr__(self, "values", frozen(np.ascontiguousarray(values)))

    @property
    def sha256(self) -> str:
        """The checksum of names, type, shape and values."""
        values, kind = self.values, self.values.dtype
        digest = hashlib.sha256(f"{self.dims} {kind.name} {values.shape} ".encode())
        step = max(1, _BLOCK // max(1, prod(values.shape[1:]) * kind.itemsize))
        for start in range(0, len(values), step):
            part = values[start : start + step].astype(kind.newbyteorder("<"), copy=False)
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def layouts(plan: Plan) -> dict[str, Layout]:
    """Return how the arrays of the plan lie: a task is a chunk along the first dimension."""
    return {
        name: Layout(spec.dims, spec.shape, (plan.units_a_task, *spec.chunks), spec.dtype)
        for name, spec in plan.arrays.items()
    }


def static_layout(plan: Plan, array: Static) -> Layout:
    """Return how a static array lies: in one chunk, or in one a task where units come first."""
    shape = array.values.shape
    first = plan.units_a_task if array.dims[0] == plan.unit else shape[0]
    return Layout(array.dims, shape, (first, *shape[1:]), array.values.dtype.name)


def digest_layout(plan: Plan) -> dict[str, Layout]:
    """Return how the digests lie: 32 bytes and one chunk a task."""
    shape = (plan.n_tasks, 32)
    return {DIGEST: Layout(("task", "byte"), shape, (1, 32), "uint8", compressed=False)}


def task_digest(plan: Plan, task: Task, files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the sha256 of what the task depends on and of its chunks, sorted by key."""
    digest = hashlib.sha256(plan.of_task(task).encode())
    for key, content in files:
        digest.update(f"\n{key} {len(content)}\n".encode())
        digest.update(content)
    return digest.digest()


def checked(plan: Plan, task: Task, values: Mapping[str, ArrayLike]) -> dict[str, NDArray[Any]]:
    """Return what a task gave as arrays of the planned types, or say what is wrong with it."""
    if set(values) != set(plan.arrays):
        raise InputError(
            f"a task must give the arrays {listed(plan.arrays)}, got {listed(sorted(values))}"
        )
    return {name: _fitting(spec, task, name, values[name]) for name, spec in plan.arrays.items()}


def _fitting(spec: ArraySpec, task: Task, name: str, given: ArrayLike) -> NDArray[Any]:
    array = np.asarray(given)
    shape = (task.n_units, *spec.shape[1:])
    if array.shape != shape:
        raise InputError(f"{name} must have the shape {shape} in this task, got {array.shape}")
    if not np.can_cast(array.dtype, spec.dtype, "same_kind"):
        raise InputError(f"{name} must be of type {spec.dtype}, got {array.dtype}")
    with np.errstate(over="ignore"):
        fitting = array.astype(spec.dtype, copy=False)
    if fitting.dtype.kind == "f" and fitting.dtype.itemsize < array.dtype.itemsize:
        beyond = np.isinf(fitting) & np.isfinite(array)
        if beyond.any():
            raise InputError(
                f"{name} holds {array[beyond][0]:g}, which is beyond {spec.dtype}: plan a wider "
                "type"
            )
    return fitting
