"""Division of the models into stacks that fit into memory, estimated from a trial."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.networks.task import Engine, Task, out_of_memory
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError
from privacygauge.runs.threads import bytes_text, free_memory

if TYPE_CHECKING:
    import torch

TOO_LITTLE = (
    "the memory must be enough to train one model, and is not: "
    "ask for fewer records at a time, or make smaller networks or batches"
)


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
