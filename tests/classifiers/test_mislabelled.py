"""Canaries are wrong in their labels alone, and every model of a pool may be the target."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.claims.canaries import (
    LeastLikelyLabel,
    UniformLabel,
    every_model_as_target,
    targets,
)
from privacygauge.classifiers.game import WORLD_SIGNAL
from privacygauge.errors import InputError
from tests.classifiers.made import made_pool_game
from tests.classifiers.trainers import Counted, records
from tests.thorough import times


@settings(max_examples=times(60), deadline=None)
@given(st.integers(2, 6), st.integers(1, 20), st.integers(1, 20), st.integers(0, 99))
def test_canaries_alone_have_another_label(k, n_canaries, n_ordinary, seed):
    x, y = records(n=40, k=k)
    chosen = targets(x, y, n_canaries, np.random.default_rng(seed), n_ordinary=n_ordinary)
    assert (chosen.y[chosen.canaries] != y[chosen.canaries]).all()
    assert 0 <= chosen.y.min() <= chosen.y.max() < k
    others = np.setdiff1d(np.arange(40), chosen.canaries)
    assert (chosen.y[others] == y[others]).all()
    assert len(np.unique(chosen.asked)) == n_canaries + n_ordinary
    inside = chosen.membership(3, np.random.default_rng(seed))
    assert np.delete(inside, chosen.asked, axis=1).all()


def test_each_other_class_is_as_likely():
    y = np.array([0, 1, 2, 3])
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(4), 3000)
    wrong = UniformLabel().wrong(y[:, None], y, rows, rng)
    table = np.zeros((4, 4), int)
    np.add.at(table, (y[rows], wrong), 1)
    assert (table.diagonal() == 0).all()
    # Binomial(3000, 1/3): five standard deviations.
    assert np.abs(table[~np.eye(4, dtype=bool)] - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)


def test_coins_are_fair_and_apart():
    x, y = records(n=400)
    chosen = targets(x, y, 200, np.random.default_rng(1))
    inside = chosen.membership(100, np.random.default_rng(2))
    # 40,000 fair coins: five standard deviations; no two records share theirs.
    assert abs(inside.mean() - 0.5) < 5 * 0.5 / np.sqrt(inside.size)
    assert len(np.unique(inside, axis=1).T) == 400


def by_hand(x, y, state):
    """A model that gives class j of three the share (1, 2, 3)[j] / 6, turned by the record."""

    def predict(asked):
        turn = asked[:, 0].astype(int) % 3
        return np.array([[1.0, 2.0, 3.0]])[:, (np.arange(3) + turn[:, None]) % 3][0] / 6.0

    return predict


def test_the_least_likely_class_is_not_the_record_s_own():
    x = np.arange(30.0)[:, None]
    y = np.arange(30) // 10
    chosen = targets(x, y, 12, np.random.default_rng(3), label=LeastLikelyLabel(by_hand))
    for row in chosen.canaries:
        share = by_hand(x, y, 0)(x[[row]])[0]
        share[y[row]] = np.inf
        assert chosen.y[row] == share.argmin()


class Contrary(Counted):
    """Finds another class the least likely for its members than for others."""

    def train(self, cohort):
        y = cohort.y[cohort.asked]
        k = cohort.n_classes
        inside = cohort.inside[:, cohort.asked]
        least = (y + np.where(inside, 1, 2)) % k
        return np.where(np.arange(k) == least[..., None], 0.0, 1.0 / (k - 1))


def test_the_least_likely_class_comes_from_a_model_without_the_record():
    x, y = records(n=40, k=3)
    rows = np.arange(20)
    wrong = LeastLikelyLabel(Contrary()).wrong(x, y, rows, np.random.default_rng(0))
    assert (wrong == (y[rows] + 2) % 3).all()


def test_every_model_is_the_target_once_and_never_among_the_adversary_s():
    pool = made_pool_game(n=30, k=5).pool
    rounds = list(every_model_as_target(pool))
    assert len(rounds) == 5
    for model, dealt in enumerate(rounds):
        others = np.delete(np.arange(5), model)
        assert (dealt.secret == pool.inside[model]).all()
        worlds = dealt.observation.worlds
        assert (worlds.inside == pool.inside[others]).all()
        # The target's signal is another model's in every other round.
        for other in others:
            place = int(np.flatnonzero(np.delete(np.arange(5), other) == model)[0])
            there = rounds[other].observation.worlds.worlds[place]
            assert (there == dealt.observation.signals[WORLD_SIGNAL]).all()
        assert (dealt.observation.shadow.member == pool.inside[others].ravel()).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(4, int), 1, {}), "y must hold at least 2 classes"),
        ((np.arange(4) % 2, 0, {}), "must be at least 1 and less than the 4 records, got 0"),
        ((np.arange(4) % 2, 4, {}), "less than the 4 records, got 4"),
        ((np.arange(4) % 2, 2, {"n_ordinary": 3}), r"got 2 and 3"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    y, n_canaries, more = arguments
    with pytest.raises(InputError, match=message):
        targets(np.zeros((4, 1)), y, n_canaries, np.random.default_rng(0), **more)


def test_a_pool_of_one_model_has_no_adversary():
    pool = made_pool_game(n=30, k=1).pool
    with pytest.raises(InputError, match=r"at least 2 models .* got 1"):
        next(every_model_as_target(pool))
