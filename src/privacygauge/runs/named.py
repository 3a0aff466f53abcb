"""Runs that people name by their folder, or by the folder of the report that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privacygauge.errors import InputError
from privacygauge.runs.folder import Folder, located, shown, url_of
from privacygauge.runs.store import plan_in, read_run

RUN = "run"
"""Folder inside of the report's that keeps what was computed."""

SCORES = "scores"
"""Folder inside of a run of synthetic tables that keeps what attacks said of them."""


def run_in(given: Path) -> Path:
    """Return the run's own folder, given it or the folder of its report.

    Raises
    ------
    InputError
        If there is no run, or the URL cannot be reached.
    """
    for place in (given, given / RUN):
        if plan_in(place) is not None:
            return place
    if url_of(given):
        read_run(given)  # says what is wrong where a URL cannot be reached
    raise InputError(f"{shown(given)} holds no run; privacygauge runs lists those below a folder")


def invocation_of(run: Path) -> Mapping[str, Any]:
    """Return how the command was called that started a run.

    Raises
    ------
    InputError
        If it was started from Python.
    """
    invocation = read_run(run_in(run)).invocation
    if not invocation:
        raise InputError(
            f"{shown(run)} was started from Python: make the same call again, with the same folder"
        )
    return invocation


def require_finished(run: Path) -> None:
    """Refuse a run that has tasks left, its own or those of a run inside of it.

    Raises
    ------
    InputError
        One line: how many tasks are missing, and the way out.
    """
    place = run_in(run)
    inner = [name for name in Folder(located(place)).names() if name.startswith(SCORES)]
    parts = [place, *(place / name for name in inner)]
    missing = [task for part in parts for task in read_run(part).missing()]
    if missing:
        raise InputError(
            f"{shown(run)} is not finished, {len(missing)} task(s) are missing: privacygauge "
            f"resume {shown(run)}"
        )
