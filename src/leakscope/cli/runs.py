"""`leakscope resume`, `leakscope report` and `leakscope runs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli import options

RUN = "run"
"""Folder inside of the report's that keeps what was trained."""

SCORES = "scores"
"""Folder inside of a run of synthetic tables that keeps what attacks said of them."""

RunArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="Folder of the run, or of the report that it belongs to.",
        show_default=False,
    ),
]


def resume(
    run: RunArgument,
    jobs: options.Jobs = -1,
    backend: options.Backend = "loky",
    out: options.Out = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
    fail_above: options.FailAbove = None,
) -> None:
    """Go on with a run that was interrupted: only what is missing is done.

    Example: leakscope resume leakscope-report
    """
    raise typer.Exit(_go_on(run, jobs, backend, out, json, quiet, fail_above))


def report(
    run: RunArgument,
    out: options.Out = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
    fail_above: options.FailAbove = None,
) -> None:
    """Write the report of a finished run again; nothing is trained.

    Example: leakscope report leakscope-report --out again
    """
    from leakscope.errors import InputError
    from leakscope.runs.store import read_run

    place = _folder(run)
    parts = [place, *(part for part in (place / SCORES,) if part.is_dir())]
    missing = [task for part in parts for task in read_run(part).missing()]
    if missing:
        raise InputError(
            f"{run} is not finished, {len(missing)} task(s) are missing: leakscope resume {run}"
        )
    raise typer.Exit(_go_on(run, 1, "loky", out, json, quiet, fail_above))


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to look, with all folders below.")
    ] = Path(),
    json: options.Json = None,
) -> None:
    """List the runs below a folder, and how far each has come.

    Example: leakscope runs
    """
    from leakscope.cli.output import emit_rows
    from leakscope.runs.store import runs_in

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


def _go_on(
    run: Path,
    jobs: int,
    backend: str,
    out: Path | None,
    json: str | None,
    quiet: bool,
    fail_above: list[str] | None,
) -> int:
    from leakscope.cli import backends
    from leakscope.cli.gate import parse_limits
    from leakscope.cli.output import destination, emit
    from leakscope.cli.resumable import RESUMABLE
    from leakscope.errors import InputError
    from leakscope.runs.store import read_run

    place = _folder(run)
    invocation = read_run(place).invocation
    if not invocation:
        raise InputError(
            f"{run} was started from Python: make the same call again, with the same folder"
        )
    command = RESUMABLE[invocation["command"]]
    limits = parse_limits(fail_above, command.metrics)
    usual = place.parent if out is None and json is None else out
    folder = destination(usual, json, "leakscope-report")
    with backends.backend(backend):
        found = command.audit(invocation["options"], place, jobs, quiet)
    return emit(found, folder, json, quiet, command.exceeded(found, limits))


def _folder(given: Path) -> Path:
    """Return the run's own folder, given it or the folder of its report."""
    from leakscope.classifier.shadows import plan_in
    from leakscope.errors import InputError

    for place in (given, given / RUN):
        if plan_in(place) is not None:
            return place
    raise InputError(f"{given} holds no run; leakscope runs lists those below a folder")
