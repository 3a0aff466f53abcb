"""Engines: many models in one pass, and a choice of the fastest that agrees with a loop.

Dense layers are read from a module, so that batched matrix products can train them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.networks.task import (
    BLOCK,
    TOO_LITTLE,
    VMAP_ERRORS,
    Engine,
    Optimiser,
    Rule,
    Task,
    TrainedStack,
    equal_batch_runs,
    fill_order,
    out_of_memory,
    own_order,
    seeded_torch,
    steps_of_epoch,
    the_torch,
)
from privacygauge.core import seeds
from privacygauge.core.checks import Ints
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch

    Slopes = Sequence[torch.Tensor | None]
    Tensors = dict[str, torch.Tensor]


_ACTIVATIONS = {"tanh": "Tanh", "relu": "ReLU", "sigmoid": "Sigmoid"}


@dataclass(frozen=True)
class MLP:
    """Makes fully connected networks with the same activation after every hidden layer.

    Examples
    --------
    >>> from privacygauge.classifiers.networks import MLP
    >>> MLP((64,), "tanh")
    MLP(hidden=(64,), activation='tanh', initial='torch')
    """

    hidden: tuple[int, ...] = (64,)
    """Units of each hidden layer, each at least 1; empty for multinomial regression."""
    activation: str = "tanh"
    """tanh, relu or sigmoid."""
    initial: str = "torch"
    """Initial weights: torch's own, or glorot (uniform, biases 0) as in Keras."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(int(units) for units in self.hidden))
        if any(units < 1 for units in self.hidden):
            raise InputError(f"hidden must hold numbers of at least 1, got {self.hidden}")
        if self.activation not in _ACTIVATIONS:
            raise InputError(
                f"activation must be one of {', '.join(_ACTIVATIONS)}, got {self.activation!r}"
            )
        if self.initial not in ("torch", "glorot"):
            raise InputError(f"initial must be torch or glorot, got {self.initial!r}")

    def __call__(self, n_features: int, n_classes: int) -> torch.nn.Module:
        """Return an untrained network."""
        nn = the_torch().nn
        layers = []
        width = n_features
        for units in self.hidden:
            layers += [nn.Linear(width, units), getattr(nn, _ACTIVATIONS[self.activation])()]
            width = units
        module: torch.nn.Module = nn.Sequential(*layers, nn.Linear(width, n_classes))
        if self.initial == "glorot":
            for layer in module.children():
                if isinstance(layer, nn.Linear):
                    nn.init.xavier_uniform_(layer.weight)
                    nn.init.zeros_(layer.bias)
        return module


LONG_2017 = MLP((64,), "tanh")
"""One hidden layer of 64 tanh units: Long, Bindschaedler & Gunter, arXiv:1712.09136 (2017)."""

SONG_MITTAL_2021 = MLP((1024, 512, 256, 128), "tanh", "glorot")
"""Purchase, Texas and location networks: Song & Mittal, USENIX Security (2021), section 5.1."""

SONG_MITTAL_2021_RELU = MLP((1024, 512, 256, 128), "relu", "glorot")
"""The same layers with relu. Their Keras code starts from Glorot's weights: on Location30 torch's
smaller ones cost 10 points of test accuracy."""

ATTACK_RELU_32 = MLP((32,), "relu")
"""A small network for attacks that learn from predictions."""


@dataclass(frozen=True)
class Dropout:
    """Makes the networks of an `MLP` with dropout after every hidden activation.

    Examples
    --------
    >>> from privacygauge.classifiers.networks import MLP
    >>> Dropout(MLP((64,)), 0.5).rate
    0.5
    """

    of: MLP
    """The network without dropout; it has at least one hidden layer."""
    rate: float = 0.5
    """Share of units that each step drops, in (0, 1)."""

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < 1.0:
            raise InputError(f"rate must be in (0, 1), got {self.rate}: use the MLP for none")
        if not self.of.hidden:
            raise InputError("dropout needs a hidden layer, got an MLP without one")

    def __call__(self, n_features: int, n_classes: int) -> torch.nn.Module:
        """Return an untrained network, with the same initial weights as without dropout."""
        nn = the_torch().nn
        layers: list[torch.nn.Module] = []
        for layer in self.of(n_features, n_classes).children():
            layers.append(layer)
            if not isinstance(layer, nn.Linear):
                layers.append(nn.Dropout(self.rate))
        module: torch.nn.Module = nn.Sequential(*layers)
        return module


