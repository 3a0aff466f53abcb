"""Exact nearest neighbours of one table's records in another table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.synthetic.distance import Cosine, Distance, Minkowski, Rough, Space, rough_of
from privacygauge.synthetic.nearest import keys_of
from privacygauge.synthetic.table import Schema

_BLOCK = 2**25
"""Approximate distances held at once: 128 MB."""
_PAIRS = 2**18
"""Candidates measured at once."""
_CELLS = 2**20
"""Numbers of candidates held at once: 8 MB, and as much for differences."""
_MOST = 2**12
"""Most candidates of a point; with more it is compared with all."""
_PASS = 30
"""Fewest open points for which a grouping pays off."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """Nearest record of each record asked about."""

    distance: Floats
    """(q,) Distance to it; 0 for an equal one."""
    row: Ints
    """(q,) Its row; of equally near ones the first in the order given."""


def usual_distance(schema: Schema) -> Distance:
    """Return the cosine distance, or the sum of differences for a single column of numbers.

    The cosine compares directions, of which a single column has but two.
    """
    return Minkowski(1) if len(schema.numbers) == 1 else Cosine()


def nearest_points(space: Space, asked: Ints, among: Ints) -> Nearest:
    """Find the nearest of some points to each point asked about.

    Parameters
    ----------
    space : Space
        All points of both.
    asked : ndarray of int, shape (q,)
        Points whose neighbours are wanted.
    among : ndarray of int, shape (m,)
        The points to choose from, at least one. A point that is also asked about is its own
        neighbour.

    Notes
    -----
    Points that agree in all categories are compared first, then those that differ in one, and so
    on: a point is settled once its neighbour is nearer than any that differs in one more. What
    is left is compared with all in single precision a block at a time; what may be the nearest,
    given the bound of the error, is measured again in double precision.
    """
    distinct = _distinct(space, among)
    distance, place, left = _by_level(space, asked, distinct)
    row = distinct[np.minimum(place, len(distinct) - 1)]
    distance[left], row[left] = _among_all(space, asked[left], distinct)
    return Nearest(distance, row)


def _by_level(space: Space, asked: Ints, among: Ints) -> tuple[Floats, Ints, Bools]:
    """Return the nearest points found, their positions, and the points that are left."""
    n = len(asked)
    width = space.codes.shape[1]
    found = _Best(np.full(n, np.inf), np.full(n, len(among)))
    compared = np.zeros(n, dtype=np.int64)
    left = np.ones(n, dtype=np.bool_)
    rows = np.arange(n)
    for h in range(width + 1):
        if len(rows) <= _PASS * comb(width, h):
            break
        for columns in combinations(range(width), h):
            _of_level(
                space, columns, asked=asked, among=among, found=found, rows=rows, compared=compared
            )
        rows = rows[compared[rows] <= _MOST]
        done = found.distance[rows] < (space.steps[h + 1] if h < width else np.inf)
        left[rows[done]] = False
        rows = rows[~done]
    return found.distance, found.place, left


@dataclass(frozen=True, eq=False)
class _Best:
    """Nearest candidates found so far."""

    distance: Floats
    """(q,) Distance; infinite where none was found."""
    place: Ints
    """(q,) Position among the candidates; beyond the last where none was found."""

    def keep(self, rows: Ints, distance: Floats, place: Ints) -> None:
        """Keep a candidate that is nearer, or as near and earlier in the order given."""
        ours = self.distance[rows]
        first = self.place[rows]
        better = (distance < ours) | ((distance == ours) & (place < first))
        self.distance[rows[better]], self.place[rows[better]] = distance[better], place[better]


def _of_level(
    space: Space,
    without: tuple[int, ...],
    asked: Ints,
    among: Ints,
    found: _Best,
    rows: Ints,
    compared: Ints,
) -> None:
    """Compare points with those that differ from them in exactly these columns."""
    both = np.concatenate([among, asked[rows]])
    columns = enumerate(zip(space.codes[both].T, space.sizes, strict=True))
    keys = keys_of([column for j, column in columns if j not in without], len(both))
    order = np.argsort(keys[: len(among)], kind="stable")
    held = keys[order]
    begin, end = (np.searchsorted(held, keys[len(among) :], side=x) for x in ("left", "right"))
    compared[rows] += end - begin
    size = np.where(compared[rows] <= _MOST, end - begin, 0)
    for some in _equal_sized_blocks(size, 1 + space.numbers.shape[1]):
        step = np.arange(size[some].max())
        place = order[np.minimum(begin[some][:, None] + step, len(order) - 1)]
        other = among[place]
        me = asked[rows[some]][:, None]
        wrong = step >= size[some][:, None]
        for j in without:
            wrong |= space.codes[other, j] == space.codes[me, j]
        away = space.between(other, me)
        away[wrong] = np.inf
        # Within a group the order given is kept, and the least of equal ones is the first.
        best = away.argmin(axis=1)[:, None]
        found.keep(
            rows[some],
            np.take_along_axis(away, best, axis=1)[:, 0],
            np.take_along_axis(place, best, axis=1)[:, 0],
        )


def _equal_sized_blocks(size: Ints, length: int) -> Iterator[Ints]:
    """Yield points with about equal numbers of candidates, in blocks that fit into memory.

    Parameters
    ----------
    size : ndarray of int, shape (m,)
        Number of candidates of each point; those without any are left out.
    length : int
        Numbers that a candidate takes.
    """
    widths = np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64)
    for width in np.unique(widths[size > 0]):
        rows = np.flatnonzero((widths == width) & (size > 0))
        step = max(1, _CELLS // (2 ** int(width) * length))
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step]


def _among_all(space: Space, asked: Ints, distinct: Ints) -> tuple[Floats, Ints]:
    distance = np.empty(len(asked))
    row = np.empty(len(asked), dtype=np.int64)
    # What is asked about has to be among the points of the rough distances: few at a time, so
    # that little is compared in vain.
    many = max(512, len(distinct) // 4)
    for begin in range(0, len(asked), many):
        part = slice(begin, begin + many)
        distance[part], row[part] = _of_many(space, asked[part], distinct)
    return distance, row


def _distinct(space: Space, among: Ints) -> Ints:
    """Return the first point of each kind of equal points, in the order given."""
    both = np.hstack([space.codes[among], space.numbers[among]])
    return among[np.sort(np.unique(both, axis=0, return_index=True)[1])]


def _of_many(space: Space, asked: Ints, among: Ints) -> tuple[Floats, Ints]:
    points = _compact(space[np.concatenate([among, asked])], len(among))
    rough = rough_of(points, 1)
    step = max(16, min(512, _BLOCK // len(points)))
    parts = [
        _of_block(points, rough, np.arange(begin, min(begin + step, len(points))), len(among))
        for begin in range(len(among), len(points), step)
    ]
    distance, place = (np.concatenate(found) for found in zip(*parts, strict=True))
    return distance, among[place]


def _compact(space: Space, m: int) -> Space:
    """Return the points with fewer codes: codes that agree across the sides still agree.

    A column of names would be as wide as there are names. Those of one side alone agree with
    none of the other, and may be one code.
    """
    columns = []
    sizes = []
    for codes, size in zip(space.codes.T, space.sizes, strict=True):
        common = np.intersect1d(codes[:m], codes[m:])
        if len(common) + 2 >= size:
            columns.append(codes)
            sizes.append(size)
            continue
        place = np.searchsorted(common, codes)
        alone = ~np.isin(codes, common)
        place[:m][alone[:m]] = len(common)
        place[m:][alone[m:]] = len(common) + 1
        columns.append(place)
        sizes.append(len(common) + 2)
    codes = np.column_stack(columns) if columns else space.codes
    return Space(
        distance=space.distance,
        codes=codes,
        sizes=tuple(sizes),
        numbers=space.numbers,
        steps=space.steps,
        share=space.share,
    )


def _of_block(space: Space, rough: Rough, rows: Ints, m: int) -> tuple[Floats, Ints]:
    """Return distance and position of the nearest of the first m points for each row."""
    found = rough.distances(rows)[:, :m]
    if space.share == 0.0:  # numbers of columns that differ, which are exact
        place = np.argmin(found, axis=1)
        return space.between(rows, place), place
    near = found <= (found.min(axis=1) + 2 * rough.error)[:, None]
    return _nearest_among(space, rows, near)


def _nearest_among(space: Space, rows: Ints, near: Bools) -> tuple[Floats, Ints]:
    # Several times faster than nonzero in two dimensions.
    row, place = np.divmod(np.flatnonzero(near), near.shape[1])
    distance = np.concatenate(
        [
            space.between(rows[row[begin : begin + _PAIRS]], place[begin : begin + _PAIRS])
            for begin in range(0, len(row), _PAIRS)
        ]
    )
    order = np.lexsort((place, distance, row))
    first = order[np.searchsorted(row[order], np.arange(len(rows)))]
    return distance[first], place[first]
