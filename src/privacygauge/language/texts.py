"""Ids and texts of samples as they were given, whatever is in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Ints
from privacygauge.errors import InputError

Texts = tuple[str, ...]
"""Ids or texts, one a sample. Not a numpy array: that would drop a last NUL, so that two
different ids become one, and would give every id the width of the longest."""

_WAY_OUT = "fill it in, or leave the row out"


def texts_of(
    values: Sequence[object] | NDArray[np.generic], name: str, n: int, *, empty: bool = False
) -> Texts:
    """Return `n` texts or numbers as texts.

    Parameters
    ----------
    values : sequence of str or number, length n
    name : str
        What messages call them.
    n : int
    empty : bool
        Whether a text may be empty: an id may not.

    Raises
    ------
    InputError
        One line: what is wrong, in which row, and the way out.
    """
    if isinstance(values, str) or (isinstance(values, np.ndarray) and values.ndim != 1):
        raise InputError(f"{name} must have the shape (n,), got {np.shape(values) or 'one text'}")
    if len(values) != n:
        raise InputError(f"{name} must have {n} rows, got {len(values)}")
    return tuple(_text(value, name, row, empty) for row, value in enumerate(values))


def picked(texts: Texts, rows: NDArray[np.intp]) -> Texts:
    """Return the texts of some rows."""
    return tuple(texts[row] for row in rows.tolist())


def numbered(names: Sequence[str]) -> Ints:
    """Return the number of each name, counted in the order in which names first occur, (n,)."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)


def _text(value: object, name: str, row: int, empty: bool) -> str:
    if type(value) is str and value and value.isascii():
        return value
    if _missing(value):
        raise InputError(f"{name} has no value in row {row}: {_WAY_OUT}")
    if not isinstance(value, str | int | float | np.generic):
        kind = type(value).__name__
        raise InputError(f"{name} must be texts or numbers, got {kind} in row {row}")
    text = str(value)
    if not text and not empty:
        raise InputError(f"{name} has no value in row {row}: {_WAY_OUT}")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{name} is not valid Unicode in row {row}: save the file as UTF-8")
    return text


def _missing(value: object) -> bool:
    # pandas' NA and NaT are known by name: pandas may not be there.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
