"""Where code that is not ours comes from: what a run must know so as not to go on with another."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from types import CodeType
from typing import Any

UNKNOWN = "unknown"
"""What stands for a value that has no digest, such as an open file."""


def origin(thing: object) -> Mapping[str, str]:
    """Return the name, the version and digests of code, and of the values it carries.

    Parameters
    ----------
    thing : function, class, partial, or object
        Of an object, its class is the code, and its state the values. Of a partial, the
        arguments are values; of a function, what it closes over and its defaults.

    Returns
    -------
    mapping of str to str
        ``name``: module and qualified name. ``version``: of the distribution that has the
        module, where there is one. ``code``: a digest of the file that defines it (not of what
        else it imports) and of its place there, or of the bytecode of what is in no file.
        ``values``: a digest of the values, where there are any.
    """
    carried = _carried(thing)
    while isinstance(thing, functools.partial):
        thing = thing.func
    code = _code_of(thing)
    module = getattr(code, "__module__", None) or "builtins"
    entries = {
        "name": f"{module}.{getattr(code, '__qualname__', type(code).__name__)}",
        "version": _version(module),
        "code": _digest_of_code(code),
        "values": _digest_of_values(carried) if carried else "",
    }
    return {key: value for key, value in entries.items() if value}


def digest_of_file(path: str | Path) -> str:
    """Return the first 16 digits of the sha256 of a file's content."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def called(thing: object) -> str:
    """Return the short name of a function, a class, or an object's class."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    return str(getattr(_code_of(thing), "__qualname__", type(thing).__name__))


def _code_of(thing: object) -> object:
    return thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing)


def _carried(thing: Any) -> list[object]:
    """Return values that the result may depend on: an object's state, a function's closure."""
    if isinstance(thing, functools.partial):
        bound = [part for part in (thing.args, thing.keywords) if part]
        return [*bound, *_carried(thing.func)]
    if inspect.ismethod(thing):
        return [thing.__self__, *_carried(thing.__func__)]
    if inspect.isfunction(thing):
        cells = [cell.cell_contents for cell in thing.__closure__ or () if _filled(cell)]
        return [part for part in (cells, thing.__defaults__, thing.__kwdefaults__) if part]
    if isinstance(thing, type) or inspect.isroutine(thing):
        return []
    return [thing]


def _filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # a function that refers to itself, while it is being made
        return False
    return True


def _version(module: str) -> str:
    top = module.partition(".")[0]
    try:
        return f"{top} {version(top)}"
    except PackageNotFoundError:
        found = _distributions().get(top, [])
        return " ".join(f"{name} {version(name)}" for name in sorted(set(found)))


@functools.cache  # it reads the metadata of everything that is installed
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def _digest_of_code(code: Any) -> str:
    try:
        file = inspect.getsourcefile(inspect.unwrap(code))
    except (TypeError, OSError):  # compiled, or typed in at a prompt
        file = None
    if file is not None and Path(file).is_file():
        # A file may hold many functions of one name, such as <lambda>.
        line = code.__code__.co_firstlineno if inspect.isfunction(code) else 0
        return _hashed(f"{digest_of_file(file)} {line}")
    if inspect.isfunction(code):
        return _hashed(_bytecode(code.__code__))
    if isinstance(code, type):
        own = [value for value in vars(code).values() if inspect.isfunction(value)]
        return _hashed("".join(_bytecode(function.__code__) for function in own))
    return ""


def _bytecode(code: CodeType) -> str:
    """Return all that a function does, without the addresses that its constants show."""
    constants = [_constant(value) for value in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names}"


def _constant(value: object) -> str:
    if isinstance(value, CodeType):
        return _bytecode(value)
    # A set of texts shows in an order that changes with every start of Python.
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _digest_of_values(values: list[object]) -> str:
    from joblib import hash as hash_of

    # Pickling runs code of the user's, which may raise anything.
    try:
        return str(hash_of([_by_name(value) for value in values], hash_name="sha1"))[:16]
    except Exception:  # noqa: BLE001
        return UNKNOWN


def _by_name(value: Any) -> Any:
    """Return functions as their origin, since pickling one asks for its name alone."""
    if inspect.isroutine(value) or isinstance(value, functools.partial):
        return dict(origin(value))
    if isinstance(value, frozenset):  # joblib puts a set in order, but not this
        return sorted(map(repr, value))
    if isinstance(value, list | tuple):
        return [_by_name(part) for part in value]
    if isinstance(value, dict):
        return {key: _by_name(part) for key, part in value.items()}
    return value


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
