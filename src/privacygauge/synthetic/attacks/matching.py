"""Counting queries on a target record over many tables: conditions and subsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.synthetic.attacks.attack import Tables
from privacygauge.synthetic.conditions import MOST_BITS, masks, row_blocks
from privacygauge.synthetic.generators.binning import Binning
from privacygauge.synthetic.queries import MOST_FEATURES, Counts, count_dtype, some_query_counts
from privacygauge.synthetic.queries_large import (
    bitmap_query_counts,
    bitmaps,
    bits_of,
    sampled_subsets,
)
from privacygauge.synthetic.schema import Schema

Comparison = Literal["at most", "equal", "same bin"]
"""Comparison of a number with the target's."""

_WORTH = 32
"""All 2^F answers take as long as about 2^F / 32 queries on bitmaps; measured."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """One condition per attribute: the value is in a range, or it is missing."""

    low: Floats
    """(F,) Smallest value that meets the condition."""
    high: Floats
    """(F,) Largest value that meets the condition."""
    missing: Bools
    """(F,) True where the condition is that the number is missing."""

    def met(self, tables: Tables) -> NDArray[np.bool_]:
        """Return which conditions the rows of tables (k, n, F) meet: (k, n, F)."""
        # In the tables' precision, so that the target's own values are found again in it.
        low = self.low.astype(tables.dtype)
        high = self.high.astype(tables.dtype)
        found: NDArray[np.bool_] = (tables >= low) & (tables <= high)
        found[..., self.missing] = np.isnan(tables[..., self.missing])
        return found


def threshold_conditions(schema: Schema, target: Floats) -> Bounds:
    """Return the paper's conditions: "<=" on numbers, "=" on categories.

    Meeus et al. (2023), section 5.1. A number that the target lacks has to be missing.
    """
    number = np.array([column.is_number for column in schema.columns])
    return Bounds(np.where(number, -np.inf, target), target, np.isnan(target))


def equal(schema: Schema, target: Floats) -> Bounds:
    """Return the conditions "=" on all attributes: copied values meet them."""
    return Bounds(target, target, np.isnan(target))


def same_bin(schema: Schema, target: Floats, bins: int = 10) -> Bounds:
    """Return the conditions "=" on categories and "in the target's bin" on numbers.

    Bins are equally wide over the schema's range, those of whole numbers of as equal a count as
    can be.
    """
    ends = Binning(schema, bins).ends(target)
    return Bounds(ends[:, 0], ends[:, 1], np.isnan(target))


_KINDS: Mapping[Comparison, Callable[[Schema, Floats], Bounds]] = {
    "at most": threshold_conditions,
    "equal": equal,
    "same bin": same_bin,
}


def check_comparisons(compare: Sequence[Comparison]) -> None:
    """Check that there is at least one comparison, that all are known, and that none repeats."""
    known = get_args(Comparison)
    if not compare or len(set(compare)) < len(compare) or not set(compare) <= set(known):
        raise InputError(
            f"compare must name some of {checks.short_list(known)}, each once, got {compare!r}"
        )


def conditions_of(
    schema: Schema, target: Floats, compare: Sequence[Comparison]
) -> tuple[Bounds, ...]:
    """Return the target's conditions by each comparison."""
    return tuple(_KINDS[kind](schema, target) for kind in compare)


def asked_once(schema: Schema, subsets: Ints, n_comparisons: int) -> tuple[Ints, ...]:
    """Return the subsets per comparison; those without a number are for the first one alone."""
    number = np.array([column.is_number for column in schema.columns])
    return subsets, *[subsets[number[subsets].any(axis=1)]] * (n_comparisons - 1)


def subsets_up_to(n_features: int, n_queries: int, most: int, rng: np.random.Generator) -> Ints:
    """Return all subsets of up to `most` attributes, or as many of each size as allowed.

    Parameters
    ----------
    n_features : int
        F.
    n_queries : int
        The most subsets. Where there are more, sizes get equal shares of this number, and what
        a size does not need goes to the others: low orders are taken whole, of high ones each
        gets a sample. A uniform sample of all would hold hardly any of low order, which are the
        ones that rows meet.
    most : int
        The largest size; F where F is less.
    rng : Generator

    Returns
    -------
    ndarray of int64, shape (q, m)
        As `sampled_subsets` gives them, each subset once, q at most `n_queries`.
    """
    most = min(most, n_features)
    sizes = {size: comb(n_features, size) for size in range(1, most + 1)}
    if sum(sizes.values()) <= n_queries:
        return sampled_subsets(n_features, n_queries, most, rng)
    found = []
    left = n_queries
    for i, size in enumerate(sorted(sizes, key=lambda size: sizes[size])):
        share = left // (most - i)
        found.append(_of_size(n_features, size, n=min(share, sizes[size]), width=most, rng=rng))
        left -= len(found[-1])
    return np.concatenate(found)


def _of_size(n_features: int, size: int, n: int, width: int, rng: np.random.Generator) -> Ints:
    """Return at most n different subsets of a size, (n, width)."""
    if n == comb(n_features, size):
        named = np.array(list(combinations(range(n_features), size)), np.int64)
    else:
        orders = rng.permuted(np.tile(np.arange(n_features), (n, 1)), axis=1)[:, :size]
        named = np.unique(np.sort(orders, axis=1), axis=0)
    return np.pad(named, ((0, 0), (0, width - size)), mode="edge")


def answers_on(tables: Tables, conditions: Sequence[Bounds], subsets: Sequence[Ints]) -> Counts:
    """Return how many rows of each table meet all conditions of each subset.

    Parameters
    ----------
    tables : ndarray, shape (k, n, F)
    conditions : sequence of Bounds
        One or several kinds.
    subsets : sequence of ndarray, shape (q_i, m)
        The queries of each kind.

    Returns
    -------
    ndarray of integers, shape (k, q_1 + q_2 + ...)
    """
    k, n, width = tables.shape
    found = np.empty((k, sum(len(part) for part in subsets)), count_dtype(n))
    for part in row_blocks(k, n * width):
        start = 0
        for kind, named in zip(conditions, subsets, strict=True):
            if not len(named):
                continue
            place = slice(start, start + len(named))
            met = kind.met(tables[part])
            yes = np.ones(width, np.uint8)
            as_they_are = np.zeros(width, np.bool_)
            if width <= min(MOST_FEATURES, MOST_BITS) and (1 << width) <= _WORTH * len(named):
                all_of = masks(met, yes, as_they_are)
                found[part, place] = some_query_counts(all_of, bits_of(named), width)
            else:
                found[part, place] = bitmap_query_counts(bitmaps(met, yes, as_they_are), named)
            start = place.stop
    return found
