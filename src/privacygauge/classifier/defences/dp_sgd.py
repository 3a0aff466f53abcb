"""DP-SGD: differentially private training of dense networks, by clipping and noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.defences.accountant import SubsampledGaussian
from privacygauge.classifier.defences.by_epoch import ByEpoch
from privacygauge.classifier.networks import Networks
from privacygauge.classifier.networks.layers import Layer, layers_of
from privacygauge.classifier.networks.optimiser import Optimiser
from privacygauge.classifier.networks.task import Task
from privacygauge.classifier.trainer import Cohort
from privacygauge.core import seeds
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class PrivateTraining(ByEpoch):
    """The settings of DP-SGD, and the privacy that it spends.

    In each step every record takes part with probability `sampling_rate`. The gradient of its own
    loss is scaled down to the norm `clip` where it is longer; the sum gets normal noise of standard
    deviation ``noise_multiplier * clip`` in every weight, and is divided by the `batch_size` of
    `networks`, which is the expected batch and must not depend on who is in the training set. An
    epoch is ``round(1 / sampling_rate)`` steps.

    Neighbouring training sets differ by one record added or removed. Noise comes from torch's
    ordinary generator under the model's seed, in floating point: good enough to measure the effect
    of the defence, not to release a model whose seed somebody may learn.

    Notes
    -----
    Abadi et al. (2016), algorithm 1.
    """

    networks: Networks
    """The settings of the training; its `batch_size` is the expected batch."""
    noise_multiplier: float
    """Noise per clipping norm, at least 0; 0 clips only and gives no privacy."""
    sampling_rate: float
    """Probability that a record takes part in a step, in (0, 1]."""
    clip: float = 1.0
    """Clipping norm of a record's gradient, above 0."""

    def __post_init__(self) -> None:
        if not 0 < self.clip < math.inf:
            raise InputError(f"clip must be finite and above 0, got {self.clip}")
        # Its validation is that of these two fields.
        SubsampledGaussian(self.noise_multiplier, self.sampling_rate, 1)

    @property
    def steps_an_epoch(self) -> int:
        """Steps per epoch, in which a record takes part once on average."""
        return round(1 / self.sampling_rate)

    @property
    def spent(self) -> SubsampledGaussian:
        """Privacy spent by the whole training."""
        steps = self.networks.epochs * self.steps_an_epoch
        return SubsampledGaussian(self.noise_multiplier, self.sampling_rate, steps)

    def epsilon(self, delta: float) -> float:
        """Return the epsilon of the whole training at this delta, in (0, 1), by the accountant."""
        return self.spent.epsilon(delta)

    def accountant(self, delta: float) -> str:
        """Return the accountant of `epsilon` at this delta: ``PLD (dp-accounting 0.6.0)``, say."""
        return self.spent.accountant(delta)

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return f"DP-SGD (noise {self.noise_multiplier:g}) of {self.networks.name}"

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        return {
            "defence": "DP-SGD",
            "networks": dict(self.networks.describe()),
            "noise_multiplier": self.noise_multiplier,
            "sampling_rate": self.sampling_rate,
            "clip": self.clip,
        }

    def sampled(self, task: Task, model: int, epoch: int) -> Iterator[torch.Tensor]:
        """Yield the rows that take part in each step of an epoch; there may be none."""
        import torch

        rng = seeds.stream(task.seeds[model], "sampled", epoch)
        own = task.inside[model]
        for _ in range(self.steps_an_epoch):
            # Coins are tossed for records outside too: leaving one out changes no other coin.
            rows = torch.from_numpy(np.flatnonzero(own & self._coins(rng, len(own))))
            yield rows.to(task.x.device)

    def _coins(self, rng: np.random.Generator, n: int) -> NDArray[np.bool_]:
        return rng.random(n) < self.sampling_rate


def noise_of(task: Task, model: int) -> torch.Generator:
    """Return the generator of a model's noise, on the task's device."""
    import torch

    noise = torch.Generator(task.x.device)
    noise.manual_seed(int(seeds.stream(task.seeds[model], "noise").integers(2**63)))
    return noise


