"""Many networks at once, each on its own records, with its own weights, order and optimiser."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.networks.engines import ENGINES, MLP, Choice, choose_engine
from privacygauge.classifiers.networks.extra import checked_device, one_torch_thread, the_torch
from privacygauge.classifiers.networks.stacks import (
    StackSize,
    TrainedModels,
    memory_on,
    stack_size,
    train_stacks,
)
from privacygauge.classifiers.networks.task import Augment, Make, Rule, Task, views
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core import checks
from privacygauge.errors import InputError
from privacygauge.runs.source import RecordedCode

if TYPE_CHECKING:
    from privacygauge.classifiers.networks.task import Task


@dataclass(frozen=True)
class Networks:
    """Trainer of torch networks, as many at once as is fastest on the machine.

    One model is defined as follows: `make` under torch's seed gives the initial weights; each epoch
    permutes all n records by ``stream(seed, "order", epoch)`` and goes through the model's own in
    batches, the last of which may be smaller; the loss is the mean cross-entropy of a batch. The
    loop engine is this definition. The others agree with it to 1e-9 in float64, and to about 1e-4
    in float32 for small networks. Wide networks in float32 are chaotic: there, only the algorithm
    is the same. Training runs on one CPU thread: use processes.

    Examples
    --------
    >>> from privacygauge.classifiers.networks import LONG_2017, Networks
    >>> Networks(LONG_2017, epochs=20).name
    "MLP(hidden=(64,), activation='tanh', initial='torch')"
    """

    make: Make = MLP()  # noqa: RUF009  (frozen)
    """Takes the numbers of features and of classes, returns an untrained torch.nn.Module."""
    epochs: int = 50
    """Number of epochs, at least 1."""
    batch_size: int = 100
    """Records per batch, at least 1."""
    optimiser: str = "adam"
    """``adam`` or ``sgd``, as in torch.optim."""
    learning_rate: float = 1e-3
    """Learning rate, above 0."""
    momentum: float = 0.0
    """Momentum of SGD, in [0, 1)."""
    weight_decay: float = 0.0
    """Factor of the weights that is added to the gradients, at least 0."""
    dtype: str = "float32"
    """``float32`` or ``float64``."""
    device: str = "cpu"
    """``cpu``, ``cuda``, ``cuda:1`` and so on."""
    memory: int | None = None
    """Bytes that training may take; a quarter of the free memory if None."""
    stack: int | None = None
    """Models trained at once, found by a trial if None. It changes only rounding."""
    workers: int = 1
    """Processes on this machine that train at the same time and share the default memory."""
    engine: str | None = None
    """``dense``, ``vmap`` or ``loop``; the fastest that passes a trial if None."""
    augment: Augment | None = None
    """Augments the records of every batch in training: `ImageAugment`, or a callable that takes
    records (b, d) and a numpy.random.Generator. Such models are trained one after the other."""
    queries: int = 1
    """Queries per record: the record itself first, then views of it by `augment`, the same ones for
    all models."""

    own_scale: bool = False
    """Whether each model scales features to mean 0 and deviation 1 over its own records."""

    def __post_init__(self) -> None:
        _require(callable(self.make), "make", "a function of n_features and n_classes", self.make)
        for name in ("epochs", "batch_size", "workers"):
            _require(_count(getattr(self, name)), name, "at least 1", getattr(self, name))
        for name in ("memory", "stack"):
            value = getattr(self, name)
            _require(value is None or _count(value), name, "None or at least 1", value)
        _require(self.optimiser in ("adam", "sgd"), "optimiser", "adam or sgd", self.optimiser)
        rate = self.learning_rate
        decay = self.weight_decay
        _require(0 < rate < math.inf, "learning_rate", "above 0", rate)
        _require(0 <= self.momentum < 1, "momentum", "in [0, 1)", self.momentum)
        only_sgd = self.optimiser == "sgd" or not self.momentum
        _require(only_sgd, "momentum", "0 for adam (or use optimiser='sgd')", self.momentum)
        _require(0 <= decay < math.inf, "weight_decay", "at least 0", decay)
        _require(self.dtype in ("float32", "float64"), "dtype", "float32 or float64", self.dtype)
        _require(_count(self.queries), "queries", "at least 1", self.queries)
        if self.augment is None:
            once = self.queries == 1
            _require(once, "queries", "1 without augment, which makes the views", self.queries)
        else:
            _require(callable(self.augment), "augment", "a callable", self.augment)
            _require(
                self.engine in (None, "loop"), "engine", "None or loop to augment", self.engine
            )
        known = self.engine is None or self.engine in ENGINES
        _require(known, "engine", f"None or one of {', '.join(ENGINES)}", self.engine)

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        if is_dataclass(self.make):
            return repr(self.make)
        return str(getattr(self.make, "__name__", type(self.make).__name__))

    logits = True

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        augmented: dict[str, Any] = {}
        if self.augment is not None:
            augmented = {"augment": _description(self.augment), "queries": self.queries}
        names = ("epochs", "batch_size", "optimiser", "learning_rate", "momentum", "weight_decay")
        return {
            "make": _description(self.make),
            **{name: getattr(self, name) for name in (*names, "dtype", "device")},
            "torch": version("torch"),
            **({"own_scale": True} if self.own_scale else {}),
            **augmented,
        }

    def views(self, x: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Yield the queries for each record: the record itself (n, d), then augmented views."""
        if self.augment is None:
            yield x
        else:
            yield from views(np.asarray(x, self.dtype), self.augment, self.queries)

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the logits of every model of the cohort.

        Parameters
        ----------
        cohort : Cohort
            Models on finite features and at least 2 classes; each is trained on at least 1 record.

        Returns
        -------
        ndarray of float, shape (m, a, n_classes), or (m, a, queries, n_classes) where above 1
            Logits of type `dtype`. NaN throughout for a model whose training failed numerically:
            its loss, weights or predictions became NaN or infinite.

        Raises
        ------
        InputError
            If the cohort breaks a rule above, torch is missing, or memory is too small for one
            model.
        """
        return self._trained(cohort, keep_weights=False).logits

    def train_with_weights(self, cohort: Cohort) -> TrainedModels:
        """Return the same predictions together with every model's weights."""
        return self._trained(cohort, keep_weights=True)

    def engine_for(self, cohort: Cohort) -> Choice:
        """Return the engine that trains these models, with the reason."""
        with one_torch_thread(checked_device(self.device)):
            return self._choice(self.task(cohort))

    def stack_size(self, cohort: Cohort) -> StackSize:
        """Return the number of these models that are trained at once, and the memory each takes.

        The predictions themselves, (m, a, n_classes), are not counted: they belong to the caller.
        """
        with one_torch_thread(checked_device(self.device)):
            task = self.task(cohort)
            return self._stack_size(task, self._choice(task))

    def _trained(self, cohort: Cohort, *, keep_weights: bool) -> TrainedModels:
        with one_torch_thread(checked_device(self.device)):
            task = self.task(cohort)
            choice = self._choice(task)
            alone = len(cohort) == 1 and self.memory is None
            # A single model needs no trial; without a given memory there is no limit to check
            # either.
            stack = self.stack or (1 if alone else self._stack_size(task, choice).models)
            return train_stacks(task, choice.engine, stack, keep_weights=keep_weights)

    def task(self, cohort: Cohort) -> Task:
        """Return the checked task of training the cohort's models, on the device."""
        torch = the_torch()
        device = checked_device(self.device)
        features = np.asarray(cohort.x)
        if features.ndim != 2 or 0 in features.shape:
            raise InputError(f"x must have the shape (n, d) with n, d >= 1, got {features.shape}")
        if features.dtype.kind not in "biuf":
            raise InputError(f"x must hold numbers, got {features.dtype}: encode categories first")
        x = torch.tensor(features, dtype=getattr(torch, self.dtype), device=device)
        # After the conversion: a number may be finite in float64 and infinite in float32.
        not_finite = torch.nonzero(~x.isfinite().all(1)).flatten()
        if len(not_finite):
            row = int(not_finite[0])
            column = int(torch.nonzero(~x[row].isfinite())[0])
            raise InputError(
                f"x must be finite in {self.dtype}, got {features[row, column]} in row {row}, "
                f"column {column}: fill in or scale it first"
            )
        if isinstance(cohort.n_classes, bool) or cohort.n_classes < 2:
            raise InputError(f"n_classes must be at least 2, got {cohort.n_classes}")
        array = checks.classes(cohort.y, "y")
        bad = np.flatnonzero(array >= cohort.n_classes)
        if bad.size:
            raise InputError(
                f"y must be in 0..{cohort.n_classes - 1}, got {array[bad[0]]} in row {bad[0]}: "
                "number the classes from 0, or raise n_classes"
            )
        if not len(cohort.inside):
            raise InputError(
                f"inside must have the shape (m, n) with m >= 1, got {cohort.inside.shape}"
            )
        empty = np.flatnonzero(~cohort.inside.any(axis=1))
        if empty.size:
            raise InputError(
                f"inside must have a record for each model, got none in row {empty[0]}: "
                "leave the model out"
            )
        states = checks.integers(cohort.seeds, "seeds")
        outside = np.flatnonzero((states < 0) | (states >= 2**31))
        if outside.size:
            raise InputError(
                f"seeds must be in 0..2**31-1, got {states[outside[0]]} at {outside[0]}"
            )
        n = len(x)
        rows = np.asarray(cohort.asked)
        # An empty list becomes an array of floats.
        rows = checks.classes(rows.astype(np.int64) if rows.size == 0 else rows, "asked")
        unknown = np.flatnonzero(rows >= n)
        if unknown.size:
            raise InputError(
                f"asked must hold rows of x, in 0..{n - 1}, got {rows[unknown[0]]} at {unknown[0]}"
            )
        task = Task(
            make=self.make,
            rule=Rule(self.optimiser, self.learning_rate, self.momentum, self.weight_decay),
            epochs=self.epochs,
            batch_size=self.batch_size,
            x=x,
            y=torch.tensor(array, device=device),
            inside=cohort.inside,
            seeds=tuple(states.tolist()),
            n_classes=cohort.n_classes,
            asked=torch.tensor(rows, device=device),
            augment=self.augment,
            queries=self.queries,
            own_scale=self.own_scale,
        )
        module = task.module(0)
        if not any(p.requires_grad for p in module.parameters()):
            raise InputError("make must return a module with weights to train, got one without")
        with torch.no_grad():
            # In evaluation mode, as dropout and batch norms are when the model is asked.
            outputs = module.eval()(task.x[:2])
        expected = (min(2, len(task.x)), task.n_classes)
        if not isinstance(outputs, torch.Tensor) or tuple(outputs.shape) != expected:
            shape = getattr(outputs, "shape", type(outputs).__name__)
            raise InputError(
                f"make must return a module with outputs of the shape (n, {task.n_classes}), got "
                f"{tuple(shape) if isinstance(shape, torch.Size) else shape} for {expected[0]} "
                "records"
            )
        return task

    def _choice(self, task: Task) -> Choice:
        return choose_engine(task) if self.engine is None else Choice(self.engine, "asked for")

    def _stack_size(self, task: Task, choice: Choice) -> StackSize:
        # A quarter of the free memory, shared by the workers.
        budget = self.memory or memory_on(task.x.device) // (4 * self.workers)
        return stack_size(task, choice.engine, budget)


def _require(kept: bool, name: str, rule: str, value: object) -> None:
    if not kept:
        raise InputError(f"{name} must be {rule}, got {value!r}")


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _description(make: object) -> Mapping[str, Any]:
    """Return the identifying settings of a factory, as JSON values."""
    if isinstance(make, RecordedCode):
        return _json(make.description, make)
    if isinstance(make, functools.partial):
        inner = {"args": list(make.args), "keywords": dict(make.keywords)}
        return _json({"partial": _description(make.func), **inner}, make)
    # A function or class has a name of its own; an instance has that of its class.
    kind = make if hasattr(make, "__qualname__") else type(make)
    named = {"name": f"{kind.__module__}.{kind.__qualname__}"}
    if is_dataclass(make) and not isinstance(make, type):
        return _json({**named, "fields": asdict(make)}, make)
    return _json({**named, **({"fields": vars(make)} if kind is not make else {})}, make)


def _json(description: Mapping[str, Any], make: object) -> Mapping[str, Any]:
    try:
        plain: Mapping[str, Any] = json.loads(json.dumps(description))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"make and augment must be functions or have JSON values as fields, got {make!r}"
        ) from error
    return plain
