"""`privacygauge resume`, `privacygauge report` and `privacygauge runs`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privacygauge.cli import completion, options

if TYPE_CHECKING:
    from privacygauge.cli.resumable import Resumable
    from privacygauge.report.values import Report

RUN = "run"
"""Folder inside of the report's that keeps what was trained."""

CODE = "Code that the run was made with"
"""The heading of options that name code again."""

SCORES = "scores"
"""Folder inside of a run of synthetic tables that keeps what attacks said of them."""


def _again(option: str, metavar: str, what: str) -> Any:
    return typer.Option(
        option,
        metavar=metavar,
        help=f"{what}, if it is code of yours: no code is run because a run folder names it. Code "
        "that has changed since is refused.",
        show_default=False,
        rich_help_panel=CODE,
    )


LimitsOption = Annotated[
    list[str] | None,
    options.limits(
        "Exit with code 3 if METRIC is above VALUE; metrics are those of the command that started "
        "the run.",
        completion.metrics_of_runs(),
    ),
]
OutOption = Annotated[Path | None, options.out("the folder that holds the run")]
RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="Folder of the run, or of the report that it belongs to.",
        show_default=False,
        autocompletion=completion.runs,
    ),
]


def resume(
    run: RunArgument,
    model: Annotated[str | None, _again("--model", "FILE.py:NAME", "The model")] = None,
    fitted: Annotated[str | None, _again("--fitted", "FILE.py:NAME", "The audited model")] = None,
    generator: Annotated[
        str | None, _again("--generator", "FILE.py:NAME", "The generator (or its command:)")
    ] = None,
    jobs: options.Jobs = -1,
    backend: options.Backend = "loky",
    out: OutOption = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
    fail_above: LimitsOption = None,
) -> None:
    """Resume a run that was interrupted: only what is missing is done.

    Example: privacygauge resume privacygauge-report

    Example: privacygauge resume privacygauge-report --model train.py:make
    """
    from privacygauge.audits.user_code import named_again

    place, command, asked = _started(run)
    given = {"model": model, "fitted": fitted, "generator": generator}
    again = named_again(asked, given, place)
    work = partial(_reported, command, again, place, jobs, quiet, False)
    metrics = command.metrics_of(again)
    raise typer.Exit(_written(work, metrics, place, backend, out, json, quiet, fail_above))


def report(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Folder of the run, or of the report that it belongs to.",
            show_default=False,
            autocompletion=completion.reports_and_runs,
        ),
    ],
    out: OutOption = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
    fail_above: LimitsOption = None,
    card: Annotated[
        bool,
        typer.Option(
            "--model-card",
            help="Print a snippet for a model card instead, with the metadata that model hubs "
            "read; with --out it is written to model-card.md there. A report without a run will "
            "do.",
        ),
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="TEXT",
            help="What the model card calls the model. Default: the folder's name.",
            show_default=False,
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            "--dataset",
            metavar="TEXT",
            help="What the model card calls the data. Default: the names of the audited files.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the report of a finished run again; nothing is trained.

    Example: privacygauge report privacygauge-report --out again

    Example: privacygauge report privacygauge-report --model-card --name triage
    """
    from privacygauge.cli.model_card import model_card, refuse_with
    from privacygauge.errors import InputError

    if card:
        refuse_with({"--json": json, "--fail-above": fail_above})
        place = run.absolute()
        own = place.parent if place.name == RUN else place
        model_card(run, own, lambda: _finished_json(run), name, dataset, out)
        return
    if name is not None or dataset is not None:
        raise InputError("--name and --dataset go with --model-card")
    place, metrics, work = _finished(run, quiet)
    raise typer.Exit(_written(work, metrics, place, "loky", out, json, quiet, fail_above))


def _finished_json(run: Path) -> str:
    """Return the JSON of a finished run's report; nothing is trained."""
    from privacygauge.report.render import as_json

    _, _, work = _finished(run, True)
    return as_json(work())


def _finished(run: Path, quiet: bool) -> tuple[Path, Collection[str], Callable[[], Report]]:
    """Return a finished run's own folder, its metrics, and what makes the report of it.

    Nothing is trained, and nothing is imported that the run names.
    """
    _require_finished(run)
    place, command, asked = _started(run)
    work = partial(_reported, command, asked, place, 1, quiet, True)
    return place, command.metrics_of(asked), work


def _reported(
    command: Resumable,
    asked: Mapping[str, Any],
    place: Path,
    jobs: int,
    quiet: bool,
    recorded: bool,
) -> Report:
    from privacygauge.audits.work import made_in

    found = command.audit(asked, place, jobs, quiet, recorded).report()
    origin = replace(found.origin, made=made_in(place) or found.origin.made)
    return replace(found, origin=origin, name=asked.get("title", ""), note=asked.get("note", ""))


def _require_finished(run: Path) -> None:
    from privacygauge.errors import InputError
    from privacygauge.runs.store import read_run

    place = _folder(run)
    parts = [place, *sorted(place.glob(f"{SCORES}*"))]
    missing = [task for part in parts for task in read_run(part).missing()]
    if missing:
        raise InputError(
            f"{run} is not finished, {len(missing)} task(s) are missing: privacygauge resume {run}"
        )


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to look, with all folders below.")
    ] = Path(),
    json: options.Json = None,
) -> None:
    """List the runs below a folder, and how far each has come.

    Example: privacygauge runs
    """
    from privacygauge.cli.output import emit_rows
    from privacygauge.runs.store import runs_in

    emit_rows(
        [
            {
                "run": found.path,
                "kind": found.name,
                "done": found.n_done,
                "of": found.n_units,
                "unit": found.unit,
                "seed": found.seed,
            }
            for found in runs_in(folder)
        ],
        json,
    )


def _written(
    work: Callable[[], Report],
    metrics: Collection[str],
    place: Path,
    backend: str,
    out: Path | None,
    json: str | None,
    quiet: bool,
    fail_above: list[str] | None,
) -> int:
    """Write what an audit finds, and return the exit code."""
    from privacygauge.cli import backends
    from privacygauge.cli.output import destination, emit_report
    from privacygauge.report.limits import exceeded, parsed_limits

    limits = parsed_limits(fail_above, metrics)
    usual = place.parent if out is None and json is None else out
    folder = destination(usual, json, "privacygauge-report")
    with backends.backend(backend):
        report = work()
    return emit_report(report, folder, json, quiet, exceeded(report, limits))


def _started(run: Path) -> tuple[Path, Resumable, dict[str, Any]]:
    """Return a run's own folder, the command that started it, and the options of it."""
    from privacygauge.cli.resumable import RESUMABLE
    from privacygauge.errors import InputError
    from privacygauge.runs.store import read_run

    place = _folder(run)
    invocation = read_run(place).invocation
    if not invocation:
        raise InputError(
            f"{run} was started from Python: make the same call again, with the same folder"
        )
    command, asked = str(invocation.get("command")), invocation.get("options")
    if command not in RESUMABLE or not isinstance(asked, dict):
        raise InputError(f"{run} was started by no command of this version: start it again")
    return place, RESUMABLE[command], dict(asked)


def _folder(given: Path) -> Path:
    """Return the run's own folder, given it or the folder of its report."""
    from privacygauge.errors import InputError
    from privacygauge.runs.store import plan_in

    for place in (given, given / RUN):
        if plan_in(place) is not None:
            return place
    raise InputError(f"{given} holds no run; privacygauge runs lists those below a folder")
