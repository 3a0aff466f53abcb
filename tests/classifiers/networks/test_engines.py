from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.classifiers.networks import MLP, Networks
from tests.classifiers.networks import made
from tests.thorough import crossed

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RULES = [
    {"optimiser": "adam", "learning_rate": 0.01},
    {"optimiser": "adam", "learning_rate": 0.01, "weight_decay": 0.1},
    {"optimiser": "sgd", "learning_rate": 0.1},
    {"optimiser": "sgd", "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.01},
]


@pytest.mark.slow
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    hidden=st.sampled_from([(), (3,), (16,), (7, 4)]),
    activation=st.sampled_from(["tanh", "relu", "sigmoid"]),
    rule=st.sampled_from(RULES),
    engine=st.sampled_from(["dense", "vmap", "loop", None]),
    stack=st.sampled_from([1, 2, 3, 7, None]),
    batch_size=st.integers(1, 45),
    k=st.integers(2, 18),
    seed=st.integers(0, 1000),
)
def test_every_engine_equals_torch_optim(
    hidden, activation, rule, engine, stack, batch_size, k, seed
):
    seeds = [seed + 3 * i for i in range(5)]
    cohort = made.cohort(k=k, m=5, seed=seed)
    cohort = replace(cohort, seeds=seeds, asked=np.arange(0, 40, 3))
    make = MLP(hidden, activation)
    networks = Networks(make, 2, batch_size, dtype="float64", engine=engine, stack=stack, **rule)
    found = networks.train(cohort)
    expected = made.reference(networks, cohort)
    assert found.shape == cohort.shape == (5, 14, k)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "engine"),
    [
        (made.Sequence("leaky"), "dense"),
        (made.Sequence("sigmoid"), "dense"),
        (made.Sequence("tanh"), "dense"),
        (made.Sequence("identity"), "dense"),
        (made.no_bias, "dense"),
        (made.Sequence("layer norm"), "vmap"),
        (made.Sequence("gelu"), "vmap"),
        (made.tied, "vmap"),
        (made.frozen_first, "vmap"),
        (made.Sequence("batch norm"), "loop"),
        (made.Sequence("dropout"), "loop"),
        (made.branching, "loop"),
        (made.whole_batch, "loop"),
        (made.attribute, "loop"),
    ],
)
def test_the_trial_step_finds_what_each_engine_can_do(make, engine):
    cohort = replace(made.cohort(least=4), seeds=[1, 2, 3, 4])
    cohort.inside[:2] = True
    networks = Networks(make, 3, 10, "sgd", 0.1, 0.9, dtype="float64", stack=3)
    choice = networks.engine_for(cohort)
    assert choice.name == engine
    assert "\n" not in choice.reason
    if make == made.Sequence("dropout"):
        return  # the reference seeds weights only, not what is dropped
    if make == made.Sequence("batch norm"):
        cohort.inside[:] = True  # a batch of one has no variance
    expected = made.reference(networks, cohort)
    np.testing.assert_allclose(networks.train(cohort), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "engine", "rule"),
    crossed([made.by_columns, made.stored_by_columns], ["vmap", "loop", None], RULES[::2]),
)
def test_gradients_may_lie_otherwise_in_memory_than_weights(make, engine, rule):
    cohort = made.cohort(m=3)
    networks = Networks(make, 2, 10, dtype="float64", engine=engine, **rule)
    expected = made.reference(networks, cohort)
    np.testing.assert_allclose(networks.train(cohort), expected, atol=1e-9)


def test_dropout_follows_from_the_seed_alone():
    cohort = replace(made.cohort(), seeds=[1, 2, 3, 4])
    networks = Networks(made.Sequence("dropout"), 3, 10)
    together = networks.train(cohort)
    alone = networks.train(cohort[2:3])
    assert np.array_equal(together[2], alone[0])


@pytest.mark.parametrize("engine", ["dense", "vmap", "loop"])
def test_a_model_depends_on_its_rows_and_seed_alone(engine):
    seeds = np.array([5, 1, 4, 2**31 - 1, 0, 9])
    cohort = replace(made.cohort(m=6), seeds=seeds)
    networks = Networks(MLP((8,)), 3, 10, dtype="float64", engine=engine, stack=4)
    plain = networks.train(cohort)
    order = np.array([3, 5, 0, 4, 1, 2])
    mixed = networks.train(replace(cohort, inside=cohort.inside[order], seeds=seeds[order]))
    np.testing.assert_allclose(mixed, plain[order], rtol=0, atol=1e-12)
    alone = networks.train(cohort[2:3])
    np.testing.assert_allclose(alone[0], plain[2], rtol=0, atol=1e-12)
    other = networks.train(replace(cohort[2:3], seeds=[77]))
    assert np.abs(other[0] - plain[2]).max() > 0.01


@pytest.mark.slow
def test_small_networks_in_float32_differ_by_rounding_only():
    cohort = made.cohort(n=200, m=5, least=100)
    single = Networks(MLP((64,)), 20, 20)
    exact = Networks(MLP((64,)), 20, 20, dtype="float64")
    found = [
        Networks(MLP((64,)), 20, 20, stack=stack, engine=engine).train(cohort)
        for stack, engine in [(1, "dense"), (5, "dense"), (5, "vmap"), (1, "loop")]
    ]
    expected = exact.train(cohort)
    assert found[0].dtype == np.float32
    assert expected.dtype == np.float64
    for logits in [*found, single.train(cohort)]:
        np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("rule", "engine"), crossed(RULES, ["dense", "vmap", "loop"]))
def test_a_model_that_fails_is_nan_and_leaves_the_others_alone(engine, rule):
    cohort = replace(made.cohort(d=40, m=5, least=8), asked=np.arange(1, 40))
    cohort.x[0] = 1.7e308  # its products overflow
    cohort.inside[:, 0] = [False, True, False, False, True]
    networks = Networks(MLP((64,), "relu"), 2, 10, dtype="float64", engine=engine, **rule)
    found = networks.train(cohort)
    assert np.isnan(found[[1, 4]]).all()
    others = [0, 2, 3]
    well = replace(cohort, inside=cohort.inside[others], seeds=others)
    expected = made.reference(networks, well)
    np.testing.assert_allclose(found[others], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("make", [MLP((4,)), made.no_bias, made.tied, made.Sequence("batch norm")])
def test_weights_load_into_the_module(make):
    import torch

    cohort = made.cohort(least=11)
    cohort.inside[:] = True
    networks = Networks(make, 2, 20, dtype="float64", stack=3)
    found = networks.train_with_weights(cohort)
    assert found.finite.all()
    for logits, weights in zip(found.logits, found.weights, strict=True):
        module = make(5, 3).double()
        module.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
        with torch.no_grad():
            np.testing.assert_allclose(module.eval()(torch.tensor(cohort.x)), logits, atol=1e-12)
