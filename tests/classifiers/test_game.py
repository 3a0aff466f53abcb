import numpy as np
import pytest

from privacygauge.classifiers.game import PredictionGame, crossfit_halves, draw_parts
from privacygauge.classifiers.learned import Learned
from privacygauge.classifiers.predictions import predictions
from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import GaussianGame
from privacygauge.core.game import play
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import auc
from tests.classifiers.made import made_up


def test_a_shadow_file_gives_one_round_with_every_target():
    target = made_up(seed=1)
    shadow = made_up(n=300, seed=2)
    (dealt,) = PredictionGame(target, shadow).deal(1, np.random.default_rng(0))
    assert np.array_equal(dealt.target, np.arange(400))
    assert np.array_equal(dealt.secret, target.member)
    assert np.array_equal(dealt.observation.shadow.member, shadow.member)


def test_without_a_shadow_nobody_learns_on_a_row_that_is_judged():
    target = made_up(seed=1)
    rounds = PredictionGame(target).deal(1, np.random.default_rng(0))
    assert np.array_equal(np.sort(np.concatenate([r.target for r in rounds])), np.arange(400))
    for dealt in rounds:
        learnt = dealt.observation.shadow_rows.index
        assert not np.intersect1d(learnt, dealt.target).size
        assert np.array_equal(dealt.observation.shadow.member, target.member[learnt])


def test_halves_are_even_on_every_side():
    target = made_up(n=401, seed=3)
    first = crossfit_halves(target.labels, target.member, np.random.default_rng(0))
    for side in (target.member, ~target.member):
        assert abs(int(first[side].sum()) - int((~first)[side].sum())) <= 1


@pytest.mark.parametrize("parts", [2, 5])
def test_parts_are_even_in_every_class_where_members_were_drawn_by_class(parts):
    labels = np.repeat(np.arange(6), 20)
    rng = np.random.default_rng(0)
    member = np.tile(np.arange(20) < 12, 6)
    part = draw_parts(labels, member, parts, rng)
    for c in range(6):
        for side in (member, ~member):
            size = np.bincount(part[(labels == c) & side], minlength=parts)
            assert np.ptp(size) <= 1
    for side in (member, ~member):
        assert np.ptp(np.bincount(part[side], minlength=parts)) <= parts


def test_a_single_member_is_too_few():
    probs = np.full((5, 2), 0.5)
    target = predictions(probs=probs, labels=np.zeros(5, int), member=np.arange(5) == 0)
    with pytest.raises(InputError, match="2 members and 2 non-members are needed, got 1 and 4"):
        PredictionGame(target)


def test_classes_must_agree_and_predictions_give_one_round():
    with pytest.raises(InputError, match="the shadow predictions have 4 classes, the target's 5"):
        PredictionGame(made_up(k=5), made_up(k=4))
    with pytest.raises(InputError, match="one round, got 2"):
        PredictionGame(made_up()).deal(2, np.random.default_rng(0))


@pytest.mark.slow
def test_the_learned_attack_finds_what_leaks_and_nothing_else():
    areas = {}
    for leak in (0.0, 2.0):
        game = PredictionGame(made_up(2000, leak=leak, seed=1), made_up(2000, leak=leak, seed=2))
        rounds = game.deal(1, np.random.default_rng(0))
        played = play(Learned(), rounds, [np.random.default_rng(0)])
        areas[leak] = auc(played.transcript)
    assert not areas[0.0].excludes(0.5)
    assert areas[2.0].low > 0.7


def test_the_learned_attack_says_what_it_lacks():
    (dealt,) = GaussianGame(10, n_shadow=10).deal(1, np.random.default_rng(0))
    found = Learned().score(dealt.observation, np.random.default_rng(0))
    assert found == Skipped("learned", "needs the full prediction vectors")
