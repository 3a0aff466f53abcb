"""Options that every command has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from privacygauge.cli import completion

RESULTS = "Results"
"""The heading of options that say where results go."""

WORKERS = "Workers"
"""The heading of options that say who does the work."""


def text(
    flag: str,
    metavar: str,
    told: str,
    panel: str | None = None,
    offers: Callable[[str], list[str]] | None = None,
    *,
    shown: bool = False,
) -> Any:
    """Return an option and what a shell offers for it; its help says its default unless `shown`."""
    shared: dict[str, Any] = {"metavar": metavar, "help": told, "autocompletion": offers}
    return typer.Option(flag, show_default=shown, rich_help_panel=panel, **shared)


def argument(metavar: str, told: str, offers: Callable[[str], list[str]] | None = None) -> Any:
    """Return an argument, and what a shell offers for it."""
    return typer.Argument(metavar=metavar, help=told, show_default=False, autocompletion=offers)


def switch(flag: str, told: str) -> Any:
    """Return an option without a value."""
    return typer.Option(flag, help=told)


def out(folder: str | None, files: str = "report.html, report.json and tables") -> Any:
    """Return the option of ``--out``, whose default is `folder`."""
    usual = f"{folder}, or none with --json" if folder else "none"
    told = f"Folder for {files}; what is there is replaced. Default: {usual}."
    return text("--out", "DIR", told, RESULTS)


def limits(told: str, metrics: tuple[str, ...]) -> Any:
    """Return the option of ``--fail-above`` for these metrics."""
    offers = completion.names(*(f"{metric}=" for metric in metrics))
    many = f"{told} May be given several times."
    return text("--fail-above", "METRIC=VALUE", many, RESULTS, offers)


_JSON = "Write the result as JSON to this file, or to the standard output."
JSON = text("--json", "FILE|-", _JSON, RESULTS)
QUIET = typer.Option(
    "--quiet", "-q", help="Print neither table nor progress.", rich_help_panel=RESULTS
)
_POLICY = (
    "Limits in a TOML file, as --fail-above: a table for each command, named as it is, of lines "
    'such as accuracy = 0.6 or "tpr@0.01" = 0.02.'
)
POLICY = text("--policy", "FILE", _POLICY, RESULTS)
PLAN_ONLY = typer.Option(
    "--plan-only",
    help="Plan the run and stop: privacygauge worker computes it, in several processes at once.",
    rich_help_panel=WORKERS,
)
JOBS = typer.Option(
    "--jobs",
    metavar="N",
    help="Number of jobs at the same time; -1: one per core.",
    rich_help_panel=WORKERS,
)
BACKEND = typer.Option(
    "--backend",
    metavar="NAME[=ADDRESS]",
    autocompletion=completion.names(*completion.BACKENDS),
    help="Where jobs run: loky (processes here), threading, dask or ray.",
    rich_help_panel=WORKERS,
)

Json = Annotated[str | None, JSON]
Policy = Annotated[Path | None, POLICY]
Quiet = Annotated[bool, QUIET]
Jobs = Annotated[int, JOBS]
Backend = Annotated[str, BACKEND]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of all random draws.")]
