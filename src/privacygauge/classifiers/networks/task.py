"""Input and output of a training engine, and its optimiser: fused Adam and SGD on tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.networks.augment import BLOCK as BLOCK
from privacygauge.classifiers.networks.augment import Augment, augment_records, on_tensor, view
from privacygauge.classifiers.networks.extra import seeded_torch, the_torch
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

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
            # No maxima of the second moments: those belong to AMSGrad.
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


def own_order(own: Bools, seed: int, epoch: int) -> Ints:
    """Return a model's records, those where `own` (n,) is true, in the order of one epoch.

    All n records are permuted and those of others struck out, so leaving out a record keeps the
    order of the rest.
    """
    order = seeds.stream(seed, "order", epoch).permutation(len(own))
    return order[own[order]]


@dataclass(frozen=True)
class Step:
    """One step of every epoch, for a stack of models sorted by decreasing size."""

    number: int
    """Number of the step, from 0 in each epoch."""
    active: int
    """Number of models that have a batch left: the first ones."""
    groups: int
    """Number of groups of models with equally many batches, among these."""
    rows: int
    """Number of records in the largest batch."""
    sizes: Ints
    """(active,) Number of records in each model's batch."""

    @property
    def key(self) -> tuple[int, ...]:
        """Equal for steps with the same array shapes."""
        return (self.active, *self.sizes.tolist())

    @property
    def shares(self) -> Floats:
        """Each record's share in its model's loss, (active, rows), zero where a batch is padded."""
        sizes = self.sizes[:, None]
        return (np.arange(self.rows) < sizes) / sizes

    @property
    def padded(self) -> bool:
        """Whether some batch is smaller than the largest."""
        return bool((self.sizes < self.rows).any())


