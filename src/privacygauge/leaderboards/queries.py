"""Uniformly random queries that are never stored: any part of the matrix is drawn again.

The labels come in tiles, and a tile's words are those of one counter-based generator at the tile's
position. So any part is the same, however the work is divided into blocks and threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

_Words = NDArray[np.uint64]

# Constants of SplitMix64.
_STEP = 0x9E3779B97F4A7C15
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_SHIFTS = (30, 27, 31)
_MASK = 2**64 - 1


class Words:
    """Blocks of 64 random bits, any block at any time, in a buffer of its own.

    Word w is mix(key + (w + 1) g), where mix is a bijection in which every bit of the argument
    changes about half of the bits, and g is odd: output number w of SplitMix64 with the seed `key`.


    Sources
    -------
    Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators, section 3,
    with Stafford's variant 13 of the mixing function.
    """

    def __init__(self, key: int, size: int, fill: Fill | None = None) -> None:
        self._key = key
        self._size = size
        self._fill = fill
        self._steps = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(_STEP)
        self._words = np.empty(size, np.uint64)
        self._scratch = np.empty(size, np.uint64)
        # A second key, for words requested one by one.
        self._other = int(mix_words(np.array([key ^ _STEP], np.uint64))[0])

    def block(self, number: int) -> _Words:
        """Return words from number ``size * number`` on, (size,), valid until the next call."""
        start = np.uint64((self._key + number * self._size * _STEP) & _MASK)
        if self._fill is not None:
            self._fill(start, self._words)
            return self._words
        np.add(self._steps, start, out=self._words)
        return mix_words(self._words, self._scratch)

    def others(self, number: int, places: NDArray[np.int64]) -> _Words:
        """Return words of another sequence, one per place below 2^24 in a block, (p,)."""
        words = places.astype(np.uint64)
        words *= np.uint64(_STEP)
        words += np.uint64((self._other + (number << 24) * _STEP) & _MASK)
        return mix_words(words)


Fill = Callable[[np.uint64, _Words], None]
"""Function that writes mix(start + g), mix(start + 2 g) and so on into an array."""


def mix_words(words: _Words, scratch: _Words | None = None) -> _Words:
    """Mix the words in place and return them."""
    scratch = np.empty_like(words) if scratch is None else scratch
    for shift, factor in zip(_SHIFTS[:2], _FACTORS, strict=True):
        np.right_shift(words, np.uint64(shift), out=scratch)
        np.bitwise_xor(words, scratch, out=words)
        np.multiply(words, np.uint64(factor), out=words)
    np.right_shift(words, np.uint64(_SHIFTS[2]), out=scratch)
    return np.bitwise_xor(words, scratch, out=words)


@cache
def compiled_fill() -> Fill | None:
    """Return a compiled `Fill`, several times faster; None if numba is not installed.

    Its first call may take a second.
    """
    try:
        from numba import njit
    except ImportError:
        return None
    fill: Fill = njit(nogil=True)(_one_by_one)
    return fill


def _one_by_one(start: np.uint64, words: _Words) -> None:
    step = np.uint64(_STEP)
    first = np.uint64(_FACTORS[0])
    second = np.uint64(_FACTORS[1])
    a = np.uint64(_SHIFTS[0])
    b = np.uint64(_SHIFTS[1])
    c = np.uint64(_SHIFTS[2])
    for i in range(len(words)):
        x = start + np.uint64(i + 1) * step
        x = (x ^ (x >> a)) * first
        x = (x ^ (x >> b)) * second
        words[i] = x ^ (x >> c)


Codes = NDArray[np.unsignedinteger]

# A tile of this size, or the whole matrix if smaller, fits in a core's cache together with the
# buffers that draw it.
_POINTS = 2_048
_QUERIES = 256
# A label takes 8, 16 or 32 bits; a word is redrawn with at most this probability.
_REDRAWN = 1 / 16
_BITS = (8, 16, 32)
# From this many labels on, compiling the loop takes less time than it saves.
_WORTH_COMPILING = 10**8


@dataclass(frozen=True)
class RandomQueries:
    """A matrix of n points by k queries with independent entries, uniform on 0..m-1."""

    n: int
    """Number of points."""
    m: int
    """Number of labels to draw from, in 2..2^28."""
    k: int
    """Number of queries."""
    key: int = field(repr=False)
    """Key in 0..2^64-1; matrices with different keys are independent."""

    @classmethod
    def drawn(cls, n: int, m: int, k: int, rng: np.random.Generator) -> RandomQueries:
        """Return a matrix with a key from `rng`."""
        return cls(n, m, k, int(rng.integers(2**64, dtype=np.uint64)))

    @property
    def tile(self) -> tuple[int, int]:
        """Points and queries drawn at a time: blocks of their multiples waste nothing."""
        return min(self.n, _POINTS), min(self.k, _QUERIES)

    def queries(self, start: int, stop: int, threads: int = 1, out: Codes | None = None) -> Codes:
        """Return queries ``start:stop`` of all points, (n, stop - start); in `out` if given."""
        part = self._room(self.n, stop - start) if out is None else out
        for_each_tile(
            self, lambda brush, top, bottom: brush.fill(part[top:bottom], top, start), threads
        )
        return part

    def blocks(self, size: int, threads: int = 1) -> Iterator[tuple[int, Codes]]:
        """Yield the first number of each `size` queries, and the queries, valid until the next."""
        room = self._room(self.n, min(size, self.k))
        for start in range(0, self.k, size):
            # The last block is smaller: a contiguous part of the buffer.
            stop = min(start + size, self.k)
            out = room.reshape(-1)[: self.n * (stop - start)].reshape(self.n, stop - start)
            yield start, self.queries(start, stop, threads, out)

    def points(self, start: int, stop: int) -> Codes:
        """Return all queries of points ``start:stop``, (stop - start, k)."""
        return self.brush().points(start, stop)

    def brush(self) -> Brush:
        """Return a generator of successive parts; each thread needs its own."""
        return Brush(self)

    def _room(self, height: int, width: int) -> Codes:
        return np.empty((height, width), np.min_scalar_type(self.m - 1))


class Brush:
    """Draws parts of one matrix, one after another, in a buffer of its own."""

    def __init__(self, queries: RandomQueries) -> None:
        self._queries = queries
        m = queries.m
        # The fewest bits at which the words to redraw are rare enough.
        self._bits = next(bits for bits in _BITS if 2**bits % m <= _REDRAWN * 2**bits)
        height, width = queries.tile
        fill = compiled_fill() if queries.n * queries.k >= _WORTH_COMPILING else None
        self._words = Words(queries.key, -(-height * width * self._bits // 64), fill)
        self._share, self._rest = divmod(2**self._bits, m)
        self._beyond = np.empty(height * width, np.bool_)
        self._points = queries._room(0, queries.k)

    def points(self, start: int, stop: int) -> Codes:
        """Return all queries of points ``start:stop``, valid until the next call."""
        if len(self._points) < stop - start:
            self._points = self._queries._room(stop - start, self._queries.k)
        part = self._points[: stop - start]
        self.fill(part, start, 0)
        return part

    def fill(self, part: Codes, top: int, left: int) -> None:
        """Write the labels from point `top` and query `left` on into `part`."""
        bottom = top + part.shape[0]
        right = left + part.shape[1]
        height, width = self._queries.tile
        m = self._queries.m
        if not part.size:
            return
        for i in range(top // height, -(-bottom // height)):
            rows, here = _overlap(top, bottom, i, height)
            for j in range(left // width, -(-right // width)):
                columns, there = _overlap(left, right, j, width)
                number = i * -(-self._queries.k // width) + j
                words = self._words.block(number).astype("<u8", copy=False)
                # A tile's labels times the number of words per label.
                tile: Codes = words.view(f"<u{self._bits // 8}")[: height * width]
                if self._rest:
                    # The last words, fewer than m, would favour some labels: they are redrawn.
                    beyond = np.flatnonzero(
                        np.greater_equal(tile, self._share * m, out=self._beyond)
                    )
                    again = self._words.others(number, beyond)
                    again -= again // np.uint64(m) * np.uint64(m)
                    tile[beyond] = again * np.uint64(self._share)
                seen = tile.reshape(height, width)[here, there]
                np.floor_divide(seen, seen.dtype.type(self._share), out=part[rows, columns])


def for_each_tile(
    queries: RandomQueries, work: Callable[[Brush, int, int], None], threads: int
) -> None:
    """Run the work on every tile of points, ``start:stop``, with `threads` threads.

    Each thread has its own brush.
    """
    height = queries.tile[0] or 1
    starts = range(0, queries.n, height)

    def run(part: range) -> None:
        brush = queries.brush()
        for start in part:
            work(brush, start, min(start + height, queries.n))

    if threads == 1 or len(starts) < 2:
        run(starts)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(run, starts[t::threads]) for t in range(threads)]:
            done.result()


def _overlap(start: int, stop: int, tile: int, size: int) -> tuple[slice, slice]:
    """Return where tile `tile` lies in ``start:stop``, and which of its rows do."""
    low = max(start, tile * size)
    high = min(stop, (tile + 1) * size)
    return slice(low - start, high - start), slice(low - tile * size, high - tile * size)
