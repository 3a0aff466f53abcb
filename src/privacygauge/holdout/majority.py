"""Plurality of random queries with weights of 1, -1 and 0: simpler, and weaker, than NB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.holdout.naive_bayes import aggregated, ask, check_sizes, random_queries
from privacygauge.holdout.oracle import Oracle


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
    """Queries that are made at a time, at least 1. It changes memory and time, no answer."""
    threads: int = 1
    """At least 1. It changes time, no answer."""

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
        """Return labels, (n,), after all of the oracle's budget."""
        queries = random_queries(oracle, None, rng)
        answers = ask(oracle, queries, None, self.block, self.threads)
        weights = np.maximum(_votes(answers, oracle.n, oracle.n_classes), self.least)
        return aggregated(queries, weights, None, rng, self.threads)


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
