"""Arrays of a run as they are read: bounded, and damaged ones told in one line."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from privacygauge.core.memory import free_memory, in_words
from privacygauge.errors import InputError

UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    RuntimeError,  # RecursionError, and what codecs raise
    OverflowError,
    MemoryError,
)
"""What zarr raises over a damaged array."""


class Rows(Protocol):
    """An array on disk: slicing it reads the chunks of the rows asked for, and no others."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of every dimension."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its values."""

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the rows as a numpy array."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """An array of a run's folder, which may be damaged or another's."""

    stored: Rows
    """The array."""
    path: str
    """The run's folder."""
    name: str
    """The array's name."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of every dimension."""
        return self.stored.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its values."""
        return self.stored.dtype

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the rows as a numpy array.

        Raises
        ------
        InputError
            If they cannot be read, or all of them are asked for and do not fit into memory.
        """
        whole = isinstance(rows, slice) and rows == slice(None)
        n_bytes = prod(self.shape) * self.dtype.itemsize if whole else 0
        if n_bytes > free_memory():
            raise InputError(
                f"{self.path}: the array {self.name} takes {in_words(n_bytes)} of memory, and "
                f"{in_words(free_memory())} are free: use a larger machine"
            )
        try:
            return self.stored[rows]
        except UNREADABLE as error:
            raise unreadable(self.path, self.name) from error


def unreadable(path: str, name: str) -> InputError:
    """Return what to raise over an array that is damaged."""
    return InputError(f"{path} has no readable array {name}: start the run again to repair it")
