"""Distance of the target to the closest synthetic record, and its density in the table.

Densities are compared with those in the records that the adversary knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.tables.attacks.attack import Answer, Tables, View
from privacygauge.tables.attacks.meta import Features, separation, stratified_folds
from privacygauge.tables.attacks.query_based import (
    Comparison,
    answers_on,
    asked_once,
    check_comparisons,
    conditions_of,
    same_bin,
    subsets_up_to,
)
from privacygauge.tables.distance import Cosine, Distance
from privacygauge.tables.generators.binning import Binning
from privacygauge.tables.generators.network import Node, learn_structure, most_informative
from privacygauge.tables.queries import row_blocks
from privacygauge.tables.table import Schema, require_at_least


@dataclass(frozen=True)
class ClosestDistance:
    """Minus the target's mean distance to the k nearest synthetic records.

    The distance is that of the vulnerability score (Meeus et al. 2023, equations 1 to 5), but
    numbers are scaled over the schema's range, the same for all tables. Nothing is learnt, so the
    own scores need no cross-fitting. The attack finds copies and little else: its failure is not
    evidence of safety.

    Raises
    ------
    InputError
        If k is below 1.
    """

    k: int = 1
    """Number of neighbours, at least 1."""
    distance: Distance = field(default_factory=Cosine)
    """Distance between two records."""

    name = "closest-distance"

    def __post_init__(self) -> None:
        require_at_least(self, k=1)

    @property
    def variant(self) -> str:
        """Number of neighbours; empty for the nearest alone."""
        return "" if self.k == 1 else f"k = {self.k}"

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return minus the mean distance for every table."""
        fewest = min(view.shadows.shape[1], view.released.shape[1])
        if fewest < self.k:
            return Skipped(self.name, f"the tables hold fewer than k = {self.k} records")
        return Answer(-self._of_tables(view, view.shadows), -self._of_tables(view, view.released))

    def _of_tables(self, view: View, tables: Tables) -> Floats:
        found = np.empty(len(tables))
        for part in row_blocks(len(tables), tables[:1].size):
            distances = distances_to(view.schema, view.target, tables[part], self.distance)
            # Only the k smallest are needed, in any order.
            nearest = np.partition(distances, self.k - 1, axis=1)[:, : self.k]
            found[part] = nearest.mean(axis=1)
        return found


def distances_to(schema: Schema, target: Floats, tables: Tables, distance: Distance) -> Floats:
    """Return the distance of the target to each record of each table.

    Parameters
    ----------
    schema : Schema
        Schema; numbers are scaled from 0 at its low to 1 at its high.
    target : ndarray, shape (F,)
    tables : ndarray, shape (k, n, F)
    distance : Distance

    Returns
    -------
    ndarray, shape (k, n)
        At least 0. A missing number is a value of its own, by its indicator.
    """
    width = len(schema.columns)
    # The target is the last row, so that it is scaled and encoded like the others.
    rows = np.vstack([tables.reshape(-1, width), target.astype(tables.dtype)])
    cat = list(schema.categorical)
    cont = list(schema.numbers)
    mismatches: Ints = np.count_nonzero(rows[:-1, cat] != rows[-1, cat], axis=1)
    # Weighted by the shares of columns, as in equation 5.
    found = len(cat) / width * distance.of_categories(mismatches, len(cat))
    if cont:
        low, high, _, may_miss = (end[cont] for end in schema.limits)
        numbers = rows[:, cont]
        missing = np.isnan(numbers)
        # Halves, since high - low overflows for the largest numbers.
        half = high / 2 - low / 2
        inside = (numbers / 2 - low / 2) / np.where(half > 0, half, 1.0)
        # A missing number becomes 0, with a 1 in an indicator column.
        inside = np.where(missing | (half <= 0), 0.0, np.clip(inside, 0.0, 1.0))
        coordinates = distance.coordinates(
            np.hstack([inside, missing[:, may_miss].astype(np.float64)])
        )
        of_numbers = distance.of_numbers(coordinates[:-1], coordinates[-1])
        found = found + len(cont) / width * of_numbers
    return np.asarray(found).reshape(tables.shape[:-1])


CELL = 0.5
"""Pseudocount of every cell of a marginal, in records, so that no density is 0."""


