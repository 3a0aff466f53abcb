"""Generators: from a table to a synthetic table of the same schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from privacygauge.core.checks import Floats
from privacygauge.errors import InputError
from privacygauge.synthetic.generators.binning import Binning
from privacygauge.synthetic.generators.cart import LEAF, learn_cart
from privacygauge.synthetic.generators.network import learn_bayes_net, learn_privbayes
from privacygauge.synthetic.schema import Column
from privacygauge.synthetic.table import Table


class Generator(Protocol):
    """Generator of synthetic tables. Frozen; all randomness comes from the `rng` passed in."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that the result depends on besides the table, as JSON values."""

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Train on a table; return n synthetic records of its schema."""


@dataclass(frozen=True)
class _Chosen:
    """Mixin for dataclasses that their fields describe."""

    def describe(self) -> Mapping[str, Any]:
        """Return the options as a dict; empty where there are none."""
        return asdict(self)


@dataclass(frozen=True)
class BayNet(_Chosen):
    """Greedy Bayesian network of the records' counts; numbers in bins of equal width."""

    degree: int = 1
    """Most parents of a column; 1 in Meeus et al. (2023)."""
    bins: int = 10
    """Bins of a number, over the schema's range."""

    name = "BayNet"

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records drawn from the network."""
        binning = Binning(table.schema, self.bins)
        network = learn_bayes_net(binning.codes(table), binning.sizes, self.degree, rng)
        return binning.table(network.sample(n, rng), rng)


@dataclass(frozen=True)
class PrivBayes(_Chosen):
    """Bayesian network under differential privacy (Zhang et al. 2017).

    The guarantee holds if the schema (categories, ranges) and the number of records are public: a
    schema inferred from the records is not.
    """

    epsilon: float
    """Privacy budget, above 0, for replacing one record. Half is spent on the structure, half on
    counts."""
    degree: int = 1
    """Most parents of a column."""
    bins: int = 10
    """Bins of a number, over the schema's range."""

    name = "PrivBayes"

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise InputError(f"epsilon must be above 0, got {self.epsilon}")

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records drawn from the network."""
        binning = Binning(table.schema, self.bins)
        codes = binning.codes(table)
        network = learn_privbayes(
            codes, binning.sizes, degree=self.degree, epsilon=self.epsilon, rng=rng
        )
        return binning.table(network.sample(n, rng), rng)


@dataclass(frozen=True)
class SynthPop:
    """Columns drawn one by one, each from a tree on the earlier ones (Nowok et al. 2016)."""

    least: int = LEAF
    """Fewest records in a leaf."""
    order: tuple[str, ...] | None = None
    """Names of the columns in the order of drawing; by default that of the table."""

    name = "SynthPop"

    def describe(self) -> Mapping[str, Any]:
        """Return the leaf size and the order."""
        return {"least": self.least, "order": None if self.order is None else list(self.order)}

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records whose values all occur in the table."""
        # A missing number is a number below all others: trees split it off where it matters.
        stand_in = np.array([_below_range(column) for column in table.schema.columns])
        values = np.where(np.isnan(table.values), stand_in, table.values)
        categorical = np.array([not column.is_number for column in table.schema.columns])
        made = learn_cart(values, categorical, rng, order=self._order(table), least=self.least)
        drawn = made.sample(n, rng)
        return Table(table.schema, np.where(drawn == stand_in, np.nan, drawn))

    def _order(self, table: Table) -> Sequence[int] | None:
        if self.order is None:
            return None
        names = list(table.schema.names)
        unknown = [name for name in self.order if name not in names]
        if unknown:
            raise InputError(f"order names {unknown[0]!r}, which is not a column of the table")
        return [names.index(name) for name in self.order]


def _below_range(column: Column) -> float:
    """Return a number below a column's range; -1, which is not a code, for categories."""
    if column.low is None or column.high is None:
        return -1.0
    return float(column.low - (column.high - column.low) - 1.0)


@dataclass(frozen=True)
class Marginals(_Chosen):
    """Independent columns, resampled: a control that keeps no record together."""

    name = "independent columns"

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records of independent columns."""
        rows = rng.integers(len(table), size=(n, table.values.shape[1]))
        return Table(table.schema, np.take_along_axis(table.values, rows, axis=0))


@dataclass(frozen=True)
class Identity(_Chosen):
    """The records themselves, resampled: a control that leaks everything."""

    name = "identity"

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n of the records; each once where n is the number of records."""
        if n == len(table):
            return table[rng.permutation(n)]
        return Table(table.schema, table.values[rng.integers(len(table), size=n)])


@dataclass(frozen=True)
class Silence(_Chosen):
    """Uniform over the schema's domain: a control that ignores the records."""

    name = "silence"

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records that depend on the schema alone."""
        columns = [_any_value(column, n, rng) for column in table.schema.columns]
        return Table(table.schema, np.column_stack(columns))


def _any_value(column: Column, n: int, rng: np.random.Generator) -> Floats:
    if column.low is None or column.high is None:
        return rng.integers(column.n_codes, size=n).astype(np.float64)
    if column.kind == "integer":
        low = int(np.ceil(column.low))
        high = int(np.floor(column.high))
        return rng.integers(low, high + 1, size=n).astype(np.float64)
    return rng.uniform(column.low, column.high, size=n)
