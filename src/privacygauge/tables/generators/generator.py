"""Generators: from a table to a synthetic table of the same schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.tables.generators.binning import Binning
from privacygauge.tables.generators.network import learn_bayes_net, learn_privbayes
from privacygauge.tables.table import Table

# SynthPop: columns drawn one by one, each from a tree on the columns before it.

LEAF = 5
"""Fewest records per leaf, as in Meeus et al. (2023)."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """A tree on earlier columns, and the training values in each of its leaves."""

    tree: Any
    """Compiled tree of scikit-learn; None if there is nothing to split."""
    values: Floats
    """(n,) Values of the training set, sorted by leaf."""
    start: Ints
    """(number of nodes,) First position of each leaf's values."""
    count: Ints
    """(number of nodes,) Number of each leaf's values; 0 for inner nodes."""


@dataclass(frozen=True, eq=False)
class Sequential:
    """Columns in drawing order, each drawn given the earlier ones."""

    order: tuple[int, ...]
    """Positions of the columns in the order of drawing."""
    leaves: tuple[Leaves, ...]
    """Leaves per column, in the same order."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw n records, (n, F)."""
        drawn = np.zeros((n, len(self.order)))
        before = np.zeros((n, len(self.order)), np.float32)
        for j, (column, leaves) in enumerate(zip(self.order, self.leaves, strict=True)):
            leaf: Ints = np.zeros(n, np.int64)
            if leaves.tree is not None:
                leaf = leaves.tree.apply(np.ascontiguousarray(before[:, :j]))
            # One of the training values in the leaf that the earlier columns lead to.
            place = np.floor(rng.random(n) * leaves.count[leaf]).astype(np.int64)
            drawn[:, column] = leaves.values[leaves.start[leaf] + place]
            before[:, j] = drawn[:, column]
        return drawn


def learn_cart(
    values: Floats,
    categorical: Bools,
    rng: np.random.Generator,
    *,
    order: Sequence[int] | None = None,
    least: int = LEAF,
) -> Sequential:
    """Fit SynthPop's trees to records.

    Parameters
    ----------
    values : ndarray of float, shape (n, F)
        Values: numbers as they are, categories as codes.
    categorical : ndarray of bool, shape (F,)
        True for categorical columns.
    rng : numpy.random.Generator
        Breaks ties between splits.
    order : sequence of int, optional
        Order of the columns; by default their order in `values`.
    least : int
        Fewest records per leaf.

    Notes
    -----
    Nowok, Raab and Dibben (2016). The first column is drawn from its values with replacement. Each
    further column has a tree on all columns before it, split by impurity for categories and by
    squared error for numbers. A value is drawn from the training values in the same leaf, without
    smoothing. Category codes are split as numbers.
    """
    n, n_columns = values.shape
    if n < 1:
        raise InputError("values must hold at least one record")
    if least < 1:
        raise InputError(f"least must be at least 1, got {least}")
    chosen = tuple(range(n_columns)) if order is None else tuple(order)
    if sorted(chosen) != list(range(n_columns)):
        raise InputError(f"order must name each of {n_columns} columns once, got {list(chosen)}")
    from sklearn import config_context
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    singles = np.ascontiguousarray(values[:, chosen], np.float32)
    # scikit-learn's own checks would take as long as the trees.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        leaves = []
        for j, column in enumerate(chosen):
            own = values[:, column]
            # No tree: a first column, too few records for two leaves, or a constant one. One leaf
            # holds all.
            if j == 0 or n < 2 * least or (own == own[0]).all():
                leaves.append(Leaves(None, own, np.zeros(1, np.int64), np.array([n])))
                continue
            kind = DecisionTreeClassifier if categorical[column] else DecisionTreeRegressor
            model = kind(min_samples_leaf=least, random_state=int(rng.integers(2**31)))
            before = np.ascontiguousarray(singles[:, :j])
            model.fit(before, own, check_input=False)
            leaf = model.tree_.apply(before)
            count = np.bincount(leaf, minlength=model.tree_.node_count)
            in_order = own[np.argsort(leaf, kind="stable")]
            leaves.append(Leaves(model.tree_, in_order, np.cumsum(count) - count, count))
    return Sequential(chosen, tuple(leaves))


