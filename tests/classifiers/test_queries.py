"""Several queries a record: answers about the record itself first, then about views of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.claims.canaries import every_model_as_target
from privacygauge.classifiers.candidates import CandidateGame, PerTargetDesign, SharedDesign
from privacygauge.classifiers.files import as_pool, as_predictions
from privacygauge.classifiers.game import WORLD_SIGNAL, PoolGame
from privacygauge.classifiers.named import recorded_target, recorded_trainer
from privacygauge.classifiers.predictions import Pool, predictions
from privacygauge.classifiers.shadows import Execution, train_shadows
from privacygauge.classifiers.signals import SIGNALS, resolution, signals
from privacygauge.classifiers.suite import pool_attacks, single_record_attacks
from privacygauge.classifiers.targeted import Distance, Frequency
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.release import Worlds
from privacygauge.errors import InputError
from privacygauge.runs.store import read_run
from tests.classifiers.made import observed, softmax
from tests.classifiers.trainers import Counted, records
from tests.cli.test_main import privacygauge
from tests.laws.numbers import of_scores

QUERIES = 4


def asked(n=30, k=6, c=3, q=QUERIES, seed=0, leak=1.0, *, logits=True):
    """Return a target's answers (n, q, c), those of k models, who holds what, and the classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(c, size=n)
    inside = rng.random((k + 1, n)) < 0.5
    values = rng.normal(size=(n, 1, c)) + rng.normal(size=(k + 1, n, q, c))
    values[:, np.arange(n), :, labels] += 1 + leak * np.swapaxes(inside, 0, 1)[..., None]
    if not logits:
        values = softmax(values.reshape(-1, c)).reshape(values.shape)
    return values, inside, labels


def game(values, inside, labels, *, logits=True):
    """Return the game of the first model against the others."""
    given = {"logits" if logits else "probs": values[0]}
    target = predictions(labels=labels, member=inside[0], **given)
    return PoolGame(target, Pool(values[1:], logits, inside[1:], labels))


@pytest.mark.parametrize("logits", [True, False])
def test_each_query_is_a_game_of_one_query(logits):
    values, inside, labels = asked(logits=logits)
    played = game(values, inside, labels, logits=logits)
    seen = observed(played)
    assert seen.worlds.signal.shape == (30, QUERIES)
    assert seen.worlds.worlds.shape == (6, 30, QUERIES)
    common = resolution(played.target, played.pool)
    for j in range(QUERIES):
        target = played.target.query(j)
        pool = replace(played.pool, answers=played.pool.answers[:, :, j])
        assert np.array_equal(seen.worlds.signal[:, j], signals(target, common)[WORLD_SIGNAL])
        alone = signals(pool.rows(), common)[WORLD_SIGNAL].reshape(6, 30)
        assert np.array_equal(seen.worlds.worlds[..., j], alone)
        assert np.shares_memory(pool.rows().values, played.pool.answers)
    for name in SIGNALS:
        assert np.array_equal(seen.signals[name], signals(played.target.query(0), common)[name])


def test_one_query_on_an_axis_of_its_own_is_the_same_as_without():
    values, inside, labels = asked(q=1)
    plain = {"logits": values[:, :, 0], "labels": labels, "member": inside}
    with_axis = {**plain, "logits": values}
    one = as_pool(plain)
    other = as_pool(with_axis)
    assert one.answers.shape == other.answers.shape == (7, 30, 3)
    target = predictions(logits=values[0], labels=labels, member=inside[0])
    assert target.answers.shape == (30, 3)
    assert target.n_queries == one.n_queries == 1
    first = observed(PoolGame(target, one))
    second = observed(PoolGame(target, other))
    assert first.worlds.signal.shape == (30,)
    assert first.worlds.worlds.tobytes() == second.worlds.worlds.tobytes()


