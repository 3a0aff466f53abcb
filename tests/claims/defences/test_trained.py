"""A target and shadow models trained in several ways: the same records, one run, nothing lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.claims.defences.early_stopping import EarlyStopping
from privacygauge.claims.defences.trainings import (
    Trainings,
    judged_cohort,
    recorded_epochs,
    train_each_way,
)
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.classifiers.shadows import Execution
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.runs.store import read_run
from tests.classifiers.trainers import Counted, records

X, Y = records(40)
JUDGED = np.arange(5, 40)


def trained(trainings, run=None, n_shadows=3, **more):
    cohort = judged_cohort(X, Y, JUDGED, n_shadows=n_shadows)
    return train_each_way(trainings, cohort, Execution(run=run), **more)


def test_a_model_has_the_same_records_and_seed_in_every_way():
    first = Counted()
    second = Counted()
    without, (defended,) = trained(Trainings(first, (1,), (second,)))
    assert first.trained == second.trained
    assert len(first.trained) == 4
    np.testing.assert_array_equal(without.last.target.values, defended.target.values)
    np.testing.assert_array_equal(without.last.pool.inside, defended.pool.inside)
    np.testing.assert_array_equal(without.last.target.ids, JUDGED)
    np.testing.assert_array_equal(without.last.target.labels, Y[JUDGED])


def test_nobody_is_trained_on_records_that_are_not_judged():
    class Watching(Counted):
        def train(self, cohort):
            assert not cohort.inside[:, :5].any()
            assert cohort.inside[:, 5:].any(axis=1).all()
            return super().train(cohort)

    trained(Trainings(Watching(), (1,), ()))


def test_names_of_records_are_kept():
    names = np.array([f"r{i}" for i in JUDGED])
    without, _ = trained(Trainings(Counted(), (1,), ()), ids=names)
    np.testing.assert_array_equal(without.last.target.ids, names)


def test_an_interruption_loses_nothing(tmp_path):
    whole, _ = trained(Trainings(Counted(), (1,), (Counted(),)))
    stopped = Counted(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        trained(Trainings(stopped, (1,), (Counted(),)), tmp_path / "run")
    assert read_run(tmp_path / "run").n_done() == 2
    rest = Counted()
    found, _ = trained(Trainings(rest, (1,), (Counted(),)), tmp_path / "run")
    assert len(rest.trained) == 2
    np.testing.assert_array_equal(found.last.pool.values, whole.last.pool.values)


def test_a_run_of_other_defences_is_not_gone_on_with(tmp_path):
    trained(Trainings(Counted(), (1,), ()), tmp_path / "run")
    with pytest.raises(InputError, match="defended"):
        trained(Trainings(Counted(), (1,), (Counted(),)), tmp_path / "run")


@pytest.mark.slow
def test_models_that_fail_are_left_out_and_a_target_that_fails_is_told():
    plain = Counted()
    without, _ = trained(Trainings(plain, (1,), ()))
    sizes = without.last.pool.inside.sum(axis=1)
    once = [n for n in sizes if (sizes == n).sum() == 1 and n != without.last.target.member.sum()]
    _, (some,) = trained(Trainings(plain, (1,), (Counted(bad=(int(once[0]),)),)))
    assert (len(some.pool), len(some.failed)) == (2, 1)
    bad = int(without.last.target.member.sum())
    _, (none,) = trained(Trainings(plain, (1,), (Counted(bad=(bad,)),)))
    assert isinstance(none, Skipped)
    assert none.reason == "training failed for the target: predictions are not finite"
    failed, _ = trained(Trainings(Counted(bad=(bad,)), (1,), ()))
    with pytest.raises(InputError, match="without a defence training failed for the target"):
        failed.last  # noqa: B018


def test_shadow_accuracy_is_that_on_records_left_out():
    without, _ = trained(Trainings(Counted(), (1,), ()))
    models = without.last
    right = [
        model[row].argmax() == models.pool.labels[row]
        for model, inside in zip(models.pool.values, models.pool.inside, strict=True)
        for row in np.flatnonzero(~inside)
    ]
    assert models.shadow_accuracy == pytest.approx(np.mean(right))


def test_at_least_one_shadow_model():
    with pytest.raises(InputError, match="n_shadows must be at least 1, got 0"):
        trained(Trainings(Counted(), (1,), ()), n_shadows=0)


@pytest.mark.parametrize("epochs", [1, 2, 7, 40, 500])
def test_recorded_epochs_are_few_and_hold_the_first_the_last_and_those_asked_for(epochs):
    found = recorded_epochs(epochs, (max(1, epochs - 1),))
    assert found[0] == 1
    assert found[-1] == epochs
    assert max(1, epochs - 1) in found
    assert list(found) == sorted(set(found))
    assert len(found) <= 21


@pytest.mark.slow
@pytest.mark.torch
def test_every_recorded_epoch_is_that_of_a_training_that_ended_there():
    pytest.importorskip("torch")
    nets = Networks(MLP((3,)), epochs=4, batch_size=8, dtype="float64")
    without, (two,) = trained(
        Trainings(nets, (1, 2, 4), (EarlyStopping(replace(nets, epochs=2)),)), n_shadows=1
    )
    stopped = without.after(2)
    np.testing.assert_array_equal(stopped.target.values, two.target.values)
    np.testing.assert_array_equal(stopped.pool.values, two.pool.values)
    assert not np.array_equal(without.last.target.values, two.target.values)
