"""What an engine is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.networks.extra import seeded
from privacygauge.classifier.networks.optimiser import Rule
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch

Make = Callable[[int, int], "torch.nn.Module"]
"""Takes the numbers of features and classes and returns an untrained module."""

BLOCK = 256
"""Records that are predicted at once."""


@dataclass(frozen=True)
class Task:
    """Models to train on subsets of the same records."""

    make: Make
    """Makes an untrained module."""
    rule: Rule
    """How weights follow their gradients."""
    epochs: int
    """At least 1."""
    batch_size: int
    """At least 1."""
    x: torch.Tensor
    """(n, d) Features, on the device and of the type of the weights."""
    y: torch.Tensor
    """(n,) Classes."""
    inside: Bools
    """(m, n) True where the model is trained on the record."""
    seeds: tuple[int, ...]
    """One a model."""
    n_classes: int
    """At least 2."""
    asked: torch.Tensor
    """(a,) The records to predict."""
    most_steps: int | None = None
    """Steps in an epoch after which a trial stops."""

    def module(self, model: int) -> torch.nn.Module:
        """Return the untrained module of a model.

        It is made on the CPU in torch's default type, so its first weights are the same
        for every device and type up to rounding.
        """
        import torch

        with seeded(self.seeds[model], torch.device("cpu")):
            made = self.make(self.x.shape[1], self.n_classes)
        if not isinstance(made, torch.nn.Module):
            raise InputError(f"make must return a torch.nn.Module, got {type(made).__name__}")
        return made.to(self.x.device, self.x.dtype)

    def sizes(self, models: Ints) -> Ints:
        """Return how many records each of the models is trained on."""
        return np.asarray(np.count_nonzero(self.inside[models], axis=1), np.int64)


@dataclass(frozen=True)
class Fitted:
    """A stack of trained models."""

    logits: torch.Tensor
    """(s, a, k) Outputs for the records that were asked for."""
    finite: torch.Tensor
    """(s,) False where a loss or a weight is not finite."""
    weights: Callable[[int], Mapping[str, NDArray[Any]]]
    """Gives the state of a model of the stack, copied."""


Engine = Callable[[Task, Ints], Fitted]
"""Trains the models with these rows of `inside`, whose sizes must fall."""
