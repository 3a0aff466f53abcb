"""Designed queries: two candidates of a point at a time, and labels known for certain."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.holdout.decoding import DecodedLabels, Decoder, fallen_back
from privacygauge.holdout.detecting import DetectingMatrix, kinds_left, points_for, queries_for
from privacygauge.holdout.message_passing import MessagePassing
from privacygauge.holdout.naive_bayes import budget_of, check_knowledge, check_sizes
from privacygauge.holdout.oracle import Oracle
from privacygauge.holdout.priors import Informed, Knowledge


@dataclass(frozen=True)
class DesignedQueries(Informed, Decoder):
    """Finds the labels of as many points as the budget allows, exactly, by detecting matrices.

    For two classes k queries find the labels of `detecting.points_for(k)` points: 5,120 for
    k = 1,024, and 10,000 for k = 1,880. For more classes, a query gives each point one of two
    candidates, and the answers tell which is right or that neither is (fewer points: 3,082 for
    k = 1,024); points that had neither are asked about their next two candidates, until the last
    one is inferred. A point with none of its candidates right harms no other; it ends with a
    random label of those that are left.

    Points are the least confident first, candidates the most likely first; without knowledge both
    are in random order. All points that are not asked about keep one label throughout: what they
    add to the answers is never needed. It spends no more than it needs. Among very many classes
    (100) of which nothing is known, random queries find more.

    Answers must be exact. Behind a guard that changes them, and wherever they contradict
    themselves, `MessagePassing` on random queries stands in, and `DecodedLabels` says so.

    Sources
    -------
    Lindstrom (1965), see `DetectingMatrix`. Feldman, Frostig and Hardt (2019), Theorem 1.3, for
    what can be reached by a method that is not efficient.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; random labels by default."""
    block: int = 256
    """Queries made at a time, at least 1; affects memory and time, not the answer."""
    threads: int = 1
    """Number of threads of `MessagePassing`, which is used if answers are not exact."""

    name: ClassVar[str] = "designed"

    def __post_init__(self) -> None:
        check_sizes(self.block, self.threads)

    needs_points = True

    def decode(self, oracle: Oracle, rng: np.random.Generator) -> DecodedLabels:
        """Decode the labels, using the oracle's budget as needed; return them and the method."""
        budget_of(oracle)
        if oracle.error:
            note = f"designed queries need exact answers, these are off by {oracle.error:.2g}"
            return fallen_back(self._by_messages(oracle, rng), note)
        if self.knowledge is None:
            labels = rng.integers(0, oracle.n_classes, oracle.n)
            order = rng.permutation(oracle.n)
        else:
            check_knowledge(oracle, self.knowledge)
            labels = self.knowledge.base.astype(np.int64)
            # The least confident points first.
            order = np.argsort(self.knowledge.log_prior.max(axis=1), kind="stable")
        begun = rounds = unsettled = 0
        while begun < len(order) and budget_of(oracle) >= 2:
            loads = _loads(self.knowledge, oracle.n_classes, order[begun:])
            p = _affordable(budget_of(oracle), loads, oracle.n_classes, len(order) - begun)
            batch = _Batch.of(oracle, self.knowledge, order[begun : begun + p], rng)
            done, open_ = batch.settled(oracle, labels, self.block, rng)
            begun = begun + p
            rounds = rounds + done
            unsettled = unsettled + max(open_, 0)
            if open_ < 0:
                found = self._by_messages(oracle, rng)
                return fallen_back(found, "designed queries got answers that no labels give")
        done = begun - unsettled
        note = "" if done == len(order) else f"settled {done} of {len(order)} points"
        return DecodedLabels(
            labels=labels,
            method=self.name,
            converged=True,
            iterations=rounds,
            explained=rounds > 0,
            note=note,
        )

    def _by_messages(self, oracle: Oracle, rng: np.random.Generator) -> DecodedLabels:
        stand_in = MessagePassing(self.knowledge, block=self.block, threads=self.threads)
        return stand_in.decode(oracle, rng)


