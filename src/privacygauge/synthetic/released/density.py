"""How likely a record is under the pairwise counts of a table."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.synthetic.generators.network import Node, combined, joint_counts


def log_densities(
    asked: Ints, codes: Ints, nodes: tuple[Node, ...], sizes: tuple[int, ...], weight: float = 1.0
) -> Floats:
    """Return (q,) logarithms of the probability of records under a tree of attributes.

    Parameters
    ----------
    asked : ndarray of int, shape (q, F)
        Codes of the records.
    codes : ndarray of int, shape (n, F)
        Codes of the table that the probabilities are counted in.
    nodes : tuple of Node
        Which attribute depends on which.
    sizes : tuple of int, length F
        Codes of each attribute.
    weight : float, default 1
        How many records the prior of each table of counts is worth, above 0.

    Notes
    -----
    Chow and Liu (1968): p(x) is the product of p(x_j | x_parent(j)). A conditional share is drawn
    towards the attribute's own share, and this towards equal shares, each by `weight` records, so
    that what does not occur keeps a probability above 0.
    """
    total = np.zeros(len(asked))
    for node in nodes:
        j, n_codes = node.attribute, sizes[node.attribute]
        counts = joint_counts(codes, node, sizes)
        own = (counts.sum(axis=0) + weight / n_codes) / (len(codes) + weight)
        shares = (counts + weight * own) / (counts.sum(axis=1, keepdims=True) + weight)
        total += np.log(shares[combined(asked, node.parents, sizes), asked[:, j]])
    return total


def log_shares(codes: Ints, size: int, prior: Floats | None, weight: float) -> Floats:
    """Return (size,) logarithms of the shares of codes, drawn towards a prior.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        In 0..size - 1.
    size : int
        How many codes there are.
    prior : ndarray, shape (size,), or None
        Shares to draw towards; equal ones for None.
    weight : float
        How many records the prior is worth, above 0.
    """
    towards = np.full(size, 1.0 / size) if prior is None else prior
    counts = np.bincount(codes, minlength=size)
    return np.asarray(np.log((counts + weight * towards) / (len(codes) + weight)))
