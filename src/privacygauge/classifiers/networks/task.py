"""Input and output of a training engine: torch itself, tasks, altered records, optimisers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from itertools import pairwise
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.runs.threads import device_of, number_of_worker

if TYPE_CHECKING:
    import torch


def the_torch() -> ModuleType:
    """Return the module torch.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        return import_module("torch")
    except ModuleNotFoundError as error:
        raise InputError(
            "training networks needs torch, which is not installed: "
            "pip install 'privacygauge[torch]'"
        ) from error


def checked_device(device: str) -> torch.device:
    """Return the device of that name, after a check that it can hold tensors.

    With several GPUs "cuda" is the worker's own, or the current one in any other process.
    """
    the_torch()
    import torch

    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise InputError(f"device must be 'cpu' or 'cuda', got {device!r}") from error
    if found.type not in ("cpu", "cuda"):
        raise InputError(f"device must be 'cpu' or 'cuda', got {device!r}")
    if found.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device must be there, got {device!r} without a GPU: use device='cpu'")
    if device != "cuda":
        return torch.device(found.type, found.index)
    # Workers take the GPUs in turn.
    own = device_of(number_of_worker(), torch.cuda.device_count())
    return torch.device("cuda", torch.cuda.current_device() if own is None else own)


@contextmanager
def one_torch_thread(device: torch.device) -> Iterator[None]:
    """Limit torch to one CPU thread inside the context.

    Processes around it give the parallelism; small matrices only lose by threads.
    """
    torch = the_torch()
    before = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


VMAP_ERRORS = (
    RuntimeError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    LookupError,
    MemoryError,
)
"""Exceptions of modules that torch.func cannot run, raised by them or by torch.func."""


def out_of_memory(error: RuntimeError | MemoryError) -> bool:
    """Return whether an error says that memory ran out."""
    # torch has no class for host memory that ran out: only the text tells.
    told = ("not enough memory", "can't allocate memory")
    known = isinstance(error, MemoryError | the_torch().cuda.OutOfMemoryError)
    return known or any(text in str(error) for text in told)


