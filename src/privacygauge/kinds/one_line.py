"""One-line forms of audits: functions whose keywords are the fields of a class of options."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, ParamSpec, TypeVar

from privacygauge.errors import InputError, nearest
from privacygauge.kinds.progress import shown_progress
from privacygauge.kinds.session import Session
from privacygauge.runs.options import Options

P = ParamSpec("P")
T = TypeVar("T")

_SESSION = "session"
"""Parameter of the methods that run an audit: the settings of the run, a `Session`."""
NO_RUN = ("run", "n_jobs", "invocation")
"""Settings that an audit without a run folder and workers has no use for."""
KEEPING = (*NO_RUN, "progress")
"""Settings that an audit without models to train, or to ask, has no use for."""
_SETTINGS = {
    "command": "Name of the call, as the report prints it; default: that of this function.",
    "seed": "Seed of all draws, at least 0, or a generator of numpy that draws one.",
    "level": "Level of every interval, in (0, 1).",
    "provenance": "Further lines for the report, by heading.",
    "run": "Folder that keeps the results; an interrupted audit resumes there.",
    "invocation": "Settings from which the run can be started again, kept in its folder.",
    "n_jobs": "Number of processes; default: one, or the setting of ``joblib.parallel_config``.",
    "progress": "Called with the number of steps done and the total; default: a bar in a notebook, "
    "None elsewhere. True for a bar everywhere, False for none.",
    "warnings": "Further warnings for the reader of the report.",
}
"""Descriptions of the fields of a `Session` that a call can give."""


def one_line(
    options: type[Options],
    run: Callable[..., T],
    name: str,
    *,
    command: str = "",
    without: tuple[str, ...] = (),
    arrays: str = "",
) -> Callable[..., T]:
    """Return a function that runs an audit in one call.

    Parameters
    ----------
    options : type
        Class of the options.
    run : callable
        Its method ``run(self, *data, session, **further)``, with a docstring in numpydoc.
    name : str
        Name of the function.
    command : str
        What the report calls it; default: `name`.
    without : tuple of str
        Fields of `Session` that the audit has no use for, so that the call refuses them.
    arrays : str
        Form in which the call takes arrays, for whoever gives them one by one.

    Returns
    -------
    callable
        Takes the data and further arguments of `run`, and the fields of `options` and of `Session`
        as keywords. Its signature and its documentation name each of them.
    """
    own = [
        parameter
        for parameter in list(inspect.signature(run).parameters.values())[1:]
        if parameter.name != _SESSION
    ]
    taken = {parameter.name for parameter in own}
    of_options = [(f, text) for f, text in options.described() if f.name not in taken]
    of_session = [f for f in fields(Session) if f.name not in without]
    keywords = [*(f for f, _ in of_options), *of_session]
    option_names = {f.name for f in fields(options)}
    setting_names = {f.name for f in of_session}

    def audit(*data: Any, **given: Any) -> T:
        further = {key: x for key, x in given.items() if key in taken}
        asked = {key: x for key, x in given.items() if key in option_names}
        settings = {key: x for key, x in given.items() if key in setting_names}
        check_keywords(name, given, {*taken, *(f.name for f in keywords)})
        check_positions(name, own, data, named=further, arrays=arrays)
        if "progress" in setting_names:
            settings["progress"] = shown_progress(name, settings.get("progress"))
        session = Session(**{"command": command or name, **settings})
        return run(options(**asked), *data, session=session, **further)

    audit.__name__ = audit.__qualname__ = name
    audit.__module__ = run.__module__
    text = inspect.getdoc(run)
    if text is not None:  # Python may have been told to drop it
        # The fields take the place of the session, which is the last parameter.
        lines = text.splitlines()
        (first,) = (i for i, line in enumerate(lines) if line.startswith(f"{_SESSION} :"))
        after = next((i for i in range(first + 1, len(lines)) if lines[i][:1] != " "), len(lines))
        entries = [line for f, help in of_options for line in _entry(f, help)]
        settings = [line for f in of_session for line in _entry(f, _SETTINGS[f.name])]
        audit.__doc__ = "\n".join([*lines[:first], *entries, *settings, *lines[after:]])
    parameters = list(own)
    for f in keywords:
        default = inspect.Parameter.empty if f.default is MISSING else f.default
        if f.name == "command":
            default = command or name
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(f.name, kind, default=default, annotation=f.type))
    audit.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=inspect.signature(run).return_annotation
    )
    return audit


def check_keywords(name: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise a `TypeError` with the nearest name if a call has a keyword that is not known."""
    for key in given:
        if key not in known:
            raise TypeError(
                f"{name}() got an unexpected keyword argument {key!r}{nearest(key, known)}"
            )


def check_positions(
    name: str,
    parameters: Sequence[inspect.Parameter],
    data: Sequence[object],
    *,
    named: Collection[str] = (),
    arrays: str = "",
) -> None:
    """Raise an `InputError` if a call has too many values by position, or lacks one.

    Parameters
    ----------
    name : str
        Name of the function.
    parameters : sequence of inspect.Parameter
        Its parameters.
    data : sequence
        Values by position.
    named : collection of str
        Names of the values given by keyword.
    arrays : str
        Form in which the call takes arrays.
    """
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return
    placed = [p for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    known = ", ".join(p.name for p in placed)
    mend = f": arrays go together, as {arrays}" if arrays else ": give the others by their names"
    if len(data) > len(placed):
        raise InputError(
            f"{name}() takes {known or 'nothing'} by position, not {len(data)} values{mend}"
        )
    both = [p.name for p in placed[: len(data)] if p.name in named]
    if both:
        raise InputError(f"{name}() got {both[0]} by position and by its name: give it once")
    missing = [p.name for p in placed[len(data) :] if p.default is p.empty and p.name not in named]
    if missing:
        raise InputError(f"{name}() needs {' and '.join(missing)}: it takes {known}")


def by_position(arrays: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator with which a call tells in one line how its values are given.

    `arrays` as in `one_line`.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        parameters = list(inspect.signature(function).parameters.values())
        known = [p.name for p in parameters]

        @functools.wraps(function)
        def call(*data: P.args, **named: P.kwargs) -> T:
            check_keywords(function.__name__, named, known)
            check_positions(function.__name__, parameters, data, named=named, arrays=arrays)
            return function(*data, **named)

        return call

    return decorate


def _entry(f: Field[Any], text: str) -> Iterator[str]:
    optional = "" if f.default is MISSING else ", optional"
    yield f"{f.name} : {str(f.type).removesuffix(' | None')}{optional}"
    yield from textwrap.wrap(text, 96, initial_indent="    ", subsequent_indent="    ")
