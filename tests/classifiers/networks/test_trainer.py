import json
import pickle
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from privacygauge.classifiers.networks import LONG_2017, MLP, SONG_MITTAL_2021, Networks
from privacygauge.classifiers.trainer import Trainer
from privacygauge.errors import InputError
from tests.classifiers.networks import made

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_it_is_a_trainer_that_can_be_sent_to_another_process():
    trainer: Trainer = Networks(MLP((5, 4), "relu"), epochs=1)
    again = pickle.loads(pickle.dumps(trainer))  # noqa: S301
    assert again == trainer
    assert trainer.logits
    assert trainer.name == "MLP(hidden=(5, 4), activation='relu', initial='torch')"
    cohort = replace(made.cohort(), asked=np.array([3, 1, 1]))
    before = trainer.train(cohort)
    assert before.shape == (4, 3, 3)
    assert np.array_equal(before, again.train(cohort))
    assert np.array_equal(before[:, 1], before[:, 2])
    nothing = trainer.train(replace(cohort, asked=np.array([], int)))
    assert nothing.shape == (4, 0, 3)


def test_neither_threads_nor_random_state_nor_arguments_are_changed():
    cohort = made.cohort()
    for array in (cohort.x, cohort.y, cohort.inside):
        array.flags.writeable = False
    threads = torch.get_num_threads()
    state = torch.get_rng_state()
    torch.set_num_threads(2)
    try:
        Networks(epochs=1).train(cohort)
        assert torch.get_num_threads() == 2
        with torch.no_grad():
            for engine in ("dense", "vmap", "loop"):
                Networks(epochs=1, engine=engine).train(cohort)
            assert not torch.is_grad_enabled()
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(torch.get_rng_state(), state)


def test_features_of_any_number_type_are_taken():
    cohort = made.cohort()
    bits = cohort.x > 0
    expected = Networks(epochs=1).train(replace(cohort, x=bits))
    for kind in (np.uint8, np.int64, np.float64):
        found = Networks(epochs=1).train(replace(cohort, x=bits.astype(kind)))
        assert np.array_equal(found, expected)


def test_the_description_tells_results_apart_and_leaves_speed_out():
    plain = Networks(LONG_2017)
    told = json.loads(json.dumps(plain.describe()))
    assert told["make"]["fields"] == {"hidden": [64], "activation": "tanh", "initial": "torch"}
    assert told["epochs"] == 50
    for same in (replace(plain, stack=3), replace(plain, memory=9), replace(plain, workers=2)):
        assert same.describe() == told
    different = [
        replace(plain, make=SONG_MITTAL_2021),
        replace(plain, make=made.no_bias),
        replace(plain, make=partial(made.no_bias)),
        replace(plain, make=made.Sequence("tanh")),
        replace(plain, epochs=1),
        replace(plain, optimiser="sgd", momentum=0.5),
        replace(plain, dtype="float64"),
    ]
    descriptions = [json.dumps(other.describe()) for other in different]
    assert len({*descriptions, json.dumps(told)}) == 8
    with pytest.raises(InputError, match="make and augment must be functions or have JSON values"):
        replace(plain, make=partial(made.no_bias, object())).describe()


def width_two(n_features, n_classes):
    return torch.nn.Linear(n_features, 2)


def no_module(n_features, n_classes):
    return lambda x: x


def no_weights(n_features, n_classes):
    return torch.nn.Identity()


