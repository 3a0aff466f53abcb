"""Bayesian networks on categories: structure, tables and sampling, from exact or noisy counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import logsumexp, xlogy

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

Choose = Callable[[Floats, "Sequence[Node]"], int]
"""Function of the candidates' mutual information (c,) and the candidates; returns an index."""

_WHOLE = 1 << 24
"""Bound below which all whole numbers are exact in float32."""
_ENTRIES = 10**7
"""Most entries of a product of indicators, which takes a tenth of a second."""


@dataclass(frozen=True)
class Node:
    """An attribute and its parents in the network."""

    attribute: int
    """Position of the attribute."""
    parents: tuple[int, ...]
    """Positions of its parents, all earlier in the network."""


@dataclass(frozen=True, eq=False)
class Network:
    """A Bayesian network over categories, ready for sampling."""

    nodes: tuple[Node, ...]
    """Nodes in an order in which parents come first."""
    tables: tuple[Floats, ...]
    """Table per node, (product of the parents' sizes, size): p(category | parents); each row sums
    to 1."""
    sizes: tuple[int, ...]
    """Number of categories of each attribute, by position."""

    def sample(self, n: int, rng: np.random.Generator) -> Ints:
        """Draw n records (n, F), parents before children."""
        codes = np.zeros((n, len(self.sizes)), np.int64)
        for node, table in zip(self.nodes, self.tables, strict=True):
            # 1 - u lies in (0, 1]: categories of probability 0 are skipped, and the last one is
            # never passed.
            drawn = 1.0 - rng.random(n)
            rows = combine_codes(codes, node.parents, self.sizes)
            reached = np.cumsum(table, axis=1)
            reached /= reached[:, -1:]
            # Categories on the first axis: numpy adds few long rows faster than many short ones.
            codes[:, node.attribute] = (drawn > reached.T[:, rows]).sum(axis=0)
        return codes


def combine_codes(codes: Ints, attributes: tuple[int, ...], sizes: tuple[int, ...]) -> Ints:
    """Return one number (n,) per combination of several attributes' categories."""
    found = np.zeros(len(codes), np.int64)
    for attribute in attributes:
        found = found * sizes[attribute] + codes[:, attribute]
    return found


def joint_counts(codes: Ints, node: Node, sizes: tuple[int, ...]) -> Ints:
    """Count each category with each combination of its parents' categories, (P, v)."""
    n_parents = math.prod(sizes[p] for p in node.parents)
    v = sizes[node.attribute]
    index = combine_codes(codes, (*node.parents, node.attribute), sizes)
    counts: Ints = np.bincount(index, minlength=n_parents * v).reshape(n_parents, v)
    return counts


def mutual_information(counts: Ints) -> float:
    """Return the mutual information of rows and columns of counts (P, v), in nats, at least 0."""
    # I = (sum c log c - sum over both margins of m log m + n log n) / n.
    n = counts.sum()
    whole = xlogy(counts, counts).sum()
    sides = sum(xlogy(side, side).sum() for side in (counts.sum(axis=0), counts.sum(axis=1)))
    return max(0.0, float((whole - sides + xlogy(n, n)) / n))


def pairwise_information(codes: Ints, sizes: tuple[int, ...]) -> Floats:
    """Return the mutual information of every pair of attributes, (F, F), in nats.

    All counts come from one product of the indicators of categories with themselves. If that has
    far more entries than there are pairs of values, they come from sorted values instead.
    """
    n = len(codes)
    total = sum(sizes)
    if total**2 > max(_ENTRIES, 4 * codes.size * len(sizes)):
        return _information_in_order(codes)
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    # Indicators (n, total) of all attributes side by side; single precision counts exactly below
    # _WHOLE.
    shown = np.zeros((n, total), np.float32 if n < _WHOLE else np.float64)
    shown[np.arange(n)[:, None], codes + start] = 1.0
    counts = (shown.T @ shown).astype(np.int64)
    # c log c for every possible count, looked up instead of computed per cell.
    known = xlogy(np.arange(n + 1.0), np.arange(n + 1.0))
    # Sums over the block of each pair of attributes; the diagonal holds the margins' terms.
    terms = np.add.reduceat(np.add.reduceat(known[counts], start, axis=0), start, axis=1)
    own = np.diag(terms)
    found = (terms - own[:, None] - own + xlogy(n, n)) / n
    return np.asarray(np.maximum(found, 0.0), np.float64)


