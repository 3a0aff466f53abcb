"""Choice of the engine for a module: the fastest that agrees with the plain loop in a trial."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.classifier.networks.extra import out_of_memory
from privacygauge.classifier.networks.layers import layers_of
from privacygauge.classifier.networks.optimiser import Rule
from privacygauge.classifier.networks.stacked import train_dense, train_vmap
from privacygauge.classifier.networks.stacks import TOO_LITTLE
from privacygauge.classifier.networks.task import Engine, Task
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from privacygauge.classifier.networks.extra import seeded_torch
from privacygauge.classifier.networks.optimiser import Optimiser
from privacygauge.classifier.networks.task import TrainedStack, own_order
from privacygauge.core.checks import Ints

if TYPE_CHECKING:
    import torch


def train_loop(task: Task, models: Ints) -> TrainedStack:
    """Return the models, trained one by one."""
    import torch

    logits = task.x.new_empty(len(models), *task.answers)
    finite = torch.zeros(len(models), dtype=torch.bool, device=task.x.device)
    states: list[Mapping[str, NDArray[Any]]] = []
    for place, model in enumerate(models.tolist()):
        # The seed is set again for randomness in training, such as dropout.
        with seeded_torch(task.seeds[model], task.x.device), torch.enable_grad():
            module, finite[place] = _train_plainly(task, model)
        with torch.no_grad():
            logits[place] = task.predicted(module, model)
        states.append(copy_state(module))
    return TrainedStack(logits, finite, states.__getitem__)


def _train_plainly(task: Task, model: int) -> tuple[torch.nn.Module, torch.Tensor]:
    import torch

    module = task.module(model).train()
    weights = [p for p in module.parameters() if p.requires_grad]
    optimiser = Optimiser(task.rule, weights)
    total = torch.zeros((), dtype=task.x.dtype, device=task.x.device)
    for epoch in range(task.epochs):
        order = torch.from_numpy(own_order(task.inside[model], task.seeds[model], epoch))
        rng = task.alterations(model, epoch)
        for rows in torch.split(order.to(task.x.device), task.batch_size)[: task.most_steps]:
            outputs = module(task.batch(model, rows, rng))
            loss = torch.nn.functional.cross_entropy(outputs, task.y[rows])
            gradients = torch.autograd.grad(loss, weights, allow_unused=True)
            with torch.no_grad():
                optimiser.step(gradients)
                total += loss
    with torch.no_grad():
        finite = torch.stack([p.isfinite().all() for p in module.parameters()]).all()
    return module, finite & total.isfinite()


def copy_state(module: torch.nn.Module) -> Mapping[str, NDArray[Any]]:
    """Return a copy of a module's weights and buffers."""
    return {
        name: value.detach().cpu().numpy().copy() for name, value in module.state_dict().items()
    }


ENGINES: dict[str, Engine] = {"dense": train_dense, "vmap": train_vmap, "loop": train_loop}

# Exceptions of modules that torch.func cannot run, raised by them or by torch.func.
_REFUSALS = (
    RuntimeError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    LookupError,
    MemoryError,
)


@dataclass(frozen=True)
class Choice:
    """The engine that trains a module, and why."""

    name: str
    """dense (matrix products by hand), vmap (torch.func) or loop (one model after the other)."""
    reason: str
    """Reason of the choice, one line for a report."""

    @property
    def engine(self) -> Engine:
        """The engine that trains."""
        return ENGINES[self.name]


def choose_engine(task: Task) -> Choice:
    """Return the fastest engine that agrees with the loop in a trial step on real records."""
    if task.augment is not None:
        return Choice("loop", "records are altered at random in training")
    trial = _trial(task)
    try:
        expected = train_loop(trial, np.arange(2)).logits
    except (RuntimeError, MemoryError) as error:
        if out_of_memory(error):
            raise InputError(TOO_LITTLE) from error
        raise  # raised by the module itself: its author should see it as it is
    if layers_of(task.module(0)) is not None and _agrees("dense", trial, expected) is None:
        return Choice("dense", "a Sequential of Linear layers and activations")
    refused = _agrees("vmap", trial, expected)
    if refused is None:
        return Choice("vmap", "a trial step equals that of unstacked modules")
    return Choice("loop", f"stacked modules fail in a trial step: {refused}")


def _trial(task: Task) -> Task:
    """Return a task of one step for two models, one of them with half of a batch.

    Plain descent, because the first step of Adam is a sign, which magnifies rounding.
    """
    n = len(task.x)
    first = np.flatnonzero(task.inside[0])[: task.batch_size]
    inside = np.zeros((2, n), np.bool_)
    inside[0, first] = True
    inside[1, first[: max(1, len(first) // 2)]] = True
    return replace(
        task,
        rule=Rule("sgd", 0.1),
        epochs=1,
        inside=inside,
        seeds=(task.seeds[0], task.seeds[0] ^ 1),
        asked=task.asked.new_tensor(first),
    )


def _agrees(name: str, trial: Task, expected: torch.Tensor) -> str | None:
    """Return None if the engine's trial equals the loop's, else a description of the difference."""
    import torch

    try:
        found = ENGINES[name](trial, np.arange(2)).logits
    except InputError:
        raise
    except _REFUSALS as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120]}"
    tolerance = 1e-9 if expected.dtype == torch.float64 else 1e-4
    scale = max(1.0, float(expected.nan_to_num(0.0, 0.0, 0.0).abs().max()))
    if torch.allclose(found, expected, rtol=0.0, atol=tolerance * scale, equal_nan=True):
        return None
    return f"predictions differ by {float((found - expected).abs().max()):.1e}"
