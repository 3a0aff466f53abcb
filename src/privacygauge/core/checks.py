"""Checks of arguments at the public border; errors state name, rule, value and way out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.errors import InputError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

LARGEST = 1e36
"""Largest absolute value in a table, so that sums of a few values fit single precision."""


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy of `array`, or `array` itself if it already is such a copy."""
    # A view could still be changed through its base.
    if array.flags.owndata and not array.flags.writeable:
        return array
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def level(value: float, name: str = "level") -> float:
    """Return `value` if it is in (0, 1)."""
    # Numbers have absolute values; an Estimate, which turns to float, has none.
    kind(value, name, "__abs__", "a number in (0, 1)")
    if not 0.0 < value < 1.0:
        raise InputError(f"{name} must be in (0, 1), got {value}")
    return float(value)


def kind(value: object, name: str, needed: type | tuple[type, ...] | str, usual: str) -> None:
    """Refuse an option of the wrong type.

    Parameters
    ----------
    value : object
        The option; None if it was not given, which is accepted.
    name : str
        Name of the option in the message.
    needed : type, tuple of types or str
        The required type, one of several types, or the name of a required method or attribute.
    usual : str
        Description of a valid value, or how one is usually made, for the message.
    """
    if value is not None and not _is_instance(value, needed):
        raise InputError(f"{name} must be {usual}, got {_short_repr(value)}")


def one_order(columns: Mapping[str, Any], name: str) -> None:
    """Refuse pandas columns whose indexes have the same labels in another order.

    Columns go together by position: one that was sorted or shuffled alone would be taken for the
    values of other records.

    Parameters
    ----------
    columns : mapping of str to object
        Columns or tables by their names in the message; those without an index are left out.
    name : str
        Name of the input in the message.
    """
    indexes = {
        key: column.index
        for key, column in columns.items()
        if hasattr(getattr(column, "index", None), "equals")
    }
    for (one, first), (other, second) in combinations(indexes.items(), 2):
        if not first.equals(second) and Counter(first) == Counter(second):
            raise InputError(
                f"{name}: the indexes of {one} and {other} have the same labels in another order: "
                f"bring them into one order, as {other}.loc[{one}.index], or give both as arrays "
                "(.to_numpy()) if they go together by position"
            )


def kinds(values: object, name: str, needed: type | tuple[type, ...] | str, usual: str) -> None:
    """Refuse an option that is not a sequence of values accepted by `kind`."""
    if values is None:
        return
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise InputError(f"{name} must be a sequence, such as [{usual}], got {_short_repr(values)}")
    if isinstance(values, Sequence):  # others can be looked at once only
        for i, value in enumerate(values):
            if not _is_instance(value, needed):
                raise InputError(f"{name}[{i}] must be {usual}, got {_short_repr(value)}")


def _is_instance(value: object, needed: type | tuple[type, ...] | str) -> bool:
    """Return whether a value is of a type or has a method; False for a class itself."""
    # A class has the methods of its instances, but is not one of them.
    if isinstance(value, type):
        return False
    # An array has the methods of a number, and is one only without axes.
    if isinstance(needed, str) and isinstance(value, np.ndarray) and value.ndim:
        return False
    return hasattr(value, needed) if isinstance(needed, str) else isinstance(value, needed)


def _short_repr(value: object) -> str:
    """Return a value for a message: the repr of a simple value, the type of any other."""
    if value is None or isinstance(value, bool | int | float | str):
        text = repr(value)
        return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


_SHORT = 60
"""Most characters of a value that a message prints."""


def below_one(value: float, name: str) -> None:
    """Refuse a value that is not in [0, 1)."""
    kind(value, name, "__abs__", "a number in [0, 1)")
    if not 0.0 <= value < 1.0:
        raise InputError(f"{name} must be in [0, 1), got {value}")


def at_least(least: float, /, **numbers: float) -> None:
    """Refuse numbers, given by name, that are below a minimum."""
    for name, number in numbers.items():
        kind(number, name, "__abs__", f"a number from {least} on")
        if number < least:
            raise InputError(f"{name} must be at least {least}, got {number}")


