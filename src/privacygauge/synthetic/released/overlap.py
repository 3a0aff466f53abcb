"""Records on both sides: real records in the holdout, and copies of unique records.

People who share all values with somebody else occur in the real table, the holdout and a synthetic
table alike, without any error. The real table itself shows how often that happens: by the share of
its records that equal another one in it. An excess beyond that share is an overlap, or a copy;
without the records of an overlap the holdout is a control.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.equal_rows import WAY_OUT, Equal, repeated_rows, said_of_units
from privacygauge.errors import InputError
from privacygauge.evaluate.excess import excess
from privacygauge.synthetic.released.several_rows import constant_columns, rows_of_people
from privacygauge.synthetic.released.tables import (
    FEWEST,
    ReleasedTables,
    draw_rows,
    number_equal_records,
    occurs,
    stack_tables,
)
from privacygauge.synthetic.table import Table


@dataclass(frozen=True, eq=False)
class SharedRecords:
    """Records that occur a second time, equal in every column."""

    real: Bools
    """(n,) Real records that equal another real one, of another person."""
    holdout: Bools
    """(m,) Holdout records that equal a real one."""


@dataclass(frozen=True, eq=False)
class LoneCopies:
    """Copies of real records that equal no other, and the copies that chance would make."""

    copied: Bools
    """(u,) True where a record is in the synthetic table, or in n rows of it where it has more."""
    by_chance: Bools
    """Comparison for `copied`, whichever is copied most: the real records that equal another one,
    (n,), the records (u,) that occur among the synthetic rows once every column is shuffled, or the
    holdout records that are copied, (m,)."""
    rows: Bools
    """(s,) True where a synthetic row equals one of these records."""
    row_kind: Ints
    """(s,) Number shared by equal synthetic rows, which are one piece of evidence."""
    rows_by_chance: Bools
    """Comparison for `rows`, whichever is larger: the real records that equal another one, (n,),
    the synthetic rows (s,) that would equal one of these records once every column is shuffled, or
    those that equal a holdout record, scaled to the number of real ones."""


def find_shared_records(released: ReleasedTables) -> SharedRecords:
    """Find the real and the holdout records that occur again among the real ones."""
    real = _twins(released.real, released.units[0])
    if released.holdout is None:
        return SharedRecords(real, np.zeros(0, np.bool_))
    return SharedRecords(real, occurs(released.holdout, released.real))


def release_of_rows(released: ReleasedTables, real: Ints, holdout: Ints | None) -> ReleasedTables:
    """Return a release with some of the real and holdout records, and their people."""
    of_real, of_holdout = released.units
    kept = None if holdout is None or released.holdout is None else released.holdout[holdout]
    return replace(
        released,
        real=released.real[real],
        holdout=kept,
        unit=of_real[real],
        holdout_unit=None if kept is None else of_holdout[holdout],
        people_named=False,
        texts=tuple(column.rows(real, holdout) for column in released.texts),
    )


def lone_copies(
    released: ReleasedTables, twins: Bools, rng: np.random.Generator, others: Table | None = None
) -> LoneCopies:
    """Find copies of unique real records, and the number that chance would copy.

    Parameters
    ----------
    released : ReleasedTables
        Its holdout is ignored.
    twins : ndarray of bool, shape (n,)
        The real records that equal another real one, from `find_shared_records`.
    rng : numpy.random.Generator
        Draws as many synthetic rows as there are real records, and shuffles them.
    others : Table, optional
        Holdout records, without an overlap: how often they are copied is chance too.

    Notes
    -----
    Had the synthetic rows been drawn from the population, each record that occurs once would be
    met again no more often than records of the real table meet each other: those that occur once
    are the rarer ones. Nor would it by a generator that knows the columns one by one.
    """
    n = len(released.real)
    alone = released.real[np.flatnonzero(~twins)]
    made = released.synthetic[draw_rows(len(released.synthetic), n, rng)]
    mixed = Table(made.schema, rng.permuted(made.values, axis=0))
    chances = [twins]
    if len(alone):
        chances.append(occurs(alone, mixed))
    if others is not None:
        chances.append(occurs(others, made))
    every = released.synthetic
    rows = np.zeros(len(every), np.bool_)
    of_mixed = twins
    if len(alone):
        rows = occurs(every, alone)
        of_mixed = occurs(Table(every.schema, rng.permuted(every.values, axis=0)), alone)
    by_chance = [twins, of_mixed]
    if others is not None:
        met = int(occurs(every, others).sum()) * n / len(others)
        by_chance.append(np.arange(len(every)) < round(met))
    return LoneCopies(
        copied=occurs(alone, made),
        by_chance=max(chances, key=np.mean),
        rows=rows,
        row_kind=number_equal_records((every,))[0],
        rows_by_chance=max(by_chance, key=np.mean),
    )


def _twins(table: Table, unit: Ints) -> Bools:
    """Return which records equal one of another person."""
    (key,) = number_equal_records((table,))
    pairs = np.unique(np.column_stack([key, unit]), axis=0)
    persons = np.bincount(pairs[:, 0], minlength=int(key.max(initial=-1)) + 1)
    return np.asarray(persons[key] > 1, np.bool_)


FEW = 100
"""Fewer records to judge attacks on leave wide intervals; a control of fewer than this, and than
half of the holdout, is not one any more."""
SURE = 0.999
"""Level at which more records must be on both sides than the real table's own twins explain."""


