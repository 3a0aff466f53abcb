"""Running the user's code: seeded, with separate output and named errors.

Every ``seed`` or ``random_state`` argument gets a number. As many libraries draw instead from the
global states of numpy, random and torch (where it is loaded), these are seeded with the same number
around every call and restored after it; a process therefore makes one such call at a time. Code
that seeds itself from the clock, or TensorFlow, is out of reach: its results cannot be reproduced.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.errors import InputError
from privacygauge.runs.source import version_of
from privacygauge.synthetic.generators.returned import one_line

SEEDS = ("seed", "random_state")
"""Names of arguments that take a seed."""

# A process has one set of global random states.
_ALONE = threading.RLock()


def takes(function: Callable[..., Any], n_positional: int) -> bool:
    """Return whether a callable takes a number of positional arguments and a seed by name."""
    try:
        signature = inspect.signature(function)
        signature.bind(*range(n_positional), **seed_by_name(function, 0))
    except (TypeError, ValueError):  # other arguments; compiled code that does not say
        return False
    return True


@contextlib.contextmanager
def theirs(name: str, seed: int) -> Iterator[None]:
    """Run the user's code with global random states seeded; its exceptions become an InputError.

    Its output goes to standard error, so that results on standard output stay whole.
    """
    try:
        with _ALONE, _seeded_globals(seed), contextlib.redirect_stdout(sys.stderr):
            yield
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(
            f"generator {name!r} failed with {_error_text(error)}: call it by itself to see where"
        ) from error


@contextlib.contextmanager
def _seeded_globals(seed: int) -> Iterator[None]:
    # The user's code may draw from these states, though ours never does.
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002
    torch = sys.modules.get("torch")
    torches = None if torch is None else torch.get_rng_state()
    on_gpu: list[Any] = []
    # Asking for the states would start CUDA where the user's code does not.
    if torch is not None and torch.cuda.is_initialized():
        on_gpu = torch.cuda.get_rng_state_all()
    try:
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        if torch is not None:
            torch.manual_seed(seed)
        yield
    finally:
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)
        if torch is not None:
            torch.set_rng_state(torches)
            for number, state in enumerate(on_gpu):
                torch.cuda.set_rng_state(state, number)


def drawn_seed(rng: np.random.Generator) -> int:
    """Draw a seed that every library accepts, in 0..2**31-1."""
    return int(rng.integers(2**31))


def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the names of the arguments that can be passed by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled code may not say
        return {}
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: value for name, value in parameters.items() if value.kind in kinds}


def seed_by_name(function: Callable[..., Any], seed: int) -> dict[str, int]:
    """Return the seed under every name that the callable has for it; empty without any."""
    known = parameters_of(function)
    return {name: seed for name in SEEDS if name in known}


def require_sendable(generator: object, name: str) -> None:
    """Refuse, before any work, a generator that cannot be sent to another process.

    Raises
    ------
    InputError
        One line: what is in the way, and the way out.
    """
    # What joblib's processes use themselves: it takes lambdas too.
    from joblib.externals.loky.backend.reduction import dumps

    # Pickling runs code of the user's, which may raise anything.
    try:
        dumps(generator)
    except Exception as error:
        raise InputError(
            f"generator {name!r} cannot be sent to another process ({_error_text(error)}): give a "
            "function that makes it, or use one job"
        ) from error


def _error_text(error: BaseException) -> str:
    said = one_line(str(error))
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def code_origin(thing: object) -> Mapping[str, str]:
    """Return the name and the version of code; its content is compared by `runs.code`.

    Parameters
    ----------
    thing : function, class, partial, or object
        Code; for an object, that of its class.

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
    """Return the first 16 hexadecimal digits of the SHA-256 of a file's content."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def short_name(thing: object) -> str:
    """Return the short name of a function, a class, or an object's class."""
    code = _code_of(thing)
    return str(getattr(code, "__qualname__", type(code).__name__))


def _code_of(thing: object) -> object:
    while isinstance(thing, functools.partial):
        thing = thing.func
    return thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing)
