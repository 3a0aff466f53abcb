import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.claims.defences.early_stopping import (
    EarlyStopping,
    first_epoch,
    nearest_epoch,
    trajectories,
)
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.classifiers.networks.engines import Dropout
from privacygauge.classifiers.trainer import Trainer
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from tests.classifiers.networks import made

NETS = Networks(MLP((6,), "tanh"), epochs=4, batch_size=8, learning_rate=0.05, dtype="float64")

accuracies = st.lists(st.integers(0, 10), min_size=1, max_size=8).map(lambda a: np.array(a) / 10)


@given(accuracies, st.integers(0, 10))
def test_the_chosen_epochs_against_the_definition(accuracy, wanted):
    wanted = wanted / 10
    epochs = np.arange(1, len(accuracy) + 1) * 3
    enough = [(a, e) for a, e in zip(accuracy, epochs, strict=True) if a >= wanted]
    nearest, first = (choose(epochs, accuracy, wanted) for choose in (nearest_epoch, first_epoch))
    if enough:
        assert nearest == min(enough)[1]
        assert first == min(e for _, e in enough)
        assert first <= nearest
    else:
        assert isinstance(nearest, Skipped)
        assert isinstance(first, Skipped)
        assert f"{wanted:.3f} wanted" in first.reason


def test_epochs_must_ascend():
    with pytest.raises(InputError, match="epochs must be ascending, got 2, 1"):
        nearest_epoch([2, 1], [0.1, 0.2], 0.1)


@pytest.mark.torch
@pytest.mark.parametrize("make", [NETS.make, Dropout(MLP((6, 5), "relu"), 0.4)])
def test_every_epoch_is_the_model_that_stopped_there(make):
    pytest.importorskip("torch")
    cohort = made.cohort(m=2)
    nets = replace(NETS, make=make, engine="loop")
    found = trajectories(EarlyStopping(nets), cohort, (1, 2, 4))
    for epoch in (1, 2, 4):
        alone = replace(nets, epochs=epoch).train(cohort)
        np.testing.assert_array_equal(found.at(epoch), alone)
    with pytest.raises(InputError, match=r"recorded \(1, 2, 4\), got 3"):
        found.at(3)


@pytest.mark.torch
def test_recording_less_changes_nothing():
    pytest.importorskip("torch")
    cohort = made.cohort(m=2)
    stopping = EarlyStopping(replace(NETS, make=Dropout(MLP((6,)), 0.4)))
    every = trajectories(stopping, cohort)
    last = stopping.train(cohort)
    assert every.epochs.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(every.at(4), last)
    np.testing.assert_array_equal(trajectories(stopping, cohort[1:], (4,)).at(4), last[1:])


@pytest.mark.torch
def test_it_is_a_trainer():
    pytest.importorskip("torch")
    stopping = EarlyStopping(NETS)
    assert isinstance(stopping, Trainer)
    json.dumps(stopping.describe())
    assert stopping.logits


@pytest.mark.torch
def test_a_training_that_fails_is_nan_from_then_on():
    pytest.importorskip("torch")
    cohort = made.cohort(m=1)
    large = replace(cohort, x=cohort.x * 1e200)
    wild = replace(NETS, make=MLP((6,), "relu"), optimiser="sgd", learning_rate=1e200)
    found = trajectories(EarlyStopping(wild), large)
    assert np.isnan(found.at(4)).all()


@pytest.mark.torch
@pytest.mark.parametrize("recorded", [(), (0, 1), (2, 1), (1, 1), (5,)])
def test_recorded_epochs_are_checked(recorded):
    pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"recorded must hold ascending epochs in 1\.\.4"):
        trajectories(EarlyStopping(NETS), made.cohort(m=1), recorded)


@pytest.mark.torch
def test_dropout_starts_from_the_same_weights_and_leaves_units_out():
    torch = pytest.importorskip("torch")
    mlp = MLP((6, 5), "relu")
    made_alike = []
    for make in (mlp, Dropout(mlp, 0.5)):
        torch.manual_seed(3)
        made_alike.append(make(4, 3))
    plain, dropped = made_alike
    x = torch.ones(2, 4)
    torch.testing.assert_close(dropped.eval()(x), plain(x))
    kept = dropped.train()[:3](torch.ones(500, 4)) != 0
    active = plain[:2](x)[0] > 0
    # Binomial(500, 1/2) for each unit that is active: five standard deviations.
    assert active.any()
    assert (kept[:, active].double().mean(0) - 0.5).abs().max() < 5 * 0.5 / np.sqrt(500)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dropout(MLP((4,)), 1.0), r"rate must be in \(0, 1\), got 1.0"),
        (lambda: Dropout(MLP(()), 0.5), "dropout needs a hidden layer"),
    ],
)
def test_dropout_is_checked(make, message):
    with pytest.raises(InputError, match=message):
        make()
