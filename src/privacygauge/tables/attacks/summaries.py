"""Groundhog's attack: summaries of a synthetic table that do not depend on the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.tables.attacks.attack import Answer, Tables, View
from privacygauge.tables.attacks.meta import Features, Forest, MetaClassifier
from privacygauge.tables.generators.binning import Binning
from privacygauge.tables.queries import row_blocks
from privacygauge.tables.table import Schema, Table

Summary = Literal["naive", "histogram", "correlations"]
"""Names of the three sets of features."""

BINS = 10
"""Bins per number in a histogram."""

_CELLS = 1 << 27
"""Correlations of the adversary's tables held at once: 512 MB."""

_DECIMALS = 6
"""Decimals of correlations; further ones are rounding errors, which depend on record order."""


@dataclass(frozen=True)
class Groundhog:
    """A meta-classifier on summaries of the tables.

    Stadler et al. (2022): "naive" (mean, median and variance of numbers; number of categories that
    occur, the most and the least frequent one), "histogram" (shares of categories, and of numbers
    in equally wide bins over the schema's range) and "correlations" (of all pairs of numbers and
    categories, each category a 0/1 column).

    Raises
    ------
    InputError
        If the set of features is unknown.
    """

    summary: Summary = "histogram"
    """Set of features."""
    meta: MetaClassifier = field(default_factory=Forest)
    """Meta-classifier trained on the summaries."""

    name = "groundhog"

    def __post_init__(self) -> None:
        if self.summary not in get_args(Summary):
            raise InputError(
                f"summary must be {', '.join(get_args(Summary))}, got {self.summary!r}"
            )

    @property
    def variant(self) -> str:
        """Set of features."""
        return self.summary

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return the meta-classifier's score of every table."""
        # Columns of "correlations": numbers, and one for each category.
        width = sum(1 if column.is_number else column.n_codes for column in view.schema.columns)
        n_pairs = width * (width - 1) // 2
        if self.summary == "correlations" and n_pairs * len(view.shadows) > _CELLS:
            return Skipped(self.name, f"{n_pairs:,} pairs of categories are too many to correlate")
        found = table_summaries(view.schema, view.shadows, self.summary)
        # Constant summaries carry no information; dropping them uses no labels.
        varies = np.flatnonzero(
            found.min(axis=0, initial=np.inf) < found.max(axis=0, initial=-np.inf)
        )
        if not len(varies):
            return Skipped(self.name, "no summary differs between the adversary's tables")
        learnt = self.meta.fit(found[:, varies], view.inside, rng)
        released = np.empty(len(view.released))
        # In blocks: the released tables' summaries need not be in memory together.
        for part in row_blocks(len(released), found.shape[1]):
            others = table_summaries(view.schema, view.released[part], self.summary)
            released[part] = learnt.scores(others[:, varies])
        return Answer(learnt.own, released)


def table_summaries(schema: Schema, tables: Tables, summary: Summary) -> Features:
    """Return the summaries of tables.

    Parameters
    ----------
    schema : Schema
    tables : ndarray, shape (k, n, F)
        Values of k tables; n is at least 1.
    summary : "naive", "histogram" or "correlations"

    Returns
    -------
    ndarray of float64 (correlations: float32), shape (k, p)
        naive: three per column, in order. histogram: shares of the categories or bins of each
        column, in order, missing values last. correlations: of all pairs, in [-1, 1], 0 with a
        constant column; a missing number counts as the mean of the others.
    """
    parts = [
        _SUMMARIES[summary](schema, tables[part])
        for part in row_blocks(len(tables), tables[:1].size)
    ]
    return np.concatenate(parts)


def _naive(schema: Schema, tables: Tables) -> Features:
    found = []
    for j, column in enumerate(schema.columns):
        if column.is_number:
            found.append(_moments(tables[..., j]))
            continue
        counts = _counts(tables[..., j].astype(np.int64), column.n_codes)
        # Codes that do not occur must not be the rarest: they count as more than all.
        rarest = np.where(counts > 0, counts, counts.sum(axis=1, keepdims=True) + 1).argmin(axis=1)
        extremes = [(counts > 0).sum(axis=1), counts.argmax(axis=1), rarest]
        found.append(np.column_stack(extremes) * 1.0)
    return np.hstack(found)


def _moments(numbers: Tables) -> Floats:
    """Return mean, median and variance (k, 3) of the numbers (k, n) that are present, or 0."""
    here = ~np.isnan(numbers)
    count = here.sum(axis=1)
    values = np.where(here, numbers, 0.0).astype(np.float64)
    mean = values.sum(axis=1) / np.maximum(count, 1)
    gaps = np.where(here, values - mean[:, None], 0.0)
    variance = np.square(gaps).sum(axis=1) / np.maximum(count, 1)
    ordered = np.sort(numbers, axis=1).astype(np.float64)  # missing ones come last
    # Ranks of the two middle values among those present: equal ones if their number is odd.
    middle = np.column_stack([np.maximum(count - 1, 0) // 2, count // 2])
    middle = np.minimum(middle, numbers.shape[1] - 1)
    median = np.take_along_axis(ordered, middle, axis=1).mean(axis=1)
    return np.column_stack([mean, np.where(count > 0, median, 0.0), variance])


def _histogram(schema: Schema, tables: Tables) -> Features:
    binning = Binning(schema, BINS)
    rows = tables.reshape(-1, tables.shape[-1]).astype(np.float64)
    # In single precision, an end of the range may have been rounded to outside the range.
    codes = binning.codes(Table(schema, np.clip(rows, *schema.limits[:2]))).reshape(tables.shape)
    found = [_counts(codes[..., j], size) for j, size in enumerate(binning.sizes)]
    return np.asarray(np.hstack(found) / tables.shape[1])


def _counts(codes: Ints, size: int) -> Ints:
    """Count each code in each table: codes (k, n) to counts (k, size)."""
    # Table i counts in its own range of places: one bincount for all tables.
    k = len(codes)
    places = codes + size * np.arange(k)[:, None]
    return np.bincount(places.ravel(), minlength=k * size).reshape(k, size)


def _correlations(schema: Schema, tables: Tables) -> Features:
    # Numbers and 0/1 columns of categories (k, n, C), centred and of norm 1 or 0: their products
    # are the correlations.
    parts = []
    for j, column in enumerate(schema.columns):
        values = tables[..., j, None].astype(np.float64)
        if not column.is_number:
            values = values == np.arange(column.n_codes)
        elif np.isnan(values).any():
            mean = _moments(tables[..., j])[:, 0]
            values = np.where(np.isnan(values), mean[:, None, None], values)
        # Compared before centring: rounding would give a constant column a tiny norm, and noise.
        constant = values.min(axis=1, keepdims=True) == values.max(axis=1, keepdims=True)
        centred = np.where(constant, 0.0, values - values.mean(axis=1, keepdims=True))
        length = np.sqrt(np.square(centred).sum(axis=1, keepdims=True))
        parts.append(centred / np.where(length > 0, length, 1.0))
    shown = np.concatenate(parts, axis=2)
    upper = np.triu_indices(shown.shape[2], 1)
    found = np.empty((len(tables), len(upper[0])), np.float32)
    for i, columns in enumerate(shown):
        found[i] = np.round((columns.T @ columns)[upper], _DECIMALS)
    return found


_SUMMARIES: Mapping[Summary, Callable[[Schema, Tables], Features]] = {
    "naive": _naive,
    "histogram": _histogram,
    "correlations": _correlations,
}