def positive(**numbers: float) -> None:
    """Refuse numbers, given by name, that are not finite and above 0."""
    for name, number in numbers.items():
        kind(number, name, "__abs__", "a finite number above 0")
        # A single chain: it is False for NaN as well.
        if not 0 < number < math.inf:
            raise InputError(f"{name} must be finite and above 0, got {number}")


def floats(values: ArrayLike, name: str, *, length: int | None = None) -> Floats:
    """Return `values` as a read-only vector of finite floats.

    Parameters
    ----------
    values : array_like of shape (n,)
    name : str
        Name of the values in messages.
    length : int, optional
        Required length.

    Raises
    ------
    InputError
        If the values are not a vector of that length, not numbers, or not all finite.
    """
    array = vector(values, name, length=length)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers, got {array.dtype}")
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        row = np.flatnonzero(~np.isfinite(array))[0]
        raise InputError(f"{name} must be finite, got {array[row]} in row {row}")
    return frozen(array)


def bools(values: ArrayLike, name: str, *, length: int | None = None) -> Bools:
    """Return `values`, booleans or the numbers 0 and 1, as a read-only vector of booleans."""
    array = vector(values, name, length=length)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be true or false (or 1 and 0), got {array.dtype}")
    if array.dtype.kind != "b" and (bad := np.flatnonzero((array != 0) & (array != 1))).size:
        raise InputError(
            f"{name} must be true or false (or 1 and 0), got {array[bad[0]]} in row {bad[0]}"
        )
    return frozen(array.astype(np.bool_, copy=False))


def integers(values: ArrayLike, name: str, *, length: int | None = None) -> Ints:
    """Return `values`, integers of any numeric type, as a read-only vector of int64."""
    array = vector(values, name, length=length)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must be integers, got {array.dtype}")
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~(np.isfinite(array) & (np.trunc(array) == array)))
        if bad.size:
            raise InputError(f"{name} must be integers, got {array[bad[0]]} in row {bad[0]}")
    return frozen(array.astype(np.int64, copy=False))


def classes(values: ArrayLike, name: str, *, length: int | None = None) -> Ints:
    """Return `values`, integers that are at least 0, as a read-only vector of int64."""
    array = integers(values, name, length=length)
    if len(array) and array.min() < 0:
        row = int(np.flatnonzero(array < 0)[0])
        raise InputError(f"{name} must be at least 0, got {array[row]} in row {row}")
    return array


def short_list(values: Iterable[object], most: int = 10) -> str:
    """Return the first few values for a message, such as ``1, 2, 3, ...``."""
    texts = [str(value) for value in values]
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")


def n_distinct(values: Ints) -> int:
    """Count the distinct values; in linear time if they are ascending or small."""
    if len(values) < 2 or np.all(values[1:] > values[:-1]):
        return len(values)
    if values.min() >= 0 and values.max() < 8 * len(values):  # counting takes no sorting
        return int(np.count_nonzero(np.bincount(values)))
    return len(np.unique(values))


def present(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return `values`, names of any type, if none of them is missing (see `is_absent`)."""
    if values.dtype.kind in "biuSU":
        return values
    for row, value in enumerate(values.tolist()):
        if isinstance(value, list | tuple | dict | np.ndarray):
            raise InputError(f"{name} must have one value in every row, got several in row {row}")
        if is_absent(value):
            raise InputError(
                f"{name} must have a value in every row, got none in row {row}: fill the gaps, or "
                "leave the column out"
            )
    return values


def characters(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return `values` if all texts among them are valid Unicode, with no lone surrogates."""
    if values.dtype.kind in "OU":
        for row, value in enumerate(values.ravel().tolist()):
            # ASCII holds no surrogates, and asking is fast.
            if not isinstance(value, str) or value.isascii():
                continue
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InputError(
                    f"{name} holds half of a character in row {row}: write it as UTF-8"
                ) from None
    return values


def is_absent(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, or a missing value of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither true nor false
        return True
    except ValueError:  # an array
        return False


def vector(values: ArrayLike, name: str, *, length: int | None = None) -> NDArray[Any]:
    """Return `values`, of shape (n,) or (n, 1), as an array (n,) of the given length."""
    array = np.asarray(values)
    # A single column of a table or a data frame is meant as a vector.
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} must have the shape (n,), got {array.shape}")
    if length is not None and len(array) != length:
        raise InputError(f"{name} must have {length} rows, got {len(array)}")
    return array
