"""Gain from submissions to a test set, by formula, and the limits that keep it within a bias."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.leaderboards import bounds as theory
from privacygauge.leaderboards.analysts import trials, uniform_holdout
from privacygauge.leaderboards.bounds import (
    FEWEST_CLASSES,
    answer_variance,
    count_per_label,
    honest_best_of_k,
    honest_points,
    honest_submissions,
    is_normal_enough,
    majority_bias,
    nb_bias,
    poisson_bias,
    queries_for_bias,
    scan_bias,
)
from privacygauge.leaderboards.designed import designed_bias, designed_points, designed_submissions
from privacygauge.leaderboards.guards import DIRECT, Exact, Rounded
from privacygauge.leaderboards.mechanism import Guard
from privacygauge.leaderboards.naive_bayes import NaiveBayes

if TYPE_CHECKING:
    import pandas as pd


ATTACK = "attack"
HONEST = "honest selection"
GUARANTEE = "guarantee"
RATE = "rate"
KINDS = (ATTACK, HONEST, GUARANTEE, RATE)
"""Kinds of numbers in a `Bias`."""


@dataclass(frozen=True)
class Bias:
    """One number about the gain from submissions."""

    key: str
    """Name in ``report.json``, such as ``nb``."""
    title: str
    """Name for a reader."""
    kind: str
    """One of `KINDS`."""
    value: float
    """Bias: accuracy above 1/m, or for honest selection above the true accuracy. A rate is not a
    bias, since its constant is unknown.
    """
    assumption: str
    """Assumption behind the number, in one line."""
    applies: bool = True
    """True if the assumption holds for this test set and this guard."""


@dataclass(frozen=True)
class AllowedSubmissions:
    """The inverse question: a limit on submissions that keeps the bias small."""

    key: str
    """Name in ``report.json``."""
    title: str
    """Strategy that is limited, for a reader."""
    submissions: int | None
    """Submissions allowed at the given points; None if unknown."""
    points: int | None
    """Points needed for the given submissions; None if unknown or above 10^12."""
    assumption: str
    """Assumption behind the limit, in one line."""


@dataclass(frozen=True, eq=False)
class BiasCurve:
    """Bias as a function of submissions."""

    key: str
    """Name in ``report.json``, as in `Bias`."""
    title: str
    """Name for a reader, as in `Bias`."""
    queries: Ints
    """(p,) Submissions, ascending."""
    bias: Floats
    """(p,) Bias after each number of submissions."""


# Points per curve, and the most submissions of the linear scan, whose formula is slow.
_STEPS = 19
_SCAN = 50_000


MOST = 10**9
"""Largest number of points, and of submissions of all accounts."""


@dataclass(frozen=True)
class ReuseQuestion:
    """A checked question about a test set."""

    n: int
    """Number of points."""
    m: int
    """Number of classes."""
    k: int
    """Submissions of all accounts together."""
    guard: Guard
    """Guard between the accuracy and the analyst."""
    accuracy: float
    """True accuracy of honest submissions, in (0, 1)."""
    correlation: float
    """Correlation between the errors of honest submissions, in [0, 1]."""
    probability: float
    """Probability with which guarantees hold, in (0, 1)."""
    bias: float
    """Largest bias that the owner accepts, in (0, 1 - 1/m)."""
    accounts: int | None = None
    """Number of accounts that submit, each with its own guard state; None for a single state."""
    delta: float = field(init=False)
    """Probability that a guarantee fails."""
    exact: bool = field(init=False)
    """True if the answers are the accuracies themselves."""
    error: float | None = field(init=False)
    """Standard deviation of the guard's answers; None if they depend on the history."""
    sparse: bool = field(init=False)
    """True if the formula with Poisson counts is preferred."""

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MOST:
            raise InputError(f"n must be in 1..10^9, got {self.n}")
        checks.at_least(2, classes=self.m)
        checks.level(self.probability, "probability")
        if not 0 < self.bias < 1 - 1 / self.m:
            raise InputError(f"bias must be in (0, {1 - 1 / self.m:.4g}), got {self.bias}")
        direct = isinstance(self.guard, DIRECT)
        sparse = self.m >= FEWEST_CLASSES and not is_normal_enough(self.n, self.m, self.k)
        object.__setattr__(self, "delta", 1 - self.probability)
        object.__setattr__(self, "exact", isinstance(self.guard, Exact))
        object.__setattr__(self, "error", self.guard.error(self.n) if direct else None)
        object.__setattr__(self, "sparse", sparse)


