"""The query-based attack: answers to counting queries on the target, and a meta-classifier."""

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
from privacygauge.synthetic.attacks.attack import Answer, Tables, View
from privacygauge.synthetic.attacks.meta import Features, Forest, MetaClassifier
from privacygauge.synthetic.generators.binning import Binning
from privacygauge.synthetic.queries import (
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
from privacygauge.synthetic.table import Schema, require_at_least

# Counting queries on a target record over many tables: conditions and subsets.

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


MOST_QUERIES = 1 << 16
"""Most queries: all subsets of up to 16 attributes."""

CELLS = 1 << 27
"""Counts of the adversary's tables held at once: 256 MB."""


@dataclass(frozen=True)
class QueryBased:
    """Counts of synthetic records that agree with the target on subsets of its attributes.

    The attack of Houssiau et al. (2022) as Meeus et al. (2023), section 5.1, have it: the
    answers to the queries Q^A, for subsets A of the target's attributes, are the features of a
    meta-classifier that is trained on the adversary's own tables. The paper compares numbers by
    "<=" ("at most"). "=" on numbers too ("equal") is far stronger against generators that copy
    values, such as SynthPop, and "in the same bin" ("same bin") against those that count in
    bins, such as BayNet; several comparisons may be asked together. Counts are given as square
    roots of shares: in roots chance varies alike whatever the count. A forest sees no difference.

    Raises
    ------
    InputError
        If a comparison is unknown, named twice or missing, or a number is below 1.

    Notes
    -----
    All subsets are asked where there are at most `queries` of them; above, equal numbers of each
    size (the paper draws from all subsets, of which hardly any are of the low orders that rows
    meet). Queries that no two of the adversary's tables answer differently, and copies of
    others, are left out: this looks at no label.
    """

    compare: tuple[Comparison, ...] = ("at most",)
    """Comparisons of numbers with the target's, one or several; the paper's by default."""
    meta: MetaClassifier = field(default_factory=Forest)
    """Meta-classifier trained on the answers."""
    most: int = 32
    """Largest size of a subset, at least 1."""
    queries: int = MOST_QUERIES
    """Most queries; fewer where there are very many tables."""

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
        """Return the meta-classifier's scores of all tables."""
        kinds = conditions_of(view.schema, view.target, self.compare)
        subsets = self._subsets(view, rng)
        found = answers_on(view.shadows, kinds, subsets)
        telling = distinct_columns(found)
        if not len(telling):
            return Skipped(self.name, "no query has different answers on the adversary's tables")
        features = _roots(found[:, telling], view.shadows)
        learnt = self.meta.fit(features, view.inside, rng)
        # The released tables are asked the telling queries alone, kind by kind.
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
        return Answer(learnt.own, released, self._notes(view, subsets))

    def _subsets(self, view: View, rng: np.random.Generator) -> tuple[Ints, ...]:
        room = self.most_queries(len(view.shadows))
        found = subsets_up_to(len(view.target), room, self.most, rng)
        return asked_once(view.schema, found, len(self.compare))

    def most_queries(self, n_tables: int) -> int:
        """Return the most queries per comparison for a number of tables."""
        return max(1, min(self.queries, self.cells // n_tables) // len(self.compare))

    def _notes(self, view: View, subsets: tuple[Ints, ...]) -> tuple[str, ...]:
        width = len(view.target)
        if len(subsets[0]) == sum(comb(width, m + 1) for m in range(min(self.most, width))):
            return ()
        asked = sum(len(part) for part in subsets)
        return (f"a sample of {asked:,} queries was asked, not all there are",)


def distinct_columns(counts: Counts) -> Ints:
    """Return the columns that are neither constant nor copies of earlier ones."""
    varies = np.flatnonzero(counts.min(axis=0) < counts.max(axis=0))
    first: dict[bytes, int] = {}
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
