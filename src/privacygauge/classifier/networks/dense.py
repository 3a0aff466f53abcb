"""Fully connected networks, many at once: batched matrix products and a backward pass by hand.

The weights of all models lie in one vector, layer by layer, and model by model in each: matrix
products write into it, and the optimiser passes over memory once. Everything that a step writes
to is allocated before the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from privacygauge.classifier.networks.layers import NEVER, Layer, layers_of, padded
from privacygauge.classifier.networks.optimiser import Optimiser
from privacygauge.classifier.networks.order import Step, fill_order, groups, steps
from privacygauge.classifier.networks.task import BLOCK, Fitted, Task
from privacygauge.core.checks import Ints
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


def train_dense(task: Task, models: Ints) -> Fitted:
    """Return the models, trained at once."""
    import torch

    with torch.no_grad():
        weights = _initial(task, models)
        _train(task, models, weights)
        # A loss that is not finite has made the weights of its model NaN.
        return Fitted(_predictions(task, weights), weights.finite(), weights.state)


class _Weights:
    """The weights of all models and layers (or their gradients), in one vector."""

    def __init__(self, layers: tuple[Layer, ...], n_models: int, like: torch.Tensor) -> None:
        self.layers = layers
        self.vector = like.new_zeros(n_models * sum(layer.size for layer in layers))
        self.matrices: list[torch.Tensor] = []
        """(m, h_in, h_out) of each layer."""
        self.biases: list[torch.Tensor | None] = []
        """(m, 1, h_out) of each layer."""
        start = 0
        for layer in layers:
            shape = (n_models, layer.n_in, layer.n_out)
            self.matrices.append(_part(self.vector[start:], *shape))
            start += prod(shape)
            shape = (n_models, 1, layer.n_out)
            self.biases.append(_part(self.vector[start:], *shape) if layer.bias else None)
            start += prod(shape) if layer.bias else 0

    @property
    def blocks(self) -> list[torch.Tensor]:
        """Matrices and biases, each with a row a model."""
        return [*self.matrices, *(bias for bias in self.biases if bias is not None)]

    def by_group(self, runs: tuple[slice, ...]) -> list[torch.Tensor]:
        """Return what the optimiser works on, as many vectors for each run of models."""
        if len(runs) == 1:
            return [self.vector]
        return [block[run].view(-1) for run in runs for block in self.blocks]

    def load(self, place: int, module: torch.nn.Module) -> None:
        """Take over a module's weights as those of a model."""
        state = module.state_dict()
        for layer, matrix, bias in zip(self.layers, self.matrices, self.biases, strict=True):
            matrix[place, :, : layer.used] = state[f"{layer.name}.weight"].T
            if bias is not None:
                bias[place, 0, layer.used :] = NEVER
                bias[place, 0, : layer.used] = state[f"{layer.name}.bias"]

    def state(self, place: int) -> Mapping[str, NDArray[Any]]:
        """Return a model's weights as its module's state."""
        found: dict[str, NDArray[Any]] = {}
        for layer, matrix, bias in zip(self.layers, self.matrices, self.biases, strict=True):
            found[f"{layer.name}.weight"] = matrix[place, :, : layer.used].T.cpu().numpy().copy()
            if bias is not None:
                found[f"{layer.name}.bias"] = bias[place, 0, : layer.used].cpu().numpy().copy()
        return found

    def finite(self) -> torch.Tensor:
        """Return which models' weights are finite, (m,)."""
        import torch

        return torch.stack([block.isfinite().flatten(1).all(1) for block in self.blocks]).all(0)


def _initial(task: Task, models: Ints) -> _Weights:
    weights: _Weights | None = None
    for place, model in enumerate(models.tolist()):
        module = task.module(model)
        layers = layers_of(module)
        if weights is None and layers is not None:
            weights = _Weights(padded(layers), len(models), task.x)
        if weights is None or layers is None or not _same(padded(layers), weights.layers):
            raise InputError("make must return the same architecture for every seed")
        weights.load(place, module)
    assert weights is not None
    return weights


def _same(a: tuple[Layer, ...], b: tuple[Layer, ...]) -> bool:
    plain = [[(x.name, x.n_in, x.used, x.bias) for x in layers] for layers in (a, b)]
    return plain[0] == plain[1]