def attack_rows(a: ReuseQuestion) -> Iterator[Bias]:
    """Yield the numbers on honest selection and on attacks."""
    n = a.n
    m = a.m
    k = a.k
    best = honest_best_of_k(n, k, accuracy=a.accuracy, correlation=a.correlation)
    told = (
        f"each {100 * a.accuracy:.4g}% right, errors correlated by {a.correlation:g}; at most, "
        "expected"
    )
    yield Bias(
        key="honest_best_of_k", title="honest, best of k", kind=HONEST, value=best, assumption=told
    )
    # Without a direct error the guard's answers depend on the history, so exact ones are assumed.
    normal = nb_bias(n, m, k, error=a.error or 0.0)
    shown = "exact answers" if a.error == 0 else f"answers behind {a.guard.name}"
    if a.error is None:
        shown = f"exact answers, not those behind {a.guard.name}"
    yield Bias(
        key="nb",
        title="naive Bayes",
        kind=ATTACK,
        value=normal,
        assumption=f"random queries, no model; {shown}; closed form, expected",
        applies=a.error is not None and not (a.sparse and a.exact),
    )
    if m >= FEWEST_CLASSES:
        few = poisson_bias(n, m, k)
        told = "the same with Poisson counts; exact answers; expected"
        yield Bias(
            key="nb_poisson",
            title="naive Bayes, few draws",
            kind=ATTACK,
            value=few,
            assumption=told,
            applies=a.exact,
        )
    told = "the same with votes; exact answers; closed form, expected"
    usual = a.exact and not a.sparse
    yield Bias(
        key="majority",
        title="majority",
        kind=ATTACK,
        value=majority_bias(n, m, k),
        assumption=told,
        applies=usual,
    )
    told = "one label after the other; exact answers; expected"
    yield Bias(
        key="linear_scan",
        title="linear scan",
        kind=ATTACK,
        value=scan_bias(n, m, k),
        assumption=told,
        applies=a.exact,
    )
    told = "a detecting matrix, two labels an example; exact answers; expected, about"
    yield Bias(
        key="designed",
        title="designed queries",
        kind=ATTACK,
        value=designed_bias(n, m, k),
        assumption=told,
        applies=a.exact,
    )


def guarantee_rows(a: ReuseQuestion) -> Iterator[Bias]:
    """Yield the guarantees, which no attack exceeds, and the rates."""
    n = a.n
    m = a.m
    k = a.k
    sure = f"uniform labels, probability {a.probability:g}"
    apart = a.accounts is not None and a.error is None
    each = ", which remembers each account apart" if apart else ""
    most = theory.guarantee(a.guard, n, m, k, delta=a.delta, accounts=a.accounts)
    told = f"{sure}; transcripts of {a.guard.name}{each}, exact tail"
    yield Bias(key="kl", title="any attack", kind=GUARANTEE, value=most, assumption=told)
    most = theory.theorem_3_1(n, m, k, delta=a.delta)
    told = f"{sure}; exact answers, a simpler tail"
    yield Bias(
        key="theorem_3_1",
        title="any attack, Theorem 3.1",
        kind=GUARANTEE,
        value=most,
        assumption=told,
    )
    most = theory.expected_bias(n, m, k)
    told = "uniform labels; exact answers; after Remark 3.2"
    yield Bias(
        key="expectation",
        title="any attack, on average",
        kind=GUARANTEE,
        value=most,
        assumption=told,
    )
    most = theory.bits_bias(k, n, m, delta=a.delta)
    told = f"{sure}; if each answer were pass or fail"
    yield Bias(
        key="one_bit", title="any attack, one bit each", kind=GUARANTEE, value=most, assumption=told
    )
    told = "sqrt(k/n)/m, Theorem 4.4: no constant is known"
    rate = theory.pointwise_rate(n, m, k)
    yield Bias(
        key="pointwise_rate",
        title="rate of point-wise attacks",
        kind=RATE,
        value=rate,
        assumption=told,
    )
    told = "k ln(k/m)/(n ln m), Corollary 4.6: no constant is known"
    rate = theory.reconstruction_rate(n, m, k)
    yield Bias(
        key="reconstruction_rate",
        title="rate of reconstruction",
        kind=RATE,
        value=rate,
        assumption=told,
    )


