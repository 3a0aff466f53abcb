"""Exact mean distances to the nearest other records, for all records at once.

A search in three exact steps, each for the records that the one before leaves open: equal records
are counted; records are compared with those that agree in all categories, in all but one, and so
on; and the rest are compared with every distinct record in single precision, whose candidates are
measured again in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.runs.threads import one_thread
from privacygauge.synthetic.distance import Space
from privacygauge.synthetic.groups import Keys, equal_points, grouped_with
from privacygauge.synthetic.levels import means_by_level
from privacygauge.synthetic.rough import Rough, Singles, rough_of

_BLOCK = 2**25
"""Approximate distances that a thread holds at once: 128 MB."""
_PAIRS = 2**20
"""Candidates measured at once."""
_WIDTH = 64
"""Records that share a minimum in the search for candidates."""
_PASS = 100
"""Fewest open records for which a pass over the columns pays off."""


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Neighbours of some points."""

    point: Ints
    """Position of the point among those asked about."""
    distance: Floats
    """Distance to the neighbour."""
    weight: Ints
    """Number of records that the neighbour stands for."""


def _mean_of_nearest(pairs: _Pairs, n: int, k: int) -> Floats:
    """Return each point's mean distance to its k nearest."""
    order = np.lexsort((pairs.distance, pairs.point))
    point = pairs.point[order]
    distance = pairs.distance[order]
    weight = pairs.weight[order]
    total = np.concatenate([[0], np.cumsum(weight)])
    before = total[:-1] - total[np.searchsorted(point, point)]
    taken = np.clip(k - before, 0, weight)
    return np.bincount(point, taken * distance, minlength=n) / k


def mean_distances(space: Space, k: int, unit: Ints | None = None) -> Floats:
    """Return the mean distance of each point to its k nearest others.

    Parameters
    ----------
    space : Space
        n points; equal ones are neighbours at distance 0.
    k : int
        Number of neighbours, in 1..n - 1.
    unit : ndarray of int, shape (n,), optional
        The unit of each point: points of its own unit are none of its others, of which k are left.

    Returns
    -------
    ndarray, shape (n,)
    """
    from joblib import cpu_count

    n = len(space)
    points = space
    first = kind = np.arange(n)
    weight = np.ones(n, dtype=np.int64)
    if unit is None:
        first, kind, weight = equal_points(space)
        points = space[first]
    scores = np.zeros(len(points))
    left = np.flatnonzero(weight <= k)
    with one_thread(), ThreadPoolExecutor(cpu_count()) as pool:
        if space.share:
            scores[left], settled = means_by_level(
                points, weight, k=k, left=left, pool=pool, unit=unit
            )
            left = left[~settled]
        elif unit is None:
            scores[left], settled = _by_mismatches(points, weight, k=k, left=left, pool=pool)
            left = left[~settled]
        if len(left):
            scores[left] = _by_all(points, weight, k=k, left=left, pool=pool, unit=unit)
    return np.asarray(scores[kind])


def _by_mismatches(
    space: Space, weight: Ints, k: int, left: Ints, pool: Executor
) -> tuple[Floats, Bools]:
    """Return scores of points with categories alone, by counting others level by level.

    Summed over all sets S of h columns, the records that agree with a point outside of S count
    one that differs in m columns C(F - m, h - m) times: so the counts of h = 0, 1, ... give how
    many differ in exactly h columns, without comparing pairs.
    """
    width = space.codes.shape[1]
    keys = Keys(space)
    counts = [weight[left]]
    enough = counts[0] > k
    for h in range(1, width + 1):
        still = np.flatnonzero(~enough)
        if len(still) <= _PASS * comb(width, h):
            break
        nearer = sum(comb(width - m, h - m) * found[still] for m, found in enumerate(counts))
        counts.append(np.zeros_like(counts[0]))
        counts[h][still] = _agreeing(keys, weight, h=h, rows=left[still], pool=pool) - nearer
        enough = np.sum(counts, axis=0) > k
    others = np.column_stack(counts)
    others[:, 0] -= 1
    before = np.cumsum(others, axis=1) - others
    taken = np.clip(k - before, 0, others)
    return taken @ space.steps[: len(counts)] / k, enough


