"""Simpler attacks than NB: plurality of random queries, and one label changed at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.holdout.naive_bayes import (
    aggregate_labels,
    ask,
    budget_of,
    check_sizes,
    random_queries,
)
from privacygauge.holdout.oracle import Oracle
from privacygauge.holdout.priors import Informed, Knowledge


@dataclass(frozen=True)
class Majority:
    """Each random query counts for its labels if it beats a guess, and against them if not.

    Needs no access to the points. It spends all of the oracle's budget. Ties are broken
    uniformly at random; a query with exactly the accuracy of a guess does not count.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Section 5 and Figure 5, for two classes; the same weights
    serve for more.
    """

    block: int = 256
    """Queries made at a time, at least 1; affects memory and time, not the answer."""
    threads: int = 1
    """Number of threads, at least 1; affects time, not the answer."""

    name: ClassVar[str] = "majority"
    least: ClassVar[float] = -1.0
    """Weight of a query that is worse than a guess."""

    def __post_init__(self) -> None:
        check_sizes(self.block, self.threads)

    needs_points = False

    def unaided(self) -> Ints | None:
        """Return None: without a query it guesses."""
        return None

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Ints:
        """Return labels, (n,), after the whole budget."""
        queries = random_queries(oracle, None, rng)
        answers = ask(oracle, queries, knowledge=None, block=self.block, threads=self.threads)
        weights = np.maximum(_votes(answers, oracle.n, oracle.n_classes), self.least)
        return aggregate_labels(queries, weights, knowledge=None, rng=rng, threads=self.threads)


@dataclass(frozen=True)
class BlumHardt(Majority):
    """The original majority attack: queries that are worse than a guess are dropped.

    Sources
    -------
    Blum and Hardt, "The Ladder: a reliable leaderboard for machine learning competitions"
    (2015), Section 4 ("boosting attack").
    """

    name: ClassVar[str] = "blum-hardt"
    least: ClassVar[float] = 0.0


def _votes(answers: Floats, n: int, m: int) -> Floats:
    # In whole points, so that 1/m, which no float is for most m, is met exactly.
    return np.asarray(np.sign(np.round(answers * n * m) - n))


@dataclass(frozen=True)
class LinearScan(Informed):
    """Change the label of one point after the other, keeping each change that raises the accuracy.

    The first submission is a starting answer. A change that raises the accuracy set the right
    label, one that lowers it replaced the right label, and one that does neither excludes both; the
    last label left is inferred. Candidates are tried by descending prior, the least confident
    points first. The points must keep their positions; their features are not needed.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Section 5 and Figure 2.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; by default random labels in a random order."""

    name: ClassVar[str] = "scan"

    needs_points = True

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Ints:
        """Return labels, (n,), after the whole budget, or once all points are known."""
        left = budget_of(oracle)
        labels, todo = _plan(oracle, self.knowledge, rng)
        if left == 0:
            return labels
        level = oracle.submit(labels)
        for point, candidates in todo:
            if oracle.left() == 0:
                break
            level = _settle_label(oracle, labels, point=point, candidates=candidates, level=level)
        return labels


def _plan(
    oracle: Oracle, knowledge: Knowledge | None, rng: np.random.Generator
) -> tuple[Ints, Iterator[tuple[int, Ints]]]:
    """Return the starting labels, and each point with its candidates, the present one first."""
    if knowledge is None:
        m = oracle.n_classes
        start = rng.integers(0, m, oracle.n)

        def in_random_order() -> Iterator[tuple[int, Ints]]:
            for i, label in enumerate(start.tolist()):
                others = rng.permutation(m - 1)
                yield i, np.concatenate([[label], others + (others >= label)])

        # A copy: the caller changes its labels while the candidates are drawn.
        return start.copy(), in_random_order()
    confidence = knowledge.log_prior.max(axis=1)
    order = np.argsort(confidence, kind="stable")
    return knowledge.base.astype(np.int64), (
        (int(knowledge.points[i]), knowledge.candidates[i].astype(np.int64)) for i in order
    )


def _settle_label(
    oracle: Oracle, labels: Ints, point: int, candidates: Ints, level: float
) -> float:
    """Set the label of one point as far as the budget goes; return the accuracy after it."""
    complete = len(candidates) == oracle.n_classes
    labels[point] = candidates[0]
    for t, candidate in enumerate(candidates[1:], start=1):
        labels[point] = candidate
        if complete and 1 < t == len(candidates) - 1:
            return level + 1 / oracle.n
        if oracle.left() == 0:
            # Excluded labels are worse than one that was not tried.
            labels[point] = candidate if t > 1 else candidates[0]
            return level
        change = oracle.submit(labels) - level
        if change > 0.5 / oracle.n:
            return level + change
        if change < -0.5 / oracle.n:
            break
    labels[point] = candidates[0]
    return level
