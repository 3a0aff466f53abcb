"""Exact mean distances to the nearest other records, for all records at once.

The search has three exact steps, each for the records that the previous one leaves open: equal
records are counted; records are compared with those that agree in all categories, in all but one,
and so on; the rest are compared with every distinct record in single precision, and the candidates
are measured again in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from math import comb

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.runs.threads import one_thread
from privacygauge.tables.distance import Rough, Space, rough_of

# Groups of rows with equal codes.

# Keys up to this bound cannot overflow 64 bits.
_LARGEST_KEY = 2**62
_FEW_ROWS = 1 / 4
"""Share of all rows; if more are queried, all rows are sorted without a filter."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio, odd: products spread over all bits (Knuth)."""


def keys_of(columns: Sequence[tuple[Ints, int]], n: int) -> Ints:
    """Return a key (n,) per row, equal for rows with equal codes in all columns."""
    keys = np.zeros(n, dtype=np.int64)
    bound = 1
    for codes, size in columns:
        # Renumbering the keys so far, 0..values - 1, makes room for further columns.
        if bound * size > _LARGEST_KEY:
            values, keys = np.unique(keys, return_inverse=True)
            bound = len(values)
        keys = keys * size + codes
        bound = bound * size
    return keys


class Keys:
    """Keys of the points of a space by their codes, with some columns left out."""

    def __init__(self, space: Space) -> None:
        self.codes = np.ascontiguousarray(space.codes.T)
        self._columns = list(zip(self.codes, space.sizes, strict=True))
        # Mixed radix: the key is a sum with one part per column, so leaving out a column is a
        # subtraction.
        self._parts = []
        step = 1
        for codes, size in self._columns:
            self._parts.append(codes * step)
            step *= size
            if step > _LARGEST_KEY:
                self._parts.clear()
                break
        self._whole = np.sum(self._parts, axis=0) if self._parts else None

    def without(self, columns: Sequence[int]) -> Ints:
        """Return the keys (n,), at least 0, of all columns but these."""
        if self._whole is None:
            kept = [column for j, column in enumerate(self._columns) if j not in columns]
            return keys_of(kept, self.codes.shape[1])
        keys: Ints = self._whole
        for j in columns:
            keys = keys - self._parts[j]
        return keys


def group_by_key(keys: Ints) -> tuple[Ints, Ints]:
    """Return rows sorted by key, and the start of each group of equal keys.

    Parameters
    ----------
    keys : ndarray of int, shape (n,)
        Keys, at least 0.
    """
    bits = len(keys).bit_length()
    if int(keys.max(initial=0)).bit_length() + bits < 64:
        # One sort of keys and rows packed into one number is several times faster than argsort.
        both = np.sort((keys << bits) | np.arange(len(keys)))
        order = both & ((1 << bits) - 1)
        keys = both >> bits
    else:
        order = np.argsort(keys)
        keys = keys[order]
    return order, np.flatnonzero(np.diff(keys, prepend=-1))


