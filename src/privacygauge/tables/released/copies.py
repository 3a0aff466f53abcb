"""Exact copies, and distances to the closest record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate import rates
from privacygauge.evaluate.defences import quantile
from privacygauge.evaluate.headline import Fact
from privacygauge.evaluate.rates import excess
from privacygauge.tables.distance import space_of
from privacygauge.tables.released.neighbours import nearest_points, usual_distance
from privacygauge.tables.released.overlap import LoneCopies
from privacygauge.tables.released.tables import (
    FEWEST,
    ReleasedTables,
    draw_rows,
    occurs,
    stack_tables,
)
from privacygauge.tables.table import Table

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
        # Synthetic rows have no units: `owners` holds the two sides only.
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
