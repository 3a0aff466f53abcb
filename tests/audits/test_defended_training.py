"""Defences at training, audited: the same records, adaptive and not, beside early stopping."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from privacygauge.claims.defence_audit.audit import audit_training_defences
from privacygauge.claims.defences.defence import LabelOnly
from privacygauge.claims.defences.dp_sgd import RDP, pld_accountant
from privacygauge.claims.defences.training import (
    AgainstAttacker,
    OtherTraining,
    Private,
    StopAfter,
    WeightDecay,
)
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.defences import AfterEpoch
from tests.classifiers.trainers import Counted, Noisy, records

pytestmark = pytest.mark.usefixtures("undrawn")

ATTACKS = (Threshold("confidence", per_class=False), Threshold("correctness"), CalibratedOnline())
X, Y = records(300, k=3)


def audited(defences, model=None, n=300, **more):
    options = {"n_shadows": 3, "attacks": ATTACKS, **more}
    return audit_training_defences(model or Noisy(leak=3.0), X[:n], Y[:n], defences, **options)


@pytest.fixture(scope="module")
def three():
    silent = OtherTraining(Noisy(), "silent")
    worse = OtherTraining(Noisy(leak=9.0), "worse")
    return audited([silent, worse, LabelOnly()])


@pytest.mark.slow
def test_what_a_defence_is_worth_is_found(three):
    silent, worse, labels = three.compared
    assert three.none.accuracy.low > 0.7
    assert not silent.left.accuracy.excludes(0.5)
    assert worse.left.accuracy.value > three.none.accuracy.value
    assert three.best is silent
    assert labels.after.value == labels.before.value
    assert [c.at_training for c in three.compared] == [True, True, False]
    assert three.n_shadows == 3


def test_all_intervals_hold_together(three):
    assert "Bonferroni over 21 results" in three.none.accuracy.method  # 3 attacks, 7 games


def test_adaptive_attackers_train_with_the_defence():
    """It moves the confidence of all records: only who trains so too knows by how much."""
    found = audited([OtherTraining(Noisy(sure=4.0, leak=3.0), "shifted")])
    (shifted,) = found.compared
    attacked = shifted.judged.attacks[0]  # confidence with one threshold
    assert attacked.adaptive.accuracy.value > attacked.non_adaptive.accuracy.value + 0.05
    assert attacked.undefended.accuracy.value > 0.65


def test_a_further_defence_changes_no_other_ones_scores(three):
    alone = audited([OtherTraining(Noisy(), "silent")]).compared[0].judged
    beside = three.compared[0].judged
    for a, b in zip(alone.attacks, beside.attacks, strict=True):
        assert a.adaptive.auc == b.adaptive.auc
        assert a.non_adaptive.accuracy == b.non_adaptive.accuracy
    assert alone.worst == beside.worst


def test_models_without_epochs_have_no_curve(three):
    assert three.curve == ()
    assert all(c.stopped is None for c in three.compared)


def test_ids_are_those_of_the_user():
    names = [f"person {i}" for i in range(60)]
    found = audited([OtherTraining(Noisy(), "silent")], n=60, ids=names)
    assert {r.id for r in found.compared[0].judged.worst} <= set(names)


def test_a_trainer_may_stand_for_a_defence():
    assert audited([Noisy(name="mine")], n=60).compared[0].title == "mine"


def test_an_interruption_loses_nothing(tmp_path):
    def asked(trainer):
        return audited([OtherTraining(Noisy(), "silent")], trainer, n=60, run=tmp_path / "run")

    with pytest.raises(KeyboardInterrupt):
        asked(Counted(stop_after=2))
    rest = Counted()
    found = asked(rest)
    assert len(rest.trained) == 2
    straight = audited([OtherTraining(Noisy(), "silent")], Counted(), n=60)
    assert found.to_json() == straight.to_json()


def test_a_defence_that_cannot_be_trained_is_left_out_and_named():
    class Broken(Noisy):
        def train(self, cohort):
            return np.full(cohort.shape, np.nan, np.float32)

    found = audited([OtherTraining(Noisy(), "silent"), OtherTraining(Broken(), "broken")], n=60)
    assert [c.title for c in found.compared] == ["silent"]
    assert found.skipped[0].name.startswith("broken")
    with pytest.raises(InputError, match="no defence could be judged: broken"):
        audited([OtherTraining(Broken(), "broken")], n=60)


@pytest.mark.parametrize(
    ("defences", "message"),
    [
        ([], "at least one defence is needed, got none"),
        (["label-only", LabelOnly()], "two defences are called"),
        (["noise"], "defence must be one of early-stopping:10"),
        (["l2:0.1"], "l2 changes how networks are trained, got a model of another kind"),
    ],
)
def test_bad_input_is_refused_in_one_line(defences, message):
    with pytest.raises(InputError, match=message) as refused:
        audited(defences)
    assert "\n" not in str(refused.value)


def test_too_few_records_are_refused():
    with pytest.raises(InputError, match="x must have at least 10 records, got 9"):
        audited(["label-only"], n=9)


NETS = Networks(
    MLP((16,), "relu"),
    epochs=30,
    batch_size=10,
    optimiser="sgd",
    learning_rate=0.5,
    dtype="float64",
)


@pytest.fixture(scope="module")
def networks():
    """Few records of many features, known by heart late in training."""
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    x = rng.normal(size=(200, 30)) + 0.4 * y[:, None]
    defences = [StopAfter(2), WeightDecay(0.02), Private(1.0)]
    return audit_training_defences(NETS, x, y, defences, n_shadows=2, attacks=ATTACKS)


@pytest.mark.slow
@pytest.mark.torch
def test_early_stopping_is_recorded_from_one_training(networks):
    assert networks.curve[0].epoch == 1
    assert networks.curve[-1].epoch == NETS.epochs
    assert networks.curve[-1].best.accuracy == networks.none.accuracy
    stop = networks.compared[0]
    (point,) = (point for point in networks.curve if point.epoch == 2)
    assert stop.after == point.accuracy
    assert stop.adaptive.accuracy == point.best.accuracy
    assert stop.stopped is None


@pytest.mark.slow
@pytest.mark.torch
def test_every_other_defence_stands_beside_the_first_epoch_that_is_as_accurate(networks):
    for c in networks.compared[1:]:
        assert isinstance(c.stopped, AfterEpoch | Skipped)
    assert any(isinstance(c.stopped, AfterEpoch) for c in networks.compared[1:])
    n = len(networks.curve)
    assert f"over {3 * (2 * 3 + n)} results" in networks.none.accuracy.method


@pytest.mark.slow
@pytest.mark.torch
def test_what_the_accountant_says_stands_beside(networks):
    claims = [c.claim for c in networks.compared]
    assert claims[:2] == [None, None]
    assert claims[2].delta == 1 / 200
    assert 0.999 < claims[2].epsilon <= 1.0
    assert claims[2].accountant == (pld_accountant() or RDP)


@pytest.mark.slow
@pytest.mark.torch
def test_the_report_holds_all_of_it(networks):
    found = json.loads(networks.to_json())
    assert [point["epoch"] for point in found["curve"]] == [p.epoch for p in networks.curve]
    assert found["n_shadows"] == 2
    assert found["defences"][2]["claim"]["delta"] == 1 / 200
    assert "epsilon 1.00 at delta 5.0e-03" in networks.to_html()
    assert "Stopped early, as accurate" in networks.to_html()


@pytest.mark.slow
@pytest.mark.torch
def test_reference_records_are_kept_apart():
    pytest.importorskip("torch")
    nets = replace(NETS, epochs=2)
    x, y = records(100)
    found = audit_training_defences(nets, x, y, [AgainstAttacker()], n_shadows=1, attacks=ATTACKS)
    assert found.n_in + found.n_out == 80
    assert found.origin.provenance["reference records"] == "20"
