"""What a shell offers for a value: known names, metrics, folders of audits. Imports nothing heavy.

The names are written down here a second time, so that a shell need not wait for the packages that
use them; `tests/cli/test_completion.py` compares both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import typer

from privacygauge.cli.commands import COMMANDS

GENERATORS = ("baynet", "privbayes", "synthpop", "independent", "identity", "silence")
"""Of ``synthetic --generator``."""

SELECTORS = ("distance", "random", "rare", "likelihood")
"""Of ``synthetic --select``."""

GAMES = ("average", "specific", "shared")
"""Of ``synthetic --game``."""

KNOWLEDGE = ("auxiliary", "exact", "synthetic")
"""Of ``synthetic --knowledge``."""

THRESHOLDS = ("population", "oracle", "mean-train")
"""Of ``language --threshold``."""

BACKENDS = ("loky", "threading", "dask", "ray")
"""Of ``--backend``."""

_LANGUAGE = (
    *("accuracy", "advantage", "auc", "epsilon", "tpr@0.1", "tpr@0.01", "tpr@0.001"),
    *("patient-auc", "patient-accuracy"),
)
_GENERATOR = ("auc", "worst", "epsilon")
_TABLE = (
    *("beyond", "accuracy", "auc", "epsilon", "copies"),
    *("singling-out", "linkability", "inference"),
)


def _with_low(*names: str) -> tuple[str, ...]:
    return tuple(name for metric in names for name in (metric, f"{metric}.low"))


METRICS: dict[str, tuple[str, ...]] = {
    "synthetic": _with_low(*dict.fromkeys((*_GENERATOR, *_TABLE))),
    "language": _with_low(*_LANGUAGE),
}
"""What ``--fail-above`` takes, of commands that `COMMANDS` does not list."""

_RESUMABLE = ("language", "synthetic")


def names(*known: str) -> Callable[[str], list[str]]:
    """Return what completes a value that is one of the names, or several with commas."""

    def complete(incomplete: str) -> list[str]:
        begun, comma, last = incomplete.rpartition(",")
        return [f"{begun}{comma}{name}" for name in known if name.startswith(last)]

    return complete


def metrics(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the metrics of ``--fail-above`` for the command at hand."""
    known = METRICS.get(ctx.info_name or "", ())
    return [f"{name}=" for name in known if name.startswith(incomplete)]


def metrics_of_all() -> tuple[str, ...]:
    """Return what any audit can be held to."""
    listed = [command.metrics for command in COMMANDS]
    return _once(*listed, *METRICS.values())


def metrics_of_runs() -> tuple[str, ...]:
    """Return what audits can be held to whose commands keep a run."""
    listed = [command.metrics for command in COMMANDS if command.keeps]
    return _once(*listed, *(METRICS[name] for name in _RESUMABLE if name in METRICS))


def _once(*lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in lists for name in names))


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
