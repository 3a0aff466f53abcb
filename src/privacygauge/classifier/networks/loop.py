"""One model after the other: what the stacked engines have to equal, for any module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from privacygauge.classifier.networks.extra import seeded
from privacygauge.classifier.networks.optimiser import Optimiser
from privacygauge.classifier.networks.order import own_order
from privacygauge.classifier.networks.task import Fitted, Task
from privacygauge.core.checks import Ints

if TYPE_CHECKING:
    import torch


def train_loop(task: Task, models: Ints) -> Fitted:
    """Return the models, trained one by one."""
    import torch

    logits = task.x.new_empty(len(models), *task.answers)
    finite = torch.zeros(len(models), dtype=torch.bool, device=task.x.device)
    states: list[Mapping[str, NDArray[Any]]] = []
    for place, model in enumerate(models.tolist()):
        # The seed is set again for what is random in training, such as dropout.
        with seeded(task.seeds[model], task.x.device), torch.enable_grad():
            module, finite[place] = _trained(task, model)
        with torch.no_grad():
            logits[place] = task.predicted(module)
        states.append(state_of(module))
    return Fitted(logits, finite, states.__getitem__)


def _trained(task: Task, model: int) -> tuple[torch.nn.Module, torch.Tensor]:
    import torch

    module = task.module(model).train()
    weights = [p for p in module.parameters() if p.requires_grad]
    optimiser = Optimiser(task.rule, weights)
    total = torch.zeros((), dtype=task.x.dtype, device=task.x.device)
    for x, y in _batches(task, model):
        loss = torch.nn.functional.cross_entropy(module(x), y)
        gradients = torch.autograd.grad(loss, weights, allow_unused=True)
        with torch.no_grad():
            optimiser.step(gradients)
            total += loss
    with torch.no_grad():
        finite = torch.stack([p.isfinite().all() for p in module.parameters()]).all()
    return module, finite & total.isfinite()


def _batches(task: Task, model: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    import torch

    for epoch in range(task.epochs):
        order = torch.from_numpy(own_order(task.inside[model], task.seeds[model], epoch))
        rng = task.alterations(model, epoch)
        for rows in torch.split(order.to(task.x.device), task.batch_size)[: task.most_steps]:
            yield task.batch(rows, rng), task.y[rows]


def state_of(module: torch.nn.Module) -> Mapping[str, NDArray[Any]]:
    """Return a copy of a module's weights and buffers."""
    return {
        name: value.detach().cpu().numpy().copy() for name, value in module.state_dict().items()
    }
