"""The question of `holdout_bounds` turned round: what keeps the bias within what is allowed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial

from privacygauge.audits.holdout_bound.found import Allowed
from privacygauge.audits.holdout_bound.theory import Asked
from privacygauge.errors import InputError
from privacygauge.holdout import bounds as theory
from privacygauge.holdout.closed_form import nb_bias, queries_for_bias
from privacygauge.holdout.designed_bias import designed_points, designed_submissions
from privacygauge.holdout.selection import honest_points, honest_submissions

POINTS = 10**12
"""Number of points that are searched."""


def turned(a: Asked) -> tuple[Allowed, ...]:
    """Return the question turned round: what keeps the bias within what is allowed."""
    designed = (_designed_allowed(a),) if a.exact else ()
    return (_honest_allowed(a), _nb_allowed(a), *designed, _any_allowed(a))


def _honest_allowed(a: Asked) -> Allowed:
    p, rho, often = a.accuracy, a.correlation, a.probability
    return Allowed(
        "honest",
        "honest selection",
        honest_submissions(a.bias, a.n, accuracy=p, correlation=rho, probability=often),
        honest_points(a.bias, a.k, accuracy=p, correlation=rho, probability=often),
        f"the best of all stays within it with probability {often:g}",
    )


def _nb_allowed(a: Asked) -> Allowed:
    told = "on average; closed form, rough where labels are drawn seldom"
    if a.error is None:
        return Allowed("nb", "naive Bayes", None, None, f"{told}: none behind {a.guard.name}")
    few = queries_for_bias(a.bias, a.n, a.m, error=a.error)
    return Allowed("nb", "naive Bayes", int(min(few, POINTS)), _nb_points(a), told)


def _designed_allowed(a: Asked) -> Allowed:
    return Allowed(
        "designed",
        "designed queries",
        designed_submissions(a.bias, a.n, a.m),
        designed_points(a.bias, a.m, a.k),
        "on average; exact answers",
    )


def _any_allowed(a: Asked) -> Allowed:
    often = a.probability
    submissions = partial(theory.guaranteed_submissions, guard=a.guard, probability=often)
    points = partial(theory.guaranteed_points, guard=a.guard, probability=often)
    return Allowed(
        "any",
        "any attack",
        submissions(a.bias, a.n, a.m, accounts=a.accounts),
        _or_none(lambda: points(a.bias, a.m, a.k, accounts=a.accounts)),
        f"guaranteed with probability {often:g}, uniform labels",
    )


def _nb_points(a: Asked) -> int | None:
    def within(n: int) -> bool:
        return nb_bias(n, a.m, a.k, error=a.guard.error(n)) <= a.bias

    return bisect_left(range(1, POINTS), True, key=within) + 1 if within(POINTS) else None


def _or_none(points: Callable[[], int]) -> int | None:
    try:
        return points()
    except InputError:
        # More points than are searched; the arguments were checked before.
        return None
