"""Defences at training: each changes what it says of the undefended training, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.claims.defences.adversarial_regularisation import ReferenceRows
from privacygauge.claims.defences.dp_sgd import DpSgd
from privacygauge.claims.defences.early_stopping import EarlyStopping
from privacygauge.claims.defences.named import (
    DEFENCES,
    TRAINING_DEFENCES,
    any_defence_named,
    defence_named,
    training_defence_named,
)
from privacygauge.claims.defences.removal import Number, Share
from privacygauge.claims.defences.training import (
    AgainstAttacker,
    ByOpacus,
    HiddenDropout,
    OtherTraining,
    Private,
    StopAfter,
    TrainingDefence,
    UndefendedTraining,
    WeightDecay,
    WithoutRiskiest,
)
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.classifiers.networks.engines import Dropout
from privacygauge.errors import InputError
from tests.classifiers.trainers import Counted
from tests.thorough import quarter

NETS = Networks(MLP((4,)), epochs=12, batch_size=10)
OF = UndefendedTraining(NETS, 400, references=(1, 5))


def test_only_the_epochs_change_by_stopping_early():
    assert StopAfter(3).trainer(OF).networks == replace(NETS, epochs=3)


def test_only_the_decay_changes_by_l2():
    assert WeightDecay(0.25).trainer(OF).networks == replace(NETS, weight_decay=0.25)


def test_dropout_is_put_into_the_same_network():
    assert HiddenDropout(0.3).trainer(OF).networks == replace(NETS, make=Dropout(NETS.make, 0.3))


def test_the_references_are_those_that_nobody_is_trained_on():
    made = AgainstAttacker(0.5).trainer(OF)
    assert (made.networks, made.weight, made.reference) == (NETS, 0.5, ReferenceRows((1, 5)))


def test_the_riskiest_are_removed_from_the_same_training():
    found = WithoutRiskiest(3).trainer(OF)
    assert (found.trainer, found.amount) == (EarlyStopping(NETS), Number(3))
    mine = Counted()
    assert WithoutRiskiest(0.1).trainer(UndefendedTraining(mine, 40)).trainer is mine
    assert WithoutRiskiest(0.1).trainer(OF).amount == Share(0.1)


def test_a_trainer_of_the_users_is_taken_as_it_is():
    mine = Counted()
    assert OtherTraining(mine, "mine").trainer(OF) is mine


@pytest.mark.slow
@settings(max_examples=quarter(4))
@given(
    epsilon=st.floats(0.2, 20),
    delta=st.one_of(st.none(), st.floats(1e-7, 1e-2)),
    n=st.integers(50, 5000),
)
def test_the_noise_is_what_the_epsilon_needs(epsilon, delta, n):
    of = UndefendedTraining(NETS, n)
    defence = Private(epsilon, delta)
    made = defence.trainer(of)
    assert isinstance(made, DpSgd)
    at = 1 / n if delta is None else delta
    assert defence.at_delta(of) == at
    # noise_for rounds up by 1e-4 of the noise, which moves epsilon by a few times that.
    assert epsilon * 0.999 < made.epsilon(at) <= epsilon
    assert made.sampling_rate == min(1.0, NETS.batch_size / (n // 2))
    assert made.networks == NETS


def test_every_one_has_the_protocol_and_a_name_of_its_own():
    known = (StopAfter(), WeightDecay(), HiddenDropout(), AgainstAttacker(), Private())
    every = (*known, WithoutRiskiest(), Private(by=ByOpacus()), OtherTraining(Counted()))
    assert all(isinstance(x, TrainingDefence) for x in every)
    assert len({x.name for x in every}) == len(every)


@pytest.mark.parametrize("text", TRAINING_DEFENCES.split(", "))
def test_the_listed_numbers_are_the_defaults(text):
    found = training_defence_named(text)
    assert found == training_defence_named(text.partition(":")[0])
    assert found.name == text.partition(":")[0]
    assert any_defence_named(text) == found


@pytest.mark.parametrize(
    ("text", "defence"),
    [
        ("early-stopping:7", StopAfter(7)),
        ("l2:0.1", WeightDecay(0.1)),
        ("dropout:0.25", HiddenDropout(0.25)),
        ("adversarial-regularisation:3", AgainstAttacker(3.0)),
        ("dp-sgd:1.5", Private(1.5, 1e-5)),
        ("removal:7", WithoutRiskiest(7)),
        ("dp-sgd-opacus:2", Private(2.0, 1e-5, ByOpacus())),
    ],
)
def test_a_name_gives_what_its_class_does(text, defence):
    assert training_defence_named(text, 1e-5) == defence


def test_any_name_is_that_of_a_defence_on_answers_or_at_training():
    for text in DEFENCES.split(", "):
        assert any_defence_named(text) == defence_named(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noise", "defence must be one of early-stopping:10, .* label-only, got 'noise'"),
        ("early-stopping:0", "epoch must be a whole number of at least 1, got 0"),
        ("early-stopping:1.5", "defence must be one of early-stopping"),
        ("l2:nan", "strength must be finite and above 0, got nan"),
        ("dropout:1", r"rate must be in \(0, 1\), got 1"),
        ("dp-sgd:", "defence must be one of"),
        ("dp-sgd:-1", "epsilon must be finite and above 0, got -1"),
        ("adversarial-regularisation:inf", "weight must be finite and at least 0"),
        ("removal:1.5", "amount must be a whole number of records, or a share of them"),
        ("removal:0", "amount must be a whole number"),
        ("rounding:1.5", "defence must be one of memguard"),
    ],
)
def test_what_is_no_defence_is_refused_in_one_line(text, message):
    with pytest.raises(InputError, match=message) as refused:
        any_defence_named(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("defence", "of", "message"),
    [
        (
            WeightDecay(),
            UndefendedTraining(Counted(), 40),
            "l2 changes how networks are trained, got",
        ),
        (StopAfter(13), OF, "must be after one of the 12 epochs, got 13"),
        (
            HiddenDropout(),
            UndefendedTraining(replace(NETS, make=Dropout(MLP((4,)), 0.1)), 40),
            "dropout is put into an MLP, got networks of another kind",
        ),
        (
            Private(1e-6, 1e-9),
            UndefendedTraining(NETS, 40),
            "epsilon must be one that noise can reach",
        ),
    ],
)
def test_what_cannot_be_defended_so_is_refused(defence, of, message):
    with pytest.raises(InputError, match=message):
        defence.trainer(of)


def test_delta_is_checked():
    with pytest.raises(InputError, match=r"delta must be in \(0, 1\), got 2"):
        Private(1.0, 2.0)