def bias_curves(a: ReuseQuestion) -> tuple[BiasCurve, ...]:
    """Return bias curves, from 1 submission to ten times the number in question."""
    # Even steps in the logarithm; rounding makes the first ones coincide.
    queries = np.unique(np.geomspace(1, 10 * a.k, _STEPS).round().astype(np.int64))
    error = a.error or 0.0
    # The closed form of naive Bayes is inaccurate where draws per label are few.
    sparse = a.m >= FEWEST_CLASSES and a.exact

    def nb(k: int) -> float:
        if sparse and not is_normal_enough(a.n, a.m, k):
            return poisson_bias(a.n, a.m, k)
        return nb_bias(a.n, a.m, k, error=error)

    found: dict[str, tuple[str, Callable[[int], float]]] = {}
    found["honest_best_of_k"] = (
        "honest, best of k",
        lambda k: honest_best_of_k(a.n, k, accuracy=a.accuracy, correlation=a.correlation),
    )
    if a.error is not None:
        found["nb"] = ("naive Bayes", nb)
    if a.exact:
        found["majority"] = ("majority", lambda k: majority_bias(a.n, a.m, k))
        found["linear_scan"] = ("linear scan", lambda k: scan_bias(a.n, a.m, k))
        found["designed"] = ("designed queries", lambda k: designed_bias(a.n, a.m, k))
    found["kl"] = (
        f"any attack, {a.guard.name}",
        lambda k: theory.guarantee(a.guard, a.n, a.m, k, delta=a.delta, accounts=a.accounts),
    )
    curves = []
    for key, (title, bias) in found.items():
        # The linear scan's formula takes long for many submissions, so its curve ends early.
        here = queries[queries <= _SCAN] if key == "linear_scan" else queries
        curves.append(BiasCurve(key, title, here, np.array([bias(int(k)) for k in here])))
    return tuple(curves)


