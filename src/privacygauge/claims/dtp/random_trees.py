"""Random decision trees with a data-independent structure; a left-out record leaves its leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.learner import Box, DtpRange, class_log_p, matrix, training_set
from privacygauge.classifiers.ratios import binned_bound, log_ratio
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

Hashes = NDArray[np.uint64]
Answers = Literal["normalised", "geometric-mean"]

# The increment and the multipliers of SplitMix64 (Steele, Lea, Flood 2014, section 4).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True)
class RandomDecisionTrees:
    """Random decision trees, their structure drawn from the seed alone.

    Every node splits on a random attribute: on the category, with a branch for each, and never
    again below; or on whether a number exceeds a threshold, drawn uniformly from the range that the
    branches above have left. A leaf answers ``(n_y + alpha) / (n + k alpha)`` from the records in
    it, and 1/k without any. The forest answers the geometric mean of its trees, ``exp(mean over
    trees of log p_j(y | x))``, which sums to less than 1 where trees differ. "normalised" divides
    by that sum (NaN where it is 0).

    Notes
    -----
    Long et al. (2017), section 6.3 and Proposition 6.8, for the mean that is not normalised; the
    trees are those of Fan et al. (2003).
    """

    categories: tuple[int | None, ...]
    """(d,) Number of categories 0, 1, ... of each attribute; None for a number."""
    ranges: tuple[tuple[float, float], ...] = ()
    """Smallest and largest threshold of each number, in the order of the attributes."""
    n_trees: int = 20
    """Number of trees, at least 1."""
    depth: int = 5
    """Splits on the way to a leaf, at least 1; fewer once all attributes are used up."""
    seed: int = 0
    """Seed of the structure."""
    alpha: float = 0.0
    """Smoothing added to every count of a leaf, at least 0."""
    answers: Answers = "normalised"
    """Whether answers are normalised to sum to 1, or are the geometric mean as in the paper."""

    def __post_init__(self) -> None:
        if not self.categories or any(v is not None and v < 1 for v in self.categories):
            raise InputError("every attribute needs at least one category, or None for a number")
        if len(self.ranges) != self.categories.count(None):
            raise InputError(
                f"ranges must hold the ends of {self.categories.count(None)} numbers, "
                f"got {len(self.ranges)}"
            )
        for low, high in self.ranges:
            if not (np.isfinite(low) and np.isfinite(high) and low <= high):
                raise InputError(f"ranges must be finite and ascending, got ({low}, {high})")
        for name, value in (("n_trees", self.n_trees), ("depth", self.depth)):
            if value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")
        if self.seed < 0:
            raise InputError(f"seed must be at least 0, got {self.seed}")
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise InputError(f"alpha must be finite and at least 0, got {self.alpha}")
        if self.answers not in ("normalised", "geometric-mean"):
            raise InputError(
                f"answers must be 'normalised' or 'geometric-mean', got {self.answers!r}"
            )

    name = "random decision trees"

    def describe(self) -> Mapping[str, Any]:
        """Return the attributes and how the trees are drawn and read, as JSON values."""
        return {
            "categories": list(self.categories),
            "ranges": [list(ends) for ends in self.ranges],
            "trees": self.n_trees,
            "depth": self.depth,
            "seed": self.seed,
            "alpha": self.alpha,
            "answers": self.answers,
        }

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> FittedTrees:
        """Return the forest with leaves that count records (n, d) by their classes (n,)."""
        records, labels = training_set(x, y, n_classes)
        leaves = self.leaves(records)
        tables = []
        for own in leaves:
            keys, place = np.unique(own, return_inverse=True)
            # One more row, of zeros, for queries that reach a leaf without records.
            counts = np.zeros((len(keys) + 1, n_classes))
            np.add.at(counts, (place, labels), 1.0)
            tables.append((keys, counts))
        return FittedTrees(self, leaves, tuple(tables), labels, n_classes)

    def leaves(self, x: NDArray[Any]) -> Hashes:
        """Return the leaf of each tree that holds each query, (n_trees, q).

        A leaf's number is a hash of the path to it. Two paths with the same hash would share their
        counts, and the trees would still be independent of the records.
        """
        asked = matrix(x, "x", columns=len(self.categories))
        for column, size in enumerate(self.categories):
            if size is None:
                continue
            codes = asked[:, column]
            # Fractions are no codes.
            bad = np.flatnonzero((codes < 0) | (codes >= size) | (codes != np.trunc(codes)))
            if len(bad):
                raise InputError(
                    f"attribute {column} has the categories 0..{size - 1}, "
                    f"got {codes[bad[0]]} in row {bad[0]}"
                )
        roots = np.random.SeedSequence(self.seed).generate_state(self.n_trees, np.uint64)
        found = np.empty((self.n_trees, len(asked)), np.uint64)
        each = np.arange(len(asked))
        number = np.array([size is None for size in self.categories])
        ends = np.zeros((2, len(number)))
        ends[:, number] = np.array(self.ranges, np.float64).reshape(-1, 2).T
        # Categories run out after one split each; numbers never do.
        depth = self.depth if number.any() else min(self.depth, len(number))
        # Draws are numbers in [0, 1) from the 53 upper bits of a hash.
        unused = np.uint64(11)
        for tree, root in enumerate(roots):
            # Each path's range of every number shrinks with the splits on it.
            low, high = (np.tile(end, (len(asked), 1)) for end in ends)
            free = np.ones(asked.shape, np.bool_)
            node = np.full(len(asked), root)
            for _ in range(depth):
                # Rank of each free attribute, from 1: the first above the draw is chosen.
                place = free.cumsum(axis=1)
                # Draw one of the attributes that are still free on this path.
                draw = (_child(node, 1) >> unused).astype(np.float64) * 2.0**-53
                chosen = np.floor(draw * place[:, -1])
                attribute = (place > chosen[:, None]).argmax(axis=1)
                at = each, attribute
                draw = (_child(node, 2) >> unused).astype(np.float64) * 2.0**-53
                threshold = low[at] + draw * (high[at] - low[at])
                numeric = number[attribute]
                above = asked[at] > threshold
                low[at] = np.where(above, threshold, low[at])
                high[at] = np.where(above, high[at], threshold)
                # A category is split on once; a number may be split on again.
                free[at] = numeric
                branch = np.where(numeric, above, asked[at]).astype(np.uint64)
                # Branches 1 and 2 are taken by the draws of attribute and threshold.
                node = _child(node, branch + np.uint64(3))
            found[tree] = node
        return found


def random_trees_of(
    x: NDArray[Any],
    continuous: tuple[int, ...] = (),
    *,
    n_trees: int = 20,
    depth: int = 5,
    seed: int = 0,
    alpha: float = 0.0,
    answers: Answers = "normalised",
) -> RandomDecisionTrees:
    """Return the learner for the categories and the ranges of numbers of all records (n, d)."""
    records = matrix(x, "x")
    sizes = [
        None if j in continuous else int(records[:, j].max()) + 1 for j in range(records.shape[1])
    ]
    ranges = [
        (float(records[:, j].min()), float(records[:, j].max()))
        for j, size in enumerate(sizes)
        if size is None
    ]
    return RandomDecisionTrees(
        categories=tuple(sizes),
        ranges=tuple(ranges),
        n_trees=n_trees,
        depth=depth,
        seed=seed,
        alpha=alpha,
        answers=answers,
    )


def _child(node: Hashes, branch: Hashes | int) -> Hashes:
    """Return the hash of a node's branch: SplitMix64 advanced by the branch's number."""
    state = node + np.asarray(branch, np.uint64) * _STEP
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return np.asarray(state ^ (state >> np.uint64(31)), np.uint64)


@dataclass(frozen=True, eq=False)
class FittedTrees:
    """A forest with the counts of its leaves, from which any one record can be subtracted."""

    learner: RandomDecisionTrees
    """Structure of the trees, and the combination of their leaves."""
    leaves: Hashes
    """(n_trees, n) The leaf of every record in every tree."""
    tables: tuple[tuple[Hashes, Floats], ...]
    """Each tree's leaves, ascending (l,), and their counts (l + 1, k); the last row is 0."""
    y: Ints
    """(n,) Classes."""
    n_classes: int
    """Number of classes, k."""

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""
        return self._answers(*self._sums(self.learner.leaves(queries)))

    def log_p_without(self, rows: Ints) -> Floats:
        """Return log probabilities of each record under the model trained without it, (r, k)."""
        counts = self._counts(self.leaves[:, rows])
        logs = _logs(self._shares(counts - np.eye(self.n_classes)[self.y[rows]]))
        return self._answers(logs[0].sum(axis=0), logs[1].sum(axis=0))

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return log probabilities of every query under each leave-one-out model, (r, q, k)."""
        leaves = self.learner.leaves(queries)
        logs, zeros = (np.repeat(part[None], len(rows), axis=0) for part in self._sums(leaves))
        # Only where a query shares the record's leaf of a tree does the tree's answer change.
        for tree, own in enumerate(self.leaves[:, rows]):
            row, query = np.nonzero(own[:, None] == leaves[tree])
            counts = self._counts(own[None], tree)[0]
            before = _logs(self._shares(counts))
            after = _logs(self._shares(counts - np.eye(self.n_classes)[self.y[rows]]))
            logs[row, query] += (after[0] - before[0])[row]
            zeros[row, query] += (after[1] - before[1])[row]
        return self._answers(logs, zeros)

    def dtp(self, rows: Ints, width: float, box: Box) -> DtpRange:
        """Return the range of each record's DTP over all queries.

        Parameters
        ----------
        rows : ndarray of int, shape (r,)
            Records of the training set.
        width : float
            Bin width of the published probabilities; 0 for no bins.
        box : Box
            Not needed: the bound holds for every query.

        Notes
        -----
        Leaving the record out changes only the trees in which a query shares its leaf, and in
        such a tree j every label's factor p_j / p'_j is the same for all such queries: at least 1
        for the record's label, at most 1 for the others. So the log ratio of the geometric mean
        is a mean of terms of one sign, and is largest where all trees share: at the record
        itself. Only where a tree answers 0 both times is a label's ratio hidden (0/0); such a
        tree cannot share its leaf with a query that shows the ratio, and the bound is the mean
        over the other trees. With alpha above 0 there is none of them, and DTP = PDTP exactly.

        Normalised, with factors R >= 1 of the record's label and 1/O <= 1 of all others, the
        sum changes by ``s = p' R + (1 - p') / O`` with p' that label's probability without the
        record. Its ratio R / s and the others' ratio 1 / (O s) lie within [1 / (R O), R O], so
        the log ratio is at most log R + log O.
        """
        counts = self._counts(self.leaves[:, rows])
        before = self._shares(counts)
        after = self._shares(counts - np.eye(self.n_classes)[self.y[rows]])
        with np.errstate(divide="ignore", invalid="ignore"):
            of_trees = np.abs(np.log(before) - np.log(after))
        # A tree that answers 0 both times hides the ratio, and adds nothing to the mean.
        hidden = (before == 0) & (after == 0)
        terms = np.asarray(np.where(hidden, 0.0, of_trees).mean(axis=0), np.float64)
        told = self._answers(*self._sums(self.leaves[:, rows]))
        low = log_ratio(told, self.log_p_without(rows), width)
        if self.learner.answers == "normalised":
            # log R of the record's label, plus the largest log O of the others.
            own = np.eye(self.n_classes)[self.y[rows]] > 0
            plain = terms[own] + np.where(own, 0.0, terms).max(axis=1)
            # Where a label may vanish there may be no answer at all, which bins do not hide.
            high = np.where(np.isinf(plain), np.inf, binned_bound(plain, width))
            method = "at most log R + log O, over all queries"
        elif self.learner.alpha > 0 and not width:
            return DtpRange(low, low, "exact: largest at the record itself")
        else:
            high = binned_bound(terms.max(axis=1), width)
            method = "mean over the trees that do not answer 0, over all queries"
        return DtpRange(low, np.maximum(high, low), method)

    def _counts(self, leaves: Hashes, first: int = 0) -> Floats:
        """Return the counts of leaves (t, q) of t consecutive trees from `first`, (t, q, k)."""
        found = np.empty((*leaves.shape, self.n_classes))
        for number, row in enumerate(leaves):
            keys, counts = self.tables[first + number]
            # A leaf without training records has no key: the last row holds its zeros.
            place = np.minimum(np.searchsorted(keys, row), len(keys) - 1)
            found[number] = counts[np.where(keys[place] == row, place, len(keys))]
        return found

    def _shares(self, counts: Floats) -> Floats:
        """Return the class probabilities of leaves with these counts, (..., k)."""
        total = counts.sum(axis=-1, keepdims=True) + self.n_classes * self.learner.alpha
        with np.errstate(invalid="ignore"):
            shares = (counts + self.learner.alpha) / total
        return np.where(total > 0, shares, 1.0 / self.n_classes)

    def _sums(self, leaves: Hashes) -> tuple[Floats, Floats]:
        """Return the sums of finite logs and the numbers of zeros over the trees, (q, k) each."""
        logs, zeros = np.zeros((2, leaves.shape[1], self.n_classes))
        for tree, row in enumerate(leaves):
            log, zero = _logs(self._shares(self._counts(row[None], tree)[0]))
            logs += log
            zeros += zero
        return logs, zeros

    def _answers(self, logs: Floats, zeros: Floats) -> Floats:
        # Zeros are counted apart: subtracting a -inf later would give NaN.
        mean = np.where(zeros > 0, -np.inf, logs / self.learner.n_trees)
        if self.learner.answers == "normalised":
            return class_log_p(mean)
        return mean


def _logs(shares: Floats) -> tuple[Floats, Floats]:
    """Return the logs of shares, 0 where a share is 0, and 1 at those places."""
    zero = shares == 0
    return np.log(np.where(zero, 1.0, shares)), zero.astype(np.float64)
