"""Membership of records in worlds, by fair coins drawn on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class Coins:
    """The coins of `coin_flips`, drawn again on each access, so that they take no memory.

    Indexed like a boolean array of shape (k, n), by worlds and records.
    """

    states: tuple[Mapping[str, Any], ...]
    """States of the PCG64 generators before their first coin."""
    source: Ints
    """(k,) Index of the generator that draws each world's coins."""
    place: Ints
    """(k,) Number of worlds that this generator draws before the world."""
    n_records: int
    """Number of records, n."""

    @classmethod
    def of(cls, n_worlds: int, n_records: int, rng: np.random.Generator) -> Coins:
        """Return the coins that `coin_flips` would draw, without advancing `rng`.

        Raises
        ------
        InputError
            If the generator is not PCG64, numpy's default.
        """
        require_some(n_worlds, n_records)
        bits = rng.bit_generator
        if not isinstance(bits, np.random.PCG64):
            raise InputError(f"coins are drawn with PCG64, got {type(bits).__name__}")
        source = np.zeros(n_worlds, np.int64)
        return cls((bits.state,), source, np.arange(n_worlds), n_records)

    def above(self, others: Coins) -> Coins:
        """Return these worlds followed by others of the same records."""
        return Coins(
            (*self.states, *others.states),
            np.concatenate([self.source, others.source + len(self.states)]),
            np.concatenate([self.place, others.place]),
            self.n_records,
        )

    def some(self, numbers: Ints) -> Coins:
        """Return the worlds with the given numbers."""
        return replace(self, source=self.source[numbers], place=self.place[numbers])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (k, n): worlds and records."""
        return len(self.source), self.n_records

    @property
    def dtype(self) -> np.dtype[np.bool_]:
        """Type of the coins: bool."""
        return np.dtype(np.bool_)

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, asked: Any, /) -> NDArray[Any]:
        """Return the selected coins, drawn on the spot."""
        first, *rest = asked if isinstance(asked, tuple) else (asked,)
        worlds = _selected_numbers(len(self), first)
        records = _selected_numbers(self.n_records, *rest)
        drawn = np.empty((worlds.size, records.size), np.bool_)
        if drawn.size:
            start = int(records.min())
            stop = int(records.max()) + 1
            bits = np.random.PCG64(0)
            for row, world in zip(drawn, worlds.reshape(-1).tolist(), strict=True):
                bits.state = self.states[self.source[world]]
                # One coin takes one step of the generator, so any coin is reached by skipping.
                bits.advance(int(self.place[world]) * self.n_records + start)
                line = np.random.Generator(bits).random(stop - start) < 0.5
                row[:] = line[records.reshape(-1) - start]
        return drawn.reshape((*worlds.shape, *records.shape))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:] if dtype is None else self[:].astype(dtype)


def _selected_numbers(n: int, asked: Any = slice(None)) -> Ints:
    """Return the selected numbers out of 0..n-1; a slice takes memory only for its own numbers."""
    found: Ints = np.arange(*asked.indices(n)) if isinstance(asked, slice) else np.arange(n)[asked]
    return found


def counts_of(inside: Bools | Coins) -> Ints:
    """Return the number of worlds that hold each record, (n,)."""
    counts = np.zeros(inside.shape[1], np.int64)
    # World by world, so that drawn coins never fill a matrix (k, n).
    for world in range(len(inside)):
        counts += inside[world]
    return counts


def require_some(n_worlds: int, n_records: int) -> None:
    """Refuse numbers of worlds and records below 1."""
    if n_worlds < 1 or n_records < 1:
        raise InputError(f"at least one world and one record, got {n_worlds} and {n_records}")
