"""Bayes networks over categories: which attribute depends on which, and sampling from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from scipy.special import xlogy

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

Choose = Callable[[Floats, "tuple[Node, ...]"], int]
"""Takes the mutual information of every candidate (c,), and the candidates; returns a number."""

_WHOLE = 1 << 24
"""Float32 counts whole numbers up to here."""


@dataclass(frozen=True)
class Node:
    """An attribute and those that it depends on."""

    attribute: int
    """Its number."""
    parents: tuple[int, ...]
    """Numbers of the attributes it depends on, all earlier in the network."""


@dataclass(frozen=True, eq=False)
class Network:
    """A Bayes network over categories, ready to sample."""

    nodes: tuple[Node, ...]
    """In an order in which parents come first."""
    tables: tuple[Floats, ...]
    """One a node, (product of the parents' sizes, size): p(category | parents), rows sum to 1."""
    sizes: tuple[int, ...]
    """How many categories each attribute has, by its number."""

    def sample(self, n: int, rng: np.random.Generator) -> Ints:
        """Return n records drawn from the network, ancestors first, (n, F)."""
        codes = np.zeros((n, len(self.sizes)), np.int64)
        for node, table in zip(self.nodes, self.tables, strict=True):
            # A draw of 1 - u in (0, 1] never falls behind the last category of any weight.
            drawn = 1.0 - rng.random(n)
            rows = combined(codes, node.parents, self.sizes)
            reached = np.cumsum(table, axis=1)
            reached /= reached[:, -1:]
            # Categories first: numpy adds long rows, not many short ones.
            codes[:, node.attribute] = (drawn > reached.T[:, rows]).sum(axis=0)
        return codes


def combined(codes: Ints, attributes: tuple[int, ...], sizes: tuple[int, ...]) -> Ints:
    """Return one number for the categories of several attributes together, (n,)."""
    found = np.zeros(len(codes), np.int64)
    for attribute in attributes:
        found = found * sizes[attribute] + codes[:, attribute]
    return found


def joint_counts(codes: Ints, node: Node, sizes: tuple[int, ...]) -> Ints:
    """Return how often each category occurs with each combination of parents, (P, v)."""
    n_parents = math.prod(sizes[p] for p in node.parents)
    v = sizes[node.attribute]
    index = combined(codes, (*node.parents, node.attribute), sizes)
    counts: Ints = np.bincount(index, minlength=n_parents * v).reshape(n_parents, v)
    return counts


def mutual_information(counts: Ints) -> float:
    """Return the mutual information of rows and columns of counts (P, v), in nats, at least 0."""
    n = counts.sum()
    whole = xlogy(counts, counts).sum()
    sides = sum(xlogy(side, side).sum() for side in (counts.sum(axis=0), counts.sum(axis=1)))
    return max(0.0, float((whole - sides + xlogy(n, n)) / n))


def pairwise_information(codes: Ints, sizes: tuple[int, ...]) -> Floats:
    """Return the mutual information of every pair of attributes, (F, F), in nats.

    All counts come from one product of the indicators of categories with themselves.
    """
    n, total = len(codes), sum(sizes)
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    shown = np.zeros((n, total), np.float32 if n < _WHOLE else np.float64)
    shown[np.arange(n)[:, None], codes + start] = 1.0
    counts = (shown.T @ shown).astype(np.int64)
    known = xlogy(np.arange(n + 1.0), np.arange(n + 1.0))
    terms = np.add.reduceat(np.add.reduceat(known[counts], start, axis=0), start, axis=1)
    own = np.diag(terms)
    found = (terms - own[:, None] - own + xlogy(n, n)) / n
    return np.asarray(np.maximum(found, 0.0), np.float64)


def learn_structure(
    codes: Ints, sizes: tuple[int, ...], degree: int, choose: Choose, rng: np.random.Generator
) -> tuple[Node, ...]:
    """Return a network grown one attribute at a time.

    Parameters
    ----------
    codes : ndarray of int, shape (n, F)
        Categories of the records.
    sizes : tuple of int, length F
        Categories of each attribute; of the domain, not of the records.
    degree : int
        Most parents of an attribute, in 1..F-1.
    choose : callable
        Picks the next attribute and its parents from the candidates' mutual information.
    rng : numpy.random.Generator
        Draws the first attribute, whatever the records are.

    Notes
    -----
    Zhang et al. (2017), PrivBayes, section 4.1: each step adds a pair of an attribute that is
    not in the network yet and of as many parents as the degree allows.
    """
    n_attributes = len(sizes)
    if not 1 <= degree < max(n_attributes, 2):
        raise InputError(f"degree must be in 1..{max(n_attributes - 1, 1)}, got {degree}")
    nodes = [Node(int(rng.integers(n_attributes)), ())]
    pairs = pairwise_information(codes, sizes) if degree == 1 else None
    while len(nodes) < n_attributes:
        known = sorted(node.attribute for node in nodes)
        left = [attribute for attribute in range(n_attributes) if attribute not in known]
        parents = tuple(combinations(known, min(degree, len(known))))
        candidates = tuple(_node(attribute, some) for attribute in left for some in parents)
        if pairs is not None:
            information = pairs[np.ix_(left, known)].ravel()
        else:
            information = np.array(
                [mutual_information(joint_counts(codes, node, sizes)) for node in candidates]
            )
        nodes.append(candidates[choose(information, candidates)])
    return tuple(nodes)


@lru_cache(maxsize=4_096)
def _node(attribute: int, parents: tuple[int, ...]) -> Node:
    return Node(attribute, parents)


def largest(information: Floats, candidates: tuple[Node, ...]) -> int:
    """Return the candidate of the largest mutual information, the first of equals."""
    return int(np.argmax(information))


def normalised(weights: Floats, spare: Floats) -> Floats:
    """Return rows of weights (P, v) that sum to 1; `spare` (v,) where a row has none."""
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(total > 0, weights / total, spare / spare.sum()), np.float64)


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
