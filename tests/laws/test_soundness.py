"""A lower bound on epsilon exceeds the truth no more often than its level, and comes near it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from privacygauge.core.exact import SIGNAL, GaussianGame, RandomisedResponse
from privacygauge.core.rules import Cut, Split
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.epsilon import (
    audit_epsilon,
    epsilon_lower_bound,
    largest_certifiable_epsilon,
)

GAMES = 1000


def transcript_of(dealt) -> Transcript:
    return Transcript(dealt.observation.signals[SIGNAL], dealt.secret)


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_bound_exceeds_the_truth_in_5_of_100_games_at_most(n: int, epsilon: float) -> None:
    rounds = RandomisedResponse(n, epsilon).deal(GAMES, np.random.default_rng(0))
    bounds = [epsilon_lower_bound(Cut(1.0).decide(transcript_of(d))).low for d in rounds]
    assert np.sum(np.array(bounds) > epsilon) <= 0.05 * GAMES
    if n == 1000:
        assert np.mean(bounds) > 0.5 * epsilon


def test_so_does_a_bound_at_another_level() -> None:
    rounds = RandomisedResponse(1000, 1.0).deal(GAMES, np.random.default_rng(1))
    guesses = [Cut(1.0).decide(transcript_of(d)) for d in rounds]
    for level in (0.5, 0.8):
        above = [epsilon_lower_bound(g, level=level).low > 1.0 for g in guesses]
        assert np.mean(above) <= 1 - level
        # Not by being vacuous.
        assert np.mean(above) > (1 - level) / 20


@pytest.mark.slow
def test_so_does_a_bound_of_an_audited_suite() -> None:
    game = RandomisedResponse(200, 1.0)
    rng = np.random.default_rng(2)
    above = 0
    for dealt in game.deal(GAMES, rng):
        answer = transcript_of(dealt)
        noise = [Transcript(rng.random(200), dealt.secret) for _ in range(2)]
        above += audit_epsilon([*noise, answer])[0].low > 1.0
    assert above <= 0.05 * GAMES


@pytest.mark.slow
@pytest.mark.parametrize("rule", [Cut(0.0), Split()], ids=str)
def test_on_noise_the_bound_is_0_in_95_of_100_games(rule: Cut | Split) -> None:
    rounds = GaussianGame(100).deal(GAMES, np.random.default_rng(3))
    positive = [epsilon_lower_bound(rule.decide(transcript_of(d))).low > 0 for d in rounds]
    assert np.sum(positive) <= 0.05 * GAMES


@pytest.mark.slow
def test_on_noise_an_audit_of_nine_attacks_certifies_nothing_in_95_of_100_games() -> None:
    rng = np.random.default_rng(4)
    positive = 0
    secret = np.arange(100) < 50
    for _ in range(GAMES):
        attacks = [Transcript(rng.normal(size=100), secret) for _ in range(9)]
        positive += audit_epsilon(attacks)[0].low > 0
    assert positive <= 0.05 * GAMES


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_with_a_million_targets_the_bound_is_tight(epsilon: float) -> None:
    dealt = RandomisedResponse(1_000_000, epsilon).deal(1, np.random.default_rng(6))[0]
    transcript = transcript_of(dealt)
    for bound in (
        epsilon_lower_bound(Cut(1.0).decide(transcript)),
        audit_epsilon([transcript])[0],
    ):
        assert 0.9 * epsilon < bound.low <= epsilon


@pytest.mark.parametrize("delta", [1e-3, 0.05])
def test_with_delta_the_bound_stays_below_what_the_game_really_has(delta: float) -> None:
    game = GaussianGame(2000, 1.0)
    truth = brentq(lambda epsilon: game.delta(epsilon) - delta, 0, 20)
    bounds = []
    for dealt in game.deal(200, np.random.default_rng(7)):
        guesses = Cut(1.5).decide(transcript_of(dealt))
        bounds.append(epsilon_lower_bound(guesses, delta).low)
    assert np.sum(np.array(bounds) > truth) <= 0.05 * len(bounds)
    assert np.mean(np.array(bounds) > 0.2 * truth) > 0.9


def test_without_its_delta_the_same_bound_would_be_too_large() -> None:
    # At delta 0.3 the game is (0.25, 0.3)-private; its guesses rule out far more at delta 0.
    game = GaussianGame(20_000, 1.0)
    truth = brentq(lambda epsilon: game.delta(epsilon) - 0.3, 0, 20)
    dealt = game.deal(1, np.random.default_rng(8))[0]
    guesses = Cut(0.5).decide(transcript_of(dealt))
    assert epsilon_lower_bound(guesses, 0.3).low < truth < epsilon_lower_bound(guesses).low


def test_no_bound_exceeds_what_so_many_targets_can_show() -> None:
    for n in (10, 100, 1000):
        secret = np.arange(n) % 2 == 0
        bound = audit_epsilon([Transcript(secret + 0.0, secret)])[0]
        limit = largest_certifiable_epsilon(n // 4, n // 4)
        assert bound.low <= limit + 0.5
        assert limit < np.log(n)