def test_attacks_on_one_answer_see_the_record_itself_alone():
    values, inside, labels = asked(n=60, k=4)
    several = game(values, inside, labels)
    once = game(values[:, :, 0], inside, labels)
    compare_models = {type(a) for a in single_record_attacks("shared")} - {Distance, Frequency}
    rows = observed(several).shadow_rows
    expected = observed(once).shadow_rows
    assert np.array_equal(rows.source.values, expected.source.values)
    for attack in pool_attacks(logits=True):
        if attack.name == "whole-answer":
            continue  # it learns from all answers
        if attack.name.startswith(("learned", "neural", "quantile", "untargeted")):
            continue  # they learn from these rows alone
        one, other = (
            of_scores(attack.score(observed(g), np.random.default_rng(0))).value
            for g in (several, once)
        )
        assert np.array_equal(one, other) == (type(attack) not in compare_models), attack


def test_attacks_that_compare_models_average_over_the_queries():
    values, inside, labels = asked(n=60)
    views = [game(values[:, :, j], inside, labels) for j in range(QUERIES)]
    whole = game(values, inside, labels)
    for attack in single_record_attacks("shared"):
        if isinstance(attack, Distance | Frequency) or getattr(attack, "a", 0.3) is None:
            continue
        score = [
            of_scores(attack.score(observed(g), np.random.default_rng(0))).value
            for g in (whole, *views)
        ]
        np.testing.assert_allclose(score[0], np.mean(score[1:], axis=0), rtol=1e-9, atol=1e-9)


