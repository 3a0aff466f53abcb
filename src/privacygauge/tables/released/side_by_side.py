"""Two measured numbers side by side, such as coordinates, near to those of one synthetic record.

Where all else of a record is made up, two numbers that were moved a little are lost among its other
columns. Compared alone they name a place, and so does any other pair of measurements.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.spatial import KDTree

from privacygauge.core.checks import Floats
from privacygauge.tables.table import Schema, Table

_AROUND = 10
"""People around somebody by whom it is told how many live nearby."""
_CLOSEST = 1e-6
"""Expected number of synthetic records below which all count alike: equal numbers are counted by
other rankings."""
_FEWEST = 50
"""Fewest records with both numbers."""


def measured_pairs(schema: Schema) -> tuple[tuple[int, int], ...]:
    """Return the columns side by side that both hold numbers with decimals, and no dates."""
    measured = [
        place
        for place, column in enumerate(schema.columns)
        if column.kind == "continuous" and not column.date
    ]
    return tuple((a, b) for a, b in pairwise(measured) if b == a + 1)


def nearest_side_by_side(records: Table, made: Table, pairs: tuple[tuple[int, int], ...]) -> Floats:
    """Return (n,) how few synthetic records would be as near by chance, in the best of the pairs.

    The score is -log of the number of synthetic records expected within the distance to the nearest
    one, if they were spread as the other records around are; 0 where none has both numbers.

    Parameters
    ----------
    records, made : Table
        Tables of one schema.
    pairs : tuple of (int, int)
        Positions of the columns of each pair.
    """
    found = np.full(len(records), -np.inf)
    for pair in map(list, pairs):
        there, own = (~np.isnan(table.values[:, pair]).any(axis=1) for table in (records, made))
        if min(there.sum(), own.sum()) < _FEWEST:
            continue
        # Both columns in the spread of the records, which says nothing of the sides.
        scale = records.values[there][:, pair].std(axis=0)
        if not scale.all():
            continue
        asked, released = (
            table.values[rows][:, pair] / scale for table, rows in ((records, there), (made, own))
        )
        # The nearest other record is oneself.
        around = KDTree(asked).query(asked, k=_AROUND + 1)[0][:, -1]
        away = KDTree(released).query(asked)[0]
        expected = (
            _AROUND * len(released) / len(asked) * np.square(away / np.maximum(around, 1e-300))
        )
        # Many equal records around: nothing can be near.
        expected[around == 0] = np.inf
        found[there] = np.maximum(found[there], -np.log(np.maximum(expected, _CLOSEST)))
    return np.where(np.isfinite(found), found, min(0.0, found[np.isfinite(found)].min(initial=0.0)))
