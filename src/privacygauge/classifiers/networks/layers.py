"""Plain stacks of linear layers and activations, extracted from a module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privacygauge.classifiers.networks.extra import the_torch
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


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

    @property
    def size(self) -> int:
        """Number of weights, biases included."""
        return (self.n_in + self.bias) * self.n_out


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
    known = found and sum(layer.size for layer in found) == n_weights
    return tuple(found) if known else None


def pad_classes(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Return the layers with the number of classes padded to a multiple of 16.

    Matrix products then take two thirds of the time. Nothing changes: the bias `NEVER` gives the
    added classes probability exactly 0, and so gradient 0.
    """
    last = layers[-1]
    if not last.bias or last.activation is not None:
        return layers
    # Up to the next multiple of 16.
    return (*layers[:-1], replace(last, n_out=-(-last.used // 16) * 16))


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
