"""The query-based attack: a meta-classifier on answers to counting queries on the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import combinations
from math import comb
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.tables.attacks.attack import Answer, Tables, View
from privacygauge.tables.attacks.meta import Features, Forest, MetaClassifier
from privacygauge.tables.generators.binning import Binning
from privacygauge.tables.queries import (
    MOST_BITS,
    MOST_FEATURES,
    Counts,
    bitmap_query_counts,
    bitmaps,
    bits_of,
    count_dtype,
    masks,
    row_blocks,
    sampled_subsets,
    some_query_counts,
)
from privacygauge.tables.table import Schema, require_at_least

# Counting queries on a target record over many tables: conditions and subsets of attributes.

Comparison = Literal["at most", "equal", "same bin"]
"""Comparison of a number with the target's number."""

_WORTH = 32
"""Answering all 2^F queries takes about as long as 2^F / 32 queries on bitmaps; measured."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """One condition per attribute: the value is in a closed range, or it is missing."""

    low: Floats
    """(F,) Smallest value that meets the condition."""
    high: Floats
    """(F,) Largest value that meets the condition."""
    missing: Bools
    """(F,) True where the number must be missing."""

    def met(self, tables: Tables) -> NDArray[np.bool_]:
        """Return which conditions each row of tables (k, n, F) meets, (k, n, F)."""
        # In the tables' precision, or the target's own values might fall outside after rounding.
        low = self.low.astype(tables.dtype)
        high = self.high.astype(tables.dtype)
        found: NDArray[np.bool_] = (tables >= low) & (tables <= high)
        found[..., self.missing] = np.isnan(tables[..., self.missing])
        return found


def threshold_conditions(schema: Schema, target: Floats) -> Bounds:
    """Return the paper's conditions: "<=" on numbers, "=" on categories.

    Meeus et al. (2023), section 5.1. Where the target's number is missing, a record's must be too.
    """
    number = np.array([column.is_number for column in schema.columns])
    return Bounds(np.where(number, -np.inf, target), target, np.isnan(target))


def equal(schema: Schema, target: Floats) -> Bounds:
    """Return the conditions "=" on all attributes: copied values meet them."""
    return Bounds(target, target, np.isnan(target))


def same_bin(schema: Schema, target: Floats, bins: int = 10) -> Bounds:
    """Return the conditions "=" on categories and "in the target's bin" on numbers.

    Bins are equally wide over the schema's range; those of whole numbers hold numbers of values as
    equal as possible.
    """
    ends = Binning(schema, bins).ends(target)
    return Bounds(ends[:, 0], ends[:, 1], np.isnan(target))


_KINDS: Mapping[Comparison, Callable[[Schema, Floats], Bounds]] = {
    "at most": threshold_conditions,
    "equal": equal,
    "same bin": same_bin,
}


def check_comparisons(compare: Sequence[Comparison]) -> None:
    """Raise unless there is at least one comparison, all are known, and none repeats."""
    known = get_args(Comparison)
    if not compare or len(set(compare)) < len(compare) or not set(compare) <= set(known):
        raise InputError(
            f"compare must name some of {checks.short_list(known)}, each once, got {compare!r}"
        )


def conditions_of(
    schema: Schema, target: Floats, compare: Sequence[Comparison]
) -> tuple[Bounds, ...]:
    """Return the target's conditions for each comparison."""
    return tuple(_KINDS[kind](schema, target) for kind in compare)


def asked_once(schema: Schema, subsets: Ints, n_comparisons: int) -> tuple[Ints, ...]:
    """Return the subsets for each comparison; those without a number only for the first one."""
    number = np.array([column.is_number for column in schema.columns])
    return subsets, *[subsets[number[subsets].any(axis=1)]] * (n_comparisons - 1)


