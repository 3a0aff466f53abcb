"""The protocol of trainers: estimators are trained one by one, networks many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.held import ROWS, Held, described_form, take_records
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class Cohort:
    """Models to train: each on rows of the same records, with its own random state."""

    x: Held
    """Records as the user holds them, mostly features (n, d)."""
    y: Ints
    """(n,) Classes in 0..n_classes-1."""
    inside: Bools
    """(m, n) True where the model is trained on the record. For a whole run this may be `Coins`,
    which are drawn only for the models in use."""
    seeds: Sequence[int]
    """(m,) Seeds in 0..2**31-1, each of which fixes all that is random in a model's training."""
    n_classes: int
    """Number of classes."""
    asked: Ints
    """(a,) Rows of the records to predict."""

    def __post_init__(self) -> None:
        n = len(self.x)
        shape = self.inside.shape
        if len(self.y) != n:
            raise InputError(f"y must have {n} rows, got {len(self.y)}")
        if self.inside.dtype != np.bool_:
            raise InputError(f"inside must hold booleans, got {self.inside.dtype}")
        if len(shape) != 2 or shape[1] != n:
            raise InputError(f"inside must have the shape (m, n) with n = {n}, got {shape}")
        if len(self.seeds) != len(self):
            raise InputError(
                f"seeds must be as many as rows of inside, {len(self)}, got {len(self.seeds)}"
            )

    def __len__(self) -> int:
        """Return the number of models, m."""
        return len(self.inside)

    def __getitem__(self, models: slice) -> Cohort:
        """Return the cohort of some of the models."""
        return replace(self, inside=self.inside[models], seeds=self.seeds[models])

    def records(self, rows: Ints) -> Held:
        """Return the records of some rows."""
        return take_records(self.x, rows)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the predictions, (m, a, n_classes), with one query per record."""
        return len(self), len(self.asked), self.n_classes


@runtime_checkable
class Trainer(Protocol):
    """Trains models on subsets of the same records and returns only their predictions.

    Frozen, and safe to send to another process. Weights are dropped as soon as the predictions are
    made. A model depends on its rows and its seed alone: training others together with it changes
    only the rounding of floats.
    """

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""

    @property
    def logits(self) -> bool:
        """Whether `train` returns logits (float32 or float64) or probabilities (float64)."""

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the predictions of every model of the cohort.

        Returns
        -------
        ndarray of float, shape (m, a, n_classes)
            NaN throughout for a model whose training failed. For a trainer with an attribute
            ``queries`` above 1, shape (m, a, queries, n_classes): the record itself first, then
            views of it, the same ones for every model.
        """


def on_records_made_up(trainer: Trainer) -> str:
    """Return the trainer's form, for audits that construct records in that form.

    Raises
    ------
    InputError
        If it looks records up by their numbers.
    """
    form = described_form(trainer.describe())
    if form == ROWS:
        raise InputError(
            f"{trainer.name} trains by the numbers of records, and this audit asks about records "
            "that it makes up: give a function of features, classes and a random state"
        )
    return form


def queries_of(trainer: Trainer) -> int:
    """Return the number of queries per record."""
    return int(getattr(trainer, "queries", 1))


def first_query(values: NDArray[Any]) -> NDArray[Any]:
    """Return predictions for the records themselves, (m, a, k), from (m, a, k) or (m, a, q, k)."""
    return values if values.ndim == 3 else values[:, :, 0]


TASKS = 256
"""Largest number of tasks of a run that trains models one by one."""

TASKS_OF_STACKS = 8
"""Smallest number of tasks of a run that trains models in stacks."""


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
    """Return the number of models that a worker trains before it writes their predictions.

    Networks are trained in stacks of that size, small enough to leave tasks for several workers.
    """
    n_models = len(cohort)
    if isinstance(trainer, Wrapping):
        return models_a_task(trainer.inner, cohort)
    if not isinstance(trainer, Stacking):
        return -(-n_models // TASKS)
    size = trainer.stack_size(cohort[:]).models  # the coins themselves, if drawn lazily
    # Divisions round up: the last task may be smaller, but no model is left out.
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
