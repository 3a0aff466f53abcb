"""Checks of training inputs, before any work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch

    from privacygauge.classifier.networks.task import Task


def features(x: NDArray[Any], dtype: str, device: torch.device) -> torch.Tensor:
    """Return the features as a tensor, (n, d)."""
    import torch

    array = np.asarray(x)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"x must have the shape (n, d) with n, d >= 1, got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise InputError(f"x must hold numbers, got {array.dtype}: encode categories first")
    tensor = torch.tensor(array, dtype=getattr(torch, dtype), device=device)
    bad = torch.nonzero(~tensor.isfinite().all(1)).flatten()
    if len(bad):
        row = int(bad[0])
        column = int(torch.nonzero(~tensor[row].isfinite())[0])
        raise InputError(
            f"x must be finite in {dtype}, got {array[row, column]} in row {row}, "
            f"column {column}: fill in or scale it first"
        )
    return tensor


def labels(y: NDArray[Any], n_classes: int) -> Ints:
    """Return the classes, (n,)."""
    if isinstance(n_classes, bool) or n_classes < 2:
        raise InputError(f"n_classes must be at least 2, got {n_classes}")
    array = checks.classes(y, "y")
    bad = np.flatnonzero(array >= n_classes)
    if bad.size:
        raise InputError(
            f"y must be in 0..{n_classes - 1}, got {array[bad[0]]} in row {bad[0]}: "
            "number the classes from 0, or raise n_classes"
        )
    return array


def subsets(inside: Bools) -> Bools:
    """Return the checked membership of the training sets, (m, n)."""
    if not len(inside):
        raise InputError(f"inside must have the shape (m, n) with m >= 1, got {inside.shape}")
    empty = np.flatnonzero(~inside.any(axis=1))
    if empty.size:
        raise InputError(
            f"inside must have a record for each model, got none in row {empty[0]}: "
            "leave the model out"
        )
    return inside


def model_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the checked seed of each model."""
    array = checks.integers(seeds, "seeds")
    bad = np.flatnonzero((array < 0) | (array >= 2**31))
    if bad.size:
        raise InputError(f"seeds must be in 0..2**31-1, got {array[bad[0]]} at {bad[0]}")
    return tuple(array.tolist())


def records_to_predict(asked: NDArray[Any], n: int) -> Ints:
    """Return the checked rows of the records to predict, (a,)."""
    array = np.asarray(asked)
    array = checks.classes(array.astype(np.int64) if array.size == 0 else array, "asked")
    bad = np.flatnonzero(array >= n)
    if bad.size:
        raise InputError(
            f"asked must hold rows of x, in 0..{n - 1}, got {array[bad[0]]} at {bad[0]}"
        )
    return array


def check_module(task: Task) -> None:
    """Raise if a module cannot be trained or its outputs are not logits."""
    import torch

    module = task.module(0)
    if not any(p.requires_grad for p in module.parameters()):
        raise InputError("make must return a module with weights to train, got one without")
    with torch.no_grad():
        outputs = module.eval()(task.x[:2])
    expected = (min(2, len(task.x)), task.n_classes)
    if not isinstance(outputs, torch.Tensor) or tuple(outputs.shape) != expected:
        shape = getattr(outputs, "shape", type(outputs).__name__)
        raise InputError(
            f"make must return a module with outputs of the shape (n, {task.n_classes}), got "
            f"{tuple(shape) if isinstance(shape, torch.Size) else shape} for {expected[0]} records"
        )
