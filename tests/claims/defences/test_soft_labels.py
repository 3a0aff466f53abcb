"""Defences that train on other labels: what each one promises, and that they are trainers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import softmax

from privacygauge.claims.defences.early_stopping import EarlyStopping
from privacygauge.claims.defences.named import training_defence_named
from privacygauge.claims.defences.played import claim_of
from privacygauge.claims.defences.soft_labels import (
    Distillation,
    Hamp,
    LabelSmoothing,
    Mixup,
    RankedAnswers,
    RelaxLoss,
    Selena,
    own_share,
)
from privacygauge.claims.defences.training import (
    NoisyLogistic,
    TrainingDefence,
    UndefendedTraining,
    scaled_rows,
)
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core.seeds import stream
from privacygauge.defences import OutputPerturbation
from privacygauge.errors import InputError

NETS = Networks(MLP((8,)), epochs=15, batch_size=20, learning_rate=0.02)
OF = UndefendedTraining(NETS, 80, references=tuple(range(80, 100)))
ALL = (
    LabelSmoothing(),
    Mixup(),
    RelaxLoss(),
    Hamp(),
    Distillation(),
    Selena(5),
    OutputPerturbation(),
)


def cohort(m=3, n=100, d=4, k=3, seed=0):
    """Models on half of the first 80 records; the classes of all follow from the features."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    y = x[:, :k].argmax(axis=1)
    inside = np.zeros((m, n), bool)
    inside[:, :80] = rng.random((m, 80)) < 0.5
    return Cohort(x, y, inside, range(m), k, np.arange(80))


@pytest.mark.parametrize("defence", ALL, ids=lambda one: one.name)
def test_each_is_a_training_that_learns_and_depends_on_its_own_seed_alone(defence):
    trainer = defence.trainer(OF)
    assert isinstance(defence, TrainingDefence)
    assert isinstance(trainer, Trainer)
    assert trainer.describe()
    models = cohort()
    found = trainer.train(models)
    assert found.shape == (3, 80, 3)
    assert np.isfinite(found).all()
    right = found.argmax(axis=2) == models.y[:80]
    assert right.mean() > 0.5
    np.testing.assert_allclose(trainer.train(models[1:2])[0], found[1], rtol=1e-4, atol=1e-4)
    assert training_defence_named(defence.name).name == defence.name


def test_smoothed_labels_of_no_share_are_ordinary_training():
    made = LabelSmoothing(1e-9).trainer(OF).train(cohort())
    np.testing.assert_allclose(made, EarlyStopping(NETS).train(cohort()), rtol=1e-4, atol=1e-4)


def test_relaxed_training_keeps_a_loss_above_0():
    wide = replace(NETS, epochs=150)
    models = cohort(m=1)
    inside = models.inside[0, :80]

    def loss(trainer):
        p = softmax(trainer.train(models)[0], axis=1)
        return -np.log(p[np.arange(80), models.y[:80]])[inside].mean()

    assert loss(EarlyStopping(wide)) < 0.1
    assert loss(RelaxLoss(0.5).trainer(replace(OF, trainer=wide))) > 0.25


@pytest.mark.parametrize("epoch", [0, 1])
def test_the_steps_of_relaxloss(epoch):
    """Above the target: down. Below it: up, or to labels whose mean is the present answer."""
    module = torch.nn.Linear(3, 3)
    x, y = torch.eye(3), torch.arange(3)
    with torch.no_grad():
        module.weight.copy_(4 * torch.eye(3))
        module.bias.zero_()
    plain = torch.nn.functional.cross_entropy(module(x), y)
    assert RelaxLoss(1e-3).loss(module, x, y, epoch) == plain
    relaxed = RelaxLoss(5.0).loss(module, x, y, epoch)
    if epoch == 0:
        assert relaxed == -plain
    else:
        # All are right and the other classes equal: the labels are the answers.
        p = softmax(module(x).detach().numpy(), axis=1)
        assert relaxed.item() == pytest.approx(-(p * np.log(p)).sum(axis=1).mean(), abs=1e-6)


