"""Records as learners take them, and log probabilities as they give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


def matrix(x: NDArray[Any], name: str, *, columns: int | None = None) -> Floats:
    """Return records as finite floats (n, d), d the number of columns if that is given."""
    found = np.ascontiguousarray(x, dtype=np.float64)
    if found.ndim != 2 or (columns is not None and found.shape[1] != columns):
        raise InputError(
            f"{name} must have the shape (n, {columns or 'd'}), got {found.shape}; "
            "one row a record, one column an attribute"
        )
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        row, column = (int(v) for v in bad[0])
        raise InputError(
            f"{name} must be finite, got {found[row, column]} in row {row}; fill missing values"
        )
    return found


def training_set(x: NDArray[Any], y: Ints, n_classes: int) -> tuple[Floats, Ints]:
    """Return at least one record (n, d) and their classes (n,), all below the number of classes."""
    records = matrix(x, "x")
    if not len(records):
        raise InputError("x must hold at least one record, got none")
    labels = checks.classes(y, "y", length=len(records))
    if labels.max() >= n_classes:
        raise InputError(f"y must be below n_classes = {n_classes}, got {labels.max()}")
    return records, labels


def class_log_p(log_joint: Floats) -> Floats:
    """Return log probabilities (..., k) from logarithms up to a constant.

    NaN throughout where every class is impossible, or one is NaN: there is no answer.
    """
    with np.errstate(invalid="ignore"):
        joint = log_joint - log_joint.max(axis=-1, keepdims=True)
        return np.asarray(joint - np.log(np.exp(joint).sum(axis=-1, keepdims=True)), np.float64)


def logs(p: Floats) -> Floats:
    """Return logarithms (...) of probabilities (...), -inf where one is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p), np.float64)


def log_priors(y: Ints, n_classes: int) -> Floats:
    """Return the logarithms of the classes' shares n_y / n of the records, (k,)."""
    return logs(np.bincount(y, minlength=n_classes) / len(y))


def log_priors_without(y: Ints, rows: Ints, n_classes: int) -> Floats:
    """Return the logarithms of the classes' shares of the other records, (r, k); NaN if none."""
    left = np.bincount(y, minlength=n_classes) - np.eye(n_classes)[y[rows]]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(left / np.float64(len(y) - 1)), np.float64)
