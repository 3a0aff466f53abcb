"""The holdout as a control: without the records that stand in the real table too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Ints
from privacygauge.evaluate.excess import excess
from privacygauge.synthetic.released.overlap import Shared, rows_of
from privacygauge.synthetic.released.tables import FEWEST, Released

FEW = 100
"""Fewer records to judge attacks on leave wide intervals; a control of fewer than this, and than
half of the holdout, is not one any more."""
SURE = 0.999
"""Level at which more records must be on both sides than the real table's own twins explain."""


@dataclass(frozen=True)
class Overlap:
    """Holdout records that stand in the real table, more of them than chance explains."""

    n_holdout: int
    """Records of the holdout as it was given."""
    shared: int
    """How many of them equal a real record, and were left out."""
    by_chance: float
    """Share of the real records that equal another real one."""
    usable: bool
    """Whether enough are left for a control."""


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
