"""People of the real table who are in the holdout again, such as the same people a year later.

Their birthdays, towns and first days at work are the same on both sides, and their salaries are
not, so that few of their records are equal. Left in the holdout, real people would be what real
people are compared with, and copies of them would look like chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.units import number_units
from privacygauge.tables.released.copies import release_of_rows
from privacygauge.tables.released.people import FEWEST_PEOPLE
from privacygauge.tables.released.tables import ReleasedTables, number_equal_records, stack_tables

_COLUMNS = 16
"""Most columns that may tell who returns: those with the most distinct values."""
_FEWEST = 20
"""Fewest pairs of rows that give evidence."""
_SURE = 1e-6
"""Largest p-value at which pairs that lie across the sides are not chance."""
_ACROSS = 0.9
"""Smallest share of the pairs across the sides that pairs within the sides do not explain."""
_KEPT = 0.8
"""Smallest strength of the evidence, as a share of the strongest, after a further column."""
_TOGETHER_MORE = 5.0
"""Smallest ratio of agreeing pairs to those expected if the columns were independent."""
_IN_TURN = 0.75
"""Share of neighbouring rows that are on different sides above which the rows of a sorted file were
dealt out in turn."""
_FEWER = 2
"""Most columns in which a record of somebody who returns may have changed, of those that stay."""

Keys = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Returning:
    """People of the real table who are in the holdout again."""

    n_holdout: int
    """Number of records in the holdout as given."""
    shared: int
    """Number of them that are records of real people."""
    columns: tuple[str, ...]
    """Columns that tell who they are: hardly anybody agrees with anybody else in most of them."""
    usable: bool
    """True where enough other people are left for a control."""


def without_returning(released: ReleasedTables) -> tuple[ReleasedTables, Returning | None]:
    """Return a release whose holdout has nobody of the real table, and who was left out.

    The holdout is dropped if too few are left; nobody is left out if chance explains who agrees.
    """
    found = _returning_rows(released)
    if found is None:
        return released, None
    again, columns = found
    others = np.flatnonzero(~again)
    of_holdout = released.units[1]
    usable = len(np.unique(of_holdout[others])) >= FEWEST_PEOPLE
    returning = Returning(
        n_holdout=len(again), shared=int(again.sum()), columns=columns, usable=usable
    )
    everyone = np.arange(len(released.real))
    return release_of_rows(released, everyone, others if usable else None), returning


def _returning_rows(released: ReleasedTables) -> tuple[Bools, tuple[str, ...]] | None:
    """Return (m,) which holdout rows are real people's, and by which columns.

    Notes
    -----
    Of two people who agree in some columns, one is in the real table and one in the holdout as
    often as people are dealt out that way: so the real table, and the holdout, show by themselves
    how often people agree by chance. Columns are added greedily as long as pairs across the sides,
    in excess of what pairs within the sides explain, grow relative to their standard error: a
    column that stays as it is keeps the pairs of one person and removes those of strangers.
    Pairs of equal records are not counted. Somebody may have dropped repeated rows from each table,
    and whole records on both sides are an overlap, see `without_overlap`. People return where, in
    two columns or more, 20 pairs across the sides or more are beyond chance (binomial, over groups
    of two people) and strangers explain a tenth of them at most. Then a row of the holdout is a
    real person's if it agrees with a real row in all of these columns but two, if strangers are as
    rare without them.

    Every second row of a sorted file agrees with its neighbours in the column that the file was
    sorted by. There rows that agree with nobody alternate between the sides too, and nobody
    returns.
    """
    if released.holdout is None:
        return None
    n = len(released.real)
    m = len(released.holdout)
    everyone = stack_tables(released.real, released.holdout)
    person = number_units(np.concatenate(released.units))
    side = np.arange(n + m) < n
    (record,) = number_equal_records((everyone,))
    rng = np.random.default_rng(0)
    # A missing value equals a missing one.
    codes_of = [np.unique(column, return_inverse=True)[1] for column in everyone.values.T]
    most = sorted(range(len(codes_of)), key=lambda j: -int(codes_of[j].max()))[:_COLUMNS]
    columns = {j: codes_of[j] for j in most if codes_of[j].max() > 0}
    numbers: dict[int, Keys] = {}
    agree: dict[int, float] = {}
    for j, codes in columns.items():
        count = np.bincount(codes)
        agree[j] = float(np.square(count / len(codes)).sum())
        numbers[j] = rng.integers(2**64, size=len(count), dtype=np.uint64)[codes]
    pairs = _Pairs(person, record, side)
    chosen = pairs.telling(numbers)
    if len(chosen) < 2:
        return None
    key = _sum(numbers, chosen)
    across, within = pairs.of_two(key)
    n_pairs = n * m * float(np.prod([agree[j] for j in chosen]))
    if not pairs.is_sure(across, within) or across < _TOGETHER_MORE * n_pairs:
        return None
    again = np.zeros(n + m, np.bool_)
    for fewer in range(min(_FEWER, len(chosen) - 2) + 1):
        for left_out in combinations(chosen, fewer):
            key = _sum(numbers, [j for j in chosen if j not in left_out])
            if pairs.is_sure(*pairs.of_two(key)):
                again |= pairs.is_met(key)
    if any(is_dealt_in_turn(everyone.values[~again, j], side[~again]) for j in chosen):
        return None
    return again[n:], tuple(everyone.schema.names[j] for j in sorted(chosen))


def _sum(numbers: dict[int, Keys], columns: Sequence[int]) -> Keys:
    """Return keys that are equal where rows agree in all of these columns."""
    total = np.zeros(len(next(iter(numbers.values()))), np.uint64)
    for j in columns:
        total = total + numbers[j]  # unsigned: wraps around modulo 2^64
    return total


class _Pairs:
    """Rows of both sides, and how often two of them agree across the sides and within them."""

    def __init__(self, person: Ints, record: Ints, side: Bools) -> None:
        self.person = person
        self.side = side
        # One of each person's equal records: what a person repeats is no evidence.
        _, self.rows = np.unique(np.column_stack([person, record, side]), axis=0, return_index=True)
        self.record = record
        n = len(np.unique(person[side]))
        m = len(np.unique(person[~side]))
        # Pairs of two people across the sides, to those within them.
        self.ratio = 2 * n * m / max(n * (n - 1) + m * (m - 1), 1)

    def telling(self, numbers: dict[int, Keys]) -> list[int]:
        """Return the columns whose agreement tells best who is on both sides."""
        chosen: list[int] = []
        # Rows that agree with nobody never will again.
        rows = self.rows
        key = np.zeros(len(rows), np.uint64)
        reached = 0.0
        while len(chosen) < len(numbers):
            strength = {
                j: self._strength(key + of_column[rows], rows)
                for j, of_column in numbers.items()
                if j not in chosen
            }
            best = max(strength, key=lambda j: strength[j])
            # A column that takes little away tells people from each other all the same.
            if strength[best] < _KEPT * reached or strength[best] <= 0:
                break
            reached = max(reached, strength[best])
            chosen.append(best)
            key = key + numbers[best][rows]
            _, group, count = np.unique(key, return_inverse=True, return_counts=True)
            shared = count[group] > 1
            rows = rows[shared]
            key = key[shared]
        return chosen

    def _strength(self, key: Keys, rows: Ints) -> float:
        """Return the excess of pairs across the sides, in standard errors of Poisson counts."""
        if not len(rows):
            return 0.0
        group = np.unique(key, return_inverse=True)[1]
        equal = np.unique(np.column_stack([group, self.record[rows]]), axis=0, return_inverse=True)[
            1
        ].ravel()
        across = 0.0
        within = 0.0
        for sign, parts in ((1, group), (-1, equal)):
            real = np.bincount(parts[self.side[rows]], minlength=int(parts.max()) + 1)
            other = np.bincount(parts, minlength=len(real)) - real
            across += sign * float((real * other).sum())
            within += sign * float((real * (real - 1) + other * (other - 1)).sum()) / 2
        return float((across - within * self.ratio) / np.sqrt(max(across + within, 1.0)))

    def of_two(self, key: Keys) -> tuple[int, int]:
        """Return the number of groups of two people across the sides, and within a side.

        Groups of equal records do not count.
        """
        key = key[self.rows]
        order = np.argsort(key, kind="stable")
        rows = self.rows[order]
        starts = np.flatnonzero(np.concatenate([[True], np.diff(key[order]) != 0]))
        sizes = np.diff(np.concatenate([starts, [len(rows)]]))
        first = rows[starts[sizes == 2]]
        second = rows[starts[sizes == 2] + 1]
        differ = (self.record[first] != self.record[second]) & (
            (self.person[first] != self.person[second]) | (self.side[first] != self.side[second])
        )
        apart = self.side[first] != self.side[second]
        return int((differ & apart).sum()), int((differ & ~apart).sum())

    def is_sure(self, across: int, within: int) -> bool:
        """Return whether so many groups across the sides are no chance, and hardly any is one."""
        by_chance = self.ratio / (1 + self.ratio)
        return (
            across >= _FEWEST
            and across - within * self.ratio >= _ACROSS * across
            and float(binom.sf(across - 1, across + within, by_chance)) < _SURE
        )

    def is_met(self, key: Keys) -> Bools:
        """Return (n + m,) where a row agrees with one of the other side."""
        real = np.unique(key[self.side])
        other = np.unique(key[~self.side])
        return np.where(self.side, np.isin(key, other), np.isin(key, real))


def is_dealt_in_turn(values: Floats, side: Bools) -> bool:
    """Return whether rows in the order of a column alternate between the sides."""
    # Rows of equal values have no order.
    _, first, count = np.unique(values, return_index=True, return_counts=True)
    of_row = side[first[count == 1]]
    if len(of_row) < _FEWEST:
        return False
    apart = float((of_row[1:] != of_row[:-1]).mean())
    # As often as sides alternate at random, and half of the way to always.
    share = float(of_row.mean())
    return apart > _IN_TURN and apart > share * (1 - share) + 0.5
