"""Random words by their number: a counter-based generator, in array operations or compiled."""

from __future__ import annotations

from collections.abc import Callable
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
    """Blocks of 64 random bits, any block at any time, in memory of its own.

    Word w is mix(key + (w + 1) g), where mix is a bijection in which every bit of the argument
    moves about half of the bits, and g is odd: output number w of SplitMix64 with the seed `key`.

    Sources
    -------
    Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators, section 3,
    with Stafford's variant 13 of the mixing function.
    """

    def __init__(self, key: int, size: int, fill: Fill | None = None) -> None:
        self._key, self._size = key, size
        self._fill = fill or _in_arrays(size)
        self._words = np.empty(size, np.uint64)
        # A second key, for words that are asked for one by one.
        self._other = int(mixed(np.array([key ^ _STEP], np.uint64))[0])

    def block(self, number: int) -> _Words:
        """Return words number ``size * number`` and on, (size,); they stand until the next call."""
        self._fill(np.uint64((self._key + number * self._size * _STEP) & _MASK), self._words)
        return self._words

    def others(self, number: int, places: NDArray[np.int64]) -> _Words:
        """Return words of another sequence, one for each place below 2^24 of a block, (p,)."""
        words = places.astype(np.uint64)
        words *= np.uint64(_STEP)
        words += np.uint64((self._other + (number << 24) * _STEP) & _MASK)
        return mixed(words)


Fill = Callable[[np.uint64, _Words], None]
"""Puts mix(start + g), mix(start + 2 g) and so on into an array."""


def mixed(words: _Words, scratch: _Words | None = None) -> _Words:
    """Mix the words in place and return them."""
    scratch = np.empty_like(words) if scratch is None else scratch
    for shift, factor in zip(_SHIFTS[:2], _FACTORS, strict=True):
        np.right_shift(words, np.uint64(shift), out=scratch)
        np.bitwise_xor(words, scratch, out=words)
        np.multiply(words, np.uint64(factor), out=words)
    np.right_shift(words, np.uint64(_SHIFTS[2]), out=scratch)
    return np.bitwise_xor(words, scratch, out=words)


def _in_arrays(size: int) -> Fill:
    steps = np.arange(1, size + 1, dtype=np.uint64)
    steps *= np.uint64(_STEP)
    scratch = np.empty(size, np.uint64)

    def fill(start: np.uint64, words: _Words) -> None:
        np.add(steps, start, out=words)
        mixed(words, scratch)

    return fill


@cache
def compiled_fill() -> Fill | None:
    """Return the same compiled, several times faster; None where numba is not installed.

    The first call of what it returns may take a second.
    """
    try:
        from numba import njit
    except ImportError:
        return None
    fill: Fill = njit(nogil=True)(_one_by_one)
    return fill


def _one_by_one(start: np.uint64, words: _Words) -> None:
    step, first, second = np.uint64(_STEP), np.uint64(_FACTORS[0]), np.uint64(_FACTORS[1])
    a, b, c = np.uint64(_SHIFTS[0]), np.uint64(_SHIFTS[1]), np.uint64(_SHIFTS[2])
    for i in range(len(words)):
        x = start + np.uint64(i + 1) * step
        x = (x ^ (x >> a)) * first
        x = (x ^ (x >> b)) * second
        words[i] = x ^ (x >> c)
