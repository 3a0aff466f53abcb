"""Models seen after several epochs of their training, in a run that can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.defences.adversarial_regularisation import AdversarialRegularisation
from privacygauge.classifier.defences.by_epoch import Trajectories, trajectories
from privacygauge.classifier.defences.early_stopping import EarlyStopping
from privacygauge.classifier.held import digest_of
from privacygauge.classifier.trainer import Cohort
from privacygauge.core.versions import versions
from privacygauge.runs.execute import complete
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import open_run

Trained = EarlyStopping | AdversarialRegularisation
"""What shows a model after every epoch and describes itself."""


@dataclass(frozen=True, eq=False)
class EpochWork:
    """Trains models of one kind: what workers are sent."""

    trainer: Trained
    """The kind."""
    cohort: Cohort
    """The models."""
    recorded: tuple[int, ...]
    """The epochs after which they are looked at."""

    def __call__(self, task: Task) -> Mapping[str, NDArray[Any]]:
        """Return the logits of the task's models, (m, e, a, k)."""
        part = self.cohort[task.start : task.stop]
        return {"logits": trajectories(self.trainer, part, self.recorded).logits}

    def plan(self, seed: int) -> Plan:
        """Return what the run computes: one model a task."""
        n_models, *rest = self.cohort.shape
        spec = ArraySpec(
            ("model", "epoch", "record", "class"), (n_models, len(self.recorded), *rest), "float32"
        )
        settings = {
            **self.trainer.describe(),
            "recorded": list(self.recorded),
            "data": digest_of(self.cohort.x, self.cohort.y),
            "training sets": digest_of(
                self.cohort.inside, self.cohort.asked, np.array(self.cohort.seeds)
            ),
            "versions": versions("torch"),
        }
        return Plan(
            "models_by_epoch",
            seed=seed,
            n_units=n_models,
            unit="model",
            units_a_task=1,
            arrays={"logits": spec},
            settings=settings,
        )


def models_by_epoch(
    work: EpochWork,
    run: Path,
    seed: int,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Sequence[Trajectories]:
    """Return each model's predictions after the recorded epochs.

    Parameters
    ----------
    work : Training
    run : Path
        Folder of the run: models that it holds are not trained again.
    seed : int
        Named in the run; training draws from the cohort's seeds.
    n_jobs : int, optional
    progress : callable, optional
        Told how many models of how many are done.
    """
    opened = open_run(run, work.plan(seed), {})
    complete(opened, work, n_jobs=n_jobs, progress=progress)
    logits = np.asarray(opened.array("logits")[:])
    epochs = np.array(work.recorded)
    return [Trajectories(epochs, one[None]) for one in logits]
