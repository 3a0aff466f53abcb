"""Conditions of a target on the rows of tables, as bit masks.

One condition per attribute: "equals the target's value", or "is at most the target's value".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import bools
from privacygauge.errors import InputError

Masks = NDArray[np.uint32]
"""Bit j of a row's mask: the row meets condition j."""

MOST_BITS = 32
"""Bits of a mask: 4 bytes."""

BLOCK = 1 << 19
"""Cells processed at once: few enough to stay in a processor's cache."""


def masks(rows: ArrayLike, target: ArrayLike, at_most: ArrayLike) -> Masks:
    """Return, for each row, the bit mask of the target's conditions that the row meets.

    Parameters
    ----------
    rows : array_like of shape (n, F) or (k, n, F)
        The rows of a table, or of k tables, as numbers; categories as codes. F is at most 32.
    target : array_like of shape (F,)
        The target record, coded as the rows are.
    at_most : array_like of shape (F,)
        True for the attributes that are compared with "<=", False for those with "=".

    Returns
    -------
    ndarray of uint32, shape (n,) or (k, n)
        Bit j is set where ``rows[..., j] <= target[j]`` (or ``==``). NaN meets no condition, on
        either side.

    Raises
    ------
    InputError
        If the shapes do not fit, values are not numbers, or there are more than 32 attributes.

    Notes
    -----
    Meeus et al. (2023), section 5.1: "=" on categorical attributes and "<=" on continuous ones.
    "=" on all of them is another choice of the attacker, who then sees values that a generator
    copied.

    Examples
    --------
    >>> masks([[1, 30], [1, 50], [0, 20]], [1, 40], [False, True])
    array([3, 1, 2], dtype=uint32)
    """
    return Conditions.of(rows, target, at_most).masks()


@dataclass(frozen=True)
class Conditions:
    """Rows of tables, and the bounds within which each attribute meets the target's condition."""

    rows: NDArray[Any]
    """(..., n, F) Values as numbers."""
    low: NDArray[Any]
    """(F,) Smallest value that meets the condition."""
    high: NDArray[Any]
    """(F,) Largest value that meets the condition."""

    @classmethod
    def of(cls, rows: ArrayLike, target: ArrayLike, at_most: ArrayLike) -> Conditions:
        """Return the conditions of one target; check its shape and values."""
        table = numbers(rows, "rows")
        record = numbers(target, "target")
        if table.ndim not in (2, 3):
            raise InputError(f"rows must have the shape (n, F) or (k, n, F), got {table.shape}")
        if not table.shape[-1]:
            raise InputError("rows must have at least one attribute, got none")
        if record.shape != table.shape[-1:]:
            raise InputError(
                f"target must have the shape (F,) = {table.shape[-1:]}, got {record.shape}"
            )
        below = bools(at_most, "at_most", length=len(record))
        high = record.astype(np.result_type(table, record), copy=False)
        return cls(table, np.where(below, _least(high.dtype), high), high)

    def met(self, part: slice = slice(None)) -> NDArray[np.bool_]:
        """Return a mask (rows, F) of the conditions that the rows of a flat part meet."""
        rows = self.rows.reshape(-1, self.rows.shape[-1])[part]
        result = rows <= self.high
        result &= rows >= self.low
        return result

    def masks(self) -> Masks:
        """Return the bit masks of the rows: (..., n)."""
        n_features = self.rows.shape[-1]
        if n_features > MOST_BITS:
            raise InputError(
                f"rows must have at most {MOST_BITS} attributes to be masks, "
                f"got {n_features}: use bitmaps"
            )
        result = np.empty(self.rows.shape[:-1], np.uint32)
        flat = result.reshape(-1)
        for part in row_blocks(flat.size, MOST_BITS):
            met = self.met(part)
            bits = np.zeros((len(met), MOST_BITS), np.bool_)
            bits[:, :n_features] = met
            flat[part] = np.packbits(bits.reshape(-1), bitorder="little").view("<u4")
        return result


def numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """Convert `values` to an array of numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers (categories as codes), got {array.dtype}")
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def whole_numbers(values: ArrayLike, name: str, n_features: int) -> NDArray[Any]:
    """Check that `values` are bit masks of `n_features` bits; return them."""
    array = np.asarray(values)
    if not array.size:
        return array.astype(np.uint32)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must hold integers, got {array.dtype}")
    if array.max() >= 1 << n_features or (array.dtype.kind == "i" and array.min() < 0):
        raise InputError(
            f"{name} must lie in 0..2^{n_features} - 1, "
            f"got values from {array.min()} to {array.max()}: is n_features right?"
        )
    return array


def row_blocks(length: int, width: int) -> Iterator[slice]:
    """Cut `length` rows of `width` cells into slices of about `BLOCK` cells."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, start + step) for start in range(0, length, step))


def _least(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the smallest value of the type."""
    return np.array(-np.inf if dtype.kind == "f" else np.iinfo(dtype).min, dtype)
