"""Exact nearest neighbours of one table's records in another table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.tables.distance import Cosine, Distance, Minkowski, Space, rough_of
from privacygauge.tables.nearest import keys_of
from privacygauge.tables.table import Schema

_BLOCK = 2**25
"""Approximate distances held at once: 128 MB."""
_PAIRS = 2**18
"""Candidate pairs measured exactly at once."""
_CELLS = 2**20
"""Coordinates of candidates held at once: 8 MB, and as much for their differences."""
_MOST = 2**12
"""Most candidates per point; a point with more is compared with all others."""
_PASS = 30
"""Fewest unsettled points for which another grouping pays off."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """Nearest record of each query record."""

    distance: Floats
    """(q,) Distance to it; 0 for an equal one."""
    row: Ints
    """(q,) Its row; among equally near ones, the first in the order given."""


def usual_distance(schema: Schema) -> Distance:
    """Return the cosine distance, or the sum of differences for a single numeric column.

    The cosine compares directions, of which a single column has only two.
    """
    return Minkowski(1) if len(schema.numbers) == 1 else Cosine()


def nearest_points(space: Space, asked: Ints, among: Ints) -> Nearest:
    """Find the nearest candidate of each query point.

    Parameters
    ----------
    space : Space
        All points, queries and candidates.
    asked : ndarray of int, shape (q,)
        Query points.
    among : ndarray of int, shape (m,)
        Candidates, at least one. A point that is both is its own neighbour.

    Notes
    -----
    Points that agree in all categories are compared first, then those that differ in one, and so
    on: a point is settled once its neighbour is nearer than any that differs in one more category.
    The rest is compared with all candidates in single precision, block by block; candidates that
    may be the nearest, given the error bound, are measured again in double precision.
    """
    # The first point of each group of equal points, in the order given.
    both = np.hstack([space.codes[among], space.numbers[among]])
    distinct = among[np.sort(np.unique(both, axis=0, return_index=True)[1])]
    n = len(asked)
    width = space.codes.shape[1]
    found = _Best(np.full(n, np.inf), np.full(n, len(distinct)))
    compared = np.zeros(n, dtype=np.int64)
    left = np.ones(n, dtype=np.bool_)
    rows = np.arange(n)
    # Level h: pairs that differ in exactly h categories.
    for h in range(width + 1):
        if len(rows) <= _PASS * comb(width, h):
            break
        for columns in combinations(range(width), h):
            _of_level(
                space,
                columns,
                asked=asked,
                among=distinct,
                found=found,
                rows=rows,
                compared=compared,
            )
        # Points with too many candidates leave the loop, and stay marked as left.
        rows = rows[compared[rows] <= _MOST]
        # steps[h + 1]: smallest distance of two points that differ in h + 1 categories.
        done = found.distance[rows] < (space.steps[h + 1] if h < width else np.inf)
        left[rows[done]] = False
        rows = rows[~done]
    # Points that are left have no place yet; theirs is overwritten in the next line.
    row = distinct[np.minimum(found.place, len(distinct) - 1)]
    found.distance[left], row[left] = _among_all(space, asked[left], distinct)
    return Nearest(found.distance, row)


@dataclass(frozen=True, eq=False)
class _Best:
    """Nearest candidates found so far."""

    distance: Floats
    """(q,) Distance; infinite where none is found."""
    place: Ints
    """(q,) Position among the candidates; past the last where none is found."""

    def keep(self, rows: Ints, distance: Floats, place: Ints) -> None:
        """Keep a candidate if it is nearer, or as near and earlier in the order given."""
        ours = self.distance[rows]
        first = self.place[rows]
        better = (distance < ours) | ((distance == ours) & (place < first))
        self.distance[rows[better]] = distance[better]
        self.place[rows[better]] = place[better]


def _of_level(
    space: Space,
    without: tuple[int, ...],
    asked: Ints,
    among: Ints,
    found: _Best,
    rows: Ints,
    compared: Ints,
) -> None:
    """Compare points with candidates that differ from them in exactly these columns."""
    # Equal keys: candidates that agree with a point in all the other columns.
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
        # Padding, and candidates that agree in one of the columns: these belong to a lower level.
        wrong = step >= size[some][:, None]
        for j in without:
            wrong |= space.codes[other, j] == space.codes[me, j]
        away = space.between(other, me)
        away[wrong] = np.inf
        # Groups keep the order given, and argmin returns the first of equal distances.
        best = away.argmin(axis=1)[:, None]
        found.keep(
            rows[some],
            np.take_along_axis(away, best, axis=1)[:, 0],
            np.take_along_axis(place, best, axis=1)[:, 0],
        )


def _equal_sized_blocks(size: Ints, length: int) -> Iterator[Ints]:
    """Yield points with similar numbers of candidates, in blocks that fit into memory.

    Parameters
    ----------
    size : ndarray of int, shape (m,)
        Number of candidates of each point; points with none are left out.
    length : int
        Array cells that a candidate takes.
    """
    # Sizes are rounded up to powers of two, so that little of a padded block is wasted.
    widths = np.ceil(np.log2(np.maximum(size, 1))).astype(np.int64)
    for width in np.unique(widths[size > 0]):
        rows = np.flatnonzero((widths == width) & (size > 0))
        step = max(1, _CELLS // (2 ** int(width) * length))
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step]


def _among_all(space: Space, asked: Ints, distinct: Ints) -> tuple[Floats, Ints]:
    distance = np.empty(len(asked))
    row = np.empty(len(asked), dtype=np.int64)
    # Rough distances cover queries and candidates alike: few queries at a time, so that few
    # distances among the queries are computed in vain.
    many = max(512, len(distinct) // 4)
    m = len(distinct)
    for first in range(0, len(asked), many):
        part = slice(first, first + many)
        points = _compact(space[np.concatenate([distinct, asked[part]])], m)
        rough = rough_of(points, 1)
        step = max(16, min(512, _BLOCK // len(points)))
        for begin in range(m, len(points), step):
            rows = np.arange(begin, min(begin + step, len(points)))
            near_by = rough.distances(rows)[:, :m]
            if points.share == 0.0:  # numbers of columns that differ, which are exact
                place = np.argmin(near_by, axis=1)
                distance[first + rows - m] = points.between(rows, place)
                row[first + rows - m] = distinct[place]
                continue
            # Both the least and a candidate's distance may be off by the error: twice the bound is
            # safe.
            near = near_by <= (near_by.min(axis=1) + 2 * rough.error)[:, None]
            # Several times faster than nonzero on two dimensions.
            which, place = np.divmod(np.flatnonzero(near), near.shape[1])
            exact = np.concatenate(
                [
                    points.between(rows[which[i : i + _PAIRS]], place[i : i + _PAIRS])
                    for i in range(0, len(which), _PAIRS)
                ]
            )
            # By row, then distance, then position: the first entry of each row is its nearest.
            order = np.lexsort((place, exact, which))
            best = order[np.searchsorted(which[order], np.arange(len(rows)))]
            distance[first + rows - m] = exact[best]
            row[first + rows - m] = distinct[place[best]]
    return distance, row


def _compact(space: Space, m: int) -> Space:
    """Return the points with fewer codes: codes that agree across the sides still agree.

    A column of names would have as many codes as names. Those on one side only agree with none of
    the other side, and are merged into one code per side.
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
