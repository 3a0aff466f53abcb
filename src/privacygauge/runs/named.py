"""Runs, their moved files and their code, as the user names them.

A run is named by its own folder, or by that of its report. A run folder records its code, but the
record is never executed: to resume the run, the user names the code again, and it is compared with
the record before any of it is executed.
"""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from privacygauge.core.checks import short_list
from privacygauge.errors import InputError
from privacygauge.runs.folder import absolute_place, place_text, url_of
from privacygauge.runs.results import file_hashes
from privacygauge.runs.source import (
    NOT_CHECKED,
    PROGRAM,
    absolute,
    digest,
    files_beside,
    files_of_module,
    on_one_side,
    pieces_of,
    version_of,
)
from privacygauge.runs.store import OTHER_CODE, is_void, plan_in, read_run, require_same_code

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


def names_code(value: object) -> bool:
    """Return whether an option names the user's code rather than a built-in.

    Built-in names may have options and numbers: ``privbayes:epsilon=1``, ``rmse:0:1``.

    Examples
    --------
    >>> names_code("train.py:make"), names_code("privbayes:epsilon=1"), names_code("rmse:0:1")
    (True, False, False)
    """
    if not isinstance(value, str) or ":" not in value:
        return False
    return value.startswith(PROGRAM) or value.rpartition(":")[2].strip().isidentifier()


def compared_code(given: Mapping[str, object], run: Path | None) -> dict[str, dict[str, str]]:
    """Return digests of the code that options name, after comparing them with those of a run.

    `given` are options of a command, by name, some of which may name code. The run's folder need
    not exist.

    Raises
    ------
    InputError
        If the run was made with other code; one line that names the changes.
    """
    here = {name: _pieces(str(text)) for name, text in given.items() if names_code(text)}
    there = {} if run is None or is_void(run) else _recorded_code(run)
    for name in here:
        if name in there:
            _require_same(there[name], here[name], run)
    return here


OPTIONS = ("model", "fitted", "generator", "metric")
"""Options of ``resume`` and ``worker`` that name code again; ``--code`` names that of others."""


def again_text(name: str, code: str) -> str:
    """Return the words that name code again on the command line."""
    if name in OPTIONS:
        return f"--{name} {shlex.quote(code)}"
    return f"--code {shlex.quote(f'{name}={code}')}"


def named_again(
    asked: Mapping[str, Any], given: Mapping[str, str | None], run: Path, code: Iterable[str]
) -> dict[str, Any]:
    """Return the options of a run, with its code as named again on the command line.

    `asked` are the recorded options of the run; `given` are those of the command line, by name,
    with None for options that were not given. `code` are the names of all options that may name
    code, those of other packages' kinds among them.

    Raises
    ------
    InputError
        If code is not named again, is not that of the run, or is named for an option without code.
    """
    found = dict(asked)
    there = _recorded_code(run)
    for name in dict.fromkeys((*given, *code)):
        again = given.get(name)
        if not names_code(asked.get(name)):
            if again is not None:
                raise InputError(f"--{name} is not of a file in this run: leave it out")
            continue
        if again is None or not names_code(again):
            option = f"--{name}" if name in OPTIONS else f"--code {name}=FILE.py:NAME"
            raise InputError(
                f"the run was made with code of its own, {asked[name]!r}: name it again with "
                f"{option}, for a run folder alone has no code run"
            )
        _require_same(there.get(name, {}), _pieces(again), run)
        found[name] = absolute(again)
    return found


def _recorded_code(run: Path) -> Mapping[str, Mapping[str, str]]:
    try:
        stored = (read_run(run).invocation or {}).get("code")
    except InputError:
        return {}
    return stored if isinstance(stored, Mapping) else {}


def _require_same(there: Mapping[str, str], here: Mapping[str, str], run: Path | None) -> None:
    require_same_code(there, here, str(run))
    if (told := on_one_side(there, here)) is not None:
        raise InputError(OTHER_CODE.format(run, told))


def _pieces(name: str) -> dict[str, str]:
    """Return digests of the code behind a name, without importing or starting anything."""
    if name.startswith(PROGRAM):
        return {"the command": digest(name.removeprefix(PROGRAM).strip())}
    place, attribute = _parts(name)
    files = files_beside(Path(place)) if place.endswith(".py") else files_of_module(place)
    known = pieces_of(files) or {"the module": digest(f"{place} {version_of(place)}")}
    if files.cut:
        known[NOT_CHECKED + files.cut] = ""
    return {"the name after the colon": digest(attribute), **known}


def code_digest(name: str) -> str:
    """Return 8 hexadecimal digits of a digest of the code behind a name, without importing it."""
    return digest(repr(sorted(_pieces(name).items())))[:8]


def import_object(name: str) -> Any:
    """Import and return the object named by FILE.py:NAME or MODULE:NAME, which runs that code."""
    place, attribute = _parts(name)
    path = Path(place)
    is_file = place.endswith(".py")
    module_name = path.stem if is_file else place
    if is_file:
        # Workers import the module by its name, from the same folder.
        sys.path.insert(0, str(path.absolute().parent))
    try:
        module = importlib.import_module(module_name)
    except (ImportError, SyntaxError) as error:
        raise InputError(f"{module_name} cannot be imported: {error}") from error
    if is_file and Path(getattr(module, "__file__", None) or "").resolve() != path.resolve():
        raise InputError(f"{path} has the name of another module, {path.stem}: rename the file")
    if not hasattr(module, attribute):
        raise InputError(f"{place} has no {attribute!r}")
    return getattr(module, attribute)


def _parts(name: str) -> tuple[str, str]:
    """Split a name into an existing file or a module, and an attribute."""
    # From the right, since a path may contain a colon.
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise InputError(f"give FILE.py:NAME or MODULE:NAME, got {name!r}")
    if place.endswith(".py") and not Path(place).is_file():
        raise InputError(f"{Path(place)} does not exist")
    return place, attribute