def grouped_with(keys: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the groups of all rows that share a key with a queried row, and perhaps of others."""
    if len(rows) > _FEW_ROWS * len(keys):
        return group_by_key(keys)
    # A hash table of one bit per slot, more than 16 slots per query: false hits only cost time.
    bits = 4 + len(rows).bit_length()
    spread = (keys.view(np.uint64) * _MULTIPLIER) >> np.uint64(64 - bits)
    marked = np.zeros(2**bits, dtype=np.bool_)
    marked[spread[rows]] = True
    some = np.flatnonzero(marked[spread])
    order, begins = group_by_key(keys[some])
    return some[order], begins


def equal_points(space: Space) -> tuple[Ints, Ints, Ints]:
    """Return one point per kind of equal points, the kind of each point, and each kind's size.

    Two points are of one kind exactly if they are equal.
    """
    of_codes = keys_of(list(zip(space.codes.T, space.sizes, strict=True)), len(space))
    order, begins = group_by_key(_hash_rows(of_codes, space.numbers))
    again = np.ones(len(order), dtype=np.bool_)
    again[begins] = False
    later = np.flatnonzero(again)
    one = order[later - 1]
    other = order[later]
    # Neighbours within a group must be equal; if two hashes collided, the exact keys decide.
    if not (
        np.array_equal(of_codes[one], of_codes[other])
        and np.array_equal(space.numbers[one], space.numbers[other])
    ):
        columns = [(of_codes, int(of_codes.max(initial=0)) + 1)]
        for column in space.numbers.T:
            values, codes = np.unique(column, return_inverse=True)
            columns.append((codes, len(values)))
        order, begins = group_by_key(keys_of(columns, len(space)))
    counts = np.diff(begins, append=len(order))
    kind = np.empty(len(order), dtype=np.int64)
    kind[order] = np.repeat(np.arange(len(begins)), counts)
    return order[begins], kind, counts


def _hash_rows(keys: Ints, numbers: Floats) -> Ints:
    """Return a hash per row: equal for equal rows, and almost never for others."""
    if not numbers.shape[1]:
        return keys
    mixed = keys.astype(np.uint64)
    for column in numbers.T:
        mixed *= _MULTIPLIER
        mixed ^= mixed >> np.uint64(32)
        mixed += (column + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return ((mixed * _MULTIPLIER) >> np.uint64(1)).view(np.int64)


# Nearest other records, searched by the number of categories that differ.
#
# Records that differ in h categories agree outside some set of h columns, so grouping by the other
# columns finds them all. A record is settled once its neighbours are no farther than any record
# that differs in one category more.

_CELLS = 2**15
"""Distances that a thread computes at once, few enough to stay in its cache."""
# A record with more candidates than the larger of these two is left to the search over all records.
_CANDIDATES = 2**10
_SHARE = 1 / 16
_KEPT = 2**23
"""Distances held, and distances merged at once: 64 MB."""
_GROUPING_PAYS = 30
"""Fewest open records for which grouping all records pays off."""
_GROUPED = 2**20
"""Records held at once over all groupings: about 50 MB."""


@dataclass(eq=False)
class _Open:
    """Points with some of their nearest others still unknown."""

    rows: Ints
    """(m,) Positions of the points."""
    nearest: Floats
    """(m, k) Distances of the nearest others found, ascending; infinite where fewer were found."""
    compared: Ints
    """(m,) Number of others compared with each point, or that it would have to be compared with."""

    def keep(self, which: Bools) -> None:
        """Keep these points and drop all others."""
        self.rows = self.rows[which]
        self.nearest = self.nearest[which]
        self.compared = self.compared[which]


@dataclass(frozen=True, eq=False)
class _OpenPoints:
    """Open points, each with the group of points that agree with it outside some columns."""

    order: Ints
    """(t,) Points, group by group; a point that stands for several records is repeated."""
    place: Ints
    """(q,) Position among the open points; those of one group are adjacent."""
    begin: Ints
    """(q,) Start of each point's group in `order`."""
    size: Ints
    """(q,) Size of the group."""
    at: Ints
    """(q,) Position of the point within its group."""
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
        """Yield first points and numbers of points, in blocks of groups of about equal size.

        A group with too many open points comes in parts.
        """
        place = np.arange(len(self.place))
        # A group's points are compared with the whole group: (count, size) distances per part.
        first = np.flatnonzero(np.diff(self.begin, prepend=-1))
        rank = place - np.repeat(first, np.diff(first, append=len(place)))
        first = np.flatnonzero(rank % np.maximum(1, _CELLS // np.maximum(self.size, 1)) == 0)
        count = np.diff(first, append=len(place))
        # One class per pair of powers of two: little of a padded block is wasted.
        high = np.ceil(np.log2(self.size[first])).astype(np.int64)
        wide = np.ceil(np.log2(count)).astype(np.int64)
        for kind in np.unique(high * 64 + wide):
            some = np.flatnonzero(high * 64 + wide == kind)
            step = max(1, _CELLS >> (int(kind) // 64 + int(kind) % 64))
            for begin in range(0, len(some), step):
                part = some[begin : begin + step]
                yield first[part], count[part]


def means_by_level(
    space: Space, weight: Ints, k: int, left: Ints, pool: Executor, unit: Ints | None = None
) -> tuple[Floats, Bools]:
    """Return mean distances to the k nearest of the queried points, and a mask of the exact ones.

    Parameters
    ----------
    space : Space
        Space of n points; distinct ones if there are no units.
    weight : ndarray of int, shape (n,)
        Number of records that each point stands for.
    k : int
        Number of neighbours, at least 1.
    left : ndarray of int, shape (m,)
        Queried points.
    pool : Executor
        Pool of threads.
    unit : ndarray of int, shape (n,), optional
        Unit of each point; points of a point's own unit do not count as others.
    """
    n, width = space.codes.shape
    scores = np.zeros(n)
    settled = np.zeros(n, dtype=np.bool_)
    # Without categories there is one group, without numbers counting is enough: other searches.
    if not width or not space.numbers.shape[1]:
        return scores[left], settled[left]
    search = _Search(space, np.minimum(weight, k + 1), pool, unit)
    # As many points at once as memory allows: comparing all pairs of two million takes hours.
    for rows in _cut(left, max(1, _KEPT // k)):
        found = _Open(rows, np.full((len(rows), k), np.inf), np.zeros(len(rows), np.int64))
        for h in range(width + 1):
            if h and len(found.rows) <= _GROUPING_PAYS * comb(width, h):
                break
            search.compare(h, found)
            found.keep(found.compared <= search.most)
            # All others within the last distance found have been compared.
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
        # One more point, infinitely far away, fills positions beyond the end of a group.
        self._columns = np.pad(space.numbers.T, ((0, 0), (0, 1)), constant_values=np.inf)
        self._codes = np.pad(self._keys.codes, ((0, 0), (0, 1)), constant_values=-1)
        self.most = max(_CANDIDATES, _SHARE * len(space))

    def compare(self, h: int, found: _Open) -> None:
        """Compare open points with those that differ in exactly h columns; merge the distances."""
        sets = combinations(range(len(self._keys.codes)), h)
        place = np.full(len(self._space), -1)
        place[found.rows] = np.arange(len(found.rows))
        # As many sets of columns at once as memory allows.
        at_once = min(_GROUPED // len(self._space), _KEPT // max(1, found.nearest.size))
        while some := list(islice(sets, max(1, at_once))):
            about = partial(self._asked, found.rows, place)
            parts = list(self._pool.map(about, range(len(some)), some))
            # The number of candidates is known before any distance: points with too many are
            # dropped first.
            for part in parts:
                found.compared[part.place] += part.size - 1
            # Points queried for several sets of columns, joined: the groups' starts move by the
            # lengths of the orders in front.
            shift = np.cumsum([0, *(len(part.order) for part in parts)])
            own, begin, size, at, which = (
                np.concatenate(column)
                for column in zip(*(part.columns for part in parts), strict=True)
            )
            asked = _OpenPoints(
                order=np.concatenate([part.order for part in parts]),
                place=own,
                begin=begin + shift[which],
                size=size,
                at=at,
                which=which,
            )
            asked = asked[found.compared[asked.place] <= self.most]
            measured = partial(self._measured, found, asked, np.array(some))
            blocks = list(self._pool.map(measured, asked.blocks()))
            # Blocks may yield fewer than k distances: those with equal numbers are merged together.
            for nearest in {block[2].shape[1] for block in blocks}:
                alike = [block for block in blocks if block[2].shape[1] == nearest]
                sets_of, at_of, away = (np.concatenate(x) for x in zip(*alike, strict=True))
                # Set by set: a point occurs at most once in each, as the assignment requires. Of
                # all distances found so far, the k nearest are kept.
                for one in np.unique(sets_of):
                    nearer = at_of[sets_of == one]
                    both = np.hstack([found.nearest[nearer], away[sets_of == one]])
                    both.sort(axis=1)
                    found.nearest[nearer] = both[:, : found.nearest.shape[1]]

    def _asked(self, rows: Ints, place: Ints, which: int, without: tuple[int, ...]) -> _OpenPoints:
        """Return the open points whose group has other points."""
        order, begins = grouped_with(self._keys.without(without), rows)
        place = place[order]
        at = np.arange(len(order))
        # A point that stands for several records takes as many positions, up to k + 1.
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
        """Return the open points with nearer others in a block, and their nearest distances."""
        first, count = block
        # Shapes: (g, s) for the others of g groups, (g, q) for their open points, padded to equal
        # lengths.
        step = np.arange(asked.size[first].max())
        turn = np.arange(count.max())
        inside = step < asked.size[first, None]
        other = np.full(inside.shape, len(self._space))
        other[inside] = asked.order[(asked.begin[first, None] + step)[inside]]
        one = np.minimum(first[:, None] + turn, len(asked.place) - 1)
        place = asked.place[one]
        real = turn < count[:, None]
        away = self._distances(sets[asked.which[first]], found.rows[place], other)
        # Level 0: a point's own position is in its group, and is no other.
        if not sets.shape[1]:
            # If a group comes in parts, the padded points may be another group's.
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


_BLOCK = 2**25
"""Approximate distances that a thread holds at once: 128 MB."""
_PAIRS = 2**20
"""Candidates measured at once."""
_WIDTH = 64
"""Records per block minimum in the search for candidates."""
_PASS = 100
"""Fewest open records for which a pass over the columns pays off."""


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of a queried point and a neighbour."""

    point: Ints
    """Position of the point among the queried points."""
    distance: Floats
    """Distance to the neighbour."""
    weight: Ints
    """Number of records that the neighbour stands for."""


def mean_distances(space: Space, k: int, unit: Ints | None = None) -> Floats:
    """Return the mean distance of each point to its k nearest others.

    Parameters
    ----------
    space : Space
        Space of n points; equal points are neighbours at distance 0.
    k : int
        Number of neighbours, in 1..n - 1.
    unit : ndarray of int, shape (n,), optional
        Unit of each point; points of its own unit do not count as others, and at least k others
        must be left.

    Returns
    -------
    ndarray, shape (n,)
    """
    from joblib import cpu_count

    n = len(space)
    points = space
    first = kind = np.arange(n)
    weight = np.ones(n, dtype=np.int64)
    # Distinct points with weights; with units equal points differ, and stay apart.
    if unit is None:
        first, kind, weight = equal_points(space)
        points = space[first]
    scores = np.zeros(len(points))
    # With more than k equal records, the k nearest are at distance 0.
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
    """Return scores of points with categories only, by counting others level by level.

    Summed over all sets S of h columns, the number of records that agree with a point outside S
    counts a record that differs in m columns C(F - m, h - m) times. So the sums for h = 0, 1, ...
    give the number of records that differ in exactly h columns, without comparing pairs.
    """
    width = space.codes.shape[1]
    keys = Keys(space)

    def outside(rows: Ints, without: tuple[int, ...]) -> Ints:
        order, begins = grouped_with(keys.without(without), rows)
        agree = np.zeros(len(weight), dtype=np.int64)
        sums = np.add.reduceat(weight[order], begins)
        agree[order] = np.repeat(sums, np.diff(begins, append=len(order)))
        return agree[rows]

    counts = [weight[left]]
    enough = counts[0] > k
    for h in range(1, width + 1):
        still = np.flatnonzero(~enough)
        if len(still) <= _PASS * comb(width, h):
            break
        nearer = sum(comb(width - m, h - m) * found[still] for m, found in enumerate(counts))
        counts.append(np.zeros_like(counts[0]))
        # Records that agree outside h columns, summed over all such sets.
        agreeing = partial(outside, left[still])
        for found in pool.map(agreeing, combinations(range(len(keys.codes)), h)):
            counts[h][still] += found
        counts[h][still] -= nearer
        enough = np.sum(counts, axis=0) > k
    others = np.column_stack(counts)
    # The point itself.
    others[:, 0] -= 1
    before = np.cumsum(others, axis=1) - others
    taken = np.clip(k - before, 0, others)
    return taken @ space.steps[: len(counts)] / k, enough


def _cut(rows: Ints, size: int) -> Iterator[Ints]:
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]


def _by_all(
    space: Space, weight: Ints, k: int, left: Ints, pool: Executor, unit: Ints | None = None
) -> Floats:
    """Return scores by comparing points with all others, block by block."""
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
        order = np.lexsort((pairs.distance, pairs.point))
        point = pairs.point[order]
        records = pairs.weight[order]
        total = np.concatenate([[0], np.cumsum(records)])
        # Records nearer than each neighbour; a neighbour counts with what is left of the k.
        before = total[:-1] - total[np.searchsorted(point, point)]
        taken = np.clip(k - before, 0, records)
        return np.bincount(point, taken * pairs.distance[order], minlength=len(rows)) / k

    return np.concatenate(list(pool.map(scored, blocks)))


def _candidates(
    space: Space, rough: Rough, weight: Ints, k: int, rows: Ints, own: tuple[Ints, ...]
) -> _Pairs:
    """Return all candidates for the k nearest of each point, and its own copies.

    `own` holds pairs of a position among `rows` and a point that does not count as another.
    """
    found = rough.distances(rows)
    found[own] = np.inf
    # (r, width, columns of blocks): a minimum over axis 1 covers `width` points.
    blocks = found.reshape(len(rows), rough.width, -1)
    least = blocks.min(axis=1)
    limit = np.full(len(rows), np.inf, dtype=np.float32)
    if least.shape[1] >= k:
        # k minima at most this large are k records: farther ones are not among the k nearest.
        limit = np.partition(least, k - 1, axis=1)[:, k - 1]
    parts = [_Pairs(np.arange(len(rows)), np.zeros(len(rows)), weight[rows] - 1)]
    if space.share == 0.0:
        # With categories only, distances are small whole numbers, exact, with thousands of ties:
        # one entry stands for the k neighbours at the limit, and only nearer ones are searched for.
        known = np.flatnonzero(np.isfinite(limit))
        at = space.steps[limit[known].astype(np.int64)]
        parts.append(_Pairs(known, at, np.full(len(known), k)))
        limit = limit - np.float32(0.5)
    else:
        # Limit and distance may both be off by the error.
        limit = limit + 2 * rough.error
    # The others within each point's limit, with exact distances.
    m = blocks.shape[2]
    hit, block = np.nonzero((least <= limit[:, None]) & np.isfinite(least))
    for some in _cut(np.arange(len(hit)), max(1, _PAIRS // rough.width)):
        values = blocks[hit[some], :, block[some]]
        which, place = np.nonzero((values <= limit[hit[some], None]) & np.isfinite(values))
        point = hit[some][which]
        # Position of entry (place, block) in the flat row of distances.
        other = place * m + block[some][which]
        parts.append(_Pairs(point, space.between(rows[point], other), weight[other]))
    return _Pairs(
        np.concatenate([part.point for part in parts]),
        np.concatenate([part.distance for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )
