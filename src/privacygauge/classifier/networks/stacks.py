"""Division of the models into stacks, which are halved if memory runs out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.networks.extra import out_of_memory
from privacygauge.classifier.networks.task import Engine, Task
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError

TOO_LITTLE = (
    "the memory must be enough to train one model, and is not: "
    "ask for fewer records at a time, or make smaller networks or batches"
)


@dataclass(frozen=True)
class TrainedModels:
    """Predictions of trained models and, if asked for, their weights."""

    logits: NDArray[Any]
    """(m, a, k) or (m, a, q, k) Logits of the records asked for; NaN throughout if training
    failed."""
    finite: Bools
    """(m,) False where training failed: a loss, a weight or a logit became NaN or infinite."""
    weights: tuple[Mapping[str, NDArray[Any]], ...] | None = None
    """State dict of each model's module; None if not asked for."""


def train_stacks(
    task: Task, engine: Engine, stack: int, *, keep_weights: bool = False
) -> TrainedModels:
    """Return all models, trained `stack` at a time, or fewer if memory runs out.

    Models of similar size share a stack, so that few wait for others.

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
