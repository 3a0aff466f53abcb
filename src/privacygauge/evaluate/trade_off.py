"""Trade-off curves that the right guesses of one training run rule out."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats
from privacygauge.errors import InputError

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

    def refuted(mu: Floats) -> Bools:
        return refuted_by(
            lambda x: ndtr(ndtri(x) - mu),
            n_canaries,
            r=n_guesses,
            v=n_right,
            beta=beta,
            n_curves=len(mu),
        )

    return largest_refuted(refuted, 0.0, _LARGEST_MU)


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
        values = np.linspace(low, high, _LANES)
        found = np.flatnonzero(~refuted(values))
        first = int(found[0]) if len(found) else _LANES
        if first == 0:
            return low
        low = float(values[first - 1])
        high = float(values[min(first, _LANES - 1)])
    return low
