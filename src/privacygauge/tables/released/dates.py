"""Days between the dates of a record: they stay as they are where all its dates are moved alike."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from privacygauge.core.checks import Floats
from privacygauge.tables.released.tables import ReleasedTables, stack_tables
from privacygauge.tables.table import Column, Schema, Table

_DIGITS = 6
"""Decimals of a number of days that are compared: a tenth of a second."""


def between_dates(released: ReleasedTables) -> ReleasedTables | None:
    """Return a release with the days between dates in place of the dates.

    These are the days from each date to the next one, in the order of the medians of the released
    dates. None if fewer than two columns hold dates.
    """
    columns = released.schema.columns
    dates = np.flatnonzero([column.date for column in columns])
    if len(dates) < 2:
        return None
    made = released.synthetic.values[:, dates]
    # A column without released dates comes first.
    there = [one[~np.isnan(one)] for one in made.T]
    middle = [float(np.median(one)) if len(one) else -np.inf for one in there]
    pairs = tuple(pairwise(dates[np.argsort(middle, kind="stable")].tolist()))
    others = [j for j in range(len(columns)) if not columns[j].date]
    tables = released.tables()
    everything = stack_tables(*tables.values()).values
    days = np.column_stack([everything[:, b] - everything[:, a] for a, b in pairs])
    days = np.round(days, _DIGITS)
    values = np.column_stack([everything[:, others], days])
    schema = Schema(
        (
            *(columns[j] for j in others),
            *(
                _days(f"days from {columns[a].name} to {columns[b].name}", one)
                for (a, b), one in zip(pairs, days.T, strict=True)
            ),
        )
    )
    ends = np.cumsum([len(table) for table in tables.values()])[:-1]
    found = dict(zip(tables, np.split(values, ends), strict=True))
    real_unit, holdout_unit = released.units
    return ReleasedTables(
        Table(schema, found["real"]),
        Table(schema, found["synthetic"]),
        Table(schema, found["holdout"]) if "holdout" in found else None,
        unit=real_unit,
        holdout_unit=holdout_unit if "holdout" in found else None,
    )


def _days(name: str, values: Floats) -> Column:
    there = values[~np.isnan(values)]
    low = float(there.min(initial=0.0))
    high = float(there.max(initial=0.0))
    return Column(name, "continuous", low, high, missing=len(there) < len(values))