NEVER = -1e30
"""Bias of a padding class; finite, since weight decay would turn -inf into NaN."""

if TYPE_CHECKING:
    import torch

    InPlace = Callable[[torch.Tensor], object]
    Backward = Callable[[torch.Tensor, torch.Tensor], object]


@dataclass(frozen=True)
class Activation:
    """An activation whose derivative is a function of its output."""

    forward: InPlace
    """Turns inputs into outputs, in place."""
    backward: Backward
    """Takes the gradient by the outputs, and the outputs; turns the gradient into that by the
    inputs, in place."""


@dataclass(frozen=True)
class Layer:
    """A linear layer and the activation after it."""

    name: str
    """Name of the linear layer in the module."""
    n_in: int
    """Number of inputs."""
    used: int
    """Number of outputs of the module's layer."""
    n_out: int
    """Number of outputs that are computed, padding included."""
    bias: bool
    """Whether the layer has a bias."""
    activation: Activation | None
    """Activation after the layer; None for the identity."""


def layers_of(module: torch.nn.Module) -> tuple[Layer, ...] | None:
    """Return the layers of a Sequential of Linear and known activations, else None.

    Exact types only: a subclass, or a parametrised layer, may compute something else.
    """
    from torch import nn

    # Subclasses may override forward, and frozen weights are not trained.
    if type(module) is not nn.Sequential or not all(p.requires_grad for p in module.parameters()):
        return None
    children = [(name, child) for name, child in module._modules.items() if child is not None]
    found: list[Layer] = []
    while children:
        name, linear = children.pop(0)
        if type(linear) is nn.Identity:
            continue
        if type(linear) is not nn.Linear:
            return None
        activation = _activation(children[0][1]) if children else None
        if activation is not None:
            children.pop(0)
        bias = linear.bias is not None
        width = linear.out_features
        found.append(
            Layer(
                name,
                n_in=linear.in_features,
                used=width,
                n_out=width,
                bias=bias,
                activation=activation,
            )
        )
    # A layer that occurs twice is one parameter of the module, but two layers here.
    n_weights = sum(p.numel() for p in module.parameters())
    n_known = sum((layer.n_in + layer.bias) * layer.n_out for layer in found)
    known = found and n_known == n_weights
    return tuple(found) if known else None


def _activation(module: torch.nn.Module) -> Activation | None:
    import torch
    from torch import nn

    aten = torch.ops.aten
    if type(module) is nn.Tanh:
        return Activation(
            # A third of the time of torch.tanh on the CPU; the error is absolute, 2e-7 in float32.
            lambda z: z.mul_(2).sigmoid_().mul_(2).sub_(1),
            lambda g, out: aten.tanh_backward.grad_input(g, out, grad_input=g),
        )
    if type(module) is nn.ReLU:
        return Activation(
            torch.relu_, lambda g, out: aten.threshold_backward.grad_input(g, out, 0, grad_input=g)
        )
    if type(module) is nn.Sigmoid:
        return Activation(
            torch.sigmoid_, lambda g, out: aten.sigmoid_backward.grad_input(g, out, grad_input=g)
        )
    # With a negative slope, outputs do not show the sign of their inputs.
    if type(module) is nn.LeakyReLU and module.negative_slope >= 0:
        slope = module.negative_slope
        return Activation(
            lambda z: torch.nn.functional.leaky_relu_(z, slope),
            lambda g, out: aten.leaky_relu_backward.grad_input(g, out, slope, True, grad_input=g),
        )
    return None


