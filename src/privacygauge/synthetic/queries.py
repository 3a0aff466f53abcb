"""Counting queries on a target record: the counts for all subsets of its attributes at once.

A row of a table becomes the bit mask of the target's conditions that it meets, and a query, the
conditions in a subset A of the attributes, counts the rows whose mask holds A. The number of a
subset is its bit mask too: bit j stands for attribute j.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.errors import InputError
from privacygauge.synthetic.conditions import row_blocks, whole_numbers

Counts = NDArray[np.signedinteger[Any]]

MOST_FEATURES = 24
"""Most attributes; all subsets of more would need more than 32 MB per data set."""

LONGEST_STRIDE = 4
"""Longest stride, in words of 8 bytes, that is faster than short rows; measured."""


def all_query_counts(masks: ArrayLike, n_features: int) -> Counts:
    """Return the counts of all 2^F queries, one for each subset of the attributes.

    Parameters
    ----------
    masks : array_like of shape (n,) or (k, n)
        The bit masks of the rows of a data set, or of k data sets, as `masks` gives them.
    n_features : int
        F, in 0..24. For more attributes count a sample of queries on bitmaps.

    Returns
    -------
    ndarray of shape (2^F,) or (k, 2^F)
        Entry A is the number of rows that meet all conditions in A; entry 0 is n. It holds int16
        for up to 32,767 rows and int32 above: differences of counts never overflow.

    Raises
    ------
    InputError
        If a mask has a bit at or above F, or F is out of range.

    Notes
    -----
    Q^A = #{rows whose mask holds A}, Meeus et al. (2023), section 5.1. It is the superset sum of
    the histogram of the masks: F passes over 2^F cells, each adding the half with bit j to the
    half without (Yates' scheme), instead of a pass over the rows for each query.

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
        The numbers of the queries: bit masks of attributes, in 0..2^F - 1.
    n_features : int
        F, in 0..24.

    Returns
    -------
    ndarray of shape (q,) or (k, q)
        ``answers(masks, n_features)[..., subsets]``, of which no more than a few data sets' are
        held at once.

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
    """Return the checked masks of one or k data sets, whose 2^F counts fit into memory."""
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
    """Yield blocks of data sets (k, n) with their counts (block, 2^F)."""
    # The low bits select a lane of an 8-byte word, so there must be as many as there are lanes.
    lanes = _lanes(count_dtype(sets.shape[1]))
    low = len(lanes).bit_length() - 1
    n_bits = max(n_features, low)
    for part in row_blocks(len(sets), 1 << n_bits):
        counts = _superset_sums(_spread(sets[part], lanes, n_bits), lanes, n_bits - low)
        yield part, counts.reshape(-1, 1 << n_bits)[:, : 1 << n_features]


def _lanes(dtype: type[np.signedinteger[Any]]) -> Counts:
    """Return the counts that one row adds to a word of 8 bytes, for each mask of its low bits."""
    numbers = np.arange(8 // np.dtype(dtype).itemsize)
    counts: Counts = (numbers[:, None] & numbers == numbers).astype(dtype)
    return counts


def _spread(sets: NDArray[Any], lanes: Counts, n_bits: int) -> NDArray[np.uint64]:
    """Return a histogram of the masks, summed over the low bits, as flat words.

    A row is added to all lanes of its word in one addition, which spares the passes over the low
    bits; they would be the slowest, since they go through memory in the shortest steps.
    """
    low = len(lanes).bit_length() - 1
    words = np.zeros(len(sets) << (n_bits - low), np.uint64)
    start = np.arange(len(sets), dtype=np.intp)[:, None] << (n_bits - low)
    at = (sets >> sets.dtype.type(low)).astype(np.intp) + start
    added = lanes.view(np.uint64)[:, 0][sets & sets.dtype.type(len(lanes) - 1)]
    np.add.at(words, at.reshape(-1), added.reshape(-1))
    return words


def _superset_sums(words: NDArray[np.uint64], lanes: Counts, n_bits: int) -> Counts:
    """Return the sums over supersets of `n_bits` bits, in place, of words of counts.

    Lanes hold counts of at most n, which fit, so that nothing is carried from one to the next.
    The words of several data sets lie one after the other and go through the same passes.
    """
    counts: Counts = words.view(lanes.dtype)
    for step in (1 << j for j in range(n_bits)):
        if step <= LONGEST_STRIDE:
            # numpy goes through one long stride faster than through many short rows.
            for i in range(step):
                words[i :: 2 * step] += words[i + step :: 2 * step]
        else:
            # Rows of many small numbers: numpy copies rows of less than 4,096 before it adds.
            pairs = counts.reshape(-1, 2, step * len(lanes))
            pairs[:, 0] += pairs[:, 1]
    return counts
