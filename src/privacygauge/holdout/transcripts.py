"""Number of series of answers of a guard whose answers to one account only rise.

A strategy is deterministic, so all that it may come to are the leaves of a tree. Where t accounts
have asked k times in all, t answers are first ones, at places that the strategy has fixed, and of
the k - t others any may be a rise. Each function bounds the number of leaves with k answers to t
accounts for every strategy, also for one that decides by the answers which account asks next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.special import betaln, logsumexp

from privacygauge.core.checks import Floats

# Sums of more terms are left to the bound without a sum, which costs them a few nats.
_TERMS = 100_000


def log_rising(k: int, top: int, accounts: int = 1) -> float:
    """Return ln C(k + t top, k): each of t accounts rises among the values 0, 1, ..., top.

    With r rises the values shown are r + t of the t (top + 1) pairs of an account and a value,
    and the strategy knows whose each is: sum over r of C(k - t, r) C(t (top + 1), r + t). Never
    more than (top + 1)^k.
    """
    return min(log_choose(k + accounts * top, k), k * math.log1p(top))


def log_rising_by_two(k: int, top: int, accounts: int = 1) -> float:
    """Return the log of the count of `log_rising` if every rise is of 2 or more.

    Of N pairs in a row, with a gap between two accounts, j without neighbours are one of
    C(N - j + 1, j) sets.
    """
    bound = min(log_rising(k, top, accounts), _potential(k, top, accounts, _by_two()))
    most = min(k - accounts, accounts * (top + 2) // 2 - accounts)
    if most < 0 or most > _TERMS:
        return bound
    shown = np.arange(most + 1.0) + accounts
    rises = _log_choose(np.array(float(k - accounts)), shown - accounts)
    terms = rises + _log_choose(accounts * (top + 2) - shown, shown)
    return min(bound, float(logsumexp(terms)))


def log_rising_binary(k: int, top: int, accounts: int = 1) -> float:
    """Return the log of the count of `log_rising` if the gain's square exceeds the change.

    With two classes the strategy knows how many labels D it changes. Each change is a point won
    or lost, so that a gain g has the parity of D, and a rise needs sqrt(D) < g <= D. Counted by
    the halves of what is gained: t ln 2 + ln C(k + t floor(top/2), k). Counted by a potential
    that falls by the factor exp(-a g): the best D leaves 1 + max over j of
    (exp(-a j) - exp(-a j^2)) / (1 - exp(-2 a)), j the root of D rounded up.
    """
    halves = accounts * math.log(2) + log_rising(k, top // 2, accounts)
    return min(
        halves, _potential(k, top, accounts, _by_root()), log_rising_by_two(k, top, accounts)
    )


def over_accounts(
    counted: Callable[[int, int, int], float], k: int, top: int, accounts: int | None
) -> float:
    """Return `counted` for a guard with one state, or with one per account.

    With t states ln(t (t + 1)) is added. A strategy that decides by the answers whether to ask
    from a further account ends with another t in each leaf; these weights, whose inverses sum to
    1, keep the leaves of a budget of x nats below exp(x) for all t together.
    """
    if accounts is None:
        return counted(k, top, 1)
    t = min(accounts, k)
    return counted(k, top, t) + math.log(t * (t + 1))


def log_choose(n: float, k: float) -> float:
    """Return ln C(n, k), even for n so large that its factorial has no exact digits."""
    return float(_log_choose(np.array(float(n)), np.array(float(k))))


def _log_choose(n: Floats, k: Floats) -> Floats:
    return np.asarray(-np.log1p(n) - betaln(n - k + 1, k + 1))


def _potential(k: int, top: int, accounts: int, log_branches: Floats) -> float:
    """Return the least over a of (k - t) ln c(a) + t ln(sum over v <= top of exp(a v)).

    c(a) bounds 1 + sum of exp(-a g) over the gains g that one query may show. By induction over
    the tree exp(a (top - v)), multiplied over the accounts, counts what the values v still allow.
    """
    a = _rates()
    first = a * top + np.log(-np.expm1(-a * (top + 1.0))) - np.log(-np.expm1(-a))
    return float(np.min((k - accounts) * log_branches + accounts * first))


@cache
def _rates() -> Floats:
    # Any rate gives a bound; a fixed set of them keeps it rising with k to the last digit.
    return np.asarray(np.exp2(np.arange(-40, 4, 1 / 32)))


@cache
def _by_two() -> Floats:
    a = _rates()
    return np.asarray(np.log1p(np.exp(-2 * a) / -np.expm1(-a)))


@cache
def _by_root() -> Floats:
    a = _rates()
    root = np.full_like(a, 2.0)
    # Where the derivative is 0: a j (j - 1) = ln(2 j); the iteration rises to it.
    for _ in range(60):
        root = (1 + np.sqrt(1 + 4 * np.log(2 * root) / a)) / 2
    whole = np.maximum(2.0, np.floor(root) + np.arange(-1, 3)[:, None])
    gained = (np.exp(-a * whole) - np.exp(-a * whole**2)) / -np.expm1(-2 * a)
    return np.asarray(np.log1p(gained.max(axis=0)))
