"""A small run whose every byte is known: deterministic work, as slow as asked."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privacygauge.core.seeds import stream
from privacygauge.runs.contents import Static
from privacygauge.runs.execute import complete
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import Run, open_run

N_MODELS = 17
N_RECORDS = 40
N_CLASSES = 3


def plan(*, epochs: int = 50, seed: int = 0) -> Plan:
    return Plan(
        "classifier",
        seed=seed,
        n_units=N_MODELS,
        unit="model",
        units_a_task=2,
        arrays={
            "prediction": ArraySpec(
                ("model", "record", "class"),
                (N_MODELS, N_RECORDS, N_CLASSES),
                "float32",
                chunks=(25, N_CLASSES),
            ),
            "correct": ArraySpec(("model", "record"), (N_MODELS, N_RECORDS), "bool"),
        },
        settings={"epochs": epochs, "data": "0" * 64},
    )


def static() -> dict[str, Static]:
    rng = stream(0, "static")
    return {
        "member": Static(("model", "record"), rng.random((N_MODELS, N_RECORDS)) < 0.5),
        "label": Static(("record",), rng.integers(N_CLASSES, size=N_RECORDS)),
    }


@dataclass(frozen=True)
class Work:
    """Draws the predictions of a task's models, with a matrix product that threads could alter."""

    seed: int = 0
    seconds: float = 0.0

    def __call__(self, task: Task) -> dict[str, np.ndarray]:
        time.sleep(self.seconds)
        rows = [self._one(model) for model in range(task.start, task.stop)]
        prediction = np.stack(rows)
        return {"prediction": prediction, "correct": prediction.argmax(axis=2) == 0}

    def _one(self, model: int) -> np.ndarray:
        rng = stream(self.seed, "model", model)
        return rng.normal(size=(N_RECORDS, 60)) @ rng.normal(size=(60, N_CLASSES))


def made(path: Path, **options: object) -> Run:
    run = open_run(path, plan(), static())
    complete(run, Work(), **options)
    return run


def contents(path: Path) -> dict[str, bytes]:
    found = (at for at in Path(path).rglob("*") if at.is_file())
    return {at.relative_to(path).as_posix(): at.read_bytes() for at in found}
