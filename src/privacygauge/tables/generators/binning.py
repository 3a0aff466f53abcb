"""Tables as categories: numbers in bins over the schema's range, or between quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.tables.generators.network import Node, combine_codes, joint_counts
from privacygauge.tables.table import Column, Schema, Table, require_at_least


@dataclass(frozen=True)
class Binning:
    """Encoding of a schema's columns as categories, and back.

    A number falls into one of equally wide bins between the ends that the schema names, regardless
    of the records; bins of whole numbers hold numbers of values as equal as possible. A missing
    number has a bin of its own. Back from a bin, a number is drawn uniformly from it.
    """

    schema: Schema
    """Schema of the tables."""
    bins: int = 10
    """Bins per number, at least 1; fewer if the range has fewer whole numbers."""

    def __post_init__(self) -> None:
        require_at_least(self, bins=1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories of each column, missing values included."""
        return tuple(
            self._grid(column)[4] + column.missing if column.is_number else column.n_codes
            for column in self.schema.columns
        )

    def codes(self, table: Table) -> Ints:
        """Return the categories (n, F) of all records."""
        found = []
        for column, values in zip(self.schema.columns, table.values.T, strict=True):
            if not column.is_number:
                found.append(values.astype(np.int64))
                continue
            low, high, first, count, n_bins = self._grid(column)
            missing = np.isnan(values)
            place = np.where(missing, low, values)
            if column.kind == "integer":
                bins = np.floor((place - first) * n_bins / count)
            else:
                bins = np.floor((place - low) / (high - low or 1.0) * n_bins)
            # The largest number, and rounding, would fall into a bin past the last.
            clipped = np.clip(bins, 0, n_bins - 1)
            found.append(np.where(missing, n_bins, clipped).astype(np.int64))
        return np.column_stack(found)

    def table(self, codes: Ints, rng: np.random.Generator) -> Table:
        """Return records from categories (n, F); numbers are drawn uniformly from their bins."""
        found = []
        for column, bins in zip(self.schema.columns, codes.T, strict=True):
            if not column.is_number:
                found.append(bins.astype(np.float64))
                continue
            low, high, first, count, n_bins = self._grid(column)
            drawn = rng.random(len(bins))
            if column.kind == "integer":
                start = np.ceil(bins * count / n_bins)
                end = np.ceil((bins + 1) * count / n_bins)
                values = first + start + np.floor(drawn * (end - start))
            else:
                values = low + (bins + drawn) / n_bins * (high - low)
            # Bin n_bins, if present, is that of missing numbers.
            found.append(np.where(bins == n_bins, np.nan, np.clip(values, low, high)))
        return Table(self.schema, np.column_stack(found))

    def ends(self, record: Floats) -> Floats:
        """Return the smallest and largest value, (F, 2), in the bin of each value of a record.

        Both are the value itself for a category, for a missing number, and in a column of one
        value.
        """
        ends = []
        for column, value in zip(self.schema.columns, record.tolist(), strict=True):
            if not column.is_number or math.isnan(value) or column.low == column.high:
                ends.append((value, value))
                continue
            low, high, first, count, n_bins = self._grid(column)
            if column.kind == "integer":
                place = int((value - first) * n_bins // count)
                # The inverse of the floor in `codes`: bin i starts at the smallest whole number
                # mapped to it.
                start, end = (math.ceil(i * count / n_bins) for i in (place, place + 1))
                ends.append((first + start, first + end - 1.0))
                continue
            width = (high - low) / n_bins
            place = min(int((value - low) / width), n_bins - 1)
            # A bin excludes its right end, except for the last bin.
            right = np.nextafter(low + (place + 1) * width, 0.0)
            ends.append((low + place * width, high if place == n_bins - 1 else right))
        return np.array(ends)

    def _grid(self, column: Column) -> tuple[float, float, int, int, int]:
        """Return a number's range, its first whole number, their number, and the number of bins."""
        assert column.low is not None  # a schema checks that numbers have a range
        assert column.high is not None
        low = float(column.low)
        high = float(column.high)
        first = math.ceil(low)
        count = math.floor(high) - first + 1
        if column.kind == "integer":
            return low, high, first, count, min(self.bins, count)
        return low, high, first, count, self.bins if high > low else 1


@dataclass(frozen=True, eq=False)
class QuantileBins:
    """Bins of each column between quantiles of its numbers.

    A number greater than i of the edges is in bin i, so the first and the last bin are unbounded. A
    missing number is in a bin of its own, the last one.
    """

    edges: tuple[Floats | None, ...]
    """Inner edges per column, ascending; None for categories."""
    places: tuple[Ints | None, ...]
    """New code of each category of a column; None if codes stay unchanged."""
    sizes: tuple[int, ...]
    """Number of codes of each column."""

    @classmethod
    def of(cls, table: Table, n_bins: int, most: int | None = None) -> QuantileBins:
        """Return bins at the quantiles of a table's numbers; equal quantiles count once.

        If a column has more than `most` categories, the most frequent ones in the table keep a
        code, and all others share one.
        """
        if n_bins < 2:
            raise InputError(f"n_bins must be at least 2, got {n_bins}")
        inner = np.linspace(0.0, 1.0, n_bins + 1)[1:-1]
        edges: list[Floats | None] = []
        places: list[Ints | None] = []
        sizes: list[int] = []
        for column, values in zip(table.schema.columns, table.values.T, strict=True):
            cut = place = None
            size = column.n_codes
            if column.is_number:
                there = values[~np.isnan(values)]
                # inverted_cdf: every edge is a value of the table.
                quantiles = np.quantile(there, inner, method="inverted_cdf") if len(there) else []
                cut = np.unique(np.asarray(quantiles, np.float64))
                size = len(cut) + 1 + column.missing
            elif most is not None and size > most:
                # The most frequent codes keep one each, and the last is for all others.
                counts = np.bincount(values.astype(np.int64), minlength=size)
                place = np.full(size, most - 1)
                place[np.argsort(-counts, kind="stable")[: most - 1]] = np.arange(most - 1)
                size = int(place.max()) + 1
            edges.append(cut)
            places.append(place)
            sizes.append(size)
        return cls(tuple(edges), tuple(places), tuple(sizes))

    def codes(self, table: Table) -> Ints:
        """Return the codes (n, F) of a table's records."""
        found = []
        for edges, place, values in zip(self.edges, self.places, table.values.T, strict=True):
            if edges is None:
                codes = values.astype(np.int64)
                found.append(codes if place is None else place[codes])
                continue
            bins = np.searchsorted(edges, values, side="left")
            found.append(np.where(np.isnan(values), len(edges) + 1, bins))
        return np.column_stack(found)


def log_densities(
    asked: Ints, codes: Ints, nodes: tuple[Node, ...], sizes: tuple[int, ...], weight: float = 1.0
) -> Floats:
    """Return log probabilities (q,) of records under a tree of attributes.

    Parameters
    ----------
    asked : ndarray of int, shape (q, F)
        Codes of the queried records.
    codes : ndarray of int, shape (n, F)
        Codes of the table in which the probabilities are counted.
    nodes : tuple of Node
        Nodes of the tree, as `learn_structure` returns them.
    sizes : tuple of int, length F
        Number of codes of each attribute.
    weight : float, default 1
        Weight of the prior of each table of counts, in records, above 0.

    Notes
    -----
    Chow and Liu (1968): p(x) is the product of p(x_j | x_parent(j)). A conditional share is shrunk
    towards the attribute's own share, and this towards equal shares, each by `weight` records, so
    that values that do not occur keep a probability above 0.
    """
    total = np.zeros(len(asked))
    for node in nodes:
        j = node.attribute
        n_codes = sizes[node.attribute]
        # (parents' combinations, n_codes)
        counts = joint_counts(codes, node, sizes)
        own = (counts.sum(axis=0) + weight / n_codes) / (len(codes) + weight)
        shares = (counts + weight * own) / (counts.sum(axis=1, keepdims=True) + weight)
        total += np.log(shares[combine_codes(asked, node.parents, sizes), asked[:, j]])
    return total


def log_shares(codes: Ints, size: int, prior: Floats | None, weight: float) -> Floats:
    """Return log shares (size,) of codes, shrunk towards a prior.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Codes in 0..size - 1.
    size : int
        Number of codes.
    prior : ndarray, shape (size,), or None
        Shares to shrink towards; None for equal ones.
    weight : float
        Weight of the prior, in records, above 0.
    """
    towards = np.full(size, 1.0 / size) if prior is None else prior
    counts = np.bincount(codes, minlength=size)
    return np.asarray(np.log((counts + weight * towards) / (len(codes) + weight)))
