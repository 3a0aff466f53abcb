"""DP-SGD by Opacus: differentially private training of any module that Opacus supports."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any

from privacygauge.classifier.defences.by_epoch import trainable
from privacygauge.classifier.defences.dp_sgd import PrivateTraining, noise_of
from privacygauge.classifier.networks.optimiser import Rule
from privacygauge.classifier.networks.task import Task
from privacygauge.classifier.trainer import Cohort
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class OpacusDpSgd(PrivateTraining):
    """Trains modules by Opacus on sums of clipped gradients with normal noise.

    The algorithm is that of `PrivateTraining`. Opacus takes the gradients record by record, clips
    them and adds the noise; the coins that sample batches are PrivacyGauge's, as in `DpSgd`. Layers
    that mix records, such as batch normalisation, are refused.

    Notes
    -----
    Yousefpour et al. (2021), "Opacus: user-friendly differential privacy library in PyTorch".
    Opacus's secure mode, which draws noise from the operating system in a way that floating point
    cannot give away, needs the package torchcsprng and is not used: as in `DpSgd` the noise is
    good enough to measure what the defence does.
    """

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        the_opacus()
        return {**super().describe(), "opacus": version("opacus")}

    def task(self, cohort: Cohort) -> Task:
        """Return the checked task of training these models."""
        validators = the_opacus("validators")
        task = super().task(cohort)
        errors = validators.ModuleValidator.validate(task.module(0).train(), strict=False)
        if errors:
            why = str(errors[0]).splitlines()[0]
            raise InputError(
                f"make must return a module that Opacus can train ({why}): "
                "opacus.validators.ModuleValidator.fix replaces such layers"
            )
        return task

    def modules(self, task: Task, model: int) -> Iterator[torch.nn.Module]:
        """Yield a model after each epoch: one module, trained further every time."""
        from torch.nn.functional import cross_entropy

        module = task.module(model)
        weights = trainable(module)
        hooked = the_opacus("grad_sample").GradSampleModule(module, loss_reduction="sum")
        optimiser = the_opacus("optimizers").DPOptimizer(
            _torch_optimiser(task.rule, weights),
            noise_multiplier=self.noise_multiplier,
            max_grad_norm=self.clip,
            expected_batch_size=task.batch_size,
            generator=noise_of(task, model),
        )
        for epoch in range(task.epochs):
            hooked.train()
            for batch in self.sampled(task, model, epoch):
                optimiser.zero_grad()
                if len(batch):
                    with warnings.catch_warnings():
                        # Opacus hooks every layer, the first one too, whose inputs are data.
                        warnings.filterwarnings(
                            "ignore", "Full backward hook is firing", UserWarning
                        )
                        loss = cross_entropy(hooked(task.x[batch]), task.y[batch], reduction="sum")
                        loss.backward()  # type: ignore[no-untyped-call]
                else:
                    # Some layers refuse to run on an empty batch, which leaves no gradients.
                    for weight in weights:
                        empty = weight.new_zeros((0, *weight.shape))
                        weight.grad_sample = empty  # type: ignore[attr-defined]
                optimiser.step()
            yield module


def the_opacus(part: str = "") -> ModuleType:
    """Return the module opacus, or one of its parts.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        return import_module(f"opacus.{part}" if part else "opacus")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opacus":
            raise
        raise InputError(
            "this DP-SGD needs Opacus, which is not installed: pip install 'privacygauge[opacus]', "
            "or take dp-sgd for dense networks"
        ) from error


def _torch_optimiser(rule: Rule, weights: list[torch.Tensor]) -> Any:
    import torch

    if rule.name == "adam":
        return torch.optim.Adam(weights, rule.learning_rate, weight_decay=rule.weight_decay)
    return torch.optim.SGD(
        weights, rule.learning_rate, momentum=rule.momentum, weight_decay=rule.weight_decay
    )
