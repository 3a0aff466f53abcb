"""How many models are trained as one, and how many a worker trains before it writes them down."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

from privacygauge.classifier.trainer import Cohort, Trainer

TASKS = 256
"""A run is cut into at most so many tasks where models are trained one by one."""

TASKS_OF_STACKS = 8
"""A run is cut into at least so many tasks where models are trained as one."""


class StackSize(Protocol):
    """How many models fit, as `networks.StackSize`."""

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
        """Return how many models are trained at once."""


@runtime_checkable
class Wrapping(Protocol):
    """A trainer that changes the cohort and leaves the training itself to another one."""

    @property
    def inner(self) -> Trainer:
        """The wrapped trainer."""

    def around(self, inner: Trainer) -> Trainer:
        """Return the same wrapping of another trainer."""


def models_a_task(trainer: Trainer, cohort: Cohort) -> int:
    """Return how many models a worker trains before it writes them down.

    Of networks as many as are trained as one; but enough tasks are left for several workers.
    """
    n_models = len(cohort)
    if isinstance(trainer, Wrapping):
        return models_a_task(trainer.inner, cohort)
    if not isinstance(trainer, Stacking):
        return -(-n_models // TASKS)
    size = trainer.stack_size(cohort[:]).models  # the coins themselves, where they are drawn
    n_tasks = max(-(-n_models // size), min(TASKS_OF_STACKS, n_models))
    return -(-n_models // n_tasks)


def with_stack(trainer: Trainer, models: int) -> Trainer:
    """Return the trainer that trains so many models as one, where it can."""
    if isinstance(trainer, Wrapping):
        return trainer.around(with_stack(trainer.inner, models))
    if not isinstance(trainer, Stacking):
        return trainer
    fixed: Trainer = replace(trainer, stack=models)  # type: ignore[type-var]
    return fixed
