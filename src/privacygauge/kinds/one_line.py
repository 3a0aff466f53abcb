"""One-line forms of audits: functions whose keywords are the fields of a class of options."""

from __future__ import annotations

import difflib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields
from typing import Any, TypeVar

from privacygauge.kinds.session import Session
from privacygauge.runs.options import Options

T = TypeVar("T")

_SESSION = "session"
"""Parameter of the methods that run an audit: the settings of the run, a `Session`."""
NO_RUN = ("run", "n_jobs", "invocation")
"""Settings that an audit without a run folder and workers has no use for."""
KEEPING = (*NO_RUN, "progress")
"""Settings that an audit without models to train, or to ask, has no use for."""
_SETTINGS = {
    "command": "Name of the call, as the report prints it; default: that of this function.",
    "seed": "Seed of all draws, at least 0.",
    "level": "Level of every interval, in (0, 1).",
    "provenance": "Further lines for the report, by heading.",
    "run": "Folder that keeps the results; an interrupted audit resumes there.",
    "invocation": "Settings from which the run can be started again, kept in its folder.",
    "n_jobs": "Number of processes; default: one, or the setting of ``joblib.parallel_config``.",
    "progress": "Called with the number of steps done and the total.",
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
        for key in given:
            if key not in {*further, *asked, *settings}:
                known = [*taken, *(f.name for f in keywords)]
                close = difflib.get_close_matches(key, known, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}{hint}")
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


def _entry(f: Field[Any], text: str) -> Iterator[str]:
    optional = "" if f.default is MISSING else ", optional"
    yield f"{f.name} : {str(f.type).removesuffix(' | None')}{optional}"
    yield from textwrap.wrap(text, 96, initial_indent="    ", subsequent_indent="    ")