def by_seed(n_features, n_classes):
    width = 3 + int(torch.randint(1000, ()))
    return torch.nn.Sequential(
        torch.nn.Linear(n_features, width), torch.nn.Linear(width, n_classes)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros(40)}, r"x must have the shape \(n, d\) with n, d >= 1, got \(40,\)"),
        ({"x": np.full((40, 2), "a")}, "x must hold numbers, got <U1"),
        (
            {"x": np.full((40, 2), np.nan)},
            "x must be finite in float32, got nan in row 0, column 0",
        ),
        ({"x": np.full((40, 2), 1e300)}, r"x must be finite in float32, got 1e\+300 in row 0"),
        ({"y": np.full(40, 3)}, r"y must be in 0..2, got 3 in row 0: number the classes from 0"),
        ({"y": np.full(40, -1)}, "y must be at least 0, got -1 in row 0"),
        ({"y": np.zeros(39, int)}, "y must have 40 rows, got 39"),
        ({"inside": np.ones((4, 39), bool)}, r"inside must have the shape \(m, n\) .* n = 40, got"),
        ({"inside": np.ones((4, 40))}, "inside must hold booleans, got float64"),
        ({"inside": np.ones(40, bool)}, r"inside must have the shape \(m, n\) .*, got \(40,\)"),
        ({"inside": np.zeros((4, 40), bool)}, "a record for each model, got none in row 0"),
        ({"inside": np.ones((0, 40), bool), "seeds": ()}, "with m >= 1, got"),
        ({"seeds": [1, 2]}, "seeds must be as many as rows of inside, 4, got 2"),
        ({"seeds": [1, 2, 3, -4]}, r"seeds must be in 0..2\*\*31-1, got -4 at 3"),
        ({"n_classes": 1}, "n_classes must be at least 2, got 1"),
        ({"asked": np.array([0, 40])}, r"asked must hold rows of x, in 0..39, got 40 at 1"),
        ({"make": width_two}, r"outputs of the shape \(n, 3\), got \(2, 2\) for 2 records"),
        ({"make": no_module}, "make must return a torch.nn.Module, got function"),
        ({"make": no_weights}, "make must return a module with weights to train"),
        ({"make": by_seed}, "make must return the same architecture for every seed"),
        ({"device": "abacus"}, "device must be 'cpu' or 'cuda', got 'abacus'"),
        ({"device": "meta"}, "device must be 'cpu' or 'cuda', got 'meta'"),
    ],
)
def test_what_breaks_a_rule_is_refused_in_one_line(change, message):
    of_trainer = {name: change[name] for name in ("make", "device") if name in change}
    of_cohort = {name: value for name, value in change.items() if name not in of_trainer}
    with pytest.raises(InputError, match=message) as caught:
        Networks(**of_trainer).train(replace(made.cohort(), **of_cohort))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("make", 3, "make must be a function of n_features and n_classes, got 3"),
        ("epochs", 0, "epochs must be at least 1, got 0"),
        ("batch_size", 1.5, "batch_size must be at least 1, got 1.5"),
        ("optimiser", "lbfgs", "optimiser must be adam or sgd, got 'lbfgs'"),
        ("learning_rate", 0, "learning_rate must be above 0, got 0"),
        ("learning_rate", float("nan"), "learning_rate must be above 0, got nan"),
        ("momentum", 0.9, r"momentum must be 0 for adam \(or use optimiser='sgd'\), got 0.9"),
        ("weight_decay", -1, "weight_decay must be at least 0, got -1"),
        ("dtype", "float16", "dtype must be float32 or float64, got 'float16'"),
        ("memory", 0, "memory must be None or at least 1, got 0"),
        ("stack", 0, "stack must be None or at least 1, got 0"),
        ("engine", "jit", "engine must be None or one of dense, vmap, loop, got 'jit'"),
    ],
)
def test_settings_are_checked(field, value, message):
    with pytest.raises(InputError, match=message):
        Networks(**{field: value})


def test_factories_are_checked():
    with pytest.raises(InputError, match="activation must be one of tanh, relu, sigmoid"):
        MLP((3,), "step")
    with pytest.raises(InputError, match="hidden must hold numbers of at least 1"):
        MLP((0,))


def test_without_torch_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"pip install 'privacygauge\[torch\]'"):
        Networks().train(made.cohort())


def test_glorots_weights_are_kerass() -> None:
    torch.manual_seed(0)
    layer = MLP((300,), "relu", "glorot")(200, 10)[0]
    bound = (6 / 500) ** 0.5
    assert 0.99 * bound < float(layer.weight.detach().abs().max()) <= bound
    assert not layer.bias.detach().any()
    with pytest.raises(InputError, match="initial must be torch or glorot, got 'zeros'"):
        MLP((3,), "relu", "zeros")
