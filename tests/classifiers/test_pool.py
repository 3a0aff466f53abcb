from dataclasses import replace

import numpy as np
import pytest

from privacygauge.classifiers import game as game_module
from privacygauge.classifiers.game import WORLD_SIGNAL, GeneralShadow, PoolGame
from privacygauge.classifiers.held import numeric
from privacygauge.classifiers.predictions import Pool, predictions, probabilities
from privacygauge.classifiers.signals import signals
from privacygauge.errors import InputError
from tests.classifiers.made import made_pool_game, observed, softmax


def test_a_pool_is_read_only_and_keeps_its_shapes():
    pool = made_pool_game(n=7, k=4, c=3, seed=1).pool
    assert (len(pool), pool.n_targets, pool.n_classes) == (4, 7, 3)
    for array in (pool.values, pool.inside, pool.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_probabilities_are_the_softmax_of_logits_whatever_their_size():
    logits = np.random.default_rng(0).normal(size=(2, 5, 3))
    expected = softmax(logits.reshape(-1, 3)).reshape(2, 5, 3)
    np.testing.assert_allclose(probabilities(logits, logits=True), expected)
    np.testing.assert_allclose(probabilities(logits + 1e4, logits=True), expected, rtol=1e-9)
    single = logits.astype(np.float32)
    before = single.copy()
    assert probabilities(single, logits=True).dtype == np.float64
    assert np.array_equal(single, before)
    assert np.array_equal(probabilities(expected, logits=False), expected)


def test_rows_of_a_pool_come_model_by_model():
    pool = made_pool_game(n=6, k=3).pool
    rows = pool.rows()
    for j in range(3):
        part = slice(6 * j, 6 * (j + 1))
        assert np.array_equal(rows.values[part], pool.values[j])
        assert np.array_equal(rows.member[part], pool.inside[j])
        assert np.array_equal(rows.labels[part], pool.labels)
    assert np.array_equal(pool.probabilities(slice(2, 4)), pool.values[:, 2:4])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": np.zeros((4, 6))}, r"\(k, n, q, c\) and inside \(k, n\), got \(4, 6\)"),
        ({"inside": np.zeros((3, 6), bool)}, r"got \(4, 6, 3\) and \(3, 6\)"),
        ({"labels": np.zeros(5, int)}, "a pool of 6 targets needs as many labels"),
        ({"labels": np.full(6, -1)}, "labels must be at least 0, got -1 in row 0"),
    ],
)
def test_a_pool_that_does_not_fit_is_named(change, message):
    with pytest.raises(InputError, match=message):
        replace(made_pool_game(n=6, k=4).pool, **change)


def test_the_round_shows_the_signals_and_hides_the_secret():
    game = made_pool_game(n=9, k=4, features=2)
    (dealt,) = game.deal(1, np.random.default_rng(0))
    seen = dealt.observation
    assert np.array_equal(dealt.secret, game.target.member)
    assert np.array_equal(dealt.target, np.arange(9))
    assert np.array_equal(seen.stratum, game.target.labels)
    assert np.array_equal(seen.worlds.signal, signals(game.target)[WORLD_SIGNAL])
    expected = signals(game.pool.rows())[WORLD_SIGNAL].reshape(4, 9)
    assert np.array_equal(seen.worlds.worlds, expected)
    assert np.array_equal(seen.worlds.inside, game.pool.inside)
    assert np.array_equal(seen.shadow.member, game.pool.inside.ravel())
    assert np.array_equal(seen.shadow_rows.record, np.tile(np.arange(9), 4))
    assert np.array_equal(seen.shadow_rows.features, game.features)


def test_targets_may_have_numbers_of_their_own():
    game = replace(made_pool_game(n=6), target_ids=np.arange(6)[::-1])
    assert game.round().target.tolist() == [5, 4, 3, 2, 1, 0]


