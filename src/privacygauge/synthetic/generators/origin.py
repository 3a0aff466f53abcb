"""Where code that is not ours comes from: what reports say of it."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Mapping
from pathlib import Path

from privacygauge.runs.source import version_of


def origin(thing: object) -> Mapping[str, str]:
    """Return the name and the version of code; what it does is compared by `runs.code`.

    Parameters
    ----------
    thing : function, class, partial, or object
        Of an object, its class is the code.

    Returns
    -------
    mapping of str to str
        ``name``: module and qualified name. ``version``: of the distribution that has the
        module, where there is one.
    """
    code = _code_of(thing)
    module = getattr(code, "__module__", None) or "builtins"
    name = f"{module}.{getattr(code, '__qualname__', type(code).__name__)}"
    known = version_of(module)
    return {"name": name, "version": known} if known else {"name": name}


def digest_of_file(path: str | Path) -> str:
    """Return the first 16 digits of the sha256 of a file's content."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def called(thing: object) -> str:
    """Return the short name of a function, a class, or an object's class."""
    code = _code_of(thing)
    return str(getattr(code, "__qualname__", type(code).__name__))


def _code_of(thing: object) -> object:
    while isinstance(thing, functools.partial):
        thing = thing.func
    return thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing)
