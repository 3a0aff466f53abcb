"""Generators as written on a command line, or as recorded in a finished run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.errors import InputError
from privacygauge.runs.code import PROGRAM, Code, RecordedCode
from privacygauge.runs.store import read_run
from privacygauge.runs.user_code import import_object, names_code
from privacygauge.synthetic.generators.command import Command
from privacygauge.synthetic.generators.generator import Generator
from privacygauge.synthetic.generators.named import GENERATORS, as_generator, is_named
from privacygauge.synthetic.table import Table


def written_generator(text: str, run: Path | None = None) -> Generator:
    """Return the generator that a text names, or its record in a finished run.

    Parameters
    ----------
    text : str
        Built-in generator, ``FILE.py:NAME``, ``MODULE:NAME``, or ``command: PROGRAM ...``.
    run : Path, optional
        Folder of a finished run: code of the user's is not imported.

    Raises
    ------
    InputError
        If it names none.
    """
    if run is not None and names_code(text):
        return recorded_generator(run)
    if text.startswith(PROGRAM):
        return Command(text.removeprefix(PROGRAM))
    if is_named(text):
        return as_generator(text)
    if ":" not in text:
        raise InputError(
            f"--generator must be one of {', '.join(GENERATORS)}, or FILE.py:NAME or MODULE:NAME "
            f"of your own, or '{PROGRAM} PROGRAM ...', got {text!r}"
        )
    return as_generator(import_object(text))


_SAID = "generator "


@dataclass(frozen=True)
class RecordedGenerator(RecordedCode):
    """Record of the generator behind the tables of a run; it makes none."""

    name: str
    """Name, as reports print it."""
    description: Mapping[str, Any]
    """Description that the generator gave of itself."""
    code: Code
    """The user's code behind it."""

    def describe(self) -> Mapping[str, Any]:
        """Return the generator's own description."""
        return self.description

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Refuse: a record cannot make tables."""
        raise InputError(
            f"the run does not hold all that its report needs of {self.name}: privacygauge resume "
            "goes on, given the generator"
        )


def recorded_generator(run: str | Path) -> RecordedGenerator:
    """Return the record of the generator of a run.

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
