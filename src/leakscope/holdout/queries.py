"""Uniformly random queries that are never stored: any part of the matrix is drawn again.

The labels come in tiles, each from a counter-based generator whose counter holds the tile's
place. So a part is the same however the work is cut into blocks and threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.unsignedinteger]

# A tile of this size, or of the whole matrix where that is smaller, fills half of a core's fast
# memory, and drawing it costs more than setting up its generator.
_POINTS, _QUERIES = 1_024, 256
# Words of 8, 16 or 32 bits hold a label; a word is redrawn with at most this probability.
_REDRAWN = 1 / 16
_BITS = (8, 16, 32)


@dataclass(frozen=True)
class RandomQueries:
    """A matrix of n points by k queries; entries are independent and uniform on 0..m-1."""

    n: int
    """The number of points."""
    m: int
    """The number of labels to draw from, 2 to 2^28."""
    k: int
    """The number of queries."""
    key: int = field(repr=False)
    """In 0..2^64-1; two matrices with different keys are independent."""

    @classmethod
    def drawn(cls, n: int, m: int, k: int, rng: np.random.Generator) -> RandomQueries:
        """Return a matrix with a key from `rng`."""
        return cls(n, m, k, int(rng.integers(2**64, dtype=np.uint64)))

    @property
    def tile(self) -> tuple[int, int]:
        """Points and queries that are drawn at a time: blocks of their multiples waste nothing."""
        return min(self.n, _POINTS), min(self.k, _QUERIES)

    def queries(self, start: int, stop: int, threads: int = 1) -> Codes:
        """Return queries ``start:stop`` of all points, shape (n, stop - start)."""
        part = np.empty((self.n, stop - start), np.min_scalar_type(self.m - 1))

        def fill(top: int) -> None:
            bottom = min(top + self.tile[0], self.n)
            self._fill(part[top:bottom], top, start)

        each(fill, range(0, self.n, self.tile[0] or 1), threads)
        return part

    def points(self, start: int, stop: int) -> Codes:
        """Return all queries of points ``start:stop``, shape (stop - start, k)."""
        part = np.empty((stop - start, self.k), np.min_scalar_type(self.m - 1))
        self._fill(part, start, 0)
        return part

    def _fill(self, part: Codes, top: int, left: int) -> None:
        bottom, right = top + part.shape[0], left + part.shape[1]
        height, width = self.tile
        if not part.size:
            return
        for i in range(top // height, -(-bottom // height)):
            rows, here = _overlap(top, bottom, i, height)
            for j in range(left // width, -(-right // width)):
                columns, there = _overlap(left, right, j, width)
                part[rows, columns] = self._tile(i, j)[here, there]

    def _tile(self, i: int, j: int) -> Codes:
        rng = np.random.Generator(np.random.Philox(key=self.key, counter=[0, 0, i, j]))
        bits = next(bits for bits in _BITS if 2**bits % self.m <= _REDRAWN * 2**bits)
        height, width = self.tile
        count = height * width
        words = rng.integers(0, 2**64, -(-count * bits // 64), dtype=np.uint64)
        labels = words.astype("<u8", copy=False).view(f"<u{bits // 8}")[:count]
        share, rest = divmod(2**bits, self.m)
        if rest:
            # The last words would favour some labels.
            beyond = np.flatnonzero(labels >= share * self.m)
            redrawn = rng.integers(0, self.m, len(beyond))
        if share > 1:
            np.floor_divide(labels, labels.dtype.type(share), out=labels)
        if rest:
            labels[beyond] = redrawn
        return labels.reshape(height, width)


def each(work: Callable[[int], None], items: Iterable[int], threads: int) -> None:
    """Do `work` on every item, on so many threads."""
    if threads == 1:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, items):
            pass


def _overlap(start: int, stop: int, tile: int, size: int) -> tuple[slice, slice]:
    """Return where tile number `tile` lies in ``start:stop``, and which of its rows do."""
    low, high = max(start, tile * size), min(stop, (tile + 1) * size)
    return slice(low - start, high - start), slice(low - tile * size, high - tile * size)
