"""Models to train, without a defence and with several, as one resumable run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.code import code_behind
from privacygauge.classifier.defences.by_epoch import trajectories
from privacygauge.classifier.defences.early_stopping import EarlyStopping
from privacygauge.classifier.held import digest_of
from privacygauge.classifier.networks import Networks
from privacygauge.classifier.shadows import Progress
from privacygauge.classifier.trainer import Cohort, Trainer, first_query
from privacygauge.core.versions import versions
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
    """Models to train: in one way whose epochs are recorded, and in others."""

    undefended: Trainer
    """Trainer of undefended models; for networks every epoch in `epochs` is kept."""
    epochs: tuple[int, ...]
    """Recorded epochs, ascending, the last one at the end of training; (1,) without epochs."""
    defended: tuple[Trainer, ...]
    """Trainers of defended models."""

    @property
    def trainers(self) -> tuple[Trainer, ...]:
        """One trainer per way to train, the undefended one first."""
        plain = self.undefended
        return (EarlyStopping(plain) if isinstance(plain, Networks) else plain, *self.defended)

    def __call__(self, cohort: Cohort) -> dict[str, NDArray[Any]]:
        """Return the predictions of every model, by name of their array."""
        plain = self.undefended
        if isinstance(plain, Networks):
            by_epoch = trajectories(EarlyStopping(plain), cohort, self.epochs).logits
        else:
            by_epoch = first_query(plain.train(cohort))[:, None]
        found = {UNDEFENDED: by_epoch}
        for number, trainer in enumerate(self.defended):
            found[array_of(number)] = first_query(trainer.train(cohort)).astype(
                _dtype(trainer), copy=False
            )
        return found

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the results besides the data, as JSON values."""
        return {
            "undefended": {"trainer": self.undefended.name, **self.undefended.describe()},
            "epochs": list(self.epochs),
            "defended": [
                {"trainer": trainer.name, **trainer.describe()} for trainer in self.defended
            ],
        }

    def arrays(self, cohort: Cohort) -> Mapping[str, ArraySpec]:
        """Return the array specs of a run of these trainings."""
        m, a, k = cohort.shape
        with_epochs = ("model", "epoch", "record", "class"), (m, len(self.epochs), a, k)
        found = {UNDEFENDED: ArraySpec(*with_epochs, _dtype(self.undefended))}
        for number, trainer in enumerate(self.defended):
            spec = ArraySpec(("model", "record", "class"), (m, a, k), _dtype(trainer))
            found[array_of(number)] = spec
        return found


Before = Callable[[Trainings, Cohort], None]
"""Called with all models before the first of them is trained."""


@dataclass(frozen=True, eq=False)
class _Work:
    """Work sent to each worker: train the models of one task in every way."""

    trainings: Trainings
    cohort: Cohort

    def __call__(self, task: Task) -> Mapping[str, NDArray[Any]]:
        """Return the predictions of the task's models."""
        return self.trainings(self.cohort[task.start : task.stop])


def values_each_way(
    trainings: Trainings,
    cohort: Cohort,
    *,
    seed: int,
    run: str | Path | None = None,
    name: str = "defences",
    about: Mapping[str, Any] | None = None,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    before: Before | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the predictions of every model of a cohort, trained in every way, by array name.

    `UNDEFENDED` maps to (m, e, a, k), after every recorded epoch, and `array_of` the number of a
    defence to (m, a, k).

    Parameters
    ----------
    trainings, cohort, seed, run, invocation, n_jobs, progress
        As in `train_each_way`.
    name : str
        Name of the kind of run.
    about : mapping, optional
        Further settings that affect the results, as JSON values: a run with others is a different
        run.
    before : callable, optional
        Called with the trainings and the cohort before the first model is trained, unless the run
        holds some already.
    """
    plan = _plan(trainings, cohort, seed=seed, name=name, about=about or {})
    static = {
        "member": Static(("model", "record"), cohort.inside[:, cohort.asked]),
        "label": Static(("record",), cohort.y[cohort.asked]),
        "row": Static(("record",), cohort.asked),
    }
    with kept_or_scratch(run) as folder:
        opened = open_run(folder, plan, static, invocation=invocation)
        if before is not None and not opened.n_done():
            before(trainings, cohort)
        complete(opened, _Work(trainings, cohort), n_jobs=n_jobs, progress=progress)
        end_of_sharing()
        return {array: np.asarray(opened.array(array)[:]) for array in plan.arrays}


def array_of(number: int) -> str:
    """Return the name of the array that holds the predictions of a defended training."""
    return f"defended_{number}"


def _plan(
    trainings: Trainings, cohort: Cohort, seed: int, name: str, about: Mapping[str, Any]
) -> Plan:
    settings = {
        **trainings.describe(),
        **about,
        "data": digest_of(cohort.x, cohort.y),
        "training sets": digest_of(cohort.inside, cohort.asked, np.array(cohort.seeds)),
        "versions": versions("torch" if trainings.undefended.logits else None),
    }
    return Plan(
        name=name,
        seed=seed,
        unit="model",
        n_units=len(cohort),
        units_a_task=1,
        arrays=trainings.arrays(cohort),
        settings=settings,
        code=code_behind(cohort, trainings.undefended, *trainings.defended),
    )


def _dtype(trainer: Trainer) -> str:
    """Return the dtype of a trainer's predictions."""
    if not trainer.logits:
        return "float64"
    networks = getattr(trainer, "networks", trainer)
    return str(getattr(networks, "dtype", "float32"))
