"""BayNet: a Bayes network with the counts of the records."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Ints
from privacygauge.synthetic.generators.network import (
    Network,
    joint_counts,
    largest,
    learn_structure,
    normalised,
)


def learn_bayes_net(
    codes: Ints, sizes: tuple[int, ...], degree: int, rng: np.random.Generator
) -> Network:
    """Return the network that BayNet learns from records.

    Parameters
    ----------
    codes : ndarray of int, shape (n, F)
        Categories of the records; numbers in bins.
    sizes : tuple of int, length F
        Categories of each attribute.
    degree : int
        Most parents of an attribute, in 1..F-1; 1 in Meeus et al. (2023).
    rng : numpy.random.Generator

    Notes
    -----
    Greedy: each step takes the pair of the largest mutual information. A category's probability
    is its share among the records with the same parents; where there are none, its share among
    all. No privacy is claimed.
    """
    nodes = learn_structure(codes, sizes, degree, largest, rng)
    tables = []
    for node in nodes:
        counts = joint_counts(codes, node, sizes)
        tables.append(normalised(counts.astype(np.float64), counts.sum(axis=0).astype(np.float64)))
    return Network(nodes, tuple(tables), sizes)
