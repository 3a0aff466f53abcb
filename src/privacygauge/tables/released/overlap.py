"""Records on both sides: real records in the holdout, and copies of unique records.

People who share all values with somebody else occur in the real table, the holdout and a synthetic
table alike, without anything wrong. The real table itself shows how often that happens: it is the
share of its records that equal another one in it. An excess beyond this share is an overlap or a
copy; without the overlapping records the holdout is a control.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privacygauge.core.checks import Bools, Ints
from privacygauge.evaluate.rates import excess
from privacygauge.tables.released.tables import (
    FEWEST,
    ReleasedTables,
    draw_rows,
    number_equal_records,
    occurs,
)
from privacygauge.tables.table import Table


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
    # Equal records of one person are one pair (key, unit): a record occurs a second time where its
    # key has several people.
    (key,) = number_equal_records((released.real,))
    pairs = np.unique(np.column_stack([key, released.units[0]]), axis=0)
    persons = np.bincount(pairs[:, 0], minlength=int(key.max(initial=-1)) + 1)
    real = np.asarray(persons[key] > 1, np.bool_)
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
        joined=tuple(one.among(real) for one in released.joined),
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
