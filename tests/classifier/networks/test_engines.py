import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.classifier.networks import MLP, Networks
from tests.classifier.networks import made

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RULES = [
    {"optimiser": "adam", "learning_rate": 0.01},
    {"optimiser": "adam", "learning_rate": 0.01, "weight_decay": 0.1},
    {"optimiser": "sgd", "learning_rate": 0.1},
    {"optimiser": "sgd", "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.01},
]


def trained(networks, x, y, inside, seeds, k=3):
    return networks.train(x, y, inside, seeds, n_classes=k, asked=np.arange(len(x)))


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
    x, y, inside = made.data(k=k, m=5, seed=seed)
    make = MLP(hidden, activation)
    networks = Networks(make, 2, batch_size, dtype="float64", engine=engine, stack=stack, **rule)
    seeds = [seed + 3 * i for i in range(5)]
    asked = np.arange(0, 40, 3)
    found = networks.train(x, y, inside, seeds, n_classes=k, asked=asked)
    expected = made.reference(networks, x, y, inside, seeds, k, asked)
    assert found.shape == (5, len(asked), k)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


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
    x, y, inside = made.data(least=4)
    inside[0] = inside[1] = True
    networks = Networks(make, 3, 10, "sgd", 0.1, 0.9, dtype="float64", stack=3)
    asked = np.arange(40)
    choice = networks.engine_for(x, y, inside, [1, 2, 3, 4], n_classes=3, asked=asked)
    assert choice.name == engine
    assert "\n" not in choice.reason
    if make == made.Sequence("dropout"):
        return  # the reference seeds weights only, not what is dropped
    if make == made.Sequence("batch norm"):
        inside[:] = True  # a batch of one has no variance
    expected = made.reference(networks, x, y, inside, [1, 2, 3, 4], 3, asked)
    np.testing.assert_allclose(trained(networks, x, y, inside, [1, 2, 3, 4]), expected, atol=1e-9)


def test_dropout_follows_from_the_seed_alone():
    x, y, inside = made.data()
    networks = Networks(made.Sequence("dropout"), 3, 10)
    together = trained(networks, x, y, inside, [1, 2, 3, 4])
    alone = trained(networks, x, y, inside[2:3], [3])
    assert np.array_equal(together[2], alone[0])


@pytest.mark.parametrize("engine", ["dense", "vmap", "loop"])
def test_a_model_depends_on_its_rows_and_seed_alone(engine):
    x, y, inside = made.data(m=6)
    networks = Networks(MLP((8,)), 3, 10, dtype="float64", engine=engine, stack=4)
    seeds = np.array([5, 1, 4, 2**31 - 1, 0, 9])
    plain = trained(networks, x, y, inside, seeds)
    order = np.array([3, 5, 0, 4, 1, 2])
    mixed = trained(networks, x, y, inside[order], seeds[order])
    np.testing.assert_allclose(mixed, plain[order], rtol=0, atol=1e-12)
    alone = trained(networks, x, y, inside[2:3], seeds[2:3])
    np.testing.assert_allclose(alone[0], plain[2], rtol=0, atol=1e-12)
    other = trained(networks, x, y, inside[2:3], [77])
    assert np.abs(other[0] - plain[2]).max() > 0.01


def test_small_networks_in_float32_differ_by_rounding_only():
    x, y, inside = made.data(n=200, m=5, least=100)
    asked, seeds = np.arange(200), range(5)
    single = Networks(MLP((64,)), 20, 20)
    exact = Networks(MLP((64,)), 20, 20, dtype="float64")
    found = [
        Networks(MLP((64,)), 20, 20, stack=stack, engine=engine).train(
            x, y, inside, seeds, n_classes=3, asked=asked
        )
        for stack, engine in [(1, "dense"), (5, "dense"), (5, "vmap"), (1, "loop")]
    ]
    expected = exact.train(x, y, inside, seeds, n_classes=3, asked=asked)
    assert found[0].dtype == np.float32
    assert expected.dtype == np.float64
    for logits in [*found, trained(single, x, y, inside, seeds)]:
        np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("engine", ["dense", "vmap", "loop"])
@pytest.mark.parametrize("rule", RULES)
def test_a_model_that_fails_is_nan_and_leaves_the_others_alone(engine, rule):
    x, y, inside = made.data(d=40, m=5, least=8)
    x[0] = 1.7e308  # its products overflow
    inside[:, 0] = [False, True, False, False, True]
    networks = Networks(MLP((64,), "relu"), 2, 10, dtype="float64", engine=engine, **rule)
    asked = np.arange(1, 40)
    found = networks.train(x, y, inside, range(5), n_classes=3, asked=asked)
    assert np.isnan(found[[1, 4]]).all()
    others = [0, 2, 3]
    expected = made.reference(networks, x, y, inside[others], others, 3, asked)
    np.testing.assert_allclose(found[others], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("make", [MLP((4,)), made.no_bias, made.tied, made.Sequence("batch norm")])
def test_weights_load_into_the_module(make):
    import torch

    x, y, inside = made.data(least=11)
    inside[:] = True
    networks = Networks(make, 2, 20, dtype="float64", stack=3)
    asked = np.arange(40)
    found = networks.train_with_weights(x, y, inside, range(4), n_classes=3, asked=asked)
    assert found.finite.all()
    for logits, weights in zip(found.logits, found.weights, strict=True):
        module = make(5, 3).double()
        module.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
        with torch.no_grad():
            np.testing.assert_allclose(module.eval()(torch.tensor(x)), logits, atol=1e-12)
