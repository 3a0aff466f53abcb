"""PrivBayes: a Bayes network under differential privacy (Zhang et al. 2017)."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.synthetic.generators.network import (
    Network,
    Node,
    joint_counts,
    learn_structure,
    normalised,
)


def learn_privbayes(
    codes: Ints, sizes: tuple[int, ...], degree: int, epsilon: float, rng: np.random.Generator
) -> Network:
    """Return a network that is epsilon-differentially private in the records.

    Parameters
    ----------
    codes : ndarray of int, shape (n, F)
        Categories of the records; numbers in bins whose ends do not depend on the records.
    sizes : tuple of int, length F
        Categories of each attribute, of the domain and not of the records.
    degree : int
        Most parents of an attribute, in 1..F-1.
    epsilon : float
        Above 0; infinite for no noise. Neighbours replace one record, so that n is public.
    rng : numpy.random.Generator

    Notes
    -----
    Half of epsilon pays for the structure: F - 1 choices by the exponential mechanism, with the
    sensitivity of mutual information (lemma 4.2 there). Half pays for the F - degree tables of
    counts of an attribute with its parents: Laplace noise of scale 2 (F - degree) / (epsilon / 2)
    in each cell, as a record that is replaced changes two cells of each table by 1. What is below
    0 becomes 0. The first attributes, those with fewer parents, are read off the first table.
    Combinations of parents without weight get every category alike.
    """
    if not epsilon > 0:
        raise InputError(f"epsilon must be above 0, got {epsilon}")
    n, n_attributes = codes.shape
    steps = max(n_attributes - 1, 1)

    def choose(information: Floats, candidates: tuple[Node, ...]) -> int:
        sensitivity = information_sensitivity(n, candidates, sizes)
        return exponential_mechanism(information, sensitivity, epsilon / 2 / steps, rng)

    nodes = learn_structure(codes, sizes, degree, choose, rng)
    n_tables = max(n_attributes - degree, 1)
    noisy = {
        place: noisy_counts(codes, nodes[place], sizes, (n_tables, epsilon / 2), rng)
        for place in range(min(degree, n_attributes - 1), n_attributes)
    }
    first = min(noisy)
    tables = []
    for place, node in enumerate(nodes):
        counts = noisy.get(place)
        if counts is None:
            counts = _from_first(noisy[first], nodes[first], node, sizes)
        tables.append(normalised(counts, np.ones(sizes[node.attribute])))
    return Network(nodes, tuple(tables), sizes)


def information_sensitivity(n: int, candidates: tuple[Node, ...], sizes: tuple[int, ...]) -> float:
    """Return by how much replacing one of n records changes any of these, in nats.

    Zhang et al. (2017), lemma 4.2: the mutual information of an attribute and its parents changes
    less where either of both is binary.
    """
    if n < 2:
        return float(np.log(2))
    if all(_is_binary(node, sizes) for node in candidates):
        return float(np.log(n) / n + (n - 1) / n * np.log(n / (n - 1)))
    return float(2 / n * np.log((n + 1) / 2) + (n - 1) / n * np.log((n + 1) / (n - 1)))


def _is_binary(node: Node, sizes: tuple[int, ...]) -> bool:
    return sizes[node.attribute] <= 2 or math.prod(sizes[p] for p in node.parents) <= 2


def exponential_mechanism(
    scores: Floats, sensitivity: float, epsilon: float, rng: np.random.Generator
) -> int:
    """Return a candidate drawn with weight ``exp(epsilon score / (2 sensitivity))``.

    In logarithms: nothing overflows.
    """
    if np.isinf(epsilon):
        return int(np.argmax(scores))
    logs = epsilon * scores / (2 * sensitivity)
    return int(rng.choice(len(scores), p=np.exp(logs - logsumexp(logs))))


def noisy_counts(
    codes: Ints,
    node: Node,
    sizes: tuple[int, ...],
    budget: tuple[int, float],
    rng: np.random.Generator,
) -> Floats:
    """Return counts (P, v) with Laplace noise, nothing below 0.

    Parameters
    ----------
    codes, node, sizes
        As in `joint_counts`.
    budget : tuple of int and float
        How many tables share how much epsilon.
    rng : numpy.random.Generator
    """
    tables, epsilon = budget
    counts = joint_counts(codes, node, sizes).astype(np.float64)
    return np.maximum(counts + rng.laplace(scale=2 * tables / epsilon, size=counts.shape), 0.0)


def _from_first(counts: Floats, first: Node, node: Node, sizes: tuple[int, ...]) -> Floats:
    """Return the counts of an early node, summed from the table of the first full one.

    The parents of that one are all attributes before it.
    """
    axes = (*first.parents, first.attribute)
    whole = counts.reshape([sizes[a] for a in axes])
    kept = (*node.parents, node.attribute)
    summed = whole.sum(axis=tuple(i for i, a in enumerate(axes) if a not in kept))
    left = [a for a in axes if a in kept]
    ordered = np.transpose(summed, [left.index(a) for a in kept])
    return np.asarray(ordered.reshape(-1, sizes[node.attribute]), np.float64)
