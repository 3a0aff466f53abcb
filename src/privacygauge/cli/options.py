"""Options shared by all commands, with shell completions; imports nothing heavy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

RESULTS = "Results"
"""Heading of the options for destinations of results."""

WORKERS = "Workers"
"""Heading of the options for workers."""


BACKENDS = ("loky", "threading", "dask", "ray")
"""Names of backends for ``--backend``."""


def from_fields(kind: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator for a command whose options are the fields of a dataclass.

    The command takes such a value as its last argument; what comes before it, such as a context,
    stays a parameter of its own. Each field is annotated as typer asks of a parameter.
    """
    hints = get_type_hints(kind, include_extras=True)

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        # The last parameter is the value itself, which typer never sees.
        *before, _ = inspect.signature(run, eval_str=True).parameters.values()
        own = [
            inspect.Parameter(
                f.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if f.default is MISSING else f.default,
                annotation=hints[f.name],
            )
            for f in fields(kind)
        ]

        def command(**given: Any) -> None:
            first = [given.pop(parameter.name) for parameter in before]
            run(*first, kind(**given))

        command.__name__ = run.__name__
        command.__doc__ = run.__doc__
        command.__signature__ = inspect.Signature([*before, *own])  # type: ignore[attr-defined]
        return command

    return decorate


def names(*known: str) -> Callable[[str], list[str]]:
    """Return a shell completion for one of the names, or several separated by commas."""

    def complete(incomplete: str) -> list[str]:
        # Of several names only the last one is still being typed.
        begun, comma, last = incomplete.rpartition(",")
        return [f"{begun}{comma}{name}" for name in known if name.startswith(last)]

    return complete


def runs(incomplete: str) -> list[str]:
    """Complete folders that hold a run, or else folders to search in."""
    return _folders(incomplete, ("run.json", "run/run.json"))


def reports(incomplete: str) -> list[str]:
    """Complete folders that hold a report, or else folders to search in."""
    return _folders(incomplete, ("report.json",))


def reports_and_runs(incomplete: str) -> list[str]:
    """Complete folders that hold a run or a report, or else folders to search in."""
    return _folders(incomplete, ("report.json", "run.json", "run/run.json"))


def _folders(incomplete: str, marks: tuple[str, ...]) -> list[str]:
    """Return the folders that hold one of the files, then the others with a trailing slash."""
    head, slash, start = incomplete.rpartition("/")
    try:
        found = sorted(
            path.name
            for path in Path(head + slash or ".").iterdir()
            if path.name.startswith(start) and path.is_dir() and not path.name.startswith(".")
        )
    except OSError:
        return []
    # Hidden folders are left out, and errors too: a completion must print nothing else.
    place = Path(head + slash)
    marked = [name for name in found if any((place / name / mark).exists() for mark in marks)]
    others = [f"{name}/" for name in found if name not in marked]
    return [f"{head}{slash}{name}" for name in (*marked, *others)]


def text_option(
    flag: str,
    metavar: str,
    told: str,
    panel: str | None = None,
    offers: Callable[[str], list[str]] | None = None,
    *,
    shown: bool = False,
) -> Any:
    """Return an option with its shell completion; typer prints the default only if `shown`."""
    shared: dict[str, Any] = {"metavar": metavar, "help": told, "autocompletion": offers}
    return typer.Option(flag, show_default=shown, rich_help_panel=panel, **shared)


def positional_argument(
    metavar: str, told: str, offers: Callable[[str], list[str]] | None = None
) -> Any:
    """Return an argument with its shell completion."""
    return typer.Argument(metavar=metavar, help=told, show_default=False, autocompletion=offers)


def switch(flag: str, told: str) -> Any:
    """Return an option without a value."""
    return typer.Option(flag, help=told)


def out(folder: str | None, files: str = "report.html, report.json and tables") -> Any:
    """Return the option of ``--out``, whose default is `folder`."""
    usual = f"{folder}, or none with --json" if folder else "none"
    told = f"Folder for {files}; only what PrivacyGauge wrote there is replaced. Default: {usual}."
    return text_option("--out", "DIR", told, RESULTS)


def fail_above_option(told: str, metrics: tuple[str, ...]) -> Any:
    """Return the option of ``--fail-above`` for these metrics."""
    offers = names(*(f"{metric}=" for metric in metrics))
    many = f"{told} Shares may be given in percent (60%). May be given several times."
    return text_option("--fail-above", "METRIC=VALUE", told=many, panel=RESULTS, offers=offers)


_JSON = "Write the result as JSON to this file, or to the standard output."
JSON = text_option("--json", "FILE|-", _JSON, RESULTS)
QUIET = typer.Option(
    "--quiet", "-q", help="Print neither table nor progress.", rich_help_panel=RESULTS
)
_POLICY = (
    "Limits in a TOML file, as --fail-above: a table for each command, named as it is, of lines "
    'such as accuracy = 0.6, accuracy = "60%" or "tpr@0.01" = 0.02.'
)
POLICY = text_option("--policy", "FILE", _POLICY, RESULTS)
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
    autocompletion=names(*BACKENDS),
    help="Where jobs run: loky (processes here), threading, dask or ray.",
    rich_help_panel=WORKERS,
)

Json = Annotated[str | None, JSON]
Policy = Annotated[Path | None, POLICY]
Quiet = Annotated[bool, QUIET]
Jobs = Annotated[int, JOBS]
Backend = Annotated[str, BACKEND]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of all random draws.")]
