"""Groups of rows with equal codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.synthetic.distance import Space

# Larger keys could overflow 64 bits.
_LARGEST_KEY = 2**62
_FEW = 1 / 4
"""Share of all rows; where more are asked about, all rows are sorted without a filter."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio, odd: products spread over all bits (Knuth)."""


def keys_of(columns: Sequence[tuple[Ints, int]], n: int) -> Ints:
    """Return a key (n,) per row; rows have equal keys if all their codes are equal."""
    keys = np.zeros(n, dtype=np.int64)
    bound = 1
    for codes, size in columns:
        if bound * size > _LARGEST_KEY:
            values, keys = np.unique(keys, return_inverse=True)
            bound = len(values)
        keys = keys * size + codes
        bound = bound * size
    return keys


class Keys:
    """Keys of the points of a space by their codes, with some columns left out."""

    def __init__(self, space: Space) -> None:
        self.codes = np.ascontiguousarray(space.codes.T)
        self._columns = list(zip(self.codes, space.sizes, strict=True))
        self._parts = []
        step = 1
        for codes, size in self._columns:
            self._parts.append(codes * step)
            step *= size
            if step > _LARGEST_KEY:
                self._parts.clear()
                break
        self._whole = np.sum(self._parts, axis=0) if self._parts else None

    def without(self, columns: Sequence[int]) -> Ints:
        """Return the keys (n,), at least 0, of all columns but these."""
        if self._whole is None:
            kept = [column for j, column in enumerate(self._columns) if j not in columns]
            return keys_of(kept, self.codes.shape[1])
        keys: Ints = self._whole
        for j in columns:
            keys = keys - self._parts[j]
        return keys


def group_by_key(keys: Ints) -> tuple[Ints, Ints]:
    """Return rows in the order of their keys, and the beginning of each group of equal keys.

    Parameters
    ----------
    keys : ndarray of int, shape (n,)
        Not negative.
    """
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits < 64:
        # One sort of keys and rows in one number is several times as fast as a sort of rows.
        both = np.sort((keys << bits) | np.arange(len(keys)))
        order = both & ((1 << bits) - 1)
        keys = both >> bits
    else:
        order = np.argsort(keys)
        keys = keys[order]
    return order, np.flatnonzero(np.diff(keys, prepend=-1))


def grouped_with(keys: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the same for all rows that share a key with one of some rows, and perhaps others."""
    if len(rows) > _FEW * len(keys):
        return group_by_key(keys)
    bits = 4 + len(rows).bit_length()
    spread = (keys.view(np.uint64) * _MULTIPLIER) >> np.uint64(64 - bits)
    marked = np.zeros(2**bits, dtype=np.bool_)
    marked[spread[rows]] = True
    some = np.flatnonzero(marked[spread])
    order, begins = group_by_key(keys[some])
    return some[order], begins


def equal_points(space: Space) -> tuple[Ints, Ints, Ints]:
    """Return a point of each kind of equal points, the kind of each point, and each kind's size.

    All points of a kind are equal, and all equal points are of one kind.
    """
    of_codes = keys_of(list(zip(space.codes.T, space.sizes, strict=True)), len(space))
    order, begins = group_by_key(_hash_rows(of_codes, space.numbers))
    again = np.ones(len(order), dtype=np.bool_)
    again[begins] = False
    later = np.flatnonzero(again)
    one = order[later - 1]
    other = order[later]
    if not (
        np.array_equal(of_codes[one], of_codes[other])
        and np.array_equal(space.numbers[one], space.numbers[other])
    ):
        order, begins = group_by_key(_exact(of_codes, space.numbers))
    counts = np.diff(begins, append=len(order))
    kind = np.empty(len(order), dtype=np.int64)
    kind[order] = np.repeat(np.arange(len(begins)), counts)
    return order[begins], kind, counts


def _hash_rows(keys: Ints, numbers: Floats) -> Ints:
    """Return a hash per row: equal rows have equal ones, and others hardly ever."""
    if not numbers.shape[1]:
        return keys
    mixed = keys.astype(np.uint64)
    for column in numbers.T:
        mixed *= _MULTIPLIER
        mixed ^= mixed >> np.uint64(32)
        mixed += (column + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return ((mixed * _MULTIPLIER) >> np.uint64(1)).view(np.int64)


def _exact(keys: Ints, numbers: Floats) -> Ints:
    """Return a key per row; two rows have equal keys exactly if they are equal."""
    columns = [(keys, int(keys.max(initial=0)) + 1)]
    for column in numbers.T:
        values, codes = np.unique(column, return_inverse=True)
        columns.append((codes, len(values)))
    return keys_of(columns, len(keys))
