"""The generator of a finished run, known by what its plan says: nothing is imported or started."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.errors import InputError
from privacygauge.runs.code import Code, Recorded
from privacygauge.runs.store import read_run
from privacygauge.synthetic.table import Table

_SAID = "generator "


@dataclass(frozen=True)
class RecordedGenerator(Recorded):
    """Stands for what made the tables of a run."""

    name: str
    """What reports call it."""
    description: Mapping[str, Any]
    """What it said of itself."""
    code: Code
    """The user's code behind it."""

    def describe(self) -> Mapping[str, Any]:
        """Return what it said of itself."""
        return self.description

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Refuse: there is nothing to make tables with."""
        raise InputError(
            f"the run does not hold all that its report needs of {self.name}: privacygauge resume "
            "goes on, given the generator"
        )


def recorded_generator(run: str | Path) -> RecordedGenerator:
    """Return what stands for the generator of a run.

    Raises
    ------
    InputError
        If the folder holds no run, or one that made no tables.
    """
    plan = read_run(run).plan
    settings: dict[str, Any] = json.loads(plan.to_json())["settings"]
    if "generator" not in settings:
        raise InputError(f"{run} holds no synthetic tables")
    said = {k.removeprefix(_SAID): v for k, v in settings.items() if k.startswith(_SAID)}
    return RecordedGenerator(str(settings["generator"]), said, plan.code)
