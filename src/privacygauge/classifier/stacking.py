"""Number of models trained as one, and number of models per task of a worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

from privacygauge.classifier.trainer import Cohort, Trainer

TASKS = 256
"""Largest number of tasks of a run whose models are trained one by one."""

TASKS_OF_STACKS = 8
"""Smallest number of tasks of a run whose models are trained in stacks."""


class StackSize(Protocol):
    """Number of models that fit into memory, as `networks.StackSize`."""

    @property
    def models(self) -> int:
        """Models trained at once."""


@runtime_checkable
class Stacking(Protocol):
    """A trainer that trains several models as one."""

    @property
    def stack(self) -> int | None:
        """Models trained at once."""

    def stack_size(self, cohort: Cohort) -> StackSize:
        """Return the number of models trained at once."""


@runtime_checkable
class Wrapping(Protocol):
    """A trainer that changes the cohort and delegates the training to another trainer."""

    @property
    def inner(self) -> Trainer:
        """The wrapped trainer."""

    def around(self, inner: Trainer) -> Trainer:
        """Return the same wrapping of another trainer."""


def models_a_task(trainer: Trainer, cohort: Cohort) -> int:
    """Return how many models a worker trains before it writes their predictions.

    Networks are trained in stacks of that size; but enough tasks are left for several workers.
    """
    n_models = len(cohort)
    if isinstance(trainer, Wrapping):
        return models_a_task(trainer.inner, cohort)
    if not isinstance(trainer, Stacking):
        return -(-n_models // TASKS)
    size = trainer.stack_size(cohort[:]).models  # the coins themselves, if drawn lazily
    n_tasks = max(-(-n_models // size), min(TASKS_OF_STACKS, n_models))
    return -(-n_models // n_tasks)


def with_stack(trainer: Trainer, models: int) -> Trainer:
    """Return the trainer, set to train `models` models as one if it can."""
    if isinstance(trainer, Wrapping):
        return trainer.around(with_stack(trainer.inner, models))
    if not isinstance(trainer, Stacking):
        return trainer
    fixed: Trainer = replace(trainer, stack=models)  # type: ignore[type-var]
    return fixed
