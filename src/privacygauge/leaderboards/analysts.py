"""Attacks on a test set, by name, played against any guard: the table bias by attack by guard."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import mean
from privacygauge.leaderboards.bounds import blum_hardt_bias, majority_bias, nb_bias, scan_bias
from privacygauge.leaderboards.decoding import LinearProgramming, MessagePassing
from privacygauge.leaderboards.designed import DesignedQueries, Reconstruction, designed_bias
from privacygauge.leaderboards.mechanism import Guard
from privacygauge.leaderboards.metrics import ACCURACY, Values
from privacygauge.leaderboards.naive_bayes import BlumHardt, Majority, NaiveBayes
from privacygauge.leaderboards.oracle import Budget, Holdout, Oracle
from privacygauge.leaderboards.priors import Knowledge
from privacygauge.leaderboards.sequential import HillClimbing, LinearScan


class Analyst(Protocol):
    """An attack from an oracle's answers alone to labels; frozen, with no state between calls."""

    @property
    def name(self) -> str:
        """Name of the attack in tables and on the command line."""

    @property
    def needs_points(self) -> bool:
        """True if the attack must see the test points, or at least distinguish them."""

    def unaided(self) -> Values | None:
        """Return the labels, (n,), to submit without any query; None for a guess."""

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Values:
        """Return labels, (n,), or predictions in the metric's form, after spending the budget."""


@dataclass(frozen=True)
class Play:
    """Result of one attack on a test set."""

    accuracy: float
    """Score of the final answer: the share of right labels, or another metric."""
    baseline: float
    """Score of the attacker's prior knowledge alone, such as its base model; 1/m for a guess.
    """
    queries_used: int
    """Number of submissions answered."""

    @property
    def bias(self) -> float:
        """Accuracy above the baseline."""
        return self.accuracy - self.baseline


def play(
    analyst: Analyst,
    holdout: Holdout,
    k: int,
    rng: np.random.Generator,
    *,
    guard: Guard | None = None,
) -> Play:
    """Play `analyst` with k submissions to a fresh oracle.

    Parameters
    ----------
    analyst : Analyst
    holdout : Holdout
        Test set; only its oracle reaches the analyst.
    k : int
        Number of submissions, at least 0. The final answer is judged separately and not counted.
    rng : numpy.random.Generator
        Draws the guard's key, and serves the analyst.
    guard : Guard, optional
        Guard; by default answers are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.leaderboards.analysts import play, uniform_holdout
    >>> from privacygauge.leaderboards.guards import Ladder
    >>> from privacygauge.leaderboards.naive_bayes import NaiveBayes
    >>> rng = np.random.default_rng(0)
    >>> holdout = uniform_holdout(1_000, 2, rng)
    >>> play(NaiveBayes(), holdout, 500, rng).bias > 0.2
    True
    >>> play(NaiveBayes(), holdout, 500, rng, guard=Ladder(0.01)).bias > 0.1
    False
    """
    oracle = holdout.open(rng, guard=guard, budget=Budget(total=k))
    answer = analyst.answer(oracle, rng)
    known = analyst.unaided()
    baseline = 1 / holdout.n_classes if known is None else holdout.score(known)
    if holdout.metric != ACCURACY:
        # The best answer without a query is a constant, or is expected to score as much.
        baseline = holdout.metric.chance(holdout.labels)
    return Play(holdout.score(answer), baseline, oracle.used)


def uniform_holdout(n: int, m: int, rng: np.random.Generator) -> Holdout:
    """Return a test set of n uniformly random labels of m classes."""
    return Holdout(rng.integers(0, m, n), m)


@dataclass(frozen=True, eq=False)
class Trials:
    """Independent plays of one attack against one guard."""

    accuracies: Floats
    """(trials,) Accuracy of each final answer."""
    baselines: Floats
    """(trials,) Accuracy that the attacker would have reached without a query."""
    queries_used: Ints
    """(trials,) Number of submissions answered."""

    def __post_init__(self) -> None:
        n = len(self.accuracies)
        object.__setattr__(self, "accuracies", checks.floats(self.accuracies, "accuracies"))
        baselines = checks.floats(self.baselines, "baselines", length=n)
        object.__setattr__(self, "baselines", baselines)
        used = checks.classes(self.queries_used, "queries_used", length=n)
        object.__setattr__(self, "queries_used", used)
        if n == 0:
            raise InputError("trials must be at least 1, got 0")

    def accuracy(self, level: float = 0.95) -> Estimate:
        """Return the mean accuracy over trials with Student's interval, unbounded for one trial."""
        return _within_scale(mean(self.accuracies, level, unit="trials"), most=1.0)

    def bias(self, level: float = 0.95) -> Estimate:
        """Return the mean accuracy above the baseline, with an interval as in `accuracy`."""
        found = mean(self.accuracies - self.baselines, level, unit="trials")
        return _within_scale(found, most=1.0 - float(self.baselines.min()))


def _within_scale(found: Estimate, *, most: float) -> Estimate:
    """Return an estimate whose interval ends at the largest possible value; as it is if unbounded.

    No score is above 1. How far below 0 one may be differs by metric.
    """
    if not math.isfinite(found.high):
        return found
    return replace(found, high=max(found.value, min(found.high, most)))


def trials(
    analyst: Analyst,
    deal: Callable[[np.random.Generator], Holdout],
    k: int,
    rngs: Sequence[np.random.Generator],
    *,
    guard: Guard | None = None,
) -> Trials:
    """Return independent plays of `analyst`, each with its own test set and oracle.

    Parameters
    ----------
    analyst : Analyst
    deal : callable
        Function that returns a test set; ``lambda rng: holdout`` for a given one.
    k : int
        Number of submissions per play.
    rngs : sequence of numpy.random.Generator
        Generators, one per trial.
    guard : Guard, optional
        Guard; by default answers are exact.
    """
    plays = [play(analyst, deal(rng), k, rng, guard=guard) for rng in rngs]
    return Trials(
        np.array([p.accuracy for p in plays]),
        np.array([p.baseline for p in plays]),
        np.array([p.queries_used for p in plays], dtype=np.int64),
    )


@dataclass(frozen=True)
class NamedAttack:
    """An attack with its name."""

    name: str
    """Name on the command line and in reports."""
    make: Callable[[Knowledge | None], Analyst]
    """Function that returns the attack, given the attacker's prior knowledge."""
    informed: bool = True
    """True if it uses prior knowledge."""
    expected: Callable[[int, int, int], float] | None = None
    """Bias after k exact answers about n uniform labels of m classes, from (n, m, k)."""


_EVERY = (
    NamedAttack("nb", NaiveBayes, expected=nb_bias),
    NamedAttack("majority", lambda _: Majority(), informed=False, expected=majority_bias),
    NamedAttack(
        "majority-blum-hardt", lambda _: BlumHardt(), informed=False, expected=blum_hardt_bias
    ),
    NamedAttack("scan", LinearScan, expected=scan_bias),
    NamedAttack("hill-climbing", HillClimbing),
    NamedAttack("message-passing", MessagePassing),
    NamedAttack("linear-programming", LinearProgramming),
    NamedAttack("designed", DesignedQueries, expected=designed_bias),
    NamedAttack("reconstruction", lambda _: Reconstruction(), informed=False),
)
ATTACKS: Mapping[str, NamedAttack] = {attack.name: attack for attack in _EVERY}
"""Every attack by its name."""
