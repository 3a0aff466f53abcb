"""Counting queries on a target record with many attributes: a sample, counted on bitmaps.

With more than about 20 attributes the 2^F queries are too many. A bitmap keeps, for each
condition on the target, one bit per row; a query is the AND of a few bitmaps, and its answer the
number of bits that are left.
"""

from __future__ import annotations

from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import Ints
from privacygauge.errors import InputError
from privacygauge.synthetic.conditions import MOST_BITS, Conditions, Masks, row_blocks
from privacygauge.synthetic.queries import Counts, count_dtype

Bitmaps = NDArray[np.uint64]

WORD = 64


def sampled_subsets(n_features: int, n_queries: int, most: int, rng: np.random.Generator) -> Ints:
    """Draw distinct subsets of the attributes, uniformly.

    Parameters
    ----------
    n_features : int
        F, at least 1.
    n_queries : int
        Number of subsets to draw, at least 1. Where there are fewer, all are returned.
    most : int
        The largest size of a subset, in 1..F; F for any size.
    rng : Generator

    Returns
    -------
    ndarray of int64, shape (q, most)
        Each row names the attributes of one subset, in ascending order. A smaller subset names
        its last attribute again, which changes no query. No subset is empty, and none comes twice.

    Raises
    ------
    InputError
        If a number is out of range, or there are more than 2^63 - 1 subsets.

    Notes
    -----
    Meeus et al. (2023), section 5.5, draw 100,000 of all 2^F queries. Most subsets of at most
    `most` attributes have just `most`: where low orders matter, draw them on their own.

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
        The attributes of each subset, in 0..31; one that is named twice counts once.

    Returns
    -------
    ndarray of uint32, shape (q,)
        The subsets as `answers_of` takes them.

    Raises
    ------
    InputError
        If the shape is another, or an attribute is out of range.
    """
    named = _checked_subsets(subsets, MOST_BITS)
    bits: Masks = np.bitwise_or.reduce(np.uint32(1) << named.astype(np.uint32), axis=1)
    return bits


def bitmaps(rows: ArrayLike, target: ArrayLike, at_most: ArrayLike) -> Bitmaps:
    """Return, for each attribute, the rows that meet the target's condition: one bit per row.

    Parameters
    ----------
    rows : array_like of shape (n, F) or (k, n, F)
        The rows of a table, or of k tables, as numbers; categories as codes.
    target : array_like of shape (F,)
        The target record, coded as the rows are.
    at_most : array_like of shape (F,)
        True for the attributes that are compared with "<=", False for those with "=".

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
        The bitmaps of a data set, or of k data sets, as `bitmaps` gives them.
    subsets : array_like of shape (q, most)
        The attributes of each query, in 0..F - 1; one that is named twice counts once.

    Returns
    -------
    ndarray of shape (q,) or (k, q)
        Number of rows that meet all conditions of each query; int16 for up to 511 words (32,704
        rows) and int32 above.

    Raises
    ------
    InputError
        If the shapes do not fit, the bitmaps are not uint64, or an attribute is out of range.

    Notes
    -----
    Q^A of Meeus et al. (2023), section 5.1, as the number of bits in the AND of the bitmaps.
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
            counts[part] = _bitmap_counts(one, named[:, part])
    return result


def _bitmap_counts(bitmaps: Bitmaps, named: Ints) -> NDArray[Any]:
    """Return the counts (q,) of queries named by columns (most, q)."""
    left = bitmaps.take(named[0], axis=0)
    for attributes in named[1:]:
        left &= bitmaps.take(attributes, axis=0)
    # A matrix product adds short rows several times faster than a sum does. The numbers are
    # whole and small enough to be exact.
    exact = np.float32 if WORD * left.shape[1] < 1 << 24 else np.float64
    totals: NDArray[Any] = np.bitwise_count(left).astype(exact) @ np.ones(left.shape[1], exact)
    return totals


def _checked_subsets(subsets: ArrayLike, n_features: int) -> Ints:
    """Check that the attributes of subsets (q, most) exist; return the subsets."""
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

    The rank of a_1 < ... < a_size is C(a_1, 1) + ... + C(a_size, size): the largest attribute is
    the largest a with C(a, size) at most the rank, and so on down with what is left.
    """
    result = np.empty((len(ranks), width), np.int64)
    left = ranks.copy()
    for j in range(size, 0, -1):
        below = np.array([comb(a, j) for a in range(n_features)])
        result[:, j - 1] = np.searchsorted(below, left, side="right") - 1
        left -= below[result[:, j - 1]]
    result[:, size:] = result[:, size - 1, None]
    return result
