"""Tables as categories alone: numbers in bins over the schema's range."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.synthetic.schema import Column, Schema
from privacygauge.synthetic.table import Table, require_at_least


@dataclass(frozen=True)
class Binning:
    """How the columns of a schema become categories, and numbers again.

    A number falls in one of equally wide bins between the ends that the schema names, whatever
    the records are; whole numbers in bins of as equal a count as can be. A missing number has a
    bin of its own. A bin stands for a number drawn uniformly from it.
    """

    schema: Schema
    """The columns."""
    bins: int = 10
    """Bins of a number; fewer where there are fewer whole numbers."""

    def __post_init__(self) -> None:
        require_at_least(self, bins=1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many categories each column has."""
        return tuple(
            self._n_bins(column) + column.missing if column.is_number else column.n_codes
            for column in self.schema.columns
        )

    def codes(self, table: Table) -> Ints:
        """Return the categories of every record, (n, F)."""
        columns = zip(self.schema.columns, table.values.T, strict=True)
        return np.column_stack([self._codes(column, values) for column, values in columns])

    def table(self, codes: Ints, rng: np.random.Generator) -> Table:
        """Return records for categories (n, F); numbers are drawn from their bins."""
        columns = zip(self.schema.columns, codes.T, strict=True)
        values = [self._values(column, found, rng) for column, found in columns]
        return Table(self.schema, np.column_stack(values))

    def ends(self, record: Floats) -> Floats:
        """Return the least and the largest value in the bin of each of a record's values, (F, 2).

        Both are the value itself for a category, and where a column has one value or the number
        is missing.
        """
        values = zip(self.schema.columns, record.tolist(), strict=True)
        return np.array([self._ends_of_bin(column, value) for column, value in values])

    def _ends_of_bin(self, column: Column, value: float) -> tuple[float, float]:
        if not column.is_number or math.isnan(value) or column.low == column.high:
            return value, value
        (low, high), n_bins = _ends(column), self._n_bins(column)
        if column.kind == "integer":
            first, count = _first(low, high)
            place = int((value - first) * n_bins // count)
            start, end = (math.ceil(i * count / n_bins) for i in (place, place + 1))
            return first + start, first + end - 1.0
        width = (high - low) / n_bins
        place = min(int((value - low) / width), n_bins - 1)
        # A bin holds its left end only, but for the last.
        last = place == n_bins - 1
        return low + place * width, high if last else np.nextafter(low + (place + 1) * width, 0.0)

    def _n_bins(self, column: Column) -> int:
        low, high = _ends(column)
        if column.kind == "integer":
            return min(self.bins, _first(low, high)[1])
        return self.bins if high > low else 1

    def _codes(self, column: Column, values: Floats) -> Ints:
        if not column.is_number:
            return values.astype(np.int64)
        (low, high), n_bins = _ends(column), self._n_bins(column)
        missing = np.isnan(values)
        place = np.where(missing, low, values)
        if column.kind == "integer":
            first, count = _first(low, high)
            found = np.floor((place - first) * n_bins / count)
        else:
            found = np.floor((place - low) / (high - low or 1.0) * n_bins)
        clipped = np.clip(found, 0, n_bins - 1)
        return np.where(missing, n_bins, clipped).astype(np.int64)

    def _values(self, column: Column, codes: Ints, rng: np.random.Generator) -> Floats:
        if not column.is_number:
            return codes.astype(np.float64)
        (low, high), n_bins = _ends(column), self._n_bins(column)
        drawn = rng.random(len(codes))
        if column.kind == "integer":
            first, count = _first(low, high)
            start = np.ceil(codes * count / n_bins)
            end = np.ceil((codes + 1) * count / n_bins)
            values = first + start + np.floor(drawn * (end - start))
        else:
            values = low + (codes + drawn) / n_bins * (high - low)
        return np.where(codes == n_bins, np.nan, np.clip(values, low, high))


def _ends(column: Column) -> tuple[float, float]:
    assert column.low is not None  # a schema checks that numbers have a range
    assert column.high is not None
    return float(column.low), float(column.high)


def _first(low: float, high: float) -> tuple[int, int]:
    """Return the first whole number of a range, and how many there are."""
    first = math.ceil(low)
    return first, math.floor(high) - first + 1
