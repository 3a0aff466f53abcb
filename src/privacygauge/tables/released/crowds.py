"""Synthetic rows that crowd around one real person.

One record that a generator repeats with noise moves no average and is but one record at the top of
a ranking, so that neither says anything. But the middle of such rows is far nearer to that person
than to anybody else, as near as the middle of so many is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.tail import ParetoTail
from privacygauge.tables.released.shared_rare_values import nearest_of_each
from privacygauge.tables.released.tables import ReleasedTables, draw_rows, stack_tables
from privacygauge.tables.released.unlikely import NEGLIGIBLE
from privacygauge.tables.table import Table

_ROWS = 300
"""Most synthetic rows of which the nearest person is looked for."""
_PEOPLE = 1_000
"""Most people among whom it is looked for."""
_CROWD = 0.03
"""Smallest share of the synthetic rows with the same nearest person that are a crowd."""
_FEWEST = 8
"""Fewest rows of a crowd."""
_CROWDS = 5
"""Most crowds that are examined, the largest first."""
_STEPS = 10
"""Most steps to the middle of a crowd."""
_PLACEBOS = 1_000
"""Most people among others whose margins show what is usual."""


@dataclass(frozen=True)
class Crowd:
    """Synthetic rows around one real record, beyond chance."""

    row: int
    """Row in the real table."""
    margin: float
    """How much nearer the middle of the rows is to this record than to any other, as a sum over
    the columns of -log(share of people between) / log(number of people)."""
    usual: float
    """The largest such margin of people among each other."""
    chance: float
    """Expected number of crowds with such a margin by chance."""
    rows: Estimate
    """Share of the synthetic rows that are in the crowd."""


def crowds(released: ReleasedTables, rng: np.random.Generator, level: float) -> tuple[Crowd, ...]:
    """Return the real records that synthetic rows crowd around, the largest crowd first.

    Parameters
    ----------
    released : ReleasedTables
        Release as given; a holdout is not needed.
    rng : numpy.random.Generator
        Draws the rows and the people that are compared.
    level : float
        Level recorded in the estimates; the shares themselves are counted.

    Notes
    -----
    A crowd has a middle wherever a generator makes many rows, and somebody is nearest to it. The
    middle is found by the synthetic rows alone: the median of the half of them that are nearest to
    it (mean shift), so that by chance it lies among people as another person does. What counts is
    the margin by which the nearest person is nearer than the second nearest. How large it is for
    people among each other, twins included, and for rows outside the crowds is the placebo, whose
    tail is extrapolated (`ParetoTail`).
    """
    made = released.synthetic
    people = released.real
    owner = released.units[0]
    if released.holdout is not None:
        people = stack_tables(people, released.holdout)
        owner = np.concatenate(released.units)
    some = draw_rows(len(made), _ROWS, rng)
    asked = draw_rows(len(people), _PEOPLE, rng)
    _, nearest = nearest_of_each(made[some], (people[asked],))
    size = np.bincount(nearest[0], minlength=len(asked))
    largest = np.argsort(-size, kind="stable")[:_CROWDS]
    largest = largest[size[largest] >= max(_FEWEST, _CROWD * len(some))]
    if not len(largest):
        return ()
    of_people = _Nearness(people)
    of_made = _Nearness(made)
    # People among all others, and rows outside the crowds.
    margins = []
    for row in draw_rows(len(people), _PLACEBOS, rng).tolist():
        to_others = of_people.to(people.values[row])
        to_others[owner == owner[row]] = -np.inf
        margins.append(_margin(to_others, owner)[1])
    apart = made[some[~np.isin(nearest[0], largest)]]
    margins += [_margin(of_people.to(row), owner)[1] for row in apart.values]
    usual = np.array(margins)
    tail = ParetoTail.of(usual)
    found: dict[int, Crowd] = {}
    for place in largest.tolist() if tail is not None else ():
        rows = some[nearest[0] == place]
        # The median of the densest half of the rows, found by the synthetic rows alone.
        k = max(_FEWEST // 2, len(rows) // 2)
        middle = _median(made[rows], of_made.numbers)
        for _ in range(_STEPS):
            near = np.argsort(-of_made.to(middle), kind="stable")[:k]
            before = middle
            middle = _median(made[near], of_made.numbers)
            if np.array_equal(before, middle, equal_nan=True):
                break
        row, margin = _margin(of_people.to(middle), owner)
        assert tail is not None  # or there are no places
        chance = _CROWDS * tail.beyond(margin)
        if row >= len(released.real) or margin <= usual.max() or chance > NEGLIGIBLE:
            continue
        share = len(rows) / len(some)
        rows_around = Estimate(
            value=share,
            low=share,
            high=share,
            level=level,
            n=len(some),
            method="rows around one record, counted",
        )
        crowd = Crowd(row, margin, usual=float(usual.max()), chance=chance, rows=rows_around)
        found.setdefault(row, crowd)
    return tuple(found.values())


class _Nearness:
    """How near records of a table are to a point, in the values of this table."""

    def __init__(self, table: Table) -> None:
        self.numbers = [column.is_number for column in table.schema.columns]
        self._columns = table.values.T
        self._sorted = [np.sort(column) for column in self._columns]
        n = len(table)
        # Values from one to another, both included, to their weight: 1 for one, 0 for all.
        self._worth = np.append(0.0, 1 - np.log(np.arange(1, n + 1)) / np.log(n))
        self._first, self._last = (
            [
                np.searchsorted(ordered, column, side=side)
                for ordered, column in zip(self._sorted, self._columns, strict=True)
            ]
            for side in ("left", "right")
        )

    def to(self, point: Floats) -> Floats:
        """Return (n,) the weight of near values of each record and the point, over all columns."""
        found = np.zeros(len(self._columns[0]))
        for j, value in enumerate(point):
            ordered = self._sorted[j]
            first, last = (np.searchsorted(ordered, value, side=x) for x in ("left", "right"))
            wide = np.maximum(self._last[j], last) - np.minimum(self._first[j], first)
            missing = np.isnan(self._columns[j])
            alike = missing == np.isnan(value) if self.numbers[j] else self._columns[j] == value
            found += np.where(alike, self._worth[wide], 0.0)
        return found


def _median(table: Table, numbers: list[bool]) -> Floats:
    """Return the median of each number, and the most frequent of each category."""
    found = []
    for column, is_number in zip(table.values.T, numbers, strict=True):
        if is_number and not np.isnan(column).all():
            found.append(np.nanmedian(column))
        else:
            values, count = np.unique(column, return_counts=True)
            found.append(values[count.argmax()])
    return np.array(found)


def _margin(nearness: Floats, owner: Ints) -> tuple[int, float]:
    """Return the nearest record, and how much nearer it is than the next person's."""
    row = int(nearness.argmax())
    others = nearness[owner != owner[row]]
    return row, float(nearness[row] - others.max(initial=0.0))