def test_of_too_many_rows_the_first_models_are_learnt_from_and_all_are_compared(monkeypatch):
    game = made_pool_game(n=10, k=6)
    whole = observed(game)
    for most, used in ((25, 2), (3, 1), (60, 6)):
        monkeypatch.setattr(game_module, "MOST_SHADOW_ROWS", most)
        part = observed(game)
        assert len(part.shadow.member) == 10 * used
        assert np.array_equal(part.shadow.member, whole.shadow.member[: 10 * used])
        assert np.array_equal(part.worlds.worlds, whole.worlds.worlds)


def test_other_shadow_models_change_no_world_even_on_shared_memory():
    both = made_pool_game(n=20, k=6).pool
    halves = [
        Pool(both.values[:, part], both.logits, both.inside[:, part], both.labels[part])
        for part in (slice(10), slice(10, 20))
    ]
    target = made_pool_game(n=20, k=6).target[slice(10)]
    alone = observed(PoolGame(target, halves[0]))
    general = GeneralShadow.of(halves[1])
    beside = observed(PoolGame(target, halves[0], general=general))
    assert np.array_equal(beside.worlds.worlds, alone.worlds.worlds)
    assert np.array_equal(beside.shadow.member, halves[1].inside.ravel())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: {"pool": made_pool_game(n=5).pool}, "pool predicts 5 records of 3 classes, the"),
        (lambda g: {"pool": made_pool_game(n=6, c=4).pool}, "6 records of 4 classes"),
        (lambda g: {"pool": replace(g.pool, inside=np.ones((8, 6), bool))}, "must hold some"),
        (lambda g: {"pool": replace(g.pool, inside=np.zeros((8, 6), bool))}, "leave out others"),
        (lambda g: {"pool": replace(g.pool, labels=(g.pool.labels + 1) % 3)}, "labels differ"),
    ],
)
def test_a_game_that_does_not_fit_is_named(change, message):
    game = made_pool_game(n=6, k=8)
    with pytest.raises(InputError, match=message):
        replace(game, **change(game))


def test_one_target_gives_one_round():
    with pytest.raises(InputError, match="one target model gives one round, got 2"):
        made_pool_game().deal(2, np.random.default_rng(0))


def test_only_finite_numbers_are_features():
    assert numeric(np.zeros((2, 2), int)) is not None
    assert numeric(np.array([[1.0, np.nan]])) is None
    assert numeric(np.array([["a", "b"]])) is None


def independent(n, k, seed=0):
    """Return a target and a pool of models that fair coins were drawn for."""
    rng = np.random.default_rng(seed)
    inside = rng.random((k + 1, n)) < 0.5
    y = np.arange(n) % 3
    logits = rng.normal(size=(k + 1, n, 3)).astype(np.float32)
    target = predictions(logits=logits[0], labels=y, member=inside[0])
    return target, Pool(logits[1:], True, inside[1:], y)


@pytest.mark.parametrize("n", [80, 300])
def test_a_target_in_its_own_pool_and_models_that_occur_twice_are_named(n):
    target, pool = independent(n, 6)
    PoolGame(target, pool)
    with_target = Pool(
        np.concatenate([pool.answers, target.answers[None]]),
        True,
        np.vstack([pool.inside, target.member]),
        pool.labels,
    )
    with pytest.raises(InputError, match=r"model 6 of the pool \(from 0\) was trained on exactly"):
        PoolGame(target, with_target)
    twice = [0, 1, 2, 3, 4, 5, 2]
    both = Pool(pool.answers[twice], True, pool.inside[twice], pool.labels)
    with pytest.raises(InputError, match=r"models 2 and 6 of the pool \(from 0\) are the same one"):
        PoolGame(target, both)
    other = replace(both, answers=np.concatenate([both.answers[:6], -both.answers[6:]]))
    PoolGame(target, other)  # the same records, trained on again
    few = slice(None, 40)
    PoolGame(target[few], Pool(both.answers[:, few], True, both.inside[:, few], both.labels[few]))
