"""Games of one run: what they claim about themselves holds."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.exact import SIGNAL, GaussianGame, RandomisedResponse, SharedNoiseGame
from privacygauge.errors import InputError


def test_mu_of_shared_noise_is_the_distance_that_the_covariance_gives():
    n = 7
    effect = 1.3
    correlation = 0.6
    covariance = (1 - correlation) * np.eye(n) + correlation
    change = np.zeros(n)
    change[3] = effect
    expected = np.sqrt(change @ np.linalg.inv(covariance) @ change)
    assert SharedNoiseGame(n, effect, correlation).mu == pytest.approx(expected)
    assert SharedNoiseGame(n, effect, 0.0).mu == pytest.approx(effect)
    assert SharedNoiseGame(n, effect, 0.0).delta(1.0) == GaussianGame(n, effect).delta(1.0)


def test_noise_is_shared_as_said():
    game = SharedNoiseGame(2, 0.0, 0.7)
    dealt = game.deal(4000, np.random.default_rng(0))
    pairs = np.array([d.observation.signals[SIGNAL] for d in dealt])
    # The standard error of the correlation is below 0.01.
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(0.7, abs=0.04)
    assert pairs.std() == pytest.approx(1.0, abs=0.04)


def test_a_failure_gives_all_bits_away_together():
    game = RandomisedResponse(200, 1.0, failure=0.25)
    dealt = game.deal(2000, np.random.default_rng(1))
    shares = np.array([np.mean((d.observation.signals[SIGNAL] == 1) == d.secret) for d in dealt])
    # The standard error of the share of failures is 0.01.
    assert np.mean(shares == 1.0) == pytest.approx(0.25, abs=0.04)
    assert shares.mean() == pytest.approx(game.auc(), abs=0.01)


def test_without_failures_the_draws_are_as_ever():
    ours = RandomisedResponse(50, 1.0).deal(2, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    for dealt in ours:
        secret = rng.random(50) < 0.5
        answer = secret ^ (rng.random(50) >= 1 / (1 + np.exp(-1.0)))
        assert (dealt.secret == secret).all()
        assert (dealt.observation.signals[SIGNAL] == answer).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomisedResponse(10, 1.0, 1.0), r"failure must be in \[0, 1\), got 1.0"),
        (lambda: SharedNoiseGame(1, 1.0, 0.5), "n_targets must be at least 2, got 1"),
        (lambda: SharedNoiseGame(10, -1.0, 0.5), "effect must be at least 0, got -1.0"),
        (lambda: SharedNoiseGame(10, 1.0, 1.0), r"correlation must be in \[0, 1\), got 1.0"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