@dataclass(frozen=True)
class DensityRatio:
    """Log density of the synthetic records at the target minus that of known records.

    As DOMIAS (van Breugel et al. 2023), log p_synthetic(x) - log p_known(x), with densities from
    marginals: each column is conditioned on at most `degree` others, by the tree (or network) with
    the most mutual information in the known records. Numbers are put in equally wide bins over the
    schema's range, and half a record is added to every cell.

    Nothing is learnt from labels, so the own scores need no cross-fitting. The known records' term
    is the same for all tables of one target: it does not change a target's AUC, but makes targets
    comparable.

    Raises
    ------
    InputError
        If a number is out of its range.
    """

    degree: int = 1
    """Most columns that a column is conditioned on; 0 for independent columns."""
    bins: int = 10
    """Bins per number, at least 1."""

    name = "density-ratio"

    def __post_init__(self) -> None:
        require_at_least(self, degree=0, bins=1)

    @property
    def variant(self) -> str:
        """Degree of dependence between columns."""
        return {0: "independent", 1: "tree"}.get(self.degree, f"degree {self.degree}")

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return the log ratio of every table."""
        if not len(view.known):
            return Skipped(self.name, "it needs known records to compare with, and there are none")
        width = len(view.target)
        nodes = tuple(Node(j, ()) for j in range(width))
        if self.degree > 0 and width > 1:
            binning = Binning(view.schema, self.bins)
            nodes = learn_structure(
                binning.codes(view.known),
                binning.sizes,
                degree=min(self.degree, width - 1),
                choose=most_informative,
                rng=rng,
            )
        known = self._log_density(view, nodes, view.known.values[None])
        own, released = (
            self._log_density(view, nodes, tables) - known
            for tables in (view.shadows, view.released)
        )
        return Answer(own, released)

    def _log_density(self, view: View, nodes: tuple[Node, ...], tables: Tables) -> Floats:
        """Return the log density of each table (k, n, F) at the target, (k,)."""
        conditions = same_bin(view.schema, view.target, self.bins)
        sizes = Binning(view.schema, self.bins).sizes
        # p(x) is the product over nodes of count(attribute, parents) / count(parents).
        families = [(*node.parents, node.attribute) for node in nodes]
        joint = answers_on(tables, (conditions,), (_subsets(families),))
        given = np.full(joint.shape, float(tables.shape[1]))
        inner = [i for i, node in enumerate(nodes) if node.parents]
        if inner:
            parents = _subsets([nodes[i].parents for i in inner])
            given[:, inner] = answers_on(tables, (conditions,), (parents,))
        cells = np.array([sizes[node.attribute] for node in nodes])
        return np.asarray(np.log((joint + CELL) / (given + CELL * cells)).sum(axis=1))


def _subsets(named: list[tuple[int, ...]]) -> Ints:
    """Return subsets as an array; shorter ones repeat their last attribute."""
    most = max(len(subset) for subset in named)
    return np.array([subset + subset[-1:] * (most - len(subset)) for subset in named])


MOST_MARGINALS = 1 << 14
"""Most marginals: all of orders 1 to 3 for 45 attributes."""

_CELLS = 1 << 25
"""Log ratios of the adversary's tables held at once: 128 MB."""
_HALF = 0.5
"""Pseudocount in records, so that every share is above 0 and every log ratio finite."""


@dataclass(frozen=True)
class MarginalRatio:
    """Weighted mean of log ratios of the target's marginals, in a table against known records.

    In the manner of MAMA-MIA (Golob et al. 2024), which sums such ratios over the marginals that a
    generator preserves. Here the weights show which those are: the squared difference, in standard
    deviations, of the mean log ratios of the adversary's tables with and without the target, and 0
    where the target makes its marginal rarer. This is a far simpler learner than that of the
    query-based attack, since the sign of every marginal's effect is known. Own scores are
    cross-fitted.

    Raises
    ------
    InputError
        If a comparison is unknown, named twice or missing, or a number is out of range.
    """

    order: int = 3
    """Largest order of a marginal, at least 1."""
    compare: tuple[Comparison, ...] = ("equal", "same bin")
    """Comparisons of numbers with the target's, one or several."""
    folds: int = 5
    """Folds for cross-fitting the own scores, at least 2."""

    name = "marginal-ratio"

    def __post_init__(self) -> None:
        check_comparisons(self.compare)
        require_at_least(self, order=1, folds=2)

    @property
    def variant(self) -> str:
        """Largest order of a marginal."""
        return f"order {self.order}"

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return the weighted mean of every table."""
        if not len(view.known):
            return Skipped(self.name, "it needs known records to compare with, and there are none")
        kinds = conditions_of(view.schema, view.target, self.compare)
        # Bounded so that the log ratios of all tables (k, q) fit into memory.
        most = min(MOST_MARGINALS, _CELLS // max(map(len, (view.shadows, view.released))))
        found = subsets_up_to(len(view.target), max(1, most // len(kinds)), self.order, rng)
        subsets = asked_once(view.schema, found, len(kinds))

        def logs(tables: Tables) -> Features:
            counts = answers_on(tables, kinds, subsets)
            # Single precision throughout: half the memory, and counts are exact in it.
            shares = (counts + np.float32(_HALF)) / np.float32(tables.shape[1] + 1)
            return np.asarray(np.log(shares), np.float32)

        expected = logs(view.known.values[None])
        own = logs(view.shadows) - expected
        # Cross-fitted: the weights for an own table come from the other folds.
        fold = stratified_folds(view.inside, self.folds, rng)
        scores = np.zeros(len(view.inside))
        for k in range(self.folds):
            out = fold == k
            scores[out] = own[out] @ _weights(own[~out], view.inside[~out])
        return Answer(scores, (logs(view.released) - expected) @ _weights(own, view.inside))


def _weights(ratios: Features, inside: Bools) -> Floats:
    """Return the weight of each marginal, (q,); weights sum to 1."""
    weights = np.square(np.maximum(separation(ratios, inside), 0.0))
    total = weights.sum()
    return np.asarray(weights / total if total > 0 else np.full(len(weights), 1 / len(weights)))