@dataclass(frozen=True)
class DpSgd(PrivateTraining):
    """Trains dense networks on sums of clipped gradients with normal noise: `PrivateTraining`.

    `make` of `networks` must give a Sequential of Linear layers and activations. `OpacusDpSgd`
    trains other modules.

    Notes
    -----
    Abadi et al. (2016), algorithm 1. Norms for dense layers do not need the gradient itself: a
    record's gradient by a matrix is the outer product of the layer's inputs and the gradient by its
    outputs, whose norm is the product of theirs (Goodfellow 2015).
    """

    def task(self, cohort: Cohort) -> Task:
        """Return the checked task of training these models."""
        task = super().task(cohort)
        if layers_of(task.module(0)) is None:
            raise InputError(
                "make must return a Sequential of Linear layers and activations for DP-SGD: "
                "train other modules with OpacusDpSgd (dp-sgd-opacus on the command line)"
            )
        return task

    def modules(self, task: Task, model: int) -> Iterator[torch.nn.Module]:
        """Yield a model after each epoch: one module, trained further every time."""
        import torch

        module = task.module(model)
        noise = noise_of(task, model)
        weights = [p.detach() for p in module.parameters()]
        optimiser = Optimiser(task.rule, weights)
        for epoch in range(task.epochs):
            for batch in self.sampled(task, model, epoch):
                with torch.no_grad():
                    total = clipped_sum(module, task.x[batch], task.y[batch], self.clip)
                    optimiser.step([self._noisy(part, noise, task) for part in total])
            yield module

    def _noisy(self, total: torch.Tensor, noise: torch.Generator, task: Task) -> torch.Tensor:
        import torch

        if self.noise_multiplier:
            drawn = torch.randn(
                total.shape, generator=noise, dtype=total.dtype, device=total.device
            )
            total = total + drawn * (self.noise_multiplier * self.clip)
        return total / task.batch_size


def clipped_sum(
    module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, clip: float
) -> list[torch.Tensor]:
    """Return the sum over records of their clipped gradients of the cross-entropy.

    One tensor per parameter of the module, a Sequential of Linear layers and activations. There may
    be no records (r, d); `clip` is the largest norm of a record's gradient, above 0.
    """
    layers = layers_of(module)
    assert layers is not None  # checked before training
    state = dict(module.named_parameters())
    matrices = {layer.name: state[f"{layer.name}.weight"] for layer in layers}
    values = _forward(module, layers, x)
    slopes = _backward(layers, matrices, values, y)
    squared = x.new_zeros(len(x))
    for layer, value, slope in zip(layers, values, slopes, strict=False):
        squared += (value.square().sum(1) + float(layer.bias)) * slope.square().sum(1)
    scale = (clip / squared.sqrt().clamp_min(clip))[:, None]
    found: list[torch.Tensor] = []
    for layer, value, slope in zip(layers, values, slopes, strict=False):
        scaled = slope * scale
        found.append(scaled.T @ value)
        found += [scaled.sum(0)] if layer.bias else []
    return found


def _forward(
    module: torch.nn.Module, layers: tuple[Layer, ...], x: torch.Tensor
) -> list[torch.Tensor]:
    """Return the inputs of every layer, and the logits last."""
    values = [x]
    for layer in layers:
        value = module.get_submodule(layer.name)(values[-1])
        if layer.activation is not None:
            layer.activation.forward(value)
        values.append(value)
    return values


def _backward(
    layers: tuple[Layer, ...],
    matrices: Mapping[str, torch.Tensor],
    values: list[torch.Tensor],
    y: torch.Tensor,
) -> list[torch.Tensor]:
    """Return the gradient of each record's own loss by every layer's outputs, before activation."""
    import torch

    slope = torch.softmax(values[-1], 1)
    slope[torch.arange(len(y), device=y.device), y] -= 1
    found: list[torch.Tensor] = []
    for layer, outputs in zip(reversed(layers), reversed(values), strict=False):
        if layer.activation is not None:
            layer.activation.backward(slope, outputs)
        found.append(slope)
        slope = slope @ matrices[layer.name]
    return found[::-1]
