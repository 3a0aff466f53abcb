"""Copies, distances, a holdout that overlaps, and what else may mislead about a released table."""

from __future__ import annotations

import numpy as np

from privacygauge.audits.released_table.found import Overlap, ReleaseRisk, told_apart
from privacygauge.core.checks import Ints
from privacygauge.evaluate import rates
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.excess import excess
from privacygauge.report.numbers import percent
from privacygauge.synthetic.released.copies import Copies, copied_beyond
from privacygauge.synthetic.released.hits import Hits, risk_of
from privacygauge.synthetic.released.overlap import Shared, rows_of
from privacygauge.synthetic.released.tables import FEWEST, Released
from privacygauge.synthetic.table import advice

FEW = 100
"""Fewer records to judge attacks on leave wide intervals; a control of fewer than this, and than
half of the holdout, is not one any more."""
SMALLER = 0.2
"""A holdout of fewer records than this share of the real ones is much smaller."""
SURE = 0.999
"""Level at which more records must be on both sides than the real table's own twins explain."""


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


def release_risk(hits: Hits, level: float, known: tuple[str, ...] = ()) -> ReleaseRisk:
    """Return attempts as a risk with intervals; notes that are known already are left out."""
    control = None
    notes = [note for note in hits.notes if note not in known]
    if hits.control is not None:
        control = rates.proportion(hits.control, hits.control_unit, level)
        if control.value == 1.0:
            notes.append("The control always succeeds, so no attack can go beyond it.")
    attack = rates.proportion(hits.attack, hits.attack_unit, level)
    baseline = rates.proportion(hits.baseline, hits.baseline_unit, level)
    if attack.value < baseline.value:
        notes.append("The baseline does better: the attack says little.")
    return ReleaseRisk(
        hits.name,
        hits.variant,
        meaning=hits.meaning,
        attack=attack,
        control=control,
        baseline=baseline,
        risk=risk_of(hits, level),
        outlying=hits.outlying,
        notes=tuple(notes),
    )
