"""Near values in common where the columns of a release were rearranged.

A series that was rotated in time, or a left and a right value that changed places, hold the same
values in other columns. Records are compared by what such a change leaves as it was. Which columns
may have changed places is decided by their names and kinds alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from privacygauge.core.checks import Floats
from privacygauge.tables.table import Schema, Table

_SERIES = 6
"""Fewest columns of a series."""
_SCALE = 10
"""Fewest whole numbers of a series, from the least to the largest; questionnaires have fewer."""
_CELLS = 2**20
"""Values of correlations held at once: 8 MB."""
_SIDE = re.compile(r"(?<![a-z])(left|right|links|rechts|gauche|droite|l|r|od|os)(?![a-z])")
"""Words for the sides of a pair."""

Groups = tuple[tuple[int, ...], ...]
"""Positions of columns, group by group."""


def series_of(schema: Schema) -> Groups:
    """Return the positions of columns that hold the same number at consecutive times.

    These are at least six columns of numbers side by side whose names differ in digits alone, such
    as ``h00`` to ``h23``, in the order of the table. Answers on a scale of whole numbers are not.
    """
    names = [re.sub(r"\d+", "0", name) for name in _names_of_measurements(schema)]
    blocks = (
        (name, tuple(block))
        for name, block in groupby(range(len(names)), key=names.__getitem__)
        if "0" in name
    )
    return tuple(block for _, block in blocks if len(block) >= _SERIES)


def pairs_of(schema: Schema) -> Groups:
    """Return the positions of columns of numbers whose names differ in a side alone.

    Such as ``pressure left`` and ``pressure_right``, or ``R1`` and ``L1``; wherever they stand.
    """
    places: dict[str, list[int]] = {}
    for place, name in enumerate(_names_of_measurements(schema)):
        either, n = _SIDE.subn("*", name.lower())
        if n:
            places.setdefault(either, []).append(place)
    return tuple(tuple(group) for group in places.values() if len(group) == 2)


def _names_of_measurements(schema: Schema) -> Iterator[str]:
    """Yield the name of each column of numbers that are no dates and no scale, "" for others."""
    low, high, whole, _ = schema.limits
    is_scale = whole & (high - low < _SCALE)
    for column, scale in zip(schema.columns, is_scale, strict=True):
        yield column.name if column.is_number and not column.date and not scale else ""


def of_one_range(schema: Schema, groups: Sequence[Sequence[int]]) -> Schema:
    """Return a schema in which any value of a group fits in each of its columns."""
    columns = list(schema.columns)
    low, high, _, missing = schema.limits
    for group in map(list, groups):
        for j in group:
            columns[j] = replace(
                columns[j],
                kind="continuous",
                low=float(low[group].min()),
                high=float(high[group].max()),
                missing=bool(missing[group].any()),
            )
    return Schema(tuple(columns))


def in_any_order(table: Table, groups: Sequence[Sequence[int]]) -> Table:
    """Return the table with the values of each group of columns ascending in every record."""
    values = table.values.copy()
    for group in map(list, groups):
        values[:, group] = np.sort(values[:, group], axis=1)
    return Table(of_one_range(table.schema, groups), values)


def nearest_when_rotated(records: Table, made: Table, series: Sequence[Sequence[int]]) -> Floats:
    """Return (n,) how near each record's series is to a rotated one; 0 for the farthest there are.

    The score is the largest possible distance minus the distance to the nearest synthetic record.
    Numbers count by their rank among all values of a series, so that no unit or outlier decides;
    of all rotations of a synthetic record's series, each by itself, the nearest one counts. All
    rotations are compared at once by the Fourier transforms of both series.

    Parameters
    ----------
    records, made : Table
        Tables of one schema.
    series : sequence of sequence of int
        Positions of the columns of each series.
    """
    spectra = []
    for block in map(list, series):
        released = np.sort(made.values[:, block].ravel())  # missing values last
        n = int(np.count_nonzero(~np.isnan(released)))
        asked, own = (
            np.where(
                np.isnan(table.values[:, block]),
                0.5,
                np.searchsorted(released[:n], table.values[:, block]) / max(n, 1),
            )
            for table in (records, made)
        )
        spectra.append(
            (
                len(block),
                np.conj(np.fft.rfft(asked, axis=1)),
                np.fft.rfft(own, axis=1),
                np.square(asked).sum(axis=1),
                np.square(own).sum(axis=1),
            )
        )
    widest = max(len(block) for block in series)
    step = max(1, _CELLS // (len(made) * widest))
    found = np.empty(len(records))
    for begin in range(0, len(records), step):
        rows = slice(begin, begin + step)
        away = np.zeros((len(found[rows]), len(made)))
        for size, of_records, of_made, squares, squares_made in spectra:
            together = np.fft.irfft(of_records[rows, None] * of_made, n=size, axis=2).max(axis=2)
            away += np.maximum(squares[rows, None] + squares_made - 2 * together, 0.0)
        found[rows] = np.sqrt(away.min(axis=1))
    return np.asarray(np.sqrt(sum(map(len, series))) - found)