class _Matrices:
    """Fully connected networks by batched matrix products, with a hand-written backward pass."""

    def __init__(self, modules: list[torch.nn.Module]) -> None:
        import torch

        first = layers_of(modules[0])
        shapes = [
            [(x.name, x.n_in, x.used, x.bias) for x in layers_of(module) or ()]
            for module in modules
        ]
        if first is None or any(shape != shapes[0] for shape in shapes):
            raise InputError("make must return the same architecture for every seed")
        last = first[-1]
        if not last.bias or last.activation is not None:
            self.layers = first
        else:
            # Up to the next multiple of 16.
            self.layers = (*first[:-1], replace(last, n_out=-(-last.used // 16) * 16))
        states = [module.state_dict() for module in modules]
        self.matrices: list[torch.Tensor] = []
        """(m, n_in, n_out) of each layer."""
        self.biases: list[torch.Tensor | None] = []
        """(m, 1, n_out) of each layer."""
        for layer in self.layers:
            # The padding classes of the last layer have weights of 0 and the bias `NEVER`.
            more = (0, layer.n_out - layer.used)
            matrix = torch.stack([state[f"{layer.name}.weight"].T for state in states])
            self.matrices.append(torch.nn.functional.pad(matrix, more).contiguous())
            self.biases.append(None)
            if layer.bias:
                bias = torch.stack([state[f"{layer.name}.bias"][None] for state in states])
                self.biases[-1] = torch.nn.functional.pad(bias, more, value=NEVER)
        # Reused at every step: allocating new memory each time is slower.
        self.by_matrix = [torch.empty_like(matrix) for matrix in self.matrices]

    @property
    def learnt(self) -> list[torch.Tensor]:
        """The trainable weights, each with one row per model."""
        return [*self.matrices, *(bias for bias in self.biases if bias is not None)]

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        """Return the outputs (m, r, k) for records (m, r, d); k may include padding classes."""
        return self._values(x)[-1]

    def _values(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Return the inputs of the first layer and the outputs of each."""
        import torch

        values = [x]
        # Models are sorted by size: the first a of them still have a batch.
        a = len(x)
        for layer, matrix, bias in zip(self.layers, self.matrices, self.biases, strict=True):
            x = torch.bmm(x, matrix[:a]) if bias is None else torch.baddbmm(bias[:a], x, matrix[:a])
            if layer.activation is not None:
                layer.activation.forward(x)
            values.append(x)
        return values

    def slopes(self, x: torch.Tensor, y: torch.Tensor, share: torch.Tensor) -> Slopes:
        """Return the gradients by the weights of the first a models.

        Records are (a, r, d); their classes and their shares in the loss are (a, r, 1).
        """
        import torch

        values = self._values(x)
        a = len(x)
        by_bias: list[torch.Tensor] = []
        slope = _by_logits(values[-1], y, share)
        for i, layer in reversed([*enumerate(self.layers)]):
            if layer.activation is not None:
                layer.activation.backward(slope, values[i + 1])
            # Into the reused memory: inputs transposed times the gradient by the outputs.
            torch.bmm(values[i].transpose(1, 2), slope, out=self.by_matrix[i][:a])
            if layer.bias:
                by_bias.insert(0, slope.sum(1, keepdim=True))
            # Nobody needs the gradient by the records themselves.
            if i:
                slope = torch.bmm(slope, self.matrices[i][:a].transpose(1, 2))
        return [*(slope[:a] for slope in self.by_matrix), *by_bias]

    def state(self, place: int) -> Mapping[str, NDArray[Any]]:
        """Return a copy of a model's weights, as its module's state."""
        found: dict[str, NDArray[Any]] = {}
        for layer, matrix, bias in zip(self.layers, self.matrices, self.biases, strict=True):
            weight = matrix[place, :, : layer.used].T
            found[f"{layer.name}.weight"] = weight.detach().cpu().numpy().copy()
            if bias is not None:
                own = bias[place, 0, : layer.used]
                found[f"{layer.name}.bias"] = own.detach().cpu().numpy().copy()
        return found


class _Modules:
    """Modules of any kind by torch.func: one module, mapped over the weights of all models."""

    def __init__(self, modules: list[torch.nn.Module]) -> None:
        import torch

        def stack(each: list[Tensors]) -> Tensors:
            return {name: torch.stack([own[name].detach() for own in each]) for name in each[0]}

        weights = [dict(module.named_parameters()) for module in modules]
        learnt = stack([{k: p for k, p in own.items() if p.requires_grad} for own in weights])
        kept = [{k: p for k, p in own.items() if not p.requires_grad} for own in weights]
        buffers = [dict(module.named_buffers()) for module in modules]
        # Frozen parameters and buffers differ from model to model, but are not trained.
        self.fixed = stack([{**a, **b} for a, b in zip(kept, buffers, strict=True)])
        self.names = list(learnt)
        self.learnt = list(learnt.values())
        # Without weights of its own: each call gets those of one model.
        self.bare = copy.deepcopy(modules[0]).to("meta")
        # Each name in the state, and the first name of its tensor, which layers may share.
        parts = (modules[0].named_parameters(), modules[0].named_buffers())
        first = {id(value): name for part in parts for name, value in part}
        state = modules[0].state_dict(keep_vars=True)
        self.first = {name: first[id(value)] for name, value in state.items()}

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        return self._mapped(self.bare.eval(), self.learnt, x)

    def slopes(self, x: torch.Tensor, y: torch.Tensor, share: torch.Tensor) -> Slopes:
        import torch

        # Only the models that still have a batch.
        now = [weight[: len(x)].detach().requires_grad_() for weight in self.learnt]
        with torch.enable_grad():
            logits = self._mapped(self.bare.train(), now, x)
        by_logits = _by_logits(logits.detach(), y, share)
        return torch.autograd.grad(logits, now, by_logits, allow_unused=True)

    def _mapped(
        self, bare: torch.nn.Module, learnt: list[torch.Tensor], x: torch.Tensor
    ) -> torch.Tensor:
        from torch.func import functional_call, vmap

        rest = {name: value[: len(x)] for name, value in self.fixed.items()}
        each = vmap(lambda weights, x: functional_call(bare, weights, (x,)))
        logits: torch.Tensor = each({**dict(zip(self.names, learnt, strict=True)), **rest}, x)
        return logits

    def state(self, place: int) -> Mapping[str, NDArray[Any]]:
        both = {**dict(zip(self.names, self.learnt, strict=True)), **self.fixed}
        return {
            name: both[own][place].detach().cpu().numpy().copy() for name, own in self.first.items()
        }


def _by_logits(logits: torch.Tensor, y: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the mean cross-entropy by the logits: probability minus target."""
    import torch

    slope = torch.softmax(logits, 2)
    own = logits.gather(2, y)
    # Minus one, but NaN where the loss is infinite, which makes its model's weights NaN too.
    return slope.scatter_add_(2, y, own - own - 1).mul_(share)


def _fit_stack(task: Task, models: Ints, kind: type[_Matrices | _Modules]) -> TrainedStack:
    """Return models trained in one pass, their weights held in a stack of this kind."""
    import torch

    stack = kind([task.module(model) for model in models.tolist()])
    with torch.no_grad():
        sizes = task.sizes(models)
        runs = equal_batch_runs(sizes, task.batch_size)
        # Models with equally many batches share an optimiser state: its count of steps is theirs.
        optimiser = Optimiser(task.rule, [weight[run] for run in runs for weight in stack.learnt])
        in_epoch = steps_of_epoch(sizes, task.batch_size)[: task.most_steps]
        order = torch.empty(len(in_epoch), len(models), task.batch_size, dtype=torch.int64)
        inside = task.inside[models]
        own_seeds = [task.seeds[model] for model in models.tolist()]
        shares = [torch.from_numpy(step.shares[:, :, None]).to(task.x) for step in in_epoch]
        # Reused buffer: allocating new memory at every step takes longer than filling it.
        room = task.x.new_empty(in_epoch[0].active * in_epoch[0].rows, task.x.shape[1])
        for epoch in range(task.epochs):
            fill_order(order.numpy(), inside, own_seeds, epoch)
            rows = order.to(task.x.device)
            for step, share in zip(in_epoch, shares, strict=True):
                batch = rows[step.number, : step.active, : step.rows].flatten()
                x = torch.index_select(task.x, 0, batch, out=room[: len(batch)])
                y = task.y[batch].view(share.shape)
                seen = task.seen_by(models[: step.active], x.view(*y.shape[:2], -1))
                slopes = stack.slopes(seen, y, share)
                parts = runs[: step.groups]
                optimiser.step([g if g is None else g[run] for run in parts for g in slopes])
        # An infinite loss needs no record of its own: it has made weights NaN.
        finite = torch.stack([weight.flatten(1).isfinite().all(1) for weight in stack.learnt])
        m = len(stack.learnt[0])
        logits = task.x.new_empty(m, len(task.asked), task.n_classes)
        blocks = torch.split(task.asked, BLOCK), torch.split(logits, BLOCK, dim=1)
        for asked_rows, out in zip(*blocks, strict=True):
            views = task.seen_by(models, task.x[asked_rows].expand(m, -1, -1))
            out.copy_(stack.logits(views)[:, :, : task.n_classes])
        return TrainedStack(logits, finite.all(0), stack.state)


def train_loop(task: Task, models: Ints) -> TrainedStack:
    """Return models trained one after the other."""
    import torch

    logits = task.x.new_empty(len(models), *task.answers)
    finite = torch.zeros(len(models), dtype=torch.bool, device=task.x.device)
    states: list[Mapping[str, NDArray[Any]]] = []
    for place, model in enumerate(models.tolist()):
        # The seed is set again for randomness in training, such as dropout.
        with seeded_torch(task.seeds[model], task.x.device), torch.enable_grad():
            module = task.module(model).train()
            weights = [p for p in module.parameters() if p.requires_grad]
            optimiser = Optimiser(task.rule, weights)
            total = torch.zeros((), dtype=task.x.dtype, device=task.x.device)
            for epoch in range(task.epochs):
                order = torch.from_numpy(own_order(task.inside[model], task.seeds[model], epoch))
                # Each model alters its records by a stream of its own.
                rng = None
                if task.augment is not None:
                    rng = seeds.stream(task.seeds[model], "augment", epoch)
                for rows in torch.split(order.to(task.x.device), task.batch_size)[
                    : task.most_steps
                ]:
                    outputs = module(task.batch(model, rows, rng))
                    loss = torch.nn.functional.cross_entropy(outputs, task.y[rows])
                    gradients = torch.autograd.grad(loss, weights, allow_unused=True)
                    with torch.no_grad():
                        optimiser.step(gradients)
                        # A loss that was once infinite or NaN stays so in the sum: the training
                        # failed.
                        total += loss
            with torch.no_grad():
                kept = torch.stack([p.isfinite().all() for p in module.parameters()]).all()
                finite[place] = kept & total.isfinite()
        with torch.no_grad():
            logits[place] = task.predicted(module, model)
        states.append(
            {
                name: value.detach().cpu().numpy().copy()
                for name, value in module.state_dict().items()
            }
        )
    return TrainedStack(logits, finite, states.__getitem__)


ENGINES: dict[str, Engine] = {
    "dense": partial(_fit_stack, kind=_Matrices),
    "vmap": partial(_fit_stack, kind=_Modules),
    "loop": train_loop,
}
"""Batched matrix products for Sequentials of Linear layers and activations, torch.func for modules
of any kind that it can map over, and one model after the other."""


@dataclass(frozen=True)
class Choice:
    """The engine that trains a module, with the reason."""

    name: str
    """dense (matrix products by hand), vmap (torch.func) or loop (one model after the other)."""
    reason: str
    """Reason of the choice, one line for a report."""

    @property
    def engine(self) -> Engine:
        """The engine that trains."""
        return ENGINES[self.name]


def choose_engine(task: Task, named: str | None = None) -> Choice:
    """Return the engine `named`, or the fastest that agrees with the loop in a trial step."""
    if named is not None:
        return Choice(named, "asked for")
    if task.augment is not None:
        return Choice("loop", "records are altered at random in training")
    # Tried on records of the user: layers may branch on their values.
    n = len(task.x)
    first = np.flatnonzero(task.inside[0])[: task.batch_size]
    inside = np.zeros((2, n), np.bool_)
    inside[0, first] = True
    # Fewer records than the other model, so that padded batches are tried too.
    inside[1, first[: max(1, len(first) // 2)]] = True
    trial = replace(
        task,
        # Plain descent: one step shows a wrong gradient, which Adam would rescale.
        rule=Rule("sgd", 0.1),
        epochs=1,
        inside=inside,
        seeds=(task.seeds[0], task.seeds[0] ^ 1),
        asked=task.asked.new_tensor(first),
    )
    try:
        expected = train_loop(trial, np.arange(2)).logits
    except (RuntimeError, MemoryError) as error:
        if out_of_memory(error):
            raise InputError(TOO_LITTLE) from error
        raise  # raised by the module itself: its author should see it as it is
    if layers_of(task.module(0)) is not None and _agrees("dense", trial, expected) is None:
        return Choice("dense", "a Sequential of Linear layers and activations")
    refused = _agrees("vmap", trial, expected)
    if refused is None:
        return Choice("vmap", "a trial step equals that of unstacked modules")
    return Choice("loop", f"stacked modules fail in a trial step: {refused}")


def _agrees(name: str, trial: Task, expected: torch.Tensor) -> str | None:
    """Return None if the engine's trial equals the loop's, else a description of the difference."""
    import torch

    try:
        found = ENGINES[name](trial, np.arange(2)).logits
    except InputError:
        raise
    except VMAP_ERRORS as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}"
    # Relative to the largest finite logit, with room for another order of summation.
    tolerance = 1e-9 if expected.dtype == torch.float64 else 1e-4
    scale = max(1.0, float(expected.nan_to_num(0.0, 0.0, 0.0).abs().max()))
    if torch.allclose(found, expected, rtol=0.0, atol=tolerance * scale, equal_nan=True):
        return None
    return f"predictions differ by {float((found - expected).abs().max()):.1e}"
