from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from privacygauge.claims.dtp.naive_bayes import BayesInference, NaiveBayes
from privacygauge.classifiers.candidates import (
    CandidateGame,
    PerTargetDesign,
    SharedDesign,
    _pairs,
)
from privacygauge.classifiers.estimators import as_trainer
from privacygauge.classifiers.learner import LearnerTrainer
from privacygauge.classifiers.signals import bin_centres, signals
from privacygauge.classifiers.suite import candidate_attacks
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from tests.classifiers.trainers import Counted, records

X, Y = records(n=24, k=2)
DESIGNS = (SharedDesign(8), PerTargetDesign(pairs=3, general=4))
GAME = CandidateGame(Counted(), X, Y, iterations=3, n_targets=5, design=SharedDesign(8))


def test_every_record_is_once_in_and_once_out_an_iteration():
    for n in (24, 23):
        game = replace(GAME, x=X[:n], y=Y[:n])
        halves = game.halves().reshape(3, 2, n)
        assert np.array_equal(halves[:, 0], ~halves[:, 1])
        assert halves[:, 0].sum(axis=1).tolist() == [n // 2] * 3
        assert not np.array_equal(halves[0], halves[1])
        assert np.array_equal(game.halves(), game.halves())
    further = replace(GAME, iterations=5)
    assert np.array_equal(further.halves()[:6], GAME.halves())


def test_targets_are_drawn_once_and_no_design_or_effort_changes_them():
    assert len(set(GAME.targets.tolist())) == 5
    other = replace(GAME, iterations=9, design=PerTargetDesign(), trainer=Counted(bad=(1,)))
    assert np.array_equal(GAME.targets, other.targets)
    assert not np.array_equal(GAME.targets, replace(GAME, seed=1).targets)
    assert replace(GAME, n_targets=24).targets.tolist() == list(range(24))


def test_a_pair_differs_in_the_target_only():
    targets = np.array([0, 7, 23])
    n = 24
    inside = _pairs(4, targets, n, np.random.default_rng(0))
    with_it = inside[:4]
    without = inside[4:]
    for i, target in enumerate(targets):
        assert with_it[:, i, target].all()
        assert not without[:, i, target].any()
        others = np.arange(n) != target
        assert np.array_equal(with_it[:, i, others], without[:, i, others])
        assert (without[:, i].sum(axis=1) == n // 2 - 1).all()
    sets = {row.tobytes() for row in with_it.reshape(-1, n)}
    assert len(sets) == 12
    # Each of the others is as likely as any: 2,000 draws of 11 from 23.
    drawn = _pairs(2000, np.array([7]), n, np.random.default_rng(1))[2000:, 0].mean(axis=0)
    p = 11 / 23
    assert np.abs(np.delete(drawn, 7) - p).max() < 5 * np.sqrt(p * (1 - p) / 2000)


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_as_many_models_are_trained_as_are_announced(design):
    game = replace(GAME, design=design, trainer=Counted())
    told = []
    game.train(measurements=2, progress=lambda *n: told.append(n))
    assert len(game.trainer.trained) == game.n_models(2)
    assert told[-1] == (game.n_models(2), game.n_models(2))
    assert told == sorted(told)


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_the_round_holds_every_target_models_word_on_every_target(design):
    game = replace(GAME, design=design, trainer=as_trainer(GaussianNB()))
    dealt = game.train()
    halves = game.halves()
    t = game.targets
    assert np.array_equal(dealt.round.target, np.tile(t, 6))
    assert np.array_equal(dealt.round.secret, halves[:, t].ravel())
    assert dealt.round.secret.mean() == 0.5
    assert np.array_equal(dealt.target.labels, np.tile(Y[t], 6))
    assert np.array_equal(dealt.pool.labels, dealt.target.labels)
    for m, rows in enumerate(halves):
        alone = GaussianNB().fit(X[rows], Y[rows])
        np.testing.assert_array_equal(
            dealt.target.values[5 * m : 5 * (m + 1)], alone.predict_proba(X[t])
        )
        assert dealt.train_accuracy[m] == alone.score(X[rows], Y[rows])
        assert dealt.test_accuracy[m] == alone.score(X[~rows], Y[~rows])
    assert dealt.pdtp is None
    seen = dealt.round.observation
    assert np.array_equal(seen.rows.features[seen.rows.record], X[np.tile(t, 6)])
    own = seen.shadow_rows
    assert np.array_equal(own.features[own.record], np.tile(X, (len(own.index) // 24, 1)))
    # The adversary's models say the same of a target in all rows.
    assert np.array_equal(dealt.pool.values[:, :5], dealt.pool.values[:, 25:])


@pytest.mark.slow
def test_models_of_a_targets_own_hold_it_in_the_first_half():
    game = replace(GAME, design=DESIGNS[1])
    pool = game.train().pool
    assert pool.inside[:3].all()
    assert not pool.inside[3:].any()
    # `Counted` is sure of its members: the prediction belongs to the row's own target.
    sure = pool.values.max(axis=2)
    assert (sure[:3] > 0.85).all()
    assert (sure[3:] < 0.65).all()


@pytest.mark.slow
def test_models_of_the_shared_pool_hold_what_coins_put_in_them():
    pool = replace(GAME, design=SharedDesign(40)).train().pool
    sure = pool.values.max(axis=2) > 0.75
    assert np.array_equal(sure, pool.inside)
    counts = pool.inside[:, :5].sum(axis=0)
    assert len(np.unique(counts)) > 1


def naive_pdtp(game, measurements):
    """Train once more without each target, one by one."""
    found = np.zeros((measurements, game.n_targets))
    halves = game.halves()
    for m in range(measurements):
        for i, target in enumerate(game.targets):
            number = 2 * m if halves[2 * m, target] else 2 * m + 1
            rows = halves[number].copy()
            q = []
            for inside in (rows, rows & (np.arange(len(game.y)) != target)):
                model = GaussianNB().fit(game.x[inside], game.y[inside])
                (p,) = model.predict_proba(game.x[[target]])
                q.append((np.minimum(np.floor((p + 1e-7) * 100), 99) + 0.5) / 100)
            found[m, i] = np.abs(np.log(q[0]) - np.log(q[1])).max()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_pdtp_is_that_of_a_plain_loop(design):
    game = replace(GAME, design=design, trainer=as_trainer(GaussianNB()))
    found = game.train(measurements=2)
    expected = naive_pdtp(game, 2)
    np.testing.assert_allclose(found.measured, expected, rtol=1e-9)
    np.testing.assert_allclose(found.pdtp, expected.mean(axis=0), rtol=1e-9)
    assert found.pdtp.max() > 0.05
    assert not np.array_equal(found.measured[0], found.measured[1])


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_a_learner_leaves_records_out_and_says_what_training_without_them_does(design):
    learner = NaiveBayes((None,) * X.shape[1])
    assert isinstance(as_trainer(learner), LearnerTrainer)
    told = []
    again = []
    game = replace(GAME, design=design, trainer=as_trainer(learner))
    by_account = game.train(measurements=3, progress=lambda *n: told.append(n))
    game = replace(game, trainer=as_trainer(GaussianNB()))
    by_training = game.train(measurements=3, progress=lambda *n: again.append(n))
    np.testing.assert_allclose(by_account.measured, by_training.measured, rtol=1e-9)
    assert by_account.measured.shape == (3, 5)
    assert by_account.measured.max() > 0.05
    # No model is trained for it, and none is announced.
    models = 6 + design.n_models(5)
    assert told[-1] == (models, models)
    assert again[-1] == (models + 15, models + 15)


@pytest.mark.slow
def test_a_learner_without_an_answer_stops_the_game_like_any_training_that_failed():
    x = np.arange(24.0)[:, None] // 2  # two of each: one of them in, its equal out
    game = replace(GAME, x=x, n_targets=24, trainer=as_trainer(BayesInference()))
    with pytest.raises(InputError, match=r"training failed for \d of the 6 models \(targets\)"):
        game.train(measurements=1)
    smoothed = replace(game, trainer=as_trainer(BayesInference(alpha=1.0)))
    assert np.isfinite(smoothed.train(measurements=1).pdtp).all()


class Mute(LearnerTrainer):
    """Answers, but has no answer left once a record is taken out."""

    def train(self, cohort):
        return np.full(cohort.shape, 1 / cohort.n_classes)


def test_a_record_without_which_there_is_no_answer_stops_the_game():
    game = replace(GAME, x=np.arange(24.0)[:, None], trainer=Mute(BayesInference()))
    with pytest.raises(InputError, match=r"training failed for 2 of the 2 models \(without\)"):
        game.train(measurements=2)


@pytest.mark.slow
def test_a_model_is_trained_once_more_from_the_same_random_state():
    game = replace(GAME, trainer=Counted())
    game.train(measurements=2)
    states = game.trainer.trained[:6]
    again = np.reshape(game.trainer.trained[-10:], (2, 5))
    for m in range(2):
        inside = game.halves()[2 * m, game.targets]
        assert again[m].tolist() == [states[2 * m + (not first)] for first in inside]


def test_bins_are_those_of_the_attacks():
    np.testing.assert_allclose(
        bin_centres(np.array([0.0, 0.29, 0.2949, 1.0])), [0.005, 0.295, 0.295, 0.995]
    )
    assert bin_centres(np.float64([0.3]), 0.25).tolist() == [0.375]


@pytest.mark.slow
def test_what_was_trained_is_kept_in_the_folder(tmp_path):
    whole = replace(GAME, trainer=Counted())
    expected = whole.train(measurements=1, run=tmp_path / "whole")
    cut = replace(GAME, trainer=Counted(stop_after=9))
    with pytest.raises(KeyboardInterrupt):
        cut.train(measurements=1, run=tmp_path / "cut")
    rest = replace(GAME, trainer=Counted())
    told = []
    found = rest.train(measurements=1, run=tmp_path / "cut", progress=lambda *n: told.append(n))
    assert cut.trainer.trained + rest.trainer.trained == whole.trainer.trained
    assert (6, 19) in told
    assert (9, 19) in told
    assert np.array_equal(found.target.values, expected.target.values)
    assert np.array_equal(found.pool.values, expected.pool.values)
    assert np.array_equal(found.pdtp, expected.pdtp)
    with pytest.raises(InputError, match="holds another run"):
        replace(rest, seed=1).train(run=tmp_path / "cut")


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_a_model_that_failed_stops_the_game(design):
    game = replace(GAME, design=design, trainer=Counted(bad=(12,)))
    with pytest.raises(InputError, match=r"training failed for 6 of the 6 models \(targets\)"):
        game.train()


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.name)
def test_every_attack_of_the_suite_can_be_played(design):
    dealt = replace(GAME, design=design).train()
    for attack in candidate_attacks(design.name):
        found = attack.score(dealt.round.observation, np.random.default_rng(0))
        assert not isinstance(found, Skipped), attack
        assert len(found.value) == 30


def test_features_with_holes_are_no_features():
    x = X.copy()
    x[0, 0] = np.nan
    seen = replace(GAME, x=x).train().round.observation
    assert seen.rows.features is None
    assert seen.shadow_rows.features is None
    assert np.isfinite(signals(seen.rows.source)["loss"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"n_targets": 0}, r"n_targets must be in 1..24, the number of candidates, got 0"),
        ({"n_targets": 25}, "got 25"),
    ],
)
def test_bad_options_are_named(change, message):
    with pytest.raises(InputError, match=message):
        replace(GAME, **change)


def test_no_more_is_measured_than_is_played():
    for measurements in (-1, 4):
        with pytest.raises(InputError, match=r"measurements must be in 0\.\.3, got"):
            GAME.train(measurements=measurements)