def _train(task: Task, models: Ints, weights: _Weights) -> None:
    """Run all epochs, in place on the weights."""
    import torch

    sizes = task.sizes(models)
    runs = groups(sizes, task.batch_size)
    slopes = _Weights(weights.layers, len(models), task.x)
    optimiser = Optimiser(task.rule, weights.by_group(runs))
    by_group = slopes.by_group(runs)
    in_epoch = steps(sizes, task.batch_size)[: task.most_steps]
    views = _views(task, weights, slopes, in_epoch)
    order = torch.empty(len(in_epoch), len(models), task.batch_size, dtype=torch.int64)
    inside, seeds = task.inside[models], [task.seeds[model] for model in models.tolist()]
    for epoch in range(task.epochs):
        fill_order(order.numpy(), inside, seeds, epoch)
        rows = order.to(task.x.device)
        for step, view in zip(in_epoch, views, strict=True):
            _forward(task, view, rows[step.number, : step.active, : step.rows])
            _loss(view)
            _backward(view)
            optimiser.step(by_group[: step.groups * len(by_group) // len(runs)])


@dataclass(frozen=True)
class _Layer:
    """A layer in one step: parts of the arrays for the models that take part."""

    kind: Layer
    """Its sizes and activation."""
    matrix: torch.Tensor
    """(a, h_in, h_out)"""
    bias: torch.Tensor | None
    """(a, 1, h_out)"""
    by_matrix: torch.Tensor
    """The gradient by the matrix."""
    by_bias: torch.Tensor | None
    """The gradient by the bias."""
    inputs: torch.Tensor
    """(a, r, h_in)"""
    outputs: torch.Tensor
    """(a, r, h_out)"""
    by_inputs: torch.Tensor | None
    """The gradient by the inputs; None for the first layer, where nobody asks for it."""
    by_outputs: torch.Tensor
    """The gradient by the outputs; of the last layer, probabilities first."""


@dataclass(frozen=True)
class _View:
    """The parts of all arrays that one step of the epoch works on."""

    layers: tuple[_Layer, ...]
    """From the first to the last."""
    targets: torch.Tensor
    """(a, r, 1) Classes."""
    minus_one: torch.Tensor
    """(a, r, 1)"""
    share: torch.Tensor | float
    """A record's share in its model's loss: (a, r, 1), zero where a batch is padded."""


def _views(
    task: Task, weights: _Weights, slopes: _Weights, in_epoch: tuple[Step, ...]
) -> list[_View]:
    """Allocate what the largest step writes to and return the parts for each step."""
    layers, size = weights.layers, in_epoch[0].active * in_epoch[0].rows
    values = [task.x.new_empty(size * h) for h in (layers[0].n_in, *(x.n_out for x in layers))]
    gradients = [task.x.new_empty(size * layer.n_out) for layer in layers]
    targets, minus_one = task.y.new_empty(size), task.x.new_full((size,), -1.0)
    known: dict[tuple[int, ...], _View] = {}

    def view(step: Step) -> _View:
        a, r = step.active, step.rows
        return _View(
            layers=tuple(
                _Layer(
                    kind=layer,
                    matrix=weights.matrices[i][:a],
                    bias=_first(weights.biases[i], a),
                    by_matrix=slopes.matrices[i][:a],
                    by_bias=_first(slopes.biases[i], a),
                    inputs=_part(values[i], a, r, layer.n_in),
                    outputs=_part(values[i + 1], a, r, layer.n_out),
                    by_inputs=_part(gradients[i - 1], a, r, layer.n_in) if i else None,
                    by_outputs=_part(gradients[i], a, r, layer.n_out),
                )
                for i, layer in enumerate(layers)
            ),
            targets=_part(targets, a, r, 1),
            minus_one=_part(minus_one, a, r, 1),
            share=_shares(step, task.x) if step.padded else 1.0 / r,
        )

    for step in in_epoch:
        if step.key not in known:
            known[step.key] = view(step)
    return [known[step.key] for step in in_epoch]


def _part(flat: torch.Tensor, *shape: int) -> torch.Tensor:
    return flat[: prod(shape)].view(shape)


def _first(bias: torch.Tensor | None, n: int) -> torch.Tensor | None:
    return None if bias is None else bias[:n]


def _shares(step: Step, like: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.from_numpy(step.shares[:, :, None]).to(like.device, like.dtype)


def _forward(task: Task, view: _View, rows: torch.Tensor) -> None:
    """Look up the batch of each model and compute the outputs of all layers."""
    import torch

    index, inputs = rows.reshape(-1), view.layers[0].inputs
    torch.index_select(task.x, 0, index, out=inputs.view(len(index), -1))
    torch.index_select(task.y, 0, index, out=view.targets.view(-1))
    for layer in view.layers:
        _linear(layer.inputs, layer.matrix, layer.bias, layer.outputs)
        if layer.kind.activation is not None:
            layer.kind.activation.forward(layer.outputs)


def _linear(
    x: torch.Tensor, matrix: torch.Tensor, bias: torch.Tensor | None, out: torch.Tensor
) -> None:
    import torch

    if bias is None:
        torch.bmm(x, matrix, out=out)
    else:
        torch.baddbmm(bias, x, matrix, out=out)


def _loss(view: _View) -> None:
    """Leave the gradient of the mean cross-entropy by the logits: probability less target."""
    import torch

    last = view.layers[-1]
    slope = torch.softmax(last.outputs, 2, out=last.by_outputs)
    slope.scatter_add_(2, view.targets, view.minus_one).mul_(view.share)


def _backward(view: _View) -> None:
    """Compute the gradients of all weights, from the last layer to the first."""
    import torch

    for layer in reversed(view.layers):
        slope = layer.by_outputs
        if layer.kind.activation is not None:
            layer.kind.activation.backward(slope, layer.outputs)
        torch.bmm(layer.inputs.transpose(1, 2), slope, out=layer.by_matrix)
        if layer.by_bias is not None:
            torch.sum(slope, 1, keepdim=True, out=layer.by_bias)
        if layer.by_inputs is not None:
            torch.bmm(slope, layer.matrix.transpose(1, 2), out=layer.by_inputs)


def _predictions(task: Task, weights: _Weights) -> torch.Tensor:
    import torch

    m, block = len(weights.matrices[0]), min(BLOCK, len(task.asked))
    logits = task.x.new_empty(m, len(task.asked), task.n_classes)
    room = [task.x.new_empty(m * block * layer.n_out) for layer in weights.layers]
    blocks = torch.split(task.asked, BLOCK), torch.split(logits, BLOCK, dim=1)
    for rows, out in zip(*blocks, strict=True):
        values = task.x[rows].expand(m, -1, -1)
        for layer, matrix, bias, flat in zip(
            weights.layers, weights.matrices, weights.biases, room, strict=True
        ):
            above = _part(flat, m, len(rows), layer.n_out)
            _linear(values, matrix, bias, above)
            if layer.activation is not None:
                layer.activation.forward(above)
            values = above
        out.copy_(values[:, :, : task.n_classes])
    return logits
