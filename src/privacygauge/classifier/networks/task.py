"""What an engine is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.networks.augment import BLOCK as BLOCK
from privacygauge.classifier.networks.augment import Augment, altered, on_tensor, view
from privacygauge.classifier.networks.extra import seeded
from privacygauge.classifier.networks.optimiser import Rule
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch

Make = Callable[[int, int], "torch.nn.Module"]
"""Takes the numbers of features and classes and returns an untrained module."""


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
    augment: Augment | None = None
    """Alters the records of every batch, and makes the views that are asked about."""
    queries: int = 1
    """Answers about each record: about the record itself, then about views of it."""

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

    @property
    def answers(self) -> tuple[int, ...]:
        """The shape of a model's predictions: (a, k), or (a, q, k) with q queries a record."""
        a = len(self.asked)
        return (a, self.n_classes) if self.queries == 1 else (a, self.queries, self.n_classes)

    def alterations(self, model: int, epoch: int) -> np.random.Generator | None:
        """Return what alters a model's records in an epoch; None where nothing does."""
        if self.augment is None:
            return None
        return seeds.stream(self.seeds[model], "augment", epoch)

    def batch(self, rows: torch.Tensor, rng: np.random.Generator | None) -> torch.Tensor:
        """Return records to train on, altered where there are `alterations`."""
        x, augment = self.x[rows], self.augment
        if augment is None or rng is None:
            return x
        return on_tensor(x, lambda array: altered(array, augment, rng))

    def predicted(self, module: torch.nn.Module) -> torch.Tensor:
        """Return what a model says of the records that were asked for, of the shape `answers`."""
        import torch

        module.eval()
        found = []
        for number, rows in enumerate(torch.split(self.asked, BLOCK)):
            answers = [module(x) for x in self.views(rows, number * BLOCK)]
            found.append(torch.stack(answers, 1) if self.queries > 1 else answers[0])
        return torch.cat(found)

    def views(self, rows: torch.Tensor, start: int) -> Iterator[torch.Tensor]:
        """Yield a block of the records that were asked for, and views of it; see `views`."""
        yield (x := self.x[rows])
        for number in range(1, self.queries):
            assert self.augment is not None
            yield on_tensor(x, partial(view, augment=self.augment, number=number, start=start))

    def sizes(self, models: Ints) -> Ints:
        """Return how many records each of the models is trained on."""
        return np.asarray(np.count_nonzero(self.inside[models], axis=1), np.int64)


@dataclass(frozen=True)
class Fitted:
    """A stack of trained models."""

    logits: torch.Tensor
    """(s, a, k) or (s, a, q, k) Outputs for the records that were asked for."""
    finite: torch.Tensor
    """(s,) False where a loss or a weight is not finite."""
    weights: Callable[[int], Mapping[str, NDArray[Any]]]
    """Gives the state of a model of the stack, copied."""


Engine = Callable[[Task, Ints], Fitted]
"""Trains the models with these rows of `inside`, whose sizes must fall."""
