"""The nearest others of records, from those that agree in all categories to those that agree least.

Records that differ in h categories agree outside of some set of h columns, so that grouping by
the other columns finds them all. A record is settled once its neighbours are no farther than any
record that differs in one category more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.synthetic.distance import Space

_LARGEST_KEY = 2**62
_CELLS = 2**20
"""Numbers of candidates that a thread holds at once: 8 MB, and as much for differences."""
_FEW, _SHARE = 2**10, 1 / 16
"""A record with more candidates, also as a share of all, is left to the search over all."""
_KEPT = 2**23
"""Neighbours that are kept: 128 MB."""
_PASS = 30
"""Records that have to be open for each grouping of all records that may settle them."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Neighbours of some points."""

    point: Ints
    """Whose neighbour it is, as a position among the points asked about."""
    distance: Floats
    """How far it is."""
    weight: Ints
    """How many records it stands for."""


def mean_of_nearest(pairs: Pairs, n: int, k: int) -> tuple[Floats, Floats]:
    """Return each point's mean distance to its k nearest, and the distance of the last of them."""
    order = np.lexsort((pairs.distance, pairs.point))
    point, distance, weight = pairs.point[order], pairs.distance[order], pairs.weight[order]
    total = np.concatenate([[0], np.cumsum(weight)])
    before = total[:-1] - total[np.searchsorted(point, point)]
    taken = np.clip(k - before, 0, weight)
    last = np.full(n, np.inf)
    enough = (before < k) & (before + weight >= k)
    last[point[enough]] = distance[enough]
    return np.bincount(point, taken * distance, minlength=n) / k, last


def keys_of(columns: Sequence[tuple[Ints, int]], n: int) -> Ints:
    """Return a number for each row that is equal where all codes are."""
    keys, bound = np.zeros(n, dtype=np.int64), 1
    for codes, size in columns:
        if bound * size > _LARGEST_KEY:
            values, keys = np.unique(keys, return_inverse=True)
            bound = len(values)
        keys, bound = keys * size + codes, bound * size
    return keys


@dataclass(frozen=True, eq=False)
class _Found:
    """The nearest others found so far of points that are open."""

    rows: Ints
    """(m,) The points."""
    near: Ints
    """(m, k + 1) Others, in no order, -1 where fewer were found."""
    distance: Floats
    """(m, k + 1) How far they are, infinite where fewer were found."""
    compared: Ints
    """(m,) How many others each point was compared with, of those it has to be compared with."""

    def __getitem__(self, which: Bools) -> _Found:
        return _Found(
            self.rows[which], self.near[which], self.distance[which], self.compared[which]
        )

    def merge(self, rows: Ints, near: Ints, distance: Floats) -> None:
        """Keep the nearest of those found and further ones, in place."""
        width = self.near.shape[1]
        near = np.hstack([self.near[rows], near])
        distance = np.hstack([self.distance[rows], distance])
        least = np.argpartition(distance, width - 1, axis=1)[:, :width]
        self.near[rows] = np.take_along_axis(near, least, axis=1)
        self.distance[rows] = np.take_along_axis(distance, least, axis=1)

    def means(self, weight: Ints, k: int) -> tuple[Floats, Floats]:
        """Return means over the k nearest, a point's copies among them, and the last distance."""
        point, place = np.nonzero(self.near >= 0)
        near, copies = self.near[point, place], weight[self.rows] - 1
        pairs = Pairs(
            np.concatenate([np.arange(len(self.rows)), point]),
            np.concatenate([np.zeros(len(self.rows)), self.distance[point, place]]),
            np.concatenate([copies, weight[near]]),
        )
        return mean_of_nearest(pairs, len(self.rows), k)


def means_by_level(
    space: Space, weight: Ints, k: int, left: Ints, pool: Executor
) -> tuple[Floats, Bools]:
    """Return mean distances to the k nearest of some points, and for which of them they are right.

    Parameters
    ----------
    space : Space
        n distinct points.
    weight : ndarray of int, shape (n,)
        How many records each stands for.
    k : int
        At least 1.
    left : ndarray of int, shape (m,)
        The points asked about.
    pool : Executor
        Of threads.
    """
    n, width = len(space), space.codes.shape[1]
    scores, settled = np.zeros(n), np.zeros(n, dtype=np.bool_)
    shape = (len(left), k + 1)
    if not width or np.prod(shape) > _KEPT:
        return scores[left], settled[left]
    found = _Found(left, np.full(shape, -1), np.full(shape, np.inf), np.zeros(len(left), np.int64))
    for h in range(width + 1):
        if h and len(found.rows) <= _PASS * comb(width, h):
            break
        for columns in combinations(range(width), h):
            _compare(space, columns, found, pool)
        found = found[found.compared <= _most(n)]
        mean, last = found.means(weight, k)
        # All others within the last distance have been compared.
        done = last <= (space.steps[h + 1] if h < width else np.inf)
        scores[found.rows[done]], settled[found.rows[done]] = mean[done], True
        found = found[~done]
    return scores[left], settled[left]


def _most(n: int) -> float:
    return max(_FEW, _SHARE * n)


def _compare(space: Space, without: tuple[int, ...], found: _Found, pool: Executor) -> None:
    """Compare open points with those that differ from them in these columns and in no others."""
    columns = enumerate(zip(space.codes.T, space.sizes, strict=True))
    keys = keys_of([column for j, column in columns if j not in without], len(space))
    order = np.argsort(keys, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(keys[order])), len(keys) - 1) + 1
    group = np.searchsorted(ends, np.argsort(order)[found.rows], side="right")
    end, size = ends[group], np.diff(ends, prepend=0)[group]
    found.compared[:] += size - 1
    # A group of one is the point alone.
    size[(found.compared > _most(len(space))) | (size == 1)] = 0
    task = partial(_compare_some, space, without, found, order, end, size)
    for _ in pool.map(task, alike(size, 1 + space.numbers.shape[1])):
        pass


def alike(size: Ints, length: int) -> Iterator[Ints]:
    """Yield points with about as many candidates, as many points as may be compared at once.

    Parameters
    ----------
    size : ndarray of int, shape (m,)
        How many candidates each point has; those without any are left out.
    length : int
        Numbers that a candidate takes.
    """
    widths = np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64)
    for width in np.unique(widths[size > 0]):
        rows = np.flatnonzero((widths == width) & (size > 0))
        step = max(1, _CELLS // (2 ** int(width) * length))
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step]


def _compare_some(
    space: Space,
    without: tuple[int, ...],
    found: _Found,
    order: Ints,
    end: Ints,
    size: Ints,
    rows: Ints,
) -> None:
    me = found.rows[rows]
    back = np.arange(1, size[rows].max() + 1)
    other = order[np.maximum(end[rows][:, None] - back, 0)]
    wrong = (back > size[rows][:, None]) | (other == me[:, None])
    for j in without:
        codes = space.codes[:, j]
        wrong |= codes[other] == codes[me][:, None]
    distance = space.steps[len(without)] + space.share * space.distance.of_numbers(
        space.numbers[other], space.numbers[me][:, None]
    )
    distance[wrong], other[wrong] = np.inf, -1
    width = min(found.near.shape[1], len(back))
    least = np.argpartition(distance, width - 1, axis=1)[:, :width]
    near = np.take_along_axis(other, least, axis=1)
    found.merge(rows, near, np.take_along_axis(distance, least, axis=1))
