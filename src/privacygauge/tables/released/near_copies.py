"""Near copies, one by one: a synthetic row far nearer to one person than people are to each other.

Where every value of a copy was moved a little, nothing of it is equal, and one such record is but
one at the top of a ranking. But a row that lies near one person in all columns, and near nobody
else, hardly ever comes about by chance. How near rows come by chance is shown by people among each
other, and by the synthetic rows with every column shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import poisson

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.tables.released.tables import (
    ReleasedTables,
    draw_rows,
    evenly,
)
from privacygauge.tables.table import Table

LIMIT = 5e-3
"""Near copies are beyond chance if this many rows as near, or fewer, are expected in all."""
_EACH = 0.02
"""Most rows expected to be as near as one that is named, where several are proof together."""
_PAIRS = 2 * 10**6
"""Most pairs of a person and a row that are compared."""
_ROWS = 20_000
"""Most synthetic rows that are compared."""
_PLACEBOS = 500
"""Most people, and most shuffled rows, that show what chance brings."""
_FEWEST = 60
"""Fewest people that show it."""
_FEWEST_COLUMNS = 4
"""Fewest columns of a table in which near copies are looked for."""
_TAIL = 0.2
"""Share of the placebos that the tail is fitted to."""
_FEWEST_IN_TAIL = 20
"""Fewest placebos that the tail is fitted to."""
_STANDARD_ERRORS = 2.0
"""Standard errors added to the mean of the tail."""
_CELLS = 2**16
"""Pairs compared at once: 256 KB a buffer."""
_CLOSEST = 0.005
"""Smallest share of the gap between two people's values that counts: equal numbers count like it,
since generators draw values of people again."""
_AROUND = 0.1
"""Numbers near one lie within this share of the distance from the 5% to the 95% quantile."""
_SPARSE = 0.1
"""A number is isolated if near it lie fewer people than this share of evenly spread ones."""
_FEWEST_ALIKE = 3
"""Fewest number columns that are said to hold one number."""
_EXAMINED = 300
"""Most rows that are compared with everybody, the most suspicious first."""


@dataclass(frozen=True, eq=False)
class NearCopies:
    """Records to which a synthetic row is nearer than chance brings rows to people."""

    real: Ints
    """Rows of the real table, the least likely first."""
    chance: Floats
    """Expected number of synthetic rows as near to anybody, by chance, for each of them."""
    made: Ints
    """Synthetic rows that are these copies, ascending."""
    holdout: Ints
    """Rows of the holdout to which a synthetic row is as near: the generator saw these too."""


def near_copies(
    released: ReleasedTables, rows: Ints, rng: np.random.Generator
) -> NearCopies | None:
    """Find records to which a synthetic row is nearer than chance explains; None if there are none.

    Parameters
    ----------
    released : ReleasedTables
        The release as given; a holdout is not needed.
    rows : ndarray of int
        Synthetic rows to look at, such as those that equal nobody.
    rng : numpy.random.Generator
        Draws the people and rows that are compared.

    Notes
    -----
    The nearness of a row to a person is the sum over columns of -log(share of people whose value
    lies from one to the other). The score of a row is the sum of two numbers: how much nearer its
    nearest person is than the next person; and this nearness without what extreme values have in
    common. Whoever is extreme in one column often is in others, so of all columns only the most
    extreme value counts as such; in the others a value counts for how near it is to the person's
    among the values at that end. Where nobody's value is between, the distance counts as a share of
    the gap to the next person's value. Whoever is of a rare kind agrees with others of it in many
    columns at once: of the columns in which both hold one and the same number (`alike_numbers`),
    equal numbers far from all others, or numbers in a gap in the middle, the nearest counts. The
    tail of the score is taken to be exponential, as that of
    a sum of logarithms of uniform numbers nearly is, and fitted to people among others and to
    shuffled rows; the heavier tail counts. With j rows at a score that e rows are expected to reach
    by chance, all j count if the Poisson probability of j or more is at most `LIMIT` / 2**(j - 1),
    divided by the number of views: the table, and with the days between dates.
    """
    views = [released]
    moved = released.between_dates
    if moved is not None:
        views.append(moved)
    owner = np.concatenate(released.units)
    found: dict[int, tuple[float, int]] = {}
    for view in views:
        if len(view.schema.columns) < _FEWEST_COLUMNS:
            continue
        for row, person, chance in _of_view(view, rows, owner, n_views=len(views), rng=rng):
            if person not in found or chance < found[person][0]:
                found[person] = (chance, row)
    if not found:
        return None
    n = len(released.real)
    real = sorted((one for one in found if one < n), key=lambda one: found[one][0])
    return NearCopies(
        real=np.array(real, np.int64),
        chance=np.array([found[one][0] for one in real]),
        made=np.unique(np.array([found[one][1] for one in real], np.int64)),
        holdout=np.array(sorted(one - n for one in found if one >= n), np.int64),
    )


def alike_numbers(values: Floats, numbers: Sequence[bool]) -> Bools:
    """Return (k, F) the columns of records in which most numbers are one and the same.

    Such are the records of a channel that reads 0, or of one who gives the same answer to all
    questions: that two of them agree in many columns says no more than that they do in one.
    """
    found = np.zeros(values.shape, bool)
    columns = np.flatnonzero(numbers)
    if len(columns) < _FEWEST_ALIKE:
        return found
    # More than half of the sorted numbers are equal only if the middle one is among them.
    own = np.where(np.isnan(values[:, columns]), np.inf, values[:, columns])
    usual = np.sort(own, axis=1)[:, len(columns) // 2]
    equal = own == usual[:, None]
    found[:, columns] = equal & (2 * equal.sum(axis=1) > len(columns))[:, None]
    return found


def is_isolated(ordered: Floats, values: Floats, *, inside: bool = False) -> Bools:
    """Return whether few of some numbers are near these values.

    Parameters
    ----------
    ordered : ndarray
        Numbers, ascending, none missing.
    values : ndarray
        Values to look at; missing ones are not isolated.
    inside : bool
        Whether there must be smaller and larger numbers too, more than a few.
    """
    if not len(ordered):
        return np.zeros(len(values), bool)
    low, high = np.quantile(ordered, [0.05, 0.95])
    reach = _AROUND * (high - low)
    first = np.searchsorted(ordered, values - reach, side="left")
    last = np.searchsorted(ordered, values + reach, side="right")
    few = _SPARSE * 2 * _AROUND * len(ordered)
    found: Bools = ~np.isnan(values) & (last - first < few)
    if inside:
        found &= (first > few) & (len(ordered) - last > few)
    return found


def _of_view(
    view: ReleasedTables, rows: Ints, owner: Ints, *, n_views: int, rng: np.random.Generator
) -> list[tuple[int, int, float]]:
    """Return rows, their nearest people, and the expected number of such rows by chance."""
    everyone = view.everyone
    if len(everyone) < _FEWEST or not len(rows):
        return []
    people = _People(everyone, owner)
    made = view.synthetic.values
    rows = evenly(rows, _ROWS)
    asked = people.asked(len(rows), rng)
    placebos = draw_rows(len(everyone), _PLACEBOS, rng)
    shuffled = rng.permuted(made[evenly(np.arange(len(made)), _PLACEBOS)], axis=0)
    score, person = people.score(made[rows], asked)
    of_people, _ = people.score(everyone.values[placebos], asked, placebos)
    of_shuffled, _ = people.score(shuffled, asked)
    tails = [_Tail.of(of_people), _Tail.of(of_shuffled)]
    usual = float(of_people.max())
    # Rows are compared with all people now: the score falls where one who was not asked is near.
    order = np.argsort(-score, kind="stable")[:_EXAMINED]
    order = order[score[order] > usual]
    if not len(order):
        return []
    every, nearest = people.score(made[rows[order]], np.arange(len(everyone)))
    kept = (nearest == person[order]) & (every > usual)
    order = order[kept]
    again = np.minimum(every[kept], score[order])
    best = np.argsort(-again, kind="stable")
    # A person counts once.
    best = best[np.sort(np.unique(owner[person[order[best]]], return_index=True)[1])]
    chance = len(rows) * np.max([tail.beyond(again[best]) for tail in tails], axis=0)
    j = np.arange(1, len(best) + 1)
    limit = LIMIT / n_views / 2.0 ** (j - 1)
    shown = np.flatnonzero((poisson.sf(j - 1, chance) <= limit) & (chance <= _EACH))
    if not len(shown):
        return []
    copies = order[best[: shown[-1] + 1]]
    return list(zip(rows[copies].tolist(), person[copies].tolist(), chance.tolist(), strict=False))


@dataclass(frozen=True)
class _Tail:
    """An exponential distribution of the values above a threshold."""

    threshold: float
    share: float
    scale: float

    @classmethod
    def of(cls, values: Floats) -> _Tail:
        """Fit the mean excess of the highest values, and add standard errors."""
        ordered = np.sort(values)[::-1]
        k = min(max(_FEWEST_IN_TAIL, round(_TAIL * len(values))), len(values) - 1)
        excess = ordered[:k] - ordered[k]
        scale = float(excess.mean()) * (1 + _STANDARD_ERRORS / np.sqrt(k))
        # No scale is below that of one column.
        return cls(float(ordered[k]), k / len(values), max(scale, 1.0))

    def beyond(self, values: Floats) -> Floats:
        """Return the probability of exceeding values above the threshold."""
        return self.share * np.exp(-np.maximum(values - self.threshold, 0.0) / self.scale)


class _People:
    """People, and how near records are to them in the values of all people."""

    def __init__(self, table: Table, owner: Ints) -> None:
        self.values = table.values
        self.owner = owner
        self.n = len(table)
        self.numbers = [column.is_number for column in table.schema.columns]
        # Entry w: -log of the share of people between two values, both included; 0 for none.
        self.worth = np.log(self.n / np.maximum(np.arange(self.n + 2), 1))
        self.worth[0] = 0.0
        self.worth = np.maximum(self.worth, 0.0)
        self.ordered = [np.sort(column) for column in self.values.T]
        self.known = [column[~np.isnan(column)] for column in self.ordered]
        self.distinct = [np.unique(column) for column in self.known]

    def asked(self, n_rows: int, rng: np.random.Generator) -> Ints:
        """Return the people that are compared: all, or the rarest and others at random."""
        most = max(100, _PAIRS // (n_rows + 2 * _PLACEBOS))
        if self.n <= most:
            return np.arange(self.n)
        rarity = np.zeros(self.n)
        for column, ordered, is_number in zip(
            self.values.T, self.ordered, self.numbers, strict=True
        ):
            first, last = (np.searchsorted(ordered, column, side=x) for x in ("left", "right"))
            # A number is as rare as the numbers beyond it at the nearer end.
            count = np.minimum(last, self.n - first) if is_number else last - first
            rarity += self.worth[count]
        rarest = np.argsort(-rarity, kind="stable")[: most // 2]
        return np.union1d(rarest, draw_rows(self.n, most - len(rarest), rng))

    def score(self, rows: Floats, asked: Ints, own: Ints | None = None) -> tuple[Floats, Ints]:
        """Return the score of each row, and its nearest person.

        `own` are the rows' people, who are not their own nearest.
        """
        less = 0 if own is None else 1
        nearest, following, margin = self._nearest(rows, asked, own)
        near, tail = self._by_column(rows, nearest, less)
        common = self._of_a_kind(rows, nearest)
        # Of the columns in which the row and the person are rare, one counts.
        apart = np.where(common, near, tail).max(axis=1, initial=0.0)
        free = np.where(common, 0.0, near - tail).sum(axis=1)
        second, _ = self._by_column(rows, following, less)
        also = self._of_a_kind(rows, following)
        first, second = (
            np.where(mask, 0.0, one).sum(axis=1) + np.where(mask, one, 0.0).max(axis=1, initial=0.0)
            for mask, one in ((common, near), (also, second))
        )
        margin = np.where(common.any(axis=1), np.clip(first - second, 0.0, margin), margin)
        return margin + free + apart, nearest

    def _of_a_kind(self, rows: Floats, people: Ints) -> Bools:
        """Return (k, F) the columns whose values both may have since they are of one rare kind."""
        theirs = self.values[people]
        found = alike_numbers(rows, self.numbers) & alike_numbers(theirs, self.numbers)
        found &= (rows == theirs) | (np.isnan(rows) & np.isnan(theirs))
        for j, is_number in enumerate(self.numbers):
            if is_number:
                known = self.known[j]
                x = theirs[:, j]
                y = rows[:, j]
                found[:, j] |= is_isolated(known, x) & (x == y)
                found[:, j] |= np.logical_and(*(is_isolated(known, z, inside=True) for z in (x, y)))
        return found

    def _nearest(self, rows: Floats, asked: Ints, own: Ints | None) -> tuple[Ints, Ints, Floats]:
        """Return the two nearest people of each row, and by how much the second is less near."""
        worth = self.worth.astype(np.float32)
        less = 0 if own is None else 1
        theirs = self.owner[asked]
        nearest, following = np.zeros((2, len(rows)), np.int64)
        margin = np.zeros(len(rows))
        places = []
        for ordered, x, y in zip(self.ordered, self.values[asked].T, rows.T, strict=True):
            ends = [
                np.searchsorted(ordered, value, side=side).astype(np.int32)
                for value in (x, y)
                for side in ("left", "right")
            ]
            no_x = np.isnan(x)
            no_y = np.isnan(y)
            places.append((ends, x, y, no_x, no_y, bool(no_x.any() or no_y.any())))
        step = max(1, _CELLS // len(asked))
        for begin in range(0, len(rows), step):
            block = slice(begin, begin + step)
            near = np.zeros((len(rows[block]), len(asked)), np.float32)
            wide, lower = np.empty((2, *near.shape), np.int32)
            weight = np.empty_like(near)
            for is_number, (ends, x, y, no_x, no_y, gaps) in zip(self.numbers, places, strict=True):
                first, last, of_row, last_of_row = ends
                if not is_number:
                    near += (x == y[block, None]) * worth[np.maximum(last - first - less, 1)]
                    continue
                np.maximum(last - less, last_of_row[block, None] - less, out=wide)
                wide -= np.minimum(first, of_row[block, None], out=lower)
                if gaps:
                    wide[no_x != no_y[block, None]] = 0
                near += worth.take(wide, mode="clip", out=weight)
            if own is not None:
                near[theirs == self.owner[own[block]][:, None]] = -1.0
            best = near.argmax(axis=1)
            most = near[np.arange(len(best)), best]
            near[theirs == theirs[best][:, None]] = 0.0
            nearest[block] = asked[best]
            second = near.argmax(axis=1)
            following[block] = asked[second]
            margin[block] = most - near[np.arange(len(second)), second]
        return nearest, following, margin

    def _by_column(self, rows: Floats, people: Ints, less: int) -> tuple[Floats, Floats]:
        """Return (k, F) how near rows are to people, and the part that extreme values explain."""
        found, extreme = np.zeros((2, *rows.shape))
        for j, is_number in enumerate(self.numbers):
            x = self.values[people, j]
            y = rows[:, j]
            low = np.minimum(x, y)
            high = np.maximum(x, y)
            first = np.searchsorted(self.ordered[j], low, side="left")
            last = np.searchsorted(self.ordered[j], high, side="right")
            count = np.maximum(last - first - less, 1)
            if not is_number:
                found[:, j] = np.where(x == y, self.worth[count], 0.0)
                continue
            missing = np.isnan(x) & np.isnan(y)
            there = ~np.isnan(low)
            closer = np.where(there & (count == 1), self._closeness(j, x, y), 1.0)
            near = np.where(there | missing, self.worth[count] - np.log(closer), 0.0)
            n_known = len(self.known[j])
            beyond = np.minimum(last, n_known - first) - less
            tail = np.where(there, self.worth[np.clip(beyond, 1, self.n)], 0.0)
            found[:, j] = near
            extreme[:, j] = np.minimum(tail, near)
        return found, extreme

    def _closeness(self, j: int, x: Floats, y: Floats) -> Floats:
        """Return the distance of two values as a share of the gap to the next person's value."""
        distinct = np.concatenate([[-np.inf], self.distinct[j], [np.inf]])
        high = np.maximum(x, y)
        low = np.minimum(x, y)
        above = distinct[np.searchsorted(distinct[:-1], high, side="right")] - x
        below = x - distinct[np.searchsorted(distinct[1:], low, side="left")]
        gap = np.where(y > x, above, np.where(y < x, below, np.minimum(above, below)))
        # Beyond all others there is no gap on this side.
        gap = np.where(np.isfinite(gap), gap, np.minimum(above, below))
        steps = np.diff(self.distinct[j])
        half = 0.5 * float(steps.min()) if len(steps) else 0.0
        away = np.abs(y - x)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(np.isfinite(gap) & (gap > 0), (away + half) / (gap + half), 1.0)
        return np.clip(share, _CLOSEST, 1.0)