def _information_in_order(codes: Ints) -> Floats:
    """Return the result of `pairwise_information` for any number of categories."""
    n, width = codes.shape
    known = xlogy(np.arange(n + 1.0), np.arange(n + 1.0))
    of_column = np.ascontiguousarray(
        np.column_stack([np.unique(column, return_inverse=True)[1] for column in codes.T]).T
    )
    terms = np.zeros((width, width))
    for i in range(width):
        # Equal pairs of codes are adjacent after sorting: run lengths are the counts of the pairs.
        both = np.sort(of_column[: i + 1] * (of_column[i].max() + 1) + of_column[i], axis=1)
        last = np.ones(both.shape, np.bool_)
        last[:, :-1] = both[:, 1:] != both[:, :-1]
        ends = np.flatnonzero(last)
        terms[i, : i + 1] = np.bincount(ends // n, known[np.diff(ends, prepend=-1)], i + 1)
    terms += np.tril(terms, -1).T
    own = np.diag(terms)
    found = (terms - own[:, None] - own + xlogy(n, n)) / n
    return np.asarray(np.maximum(found, 0.0), np.float64)


@dataclass(frozen=True)
class _Candidates(Sequence[Node]):
    """All combinations of an attribute and its parents, made on demand.

    A table of 500 columns has 20 million of them over all steps.
    """

    attributes: list[int]
    parents: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.attributes) * len(self.parents)

    # Nobody takes slices.
    def __getitem__(self, place: int) -> Node:  # type: ignore[override]
        attribute, some = divmod(range(len(self))[place], len(self.parents))
        return Node(self.attributes[attribute], self.parents[some])


