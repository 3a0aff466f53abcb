"""The rows and the curves of `holdout_bounds`, each from its formula."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privacygauge.audits.holdout_bound.found import ATTACK, GUARANTEE, HONEST, RATE, Bias, BiasCurve
from privacygauge.core import checks
from privacygauge.errors import InputError
from privacygauge.holdout import bounds as theory
from privacygauge.holdout.closed_form import (
    answer_variance,
    majority_bias,
    nb_bias,
    scan_bias,
    trusted,
)
from privacygauge.holdout.designed_bias import designed_bias
from privacygauge.holdout.guards import DIRECT, Exact, Rounded
from privacygauge.holdout.mechanism import Guard
from privacygauge.holdout.selection import honest_best_of_k
from privacygauge.holdout.sparse import FEWEST_CLASSES, poisson_bias

# Of each curve; the scan's formula takes long for more submissions.
_STEPS, _SCAN = 19, 50_000

MOST = 10**9
"""Points, and submissions of all accounts together, at most."""


@dataclass(frozen=True)
class Asked:
    """A question about a test set, checked."""

    n: int
    """Points."""
    m: int
    """Classes."""
    k: int
    """Submissions of all accounts."""
    guard: Guard
    """Between accuracy and analyst."""
    accuracy: float
    """Of honest submissions."""
    correlation: float
    """Of their errors."""
    probability: float
    """Of guarantees."""
    bias: float
    """What the owner can live with."""
    accounts: int | None = None
    """How many accounts submit, each to a state of the guard of its own; None for one."""

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MOST:
            raise InputError(f"n must be in 1..10^9, got {self.n}")
        if self.m < 2:
            raise InputError(f"classes must be at least 2, got {self.m}")
        checks.level(self.probability, "probability")
        if not 0 < self.bias < 1 - 1 / self.m:
            raise InputError(f"bias must be in (0, {1 - 1 / self.m:.4g}), got {self.bias}")

    @property
    def delta(self) -> float:
        """How often a guarantee may fail."""
        return 1 - self.probability

    @property
    def exact(self) -> bool:
        """Whether the answers are the accuracies."""
        return isinstance(self.guard, Exact)

    @property
    def error(self) -> float | None:
        """Of the guard's answers; None where they are not about the submission alone."""
        return self.guard.error(self.n) if isinstance(self.guard, DIRECT) else None

    @property
    def sparse(self) -> bool:
        """Whether Poisson counts are to be preferred."""
        return self.m >= FEWEST_CLASSES and not trusted(self.n, self.m, self.k)


def attack_rows(a: Asked, whole: theory.Bounds) -> tuple[Bias, ...]:
    """Return honest selection and the attacks."""
    honest = (
        f"each {100 * a.accuracy:.4g}% right, errors correlated by {a.correlation:g}; at most, "
        "expected"
    )
    rows = [
        Bias("honest_best_of_k", "honest, best of k", HONEST, whole.honest_best_of_k, honest),
        Bias("nb", "naive Bayes", ATTACK, whole.nb, _of_nb(a), _nb_holds(a)),
        Bias(
            "majority",
            "majority",
            ATTACK,
            whole.majority,
            "the same with votes; exact answers; closed form, expected",
            a.exact and not a.sparse,
        ),
        Bias(
            "linear_scan",
            "linear scan",
            ATTACK,
            whole.linear_scan,
            "one label after the other; exact answers; expected",
            a.exact,
        ),
        Bias(
            "designed",
            "designed queries",
            ATTACK,
            designed_bias(a.n, a.m, a.k),
            "a detecting matrix, two labels an example; exact answers; expected, about",
            a.exact,
        ),
    ]
    if a.m >= FEWEST_CLASSES:
        told = "the same with Poisson counts; exact answers; expected"
        poisson = Bias(
            "nb_poisson", "naive Bayes, few draws", ATTACK, whole.nb_poisson, told, a.exact
        )
        rows.insert(2, poisson)
    return tuple(rows)