@dataclass(frozen=True, eq=False)
class _Batch:
    """Points that share queries, with the candidate labels of each."""

    points: Ints  # (p,)
    candidates: Ints  # (p, r) in the order in which they are tried
    n_classes: int

    @classmethod
    def of(
        cls, oracle: Oracle, knowledge: Knowledge | None, order: Ints, rng: np.random.Generator
    ) -> _Batch:
        """Return points number `order` of those under attack, with their candidates."""
        m = oracle.n_classes
        if knowledge is None:
            every = np.tile(np.arange(m), (len(order), 1))
            return cls(order, rng.permuted(every, axis=1), m)
        return cls(knowledge.points[order], knowledge.candidates[order].astype(np.int64), m)

    def settled(
        self, oracle: Oracle, labels: Ints, block: int, rng: np.random.Generator
    ) -> tuple[int, int]:
        """Write decoded labels into `labels`; return the rounds and the number of unasked points.

        That number is -1 if the answers contradict each other.
        """
        open_ = np.arange(len(self.points))
        r = self.candidates.shape[1]
        rounds = unasked = 0
        for column in range(0, r - 1, 2):
            kinds = kinds_left(self.n_classes, column)
            asked = open_[: points_for(budget_of(oracle), kinds)]
            unasked += len(open_) - len(asked)
            if not len(asked):
                break
            pairs = self.candidates[asked, column : column + 2]
            signs, consistent = _ask_designed_queries(
                oracle, labels, points=self.points[asked], pairs=pairs, kinds=kinds, block=block
            )
            if not consistent:
                return rounds, -1
            rounds += 1
            known = signs != 0
            labels[self.points[asked[known]]] = pairs[known, (signs[known] + 1) // 2]
            neither = asked[~known]
            # The next candidate is the best guess until it is asked about.
            labels[self.points[neither]] = self._next(neither, column + 2, rng)
            open_ = neither
        return rounds, unasked

    def _next(self, rows: Ints, tried: int, rng: np.random.Generator) -> Ints:
        """Return the next candidate of `rows`, or a random label where all were tried."""
        if not len(rows):
            return rows
        if tried < self.candidates.shape[1]:
            following: Ints = self.candidates[rows, tried]
            return following
        others = np.sort(self.candidates[rows], axis=1)
        drawn: Ints = rng.integers(0, self.n_classes - tried, len(rows))
        for column in others.T:
            drawn += drawn >= column
        return drawn


def _ask_designed_queries(
    oracle: Oracle, labels: Ints, points: Ints, pairs: Ints, kinds: int, block: int
) -> tuple[Ints, bool]:
    """Return which of two labels is right at each point: -1 the first, 1 the second, 0 neither."""
    matrix = DetectingMatrix(len(points), kinds)
    counts = np.empty(matrix.n_queries)
    fixed = labels.astype(np.min_scalar_type(oracle.n_classes - 1))
    first, second = (column[:, None].astype(fixed.dtype) for column in pairs.T)
    for start in range(0, matrix.n_queries, block):
        part = slice(start, min(start + block, matrix.n_queries))
        made = np.repeat(fixed[:, None], part.stop - part.start, axis=1)
        made[points] = np.where(matrix.codes(part.start, part.stop), second, first)
        counts[part] = oracle.submit_all(made.T) * oracle.n
    return matrix.decode(counts)


def _loads(knowledge: Knowledge | None, m: int, order: Ints) -> Callable[[int], Floats]:
    """Return the expected number of open points before each round, as a function of p."""
    if knowledge is None:
        shares: Floats = np.asarray(1.0 - 2.0 / m * np.arange(m // 2))
        return lambda p: np.asarray(p * shares)
    inside = np.exp(knowledge.log_prior[order]).cumsum(axis=1)
    before = np.ones((len(order), knowledge.n_candidates // 2))
    before[:, 1:] = np.maximum(1.0 - inside[:, 1::2][:, : before.shape[1] - 1], 0.0)
    sums = before.cumsum(axis=0)
    return lambda p: np.asarray(sums[p - 1])


def _affordable(k: int, loads: Callable[[int], Floats], m: int, most: int) -> int:
    """Return how many points, of `most`, k queries are expected to settle; at least 1."""

    def cost(p: int) -> int:
        whole = np.ceil(loads(p) - 1e-9).astype(np.int64)
        return sum(queries_for(int(load), kinds_left(m, 2 * t)) for t, load in enumerate(whole))

    return max(1, bisect_left(range(1, most + 1), True, key=lambda p: cost(p) > k))
