"""Records on both sides: real records in the holdout, exact copies, and the closest records.

People who share all values with somebody else occur in the real table, the holdout and a synthetic
table alike, without anything wrong. The real table itself shows how often that happens: it is the
share of its records that equal another one in it. An excess beyond this share is an overlap or a
copy; without the overlapping records the holdout is a control.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate import rates
from privacygauge.evaluate.defences import quantile
from privacygauge.evaluate.headline import Fact
from privacygauge.evaluate.rates import excess
from privacygauge.tables.distance import space_of
from privacygauge.tables.released.neighbours import nearest_points, usual_distance
from privacygauge.tables.released.tables import (
    FEWEST,
    ReleasedTables,
    draw_rows,
    number_equal_records,
    occurs,
    of_several,
    stack_tables,
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
    (key,) = number_equal_records((released.real,))
    real = of_several(key, released.units[0])
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


NO_EVIDENCE = (
    "Distances to the closest record are no evidence of safety: a table may keep its distance "
    "from every record and still give away who was in it."
)
"""Note to print with such distances."""


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows that occur on both sides, equal in every column.

    Records that many people share are copied without a leak. So real records are compared with
    holdout records, and synthetic rows are looked up among equally many of both.
    """

    real: Bools
    """(n,) Real records that occur in the synthetic table."""
    holdout: Bools | None
    """(m,) Holdout records that occur in the synthetic table; None without a holdout."""
    unit: Ints
    """(n,) Independent unit of each real record: records of one person, and equal records, which
    occur in the synthetic table all or none."""
    holdout_unit: Ints | None
    """(m,) Independent unit of each holdout record; None without a holdout."""
    of_real: Bools
    """(s,) Synthetic rows that equal a real record."""
    of_as_many_real: Bools | None
    """(s,) Synthetic rows that equal one of the sampled real records, as many as in
    `of_holdout`."""
    of_holdout: Bools | None
    """(s,) Synthetic rows that equal one of the holdout records, at most as many as real ones."""


@dataclass(frozen=True, eq=False)
class ClosestRecords:
    """Distances of each synthetic row to the closest real and to the closest holdout record.

    They are not evidence of safety (`NO_EVIDENCE`), and weak evidence of a leak: see the attacks.
    """

    to_real: Floats
    """(s,) Distance to the closest of n real records; 0 for a copy."""
    to_holdout: Floats | None
    """(s,) Distance to the closest of n holdout records; None without a holdout."""
    n: int
    """Number of records compared from each table."""

    @property
    def nearer_real(self) -> float | None:
        """Share of rows nearer to a real record, in [0, 1]; ties count half; 1/2 means no leak."""
        if self.to_holdout is None:
            return None
        # A tie is evidence for neither side.
        nearer = self.to_real < self.to_holdout
        tied = self.to_real == self.to_holdout
        return float(np.mean(nearer + 0.5 * tied))


def find_copies(released: ReleasedTables, rng: np.random.Generator) -> Copies:
    """Find the records that were copied, and those that would be copied by chance.

    Parameters
    ----------
    released : ReleasedTables
    rng : numpy.random.Generator
        Draws from the larger table as many records as the smaller one has.
    """
    made = released.synthetic
    real = released.real
    holdout = released.holdout
    of_real = occurs(made, real)
    unit, holdout_unit = released.alike
    if holdout is None:
        return Copies(
            real=occurs(real, made),
            holdout=None,
            unit=unit,
            holdout_unit=None,
            of_real=of_real,
            of_as_many_real=None,
            of_holdout=None,
        )
    # Synthetic rows are looked up among equally many of both, since more records give more matches.
    some, others = as_many(real, holdout, rng)
    return Copies(
        real=occurs(real, made),
        holdout=occurs(holdout, made),
        unit=unit,
        holdout_unit=holdout_unit,
        of_real=of_real,
        of_as_many_real=occurs(made, some),
        of_holdout=occurs(made, others),
    )


