"""Gaussian differential privacy: conversion of mu to (epsilon, delta), and a lower bound on mu."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate import decision


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the smallest delta for which a Gaussian mechanism is (epsilon, delta)-private.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation, at least 0.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        ``Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)``, in [0, 1].

    Notes
    -----
    Balle & Wang (2018), theorem 8; Dong, Roth & Su (2022), corollary 2.13.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1.0), 4)
    0.1269
    """
    _require_mu(mu)
    if not epsilon >= 0.0:
        raise InputError(f"epsilon must be at least 0, got {epsilon}")
    return 0.0 if mu == 0.0 else float(np.exp(_log_delta(mu, epsilon)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon for which a Gaussian mechanism is (epsilon, delta)-private.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation, at least 0.
    delta : float
        In [0, 1); at 0 epsilon is infinite unless mu is 0.

    Returns
    -------
    float
        At least 0: the inverse of `gaussian_delta`.

    Examples
    --------
    >>> round(gaussian_epsilon(1.0, 1e-5), 3)
    4.377
    """
    _require_mu(mu)
    checks.below_one(delta, "delta")
    if mu == 0.0:
        return 0.0
    if delta == 0.0:
        return np.inf
    wanted = np.log(delta)
    if _log_delta(mu, 0.0) <= wanted:
        return 0.0
    # At this epsilon the first term alone equals delta, so the difference lies below it.
    high = mu * (mu / 2 - float(ndtri(delta)))
    return float(brentq(lambda epsilon: _log_delta(mu, epsilon) - wanted, 0.0, high, xtol=1e-12))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu of a Gaussian mechanism that is (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In [0, 1); at 0 only mu = 0 is private.

    Returns
    -------
    float
        At least 0: the inverse of `gaussian_epsilon` at this delta.

    Examples
    --------
    >>> round(gaussian_mu(4.377178, 1e-5), 4)
    1.0
    """
    checks.below_one(delta, "delta")
    if not 0.0 <= epsilon < np.inf:
        raise InputError(f"epsilon must be at least 0 and finite, got {epsilon}")
    if delta == 0.0:
        return 0.0
    # Doubling ends: delta rises to 1 with mu.
    high = 1.0
    while gaussian_delta(high, epsilon) <= delta:
        high *= 2.0
    # On the log scale, where tiny deltas keep their digits.
    wanted = np.log(delta)
    low = high
    while _log_delta(low, epsilon) > wanted:
        low /= 2.0
    return float(brentq(lambda mu: _log_delta(mu, epsilon) - wanted, low, high, xtol=1e-14))


def mu_lower_bound(decisions: Decisions, level: float = 0.95) -> Estimate:
    """Return the largest mu that the guesses rule out, if the mechanism is Gaussian.

    Parameters
    ----------
    decisions : Decisions
        The threshold must not have been chosen on these rows.
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        `low` and `value` are the bound, at least 0; `high` is infinity.

    Notes
    -----
    ``mu >= Phi^-1(TPR) - Phi^-1(FPR)`` for every test on a mu-GDP mechanism (Dong, Roth & Su 2022,
    definition 2.7; as an audit Nasr et al. 2023, section 5). The limit of each rate is
    Clopper-Pearson's at half of the error.
    """
    tpr = decision.recall(decisions, level)
    fpr = decision.false_positive_rate(decisions, level)
    # Also avoids inf - inf, where both limits are 0 or both are 1.
    low = float(ndtri(tpr.low) - ndtri(fpr.high)) if tpr.low > fpr.high else 0.0
    method = "Clopper-Pearson, Bonferroni"
    return Estimate(
        value=low, low=low, high=np.inf, level=level, n=decisions.n_units, method=method
    )


def _log_delta(mu: float, epsilon: float) -> float:
    # log(e^first - e^(epsilon + second)), with the larger term factored out.
    first = log_ndtr(mu / 2 - epsilon / mu)
    second = log_ndtr(-mu / 2 - epsilon / mu)
    # For nearly equal terms rounding may make the gap 0 or positive; it is always negative.
    gap = min(float(epsilon + second - first), -np.finfo(float).tiny)
    return float(first + np.log(-np.expm1(gap)))


def _require_mu(mu: float) -> None:
    if not 0.0 <= mu < np.inf:
        raise InputError(f"mu must be at least 0 and finite, got {mu}")