def _each(a: Asked) -> str:
    apart = a.accounts is not None and a.error is None
    return ", which remembers each account apart" if apart else ""


def guarantee_rows(a: Asked, whole: theory.Bounds) -> tuple[Bias, ...]:
    """Return what no attack exceeds, and the rates."""
    sure = f"uniform labels, probability {a.probability:g}"
    return (
        Bias(
            "kl",
            "any attack",
            GUARANTEE,
            whole.kl,
            f"{sure}; transcripts of {a.guard.name}{_each(a)}, exact tail",
        ),
        Bias(
            "theorem_3_1",
            "any attack, Theorem 3.1",
            GUARANTEE,
            whole.theorem_3_1,
            f"{sure}; exact answers, a simpler tail",
        ),
        Bias(
            "expectation",
            "any attack, on average",
            GUARANTEE,
            theory.expected_bias(a.n, a.m, a.k),
            "uniform labels; exact answers; after Remark 3.2",
        ),
        Bias(
            "one_bit",
            "any attack, one bit each",
            GUARANTEE,
            theory.bits_bias(a.k, a.n, a.m, delta=a.delta),
            f"{sure}; if each answer were pass or fail",
        ),
        Bias(
            "pointwise_rate",
            "rate of point-wise attacks",
            RATE,
            theory.pointwise_rate(a.n, a.m, a.k),
            "sqrt(k/n)/m, Theorem 4.4: no constant is known",
        ),
        Bias(
            "reconstruction_rate",
            "rate of reconstruction",
            RATE,
            theory.reconstruction_rate(a.n, a.m, a.k),
            "k ln(k/m)/(n ln m), Corollary 4.6: no constant is known",
        ),
    )


def curves(a: Asked) -> tuple[BiasCurve, ...]:
    """Return bias against submissions, from 1 to ten times as many as were asked about."""
    queries = np.unique(np.geomspace(1, 10 * a.k, _STEPS).round().astype(np.int64))
    error, sparse = a.error or 0.0, a.m >= FEWEST_CLASSES and a.exact

    def nb(k: int) -> float:
        if sparse and not trusted(a.n, a.m, k):
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
    return tuple(_curve(key, *of, queries) for key, of in found.items())


def _curve(key: str, title: str, bias: Callable[[int], float], queries: checks.Ints) -> BiasCurve:
    here = queries[queries <= _SCAN] if key == "linear_scan" else queries
    return BiasCurve(key, title, here, np.array([bias(int(k)) for k in here]))


def caveats(a: Asked, whole: theory.Bounds, per_label: float) -> tuple[str, ...]:
    """Return where the formulas are off, or silent."""
    told = []
    if not whole.trusted:
        instead = (
            "take the row with Poisson counts"
            if a.exact and a.m >= FEWEST_CLASSES
            else "simulate it (--simulate 10)"
        )
        told.append(
            f"A label is drawn {per_label:.3g} times at an example or in a query, and the closed "
            f"form of naive Bayes and the majority needs 20: {instead}."
        )
    if a.error is None:
        told.append(
            f"No formula covers attacks behind {a.guard.name}: their rows are for exact answers, "
            "which give away more."
        )
    elif isinstance(a.guard, Rounded) and _coarse(a.error, a.n, a.m):
        told.append(
            "The rounding step is wider than two standard deviations of a random query's accuracy: "
            "the closed form of naive Bayes is off there; simulate it (--simulate 10)."
        )
    return tuple(told)


def _coarse(error: float, n: int, m: int) -> bool:
    # The step is sqrt(12) times the error.
    return error * math.sqrt(12) > 2 * math.sqrt(answer_variance(n, m))


def _of_nb(a: Asked) -> str:
    shown = "exact answers" if a.error == 0 else f"answers behind {a.guard.name}"
    if a.error is None:
        shown = f"exact answers, not those behind {a.guard.name}"
    return f"random queries, no model; {shown}; closed form, expected"


def _nb_holds(a: Asked) -> bool:
    return a.error is not None and not (a.sparse and a.exact)
