"""Arrays of a run as they are read: bounded, and damaged ones told in one line."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from privacygauge.core.memory import free_memory, in_words
from privacygauge.errors import InputError
from privacygauge.runs.encoding import AbsentError, Layout, read
from privacygauge.runs.folder import Folder

UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    RuntimeError,  # RecursionError, and what codecs raise
    OverflowError,
    MemoryError,
)
"""What reading a damaged array may raise."""


class Rows(Protocol):
    """An array on disk: slicing it reads the chunks of the rows asked for, and no others."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of every dimension."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its values."""

    @property
    def chunks(self) -> tuple[int, ...]:
        """The length of a chunk along every dimension."""

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the rows as a numpy array."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """An array of a run's folder, which may be damaged or another's."""

    layout: Layout
    """How it lies."""
    folder: Folder
    """The run's folder."""
    group: str
    """What the keys of the run's arrays begin with."""
    name: str
    """The array's name."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of every dimension."""
        return self.layout.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its values."""
        return np.dtype(self.layout.dtype)

    @property
    def chunks(self) -> tuple[int, ...]:
        """The length of a chunk along every dimension."""
        return self.layout.chunks

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the rows as a numpy array.

        Parameters
        ----------
        rows : int, slice, array of int or bool, or a tuple of them
            For the first dimensions; of several arrays every combination is read.

        Raises
        ------
        InputError
            If some of them are not there or cannot be read, or all of them are asked for and do
            not fit into memory.
        """
        path = self.folder.path
        whole = isinstance(rows, slice) and rows == slice(None)
        n_bytes = prod(self.shape) * self.dtype.itemsize if whole else 0
        if n_bytes > free_memory():
            raise InputError(
                f"{path}: the array {self.name} takes {in_words(n_bytes)} of memory, and "
                f"{in_words(free_memory())} are free: use a larger machine"
            )
        asked = (rows if isinstance(rows, tuple) else (rows,)) + (slice(None),) * len(self.shape)
        pairs = list(zip(asked[: len(self.shape)], self.shape, strict=True))
        places = [np.atleast_1d(np.arange(length)[some]) for some, length in pairs]
        kept = tuple(0 if np.ndim(np.arange(length)[some]) == 0 else slice(None)
                     for some, length in pairs)  # fmt: skip
        try:
            return read(self.layout, f"{self.group}/{self.name}", places, self.folder.get)[kept]
        except AbsentError as error:
            raise InputError(
                f"{path} lacks a part of the array {self.name}: start the run again to complete it"
            ) from error
        except UNREADABLE as error:
            raise unreadable(path, self.name) from error


def unreadable(path: str, name: str) -> InputError:
    """Return what to raise over an array that is damaged."""
    return InputError(f"{path} has no readable array {name}: start the run again to repair it")
