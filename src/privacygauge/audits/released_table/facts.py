"""Copies, distances, a holdout that overlaps, and what else may mislead about a released table."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from privacygauge.audits.released_table.found import Overlap, told_apart
from privacygauge.audits.released_table.risk import excess
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate import rates
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact
from privacygauge.report.numbers import percent
from privacygauge.synthetic.released.copies import ClosestRecords, Copies
from privacygauge.synthetic.released.overlap import LoneCopies, Shared, rows_of
from privacygauge.synthetic.released.tables import FEWEST, Released
from privacygauge.synthetic.table import advice

QUANTILES = (0.05, 0.5)
"""Of the distances to the closest record."""
FEW = 100
"""Fewer records to judge attacks on leave wide intervals; a control of fewer than this, and than
half of the holdout, is not one any more."""
SMALLER = 0.2
"""A holdout of fewer records than this share of the real ones is much smaller."""
SURE = 0.999
"""Level at which more records must be on both sides than the real table's own twins explain."""


def copy_facts(found: Copies, n: int, level: float, units: tuple[Ints, Ints]) -> tuple[Fact, ...]:
    """Return shares of records, and of synthetic rows, that occur on the other side as well.

    `n` is how many real, and how many holdout records the rows were looked up among; `units` are
    those of the real and of the holdout records.
    """
    names = (f"{side} records that occur in the synthetic table" for side in ("Real", "Holdout"))
    owners = dict(zip(names, units, strict=True))
    named = {
        "Real records that occur in the synthetic table": found.real,
        "Holdout records that occur in the synthetic table": found.holdout,
        "Synthetic rows that equal a real record": found.of_real,
        f"Synthetic rows that equal one of {n:,} real records": found.of_as_many_real,
        f"Synthetic rows that equal one of {n:,} holdout records": found.of_holdout,
    }
    return tuple(
        Fact(name, rates.proportion(hit, owners.get(name), level))
        for name, hit in named.items()
        if hit is not None
    )


def copied_beyond(
    found: Copies, level: float, units: tuple[Ints | None, Ints | None] = (None, None)
) -> Estimate | None:
    """Return how much more of the real records than of the holdout was copied, as a risk is.

    None without a holdout.
    """
    if found.holdout is None:
        return None
    return excess(found.real, found.holdout, level, units=units)


def copied_alone(found: LoneCopies, level: float) -> Estimate | None:
    """Return how many records that occur once were copied, beyond what chance would copy.

    None where fewer than ten do.
    """
    if len(found.copied) < FEWEST:
        return None
    return excess(found.copied, found.by_chance, level)


def closest_facts(found: ClosestRecords, level: float) -> tuple[Fact, ...]:
    """Return quantiles of the distances to the closest record, and which side is nearer."""
    sides = {"real": found.to_real, "holdout": found.to_holdout}
    facts = [
        Fact(f"Distance to the closest {side} record, {name}", quantile(away, q, level))
        for q, name in zip(QUANTILES, ("the nearest 5% of the rows", "median"), strict=True)
        for side, away in sides.items()
        if away is not None
    ]
    if found.nearer_real is not None:
        n, value = len(found.to_real), found.nearer_real
        # A tie counts half, which varies less than a hit or a miss.
        low, high = rates.clopper_pearson(value * n, n, level)
        method = "Clopper-Pearson, ties as halves"
        share = Estimate(value, min(low, value), max(high, value), level, n, method)
        facts.append(Fact("Rows nearer to a real than to a holdout record", share))
    return tuple(facts)


def quantile(values: Floats, q: float, level: float) -> Estimate:
    """Return a quantile with the interval between order statistics, whatever the distribution.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Independent, at least one.
    q : float
        In (0, 1).
    level : float
        In (0, 1). Covered at least so often while the ends are not the extremes of the sample.

    Notes
    -----
    The number of values below the quantile is binomial.
    """
    ordered, n = np.sort(values), len(values)
    value = float(ordered[min(int(np.ceil(q * n)) - 1, n - 1)])
    tail = (1 - level) / 2
    low = int(np.clip(binom.ppf(tail, n, q) - 1, 0, n - 1))
    high = int(np.clip(binom.isf(tail, n, q), 0, n - 1))
    ends = min(float(ordered[low]), value), max(float(ordered[high]), value)
    return Estimate(value, *ends, level, n, "order statistics")


def caveats(
    released: Released, blind: Evaluation | None, copied: Copies, level: float
) -> tuple[str, ...]:
    """Return what may mislead, the most important first; `level` is that of a look at copies."""
    found = [*released.notes(), *released.read, *_size(released), *advice(released.real)]
    beyond = copied_beyond(copied, level, released.units)
    if copied.holdout is not None and beyond is not None and beyond.low > 0:
        found.insert(
            0,
            f"{percent(float(copied.real.mean()))} of the real records stand in the synthetic "
            f"table as they are, and {percent(float(copied.holdout.mean()))} of the holdout: more "
            "than chance explains",
        )
    if blind is not None and blind.auc.low > 0.5 and not told_apart(blind):
        found.insert(
            0,
            "real records and holdout differ a little without the synthetic table (AUC "
            f"{blind.auc.value:.3f}): a membership attack counts only where it does better",
        )
    if blind is not None and told_apart(blind):
        found.insert(
            0,
            "real records and holdout are told apart without the synthetic table (AUC "
            f"{blind.auc.value:.3f}), so they are not from the same source: membership attacks "
            "and controls are void; give a holdout that was drawn from the same records",
        )
    return tuple(dict.fromkeys(found))


def _size(released: Released) -> list[str]:
    if released.holdout is None:
        return []
    n, real = len(released.holdout), len(released.real)
    if n >= SMALLER * real and n - n // 2 >= FEW:
        return []
    return [
        f"the holdout has {n:,} records beside {real:,} real ones, and half of it is the "
        "reference of the attacks: the intervals are wide, and a leak may go unnoticed"
    ]


def without_overlap(tables: Released, found: Shared) -> tuple[Released, Ints, Overlap | None]:
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
    real, holdout = np.flatnonzero(~found.real), np.flatnonzero(~found.holdout)
    n, left = len(tables.holdout), len(holdout)
    usable = left >= min(FEW, -(-n // 2)) and min(left, len(real)) >= FEWEST
    overlap = Overlap(n, n - left, float(found.real.mean()), usable)
    if not usable:
        return rows_of(tables, everyone, None), everyone, overlap
    return rows_of(tables, real, holdout), real, overlap
