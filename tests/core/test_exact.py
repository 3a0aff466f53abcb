from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from privacygauge.core.exact import (
    SIGNAL,
    GaussianGame,
    OffsetGame,
    RandomisedResponse,
    SharedNoiseGame,
)
from privacygauge.errors import InputError


@pytest.mark.parametrize("effect", [0.0, 0.5, 2.0])
def test_the_gaussian_games_answers_are_those_of_a_large_sample(effect: float) -> None:
    game = GaussianGame(200_000, effect)
    dealt = game.deal(1, np.random.default_rng(1))[0]
    signal = dealt.observation.signals[SIGNAL]
    secret = dealt.secret
    inside = signal[secret]
    outside = signal[~secret]
    n = len(outside)
    area = stats.mannwhitneyu(inside, outside).statistic / (len(inside) * n)
    assert area == pytest.approx(game.auc(), abs=4.5 / np.sqrt(n))
    for fpr in (0.1, 0.01):
        tpr = np.mean(inside >= stats.norm.isf(fpr))
        assert tpr == pytest.approx(game.tpr(fpr), abs=4.5 * 0.5 / np.sqrt(n))
    right = (np.mean(inside >= effect / 2) + np.mean(outside < effect / 2)) / 2
    assert right == pytest.approx(game.accuracy(), abs=4.5 * 0.5 / np.sqrt(n))


@given(st.floats(0, 4), st.floats(-5, 5))
def test_the_posterior_is_bayes_theorem(effect: float, signal: float) -> None:
    inside = stats.norm.pdf(signal - effect)
    outside = stats.norm.pdf(signal)
    found = GaussianGame(2, effect).posterior(np.array([signal]))[0]
    assert found == pytest.approx(inside / (inside + outside), rel=1e-9)


@pytest.mark.parametrize("effect", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_delta_is_the_integral_of_its_definition(effect: float, epsilon: float) -> None:
    def above(x: float) -> float:
        return max(0.0, stats.norm.pdf(x - effect) - np.exp(epsilon) * stats.norm.pdf(x))

    kink = effect / 2 + epsilon / effect
    expected = integrate.quad(above, kink, kink + 20)[0]
    assert GaussianGame(2, effect).delta(epsilon) == pytest.approx(expected, rel=1e-6)


def test_without_effect_nothing_leaks() -> None:
    game = GaussianGame(2)
    assert (game.auc(), game.accuracy(), game.delta(0.0)) == (0.5, 0.5, 0.0)
    assert game.tpr(0.1) == pytest.approx(0.1)


def test_a_round_holds_what_was_asked_for() -> None:
    game = GaussianGame(30, 1.0, n_shadow=20, n_classes=4, n_worlds=5)
    rounds = game.deal(3, np.random.default_rng(0))
    assert len(rounds) == 3
    for dealt in rounds:
        seen = dealt.observation
        assert seen.shadow is not None
        assert seen.worlds is not None
        assert (len(seen), len(seen.shadow.member), seen.worlds.worlds.shape) == (30, 20, (5, 30))
        assert seen.worlds.signal.tolist() == seen.signals[SIGNAL].tolist()
        assert set(seen.stratum.tolist()) <= set(range(4))
        assert dealt.target.tolist() == list(range(30))
    assert rounds[0].secret.tolist() != rounds[1].secret.tolist()
    plain = GaussianGame(30).deal(1, np.random.default_rng(0))[0].observation
    assert plain.shadow is None
    assert plain.worlds is None


def test_worlds_follow_the_same_law_as_the_target() -> None:
    game = GaussianGame(2000, 2.0, n_worlds=20)
    worlds = game.deal(1, np.random.default_rng(0))[0].observation.worlds
    assert worlds is not None
    for inside, mean in ((True, 2.0), (False, 0.0)):
        values = worlds.worlds[worlds.inside == inside]
        assert values.mean() == pytest.approx(mean, abs=4.5 / np.sqrt(len(values)))
        assert values.std() == pytest.approx(1.0, abs=4.5 / np.sqrt(len(values)))


def test_even_two_targets_are_of_both_kinds() -> None:
    rng = np.random.default_rng(0)
    for game in (GaussianGame(2, n_shadow=2), RandomisedResponse(2, 1.0)):
        for dealt in game.deal(50, rng):
            assert dealt.secret.sum() == 1


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_randomised_response_answers_truly_as_often_as_epsilon_says(epsilon: float) -> None:
    game = RandomisedResponse(100_000, epsilon)
    dealt = game.deal(1, np.random.default_rng(2))[0]
    answer = dealt.observation.signals[SIGNAL] == 1.0
    assert game.truth / (1 - game.truth) == pytest.approx(np.exp(epsilon))
    assert np.mean(answer == dealt.secret) == pytest.approx(
        game.truth, abs=4.5 * 0.5 / 100_000**0.5
    )
    inside = answer[dealt.secret]
    outside = answer[~dealt.secret]
    area = stats.mannwhitneyu(inside, outside).statistic / (len(inside) * len(outside))
    assert area == pytest.approx(game.auc(), abs=4.5 / np.sqrt(len(outside)))


def test_the_generator_decides_everything() -> None:
    for game in (GaussianGame(10, 1.0, n_shadow=5), RandomisedResponse(10, 1.0)):
        one, other = (game.deal(1, np.random.default_rng(3))[0] for _ in range(2))
        assert one.secret.tolist() == other.secret.tolist()
        seen = (x.observation.signals[SIGNAL].tolist() for x in (one, other))
        assert next(seen) == next(seen)


def test_impossible_games_are_refused() -> None:
    with pytest.raises(InputError, match="n_targets must be at least 2, got 1"):
        GaussianGame(1)
    with pytest.raises(InputError, match="n_classes must be at least 1, got 0"):
        GaussianGame(2, n_classes=0)
    with pytest.raises(InputError, match="n_targets must be at least 2, got 1"):
        RandomisedResponse(1, 1.0)
    with pytest.raises(InputError, match=r"epsilon must be at least 0, got -1"):
        RandomisedResponse(2, -1.0)


def test_one_shadow_record_is_refused_since_both_kinds_are_needed() -> None:
    # Dealing would draw coins for ever.
    with pytest.raises(InputError, match="n_shadow"):
        GaussianGame(10, n_shadow=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianGame(10, n_shadow=-1), "n_shadow must be 0 or at least 2, got -1"),
        (lambda: OffsetGame(1, 1.0, 4), "n_targets must be at least 2, got 1"),
        (lambda: OffsetGame(2, 1.0, 0), "n_worlds must be at least 1, got 0"),
        (lambda: OffsetGame(2, 1.0, 4, n_queries=0), "n_queries must be at least 1, got 0"),
        (lambda: OffsetGame(2, 1.0, 4, -0.1), r"spread must be at least 0, got -0.1"),
        (lambda: RandomisedResponse(2, 1.0, 1.0), r"failure must be in \[0, 1\), got 1.0"),
        (lambda: RandomisedResponse(2, 1.0, -0.1), r"failure must be in \[0, 1\), got -0.1"),
        (lambda: SharedNoiseGame(1, 1.0, 0.5), "n_targets must be at least 2, got 1"),
        (lambda: SharedNoiseGame(2, -1.0, 0.5), "effect must be at least 0, got -1.0"),
        (lambda: SharedNoiseGame(2, 1.0, 1.0), r"correlation must be in \[0, 1\), got 1.0"),
        (lambda: SharedNoiseGame(2, 1.0, -0.1), r"correlation must be in \[0, 1\), got -0.1"),
    ],
)
def test_further_impossible_games_are_refused(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    "game",
    [
        GaussianGame(2, n_shadow=2, n_classes=1, n_worlds=1),
        OffsetGame(2, 0.0, 1, 0.0, 1),
        RandomisedResponse(2, 0.0, 0.0),
        SharedNoiseGame(2, 0.0, 0.0),
    ],
    ids=lambda game: type(game).__name__,
)
def test_the_smallest_games_can_be_played_and_give_nothing_away(game) -> None:
    (dealt,) = game.deal(1, np.random.default_rng(0))
    assert len(dealt.observation) == 2
    if not isinstance(game, SharedNoiseGame):
        assert game.auc() == 0.5