def test_queries_stay_where_rows_and_further_columns_change():
    values, inside, labels = asked()
    target = predictions(
        logits=values[0], labels=labels, member=inside[0], columns={"who": np.arange(30) // 2}
    )
    assert target.by_unit("who").n_queries == QUERIES
    assert np.array_equal(target[slice(3, 9)].answers, values[0, 3:9])
    assert np.array_equal(target.values, values[0, :, 0])
    pool = Pool(values[1:], True, inside[1:], labels)
    assert np.array_equal(pool.models(slice(2, 4)).answers, values[3:5])
    with pytest.raises(ValueError, match="read-only"):
        pool.answers[0] = 0


def test_files_keep_queries(tmp_path):
    values, inside, labels = asked(logits=False)
    target = predictions(probs=values[0], labels=labels, member=inside[0])
    pg.save_predictions(target, tmp_path / "target.npz")
    again = as_predictions(tmp_path / "target.npz")
    assert np.array_equal(again.answers, target.answers)
    given = {"probs": values[1:], "labels": 1 + labels, "member": inside[1:]}
    np.savez(tmp_path / "pool.npz", **given)
    pool = as_pool(tmp_path / "pool.npz")
    assert np.array_equal(pool.answers, values[1:])
    assert np.array_equal(pool.labels, labels)
    percent = as_predictions({"probs": 100 * values[0], "labels": labels, "member": inside[0]})
    np.testing.assert_allclose(percent.answers, values[0])


def test_bad_queries_are_named():
    values, inside, labels = asked(logits=False)
    bad = values[0].copy()
    bad[7, 2, 1] += 0.5
    with pytest.raises(InputError, match=r"query 2: probs must (sum to 1|be in \[0, 1\]), row 7"):
        predictions(probs=bad, labels=labels, member=inside[0])
    with pytest.raises(InputError, match=r"for q queries a record\), got \(30, 1, 4, 3\)"):
        predictions(probs=values[0][:, None], labels=labels, member=inside[0])
    target = predictions(probs=values[0], labels=labels, member=inside[0])
    with pytest.raises(InputError, match="answer 1 queries a record, the target 4: ask all of"):
        PoolGame(target, Pool(values[1:, :, 0], False, inside[1:], labels))


def test_probabilities_beside_logits_keep_their_queries():
    values, inside, labels = asked(n=40)
    probs = softmax(values.reshape(-1, 3)).reshape(values.shape)
    target = {"labels": labels, "member": inside[0]}
    pool = {"labels": labels, "member": inside[1:]}
    attacks = [LiraOnline()]
    found = [
        pg.audit_pool(predictions(**target, **a), as_pool({**pool, **b}), attacks=attacks)
        for a, b in (
            ({"logits": values[0]}, {"probs": probs[1:]}),
            ({"probs": probs[0]}, {"logits": values[1:]}),
        )
    ]
    one, other = (audit.evaluations[0].auc.value for audit in found)
    assert one == other
    alone = predictions(**target, logits=values[0, :, 0])
    once = pg.audit_pool(alone, as_pool({**pool, "logits": values[1:, :, 0]}), attacks=attacks)
    assert once.evaluations[0].auc.value != one


def test_every_model_is_a_target_with_all_queries():
    values, inside, labels = asked()
    pool = Pool(values, True, inside, labels)
    rounds = list(every_model_as_target(pool))
    expected = observed(game(values, inside, labels)).worlds
    assert isinstance(rounds[0].observation.worlds, Worlds)
    assert np.array_equal(rounds[0].observation.worlds.worlds, expected.worlds)
    assert np.array_equal(rounds[0].observation.worlds.signal, expected.signal)
    assert rounds[3].observation.worlds.worlds.shape == (6, 30, QUERIES)


@dataclass(frozen=True)
class Asked(Counted):
    """`Counted`, asked several times: further answers are shifted by their number."""

    queries: int = 3

    def train(self, cohort):
        once = super().train(cohort)
        share = np.arange(self.queries)[:, None] / 10
        return (1 - share) * once[:, :, None] + share / cohort.n_classes


def test_a_trainer_may_answer_several_queries(tmp_path):
    x, y = records()
    trained = train_shadows(Asked(), x, y, n_shadows=5, execution=Execution(run=tmp_path / "run"))
    once = train_shadows(Counted(), x, y, n_shadows=5)
    assert trained.pool.answers.shape == (5, 40, 3, 2)
    assert np.array_equal(trained.pool.values, once.pool.values)
    assert trained.target.n_queries == 3
    plan = read_run(tmp_path / "run").plan
    assert plan.arrays["prediction"].dims == ("model", "record", "query", "class")
    resumed = Asked()
    again = train_shadows(resumed, x, y, n_shadows=5, execution=Execution(run=tmp_path / "run"))
    assert not resumed.trained
    assert np.array_equal(again.pool.answers, trained.pool.answers)
    stands = recorded_trainer(tmp_path / "run")
    told = train_shadows(stands, x, y, n_shadows=5, execution=Execution(run=tmp_path / "run"))
    assert np.array_equal(told.pool.answers, trained.pool.answers)


def test_the_target_of_a_run_keeps_its_queries(tmp_path):
    x, y = records()
    target = train_shadows(Asked(), x, y, n_shadows=1).target
    train_shadows(
        Asked(), x, y, n_shadows=2, execution=Execution(run=tmp_path / "run"), existing=target
    )
    found = recorded_target(tmp_path / "run", target.member, y)
    assert np.array_equal(found.answers, target.answers)


@pytest.mark.slow
@pytest.mark.parametrize("design", [SharedDesign(6), PerTargetDesign(pairs=2, general=2)])
def test_candidates_are_attacked_with_all_queries(design):
    x, y = records()
    plain = {"y": y, "iterations": 2, "n_targets": 5, "design": design}
    several = CandidateGame(Asked(), x, **plain).train(measurements=1)
    once = CandidateGame(Counted(), x, **plain).train(measurements=1)
    assert several.round.observation.worlds.signal.shape == (20, 3)
    assert np.array_equal(
        several.round.observation.worlds.worlds[..., 0], once.round.observation.worlds.worlds
    )
    assert np.array_equal(several.measured, once.measured)
    assert np.array_equal(several.train_accuracy, once.train_accuracy)


@pytest.mark.slow
def test_the_command_takes_files_with_queries(tmp_path):
    values, inside, labels = asked(n=40, k=4)
    np.savez(tmp_path / "t.npz", logits=values[0], labels=labels, member=inside[0])
    np.savez(tmp_path / "p.npz", logits=values[1:], labels=labels, member=inside[1:])
    done = privacygauge("classifier", "t.npz", "--pool", "p.npz", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {
        (a["name"], a["variant"], a["thresholds"]): a["auc"]["value"]
        for a in json.loads(done.stdout)["attacks"]
    }
    audit = pg.audit_pool(
        predictions(logits=values[0], labels=labels, member=inside[0]),
        Pool(values[1:], True, inside[1:], labels),
    )
    assert found == {(e.name, e.variant, e.thresholds): e.auc.value for e in audit.evaluations}
