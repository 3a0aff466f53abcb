"""Code named by options, compared with the code of a run before any of it is executed.

A run folder records its code, but the record is never executed: to resume the run, the user names
the code again.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from privacygauge.errors import InputError
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
from privacygauge.runs.store import OTHER_CODE, is_void, read_run, require_same_code


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


def code_in(options: Mapping[str, object]) -> dict[str, str]:
    """Return those options that name the user's code."""
    return {name: str(text) for name, text in options.items() if names_code(text)}


def compared_code(given: Mapping[str, object], run: Path | None) -> dict[str, dict[str, str]]:
    """Return digests of the code that options name, after comparing them with those of a run.

    `given` are options of a command, by name, some of which may name code. The run's folder need
    not exist.

    Raises
    ------
    InputError
        If the run was made with other code; one line that names the changes.
    """
    here = {name: _pieces(text) for name, text in code_in(given).items()}
    there = {} if run is None or is_void(run) else _recorded_code(run)
    for name in here:
        if name in there:
            _require_same(there[name], here[name], run)
    return here


def named_again(
    asked: Mapping[str, Any], given: Mapping[str, str | None], run: Path
) -> dict[str, Any]:
    """Return the options of a run, with its code as named again on the command line.

    `asked` are the recorded options of the run; `given` are those of the command line, by name,
    with None for options that were not given.

    Raises
    ------
    InputError
        If code is not named again, is not that of the run, or is named for an option without code.
    """
    found = dict(asked)
    there = _recorded_code(run)
    for name, again in given.items():
        if not names_code(asked.get(name)):
            if again is not None:
                raise InputError(f"--{name} is not of a file in this run: leave it out")
            continue
        if again is None or not names_code(again):
            raise InputError(
                f"the run was made with code of its own, {asked[name]!r}: name it again with "
                f"--{name}, for a run folder alone has no code run"
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
    if place.endswith(".py"):
        # Workers import the module by its name, from the same folder.
        path = Path(place)
        sys.path.insert(0, str(path.absolute().parent))
        module = _module(path.stem)
        if Path(getattr(module, "__file__", None) or "").resolve() != path.resolve():
            raise InputError(f"{path} has the name of another module, {path.stem}: rename the file")
    else:
        module = _module(place)
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


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (ImportError, SyntaxError) as error:
        raise InputError(f"{name} cannot be imported: {error}") from error