@pytest.mark.parametrize("queries", [1, 4])
def test_an_offset_is_the_same_in_the_target_and_in_all_worlds(queries: int) -> None:
    n = 3000
    k = 8
    effect = 2.0
    spread = 3.0
    game = OffsetGame(n, effect, k, spread, queries)
    (dealt,) = game.deal(1, np.random.default_rng(1))
    seen = dealt.observation
    assert seen.worlds is not None
    signal = seen.worlds.signal.reshape(n, queries)
    worlds = seen.worlds.worlds.reshape(k, n, queries)
    assert seen.signals[SIGNAL].tolist() == signal[:, 0].tolist()
    assert dealt.target.tolist() == list(range(n))
    # Less the effect, all that is said of a record is its offset and noise of one deviation.
    plain = np.concatenate([
        (signal - effect * dealt.secret[:, None])[None],
        worlds - effect * seen.worlds.inside[..., None],
    ])  # fmt: skip
    noise = plain - plain.mean(axis=(0, 2), keepdims=True)
    freedom = plain[:, 0].size - 1
    assert noise.var() * (freedom + 1) / freedom == pytest.approx(1.0, abs=0.05)
    offset = plain.mean(axis=(0, 2))
    assert offset.mean() == pytest.approx(0.0, abs=5 * spread / np.sqrt(n))
    assert offset.std() == pytest.approx(np.sqrt(spread**2 + 1 / (freedom + 1)), rel=0.06)


def test_a_failure_gives_all_bits_of_a_round_away() -> None:
    game = RandomisedResponse(40, 0.0, failure=0.3)
    assert game.auc() == pytest.approx(0.3 + 0.7 * 0.5)
    rounds = game.deal(400, np.random.default_rng(5))
    told = [np.all((d.observation.signals[SIGNAL] == 1) == d.secret) for d in rounds]
    assert np.mean(told) == pytest.approx(0.3, abs=4.5 * np.sqrt(0.3 * 0.7 / 400))