def learn_structure(
    codes: Ints, sizes: tuple[int, ...], degree: int, choose: Choose, rng: np.random.Generator
) -> tuple[Node, ...]:
    """Learn a network's structure, one attribute at a time.

    Parameters
    ----------
    codes : ndarray of int, shape (n, F)
        Categories of the records.
    sizes : tuple of int, length F
        Numbers of categories of each attribute; of the domain, not of the records.
    degree : int
        Most parents per attribute, in 1..F-1.
    choose : callable
        Picks the next attribute and its parents, given the candidates' mutual information.
    rng : numpy.random.Generator
        Draws the first attribute, independent of the records.

    Notes
    -----
    Zhang et al. (2017), PrivBayes, section 4.1: each step adds one attribute that is not yet in the
    network, with as many parents as the degree allows.
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
        candidates = _Candidates(left, parents)
        # With one parent all pairs are known beforehand; the order is that of `_Candidates`.
        if pairs is not None:
            information = pairs[np.ix_(left, known)].ravel()
        else:
            information = np.array(
                [mutual_information(joint_counts(codes, node, sizes)) for node in candidates]
            )
        nodes.append(candidates[choose(information, candidates)])
    return tuple(nodes)


def most_informative(information: Floats, candidates: Sequence[Node]) -> int:
    """Return the position of the candidate with the largest mutual information, first in a tie."""
    return int(np.argmax(information))


def normalise_weights(weights: Floats, spare: Floats) -> Floats:
    """Normalise rows of weights (P, v) to sum to 1; rows of zeros become `spare` (v,)."""
    # `np.where` evaluates both sides: 0 / 0 is replaced, but would warn.
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(total > 0, weights / total, spare / spare.sum()), np.float64)


def learn_bayes_net(
    codes: Ints, sizes: tuple[int, ...], degree: int, rng: np.random.Generator
) -> Network:
    """Learn BayNet's network from records.

    Parameters
    ----------
    codes : ndarray of int, shape (n, F)
        Categories of the records; numbers in bins.
    sizes : tuple of int, length F
        Number of categories of each attribute.
    degree : int
        Most parents per attribute, in 1..F-1; 1 in Meeus et al. (2023).
    rng : numpy.random.Generator

    Notes
    -----
    Greedy: each step adds the pair with the largest mutual information. A category's probability is
    its share among the records with the same parents, or among all records if there are none. No
    privacy is claimed.
    """
    nodes = learn_structure(codes, sizes, degree=degree, choose=most_informative, rng=rng)
    tables = []
    for node in nodes:
        counts = joint_counts(codes, node, sizes)
        tables.append(
            normalise_weights(counts.astype(np.float64), counts.sum(axis=0).astype(np.float64))
        )
    return Network(nodes, tuple(tables), sizes)


def learn_privbayes(
    codes: Ints, sizes: tuple[int, ...], degree: int, epsilon: float, rng: np.random.Generator
) -> Network:
    """Learn a network that is epsilon-differentially private in the records.

    Parameters
    ----------
    codes : ndarray of int, shape (n, F)
        Categories of the records; numbers in bins whose ends do not depend on the records.
    sizes : tuple of int, length F
        Number of categories of each attribute, in the domain, not in the records.
    degree : int
        Most parents per attribute, in 1..F-1.
    epsilon : float
        Privacy budget, above 0; infinite for no noise. Neighbours replace one record, so n is
        public.
    rng : numpy.random.Generator

    Notes
    -----
    Half of epsilon is spent on the structure: F - 1 choices by the exponential mechanism, with the
    sensitivity of mutual information (lemma 4.2 there). The other half is spent on the F - degree
    tables of counts of an attribute with its parents: Laplace noise of scale 2 (F - degree) /
    (epsilon / 2) in each cell, since replacing a record changes two cells of each table by 1.
    Negative counts become 0. The first attributes, which have fewer parents, are read off the first
    table, at no cost. Combinations of parents without weight get a uniform distribution.
    """
    if not epsilon > 0:
        raise InputError(f"epsilon must be above 0, got {epsilon}")
    n, n_attributes = codes.shape
    steps = max(n_attributes - 1, 1)

    def choose(information: Floats, candidates: Sequence[Node]) -> int:
        sensitivity = information_sensitivity(n, candidates, sizes)
        return exponential_mechanism(information, sensitivity, epsilon / 2 / steps, rng)

    nodes = learn_structure(codes, sizes, degree=degree, choose=choose, rng=rng)
    n_tables = max(n_attributes - degree, 1)
    noisy = {
        place: noisy_counts(
            codes, nodes[place], sizes=sizes, budget=(n_tables, epsilon / 2), rng=rng
        )
        for place in range(min(degree, n_attributes - 1), n_attributes)
    }
    # The first table with the full number of parents holds all attributes before it.
    first = min(noisy)
    tables = []
    for place, node in enumerate(nodes):
        counts = noisy.get(place)
        if counts is None:
            # An early node: summed over the attributes of the first full table that it lacks.
            axes = (*nodes[first].parents, nodes[first].attribute)
            whole = noisy[first].reshape([sizes[a] for a in axes])
            kept = (*node.parents, node.attribute)
            summed = whole.sum(axis=tuple(i for i, a in enumerate(axes) if a not in kept))
            # The axes left are in the order of that table; the node's parents may have another.
            left = [a for a in axes if a in kept]
            ordered = np.transpose(summed, [left.index(a) for a in kept])
            counts = ordered.reshape(-1, sizes[node.attribute])
        tables.append(normalise_weights(counts, np.ones(sizes[node.attribute])))
    return Network(nodes, tuple(tables), sizes)


def information_sensitivity(n: int, candidates: Sequence[Node], sizes: tuple[int, ...]) -> float:
    """Return the sensitivity of mutual information, in nats, to replacing one of n records.

    Zhang et al. (2017), lemma 4.2: the sensitivity is smaller if the attribute or its parents are
    binary, here for all candidates.
    """
    # The formulas divide by n - 1: one record gets a bound of log 2.
    if n < 2:
        return float(np.log(2))
    if all(
        sizes[node.attribute] <= 2 or math.prod(sizes[p] for p in node.parents) <= 2
        for node in candidates
    ):
        return float(np.log(n) / n + (n - 1) / n * np.log(n / (n - 1)))
    return float(2 / n * np.log((n + 1) / 2) + (n - 1) / n * np.log((n + 1) / (n - 1)))


def exponential_mechanism(
    scores: Floats, sensitivity: float, epsilon: float, rng: np.random.Generator
) -> int:
    """Draw a candidate with probability proportional to ``exp(epsilon score / (2 sensitivity))``.

    Computed in logarithms, so that nothing overflows.
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
    """Return counts (P, v) with Laplace noise, clipped at 0.

    Parameters
    ----------
    codes, node, sizes
        As in `joint_counts`.
    budget : tuple of int and float
        Number of tables, and the epsilon that they share.
    rng : numpy.random.Generator
    """
    tables, epsilon = budget
    counts = joint_counts(codes, node, sizes).astype(np.float64)
    return np.maximum(counts + rng.laplace(scale=2 * tables / epsilon, size=counts.shape), 0.0)
