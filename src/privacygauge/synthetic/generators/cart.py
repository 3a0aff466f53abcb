"""SynthPop: columns drawn one by one, each from a tree on the earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

LEAF = 5
"""Fewest records in a leaf, as in Meeus et al. (2023)."""

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Leaves:
    """A tree on earlier columns, and the values in each of its leaves."""

    tree: Any
    """Compiled tree of scikit-learn; None where nothing can be split."""
    values: Floats
    """(n,) Values of the training set, leaf by leaf."""
    start: Ints
    """(number of nodes,) First position of a leaf's values."""
    count: Ints
    """(number of nodes,) Number of a leaf's values."""

    def draw(self, before: Singles, rng: np.random.Generator) -> Floats:
        """Draw a value from the leaf of each row of earlier columns (m, j), (m,)."""
        leaf: Ints = np.zeros(len(before), np.int64)
        if self.tree is not None:
            leaf = self.tree.apply(before)
        place = np.floor(rng.random(len(before)) * self.count[leaf]).astype(np.int64)
        return np.asarray(self.values[self.start[leaf] + place], np.float64)


@dataclass(frozen=True, eq=False)
class Sequential:
    """Columns in order, each drawn given the earlier ones."""

    order: tuple[int, ...]
    """Positions of the columns, in the order of drawing."""
    leaves: tuple[Leaves, ...]
    """Leaves per column, in the same order."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw n records, (n, F)."""
        drawn = np.zeros((n, len(self.order)))
        before = np.zeros((n, len(self.order)), np.float32)
        for j, (column, leaves) in enumerate(zip(self.order, self.leaves, strict=True)):
            drawn[:, column] = leaves.draw(np.ascontiguousarray(before[:, :j]), rng)
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
        Numbers as they are, categories as codes.
    categorical : ndarray of bool, shape (F,)
        True for categorical columns.
    rng : numpy.random.Generator
        Breaks ties between splits.
    order : sequence of int, optional
        The columns' order; default: as they stand.
    least : int
        Fewest records in a leaf.

    Notes
    -----
    Nowok, Raab and Dibben (2016). The first column is drawn from its values, with replacement.
    Each further one has a tree on all before it, by impurity for categories and by squared error
    for numbers; a value is drawn from those of the training set in the same leaf, not smoothed.
    Codes of categories are split as numbers.
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

    singles = np.ascontiguousarray(values[:, chosen], np.float32)
    # What scikit-learn would check takes as long as its trees.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        leaves = tuple(
            _grown(
                singles[:, :j],
                values[:, column],
                categorical=bool(categorical[column]),
                least=least,
                rng=rng,
            )
            for j, column in enumerate(chosen)
        )
    return Sequential(chosen, leaves)


def _grown(
    before: Singles, values: Floats, categorical: bool, least: int, rng: np.random.Generator
) -> Leaves:
    n = len(values)
    if before.shape[1] == 0 or n < 2 * least or (values == values[0]).all():
        return Leaves(None, values, np.zeros(1, np.int64), np.array([n]))
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeClassifier if categorical else DecisionTreeRegressor
    model = kind(min_samples_leaf=least, random_state=int(rng.integers(2**31)))
    known = np.ascontiguousarray(before)
    model.fit(known, values, check_input=False)
    tree = model.tree_
    leaf = tree.apply(known)
    count = np.bincount(leaf, minlength=tree.node_count)
    return Leaves(tree, values[np.argsort(leaf, kind="stable")], np.cumsum(count) - count, count)