class Generator(Protocol):
    """Generator of synthetic tables. Frozen; all randomness comes from the `rng` passed in."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    def describe(self) -> Mapping[str, Any]:
        """Return all settings besides the table that affect the result, as JSON values.

        By default these are the fields.
        """
        return dict(vars(self))

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Train on a table; return n synthetic records of its schema."""


@dataclass(frozen=True)
class BayNet(Generator):
    """Greedy Bayesian network on exact counts; numbers in bins of equal width."""

    degree: int = 1
    """Most parents per column; 1 in Meeus et al. (2023)."""
    bins: int = 10
    """Bins per number, over the schema's range."""

    name = "BayNet"

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records drawn from the network."""
        binning = Binning(table.schema, self.bins)
        network = learn_bayes_net(binning.codes(table), binning.sizes, self.degree, rng)
        return binning.table(network.sample(n, rng), rng)


@dataclass(frozen=True)
class PrivBayes(Generator):
    """Bayesian network under differential privacy (Zhang et al. 2017).

    The guarantee holds if the schema (categories, ranges) and the number of records are public; a
    schema inferred from the records is not.
    """

    epsilon: float
    """Privacy budget, above 0, for replacing one record. Half is spent on the structure, half on
    counts."""
    degree: int = 1
    """Most parents per column."""
    bins: int = 10
    """Bins per number, over the schema's range."""

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
    """Fewest records per leaf."""
    order: tuple[str, ...] | None = None
    """Column names in the order of drawing; by default the order of the table."""

    name = "SynthPop"

    def describe(self) -> Mapping[str, Any]:
        """Return the leaf size and the order."""
        return {"least": self.least, "order": None if self.order is None else list(self.order)}

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records whose values all occur in the table."""
        # Missing becomes a number below the range: trees split it off where it matters. For
        # categories -1, which is not a code.
        stand_in = np.array(
            [
                -1.0
                if column.low is None or column.high is None
                else float(column.low - (column.high - column.low) - 1.0)
                for column in table.schema.columns
            ]
        )
        values = np.where(np.isnan(table.values), stand_in, table.values)
        categorical = np.array([not column.is_number for column in table.schema.columns])
        order = None
        if self.order is not None:
            names = list(table.schema.names)
            unknown = [name for name in self.order if name not in names]
            if unknown:
                raise InputError(f"order names {unknown[0]!r}, which is not a column of the table")
            order = [names.index(name) for name in self.order]
        made = learn_cart(values, categorical, rng, order=order, least=self.least)
        drawn = made.sample(n, rng)
        return Table(table.schema, np.where(drawn == stand_in, np.nan, drawn))


@dataclass(frozen=True)
class Marginals(Generator):
    """Independent columns, each resampled: a control that keeps no record together."""

    name = "independent columns"

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records of independent columns."""
        rows = rng.integers(len(table), size=(n, table.values.shape[1]))
        return Table(table.schema, np.take_along_axis(table.values, rows, axis=0))


@dataclass(frozen=True)
class Identity(Generator):
    """The records themselves, resampled: a control that leaks everything."""

    name = "identity"

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n of the records; each exactly once if n is the number of records."""
        if n == len(table):
            return table[rng.permutation(n)]
        return Table(table.schema, table.values[rng.integers(len(table), size=n)])


@dataclass(frozen=True)
class Silence(Generator):
    """Uniform values over the schema's domain: a control that ignores the records."""

    name = "silence"

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records that depend only on the schema."""
        values = np.empty((n, len(table.schema.columns)))
        for j, column in enumerate(table.schema.columns):
            if column.low is None or column.high is None:
                values[:, j] = rng.integers(column.n_codes, size=n)
            elif column.kind == "integer":
                low = int(np.ceil(column.low))
                high = int(np.floor(column.high))
                values[:, j] = rng.integers(low, high + 1, size=n)
            else:
                values[:, j] = rng.uniform(column.low, column.high, size=n)
        return Table(table.schema, values)
