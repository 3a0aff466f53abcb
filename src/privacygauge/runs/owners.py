"""Whose code is: the user's, Python's, an installed package's, or ours."""

from __future__ import annotations

import functools
import re
import site
import sys
import sysconfig
import types
from importlib.metadata import Distribution, PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any

OWN = "privacygauge"
"""Our own package."""

PYTHON = frozenset((OWN, *sys.builtin_module_names, *sys.stdlib_module_names))
"""Packages whose versions a run names in any case."""


def is_theirs(module: str) -> bool:
    """Return whether a module is the user's: neither Python's, nor installed, nor ours."""
    if module == "__main__":
        return True
    if not module or package_of(module) in PYTHON:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    file = file or getattr(sys.modules.get(package_of(module)), "__file__", None)
    if file:
        return not is_installed(file)
    return module not in sys.modules and not version_of(module)  # made by exec, or absent


def is_their_function(function: types.FunctionType) -> bool:
    """Return whether a function was written by the user."""
    # A wrapper of an installed decorator has the name of what it wraps; its file tells.
    file = function.__code__.co_filename
    return is_theirs(module_of(function)) if file.startswith("<") else not is_installed(file)


@functools.cache
def is_installed(file: str) -> bool:
    """Return whether a file belongs to Python, to an installed package or to PrivacyGauge."""
    places = Path(file).absolute(), Path(file).resolve()
    return any(place.is_relative_to(root) for place in places for root in _installed())


def version_of(module: str) -> str:
    """Return the name and version of the package that has a module; empty where none does."""
    top = module.partition(".")[0]
    try:
        return f"{top} {version(top)}"
    except PackageNotFoundError:
        return " ".join(f"{name} {version(name)}" for name in _owners(top))


def package_of(module: str) -> str:
    """Return the name of the package that a module lies in."""
    return module.partition(".")[0]


def module_of(thing: Any) -> str:
    """Return the name of the module of a function or class; empty where it has none."""
    module = getattr(thing, "__module__", None)
    return module if isinstance(module, str) else ""  # some classes have a descriptor there


@functools.cache  # it reads the metadata of everything that is installed
def _owners(top: str) -> tuple[str, ...]:
    """Return the names of the distributions that have a module or package, ascending."""
    return tuple(sorted({found.name for found in distributions() if _has(found, top)}))


def _has(found: Distribution, top: str) -> bool:
    """Return whether a distribution has a module or package."""
    if named := (found.read_text("top_level.txt") or "").split():
        return top in named
    # Searched as text: packages_distributions makes a path of each file, which takes a second.
    file = rf"^{re.escape(top)}(/|\.py,|\.[^/,]*(so|pyd),)"
    return bool(re.search(file, found.read_text("RECORD") or "", re.MULTILINE))


@functools.cache
def _installed() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    known = sysconfig.get_paths()
    given = [known[name] for name in names] + [*site.getsitepackages(), site.getusersitepackages()]
    roots = {Path(place) for place in given} | {Path(place).resolve() for place in given}
    return (*roots, Path(__file__).resolve().parents[1])
