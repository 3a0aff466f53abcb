"""Many networks at once, each on its own records, with its own weights, order and optimiser."""

from __future__ import annotations

import functools
import json
import math
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.networks.engines import ENGINES, MLP, Choice, choose_engine
from privacygauge.classifiers.networks.task import (
    TOO_LITTLE,
    Augment,
    Engine,
    Make,
    Rule,
    Task,
    checked_device,
    one_torch_thread,
    out_of_memory,
    the_torch,
    views,
)
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError
from privacygauge.runs.source import RecordedCode
from privacygauge.runs.threads import bytes_text, free_memory

if TYPE_CHECKING:
    import torch


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
            return choose_engine(self.task(cohort), self.engine)

    def stack_size(self, cohort: Cohort) -> StackSize:
        """Return the number of these models that are trained at once, and the memory each takes.

        The predictions themselves, (m, a, n_classes), are not counted: they belong to the caller.
        """
        with one_torch_thread(checked_device(self.device)):
            task = self.task(cohort)
            return self._stack_size(task, choose_engine(task, self.engine))

    def _trained(self, cohort: Cohort, *, keep_weights: bool) -> TrainedModels:
        with one_torch_thread(checked_device(self.device)):
            task = self.task(cohort)
            choice = choose_engine(task, self.engine)
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
    described: Mapping[str, Any]
    if isinstance(make, RecordedCode):
        described = make.description
    elif isinstance(make, functools.partial):
        inner = {"args": list(make.args), "keywords": dict(make.keywords)}
        described = {"partial": _description(make.func), **inner}
    else:
        # A function or class has a name of its own; an instance has that of its class.
        kind = make if hasattr(make, "__qualname__") else type(make)
        named = {"name": f"{kind.__module__}.{kind.__qualname__}"}
        if is_dataclass(make) and not isinstance(make, type):
            described = {**named, "fields": asdict(make)}
        else:
            described = {**named, **({"fields": vars(make)} if kind is not make else {})}
    try:
        plain: Mapping[str, Any] = json.loads(json.dumps(described))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"make and augment must be functions or have JSON values as fields, got {make!r}"
        ) from error
    return plain


# Division of the models into stacks that fit into memory, estimated from a trial.


@dataclass(frozen=True)
class TrainedModels:
    """Predictions of trained models, and their weights if requested."""

    logits: NDArray[Any]
    """(m, a, k) or (m, a, q, k) Logits of the records to predict; NaN throughout if training
    failed."""
    finite: Bools
    """(m,) False where training failed: a loss, a weight or a logit became NaN or infinite."""
    weights: tuple[Mapping[str, NDArray[Any]], ...] | None = None
    """State dict of each model's module; None unless requested."""


def train_stacks(
    task: Task, engine: Engine, stack: int, *, keep_weights: bool = False
) -> TrainedModels:
    """Return all models, trained `stack` at a time, or fewer if memory runs out.

    Models of similar size share a stack, so that few of them wait for others.

    Raises
    ------
    InputError
        If memory is too small for a single model.
    """
    m = len(task.inside)
    # Largest first: models of a stack then need about the same number of steps.
    waiting = np.argsort(-task.sizes(np.arange(m)), kind="stable")
    dtype = np.dtype(str(task.x.dtype).removeprefix("torch."))
    logits = np.full((m, *task.answers), np.nan, dtype)
    finite = np.zeros(m, np.bool_)
    weights: list[Mapping[str, NDArray[Any]]] = [{}] * m
    while len(waiting):
        models = waiting[:stack]
        done = _attempt(task, engine, models, keep_weights)
        if done is None and len(models) == 1:
            raise InputError(TOO_LITTLE)
        if done is None:
            # Out of memory: try again with half of the models.
            stack = (len(models) + 1) // 2
            continue
        finite[models] = done.finite
        logits[models[done.finite]] = done.logits[done.finite]
        for model, state in zip(models.tolist(), done.weights or (), strict=keep_weights):
            weights[model] = state
        waiting = waiting[stack:]
    return TrainedModels(logits, finite, tuple(weights) if keep_weights else None)


