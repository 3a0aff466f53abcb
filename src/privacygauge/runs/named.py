"""Runs named by the user: by their own folder, or by that of their report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from privacygauge.core.checks import short_list
from privacygauge.errors import InputError
from privacygauge.runs.folder import absolute_place, place_text, url_of
from privacygauge.runs.results import file_hashes
from privacygauge.runs.store import plan_in, read_run

RUN = "run"
"""Folder of the run, inside the folder of the report."""

FILES = "files"
"""Key in a run's record for the digests of its input files, by name of the option."""

SCORES = "scores"
"""Folder for the scores of attacks, inside a run on synthetic tables."""


def run_in(given: Path) -> Path:
    """Return the folder of a run, given that folder or the folder of its report.

    Raises
    ------
    InputError
        If there is no run, or the URL cannot be reached.
    """
    for place in (given, given / RUN):
        if plan_in(place) is not None:
            return place
    if url_of(given):
        read_run(given)  # raises the reason if the URL cannot be reached
    raise InputError(
        f"{place_text(given)} holds no run; privacygauge runs lists those below a folder"
    )


def invocation_of(run: Path) -> Mapping[str, Any]:
    """Return the invocation of the command that started a run.

    Raises
    ------
    InputError
        If it was started from Python.
    """
    invocation = read_run(run_in(run)).invocation
    if not invocation:
        raise InputError(
            f"{place_text(run)} was started from Python: make the same call again, with the same "
            "folder"
        )
    return invocation


def with_moved_files(
    asked: Mapping[str, Any], files: Collection[str], given: Sequence[str], run: Path
) -> dict[str, Any]:
    """Return the options of a run, with the new places of files that were moved since it began.

    Parameters
    ----------
    asked : mapping of str to object
        Recorded options of the run.
    files : collection of str
        Names of the options that are files, the data first.
    given : sequence of str
        New places: ``FILE`` for the first file of the run, ``OPTION=FILE`` for another one.
    run : Path

    Raises
    ------
    InputError
        If a file is not one of the run's, or differs from the one it began with; or if a file is
        missing and no new place is given.
    """
    found = dict(asked)
    known = [name for name in files if isinstance(asked.get(name), str)]
    digests = (read_run(run).invocation or {}).get(FILES)
    there = digests if isinstance(digests, Mapping) else {}
    for text in given:
        option, equals, file = text.partition("=")
        # Options have dashes on the command line and underscores in the record.
        name = option.strip("-").replace("-", "_") if equals else next(iter(known), "")
        path = file if equals else text
        if name not in known:
            raise InputError(
                f"--data {text}: the run has no file {name!r}; it has {short_list(known) or 'none'}"
            )
        # Only local files can be hashed here.
        if url_of(path) is None:
            here = file_hashes({name: Path(path).absolute()})[name].rpartition(" ")[2]
            if not Path(path).exists():
                raise InputError(f"{path} does not exist")
            if name in there and str(there[name]).rpartition(" ")[2] != here:
                raise InputError(
                    f"{path} is not the file that the run began with, {asked[name]}: its digest "
                    "differs; name that file, or start a new run in another folder"
                )
        found[name] = absolute_place(path)
    for name in known:
        if url_of(found[name]) is None and not Path(found[name]).exists():
            raise InputError(
                f"{found[name]} does not exist any more: if it was moved, say where it is with "
                f"--data {name}=FILE"
            )
    return found
