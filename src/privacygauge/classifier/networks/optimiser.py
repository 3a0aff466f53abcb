"""torch's fused Adam and SGD on tensors, any of which may sit out a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.classifier.networks.extra import the_torch

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Rule:
    """Update rule of the weights."""

    name: str
    """``adam`` or ``sgd``."""
    learning_rate: float
    """Learning rate, above 0."""
    momentum: float = 0.0
    """Momentum of SGD, in [0, 1)."""
    weight_decay: float = 0.0
    """Factor of the weights that is added to the gradients, at least 0."""


class Optimiser:
    """Optimiser state for every tensor.

    The functions behind torch.optim are called, not its classes: these cost more than a small
    network's step, and load the compiler.
    """

    def __init__(self, rule: Rule, weights: Sequence[torch.Tensor]) -> None:
        torch = the_torch()
        self._rule = rule
        self._weights = list(weights)
        if rule.name == "adam":
            self._first = [torch.zeros_like(w) for w in weights]
            self._second = [torch.zeros_like(w) for w in weights]
            self._steps = [torch.zeros((), dtype=torch.float32, device=w.device) for w in weights]
        elif rule.momentum:
            # From zero, because the first step then is the gradient itself, as in torch.
            self._first = [torch.zeros_like(w) for w in weights]

    def step(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Update the first tensors, one per gradient; None leaves a tensor as it is."""
        torch = the_torch()
        chosen = []
        found = []
        for i, gradient in enumerate(gradients):
            if gradient is None:
                continue
            weight = self._weights[i]
            if gradient.stride() != weight.stride():
                # Laid out in memory as the weight is, so that all numbers are read in order.
                gradient = torch.empty_like(weight).copy_(gradient)
            chosen.append(i)
            found.append(gradient)
        if chosen:
            self._adam(chosen, found) if self._rule.name == "adam" else self._sgd(chosen, found)

    def _adam(self, chosen: list[int], gradients: list[torch.Tensor]) -> None:
        from torch.optim.adam import adam

        adam(
            [self._weights[i] for i in chosen],
            gradients,
            [self._first[i] for i in chosen],
            [self._second[i] for i in chosen],
            [],
            [self._steps[i] for i in chosen],
            foreach=False,
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            lr=self._rule.learning_rate,
            weight_decay=self._rule.weight_decay,
            maximize=False,
        )

    def _sgd(self, chosen: list[int], gradients: list[torch.Tensor]) -> None:
        from torch.optim.sgd import sgd

        sgd(
            [self._weights[i] for i in chosen],
            gradients,
            [self._first[i] if self._rule.momentum else None for i in chosen],
            foreach=False,
            fused=True,
            lr=self._rule.learning_rate,
            momentum=self._rule.momentum,
            weight_decay=self._rule.weight_decay,
            dampening=0.0,
            nesterov=False,
            maximize=False,
        )
