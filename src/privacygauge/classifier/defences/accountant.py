"""What DP-SGD spends: Renyi differential privacy of the subsampled Gaussian mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

ORDERS: tuple[int, ...] = tuple(
    np.unique(np.concatenate([np.arange(2, 65), np.geomspace(72, 1024, 16).astype(int)])).tolist()
)
"""Renyi orders that are looked at; leaving some out costs a little epsilon, never soundness."""

_LEAST_NOISE, _MOST_NOISE = 1e-2, 1e5


@dataclass(frozen=True)
class SubsampledGaussian:
    """Steps that each draw every record with a coin, and add normal noise to a clipped sum.

    Neighbours differ by one record that is added or removed.

    Examples
    --------
    >>> spent = SubsampledGaussian(noise_multiplier=1.3, sampling_rate=250 / 60000, steps=3600)
    >>> round(spent.epsilon(1e-5), 2)
    0.94
    """

    noise_multiplier: float
    """The noise's standard deviation over the largest norm of a record's part, at least 0."""
    sampling_rate: float
    """With what probability a record takes part in a step, in (0, 1]; independent of all others."""
    steps: int
    """At least 1."""

    def __post_init__(self) -> None:
        if not 0 <= self.noise_multiplier < math.inf:
            raise InputError(
                f"noise_multiplier must be finite and at least 0, got {self.noise_multiplier}"
            )
        if not 0 < self.sampling_rate <= 1:
            raise InputError(f"sampling_rate must be in (0, 1], got {self.sampling_rate}")
        if self.steps < 1:
            raise InputError(f"steps must be at least 1, got {self.steps}")

    def renyi(self, orders: ArrayLike = ORDERS) -> Floats:
        """Return the Renyi divergence of all steps together, by order.

        Parameters
        ----------
        orders : array_like of int, shape (a,)
            Each at least 2.

        Returns
        -------
        ndarray of float, shape (a,)
            At least 0; infinite without noise.

        Notes
        -----
        ``steps / (a - 1) * log sum_k C(a, k) (1 - q)^(a - k) q^k e^(k (k - 1) / (2 s^2))``
        (Mironov, Talwar & Zhang 2019, section 3.3), which bounds either direction (theorem 5).
        One is taken out of the sum, so that nothing cancels where q is small.
        """
        asked = checks.integers(orders, "orders")
        if not len(asked) or asked.min() < 2:
            raise InputError(f"orders must be at least 2, got {checks.listed(asked.tolist())}")
        if self.noise_multiplier == 0:
            return np.full(len(asked), np.inf)
        return np.array([self.steps * self._log_moment(a) / (a - 1) for a in asked.tolist()])

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon that the orders prove at this delta, at least 0.

        Parameters
        ----------
        delta : float
            In (0, 1).

        Returns
        -------
        float
            Infinite without noise.
        """
        return epsilon_of(self.renyi(), np.array(ORDERS), delta)

    def _log_moment(self, order: int) -> float:
        q, k = self.sampling_rate, np.arange(2, order + 1, dtype=np.float64)
        exponent = k * (k - 1) / (2 * self.noise_multiplier**2)
        if q == 1:
            return float(exponent[-1])
        ways = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
        weight = ways + k * np.log(q) + (order - k) * np.log1p(-q)
        # The binomial weights sum to 1, so each e^x is replaced by e^x - 1 and 1 added at the end.
        with np.errstate(under="ignore", divide="ignore"):
            above = logsumexp(weight + exponent + np.log(-np.expm1(-exponent)))
        return float(np.logaddexp(0.0, above))


def epsilon_of(renyi: Floats, orders: Ints, delta: float) -> float:
    """Return the smallest epsilon that follows from Renyi divergences at this delta.

    Parameters
    ----------
    renyi : ndarray of float, shape (a,)
        At least 0, possibly infinite.
    orders : ndarray of int, shape (a,)
        Each at least 2.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        At least 0.

    Notes
    -----
    ``renyi + log(1 - 1 / a) - (log delta + log a) / (a - 1)``, the least over orders a
    (Canonne, Kamath & Steinke 2020, proposition 12).
    """
    checks.level(delta, "delta")
    a = np.asarray(orders, np.float64)
    found = renyi + np.log1p(-1 / a) - (np.log(delta) + np.log(a)) / (a - 1)
    return max(0.0, float(found.min()))


def noise_for(epsilon: float, delta: float, sampling_rate: float, steps: int) -> float:
    """Return the noise multiplier that spends this epsilon, rounded up by at most 1e-4 of it.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        In (0, 1).
    sampling_rate : float
        In (0, 1].
    steps : int
        At least 1.

    Raises
    ------
    InputError
        If no noise multiplier up to 100,000 is enough.

    Examples
    --------
    >>> round(noise_for(1.0, 1e-5, sampling_rate=0.01, steps=1000), 2)
    1.51
    """
    if not 0 < epsilon < math.inf:
        raise InputError(f"epsilon must be finite and above 0, got {epsilon}")
    checks.level(delta, "delta")

    def excess(log_noise: float) -> float:
        spent = SubsampledGaussian(math.exp(log_noise), sampling_rate, steps)
        return min(spent.epsilon(delta), 1e9) - epsilon

    low, high = math.log(_LEAST_NOISE), math.log(_MOST_NOISE)
    if excess(low) <= 0:
        return _LEAST_NOISE
    if excess(high) > 0:
        raise InputError(
            f"epsilon must be one that noise can reach in {steps} steps, got {epsilon}: take a "
            "larger epsilon or delta, or fewer steps"
        )
    # Rounded up by more than the search may be short of it.
    return math.exp(brentq(excess, low, high, xtol=2e-5, rtol=1e-12) + 4e-5)
