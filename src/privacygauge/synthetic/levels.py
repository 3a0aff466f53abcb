"""Nearest other records, searched by the number of categories that differ.

Records that differ in h categories agree outside of some set of h columns, so that grouping by
the other columns finds them all. A record is settled once its neighbours are no farther than any
record that differs in one category more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from math import comb

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.synthetic.distance import Space
from privacygauge.synthetic.groups import Keys, grouped_with

_CELLS = 2**15
"""Distances that a thread computes at once: few enough to stay in its cache."""
# A record with more candidates than the larger of the two is left to the search over all.
_FEW = 2**10
_SHARE = 1 / 16
_KEPT = 2**23
"""Distances held, and those merged at once: 64 MB."""
_PASS = 30
"""Fewest open records for which a grouping of all records pays off."""
_GROUPED = 2**20
"""Records of all groupings held at once: about 50 MB."""


@dataclass(eq=False)
class _Open:
    """Points whose nearest others are not all known yet."""

    rows: Ints
    """(m,) Numbers of the points."""
    nearest: Floats
    """(m, k) Distances of the nearest others found, ascending; infinite where fewer were found."""
    compared: Ints
    """(m,) Number of others that each point was compared with, of those it must be compared
    with."""

    def keep(self, which: Bools) -> None:
        """Keep these points and drop all others."""
        self.rows, self.nearest = self.rows[which], self.nearest[which]
        self.compared = self.compared[which]

    def merge(self, asked: Ints, found: Floats) -> None:
        """Merge further distances, and keep the nearest."""
        both = np.hstack([self.nearest[asked], found])
        both.sort(axis=1)
        self.nearest[asked] = both[:, : self.nearest.shape[1]]


@dataclass(frozen=True, eq=False)
class _OpenPoints:
    """Open points, each with the points that agree with it outside some columns."""

    order: Ints
    """(t,) Points, group by group; one that stands for several records is repeated."""
    place: Ints
    """(q,) Position among the open points; those of a group are adjacent."""
    begin: Ints
    """(q,) Beginning of each point's group in `order`."""
    size: Ints
    """(q,) Size of the group."""
    at: Ints
    """(q,) Position of the point in the group."""
    which: Ints
    """(q,) Number of the set of columns."""

    @property
    def columns(self) -> tuple[Ints, ...]:
        """The five columns, (q,) each."""
        return self.place, self.begin, self.size, self.at, self.which

    def __getitem__(self, kept: Bools | Ints) -> _OpenPoints:
        parts = (part[kept] for part in self.columns)
        return _OpenPoints(self.order, *parts)

    def blocks(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the first point and the number of points, for groups of about equal size.

        A group that too many are asked of comes in parts.
        """
        place = np.arange(len(self.place))
        first = np.flatnonzero(np.diff(self.begin, prepend=-1))
        rank = place - np.repeat(first, np.diff(first, append=len(place)))
        first = np.flatnonzero(rank % np.maximum(1, _CELLS // np.maximum(self.size, 1)) == 0)
        count = np.diff(first, append=len(place))
        high = _power_above(self.size[first])
        wide = _power_above(count)
        for kind in np.unique(high * 64 + wide):
            some = np.flatnonzero(high * 64 + wide == kind)
            step = max(1, _CELLS >> (int(kind) // 64 + int(kind) % 64))
            for begin in range(0, len(some), step):
                part = some[begin : begin + step]
                yield first[part], count[part]


def _power_above(size: Ints) -> Ints:
    return np.ceil(np.log2(size)).astype(np.int64)


def _join_points(parts: Sequence[_OpenPoints]) -> _OpenPoints:
    """Join points asked about several sets of columns."""
    shift = np.cumsum([0, *(len(part.order) for part in parts)])
    place, begin, size, at, which = (
        np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)
    )
    order = np.concatenate([part.order for part in parts])
    return _OpenPoints(
        order=order, place=place, begin=begin + shift[which], size=size, at=at, which=which
    )


def means_by_level(
    space: Space, weight: Ints, k: int, left: Ints, pool: Executor, unit: Ints | None = None
) -> tuple[Floats, Bools]:
    """Return mean distances to the k nearest of some points, and a mask of those that are exact.

    Parameters
    ----------
    space : Space
        n points; without units they are distinct.
    weight : ndarray of int, shape (n,)
        Number of records that each point stands for.
    k : int
        At least 1.
    left : ndarray of int, shape (m,)
        The points asked about.
    pool : Executor
        Pool of threads.
    unit : ndarray of int, shape (n,), optional
        Points of a point's own unit are none of its others.
    """
    n, width = space.codes.shape
    scores = np.zeros(n)
    settled = np.zeros(n, dtype=np.bool_)
    if not width or not space.numbers.shape[1] or len(left) * k > _KEPT:
        return scores[left], settled[left]
    found = _Open(left, np.full((len(left), k), np.inf), np.zeros(len(left), np.int64))
    search = _Search(space, np.minimum(weight, k + 1), pool, unit)
    for h in range(width + 1):
        if h and len(found.rows) <= _PASS * comb(width, h):
            break
        search.compare(h, found)
        found.keep(found.compared <= search.most)
        # All others within the last distance have been compared.
        done = found.nearest[:, -1] <= (space.steps[h + 1] if h < width else np.inf)
        scores[found.rows[done]] = found.nearest[done].mean(axis=1)
        settled[found.rows[done]] = True
        found.keep(~done)
    return scores[left], settled[left]


class _Search:
    """Comparison of the points of a space, level by level."""

    def __init__(
        self, space: Space, copies: Ints, pool: Executor, unit: Ints | None = None
    ) -> None:
        self._space = space
        self._pool = pool
        self._unit = None if unit is None else np.append(unit, -1)
        self._copies = copies if copies.max(initial=1) > 1 else None
        self._keys = Keys(space)
        # A further point, far from all, stands for positions beyond the end of a group.
        self._columns = np.pad(space.numbers.T, ((0, 0), (0, 1)), constant_values=np.inf)
        self._codes = np.pad(self._keys.codes, ((0, 0), (0, 1)), constant_values=-1)
        self.most = max(_FEW, _SHARE * len(space))

    def compare(self, h: int, found: _Open) -> None:
        """Compare open points with those that differ from them in h columns; merge distances."""
        sets = combinations(range(len(self._keys.codes)), h)
        place = np.full(len(self._space), -1)
        place[found.rows] = np.arange(len(found.rows))
        at_once = min(_GROUPED // len(self._space), _KEPT // max(1, found.nearest.size))
        while some := list(islice(sets, max(1, at_once))):
            about = partial(self._asked, found.rows, place)
            parts = list(self._pool.map(about, range(len(some)), some))
            for part in parts:
                found.compared[part.place] += part.size - 1
            asked = _join_points(parts)
            asked = asked[found.compared[asked.place] <= self.most]
            measured = partial(self._measured, found, asked, np.array(some))
            self._merge(found, list(self._pool.map(measured, asked.blocks())))

    def _merge(self, found: _Open, parts: Sequence[tuple[Ints, Ints, Floats]]) -> None:
        for nearest in {part[2].shape[1] for part in parts}:
            some = [part for part in parts if part[2].shape[1] == nearest]
            which, place, away = (np.concatenate(x) for x in zip(*some, strict=True))
            for one in np.unique(which):
                found.merge(place[which == one], away[which == one])

    def _asked(self, rows: Ints, place: Ints, which: int, without: tuple[int, ...]) -> _OpenPoints:
        """Return the open points that are not alone in their group."""
        order, begins = grouped_with(self._keys.without(without), rows)
        place = place[order]
        at = np.arange(len(order))
        if self._copies is not None:
            copies = self._copies[order]
            at = np.cumsum(copies) - copies
            order = np.repeat(order, copies)
            begins = at[begins]
        sizes = np.diff(begins, append=len(order))
        group = np.searchsorted(begins, at, side="right") - 1
        begin = begins[group]
        size = sizes[group]
        asked = np.flatnonzero((place >= 0) & (size > 1))
        sets = np.full(len(order), which)
        return _OpenPoints(
            order=order, place=place, begin=begin, size=size, at=at - begin, which=sets
        )[asked]

    def _measured(
        self, found: _Open, asked: _OpenPoints, sets: Ints, block: tuple[Ints, Ints]
    ) -> tuple[Ints, Ints, Floats]:
        """Return the open points with nearer others in a block, and the nearest distances."""
        first, count = block
        step = np.arange(asked.size[first].max())
        turn = np.arange(count.max())
        inside = step < asked.size[first, None]
        other = np.full(inside.shape, len(self._space))
        other[inside] = asked.order[(asked.begin[first, None] + step)[inside]]
        one = np.minimum(first[:, None] + turn, len(asked.place) - 1)
        place = asked.place[one]
        real = turn < count[:, None]
        away = self._distances(sets[asked.which[first]], found.rows[place], other)
        if not sets.shape[1]:
            # A part of a group may be followed by another group's.
            at = np.minimum(asked.at[one], len(step) - 1)
            np.put_along_axis(away, at[:, :, None], np.inf, axis=2)
        k = found.nearest.shape[1]
        better = real & (away.min(axis=2) < found.nearest[place, -1])
        near = away[better]
        if near.shape[1] > k:
            near = np.partition(near, k - 1, axis=1)[:, :k]
        return asked.which[one[better]], place[better], near

    def _distances(self, without: Ints, me: Ints, other: Ints) -> Floats:
        """Return distances (g, q, s), infinite for points that do not differ in all columns."""
        columns = ((x[me][:, :, None], x[other][:, None, :]) for x in self._columns)
        away = self._space.distance.of_columns(columns)
        away *= self._space.share
        away += self._space.steps[without.shape[1]]
        for j in without.T[:, :, None]:
            mine = self._codes[j, me]
            theirs = self._codes[j, other]
            np.copyto(away, np.inf, where=mine[:, :, None] == theirs[:, None, :])
        if self._unit is not None:
            own = self._unit[me][:, :, None] == self._unit[other][:, None, :]
            np.copyto(away, np.inf, where=own)
        return away