def subsets_up_to(n_features: int, n_queries: int, most: int, rng: np.random.Generator) -> Ints:
    """Return all subsets of up to `most` attributes, or a sample of each size if too many.

    Parameters
    ----------
    n_features : int
        Number of attributes, F.
    n_queries : int
        Most subsets. If there are more, sizes get equal shares of this number, and what a size does
        not need goes to the others: low orders are complete, and each high order gets a sample. A
        uniform sample of all subsets would hold hardly any of low order, which are the ones that
        rows meet.
    most : int
        Largest size; F if F is smaller.
    rng : Generator

    Returns
    -------
    ndarray of int64, shape (q, m)
        Subsets as `sampled_subsets` returns them, each once, q at most `n_queries`.
    """
    most = min(most, n_features)
    sizes = {size: comb(n_features, size) for size in range(1, most + 1)}
    if sum(sizes.values()) <= n_queries:
        return sampled_subsets(n_features, n_queries, most, rng)
    found = []
    left = n_queries
    # Sizes with few subsets first: what they leave of their share goes to the rest.
    for i, size in enumerate(sorted(sizes, key=lambda size: sizes[size])):
        n = min(left // (most - i), sizes[size])
        if n == sizes[size]:
            named = np.array(list(combinations(range(n_features), size)), np.int64)
        else:
            # Duplicates are dropped, not redrawn: fewer than n may be left.
            orders = rng.permuted(np.tile(np.arange(n_features), (n, 1)), axis=1)[:, :size]
            named = np.unique(np.sort(orders, axis=1), axis=0)
        found.append(np.pad(named, ((0, 0), (0, most - size)), mode="edge"))
        left -= len(named)
    return np.concatenate(found)


def answers_on(tables: Tables, conditions: Sequence[Bounds], subsets: Sequence[Ints]) -> Counts:
    """Return how many rows of each table meet all conditions of each subset.

    Parameters
    ----------
    tables : ndarray, shape (k, n, F)
    conditions : sequence of Bounds
        One or several kinds of conditions.
    subsets : sequence of ndarray, shape (q_i, m)
        Queries of each kind: attributes, shorter subsets padded by their last one.

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
            # With few attributes all 2^F counts come from one transform, unless few of them are
            # wanted.
            if width <= min(MOST_FEATURES, MOST_BITS) and (1 << width) <= _WORTH * len(named):
                all_of = masks(met, yes, as_they_are)
                found[part, place] = some_query_counts(all_of, bits_of(named), width)
            else:
                found[part, place] = bitmap_query_counts(bitmaps(met, yes, as_they_are), named)
            start = place.stop
    return found


MOST_QUERIES = 1 << 16
"""Most queries: all subsets of 16 attributes."""

CELLS = 1 << 27
"""Counts of the adversary's tables held at once: 256 MB."""


@dataclass(frozen=True)
class QueryBased:
    """Counts of synthetic records that agree with the target on subsets of its attributes.

    The attack of Houssiau et al. (2022) in the form of Meeus et al. (2023), section 5.1: the
    answers to the queries Q^A, for subsets A of the target's attributes, are the features of a
    meta-classifier trained on the adversary's own tables. The paper compares numbers by "<=" ("at
    most"). "=" on numbers too ("equal") is far stronger against generators that copy values, such
    as SynthPop, and "in the same bin" ("same bin") against those that count in bins, such as
    BayNet; comparisons can be combined. Counts enter as square roots of shares, whose chance
    variation does not depend on the count. To a forest this makes no difference.

    Raises
    ------
    InputError
        If a comparison is unknown, named twice or missing, or a number is below 1.

    Notes
    -----
    All subsets are queried if there are at most `queries` of them; otherwise equal numbers of each
    size (the paper draws from all subsets, hardly any of which have the low orders that rows meet).
    Queries with the same answer on all of the adversary's tables, and copies of other queries, are
    left out: this uses no labels.
    """

    compare: tuple[Comparison, ...] = ("at most",)
    """Comparisons of numbers with the target's, one or several; by default the paper's."""
    meta: MetaClassifier = field(default_factory=Forest)
    """Meta-classifier trained on the answers."""
    most: int = 32
    """Largest size of a subset, at least 1."""
    queries: int = MOST_QUERIES
    """Most queries, at least 1; fewer if there are very many tables."""
    cells: int = CELLS
    """Counts held at once, two bytes each: with s tables at most cells / s queries."""

    name = "query-based"

    def __post_init__(self) -> None:
        check_comparisons(self.compare)
        require_at_least(self, most=1, queries=1, cells=1)

    @property
    def variant(self) -> str:
        """Comparison of numbers."""
        return " + ".join(self.compare)

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return the meta-classifier's score of every table."""
        kinds = conditions_of(view.schema, view.target, self.compare)
        room = self.most_queries(len(view.shadows))
        named = subsets_up_to(len(view.target), room, self.most, rng)
        subsets = asked_once(view.schema, named, len(self.compare))
        found = answers_on(view.shadows, kinds, subsets)
        telling = distinct_columns(found)
        if not len(telling):
            return Skipped(self.name, "no query has different answers on the adversary's tables")
        features = _roots(found[:, telling], view.shadows)
        learnt = self.meta.fit(features, view.inside, rng)
        # The released tables answer only the queries kept, one kind after the other.
        wanted = []
        start = 0
        for part in subsets:
            here = telling[(telling >= start) & (telling < start + len(part))]
            wanted.append(part[here - start])
            start += len(part)
        released = np.empty(len(view.released))
        for rows in row_blocks(len(released), len(telling)):
            counts = answers_on(view.released[rows], kinds, wanted)
            released[rows] = learnt.scores(_roots(counts, view.released))
        width = len(view.target)
        notes: tuple[str, ...] = ()
        if len(subsets[0]) < sum(comb(width, m + 1) for m in range(min(self.most, width))):
            asked = sum(len(part) for part in subsets)
            notes = (f"a sample of {asked:,} queries was asked, not all there are",)
        return Answer(learnt.own, released, notes)

    def most_queries(self, n_tables: int) -> int:
        """Return the most queries per comparison for this number of tables."""
        return max(1, min(self.queries, self.cells // n_tables) // len(self.compare))


def distinct_columns(counts: Counts) -> Ints:
    """Return the columns that are neither constant nor copies of earlier ones."""
    varies = np.flatnonzero(counts.min(axis=0) < counts.max(axis=0))
    first: dict[bytes, int] = {}
    # By digest: comparing all pairs of columns would take quadratic time.
    for part in row_blocks(len(varies), len(counts)):
        for column, values in zip(
            varies[part], np.ascontiguousarray(counts[:, varies[part]].T), strict=True
        ):
            first.setdefault(blake2b(values, digest_size=16).digest(), int(column))
    return np.array(list(first.values()), np.int64)


def _roots(counts: Counts, tables: Tables) -> Features:
    """Return the square roots of the counts as shares of a table's records."""
    roots = np.sqrt(counts, dtype=np.float32)
    roots /= np.float32(np.sqrt(tables.shape[1]))
    return roots