def closest_records(released: ReleasedTables, rng: np.random.Generator) -> ClosestRecords:
    """Return the distance of each synthetic row to the closest real and holdout record.

    Parameters
    ----------
    released : ReleasedTables
    rng : numpy.random.Generator
        Draws from the larger table as many records as the smaller one has: the more records, the
        nearer the closest one.
    """
    made = released.synthetic
    sides = [released.real]
    if released.holdout is not None:
        sides = list(as_many(released.real, released.holdout, rng))
    # One space for all tables, so that distances have the same scale on both sides.
    space = space_of(stack_tables(made, *sides), usual_distance(released.schema))
    ends = np.cumsum([len(made), *(len(side) for side in sides)])
    asked, *among = np.split(np.arange(len(space)), ends[:-1])
    found = [nearest_points(space, asked, rows).distance for rows in among]
    to_holdout = found[1] if len(found) > 1 else None
    return ClosestRecords(found[0], to_holdout, len(sides[0]))


def as_many(real: Table, holdout: Table, rng: np.random.Generator) -> tuple[Table, Table]:
    """Return equally many records of both tables, drawn at random from the larger one."""
    n = min(len(real), len(holdout))
    return real[draw_rows(len(real), n, rng)], holdout[draw_rows(len(holdout), n, rng)]


SYNTHETIC_ROWS = "Synthetic rows that equal a real record"
"""Label of the share of the synthetic rows that equal a real record."""
QUANTILES = (0.05, 0.5)
"""Quantiles of the distances to the closest record."""


def copy_facts(found: Copies, n: int, level: float) -> tuple[Fact, ...]:
    """Return the shares of records, and of synthetic rows, that also occur on the other side.

    `n` is the number of real, and of holdout, records among which the rows were looked up.
    """
    names = (f"{side} records that occur in the synthetic table" for side in ("Real", "Holdout"))
    # Synthetic rows have no units: `owners` holds the two sides only.
    owners = dict(zip(names, (found.unit, found.holdout_unit), strict=True))
    named = {
        "Real records that occur in the synthetic table": found.real,
        "Holdout records that occur in the synthetic table": found.holdout,
        SYNTHETIC_ROWS: found.of_real,
        f"Synthetic rows that equal one of {n:,} real records": found.of_as_many_real,
        f"Synthetic rows that equal one of {n:,} holdout records": found.of_holdout,
    }
    return tuple(
        Fact(name, rates.proportion(hit, owners.get(name), level))
        for name, hit in named.items()
        if hit is not None
    )


def copied_beyond(found: Copies, level: float) -> Estimate | None:
    """Return the share of real records copied in excess of the holdout's, as for a risk.

    None without a holdout.
    """
    if found.holdout is None:
        return None
    return excess(found.real, found.holdout, level, units=(found.unit, found.holdout_unit))


def copied_alone(found: LoneCopies, level: float) -> Estimate | None:
    """Return the share of records that occur once and were copied, beyond chance.

    None if fewer than ten records occur once.
    """
    if len(found.copied) < FEWEST:
        return None
    return excess(found.copied, found.by_chance, level)


def rows_copied_alone(found: LoneCopies, level: float) -> Estimate | None:
    """Return the share of synthetic rows that equal a record that occurs once, beyond chance.

    None if fewer than ten records occur once.
    """
    if len(found.copied) < FEWEST:
        return None
    return excess(found.rows, found.rows_by_chance, level, units=(found.row_kind, None))


def closest_facts(found: ClosestRecords, level: float) -> tuple[Fact, ...]:
    """Return quantiles of the distances to the closest record, and the share of nearer rows."""
    sides = {"real": found.to_real, "holdout": found.to_holdout}
    facts = [
        Fact(f"Distance to the closest {side} record, {name}", quantile(away, q, level))
        for q, name in zip(QUANTILES, ("the nearest 5% of the rows", "median"), strict=True)
        for side, away in sides.items()
        if away is not None
    ]
    if found.nearer_real is not None:
        n = len(found.to_real)
        value = found.nearer_real
        # A tie counts half and so varies less than a hit or a miss: the binomial interval is safe.
        low, high = rates.clopper_pearson(value * n, n, level)
        method = "Clopper-Pearson, ties as halves"
        share = Estimate(
            value=value, low=min(low, value), high=max(high, value), level=level, n=n, method=method
        )
        facts.append(Fact("Rows nearer to a real than to a holdout record", share))
    return tuple(facts)
