"""Records on both sides: real records in the holdout, and copies of unique records.

People who share all values with somebody else occur in the real table, the holdout and a synthetic
table alike, without anything wrong. The real table itself shows how often that happens: it is the
share of its records that equal another one in it. An excess beyond this share is an overlap or a
copy; without the overlapping records the holdout is a control.
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
    """Masks of the records that occur a second time, equal in every column."""

    real: Bools
    """(n,) True for a real record that equals another person's real record."""
    holdout: Bools
    """(m,) True for a holdout record that equals a real one."""


@dataclass(frozen=True, eq=False)
class LoneCopies:
    """Copies of real records that equal no other one, and the copies that chance would make."""

    copied: Bools
    """(u,) True where a record is in the synthetic table, or in n random rows of it if it has
    more."""
    by_chance: Bools
    """Comparison for `copied`, the one with the largest share of: the real records that equal
    another one, (n,); the records (u,) that occur among the synthetic rows with every column
    shuffled; the holdout records that are copied, (m,)."""
    rows: Bools
    """(s,) True where a synthetic row equals one of these records."""
    row_kind: Ints
    """(s,) Number shared by equal synthetic rows, which are one piece of evidence."""
    rows_by_chance: Bools
    """Comparison for `rows`, the one with the largest share of: the real records that equal another
    one, (n,); the synthetic rows (s,) that equal one of these records with every column shuffled;
    those that equal a holdout record, scaled to the number of real records."""


def find_shared_records(released: ReleasedTables) -> SharedRecords:
    """Find the real and the holdout records that occur again among the real ones."""
    real = _twins(released.real, released.units[0])
    if released.holdout is None:
        return SharedRecords(real, np.zeros(0, np.bool_))
    return SharedRecords(real, occurs(released.holdout, released.real))


def release_of_rows(released: ReleasedTables, real: Ints, holdout: Ints | None) -> ReleasedTables:
    """Return a release with only these real and holdout records, and their people."""
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
        Release; its holdout is ignored.
    twins : ndarray of bool, shape (n,)
        Real records that equal another person's real record, from `find_shared_records`.
    rng : numpy.random.Generator
        Draws as many synthetic rows as there are real records, and shuffles columns.
    others : Table, optional
        Holdout records outside any overlap: the rate at which they are copied is chance too.

    Notes
    -----
    If the synthetic rows were drawn from the population, each record that occurs once would be met
    again no more often than records of the real table meet each other, since records that occur
    once are the rarer ones. The same holds for a generator that knows each column alone.
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
        # A mask with the share of rows that chance explains; which rows is irrelevant.
        by_chance.append(np.arange(len(every)) < round(met))
    return LoneCopies(
        copied=occurs(alone, made),
        by_chance=max(chances, key=np.mean),
        rows=rows,
        row_kind=number_equal_records((every,))[0],
        rows_by_chance=max(by_chance, key=np.mean),
    )


def _twins(table: Table, unit: Ints) -> Bools:
    """Return (n,) True where a record equals a record of another person."""
    # Equal records of one person are one pair (key, unit).
    (key,) = number_equal_records((table,))
    pairs = np.unique(np.column_stack([key, unit]), axis=0)
    persons = np.bincount(pairs[:, 0], minlength=int(key.max(initial=-1)) + 1)
    return np.asarray(persons[key] > 1, np.bool_)


FEW = 100
"""A control needs this many records, or half of the holdout if that is fewer: intervals of fewer
are wide."""
SURE = 0.999
"""Level at which more records must be on both sides than the real table's own twins explain."""


@dataclass(frozen=True)
class Overlap:
    """Holdout records that are in the real table, in excess of chance."""

    n_holdout: int
    """Number of records in the holdout as given."""
    shared: int
    """Number of them that equal a real record and were left out."""
    by_chance: float
    """Share of the real records that equal another real one."""
    usable: bool
    """True where enough records are left for a control."""


def without_overlap(
    tables: ReleasedTables, found: SharedRecords
) -> tuple[ReleasedTables, Ints, Overlap | None]:
    """Return tables with a holdout that is a control, the real rows kept, and the overlap.

    If the holdout and the real table share no more records than chance explains, nothing is left
    out. Otherwise both keep only the records that occur once; the holdout is dropped if too few are
    left.
    """
    everyone = np.arange(len(tables.real))
    if tables.holdout is None:
        return tables, everyone, None
    of_real, of_holdout = tables.units
    beyond = excess(found.holdout, found.real, SURE, units=(of_holdout, of_real))
    if beyond.low <= 0:
        return tables, everyone, None
    # The comparison would be unfair if only the holdout lost the records that many people share,
    # which chance copies: so both sides lose them.
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
    """Reason why the people behind the holdout's records are not a control."""

    n_real: int
    """Number of people behind the real records."""
    n_holdout: int
    """Number of people behind the holdout's records."""
    shared: int
    """Number of the latter who have records in the real table too."""

    @property
    def few(self) -> bool:
        """True if a side has too few people; False if people are on both sides."""
        return min(self.n_real, self.n_holdout) < FEWEST_PEOPLE


FEWEST_PEOPLE = 20
"""Fewest people per side. Fewer are not a control: attacks that recognise rows of one person would
look strong, where these rows may belong to even fewer people, as visits do."""
_MOSTLY = 0.5
"""Largest share of the holdout's people with real records at which they are other people."""


def same_people(tables: ReleasedTables) -> People | None:
    """Return the reason why the holdout's people are not a control; None if they are.

    If every person has one record per side, the numbers may be row numbers that start again in each
    file: numbers that occur on both sides then mean nothing.
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
    """Return tables with the person behind each record, and notes on it.

    If no people are given, equal records are taken for one person's if all but one in a hundred of
    them lie on one side.

    Raises
    ------
    InputError
        If only the holdout's people are given, or a length is wrong.
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
        # NaN does not equal NaN: a missing value becomes a value that compares.
        values = np.where(np.isnan(both.values), np.inf, both.values)
        # Records that equal one on the other side are left to the overlap, which removes them from
        # both sides.
        alike = Equal(units.number_units(units.fingerprints(values)), np.zeros(n + m, np.int64))
        # Equal records of different people lie on one side by chance quite often, and the more so,
        # the more the sizes of the sides differ.
        found = alike.unit(member) if alike.are_units(member, coarse=True) else None
        said = []
        if found is not None:
            several = int(np.count_nonzero(repeated_rows(found)))
            said = [
                f"{several:,} of {n + m:,} records equal another one on their side, and hardly any "
                "one on the other side: equal records count as one person, so that "
                f"{checks.n_distinct(found):,} people are left; {WAY_OUT}"
            ]
        # Equal rows belong to one person whatever else they share: one of each is examined.
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
    """Return one number per person over both tables."""
    real = checks.present(checks.vector(unit, "unit", length=n), "unit")
    if holdout_unit is None:
        own = units.number_units(real)
        return np.concatenate([own, int(own.max()) + 1 + np.arange(m)])
    others = checks.present(checks.vector(holdout_unit, "holdout_unit", length=m), "holdout_unit")
    # Compared as texts, since 7 in one file may be "7" in the other.
    names = [*(str(name) for name in real.tolist()), *(str(name) for name in others.tolist())]
    return units.number_units(np.array(names))