def _agreeing(keys: Keys, weight: Ints, h: int, rows: Ints, pool: Executor) -> Ints:
    """Return the number of records that agree outside h columns, summed over all such sets."""

    def outside(without: tuple[int, ...]) -> Ints:
        order, begins = grouped_with(keys.without(without), rows)
        found = np.zeros(len(weight), dtype=np.int64)
        sums = np.add.reduceat(weight[order], begins)
        found[order] = np.repeat(sums, np.diff(begins, append=len(order)))
        return found[rows]

    total = np.zeros(len(rows), dtype=np.int64)
    for found in pool.map(outside, combinations(range(len(keys.codes)), h)):
        total += found
    return total


def _cut(rows: Ints, size: int) -> Iterator[Ints]:
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]


def _by_all(
    space: Space, weight: Ints, k: int, left: Ints, pool: Executor, unit: Ints | None = None
) -> Floats:
    """Return scores by comparing points with all others, a block at a time."""
    from joblib import cpu_count

    n = len(space)
    width = max(1, min(_WIDTH, n // (4 * (k + 1))))
    rough = rough_of(space, width)
    each = -(-len(left) // cpu_count())
    blocks = list(_cut(left, max(16, min(512, each, _BLOCK // n))))

    def scored(rows: Ints) -> Floats:
        same = (np.arange(len(rows)), rows)
        own = same if unit is None else np.nonzero(unit == unit[rows, None])
        pairs = _candidates(space, rough, weight=weight, k=k, rows=rows, own=own)
        return _mean_of_nearest(pairs, len(rows), k)

    return np.concatenate(list(pool.map(scored, blocks)))


def _candidates(
    space: Space, rough: Rough, weight: Ints, k: int, rows: Ints, own: tuple[Ints, ...]
) -> _Pairs:
    """Return all candidates for the k nearest of each point, and its own copies.

    `own` are pairs of a place among `rows` and a point that does not count as another.
    """
    found = rough.distances(rows)
    found[own] = np.inf
    blocks = found.reshape(len(rows), rough.width, -1)
    least = blocks.min(axis=1)
    limit = np.full(len(rows), np.inf, dtype=np.float32)
    if least.shape[1] >= k:
        # k minima below it are k records: no farther one is among the k nearest.
        limit = np.partition(least, k - 1, axis=1)[:, k - 1]
    parts = [_Pairs(np.arange(len(rows)), np.zeros(len(rows)), weight[rows] - 1)]
    if space.share == 0.0:
        # In categories alone distances are small whole numbers, exact, and tie by the thousand:
        # one entry stands for the k neighbours at the limit, and only nearer ones are looked for.
        known = np.flatnonzero(np.isfinite(limit))
        at = space.steps[limit[known].astype(np.int64)]
        parts.append(_Pairs(known, at, np.full(len(known), k)))
        limit = limit - np.float32(0.5)
    else:
        limit = limit + 2 * rough.error
    parts += _within_limit(space, weight, rows=rows, blocks=blocks, least=least, limit=limit)
    return _Pairs(
        np.concatenate([part.point for part in parts]),
        np.concatenate([part.distance for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )


def _within_limit(
    space: Space, weight: Ints, rows: Ints, blocks: Singles, least: Singles, limit: Singles
) -> list[_Pairs]:
    """Return the others within each point's limit, with exact distances."""
    parts = []
    width, m = blocks.shape[1:]
    hit, block = np.nonzero((least <= limit[:, None]) & np.isfinite(least))
    for some in _cut(np.arange(len(hit)), max(1, _PAIRS // width)):
        values = blocks[hit[some], :, block[some]]
        which, place = np.nonzero((values <= limit[hit[some], None]) & np.isfinite(values))
        point = hit[some][which]
        other = place * m + block[some][which]
        parts.append(_Pairs(point, space.between(rows[point], other), weight[other]))
    return parts
