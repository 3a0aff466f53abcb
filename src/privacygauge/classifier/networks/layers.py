"""Plain stacks of linear layers and activations, read off a module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

NEVER = -1e30
"""The bias of a class that does not exist; finite, since weight decay would make NaN of -inf."""

if TYPE_CHECKING:
    import torch

    InPlace = Callable[[torch.Tensor], object]
    Backward = Callable[[torch.Tensor, torch.Tensor], object]


@dataclass(frozen=True)
class Activation:
    """An activation whose derivative follows from its output."""

    forward: InPlace
    """Turns inputs into outputs, in place."""
    backward: Backward
    """Takes the gradient by the outputs, and the outputs; makes it that by the inputs, in place."""


@dataclass(frozen=True)
class Layer:
    """A linear layer and the activation after it."""

    name: str
    """Of the linear layer in the module."""
    n_in: int
    """Inputs."""
    used: int
    """Outputs of the module's layer."""
    n_out: int
    """Outputs that are computed."""
    bias: bool
    """Whether it has one."""
    activation: Activation | None
    """None for the identity."""

    @property
    def size(self) -> int:
        """How many weights it has."""
        return (self.n_in + self.bias) * self.n_out


def layers_of(module: torch.nn.Module) -> tuple[Layer, ...] | None:
    """Return the layers of a Sequential of Linear and known activations, else None.

    Exact types only: a subclass, or a parametrised layer, may compute something else.
    """
    from torch import nn

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
        bias, width = linear.bias is not None, linear.out_features
        found.append(Layer(name, linear.in_features, width, width, bias, activation))
    # A layer that comes twice has its weights counted once.
    n_weights = sum(p.numel() for p in module.parameters())
    known = found and sum(layer.size for layer in found) == n_weights
    return tuple(found) if known else None


def padded(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Return the layers with classes added to the last until their number is a multiple of 16.

    Matrix products then take two thirds of the time. Nothing changes: the bias `NEVER` gives
    the added classes the probability 0 exactly, and with it the gradient 0.
    """
    last = layers[-1]
    if not last.bias or last.activation is not None:
        return layers
    return (*layers[:-1], replace(last, n_out=-(-last.used // 16) * 16))


def _activation(module: torch.nn.Module) -> Activation | None:
    import torch
    from torch import nn

    aten = torch.ops.aten
    if type(module) is nn.Tanh:
        return Activation(
            _tanh_, lambda g, out: aten.tanh_backward.grad_input(g, out, grad_input=g)
        )
    if type(module) is nn.ReLU:
        return Activation(
            torch.relu_, lambda g, out: aten.threshold_backward.grad_input(g, out, 0, grad_input=g)
        )
    if type(module) is nn.Sigmoid:
        return Activation(
            torch.sigmoid_, lambda g, out: aten.sigmoid_backward.grad_input(g, out, grad_input=g)
        )
    if type(module) is nn.LeakyReLU and module.negative_slope >= 0:
        slope = module.negative_slope
        return Activation(
            lambda z: torch.nn.functional.leaky_relu_(z, slope),
            lambda g, out: aten.leaky_relu_backward.grad_input(g, out, slope, True, grad_input=g),
        )
    return None


def _tanh_(z: torch.Tensor) -> None:
    # A third of the time of torch.tanh on the CPU; the error is absolute, 2e-7 in float32.
    z.mul_(2).sigmoid_().mul_(2).sub_(1)
