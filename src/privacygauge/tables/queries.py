"""Counting queries on a target record: bit masks of its conditions, and counts for subsets.

A row of a table becomes the bit mask of the target's conditions that it meets. A query, the
conditions in a subset A of the attributes, counts the rows with a mask that contains A. A subset is
numbered by its bit mask too: bit j is attribute j.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import Ints, bools
from privacygauge.errors import InputError

# Conditions of a target on the rows of tables, as bit masks.
#
# One condition per attribute: "equals the target's value", or "is at most the target's value".

Masks = NDArray[np.uint32]
"""Bit j of a row's mask is set if the row meets condition j."""

MOST_BITS = 32
"""Bits per mask: 4 bytes."""

BLOCK = 1 << 19
"""Cells processed at once, few enough to stay in the processor's cache."""


def masks(rows: ArrayLike, target: ArrayLike, at_most: ArrayLike) -> Masks:
    """Return, for each row, the bit mask of the target's conditions that it meets.

    Parameters
    ----------
    rows : array_like of shape (n, F) or (k, n, F)
        Rows of a table, or of k tables, as numbers; categories as codes. F is at most 32.
    target : array_like of shape (F,)
        Target record, coded like the rows.
    at_most : array_like of shape (F,)
        True for attributes compared by "<=", False for "=".

    Returns
    -------
    ndarray of uint32, shape (n,) or (k, n)
        Bit j is set where ``rows[..., j] <= target[j]`` (or ``==``). NaN meets no condition, on
        either side.

    Raises
    ------
    InputError
        If the shapes do not fit, values are not numbers, or there are more than 32 attributes.

    Notes
    -----
    Meeus et al. (2023), section 5.1: "=" on categorical attributes and "<=" on continuous ones. "="
    on all attributes is another choice of the attacker, which detects values that a generator
    copied.

    Examples
    --------
    >>> masks([[1, 30], [1, 50], [0, 20]], [1, 40], [False, True])
    array([3, 1, 2], dtype=uint32)
    """
    return Conditions.of(rows, target, at_most).masks()


@dataclass(frozen=True)
class Conditions:
    """Rows of tables, and the range in which each attribute meets the target's condition."""

    rows: NDArray[Any]
    """(..., n, F) Values as numbers."""
    low: NDArray[Any]
    """(F,) Smallest value that meets the condition."""
    high: NDArray[Any]
    """(F,) Largest value that meets the condition."""

    @classmethod
    def of(cls, rows: ArrayLike, target: ArrayLike, at_most: ArrayLike) -> Conditions:
        """Return the conditions of one target, after checking shapes and values."""
        table = numbers(rows, "rows")
        record = numbers(target, "target")
        if table.ndim not in (2, 3):
            raise InputError(f"rows must have the shape (n, F) or (k, n, F), got {table.shape}")
        if not table.shape[-1]:
            raise InputError("rows must have at least one attribute, got none")
        if record.shape != table.shape[-1:]:
            raise InputError(
                f"target must have the shape (F,) = {table.shape[-1:]}, got {record.shape}"
            )
        below = bools(at_most, "at_most", length=len(record))
        # The common type of both, or comparing would round the target's values.
        high = record.astype(np.result_type(table, record), copy=False)
        # The smallest value of the type, which every number is at least.
        least = np.array(
            -np.inf if high.dtype.kind == "f" else np.iinfo(high.dtype).min, high.dtype
        )
        return cls(table, np.where(below, least, high), high)

    def met(self, part: slice = slice(None)) -> NDArray[np.bool_]:
        """Return a mask (rows, F) of the conditions met by some of the flattened rows."""
        rows = self.rows.reshape(-1, self.rows.shape[-1])[part]
        result = rows <= self.high
        result &= rows >= self.low
        return result

    def masks(self) -> Masks:
        """Return the bit masks of the rows, (..., n)."""
        n_features = self.rows.shape[-1]
        if n_features > MOST_BITS:
            raise InputError(
                f"rows must have at most {MOST_BITS} attributes to be masks, "
                f"got {n_features}: use bitmaps"
            )
        result = np.empty(self.rows.shape[:-1], np.uint32)
        flat = result.reshape(-1)
        # Padded to 32 bits per row: packbits yields 4 bytes, read as one little-endian number.
        for part in row_blocks(flat.size, MOST_BITS):
            met = self.met(part)
            bits = np.zeros((len(met), MOST_BITS), np.bool_)
            bits[:, :n_features] = met
            flat[part] = np.packbits(bits.reshape(-1), bitorder="little").view("<u4")
        return result


def numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return `values` as an array of numbers; booleans become 0 and 1."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} must hold numbers (categories as codes), got {array.dtype}")
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def whole_numbers(values: ArrayLike, name: str, n_features: int) -> NDArray[Any]:
    """Return `values` after checking that they are bit masks of `n_features` bits."""
    array = np.asarray(values)
    if not array.size:
        # An empty list is an array of floats.
        return array.astype(np.uint32)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must hold integers, got {array.dtype}")
    if array.max() >= 1 << n_features or (array.dtype.kind == "i" and array.min() < 0):
        raise InputError(
            f"{name} must lie in 0..2^{n_features} - 1, "
            f"got values from {array.min()} to {array.max()}: is n_features right?"
        )
    return array


def row_blocks(length: int, width: int) -> Iterator[slice]:
    """Yield slices of `length` rows of `width` cells, each of about `BLOCK` cells."""
    step = max(1, BLOCK // max(1, width))
    return (slice(start, start + step) for start in range(0, length, step))


Counts = NDArray[np.signedinteger[Any]]

MOST_FEATURES = 24
"""Most attributes; all subsets of more would take more than 32 MB per data set."""

LONGEST_STRIDE = 4
"""Longest stride, in words of 8 bytes, that is faster than short rows; measured."""


def all_query_counts(masks: ArrayLike, n_features: int) -> Counts:
    """Return the counts of all 2^F queries, one per subset of the attributes.

    Parameters
    ----------
    masks : array_like of shape (n,) or (k, n)
        Bit masks of the rows of a data set, or of k data sets, as returned by `masks`.
    n_features : int
        F, in 0..24. For more attributes, count a sample of queries on bitmaps.

    Returns
    -------
    ndarray of shape (2^F,) or (k, 2^F)
        Entry A is the number of rows that meet all conditions in A; entry 0 is n. The type is int16
        up to 32,767 rows and int32 above: differences of counts never overflow.

    Raises
    ------
    InputError
        If a mask has a bit at or above F, or F is out of range.

    Notes
    -----
    Q^A = #{rows with a mask that contains A}, Meeus et al. (2023), section 5.1. It is the superset
    sum of the histogram of the masks: F passes over 2^F cells, each adding the half with bit j to
    the half without (Yates' scheme), instead of one pass over the rows per query.

    Examples
    --------
    >>> all_query_counts([3, 1, 2], 2)
    array([3, 2, 2, 1], dtype=int16)
    """
    rows = checked_masks(masks, n_features)
    sets = np.atleast_2d(rows)
    result = np.empty((len(sets), 1 << n_features), count_dtype(rows.shape[-1]))
    for part, block in _count_blocks(sets, n_features):
        result[part] = block
    return result.reshape(*rows.shape[:-1], result.shape[1])


def some_query_counts(masks: ArrayLike, subsets: ArrayLike, n_features: int) -> Counts:
    """Return the counts of some of the 2^F queries.

    Parameters
    ----------
    masks : array_like of shape (n,) or (k, n)
        As in `all_query_counts`.
    subsets : array_like of shape (q,)
        Numbers of the queries: bit masks of attributes, in 0..2^F - 1.
    n_features : int
        F, in 0..24.

    Returns
    -------
    ndarray of shape (q,) or (k, q)
        ``all_query_counts(masks, n_features)[..., subsets]``, computed for a few data sets at a
        time.

    Raises
    ------
    InputError
        If a mask or a subset has a bit at or above F, or F is out of range.
    """
    rows = checked_masks(masks, n_features)
    wanted = whole_numbers(subsets, "subsets", n_features)
    if wanted.ndim != 1:
        raise InputError(f"subsets must have the shape (q,), got {wanted.shape}")
    wanted = wanted.astype(np.intp)
    sets = np.atleast_2d(rows)
    result = np.empty((len(sets), len(wanted)), count_dtype(rows.shape[-1]))
    for part, block in _count_blocks(sets, n_features):
        block.take(wanted, axis=1, out=result[part])
    return result.reshape(*rows.shape[:-1], result.shape[1])


def checked_masks(masks: ArrayLike, n_features: int) -> NDArray[Any]:
    """Return the checked masks of one or k data sets, if all 2^F counts fit into memory."""
    if not 0 <= n_features <= MOST_FEATURES:
        raise InputError(
            f"n_features must be in 0..{MOST_FEATURES}, got {n_features}: "
            "count a sample of the queries on bitmaps"
        )
    array = whole_numbers(masks, "masks", n_features)
    if array.ndim not in (1, 2):
        raise InputError(f"masks must have the shape (n,) or (k, n), got {array.shape}")
    return array


def count_dtype(n_rows: int) -> type[np.signedinteger[Any]]:
    """Return the smallest type of at least 16 bits that holds counts and their differences."""
    for dtype in (np.int16, np.int32):
        if n_rows <= np.iinfo(dtype).max:
            return dtype
    return np.int64


def _count_blocks(sets: NDArray[Any], n_features: int) -> Iterator[tuple[slice, Counts]]:
    """Yield slices of data sets (k, n) with their counts (block, 2^F)."""
    # The low bits of a row's mask select a lane of an 8-byte word, so there must be at least that
    # many bits. Lane a gets 1 from a mask that contains a: the superset sum over the low bits, done
    # in advance. Its passes would be the slowest, since they go through memory in the shortest
    # steps.
    dtype = count_dtype(sets.shape[1])
    numbers = np.arange(8 // np.dtype(dtype).itemsize)
    lanes: Counts = (numbers[:, None] & numbers == numbers).astype(dtype)
    low = len(lanes).bit_length() - 1
    n_bits = max(n_features, low)
    for part in row_blocks(len(sets), 1 << n_bits):
        # Histograms of the masks as flat words; one addition adds a row to all lanes of its word.
        some = sets[part]
        words = np.zeros(len(some) << (n_bits - low), np.uint64)
        # Each data set has its own range of words; the high bits of a mask are the position in it.
        start = np.arange(len(some), dtype=np.intp)[:, None] << (n_bits - low)
        at = (some >> some.dtype.type(low)).astype(np.intp) + start
        added = lanes.view(np.uint64)[:, 0][some & some.dtype.type(len(lanes) - 1)]
        # Repeated positions add up, unlike in `words[at] += added`.
        np.add.at(words, at.reshape(-1), added.reshape(-1))
        # Superset sums over the high bits, in place. Lanes hold counts of at most n, which fit, so
        # nothing carries from one lane to the next; the words of several data sets go through the
        # same passes.
        counts: Counts = words.view(dtype)
        for step in (1 << j for j in range(n_bits - low)):
            if step <= LONGEST_STRIDE:
                # numpy handles one long strided slice faster than many short rows.
                for i in range(step):
                    words[i :: 2 * step] += words[i + step :: 2 * step]
            else:
                # As many small numbers per row: numpy copies rows of less than 4,096 numbers before
                # it adds.
                pairs = counts.reshape(-1, 2, step * len(lanes))
                pairs[:, 0] += pairs[:, 1]
        yield part, counts.reshape(-1, 1 << n_bits)[:, : 1 << n_features]


# Counting queries on a target record with many attributes: a sample, counted on bitmaps.
#
# With more than about 20 attributes, 2^F queries are too many. A bitmap holds, for one condition on
# the target, one bit per row; a query is the AND of a few bitmaps, and its answer the number of
# bits that remain.

Bitmaps = NDArray[np.uint64]

WORD = 64


def sampled_subsets(n_features: int, n_queries: int, most: int, rng: np.random.Generator) -> Ints:
    """Draw distinct nonempty subsets of the attributes, uniformly.

    Parameters
    ----------
    n_features : int
        Number of attributes, F, at least 1.
    n_queries : int
        Number of subsets to draw, at least 1. If there are fewer, all are returned.
    most : int
        Largest size of a subset, in 1..F; F for any size.
    rng : Generator

    Returns
    -------
    ndarray of int64, shape (q, most)
        Attributes of one subset per row, ascending. A smaller subset repeats its last attribute,
        which changes no query. No subset is empty or repeated.

    Raises
    ------
    InputError
        If a number is out of range, or there are more than 2^63 - 1 subsets.

    Notes
    -----
    Meeus et al. (2023), section 5.5, draw 100,000 of all 2^F queries. Most subsets of at most
    `most` attributes have exactly `most`: if low orders matter, draw them separately.

    Examples
    --------
    >>> sampled_subsets(3, 100, 2, np.random.default_rng(0)).tolist()
    [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]]
    """
    if n_features < 1 or n_queries < 1:
        raise InputError(
            f"n_features and n_queries must be at least 1, got {n_features} and {n_queries}"
        )
    if not 1 <= most <= n_features:
        raise InputError(f"most must be in 1..n_features = 1..{n_features}, got {most}")
    sizes = [comb(n_features, size) for size in range(1, most + 1)]
    total = sum(sizes)
    if total > np.iinfo(np.int64).max:
        raise InputError(
            f"most must leave fewer than 2^63 subsets of {n_features} attributes, got {most}: "
            "take a smaller one"
        )
    # Subsets are drawn by number, smaller sizes first, and then decoded.
    if total <= n_queries:
        drawn = np.arange(total)
    else:
        drawn = np.sort(rng.choice(total, size=n_queries, replace=False, shuffle=False))
    starts = np.cumsum([0, *sizes])
    return np.concatenate(
        [
            _subsets(drawn[(drawn >= start) & (drawn < end)] - start, n_features, size, most)
            for size, (start, end) in enumerate(pairwise(starts), 1)
        ]
    )


def bits_of(subsets: ArrayLike) -> Masks:
    """Return the bit masks of subsets given by their attributes.

    Parameters
    ----------
    subsets : array_like of shape (q, most)
        Attributes of each subset, in 0..31; repeated attributes count once.

    Returns
    -------
    ndarray of uint32, shape (q,)
        Subsets as `some_query_counts` takes them.

    Raises
    ------
    InputError
        If the shape is wrong, or an attribute is out of range.
    """
    named = _checked_subsets(subsets, MOST_BITS)
    bits: Masks = np.bitwise_or.reduce(np.uint32(1) << named.astype(np.uint32), axis=1)
    return bits


def bitmaps(rows: ArrayLike, target: ArrayLike, at_most: ArrayLike) -> Bitmaps:
    """Return, for each attribute, the rows that meet the target's condition, one bit per row.

    Parameters
    ----------
    rows : array_like of shape (n, F) or (k, n, F)
        Rows of a table, or of k tables, as numbers; categories as codes.
    target : array_like of shape (F,)
        Target record, coded like the rows.
    at_most : array_like of shape (F,)
        True for attributes compared by "<=", False for "=".

    Returns
    -------
    ndarray of uint64, shape (F, w) or (k, F, w)
        w = ceil(n / 64) words per attribute. Bits beyond row n are 0.

    Raises
    ------
    InputError
        If the shapes do not fit or values are not numbers.
    """
    conditions = Conditions.of(rows, target, at_most)
    met: NDArray[Any] = conditions.met().reshape(conditions.rows.shape)
    *sets, n_rows, n_features = met.shape
    n_words = -(-n_rows // WORD)
    bits = np.zeros((*sets, n_features, n_words * WORD), np.bool_)
    bits[..., :n_rows] = np.swapaxes(met, -1, -2)
    return np.packbits(bits, axis=-1, bitorder="little").view(np.uint64)


def bitmap_query_counts(bitmaps: ArrayLike, subsets: ArrayLike) -> Counts:
    """Return the counts of queries on bitmaps.

    Parameters
    ----------
    bitmaps : array_like of uint64, shape (F, w) or (k, F, w)
        Bitmaps of a data set, or of k data sets, as returned by `bitmaps`.
    subsets : array_like of shape (q, most)
        Attributes of each query, in 0..F - 1; repeated attributes count once.

    Returns
    -------
    ndarray of shape (q,) or (k, q)
        Number of rows that meet all conditions of each query; int16 up to 511 words (32,704 rows)
        and int32 above.

    Raises
    ------
    InputError
        If the shapes do not fit, the bitmaps are not uint64, or an attribute is out of range.

    Notes
    -----
    Q^A of Meeus et al. (2023), section 5.1, as the number of bits in the AND of bitmaps.
    """
    words = np.asarray(bitmaps)
    if words.dtype != np.uint64 or words.ndim not in (2, 3):
        raise InputError(
            "bitmaps must be uint64 of the shape (F, w) or (k, F, w), "
            f"got {words.dtype} and {words.shape}"
        )
    named = _checked_subsets(subsets, words.shape[-2]).T
    most_rows = WORD * words.shape[-1]
    result = np.empty((*words.shape[:-2], named.shape[1]), count_dtype(most_rows))
    sets = words[None] if words.ndim == 2 else words
    for one, counts in zip(sets, np.atleast_2d(result), strict=True):
        for part in row_blocks(len(counts), 2 * one.shape[1]):
            first, *further = named[:, part]
            left = one.take(first, axis=0)
            for attributes in further:
                left &= one.take(attributes, axis=0)
            # A matrix product sums short rows several times faster than sum does. The numbers are
            # whole and small enough to be exact.
            exact = np.float32 if WORD * left.shape[1] < 1 << 24 else np.float64
            counts[part] = np.bitwise_count(left).astype(exact) @ np.ones(left.shape[1], exact)
    return result


def _checked_subsets(subsets: ArrayLike, n_features: int) -> Ints:
    """Return the subsets (q, most) after checking that their attributes exist."""
    array = np.asarray(subsets)
    if array.ndim != 2 or array.shape[1] < 1 or array.dtype.kind not in "iu":
        raise InputError(
            f"subsets must be integers of the shape (q, most), got {array.dtype} and {array.shape}"
        )
    if array.size and (array.min() < 0 or array.max() >= n_features):
        raise InputError(
            f"subsets must name attributes in 0..{n_features - 1}, "
            f"got {array.min()} to {array.max()}"
        )
    return array.astype(np.int64, copy=False)


def _subsets(ranks: Ints, n_features: int, size: int, width: int) -> Ints:
    """Return the subsets (q, width) of one size with these ranks, in colexicographic order.

    The rank of a_1 < ... < a_size is C(a_1, 1) + ... + C(a_size, size). So the largest attribute is
    the largest a with C(a, size) at most the rank, and the others follow in the same way from the
    rest.
    """
    result = np.empty((len(ranks), width), np.int64)
    left = ranks.copy()
    for j in range(size, 0, -1):
        below = np.array([comb(a, j) for a in range(n_features)])
        result[:, j - 1] = np.searchsorted(below, left, side="right") - 1
        left -= below[result[:, j - 1]]
    # Repeat the last attribute up to the common width.
    result[:, size:] = result[:, size - 1, None]
    return result
