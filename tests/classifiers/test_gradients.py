"""Gradients of every record: three engines, and a naive reference."""

import numpy as np
import pytest

from privacygauge.classifiers import white_box
from privacygauge.classifiers.white_box import WhiteBoxSignals, white_box_signals
from privacygauge.errors import InputError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Residual(torch.nn.Module):
    """A network that is no plain stack, and that has normalisation and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(6, 5)
        self.normal = torch.nn.BatchNorm1d(5)
        self.second = torch.nn.Linear(5, 5, bias=False)
        self.scale = torch.nn.Parameter(torch.ones(5))
        self.last = torch.nn.Linear(5, 3)

    def forward(self, x):
        hidden = torch.tanh(self.normal(self.first(x)))
        kept = torch.nn.functional.dropout(hidden, 0.5, self.training)
        return self.last(hidden + self.scale * torch.relu(self.second(kept)))


class Refused(Residual):
    """A network that torch.func cannot run: it looks at a number."""

    def forward(self, x):
        return super().forward(x) * (2.0 if float(x.sum()) > 0 else 3.0)


class Asserting(Residual):
    """A network that says so itself where torch.func runs it."""

    def forward(self, x):
        try:
            float(x.sum())
        except RuntimeError as error:
            raise AssertionError("this network needs plain tensors") from error
        return super().forward(x)


def plain(**inplace):
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(6, 7), nn.ReLU(**inplace), nn.Linear(7, 4, bias=False), nn.Tanh(), nn.Linear(4, 3)
    )


def records(n=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 6)), rng.integers(3, size=n)


def naive(model, x, y):
    """Return each record's loss and gradient norms by layer, one backward pass a record."""
    own = model.double().eval()
    losses = []
    norms = []
    for record, label in zip(torch.as_tensor(x), torch.as_tensor(y), strict=True):
        own.zero_grad()
        loss = -torch.log_softmax(own(record[None]), 1)[0, label]
        loss.backward()
        squares = {}
        for name, value in own.named_parameters():
            layer = name.rpartition(".")[0] or name
            squares[layer] = squares.get(layer, 0.0) + float(value.grad.square().sum())
        losses.append(float(loss.detach()))
        norms.append(np.sqrt(list(squares.values())))
    return np.array(losses), np.array(norms), tuple(squares)


@pytest.mark.parametrize("engine", ["dense", "vmap", "loop", None])
def test_every_engine_gives_the_norms_of_a_backward_pass_for_each_record(engine):
    x, y = records()
    found = white_box_signals(plain(), x, y, engine=engine)
    losses, norms, layers = naive(plain(), x, y)
    assert found.engine == (engine or "dense")
    assert found.layers == layers
    np.testing.assert_allclose(found.norms, norms, rtol=1e-12)
    np.testing.assert_allclose(found.loss, losses, rtol=1e-12)
    np.testing.assert_allclose(found.norm, np.sqrt((norms**2).sum(1)), rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "engine"), [(Residual, "vmap"), (Refused, "loop"), (Asserting, "loop")]
)
def test_other_modules_take_the_fastest_engine_that_can_run_them(make, engine):
    torch.manual_seed(1)
    model = make()
    x, y = records()
    found = white_box_signals(model, x, y)
    assert found.engine == engine
    assert model.training
    assert model.first.weight.dtype == torch.float32
    _, norms, layers = naive(model, x, y)
    assert found.layers == layers
    assert set(layers) == {"scale", "first", "normal", "second", "last"}
    np.testing.assert_allclose(found.norms, norms, rtol=1e-9)


def test_the_outer_product_of_slope_and_last_inputs_is_the_last_layers_gradient():
    x, y = records()
    model = plain().double()
    found = white_box_signals(model, x, y)
    outer = found.slope[:, :, None] * found.hidden[:, None, :]
    for i in range(len(y)):
        loss = torch.nn.functional.cross_entropy(
            model(torch.as_tensor(x[i : i + 1])), torch.as_tensor(y[i : i + 1])
        )
        (expected,) = torch.autograd.grad(loss, [model[4].weight])
        np.testing.assert_allclose(outer[i], expected.numpy(), rtol=1e-9, atol=1e-15)


def test_activations_that_work_in_place_change_nothing():
    x, y = records()
    kept, changed = (white_box_signals(plain(inplace=flag), x, y) for flag in (False, True))
    np.testing.assert_array_equal(kept.norms, changed.norms)


def test_blocks_of_records_change_nothing(monkeypatch):
    x, y = records()
    whole = white_box_signals(plain(), x, y, engine="vmap")
    monkeypatch.setattr(white_box, "_NUMBERS", 1)
    monkeypatch.setattr(white_box, "_RECORDS", 4)
    for engine in ("vmap", "dense"):
        found = white_box_signals(plain(), x, y, engine=engine)
        np.testing.assert_allclose(found.norms, whole.norms, rtol=1e-12)
        np.testing.assert_allclose(found.hidden, whole.hidden, rtol=1e-12)


def test_losses_and_slopes_of_confident_answers_are_not_rounded_away():
    logits = np.array([[40.0, 0.0, 0.0], [0.0, 800.0, 0.0]])
    seen = WhiteBoxSignals(
        ("0",), np.ones((2, 1)), logits, np.array([0, 2]), np.ones((2, 0)), "loop"
    )
    np.testing.assert_allclose(seen.loss, [2 * np.exp(-40.0), 800.0], rtol=1e-12)
    np.testing.assert_allclose(seen.slope[0, 0], -2 * np.exp(-40.0), rtol=1e-12)
    np.testing.assert_allclose(seen.slope[1], [0.0, 1.0, -1.0], atol=1e-12)


def test_a_module_whose_answer_is_no_linear_layers_has_no_last_inputs():
    model = torch.nn.Sequential(plain(), torch.nn.Softplus())
    found = white_box_signals(model, *records())
    assert found.hidden.shape == (9, 0)


def test_what_is_wrong_is_said_in_a_line():
    x, y = records()
    with pytest.raises(InputError, match=r"must be a torch\.nn\.Module, got float"):
        white_box_signals(1.0, x, y)
    with pytest.raises(InputError, match="must have weights, and ReLU has none"):
        white_box_signals(torch.nn.ReLU(), x, y)
    with pytest.raises(InputError, match=r"y must be in 0\.\.2 for 3 logits, got 3"):
        white_box_signals(plain(), x, np.full(9, 3))
    with pytest.raises(InputError, match=r"shape \(n, k\), got \(9, 3, 1\)"):
        white_box_signals(torch.nn.Sequential(plain(), torch.nn.Unflatten(1, (3, 1))), x, y)
    with pytest.raises(InputError, match="engine must be one of dense, vmap, loop, got 'fast'"):
        white_box_signals(plain(), x, y, engine="fast")
    with pytest.raises(InputError, match="dense needs a Sequential"):
        white_box_signals(Residual(), x, y, engine="dense")
    diverged = plain()
    with torch.no_grad():
        diverged[0].weight.fill_(float("nan"))
    with pytest.raises(InputError, match="must be finite: the model may have diverged"):
        white_box_signals(diverged, x, y)