@dataclass(frozen=True)
class Overlap:
    """Holdout records that are in the real table, more of them than chance explains."""

    n_holdout: int
    """Records of the holdout as it was given."""
    shared: int
    """How many of them equal a real record, and were left out."""
    by_chance: float
    """Share of the real records that equal another real one."""
    usable: bool
    """Whether enough are left for a control."""


def without_overlap(
    tables: ReleasedTables, found: SharedRecords
) -> tuple[ReleasedTables, Ints, Overlap | None]:
    """Return tables whose holdout is a control, the rows of the real records kept, and the overlap.

    Where the holdout and the real table share no more records than chance explains, nothing is
    left out. Elsewhere both keep the records that occur once; without a holdout where too few
    of it are left.
    """
    everyone = np.arange(len(tables.real))
    if tables.holdout is None:
        return tables, everyone, None
    of_real, of_holdout = tables.units
    beyond = excess(found.holdout, found.real, SURE, units=(of_holdout, of_real))
    if beyond.low <= 0:
        return tables, everyone, None
    # Were the holdout alone to lose the records that many people share, which chance copies, the
    # comparison would be unfair: so both sides do.
    real = np.flatnonzero(~found.real)
    holdout = np.flatnonzero(~found.holdout)
    n = len(tables.holdout)
    left = len(holdout)
    usable = left >= min(FEW, -(-n // 2)) and min(left, len(real)) >= FEWEST
    overlap = Overlap(n, n - left, float(found.real.mean()), usable)
    if not usable:
        return release_of_rows(tables, everyone, None), everyone, overlap
    return release_of_rows(tables, real, holdout), real, overlap


@dataclass(frozen=True)
class People:
    """Why the people behind the holdout's records make it no control."""

    n_real: int
    """People behind the real records."""
    n_holdout: int
    """People behind the holdout's."""
    shared: int
    """How many of those have records in the real table too."""

    @property
    def few(self) -> bool:
        """True where a side has too few people; False where people are on both sides."""
        return min(self.n_real, self.n_holdout) < FEWEST_PEOPLE


FEWEST_PEOPLE = 20
"""Fewest people per side. Fewer are not a control: their rows may belong to still fewer people,
such as visits, and attacks that see the similarity of rows of one person would look strong."""
_MOSTLY = 0.5
"""Largest share of the holdout's people with real records for it to count as other people."""


def same_people(tables: ReleasedTables) -> People | None:
    """Return why the holdout's people are not a control; None where they are.

    Numbers of which each has one record on a side may be row numbers, which start again in each
    file: that they are on both sides says nothing.
    """
    if tables.holdout is None:
        return None
    (real, of_real), (holdout, of_holdout) = (
        np.unique(side, return_counts=True) for side in tables.units
    )
    found = People(len(real), len(holdout), len(np.intersect1d(real, holdout)))
    several = max(of_real.max(), of_holdout.max()) > 1
    if found.few or (several and found.shared > _MOSTLY * found.n_holdout):
        return found
    return None


def with_people(
    tables: ReleasedTables, unit: ArrayLike | None, holdout_unit: ArrayLike | None
) -> tuple[ReleasedTables, list[str]]:
    """Return tables whose records name the person behind them, and notes on it.

    Where neither is given, equal records are one person's if they also lie on one side, all but
    one in a hundred.

    Raises
    ------
    InputError
        If only the people of the holdout are given, or the lengths are wrong.
    """
    n = len(tables.real)
    m = 0 if tables.holdout is None else len(tables.holdout)
    member = np.arange(n + m) < n
    if unit is None and tables.people_named:
        return tables, said_of_units(np.concatenate(tables.units), member) if m else []
    if unit is None:
        if holdout_unit is not None:
            raise InputError("holdout_unit names people: give unit for the real records too")
        if tables.holdout is None:
            return tables, []
        both = stack_tables(tables.real, tables.holdout)
        values = np.where(np.isnan(both.values), np.inf, both.values)
        # Records that equal one of the other side are judged by the overlap, not warned of here:
        # without them one side alone would lack the records that many people share.
        alike = Equal(units.number_units(units.fingerprints(values)), np.zeros(n + m, np.int64))
        # Records of different people that are equal by chance lie on one side often enough, and
        # the more often the more the sizes of the sides differ.
        found = alike.unit(member) if alike.are_units(member, coarse=True) else None
        said = []
        if found is not None:
            several = int(np.count_nonzero(repeated_rows(found)))
            said = [
                f"{several:,} of {n + m:,} records equal another one on their side, and hardly any "
                "one on the other side: equal records count as one person, so that "
                f"{checks.n_distinct(found):,} people are left; {WAY_OUT}"
            ]
        # Equal rows are one person's whatever else they share: one of each is looked at.
        one = np.arange(n + m) if found is None else np.unique(found, return_index=True)[1]
        constant = constant_columns(values[one], member[one])
        if constant is not None:
            names = checks.short_list((repr(tables.schema.names[j]) for j in constant), 3)
            said = [
                *(said if found is None else ()),
                f"rows that agree in {names} are on one side, far more often than chance explains: "
                "they are taken for rows of one person, and none for independent; name the column "
                "of the people, if there is one (--unit), or row numbers where all are different "
                "people",
            ]
            found = rows_of_people(values, constant, member)
    else:
        found = _number_people(unit, holdout_unit, n, m)
        said = []
        said += said_of_units(found, member) if m else []
    if found is None:
        return tables, said
    of_holdout = found[n:] if m else None
    return replace(tables, unit=found[:n], holdout_unit=of_holdout, people_named=False), said


def _number_people(unit: ArrayLike, holdout_unit: ArrayLike | None, n: int, m: int) -> Ints:
    """Return one number for each person of both tables."""
    real = checks.present(checks.vector(unit, "unit", length=n), "unit")
    if holdout_unit is None:
        own = units.number_units(real)
        return np.concatenate([own, int(own.max()) + 1 + np.arange(m)])
    others = checks.present(checks.vector(holdout_unit, "holdout_unit", length=m), "holdout_unit")
    names = [*(str(name) for name in real.tolist()), *(str(name) for name in others.tolist())]
    return units.number_units(np.array(names))
