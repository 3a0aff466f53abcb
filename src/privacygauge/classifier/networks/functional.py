"""Modules of any kind, many at once, through torch.func: vmap over the gradient of one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from privacygauge.classifier.networks.optimiser import Optimiser
from privacygauge.classifier.networks.order import Step, fill_order, groups, steps
from privacygauge.classifier.networks.task import BLOCK, Fitted, Task
from privacygauge.core.checks import Ints

if TYPE_CHECKING:
    import torch

    Tensors = dict[str, torch.Tensor]


def train_vmap(task: Task, models: Ints) -> Fitted:
    """Return the models, trained at once."""
    import torch

    modules = [task.module(model) for model in models.tolist()]
    learnt, fixed = _stacked(modules)
    bare = copy.deepcopy(modules[0]).to("meta")
    first = _first_names(modules[0])
    del modules
    total = _train(task, models, bare, learnt, fixed)
    with torch.no_grad():
        flat = [value.flatten(1).isfinite().all(1) for value in learnt.values()]
        finite = torch.stack([total.isfinite(), *flat]).all(0)
        logits = _predictions(task, bare.eval(), learnt, fixed, len(models))

    def state(place: int) -> Mapping[str, NDArray[Any]]:
        both = {**learnt, **fixed}
        return {name: both[own][place].cpu().numpy().copy() for name, own in first.items()}

    return Fitted(logits, finite, state)


def _first_names(module: torch.nn.Module) -> dict[str, str]:
    """Return for each name in the state the first name of what two layers may share."""
    weights, buffers = module.named_parameters, module.named_buffers
    first = {id(value): name for named in (weights(), buffers()) for name, value in named}
    state = module.state_dict(keep_vars=True)
    return {name: first[id(value)] for name, value in state.items()}


def _stacked(modules: list[torch.nn.Module]) -> tuple[Tensors, Tensors]:
    """Return the weights to train, and what stays as it is, each with a row a model."""
    import torch

    def stack(each: list[Tensors]) -> Tensors:
        return {name: torch.stack([tensors[name].detach() for tensors in each]) for name in each[0]}

    weights: list[Tensors] = [dict(module.named_parameters()) for module in modules]
    learnt = [{k: p for k, p in own.items() if p.requires_grad} for own in weights]
    kept = [{k: p for k, p in own.items() if not p.requires_grad} for own in weights]
    buffers = [dict(module.named_buffers()) for module in modules]
    fixed = [{**a, **b} for a, b in zip(kept, buffers, strict=True)]
    return stack(learnt), stack(fixed)


def _train(
    task: Task, models: Ints, bare: torch.nn.Module, learnt: Tensors, fixed: Tensors
) -> torch.Tensor:
    """Run all epochs, in place on the weights; return the sum of each model's losses."""
    import torch
    from torch.func import functional_call, grad_and_value, vmap
    from torch.nn.functional import cross_entropy

    def loss(
        own: Tensors, rest: Tensors, x: torch.Tensor, y: torch.Tensor, share: torch.Tensor
    ) -> torch.Tensor:
        logits = functional_call(bare, {**own, **rest}, (x,))
        mean: torch.Tensor = (cross_entropy(logits, y, reduction="none") * share).sum()
        return mean

    slopes = vmap(grad_and_value(loss))
    bare.train()
    sizes = task.sizes(models)
    runs = groups(sizes, task.batch_size)
    optimiser = Optimiser(task.rule, [value[run] for run in runs for value in learnt.values()])
    in_epoch = steps(sizes, task.batch_size)[: task.most_steps]
    order = torch.empty(len(in_epoch), len(models), task.batch_size, dtype=torch.int64)
    inside, seeds = task.inside[models], [task.seeds[model] for model in models.tolist()]
    total = task.x.new_zeros(len(models))
    shares = [_shares(step, task.x) for step in in_epoch]
    for epoch in range(task.epochs):
        fill_order(order.numpy(), inside, seeds, epoch)
        rows = order.to(task.x.device)
        for step, share in zip(in_epoch, shares, strict=True):
            a, batch = step.active, rows[step.number, : step.active, : step.rows]
            now = {name: value[:a] for name, value in learnt.items()}
            rest = {name: value[:a] for name, value in fixed.items()}
            with torch.enable_grad():
                by_weight, losses = slopes(now, rest, task.x[batch], task.y[batch], share)
            with torch.no_grad():
                total[:a] += losses
                parts = runs[: step.groups]
                optimiser.step([g[run].contiguous() for run in parts for g in by_weight.values()])
    return total


def _shares(step: Step, like: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.from_numpy(step.shares).to(like.device, like.dtype)


def _predictions(
    task: Task, bare: torch.nn.Module, learnt: Tensors, fixed: Tensors, n_models: int
) -> torch.Tensor:
    import torch
    from torch.func import functional_call, vmap

    def predict(own: Tensors, rest: Tensors, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = functional_call(bare, {**own, **rest}, (x,))
        return logits

    each = vmap(predict, in_dims=(0, 0, None))
    logits = task.x.new_empty(n_models, len(task.asked), task.n_classes)
    blocks = torch.split(task.asked, BLOCK), torch.split(logits, BLOCK, dim=1)
    for rows, out in zip(*blocks, strict=True):
        out.copy_(each(learnt, fixed, task.x[rows]))
    return logits
