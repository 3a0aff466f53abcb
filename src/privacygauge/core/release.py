"""Worlds: the adversary's own models, each trained on the records that fair coins put in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError


def coin_flips(
    n_worlds: int, n_records: int, rng: np.random.Generator, unit: Ints | None = None
) -> Bools:
    """Draw the membership of records in worlds, by independent fair coins.

    Coins are independent; records are not in exactly half of the worlds. With exact halves, the
    number of worlds that hold a record is known if the target is counted as well, so the count in
    the other worlds alone reveals the target's bit.

    Parameters
    ----------
    n_worlds, n_records : int
        At least 1.
    rng : numpy.random.Generator
    unit : ndarray of int, shape (n_records,), optional
        Unit of each record; one coin decides for all records of a unit. Default: each record its
        own.

    Returns
    -------
    ndarray of bool, shape (n_worlds, n_records)
        True where the record is in the world's training set.
    """
    require_some(n_worlds, n_records)
    # Coins are drawn per unit and copied to its records.
    if unit is not None:
        different, index = np.unique(unit, return_inverse=True)
        return coin_flips(n_worlds, len(different), rng)[:, index]
    coins = np.empty((n_worlds, n_records), np.bool_)
    for row in coins:  # the same draws as all at once, in a ninth of the memory
        np.less(rng.random(n_records), 0.5, out=row)
    return coins


@runtime_checkable
class Stored(Protocol):
    """An array on disk, read only where it is indexed."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""

    @property
    def chunks(self) -> tuple[int, ...]:
        """Length of a chunk along each dimension."""

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the selected values as a numpy array."""


@dataclass(frozen=True, eq=False)
class SomeOf:
    """Selected rows of an array on disk."""

    stored: Stored
    """The array."""
    numbers: Ints
    """(k,) Indices of the selected rows, in order."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""
        return (len(self.numbers), *self.stored.shape[1:])

    @property
    def chunks(self) -> tuple[int, ...]:
        """Length of a chunk along each dimension."""
        return self.stored.chunks

    def __getitem__(self, rows: Any, /) -> Any:
        """Return the selected values as a numpy array."""
        # Only the first axis is renumbered: the others are selected as they are.
        first, *rest = rows if isinstance(rows, tuple) else (rows,)
        return self.stored[(self.numbers[first], *rest)]