@contextmanager
def seeded_torch(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's random numbers inside the context, and restore their state after it."""
    torch = the_torch()
    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        # torch.manual_seed would reach GPUs whose state is not kept.
        torch.default_generator.manual_seed(seed)
        if cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield


Augment = Callable[[NDArray[Any], np.random.Generator], NDArray[Any]]
"""Takes records (b, d) and a generator, and returns as many altered records, (b, d)."""

BLOCK = 256
"""Number of records that are augmented or predicted at once."""

TOO_LITTLE = (
    "the memory must be enough to train one model, and is not: "
    "ask for fewer records at a time, or make smaller networks or batches"
)


@dataclass(frozen=True)
class ImageAugment:
    """Augments images at random: shifts them, mirrors half of them, and adds noise.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[1.0, 2.0, 3.0, 4.0]])
    >>> ImageAugment((1, 2, 2), shift=0, flip=True)(image, np.random.default_rng(2))
    array([[2., 1., 4., 3.]])
    """

    shape: tuple[int, int, int]
    """Channels, height and width; a record is an image in this order, flattened."""
    shift: int = 1
    """Largest shift in pixels, vertical and horizontal, at least 0; uncovered pixels become 0."""
    flip: bool = False
    """Whether each image is mirrored, left to right, with probability 1/2."""
    noise: float = 0.0
    """Standard deviation of normal noise in every pixel, at least 0."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(size) for size in self.shape))
        if len(self.shape) != 3 or min(self.shape) < 1:
            raise InputError(f"shape must be channels, height and width, got {self.shape}")
        if not 0 <= self.shift < min(self.shape[1:]):
            raise InputError(
                f"shift must be in 0..{min(self.shape[1:]) - 1} for images of this size, got "
                f"{self.shift}"
            )
        if not 0 <= self.noise < np.inf:
            raise InputError(f"noise must be finite and at least 0, got {self.noise}")

    def __call__(self, records: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Return augmented images, (b, d), each by its own draws."""
        b, d = records.shape
        if d != prod(self.shape):
            raise InputError(
                f"images of the shape {self.shape} have {prod(self.shape)} features, got {d}"
            )
        images = records.reshape(b, *self.shape)
        if self.shift:
            # Each image is padded with zeros, and a window of the old size is cut at a drawn place.
            _, c, h, w = images.shape
            start = rng.integers(2 * self.shift + 1, size=(b, 2))
            margin = (self.shift, self.shift)
            padded = np.pad(images, ((0, 0), (0, 0), margin, margin))
            # Index arrays that broadcast to (b, c, h, w): one window per image.
            record = np.arange(b)[:, None, None, None]
            channel = np.arange(c)[:, None, None]
            row = (start[:, :1] + np.arange(h))[:, None, :, None]
            column = (start[:, 1:] + np.arange(w))[:, None, None, :]
            images = padded[record, channel, row, column]
        if self.flip:
            mirrored = np.asarray(rng.random(b) < 0.5)
            images = np.where(mirrored.reshape(-1, 1, 1, 1), images[..., ::-1], images)
        altered = images.reshape(b, d)
        if self.noise:
            altered = (altered + self.noise * rng.normal(size=(b, d))).astype(records.dtype)
        return altered


def views(x: NDArray[Any], augment: Augment, queries: int) -> Iterator[NDArray[Any]]:
    """Yield the records themselves and then views of them, `queries` arrays (n, d) in all.

    `Networks` queries its models at the same views, so an existing model can be queried at them
    too. A view depends only on the record's place and the view's number.

    Parameters
    ----------
    x : ndarray of float, shape (n, d)
    augment : callable
    queries : int
        At least 1.
    """
    for number in range(queries):
        starts = range(0, len(x), BLOCK)
        parts = [view(x[start : start + BLOCK], augment, number, start) for start in starts]
        yield np.concatenate(parts)


def view(x: NDArray[Any], augment: Augment, number: int, start: int) -> NDArray[Any]:
    """Return a view of the block of records that begins at `start`; view 0 is the original."""
    if number == 0:
        return x
    # Seeded without the model: all models see the same views.
    return augment_records(x, augment, seeds.stream(0, "view", number, start))


def augment_records(x: NDArray[Any], augment: Augment, rng: np.random.Generator) -> NDArray[Any]:
    """Return records augmented at random, in their own dtype.

    Raises
    ------
    InputError
        If the callable returns another shape.
    """
    found = np.asarray(augment(x.copy(), rng))
    if found.shape != x.shape or found.dtype.kind not in "biuf":
        raise InputError(
            f"augment must return as many records as it is given, numbers of the shape {x.shape}, "
            f"got {found.dtype} of {found.shape}"
        )
    return np.ascontiguousarray(found, x.dtype)


def on_tensor(x: torch.Tensor, change: Callable[[NDArray[Any]], NDArray[Any]]) -> torch.Tensor:
    """Apply a function of arrays to a tensor; return the result on the tensor's device."""
    import torch

    return torch.from_numpy(change(x.cpu().numpy())).to(x.device)


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
            if self._rule.name == "adam":
                from torch.optim.adam import adam

                adam(
                    [self._weights[i] for i in chosen],
                    found,
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
            else:
                from torch.optim.sgd import sgd

                sgd(
                    [self._weights[i] for i in chosen],
                    found,
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
    def shares(self) -> Floats:
        """Each record's share in its model's loss, (active, rows), zero where a batch is padded."""
        sizes = self.sizes[:, None]
        return (np.arange(self.rows) < sizes) / sizes


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

    def batch(
        self, model: int, rows: torch.Tensor, rng: np.random.Generator | None
    ) -> torch.Tensor:
        """Return training records of a model, augmented by `rng`; None without augmentation."""
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
            x = self.seen_by(np.array([model]), self.x[rows][None])[0]
            # The records themselves, and views of them; see `views`.
            answers = [module(x)]
            for query in range(1, self.queries):
                assert self.augment is not None
                change = partial(view, augment=self.augment, number=query, start=number * BLOCK)
                answers.append(module(on_tensor(x, change)))
            found.append(torch.stack(answers, 1) if self.queries > 1 else answers[0])
        return torch.cat(found)

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
