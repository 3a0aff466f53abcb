"""Density ratio: is the target likelier under the synthetic records than under known ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.synthetic.attacks.attack import Answer, Tables, View
from privacygauge.synthetic.attacks.matching import answers_on, same_bin
from privacygauge.synthetic.generators.binning import Binning
from privacygauge.synthetic.generators.network import Node, largest, learn_structure

CELL = 0.5
"""Records that are added to every cell of a marginal: no density is 0."""


@dataclass(frozen=True)
class DensityRatio:
    """The log of the density of the synthetic records at the target over that of known ones.

    As DOMIAS (van Breugel et al. 2023), log p_synthetic(x) - log p_known(x), with
    densities from marginals: each column given at most `degree` others, the tree (or network)
    that has the most mutual information in the known records. Numbers are in equally wide bins
    over the schema's range, and half a record is added to every cell.

    Nothing is learnt from labels, so that the own scores are plain values. The known records'
    term is the same for all tables of one target: it changes no AUC of one, and is there so that
    targets can be compared.

    Raises
    ------
    InputError
        If a number is out of its range.
    """

    degree: int = 1
    """Most columns that another is given; 0 for independent columns."""
    bins: int = 10
    """Bins of a number, at least 1."""

    name = "density-ratio"

    def __post_init__(self) -> None:
        if self.degree < 0:
            raise InputError(f"degree must be at least 0, got {self.degree}")
        if self.bins < 1:
            raise InputError(f"bins must be at least 1, got {self.bins}")

    @property
    def variant(self) -> str:
        """How columns depend on each other."""
        return {0: "independent", 1: "tree"}.get(self.degree, f"degree {self.degree}")

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return the log ratios of all tables."""
        if not len(view.known):
            return Skipped(self.name, "it needs known records to compare with, and there are none")
        nodes = self._structure(view, rng)
        known = self._log_density(view, nodes, view.known.values[None])
        own, released = (
            self._log_density(view, nodes, tables) - known
            for tables in (view.shadows, view.released)
        )
        return Answer(own, released)

    def _structure(self, view: View, rng: np.random.Generator) -> tuple[Node, ...]:
        width = len(view.target)
        if self.degree == 0 or width == 1:
            return tuple(Node(j, ()) for j in range(width))
        binning = Binning(view.schema, self.bins)
        degree = min(self.degree, width - 1)
        return learn_structure(binning.codes(view.known), binning.sizes, degree, largest, rng)

    def _log_density(self, view: View, nodes: tuple[Node, ...], tables: Tables) -> Floats:
        """Return the log density of each table (k, n, F) at the target, (k,)."""
        conditions = same_bin(view.schema, view.target, self.bins)
        sizes = Binning(view.schema, self.bins).sizes
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
    """Return subsets as an array, smaller ones with their last attribute again."""
    most = max(len(subset) for subset in named)
    return np.array([subset + subset[-1:] * (most - len(subset)) for subset in named])
