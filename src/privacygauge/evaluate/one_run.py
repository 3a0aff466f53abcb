"""Lower bounds on epsilon from a single training run with many canaries."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, expit, ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

_HALVINGS = 36
"""Bisection steps of the search for epsilon."""
_STEP = 1e-6
"""Smallest improvement in epsilon by the second theorem that is worth a search."""

_LARGEST = 40.0
"""Upper end of the search for epsilon: e^-40 is negligible beside 1."""


def one_run_epsilon(
    n_canaries: int,
    n_guesses: ArrayLike,
    n_right: ArrayLike,
    delta: float = 0.0,
    level: float = 0.95,
) -> Floats:
    """Return the largest epsilon that the right guesses of one run rule out.

    Parameters
    ----------
    n_canaries : int
        Canaries that independent fair coins put into the training set or left out.
    n_guesses : array_like of int
        Number of guesses, fixed in advance; in 0..n_canaries.
    n_right : array_like of int, of the same shape
        Number of right guesses, in 0..n_guesses.
    delta : float
        In [0, 1), for adding or removing one canary.
    level : float
        In (0, 1); each value on its own fails with probability at most ``1 - level``.

    Returns
    -------
    ndarray of float
        At least 0, of the broadcast shape; 0 if guesses are no better than coins.

    Raises
    ------
    InputError
        If counts are out of range or are not integers.

    Notes
    -----
    If a mechanism is (epsilon, delta)-private, at least v of r guesses are right with
    probability at most ``f(v) + 2 m delta max_i (f(v - i) - f(v)) / i``, where
    ``f(v) = P[Binomial(r, e^eps / (1 + e^eps)) >= v]`` (Steinke, Nasr & Jagielski 2023, theorem
    5.2). It holds for all canaries together, however their scores depend on each other. An epsilon
    is ruled out if that probability is at most ``1 - level``. At delta = 0 this is the logit of
    Clopper-Pearson's lower limit for the share of right guesses.

    Each term of the maximum is ``(1 - c) f(v) + c f(v - i)`` with ``c = 2 m delta / i``. As a
    function of epsilon it rises, or first rises and then falls towards 1, since the ratio of
    the two binomial densities in its derivative is monotone. So it crosses any value below 1
    once, and halving an interval finds the largest epsilon that is ruled out.

    With delta > 0, the result is the better of this and `trade_off.refuted_by`. Both bound the
    same tail probability, so no correction is needed.

    Examples
    --------
    >>> one_run_epsilon(1000, 1000, [500, 800, 1000]).round(2)
    array([0.  , 1.25, 5.81])
    """
    beta = 1.0 - checks.level(level)
    given, hit = np.broadcast_arrays(np.asarray(n_guesses), np.asarray(n_right))
    if given.dtype.kind not in "iu" or hit.dtype.kind not in "iu":
        raise InputError(f"counts of guesses must be integers, got {given.dtype} and {hit.dtype}")
    if np.any(given < 0) or np.any(given > n_canaries):
        raise InputError(
            f"n_guesses must be in 0..{n_canaries} (the canaries), got {given.tolist()}"
        )
    if np.any(hit < 0) or np.any(hit > given):
        raise InputError(f"n_right must be in 0..n_guesses, got {hit.tolist()} of {given.tolist()}")
    checks.below_one(delta, "delta")
    r = given.astype(np.int64)
    v = hit.astype(np.int64)
    # At delta = 0 the count is binomial with the probability e^epsilon / (1 + e^epsilon).
    a = np.maximum(v, 1)
    b = np.maximum(r - v + 1, 1)
    # Share of right and of wrong guesses separately: 1 - right would lose its digits near 1.
    right = betaincinv(a, b, beta)
    wrong = betaincinv(b, a, 1.0 - beta)
    pure = np.where(v > 0, np.clip(np.log(right) - np.log(wrong), 0.0, _LARGEST), 0.0)
    if delta == 0.0:
        return pure
    # Bisection between 0 and the bound at delta = 0: a positive delta only weakens it.
    low = np.zeros(r.shape)
    high = pure.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        refuted = _tail(n_canaries, r, v=v, delta=delta, epsilon=middle) <= beta
        low = np.where(refuted, middle, low)
        high = np.where(refuted, high, middle)
    found = [
        _by_trade_off((n_canaries, int(a), int(b)), delta, beta=beta, low=float(x), pure=float(y))
        for a, b, x, y in zip(r.flat, v.flat, low.flat, pure.flat, strict=True)
    ]
    return np.array(found, np.float64).reshape(r.shape)


def largest_one_run_epsilon(
    n_canaries: int, n_guesses: ArrayLike, delta: float = 0.0, level: float = 0.95
) -> Floats:
    """Return the bound of `one_run_epsilon` if every guess is right.

    No attack can refute a claim above it. At delta = 0 it is
    ``ln(q / (1 - q))`` with ``q = (1 - level)^(1 / n_guesses)``.

    Examples
    --------
    >>> largest_one_run_epsilon(1000, [10, 100, 1000]).round(2)
    array([1.05, 3.49, 5.81])
    """
    return one_run_epsilon(n_canaries, n_guesses, n_right=n_guesses, delta=delta, level=level)


def right_guesses(score: Floats, secret: Bools, n_guesses: Ints, rng: np.random.Generator) -> Ints:
    """Return the number of right guesses for each number of guesses.

    Of r guesses, half (rounded up) are "member" for the highest scores, the others "non-member" for
    the lowest scores; canaries in between are not guessed. Ties are broken at random, so that the
    order of the rows gives nothing away.

    Parameters
    ----------
    score : ndarray of float, shape (m,)
        Higher means more likely a member.
    secret : ndarray of bool, shape (m,)
        True for a member.
    n_guesses : ndarray of int, shape (g,)
        In 0..m.
    rng : numpy.random.Generator
        Breaks ties between scores.

    Returns
    -------
    ndarray of int, shape (g,)
    """
    # A random order first: the stable sort then breaks ties at random.
    shuffled = rng.permutation(len(score))
    member = secret[shuffled[np.argsort(score[shuffled], kind="stable")]]
    # Right guesses by their number: members from the top, non-members from the bottom.
    found = np.concatenate([[0], np.cumsum(member[::-1])])
    rejected = np.concatenate([[0], np.cumsum(~member)])
    return np.asarray(found[(n_guesses + 1) // 2] + rejected[n_guesses // 2], np.int64)


def _tail(m: int, r: Ints, v: Ints, delta: float, epsilon: Floats) -> Floats:
    """Return the bound of theorem 5.2 on P[at least v right guesses]; it may exceed 1."""
    q = expit(epsilon)
    tail = _binomial_upper_tail(r, v, q)

    def mean(i: Ints) -> Floats:
        return (_binomial_upper_tail(r, v - i, q) - tail) / i

    # The mean of the i densities below v rises with i until the next one no longer exceeds it, then
    # falls (the binomial is unimodal), so bisection finds the maximum.
    low = np.ones_like(v)
    high = np.maximum(v, 1)
    while np.any(low < high):
        middle = (low + high) // 2
        here, after = mean(np.stack([middle, middle + 1]))
        rises = after > here
        low = np.where(rises, middle + 1, low)
        high = np.where(rises, high, middle)
    # Also the neighbour: with equal densities, rounding may move the bisection by one.
    neighbours = mean(np.stack([low, np.maximum(low - 1, 1)]))
    largest: Floats = np.maximum(neighbours[0], neighbours[1])
    return tail + 2 * m * delta * largest


def _binomial_upper_tail(r: Ints, v: Ints, q: Floats) -> Floats:
    n = np.maximum(r, 1)
    inside = np.minimum(np.maximum(v, 1), n)
    # P[Binomial(r, q) >= v] as an incomplete beta function, for 1 <= v <= r.
    tail = betainc(inside, n - inside + 1.0, q)
    return np.where(v <= 0, 1.0, np.where(v > r, 0.0, tail))


def _by_trade_off(
    counts: tuple[int, int, int], delta: float, beta: float, low: float, pure: float
) -> float:
    """Return the largest epsilon, at least `low`, that is ruled out by its trade-off curve.

    At delta = 0 the binomial tail is the largest possible one, so nothing lies above `pure`.
    """

    def refuted(epsilon: Floats) -> Bools:
        factor = np.exp(epsilon)
        # Smallest FPR at TPR x on the (epsilon, delta) curve, the maximum of two lines.
        return refuted_by(
            lambda x: np.maximum(
                np.maximum((x - delta) / factor, (1.0 - delta) - (1.0 - x) * factor), 0.0
            ),
            *counts,
            beta,
            len(epsilon),
        )

    # In most cases there is no gain: a single evaluation just above `low` shows it.
    if low >= pure or not refuted(np.array([low + _STEP]))[0]:
        return low
    return largest_refuted(refuted, low, pure)


# Bounds by trade-off curves.

_LANES = 64
"""Candidate values per refinement; all are tested at once."""
_ROUNDS = 4
"""Refinements of the interval between two candidates; each divides it by 63."""

_LARGEST_MU = 20.0


@lru_cache(maxsize=4096)
def one_run_mu(n_canaries: int, n_guesses: int, n_right: int, level: float = 0.95) -> float:
    """Return the largest mu of a Gaussian mechanism that the right guesses of one run rule out.

    Parameters
    ----------
    n_canaries : int
        Canaries that independent fair coins put into the training set or left out.
    n_guesses : int
        Number of guesses, fixed in advance; in 0..n_canaries.
    n_right : int
        Number of right guesses, in 0..n_guesses.
    level : float
        In (0, 1).

    Returns
    -------
    float
        At least 0, at most 20.

    Notes
    -----
    `refuted_by` with the curve of Gaussian differential privacy, ``Phi(Phi^-1(x) - mu)``.

    Examples
    --------
    >>> round(one_run_mu(10_000, 1000, 1000), 2)
    1.83
    """
    if not 0 <= n_right <= n_guesses <= n_canaries:
        raise InputError(
            "0 <= n_right <= n_guesses <= n_canaries must hold, got "
            f"{n_right}, {n_guesses} and {n_canaries}"
        )
    beta = 1.0 - checks.level(level)

    return largest_refuted(
        # The trade-off function of a Gaussian mechanism: the least FPR at each TPR.
        lambda mu: refuted_by(
            lambda x: ndtr(ndtri(x) - mu),
            n_canaries,
            r=n_guesses,
            v=n_right,
            beta=beta,
            n_curves=len(mu),
        ),
        0.0,
        _LARGEST_MU,
    )


def refuted_by(
    least: Callable[[Floats], Floats], m: int, r: int, v: int, beta: float, n_curves: int
) -> Bools:
    """Return the curves under which P[at least v of r guesses are right] is below `beta`.

    Parameters
    ----------
    least : callable
        ``least(x)`` is the smallest false-positive rate, in [0, 1], of a test with true-positive
        rate x, for all curves at once: (c,) to (c,). Convex and increasing in x.
    m, r, v : int
        Numbers of canaries, of guesses and of right guesses, ``0 <= v <= r <= m``.
    beta : float
        In (0, 1).
    n_curves : int
        Number of curves c.

    Returns
    -------
    ndarray of bool, shape (c,)

    Notes
    -----
    Let C be the number of right guesses. For a canary j and a number k, take the event that j is
    guessed correctly and C >= k. Had its coin fallen the other way, the same outputs would be a
    wrong guess about j with C >= k - 1. The curve relates the two probabilities; averaged over
    coins and canaries (the curve is convex),

        E[(r - C) 1{C >= k - 1}] / m  >=  least(E[C 1{C >= k}] / m)     for k = 1 .. r,

    as in Mahloujifar, Melis & Chaudhuri (2024), here with abstention. If P[C >= v] is at least
    beta, the inequalities demand least if that mass is exactly at C = v: larger values of C raise
    the right-hand side and lower the left one. Then the smallest probabilities of C = v - 1, v - 2,
    ... that the inequalities allow follow one after the other; each raises the right-hand sides of
    the later ones. If they sum to more than 1, no such distribution exists, and the curve is
    refuted.
    """
    # Per curve: x = E[C 1{C >= k}] / m, y = E[(r - C) 1{C >= k}] / m, and the probability placed so
    # far, at first beta on C = v.
    x = np.full(n_curves, v * beta / m)
    y = np.full(n_curves, (r - v) * beta / m)
    mass = np.full(n_curves, beta)
    refuted = np.zeros(n_curves, np.bool_)
    for k in range(v, 0, -1):
        gain = np.maximum(least(np.minimum(x, 1.0)) - y, 0.0)
        # With no gain for any curve, x and y stay as they are, and so there is never any again.
        gain[refuted] = 0.0
        if not gain.any():
            break
        # Probability of C = k - 1 that closes the gap: it adds (r - k + 1) / m of itself to y.
        added = gain * (m / (r - k + 1))
        x = x + (k - 1) / m * added
        y = y + gain
        mass = mass + added
        refuted |= mass > 1.0
    return refuted


def largest_refuted(refuted: Callable[[Floats], Bools], low: float, high: float) -> float:
    """Return the largest refuted value between `low` and `high`; `low` if none is.

    Parameters
    ----------
    refuted : callable
        Maps ascending values (c,) to booleans (c,): True up to some value, False above it.
    low, high : float
        Ends of the search.
    """
    for _ in range(_ROUNDS):
        # Many values at once: the test is vectorised, so a round costs little more than one value.
        values = np.linspace(low, high, _LANES)
        found = np.flatnonzero(~refuted(values))
        first = int(found[0]) if len(found) else _LANES
        if first == 0:
            return low
        low = float(values[first - 1])
        high = float(values[min(first, _LANES - 1)])
    return low