def _attempt(task: Task, engine: Engine, models: Ints, keep_weights: bool) -> TrainedModels | None:
    """Return the trained stack, or None if memory runs out."""
    import torch

    try:
        fitted = engine(task, models)
        logits = fitted.logits.cpu().numpy()
        finite = fitted.finite.cpu().numpy() & np.isfinite(logits).reshape(len(models), -1).all(1)
        states = tuple(fitted.weights(i) for i in range(len(models))) if keep_weights else None
        return TrainedModels(logits, finite, states)
    except (RuntimeError, MemoryError) as error:
        # Outside the handler nothing holds the tensors of the attempt any more.
        if not out_of_memory(error):
            raise
    if task.x.device.type == "cuda":
        torch.cuda.empty_cache()
    return None


CACHE = 24 * 2**20
"""Bytes that models trained at once may take on a CPU: beyond the cache, they slow each other
down."""
MOST_ON_CPU = 16
"""Largest number of models at once on a CPU; more gain nothing."""


@dataclass(frozen=True)
class StackSize:
    """Number of models trained at once, and the measurements behind it."""

    models: int
    """Models per stack, at least 1."""
    per_model: int
    """Bytes per model, measured; the total of a single model where there is no room for two."""
    fixed: int
    """Bytes that do not depend on the number of models, measured; 0 without a trial of two."""
    budget: int
    """Bytes that may be used."""


@dataclass
class Peak:
    """The peak memory of a block of code."""

    bytes: int = 0
    """Bytes in use at the peak, beyond those in use before."""


@contextmanager
def peak_memory(device: torch.device) -> Iterator[Peak]:
    """Measure the peak memory of tensors made inside the context, on one device."""
    import torch

    peak = Peak()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        yield peak
        peak.bytes = torch.cuda.max_memory_allocated(device) - before
    else:
        with _live_storages(peak):
            yield peak


def _live_storages(peak: Peak) -> Any:
    """Return a torch mode that counts the bytes of storages made by operations, while they live."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    live: dict[int, int] = {}
    in_use = 0

    def forget(key: int) -> None:
        nonlocal in_use
        in_use -= live.pop(key)

    class Mode(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # There is nothing to compile, and the compiler takes a second to import.
            return False

        def __torch_dispatch__(
            self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            nonlocal in_use
            kwargs = kwargs or {}
            # A view of an input is no new memory.
            known = {
                leaf.untyped_storage()._cdata
                for leaf in tree_leaves((args, kwargs))
                if isinstance(leaf, torch.Tensor)
            }
            made = func(*args, **kwargs)
            for leaf in tree_leaves(made):
                if not isinstance(leaf, torch.Tensor) or leaf.device.type != "cpu":
                    continue
                storage = leaf.untyped_storage()
                key = storage._cdata
                if key not in live and key not in known:
                    live[key] = storage.nbytes()
                    in_use += live[key]
                    weakref.finalize(storage, forget, key)
            peak.bytes = max(peak.bytes, in_use)
            return made

    return Mode()  # type: ignore[no-untyped-call, unused-ignore]


def stack_size(task: Task, engine: Engine, budget: int) -> StackSize:
    """Return the number of models to train at once, from two-step trials of one and of two models.

    Raises
    ------
    InputError
        If not even one model fits into memory.
    """
    largest = np.argsort(-task.sizes(np.arange(len(task.inside))), kind="stable")[:1]
    one = _peak(task, engine, largest)
    if one is None:
        raise InputError(TOO_LITTLE)
    if one > budget:
        raise InputError(
            f"memory must be enough for one model, which takes {bytes_text(one)}, "
            f"got {bytes_text(budget)}: ask for fewer records, or give a larger memory"
        )
    on_cpu = task.x.device.type == "cpu"
    # A trial of large networks takes as long as an epoch: only where it can change something.
    two = None if on_cpu and 2 * one > CACHE else _peak(task, engine, np.repeat(largest, 2))
    if two is None:
        return StackSize(1, one, 0, budget)
    # Two models less one: the memory per model. The rest of the first trial is fixed.
    per_model = max(two - one, 1)
    fixed = max(one - per_model, 0)
    models = min((budget - fixed) // per_model, len(task.inside))
    if on_cpu:
        models = min(models, max(CACHE // per_model, 1), MOST_ON_CPU)
    return StackSize(max(int(models), 1), per_model, fixed, budget)


def _peak(task: Task, engine: Engine, models: Ints) -> int | None:
    """Return the peak memory of a trial, or None if memory runs out."""
    trial = replace(task, epochs=1, most_steps=2)
    try:
        with peak_memory(task.x.device) as peak:
            engine(trial, models)
        return peak.bytes
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
    return None


def memory_on(device: torch.device) -> int:
    """Return the free bytes of memory on a device, as far as they are known."""
    import torch

    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return free_memory()
