"""Trainings of the same models without a defence and with each of several, as one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.claims.defences.early_stopping import EarlyStopping, trajectories
from privacygauge.classifiers.held import Held, digest_of
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.predictions import Pool, Predictions, predictions
from privacygauge.classifiers.shadows import (
    NOT_KEPT,
    Execution,
    code_behind,
    membership,
    random_states,
)
from privacygauge.classifiers.trainer import Cohort, Trainer, first_query
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import versions
from privacygauge.errors import InputError
from privacygauge.runs.contents import Static
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.sharing import end_of_sharing
from privacygauge.runs.store import open_run

UNDEFENDED = "undefended"
"""Name of the array of the undefended models."""


@dataclass(frozen=True, eq=False)
class Trainings:
    """Ways to train the same models: undefended, with recorded epochs, and defended."""

    undefended: Trainer
    """Trainer of undefended models; for networks every epoch in `epochs` is kept."""
    epochs: tuple[int, ...]
    """Recorded epochs, ascending, the last at the end of training; (1,) if there are no epochs."""
    defended: tuple[Trainer, ...]
    """Trainers of defended models."""

    @property
    def trainers(self) -> tuple[Trainer, ...]:
        """One trainer per way to train, the undefended one first."""
        plain = self.undefended
        return (EarlyStopping(plain) if isinstance(plain, Networks) else plain, *self.defended)


Before = Callable[[Trainings, Cohort], None]
"""Called with all models before the first of them is trained."""


@dataclass(frozen=True, eq=False)
class _Work:
    """Work sent to each worker: train the models of one task in every way."""

    trainings: Trainings
    cohort: Cohort

    def __call__(self, task: Task) -> Mapping[str, NDArray[Any]]:
        """Return the predictions of the task's models, by array name."""
        cohort = self.cohort[task.start : task.stop]
        plain = self.trainings.undefended
        if isinstance(plain, Networks):
            by_epoch = trajectories(EarlyStopping(plain), cohort, self.trainings.epochs).logits
        else:
            by_epoch = first_query(plain.train(cohort))[:, None]
        found = {UNDEFENDED: by_epoch}
        for number, trainer in enumerate(self.trainings.defended):
            # The run's array has this dtype, whatever the trainer returns.
            found[array_of(number)] = first_query(trainer.train(cohort)).astype(
                _dtype(trainer), copy=False
            )
        return found