@pytest.mark.parametrize("k", [2, 3, 100])
@pytest.mark.parametrize("entropy", [0.1, 0.5, 0.9])
def test_labels_have_the_entropy_that_is_asked_for(k, entropy):
    own = own_share(entropy, k)
    label = np.full(k, (1 - own) / (k - 1))
    label[0] = own
    assert label.argmax() == 0
    assert -(label * np.log(label)).sum() == pytest.approx(entropy * math.log(k))


def test_hamp_releases_the_order_alone():
    """Answers are those to random records, sorted as the record's own answer is."""

    class Linear:
        def train(self, cohort):
            assert not cohort.inside[:, 100:].any()
            return np.stack([cohort.x[cohort.asked] @ np.array([[1, 2, 3], [-1, 0, 4]] * 2)] * 3)

    models = cohort()
    own = Linear().train(models)
    released = RankedAnswers(Linear()).train(models)
    np.testing.assert_array_equal(own.argsort(axis=2), released.argsort(axis=2))
    assert np.abs(np.sort(own, axis=2) - np.sort(released, axis=2)).max(axis=2).min() > 0
    np.testing.assert_array_equal(released, RankedAnswers(Linear()).train(models))


def test_a_student_depends_on_members_through_the_labels_of_others_alone():
    models = cohort(m=1)
    trainer = Distillation().trainer(OF)
    inside = models.inside.copy()
    labels = NETS.train(replace(models, asked=np.arange(80, 100)))
    assert labels.shape == (1, 20, 3)
    inside[0, 90] = True
    with pytest.raises(InputError, match="must be in no training set"):
        trainer.train(replace(models, inside=inside))
    with pytest.raises(InputError, match="needs reference records"):
        Distillation().trainer(replace(OF, references=()))


def test_each_member_is_labelled_by_models_without_it():
    """Labels that only members of the split models could know do not reach the released one."""
    models = cohort(m=1)
    y = models.y.copy()
    rng = np.random.default_rng(1)
    own = np.flatnonzero(models.inside[0])
    wrong = own[rng.permutation(len(own))[:5]]
    y[wrong] = (y[wrong] + 1) % 3
    learnt = replace(NETS, epochs=300)
    noisy = replace(models, y=y)
    plain = EarlyStopping(learnt).train(noisy)[0].argmax(axis=1)
    split = Selena(10).trainer(replace(OF, trainer=learnt)).train(noisy)[0].argmax(axis=1)
    assert (plain[wrong] == y[wrong]).mean() >= 0.8
    assert (split[wrong] == y[wrong]).mean() <= 0.4


def test_output_perturbation_is_as_private_as_it_says():
    """No record moves the optimum further than the sensitivity; the noise is that of the claim."""
    models = cohort()
    trainer = OutputPerturbation(2.0, 1e-5).trainer(OF)
    assert isinstance(trainer, NoisyLogistic)
    rows = scaled_rows(models.x.astype(float) * 10)
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    whole = trainer.optimum(rows[:40], models.y[:40], 3)
    moved = [
        np.linalg.norm(
            trainer.optimum(np.delete(rows[:40], i, 0), np.delete(models.y[:40], i), 3) - whole
        )
        for i in range(40)
    ]
    assert 0 < max(moved) <= trainer.sensitivity
    claim = claim_of(OutputPerturbation(2.0, 1e-5), trainer, OF)
    assert (claim.epsilon, claim.delta) == (2.0, 1e-5)
    still = replace(trainer, decay=trainer.decay).train(models)
    weights = trainer.optimum(
        scaled_rows(models.x.astype(float))[models.inside[0]], models.y[models.inside[0]], 3
    )
    noise = stream(0, "noise").normal(size=weights.shape) * trainer.noise
    np.testing.assert_allclose(
        still[0], scaled_rows(models.x.astype(float))[:80] @ (weights + noise)
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LabelSmoothing(1.0), "share must be in"),
        (lambda: Mixup(0.0), "alpha must be finite and above 0"),
        (lambda: RelaxLoss(-1.0), "target must be finite and above 0"),
        (lambda: Hamp(1.0), "entropy must be in"),
        (lambda: Distillation(0.0), "temperature must be finite"),
        (lambda: Selena(1), "models must be at least 2"),
        (lambda: Selena(5, 5), "without must be in 1..4"),
        (lambda: OutputPerturbation(0.0), "epsilon must be finite"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