@dataclass(frozen=True, eq=False)
class Worlds:
    """The target's signal and the signals of the adversary's worlds.

    A release may be queried several times about one target (such as a picture and its mirror
    image); the last axis then holds the q queries.
    """

    signal: Floats
    """(n,) or (n, q) Signal of the target model on each target record."""
    worlds: Floats | Stored
    """(k, n) or (k, n, q) The same signal from each of the adversary's k models: an array, or a
    stored array of a run, which attacks per record read in blocks."""
    inside: Bools | Coins
    """(k, n) True where the model was trained on the target record."""

    def __post_init__(self) -> None:
        # Arrays are recognised first: an isinstance check of a protocol takes longer than a block.
        array = isinstance(self.worlds, np.ndarray) or not isinstance(self.worlds, Stored)
        held = _of_type(np.asarray(self.worlds), np.float64) if array else None
        worlds = self.worlds if held is None else held
        inside = self.inside
        inside = inside if isinstance(inside, Coins) else _of_type(inside, np.bool_)
        if len(worlds.shape) == 3:
            # Several queries: `checks.floats` accepts vectors only.
            signal = _of_type(self.signal, np.float64)
            if signal.ndim != 2 or signal.shape[1] == 0:
                raise InputError(
                    f"signal must have the shape (n, q) beside worlds (k, n, q), got {signal.shape}"
                )
            if not np.isfinite(signal).all():
                raise InputError("signal must be finite")
            signal = checks.frozen(signal)
        else:
            signal = checks.floats(self.signal, "signal")
        shape = (*inside.shape, *signal.shape[1:])
        if len(inside.shape) != 2 or inside.shape[1] != len(signal) or worlds.shape != shape:
            raise InputError(
                "worlds and inside must have the shape (k, n) with n targets, "
                f"got {worlds.shape} and {inside.shape} for {len(signal)} targets"
                + (f" and {signal.shape[1]} queries" if signal.ndim == 2 else "")
            )
        # Stored worlds are checked for finite values block by block, when they are read.
        object.__setattr__(self, "signal", signal)
        if held is not None:
            object.__setattr__(self, "worlds", checks.frozen(_finite(held)))
        frozen = inside if isinstance(inside, Coins) else checks.frozen(inside)
        object.__setattr__(self, "inside", frozen)

    def __len__(self) -> int:
        """Return k, the number of the adversary's models."""
        return len(self.inside)

    def without(self, number: int) -> Worlds:
        """Return the other worlds, with world `number` played as the target.

        Its secret is ``inside[number]``, which the adversary knows and can learn a threshold on.

        Parameters
        ----------
        number : int
            Index of the world, in 0..k-1.

        Returns
        -------
        Worlds
            With k - 1 worlds.

        Raises
        ------
        InputError
            If there are fewer than two worlds, or no world has that index.
        """
        if len(self) < 2:
            raise InputError(f"without needs at least two worlds, got {len(self)}")
        if not 0 <= number < len(self):
            raise InputError(f"number must be in 0..{len(self) - 1}, got {number}")
        return _Others(self, number)

    @cached_property
    def counts(self) -> Ints:
        """(n,) Number of worlds that were trained on each target record."""
        return counts_of(self.inside)

    @property
    def step(self) -> int:
        """Number of targets per stored chunk: blocks are read fastest in multiples of it."""
        return 1 if isinstance(self.worlds, np.ndarray) else self.worlds.chunks[1]

    def some(self, numbers: Ints) -> Worlds:
        """Return the worlds with the given numbers, without reading stored ones."""
        held = self.worlds
        part = held[numbers] if isinstance(held, np.ndarray) else SomeOf(held, numbers)
        inside = self.inside
        drawn = inside.some(numbers) if isinstance(inside, Coins) else inside[numbers]
        return Worlds(self.signal, part, drawn)

    def block(self, rows: slice) -> tuple[Floats, Bools]:
        """Return signals, (k, b) or (k, b, q), and membership, (k, b), of a block of targets."""
        return self._read((slice(None), rows)), self.inside[:, rows]

    def world(self, number: int) -> Floats:
        """Return the signal of one world on every target, (n,) or (n, q)."""
        return self._read(number)

    def _read(self, some: Any) -> Floats:
        found: Floats = self.worlds[some]
        if isinstance(self.worlds, np.ndarray):
            return found
        return _finite(np.asarray(found, np.float64))


class _Others(Worlds):
    """Worlds without one that is played as the target; copies blocks only when they are read."""

    def __init__(self, everyone: Worlds, number: int) -> None:
        object.__setattr__(self, "everyone", everyone)
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "signal", everyone.world(number))

    everyone: Worlds
    number: int

    def __len__(self) -> int:
        return len(self.everyone) - 1

    @cached_property
    def worlds(self) -> Floats:
        return self._left(self.everyone.worlds[:])

    @cached_property
    def inside(self) -> Bools:
        return self._left(self.everyone.inside[:])

    @cached_property
    def counts(self) -> Ints:
        counts: Ints = self.everyone.counts - self.everyone.inside[self.number]
        return counts

    @property
    def step(self) -> int:
        return self.everyone.step

    def block(self, rows: slice) -> tuple[Floats, Bools]:
        values, inside = self.everyone.block(rows)
        return self._left(values), self._left(inside)

    def _left(self, values: NDArray[Any]) -> NDArray[Any]:
        left = np.delete(values, self.number, axis=0)
        left.flags.writeable = False
        return left


def _finite(worlds: Floats) -> Floats:
    if not np.isfinite(worlds).all():
        raise InputError("worlds must be finite")
    return worlds


def _of_type(values: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Convert `values` to a type; a new array is made read-only.

    Otherwise `checks.frozen` would copy the new array a second time.
    """
    array = np.asarray(values, dtype)
    if isinstance(values, np.ndarray) and values.dtype != array.dtype:
        array.flags.writeable = False
    return array


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
        # The others' generators come after these, so that their indices move up.
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
