"""The people behind the records of a released table and its holdout."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks, units
from privacygauge.core.checks import Ints
from privacygauge.core.equal_rows import equal_rows, said_of_units
from privacygauge.errors import InputError
from privacygauge.synthetic.released.tables import Released, stacked


def with_people(
    tables: Released, unit: ArrayLike | None, holdout_unit: ArrayLike | None
) -> tuple[Released, list[str]]:
    """Return tables whose records name the person behind them, and what is to be said of it.

    Where neither is given, equal records are one person's if they also lie on one side, all but
    one in a hundred.

    Raises
    ------
    InputError
        If only the people of the holdout are given, or the lengths are wrong.
    """
    n, m = len(tables.real), 0 if tables.holdout is None else len(tables.holdout)
    member = np.arange(n + m) < n
    if unit is None:
        if holdout_unit is not None:
            raise InputError("holdout_unit names people: give unit for the real records too")
        if tables.holdout is None:
            return tables, []
        both = stacked(tables.real, tables.holdout)
        values = np.where(np.isnan(both.values), np.inf, both.values)
        found, said = equal_rows(units.fingerprints(values), np.zeros(n + m, np.int64), member)
    else:
        found, said = _named(unit, holdout_unit, n, m), []
        said += said_of_units(found, member) if m else []
    if found is None:
        return tables, said
    return replace(tables, unit=found[:n], holdout_unit=found[n:] if m else None), said


def _named(unit: ArrayLike, holdout_unit: ArrayLike | None, n: int, m: int) -> Ints:
    """Return one number for each person of both tables."""
    real = checks.present(checks.vector(unit, "unit", length=n), "unit")
    if holdout_unit is None:
        own = units.numbered(real)
        return np.concatenate([own, int(own.max()) + 1 + np.arange(m)])
    others = checks.present(checks.vector(holdout_unit, "holdout_unit", length=m), "holdout_unit")
    names = [*(str(name) for name in real.tolist()), *(str(name) for name in others.tolist())]
    return units.numbered(np.array(names))
