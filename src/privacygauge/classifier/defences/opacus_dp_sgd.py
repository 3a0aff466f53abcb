"""DP-SGD by Opacus: differentially private training of any module that it knows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.classifier.defences.accountant import ORDERS
from privacygauge.classifier.defences.by_epoch import trainable
from privacygauge.classifier.defences.dp_sgd import PrivateTraining, noise_of
from privacygauge.classifier.networks.optimiser import Rule
from privacygauge.classifier.networks.task import Task
from privacygauge.classifier.trainer import Cohort
from privacygauge.core import checks
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch

ACCOUNTANTS = ("prv", "rdp")
"""Privacy loss random variables, the tighter ones, and Renyi differential privacy."""

_MOST_NOISE = 1e5


@dataclass(frozen=True)
class OpacusDpSgd(PrivateTraining):
    """Trains modules by Opacus on sums of clipped gradients with normal noise.

    What it does is what `PrivateTraining` says. Opacus takes the gradients record by record,
    clips them and adds the noise; the coins that draw batches are PrivacyGauge's, those of `DpSgd`.
    Layers that mix records, such as batch normalisation, are refused.

    Notes
    -----
    Yousefpour et al. (2021), "Opacus: user-friendly differential privacy library in PyTorch".
    Opacus's secure mode, which draws noise from the operating system in a way that floating point
    cannot give away, needs the package torchcsprng and is not used: as in `DpSgd` the noise is
    good enough to measure what the defence does.
    """

    accountant: str = "prv"
    """prv or rdp: what adds up the epsilon."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_accountant(self.accountant)

    def epsilon(self, delta: float) -> float:
        """Return the epsilon of the whole training at this delta, in (0, 1), by the accountant.

        Of `prv` it is the upper end of what its numerical errors allow.
        """
        spent = self.spent
        return opacus_epsilon(
            spent.noise_multiplier, spent.sampling_rate, spent.steps, delta, self.accountant
        )

    def describe(self) -> Mapping[str, Any]:
        """Return everything that the result depends on beside the data, as JSON values."""
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
                    with _inputs_without_gradients():
                        loss = cross_entropy(hooked(task.x[batch]), task.y[batch], reduction="sum")
                        loss.backward()  # type: ignore[no-untyped-call]
                else:
                    _no_gradients(weights)
                optimiser.step()
            yield module


def opacus_epsilon(
    noise_multiplier: float,
    sampling_rate: float,
    steps: int,
    delta: float,
    accountant: str = "prv",
) -> float:
    """Return the epsilon that Opacus's accountant adds up at this delta, at least 0.

    Parameters
    ----------
    noise_multiplier : float
        At least 0.
    sampling_rate : float
        In (0, 1].
    steps : int
        At least 1.
    delta : float
        In (0, 1).
    accountant : str
        prv or rdp; the latter over the orders of `SubsampledGaussian`.

    Returns
    -------
    float
        Infinite without noise.

    Raises
    ------
    InputError
        If Opacus is not installed, or knows no such accountant.
    """
    checks.level(delta, "delta")
    _require_accountant(accountant)
    if noise_multiplier == 0:
        return math.inf
    counting = the_opacus("accountants").create_accountant(accountant)
    counting.history = [(noise_multiplier, sampling_rate, steps)]
    # Without sampling the privacy loss is unbounded on both sides, which takes a log of 0.
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        # It warns where the best order is the largest: the bound is then loose, and still one.
        warnings.filterwarnings("ignore", "Optimal order is", UserWarning)
        if accountant == "rdp":
            return max(0.0, float(counting.get_epsilon(delta, alphas=list(ORDERS))))
        return max(0.0, float(counting.get_epsilon(delta)))


def opacus_noise_for(
    epsilon: float, delta: float, sampling_rate: float, steps: int, accountant: str = "prv"
) -> float:
    """Return the noise multiplier that spends this epsilon by Opacus's accountant, or a bit less.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        In (0, 1).
    sampling_rate : float
        In (0, 1].
    steps : int
        At least 1.
    accountant : str
        prv or rdp.

    Raises
    ------
    InputError
        If no noise multiplier up to 100,000 is enough.
    """
    if not 0 < epsilon < math.inf:
        raise InputError(f"epsilon must be finite and above 0, got {epsilon}")
    low, high = 0.0, 1.0
    while opacus_epsilon(high, sampling_rate, steps, delta, accountant) > epsilon:
        low, high = high, 2 * high
        if high > _MOST_NOISE:
            raise InputError(
                f"epsilon must be one that noise can reach in {steps} steps, got {epsilon}: take "
                "a larger epsilon or delta, or fewer steps"
            )
    # The accountant's own errors are larger than what is left of this interval.
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        enough = opacus_epsilon(middle, sampling_rate, steps, delta, accountant) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return high


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


def _require_accountant(accountant: str) -> None:
    if accountant not in ACCOUNTANTS:
        raise InputError(f"accountant must be {' or '.join(ACCOUNTANTS)}, got {accountant!r}")


def _torch_optimiser(rule: Rule, weights: list[torch.Tensor]) -> Any:
    import torch

    if rule.name == "adam":
        return torch.optim.Adam(weights, rule.learning_rate, weight_decay=rule.weight_decay)
    return torch.optim.SGD(
        weights, rule.learning_rate, momentum=rule.momentum, weight_decay=rule.weight_decay
    )


def _no_gradients(weights: list[torch.Tensor]) -> None:
    """Leave what a batch without records leaves: some layers refuse to look at one."""
    for weight in weights:
        weight.grad_sample = weight.new_zeros((0, *weight.shape))  # type: ignore[attr-defined]


@contextmanager
def _inputs_without_gradients() -> Iterator[None]:
    # Opacus listens at every layer, the first one too, whose inputs are data.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Full backward hook is firing", UserWarning)
        yield
