"""What a shell offers for a value: names, metrics, folders of audits. Imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from privacygauge.audits.asking import Command

BACKENDS = ("loky", "threading", "dask", "ray")
"""Of ``--backend``."""


def names(*known: str) -> Callable[[str], list[str]]:
    """Return what completes a value that is one of the names, or several with commas."""

    def complete(incomplete: str) -> list[str]:
        begun, comma, last = incomplete.rpartition(",")
        return [f"{begun}{comma}{name}" for name in known if name.startswith(last)]

    return complete


def metrics_of(commands: Iterable[Command[Any]]) -> tuple[str, ...]:
    """Return what audits can be held to, each name once."""
    return tuple(dict.fromkeys(name for command in commands for name in command.metrics))


def reproductions(incomplete: str) -> list[str]:
    """Return the names of ``reproduce``, as its catalogue lists them, and ``all``."""
    catalogue = Path(__file__).parents[1] / "reproduce" / "catalogue.py"
    try:
        text = catalogue.read_text(encoding="utf-8")
    except OSError:
        return []
    # Read and not imported: the catalogue imports every domain.
    known = re.findall(r'\bReproduction\(\s*"([\w-]+)"', text)
    return [name for name in (*known, "all") if name.startswith(incomplete)]


def runs(incomplete: str) -> list[str]:
    """Return folders that hold a run, or else folders to look in."""
    return _folders(incomplete, ("run.json", "run/run.json"))


def reports(incomplete: str) -> list[str]:
    """Return folders that hold a report, or else folders to look in."""
    return _folders(incomplete, ("report.json",))


def reports_and_runs(incomplete: str) -> list[str]:
    """Return folders that hold a run or a report, or else folders to look in."""
    return _folders(incomplete, ("report.json", "run.json", "run/run.json"))


def _folders(incomplete: str, marks: tuple[str, ...]) -> list[str]:
    """Return the folders that hold one of the files, then the others with a slash to go on."""
    head, slash, start = incomplete.rpartition("/")
    try:
        found = sorted(
            path.name
            for path in Path(head + slash or ".").iterdir()
            if path.name.startswith(start) and path.is_dir() and not path.name.startswith(".")
        )
    except OSError:
        return []
    place = Path(head + slash)
    marked = [name for name in found if any((place / name / mark).exists() for mark in marks)]
    others = [f"{name}/" for name in found if name not in marked]
    return [f"{head}{slash}{name}" for name in (*marked, *others)]