def steps_of_epoch(sizes: Ints, batch_size: int) -> tuple[Step, ...]:
    """Return the steps of an epoch for models with `sizes` records each, in decreasing order."""
    # Batches per model, rounded up.
    batches = -(-sizes // batch_size)
    found = []
    for number in range(int(batches[0])):
        # Sizes decrease, so the models that still have a batch are the first ones.
        left = sizes[batches > number] - number * batch_size
        now = np.minimum(left, batch_size)
        groups = len(np.unique(batches[: len(now)]))
        found.append(
            Step(number=number, active=len(now), groups=groups, rows=int(now.max()), sizes=now)
        )
    return tuple(found)


def equal_batch_runs(sizes: Ints, batch_size: int) -> tuple[slice, ...]:
    """Return the runs of neighbouring models with equally many batches in an epoch."""
    batches = -(-sizes // batch_size)
    # Sizes decrease, so models with equally many batches are neighbours.
    edges = [0, *(np.flatnonzero(np.diff(batches)) + 1).tolist(), len(sizes)]
    return tuple(slice(a, b) for a, b in pairwise(edges))


def fill_order(order: Ints, inside: Bools, model_seeds: Sequence[int], epoch: int) -> None:
    """Write the records of every batch of an epoch to `order`, (steps, m, batch_size).

    Batches are padded with the model's own first record, so that no other model's records can reach
    it.
    """
    n_steps, _, batch_size = order.shape
    for model, (own, seed) in enumerate(zip(inside, model_seeds, strict=True)):
        mine = own_order(own, seed, epoch)[: n_steps * batch_size]
        padded = np.full(n_steps * batch_size, mine[0])
        padded[: len(mine)] = mine
        order[:, model] = padded.reshape(n_steps, batch_size)


def own_scales(x: NDArray[Any], inside: Bools) -> tuple[Floats, Floats]:
    """Return mean and deviation of each model's own records, (m, d); 1 for a deviation of 0."""
    mean = np.empty((len(inside), x.shape[1]))
    spread = np.empty_like(mean)
    for model, own in enumerate(inside):
        mine = np.asarray(x[own], np.float64)
        mean[model] = mine.mean(axis=0)
        spread[model] = mine.std(axis=0)
    return mean, np.where(spread > 0, spread, 1.0)


Make = Callable[[int, int], "torch.nn.Module"]
"""Takes the numbers of features and classes and returns an untrained module."""


@dataclass(frozen=True)
class Task:
    """Models to train on subsets of the same records."""

    make: Make
    """Factory of untrained modules."""
    rule: Rule
    """Update rule of the weights."""
    epochs: int
    """Number of epochs, at least 1."""
    batch_size: int
    """Records per batch, at least 1."""
    x: torch.Tensor
    """(n, d) Features, on the device and with the dtype of the weights."""
    y: torch.Tensor
    """(n,) Classes in 0..k-1."""
    inside: Bools
    """(m, n) True where the model is trained on the record."""
    seeds: tuple[int, ...]
    """One seed per model."""
    n_classes: int
    """Number of classes, at least 2."""
    asked: torch.Tensor
    """(a,) Rows of the records to predict."""
    most_steps: int | None = None
    """Steps per epoch in a trial; None for all."""
    augment: Augment | None = None
    """Augments the records of every batch, and makes the views that are queried."""
    queries: int = 1
    """Queries per record: the record itself, then views of it."""
    own_scale: bool = False
    """Whether each model scales features to mean 0 and deviation 1 over its own records."""

    def seen_by(self, models: Ints, x: torch.Tensor) -> torch.Tensor:
        """Return features (s, b, d) as each of the models (s,) sees them."""
        if not self.own_scale:
            return x
        mean, spread = self._scales
        return (x - mean[models]) / spread[models]

    @cached_property
    def _scales(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and deviation of each model's own records, (m, 1, d)."""
        import torch

        mean, spread = own_scales(self.x.cpu().numpy(), self.inside)
        return torch.from_numpy(mean)[:, None].to(self.x), torch.from_numpy(spread)[:, None].to(
            self.x
        )

    def module(self, model: int) -> torch.nn.Module:
        """Return the untrained module of a model.

        It is made on the CPU in torch's default dtype, so its initial weights are the same for
        every device and dtype up to rounding.
        """
        import torch

        with seeded_torch(self.seeds[model], torch.device("cpu")):
            made = self.make(self.x.shape[1], self.n_classes)
        if not isinstance(made, torch.nn.Module):
            raise InputError(f"make must return a torch.nn.Module, got {type(made).__name__}")
        return made.to(self.x.device, self.x.dtype)

    @property
    def answers(self) -> tuple[int, ...]:
        """Shape of a model's predictions: (a, k), or (a, q, k) with q queries per record."""
        a = len(self.asked)
        return (a, self.n_classes) if self.queries == 1 else (a, self.queries, self.n_classes)

    def alterations(self, model: int, epoch: int) -> np.random.Generator | None:
        """Return the generator that augments a model's records in an epoch; None without any."""
        if self.augment is None:
            return None
        return seeds.stream(self.seeds[model], "augment", epoch)

    def batch(
        self, model: int, rows: torch.Tensor, rng: np.random.Generator | None
    ) -> torch.Tensor:
        """Return training records of a model, augmented if there are `alterations`."""
        x = self.seen_by(np.array([model]), self.x[rows][None])[0]
        augment = self.augment
        if augment is None or rng is None:
            return x
        return on_tensor(x, lambda array: augment_records(array, augment, rng))

    def predicted(self, module: torch.nn.Module, model: int) -> torch.Tensor:
        """Return a model's logits of the records to predict, of the shape `answers`."""
        import torch

        module.eval()
        found = []
        for number, rows in enumerate(torch.split(self.asked, BLOCK)):
            answers = [module(x) for x in self.views(model, rows, number * BLOCK)]
            found.append(torch.stack(answers, 1) if self.queries > 1 else answers[0])
        return torch.cat(found)

    def views(self, model: int, rows: torch.Tensor, start: int) -> Iterator[torch.Tensor]:
        """Yield a block of the records to predict, and views of it; see `views`."""
        yield (x := self.seen_by(np.array([model]), self.x[rows][None])[0])
        for number in range(1, self.queries):
            assert self.augment is not None
            yield on_tensor(x, partial(view, augment=self.augment, number=number, start=start))

    def sizes(self, models: Ints) -> Ints:
        """Return the number of training records of each of the models."""
        return np.asarray(np.count_nonzero(self.inside[models], axis=1), np.int64)


@dataclass(frozen=True)
class TrainedStack:
    """A stack of trained models."""

    logits: torch.Tensor
    """(s, a, k) or (s, a, q, k) Logits of the records to predict."""
    finite: torch.Tensor
    """(s,) False where a loss or a weight is not finite."""
    weights: Callable[[int], Mapping[str, NDArray[Any]]]
    """Returns a copy of the state of a model in the stack."""


Engine = Callable[[Task, Ints], TrainedStack]
"""Trains the models of these rows of `inside`, which are sorted by decreasing size."""
