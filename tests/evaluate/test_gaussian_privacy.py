"""The curve of a Gaussian mechanism: its definition by integration, and its inverses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from privacygauge.core.exact import GaussianGame
from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate.sampled_steps import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    mu_lower_bound,
)
from tests.thorough import times


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_delta_is_the_hockey_stick_divergence(mu, epsilon):
    def excess(x):
        return max(0.0, norm.pdf(x, mu) - np.exp(epsilon) * norm.pdf(x))

    start = mu / 2 + epsilon / mu  # where the excess begins
    integral = quad(excess, start, start + mu + 12, epsabs=1e-12)[0]
    assert gaussian_delta(mu, epsilon) == pytest.approx(integral, abs=1e-10)
    assert GaussianGame(2, mu).delta(epsilon) == pytest.approx(integral, abs=1e-10)


@settings(max_examples=times(200), deadline=None)
@given(st.floats(0.05, 30), st.floats(1e-12, 0.3))
def test_epsilon_and_mu_undo_delta(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    if epsilon == 0:
        assert gaussian_delta(mu, 0.0) <= delta * (1 + 1e-9)
    else:
        assert gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-6)
        assert gaussian_mu(epsilon, delta) == pytest.approx(mu, rel=1e-6)


def test_the_ends():
    assert gaussian_epsilon(0.0, 1e-5) == gaussian_delta(0.0, 0.0) == gaussian_mu(3.0, 0.0) == 0.0
    assert gaussian_epsilon(1.0, 0.0) == np.inf
    assert gaussian_delta(1.0, 800.0) == 0.0
    assert gaussian_delta(60.0, 1.0) == pytest.approx(1.0)
    # A published value: sigma = 1, epsilon = 1 (Balle & Wang 2018).
    assert gaussian_delta(1.0, 1.0) == pytest.approx(0.126936737507, abs=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian_delta(-1.0, 1.0), "mu must be at least 0 and finite, got -1.0"),
        (lambda: gaussian_delta(1.0, -1.0), "epsilon must be at least 0, got -1.0"),
        (lambda: gaussian_epsilon(1.0, 1.0), r"delta must be in \[0, 1\), got 1.0"),
        (lambda: gaussian_mu(np.inf, 0.1), "epsilon must be at least 0 and finite, got inf"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_bound_on_mu_is_0_for_coins_and_near_the_truth_for_many_rows():
    rng = np.random.default_rng(0)
    secret = rng.random(200_000) < 0.5
    coins = Decisions(rng.random(200_000) < 0.5, secret)
    assert mu_lower_bound(coins).low == 0.0
    found = mu_lower_bound(Decisions(rng.normal(size=200_000) + 1.5 * secret > 0.7, secret))
    assert 1.47 < found.low < 1.5
    assert (found.value, found.high) == (found.low, np.inf)


def test_a_perfect_attack_leaves_mu_bounded():
    secret = np.arange(100) < 50
    assert 2 < mu_lower_bound(Decisions(secret, secret)).low < 4
