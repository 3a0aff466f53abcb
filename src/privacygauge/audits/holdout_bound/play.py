"""What submissions to a test set can buy: attacks, honest selection and guarantees at once."""

from __future__ import annotations

from collections.abc import Mapping

from privacygauge.audits.holdout_bound.found import HoldoutBounds
from privacygauge.audits.running import Running
from privacygauge.core import seeds
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.holdout import bounds as theory
from privacygauge.holdout.analysts import trials, uniform_holdout
from privacygauge.holdout.closed_form import count_per_label
from privacygauge.holdout.gained import (
    MOST,
    Asked,
    attack_rows,
    caveats,
    curves,
    guarantee_rows,
    turned,
)
from privacygauge.holdout.guards import guard_named
from privacygauge.holdout.mechanism import Guard
from privacygauge.holdout.naive_bayes import NaiveBayes


def holdout_bounds(
    n: int,
    classes: int,
    queries: int,
    *,
    accounts: int = 1,
    guard: Guard | str = "exact",
    accuracy: float = 0.8,
    correlation: float = 0.0,
    bias: float = 0.005,
    probability: float = 0.95,
    simulate: int = 0,
    seed: int = 0,
    command: str = "holdout_bounds",
    provenance: Mapping[str, str] | None = None,
) -> HoldoutBounds:
    """Return what submissions to a test set can buy: by attack, by honest selection, at most.

    Parameters
    ----------
    n, classes : int
        Points (at least 1) and classes (at least 2) of the test set.
    queries : int
        Submissions of each account, at least 1.
    accounts : int, default 1
        Accounts, at least 1; a guard that remembers does so for each account apart.
    guard : Guard or str, default "exact"
        What stands between accuracy and analyst, such as ``"round:2"``; see `guard_named`.
    accuracy, correlation : float
        True accuracy of honest submissions, in (0, 1), and the correlation of their errors, in
        [0, 1].
    bias : float, default 0.005
        What the owner can live with, in (0, 1 - 1/classes): half a point.
    probability : float, default 0.95
        Of guarantees and intervals, in (0, 1).
    simulate : int, default 0
        So many times, at least 2, naive Bayes is played against the guard on uniform labels: for
        guards that no formula covers, and as a check of the others. It takes n times `queries`
        steps each. 0 for none.
    seed : int
        Of the simulation.
    command, provenance
        What the report names as its origin.

    Returns
    -------
    HoldoutBounds
        Biases above 1/m, from 0 to 1 - 1/m; a bound may exceed that, and says nothing then.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Feldman, Frostig and Hardt (2019); see `privacygauge.holdout.bounds` and
    `privacygauge.holdout.closed_form` for the formulas.

    Examples
    --------
    >>> from privacygauge.audits.holdout_bound.play import holdout_bounds
    >>> found = holdout_bounds(10_000, 2, 2_000)
    >>> round(found.bias("nb").value, 3)
    0.173
    """
    protected = guard_named(guard) if isinstance(guard, str) else guard
    asked = Asked(
        n,
        classes,
        total_of(queries, accounts),
        protected,
        accuracy,
        correlation,
        probability,
        bias=bias,
        accounts=accounts if accounts > 1 else None,
    )
    running = Running(command, seed, probability, provenance)
    return bounded(asked, accounts, simulate, running)


def bounded(asked: Asked, accounts: int, simulate: int, running: Running) -> HoldoutBounds:
    """Return what `holdout_bounds` does, for the submissions of all accounts together."""
    n, classes, total, found = asked.n, asked.m, asked.k, asked.guard
    if simulate and simulate < 2:
        raise InputError(f"simulate must be 0 or at least 2, got {simulate}")
    per_label = count_per_label(n, classes, total)
    whole = theory.bounds(
        n,
        classes,
        total,
        guard=found,
        accuracy=asked.accuracy,
        correlation=asked.correlation,
        delta=asked.delta,
        accounts=asked.accounts,
    )
    return HoldoutBounds(
        running.origin(warnings=caveats(asked, whole, per_label)),
        n,
        classes=classes,
        accounts=accounts,
        per_account=total // accounts,
        guard=found.name,
        accuracy=asked.accuracy,
        correlation=asked.correlation,
        allowed_bias=asked.bias,
        nats=theory.transcript_nats(found, total, n, classes, accounts=asked.accounts),
        biases=(*attack_rows(asked, whole), *guarantee_rows(asked, whole)),
        simulated=_simulated(asked, simulate, running.seed) if simulate else None,
        allowed=turned(asked),
        per_label=per_label,
        trusted=whole.trusted,
        reconstruction=theory.reconstruction_queries(n, classes)
        if classes >= 3 and n > 4 * classes
        else None,
        curves=curves(asked),
    )


def total_of(queries: int, accounts: int) -> int:
    """Return the submissions of all accounts together."""
    for name, value in (("queries", queries), ("accounts", accounts)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    if queries * accounts > MOST:
        raise InputError(f"queries times accounts must be at most 10^9, got {queries * accounts:,}")
    return queries * accounts


def _simulated(a: Asked, number: int, seed: int) -> Estimate:
    rngs = [seeds.stream(seed, "bound", a.guard.name, i) for i in range(number)]
    played = trials(
        NaiveBayes(), lambda rng: uniform_holdout(a.n, a.m, rng), a.k, rngs, guard=a.guard
    )
    return played.bias(a.probability)
