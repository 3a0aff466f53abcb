"""Random queries, their answers, and the labels that a decoder infers from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.holdout.naive_bayes import (
    aggregate_labels,
    ask,
    log_odds,
    query_probabilities,
    random_queries,
)
from privacygauge.holdout.oracle import Oracle
from privacygauge.holdout.priors import Knowledge
from privacygauge.holdout.queries import Codes, RandomQueries, for_each


@dataclass(frozen=True, eq=False)
class DecodedLabels:
    """Labels, and how they were found."""

    labels: Ints
    """(n,) The final answer."""
    method: str
    """The attack that found the labels; another than the requested one if that failed."""
    converged: bool
    """Whether the decoder converged; for an exact method, whether it found a solution."""
    iterations: int
    """Number of iterations, rounds or solutions."""
    explained: bool
    """Whether the labels found, "none of the candidates" among them, give every answer exactly,
    up to the constant from outside of the attack. Never where answers are not exact."""
    note: str = ""
    """Why another method was used, or the limit of the answer; empty if neither applies."""


def fallen_back(found: DecodedLabels, note: str) -> DecodedLabels:
    """Return `found` with the reason why another method than the requested one was used."""
    return replace(found, note="; ".join(part for part in (note, found.note) if part))


class Decoder(Protocol):
    """An attack that reports how it found its labels."""

    def decode(self, oracle: Oracle, rng: np.random.Generator) -> DecodedLabels:
        """Decode the labels, using the oracle's budget as needed; return them and the method."""

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Ints:
        """Return labels, (n,), using the oracle's budget as needed."""
        return self.decode(oracle, rng).labels


@dataclass(frozen=True, eq=False)
class AnsweredQueries:
    """Random queries and their answers: the whole input of a joint decoder."""

    queries: RandomQueries
    """Over the attacked points and the numbers of their candidates."""
    answers: Floats
    """(k,) The oracle's answers."""
    chances: Floats = field(repr=False)
    """(k,) The probability that a query is right at an attacked point, as `NaiveBayes` has it."""
    knowledge: Knowledge | None
    """Prior knowledge; None for a uniform prior over all labels."""
    n: int
    """Points of the test set."""
    error: float
    """Standard deviation of an answer times n, in points; 0 where answers are exact."""
    threads: int = 1
    """At least 1."""

    @property
    def shifted(self) -> bool:
        """Whether answers hold an unknown constant from points that are not attacked."""
        return self.knowledge is not None and not self.knowledge.whole

    @cached_property
    def counts(self) -> Floats:
        """(k,) Answers in points; whole numbers where answers are exact."""
        counts: Floats = self.answers * self.n
        return counts if self.error else np.round(counts)

    @cached_property
    def log_prior(self) -> Floats:
        """(p, r + 1) Log prior of each candidate, and of none of them; some are -inf."""
        p = self.queries.n
        r = self.queries.m
        if self.knowledge is None:
            return np.broadcast_to(np.append(np.full(r, -np.log(r)), -np.inf), (p, r + 1))
        prior = np.full((p, r + 1), -np.inf)
        prior[:, :r] = self.knowledge.log_prior
        if self.knowledge.n_candidates < self.knowledge.n_classes:
            missing = 1.0 - np.exp(prior[:, :r]).sum(axis=1)
            with np.errstate(divide="ignore"):
                prior[:, r] = np.log(np.maximum(missing, 0.0))
        return prior

    def naive_bayes(self, rng: np.random.Generator) -> DecodedLabels:
        """Decode the same answers by `NaiveBayes`."""
        weights = log_odds(self.chances, self.queries.m)
        labels = aggregate_labels(
            self.queries, weights, knowledge=self.knowledge, rng=rng, threads=self.threads
        )
        return DecodedLabels(labels, "nb", converged=True, iterations=1, explained=False)

    def labels(self, codes: Ints) -> Ints:
        """Return candidates number `codes`, (p,), as labels of all points, (n,)."""
        return codes if self.knowledge is None else self.knowledge.labels(codes).astype(np.int64)

    def explained(self, codes: Ints) -> bool:
        """Return whether `codes`, (p,), r for none of the candidates, give every answer."""
        if self.error or self.queries.k == 0:
            return False
        chosen = np.eye(self.queries.m + 1)[codes][:, :-1]
        return self.fits(self.counts - query_sums(self.queries, chosen, self.threads))

    def fits(self, left: Floats) -> bool:
        """Return whether `left`, (k,) answers less predictions, is nothing but the constant."""
        middle = left[0] if self.shifted else 0.0
        return bool(np.abs(left - middle).max() < 0.25)


def ask_random_queries(
    oracle: Oracle,
    knowledge: Knowledge | None,
    rng: np.random.Generator,
    *,
    block: int = 256,
    threads: int = 1,
) -> AnsweredQueries:
    """Return uniform random queries with their answers, for all of the oracle's budget."""
    queries = random_queries(oracle, knowledge, rng)
    answers = ask(oracle, queries, knowledge=knowledge, block=block, threads=threads)
    chances = query_probabilities(answers, oracle, knowledge)
    return AnsweredQueries(
        queries=queries,
        answers=answers,
        chances=chances,
        knowledge=knowledge,
        n=oracle.n,
        error=oracle.error * oracle.n,
        threads=threads,
    )


def query_sums(queries: RandomQueries, weights: Floats, threads: int) -> Floats:
    """Return for each query the sum over points of the weight, (p, r), of the label it gives."""
    height = queries.tile[0] or 1
    parts = np.zeros((-(-queries.n // height), queries.k))

    def worker() -> Callable[[int], None]:
        brush = queries.brush()

        def fill(start: int) -> None:
            stop = min(start + height, queries.n)
            parts[start // height] = gather_weights(brush.points(start, stop), weights[start:stop])

        return fill

    for_each(worker, range(0, queries.n, height), threads)
    total: Floats = parts.sum(axis=0)
    return total


def gather_weights(labels: Codes, weights: Floats) -> Floats:
    """Return the sum over rows of ``weights[i, labels[i, j]]``, (k,), for labels (b, k)."""
    if weights.shape[1] == 2:
        # A product with a matrix of zeros and ones is faster than a look-up.
        ones = labels.T.astype(np.float32) @ (weights[:, 1] - weights[:, 0]).astype(np.float32)
        counted: Floats = np.asarray(ones, np.float64) + weights[:, 0].sum()
        return counted
    total = np.zeros(labels.shape[1])
    for row, weight in zip(labels, weights, strict=True):
        total += weight.take(row)
    return total