def total_of(queries: int, accounts: int) -> int:
    """Return the submissions of all accounts together, from those of each account."""
    for name, value in (("queries", queries), ("accounts", accounts)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    if queries * accounts > MOST:
        raise InputError(f"queries times accounts must be at most 10^9, got {queries * accounts:,}")
    return queries * accounts


def caveats(a: ReuseQuestion) -> Iterator[str]:
    """Yield warnings about inaccurate or missing formulas."""
    if not is_normal_enough(a.n, a.m, a.k):
        instead = (
            "take the row with Poisson counts"
            if a.exact and a.m >= FEWEST_CLASSES
            else "simulate it (--simulate 10)"
        )
        yield (
            f"A label is drawn {count_per_label(a.n, a.m, a.k):.3g} times at an example or in a "
            "query, and the closed form of naive Bayes and the majority needs 20: "
            f"{instead}."
        )
    if a.error is None:
        yield (
            f"No formula covers attacks behind {a.guard.name}: their rows are for exact answers, "
            "which give away more."
        )
        return
    # The rounding step is sqrt(12) times the error.
    deviation = math.sqrt(answer_variance(a.n, a.m))
    if isinstance(a.guard, Rounded) and a.error * math.sqrt(12) > 2 * deviation:
        yield (
            "The rounding step is wider than two standard deviations of a random query's accuracy: "
            "the closed form of naive Bayes is off there; simulate it (--simulate 10)."
        )


POINTS = 10**12
"""Largest number of points searched."""


def submissions_for_bias(a: ReuseQuestion) -> Iterator[AllowedSubmissions]:
    """Yield the limits on submissions that keep the bias within the accepted one."""
    often = a.probability
    honest = {"accuracy": a.accuracy, "correlation": a.correlation}
    yield AllowedSubmissions(
        key="honest",
        title="honest selection",
        submissions=honest_submissions(a.bias, a.n, **honest, probability=often),
        points=honest_points(a.bias, a.k, **honest, probability=often),
        assumption=f"the best of all stays within it with probability {often:g}",
    )
    told = "on average; closed form, rough where labels are drawn seldom"
    if a.error is None:
        yield AllowedSubmissions(
            key="nb",
            title="naive Bayes",
            submissions=None,
            points=None,
            assumption=f"{told}: none behind {a.guard.name}",
        )
    else:
        # nb_bias with the guard's own error at each number of points.
        def within(n: int) -> bool:
            return nb_bias(n, a.m, a.k, error=a.guard.error(n)) <= a.bias

        few = queries_for_bias(a.bias, a.n, a.m, error=a.error)
        enough = None
        # The bias falls with the number of points, so bisection finds the fewest.
        if within(POINTS):
            enough = bisect_left(range(1, POINTS), True, key=within) + 1
        yield AllowedSubmissions(
            key="nb",
            title="naive Bayes",
            # An infinite number is cut to the largest one searched.
            submissions=int(min(few, POINTS)),
            points=enough,
            assumption=told,
        )
    if a.exact:
        most = designed_submissions(a.bias, a.n, a.m)
        least = designed_points(a.bias, a.m, a.k)
        told = "on average; exact answers"
        yield AllowedSubmissions(
            key="designed",
            title="designed queries",
            submissions=most,
            points=least,
            assumption=told,
        )
    points: int | None = None
    with suppress(InputError):  # more than are searched; the arguments were checked before
        points = theory.guaranteed_points(
            a.bias, a.m, a.k, guard=a.guard, probability=often, accounts=a.accounts
        )
    most = theory.guaranteed_submissions(
        a.bias, a.n, a.m, guard=a.guard, probability=often, accounts=a.accounts
    )
    told = f"guaranteed with probability {often:g}, uniform labels"
    yield AllowedSubmissions(
        key="any", title="any attack", submissions=most, points=points, assumption=told
    )


@dataclass(frozen=True, eq=False, repr=False)
class ReuseBounds:
    """Bounds on the gain from submissions to a test set."""

    n: int
    """Number of points of the test set."""
    classes: int
    """Number of classes, m."""
    accounts: int
    """Number of accounts that submit."""
    per_account: int
    """Submissions per account."""
    guard: str
    """Name of the guard, as on the command line."""
    accuracy: float
    """True accuracy of honest submissions."""
    correlation: float
    """Correlation between the errors of two honest submissions."""
    allowed_bias: float
    """Largest bias that the owner of the test set accepts."""
    nats: float
    """Logarithm of the number of transcripts that the guard can produce."""
    biases: tuple[Bias, ...]
    """All numbers about the gain, one per row."""
    simulated: Estimate | None
    """Bias of naive Bayes played against the guard on uniform labels; None if not simulated."""
    allowed: tuple[AllowedSubmissions, ...]
    """Limits on submissions that keep the bias within the accepted one."""
    per_label: float
    """Draws per label, at a point and in a query: the smaller of k/m and n/m."""
    trusted: bool
    """True if that is enough for the closed forms."""
    reconstruction: int | None
    """Random queries that determine all labels in theory; None if the theorem does not apply."""
    curves: tuple[BiasCurve, ...]
    """Bias as a function of submissions, one curve per strategy."""

    @property
    def queries(self) -> int:
        """Submissions of all accounts together, k."""
        return self.accounts * self.per_account

    @property
    def chance(self) -> float:
        """Accuracy of a guess, 1/m."""
        return 1 / self.classes

    def bias(self, key: str) -> Bias:
        """Return the number with this key."""
        return next(found for found in self.biases if found.key == key)

    @property
    def strongest(self) -> Bias | None:
        """Attack with the largest gain among those that apply; None if none does."""
        # A simulation of the guard itself counts beside the formulas that apply to it.
        known = [found for found in self.biases if found.kind == ATTACK and found.applies]
        if self.simulated is not None:
            name = "naive Bayes, simulated"
            told = "played on uniform labels"
            known.append(
                Bias(
                    key="nb_simulated",
                    title=name,
                    kind=ATTACK,
                    value=self.simulated.value,
                    assumption=told,
                )
            )
        return max(known, key=lambda found: found.value, default=None)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per number.

        Columns: ``name``, ``kind``, ``value``, ``applies``, ``assumption``. Values are biases above
        1/m (``honest_best_of_k``: above the true accuracy), except for rates.
        """
        import pandas as pd

        columns = ["key", "kind", "value", "applies", "assumption"]
        return pd.DataFrame(self.biases)[columns].rename(columns={"key": "name"})


def bound_reuse(a: ReuseQuestion, simulate: int, seed: int) -> ReuseBounds:
    """Return bounds on the gain from the submissions in question.

    Naive Bayes is simulated `simulate` times, at least 2, or not at all (0).
    """
    if simulate and simulate < 2:
        raise InputError(f"simulate must be 0 or at least 2, got {simulate}")
    accounts = a.accounts or 1
    # Theorem 4.5 needs m >= 3 and n > 4 m.
    told = a.m >= 3 and a.n > 4 * a.m
    nats = theory.transcript_nats(a.guard, a.k, a.n, a.m, accounts=a.accounts)
    biases = (*attack_rows(a), *guarantee_rows(a))
    simulated = None
    if simulate:
        rngs = [seeds.stream(seed, "bound", a.guard.name, i) for i in range(simulate)]
        played = trials(
            NaiveBayes(), lambda rng: uniform_holdout(a.n, a.m, rng), a.k, rngs, guard=a.guard
        )
        simulated = played.bias(a.probability)
    return ReuseBounds(
        a.n,
        classes=a.m,
        accounts=accounts,
        per_account=a.k // accounts,
        guard=a.guard.name,
        accuracy=a.accuracy,
        correlation=a.correlation,
        allowed_bias=a.bias,
        nats=nats,
        biases=biases,
        simulated=simulated,
        allowed=tuple(submissions_for_bias(a)),
        per_label=count_per_label(a.n, a.m, a.k),
        trusted=is_normal_enough(a.n, a.m, a.k),
        reconstruction=theory.reconstruction_queries(a.n, a.m) if told else None,
        curves=bias_curves(a),
    )