def values_each_way(
    trainings: Trainings,
    cohort: Cohort,
    execution: Execution = NOT_KEPT,
    *,
    seed: int,
    name: str = "defences",
    about: Mapping[str, Any] | None = None,
    before: Before | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the predictions of every model of a cohort, trained in every way, by array name.

    `UNDEFENDED` maps to (m, e, a, k), after every recorded epoch, and `array_of` the number of a
    defence to (m, a, k).

    Parameters
    ----------
    trainings : Trainings
        The ways to train.
    cohort : Cohort
        The models, each trained in every way on the same records.
    execution : Execution
        Folder, processes and progress of the run.
    seed : int
        Seed of the cohort's draws, which the run keeps.
    name : str
        Name of the kind of run.
    about : mapping, optional
        Further settings that affect the results, as JSON values; other values make another run.
    before : callable, optional
        Called with the trainings and the cohort before the first model is trained, unless the run
        already holds some models.
    """
    m, a, k = cohort.shape
    with_epochs = ("model", "epoch", "record", "class"), (m, len(trainings.epochs), a, k)
    arrays = {UNDEFENDED: ArraySpec(*with_epochs, _dtype(trainings.undefended))}
    for number, trainer in enumerate(trainings.defended):
        spec = ArraySpec(("model", "record", "class"), (m, a, k), _dtype(trainer))
        arrays[array_of(number)] = spec
    plan = Plan(
        name=name,
        seed=seed,
        unit="model",
        n_units=len(cohort),
        # One model in all of its ways is a task: equal seeds and records stay together.
        units_a_task=1,
        arrays=arrays,
        settings={
            "undefended": {
                "trainer": trainings.undefended.name,
                **trainings.undefended.describe(),
            },
            "epochs": list(trainings.epochs),
            "defended": [
                {"trainer": trainer.name, **trainer.describe()} for trainer in trainings.defended
            ],
            **(about or {}),
            "data": digest_of(cohort.x, cohort.y),
            "training sets": digest_of(cohort.inside, cohort.asked, np.array(cohort.seeds)),
            "versions": versions("torch" if trainings.undefended.logits else None),
        },
        code=code_behind(cohort, trainings.undefended, *trainings.defended),
    )
    static = {
        "member": Static(("model", "record"), cohort.inside[:, cohort.asked]),
        "label": Static(("record",), cohort.y[cohort.asked]),
        "row": Static(("record",), cohort.asked),
    }
    with kept_or_scratch(execution.run) as folder:
        opened = open_run(folder, plan, static, invocation=execution.invocation)
        # A resumed run has told its cost already.
        if before is not None and not opened.n_done():
            before(trainings, cohort)
        complete(
            opened,
            _Work(trainings, cohort),
            n_jobs=execution.n_jobs,
            progress=execution.progress,
        )
        end_of_sharing()
        return {array: np.asarray(opened.array(array)[:]) for array in plan.arrays}


def array_of(number: int) -> str:
    """Return the name of the array that holds the predictions of a defended training."""
    return f"defended_{number}"


def _dtype(trainer: Trainer) -> str:
    """Return the dtype of a trainer's predictions."""
    if not trainer.logits:
        return "float64"
    networks = getattr(trainer, "networks", trainer)
    return str(getattr(networks, "dtype", "float32"))


@dataclass(frozen=True, eq=False)
class TrainedAlike:
    """One target and its shadow models, trained in the same way."""

    target: Predictions
    """Predictions of the target on the judged records."""
    pool: Pool
    """Predictions of the shadow models on the same records, without those that failed."""
    failed: Ints
    """Indices of the shadow models whose training failed."""

    @property
    def shadow_accuracy(self) -> float:
        """Accuracy of shadow models on records that they were not trained on.

        It does not depend on the target, so a choice based on it favours no attack.
        """
        right = self.pool.values.argmax(axis=2) == self.pool.labels
        return float(right[~self.pool.inside].mean())


@dataclass(frozen=True, eq=False)
class TrainedWithout:
    """The undefended models, after each recorded epoch."""

    epochs: Ints
    """(e,) Recorded epochs, ascending; a single one if models are not trained in epochs."""
    models: tuple[TrainedAlike | Skipped, ...]
    """(e,) The models after each epoch; skipped if training had failed by then."""

    @property
    def last(self) -> TrainedAlike:
        """The models after the last epoch, as released without a defence."""
        last = self.models[-1]
        if isinstance(last, Skipped):
            raise InputError(f"without a defence {last.reason}")
        return last

    def after(self, epoch: int) -> TrainedAlike | Skipped:
        """Return the models after a recorded epoch."""
        return self.models[int(np.flatnonzero(self.epochs == epoch)[0])]


def judged_cohort(
    x: Held, y: Ints, judged: Ints, *, n_shadows: int, unit: Ints | None = None, seed: int = 0
) -> Cohort:
    """Return a target and shadow models to train, by fair coins for the judged records.

    Parameters
    ----------
    x, y, n_shadows, seed
        As in `train_shadows`.
    judged : ndarray of int, shape (a,)
        Rows that fair coins put into training sets; no other row is in one.
    unit : ndarray of int, shape (a,), optional
        The person behind each judged record: one coin decides for all records of a person.
    """
    if n_shadows < 1:
        raise InputError(f"n_shadows must be at least 1, got {n_shadows}")
    inside = np.zeros((n_shadows + 1, len(y)), np.bool_)
    inside[:, judged] = membership(n_shadows, len(judged), seed, unit=unit)
    return Cohort(
        x=x,
        y=y,
        inside=inside,
        seeds=random_states(seed, len(inside)),
        n_classes=int(y.max()) + 1,
        asked=judged,
    )


def train_each_way(
    trainings: Trainings,
    cohort: Cohort,
    execution: Execution = NOT_KEPT,
    *,
    ids: ArrayLike | None = None,
    unit: Ints | None = None,
    seed: int = 0,
    before: Before | None = None,
) -> tuple[TrainedWithout, tuple[TrainedAlike | Skipped, ...]]:
    """Return the undefended models after every epoch, and the models of each defence.

    A model has the same records, seed and initial weights in every way. A way is skipped, with the
    reason, if its target or all of its shadow models failed.

    Parameters
    ----------
    cohort : Cohort
        The target and its shadow models, from `judged_cohort`; progress counts these models, each
        trained in every way.
    ids : array_like, shape (a,), optional
        Names of the judged records; default: their rows.
    unit : ndarray of int, shape (a,), optional
        The person behind each judged record.
    trainings, execution, seed, before
        As in `values_each_way`.
    """
    values = values_each_way(trainings, cohort, execution, seed=seed, before=before)
    judged = cohort.asked
    about = cohort.inside[:, judged], cohort.y[judged], judged if ids is None else ids, unit
    epochs = tuple(
        _trained_alike(values[UNDEFENDED][:, place], trainings.undefended.logits, *about)
        for place in range(len(trainings.epochs))
    )
    defended = tuple(
        _trained_alike(values[array_of(number)], trainer.logits, *about)
        for number, trainer in enumerate(trainings.defended)
    )
    return TrainedWithout(np.array(trainings.epochs), epochs), defended


def _trained_alike(
    values: NDArray[Any],
    logits: bool,
    inside: Bools,
    y: Ints,
    ids: ArrayLike,
    unit: Ints | None,
) -> TrainedAlike | Skipped:
    # Model 0 is the target, the others are its shadow models.
    finite = np.isfinite(values).all(axis=(1, 2))
    # Failed shadow models are left out; without the target there is nothing to judge.
    kept = 1 + np.flatnonzero(finite[1:])
    if not finite[0] or not len(kept):
        who = "all shadow models" if finite[0] else "the target"
        return Skipped("training", f"training failed for {who}: predictions are not finite")
    given: dict[str, Any] = {"logits" if logits else "probs": values[0]}
    target = predictions(
        labels=y, member=inside[0], ids=ids, unit=unit, name="target model", **given
    )
    pool = Pool(values[kept], logits, inside[kept], y)
    return TrainedAlike(target, pool, np.flatnonzero(~finite[1:]))


def recorded_epochs(epochs: int, further: Sequence[int] = ()) -> tuple[int, ...]:
    """Return about 15 epochs in 1..epochs: all of the first ones, then ever fewer.

    The last epoch and the `further` ones are included.
    """
    # Rounding merges the smallest of the 20 epochs.
    spread = np.unique(np.geomspace(1, epochs, 20).round().astype(int))
    return tuple(sorted({*spread.tolist(), *further, epochs}))
