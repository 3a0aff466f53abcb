"""One-line forms of audits: functions whose keywords are the fields of a class of options."""

from __future__ import annotations

import difflib
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from privacygauge.audits.work import Session
from privacygauge.runs.options import Options

T = TypeVar("T")

_SESSION = "session"
"""Parameter of the methods that run an audit: the settings of the run, a `Session`."""


def one_line(
    options: type[Options], run: Callable[..., T], name: str, *, command: str = ""
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
    of_session = [f for f in fields(Session) if f.name != "command"]
    keywords = [*(f for f, _ in of_options), *of_session]

    def audit(*data: Any, **given: Any) -> T:
        further = {key: value for key, value in given.items() if key in taken}
        asked = _fields_of(options, given)
        session = _fields_of(Session, {"command": command or name, **given})
        for key in given:
            if key not in taken and key not in asked and key not in session:
                known = [*taken, *(f.name for f in keywords)]
                close = difflib.get_close_matches(key, known, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}{hint}")
        return run(options(**asked), *data, session=Session(**session), **further)

    audit.__name__ = audit.__qualname__ = name
    audit.__module__ = run.__module__
    text = inspect.getdoc(run)
    if text is not None:  # Python may have been told to drop it
        # The fields take the place of the session, which is the last parameter.
        lines = text.splitlines()
        (first,) = (i for i, line in enumerate(lines) if line.startswith(f"{_SESSION} :"))
        after = next((i for i in range(first + 1, len(lines)) if lines[i][:1] != " "), len(lines))
        entries = [line for f, help in of_options for line in _entry(f, help)]
        audit.__doc__ = "\n".join([*lines[:first], *entries, *_RUN_SETTINGS, *lines[after:]])
    audit.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*own, *(_parameter(f) for f in keywords)],
        return_annotation=inspect.signature(run).return_annotation,
    )
    return audit


def _fields_of(kind: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    names = {f.name for f in fields(kind)}
    return {key: value for key, value in given.items() if key in names}


def _parameter(f: Field[Any]) -> inspect.Parameter:
    default = inspect.Parameter.empty if f.default is MISSING else f.default
    return inspect.Parameter(
        f.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=f.type
    )


_RUN_SETTINGS = (
    "seed, level, run, n_jobs, progress, invocation, provenance",
    "    Seed of all draws, level of every interval, folder that keeps the results, number of",
    "    processes, callback for progress, and facts about the call for its run and report; see",
    "    `Session`.",
)


def _entry(f: Field[Any], text: str) -> Iterator[str]:
    optional = "" if f.default is MISSING else ", optional"
    yield f"{f.name} : {str(f.type).removesuffix(' | None')}{optional}"
    yield from textwrap.wrap(text, 96, initial_indent="    ", subsequent_indent="    ")
