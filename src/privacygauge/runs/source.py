"""The user's code: definitions and imports, read without importing, and its record in a run.

Comments, docstrings and line breaks do not count.
"""

from __future__ import annotations

import ast
import csv
import functools
import hashlib
import re
import site
import sys
import sysconfig
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Any, NamedTuple

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


MOST_FILES = 400
"""Most files that are parsed for one file or module of the user."""

MOST_BYTES = 4_000_000
"""Most bytes that are parsed for one file or module; 4 MB take about five seconds."""


class Files(dict[str, Path]):
    """Files by module, in the order of their imports."""

    cut: str = ""
    """Text on files that were left out; empty if none was."""


def files_beside(path: Path) -> Files:
    """Return a file and those that it imports from its own folder, by module.

    Files are read, not imported.
    """
    return _reachable_files(path.stem, path, path.parent)


def files_of_module(name: str) -> Files:
    """Return the file of a module and those that it imports beside it, without importing them.

    Empty if the module is installed, built in or not found.
    """
    spec = None
    place = None
    parts = name.split(".")
    for number in range(len(parts)):
        try:
            spec = PathFinder.find_spec(".".join(parts[: number + 1]), place)
        except (ImportError, ValueError):
            return Files()
        if spec is None or is_installed(spec.origin or ""):
            return Files()
        place = spec.submodule_search_locations
    if spec is None or spec.origin is None:  # a folder without code of its own
        return Files()
    path = Path(spec.origin)
    depth = len(parts) - (path.name != "__init__.py")
    return _reachable_files(name, path, path.parents[depth])


def pieces_of(files: Mapping[str, Path]) -> dict[str, str]:
    """Return a digest of each definition and constant of the given files, by name."""
    found: dict[str, str] = {}
    for module, path in files.items():
        found |= _parse_source(path.read_bytes(), module, path.name == "__init__.py").pieces
    return found


def digest(content: str | bytes) -> str:
    """Return the first 16 hexadecimal digits of the sha256 of a text or of bytes."""
    plain = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(plain).hexdigest()[:16]


def _reachable_files(module: str, path: Path, folder: Path) -> Files:
    found = Files()
    size = 0
    # Breadth first, so that a limit cuts off the most distant files. The first file is always read.
    waiting = deque([(module, path)])
    while waiting:
        name, place = waiting.popleft()
        if name in found:
            continue
        content = place.read_bytes()
        size += len(content)
        if found and (len(found) == MOST_FILES or size > MOST_BYTES):
            found.cut = f"{module}: of the files that it imports all after the first {len(found):,}"
            break
        found[name] = place
        # The files of an imported module and of its parent packages, if they exist.
        for text in filter(None, _parse_source(content, name, place.name == "__init__.py").imports):
            parts = text.split(".")
            for number in range(1, len(parts) + 1):
                inner = folder.joinpath(*parts[:number])
                for file in (inner / "__init__.py", inner.with_name(f"{inner.name}.py")):
                    if file.is_file() and not is_installed(str(file)):
                        waiting.append((".".join(parts[:number]), file))
                        break
    return found


class _Source(NamedTuple):
    """Imports and definitions of a file."""

    imports: tuple[str, ...]
    """Names of imported modules, sorted; ``from x import y`` gives both ``x`` and ``x.y``."""
    pieces: Mapping[str, str]
    """Digest of each top-level definition by name, and one of all other statements together."""


@functools.lru_cache(maxsize=4 * MOST_FILES)  # several functions import the same files
def _parse_source(content: bytes, module: str, is_package: bool) -> _Source:
    """Return the imports of a file and digests of its definitions.

    A file that is not valid Python has no imports and a single digest of its content.
    """
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return _Source((), {module: digest(content)})
    package = module if is_package else module.rpartition(".")[0]
    imports: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (*_DEFINITIONS, ast.Module)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        if isinstance(node, ast.Import):
            imports.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parents if node.level else ()), *([node.module or ""])]).strip(".")
            imports.add(base)
            # A name imported from a package may be a submodule.
            imports.update(f"{base}.{alias.name}".strip(".") for alias in node.names)
    pieces: dict[str, str] = {}
    for statement in tree.body:
        # The name bound by a definition or by an assignment to a single name.
        bound: str | None
        if isinstance(statement, _DEFINITIONS):
            bound = statement.name
        else:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            targets = (
                [statement.target]
                if isinstance(statement, ast.AnnAssign | ast.AugAssign)
                else targets
            )
            only = targets[0] if len(targets) == 1 else None
            bound = only.id if isinstance(only, ast.Name) else None
        name = f"{module}.{bound}" if bound else f"the top level of {module}"
        pieces[name] = digest(pieces.get(name, "") + ast.dump(statement))
    return _Source(tuple(sorted(imports)), pieces)


OWN = "privacygauge"
"""Name of PrivacyGauge's package."""

PYTHON = frozenset((OWN, *sys.builtin_module_names, *sys.stdlib_module_names))
"""Packages with versions that a run records in any case."""


def is_theirs(module: str) -> bool:
    """Return whether a module is the user's: not Python's, not installed, not PrivacyGauge's."""
    if module == "__main__":
        return True
    if not module or package_of(module) in PYTHON:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    file = file or getattr(sys.modules.get(package_of(module)), "__file__", None)
    if file:
        return not is_installed(file)
    return module not in sys.modules and not version_of(module)  # made by exec, or absent


@functools.cache
def is_installed(file: str) -> bool:
    """Return whether a file belongs to Python, to an installed package or to PrivacyGauge.

    A package may be installed anywhere (``pip --target``, modules of a cluster, an environment
    below another): it counts if an installer recorded the file in its distribution.
    """
    places = {Path(file).absolute(), Path(file).resolve()}
    if any(place.is_relative_to(root) for place in places for root in _install_roots()):
        return True
    # Metadata without a record is not evidence: a project under development has it beside its code.
    return any(
        folder.name in _OF_INSTALLERS
        or folder.suffix == ".egg"
        or place.relative_to(folder).as_posix() in _recorded_files(folder)
        for place in places
        for folder in place.parents
    )


_OF_INSTALLERS = ("site-packages", "dist-packages")
"""Folders that only installers write to."""


@functools.cache
def _recorded_files(folder: Path) -> frozenset[str]:
    """Return the files that installers recorded for a folder, relative to it."""
    found: set[str] = set()
    for known in distributions(path=[str(folder)]):
        lines = (known.read_text("RECORD") or "").splitlines()
        # Quoted only if a name contains a comma; the csv reader is slow for all other lines.
        found.update(
            next(csv.reader([line]))[0] if line[:1] == '"' else line.partition(",")[0]
            for line in lines
        )
    return frozenset(found)


def version_of(module: str) -> str:
    """Return name and version of the package that provides a module; empty if none does."""
    top = module.partition(".")[0]
    try:
        return f"{top} {version(top)}"
    except PackageNotFoundError:
        owners = sorted({found.name for found in distributions() if _has(found, top)})
        return " ".join(f"{name} {version(name)}" for name in owners)


def package_of(module: str) -> str:
    """Return the top-level package of a module."""
    return module.partition(".")[0]


def module_of(thing: Any) -> str:
    """Return the name of the module of a function or class; empty if it has none."""
    module = getattr(thing, "__module__", None)
    return module if isinstance(module, str) else ""  # some classes have a descriptor there


def _has(found: Distribution, top: str) -> bool:
    """Return whether a distribution provides a top-level module or package."""
    if named := (found.read_text("top_level.txt") or "").split():
        return top in named
    # Searched as text: packages_distributions builds a path per file, which takes a second.
    file = rf"^{re.escape(top)}(/|\.py,|\.[^/,]*(so|pyd),)"
    return bool(re.search(file, found.read_text("RECORD") or "", re.MULTILINE))


@functools.cache
def _install_roots() -> tuple[Path, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    known = sysconfig.get_paths()
    given = [known[name] for name in names] + [*site.getsitepackages(), site.getusersitepackages()]
    roots = {Path(place) for place in given} | {Path(place).resolve() for place in given}
    return (*roots, Path(__file__).resolve().parents[1])


@dataclass(frozen=True)
class Code:
    """Pieces of the user's code that a run depends on."""

    digests: Mapping[str, str] = field(default_factory=dict)
    """Digest of each function, method, class, constant and closure value, by name; also versions,
    by ``package NAME``."""
    unchecked: tuple[str, ...] = ()
    """Pieces that cannot be compared, each with the reason, sorted."""

    def to_mapping(self) -> dict[str, Any]:
        """Return the code as JSON values; empty if there is no user code."""
        found = {"digests": dict(self.digests), "unchecked": list(self.unchecked)}
        return {name: value for name, value in found.items() if value}


class RecordedCode:
    """Stand-in for code that is known only from the record of a run."""

    code: Code
    """Recorded code."""
    description: Mapping[str, Any]
    """The code's description of itself, as JSON values."""


def changed_pieces(there: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """Return a clause on the pieces that differ between two runs; None if none differs."""
    # Pieces on one side only are reported by `on_one_side`.
    differing = [name for name in there if name in here and there[name] != here[name]]
    names = sorted(differing, key=lambda name: (" " in name, name))  # definitions first
    return (
        f"{_first_three(names)} {'has' if len(names) == 1 else 'have'} changed" if names else None
    )


def on_one_side(there: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """Return a clause on a piece that only one of two runs has; None if there is none."""
    if here and not there:
        return f"it does not say what code made it, and here it is {_first_three(list(here))}"
    name = next(
        iter([*(n for n in here if n not in there), *(n for n in there if n not in here)]), ""
    )
    where = "here and not there" if name in here else "there and not here"
    return f"{name} is part of the code {where}" if name else None


def _first_three(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


NOT_CHECKED = "code not checked: "
"""Prefix of the names of unchecked pieces."""

PROGRAM = "command:"
"""Prefix of an option that names a program."""


def absolute(name: str) -> str:
    """Return a name of code with an absolute path, if it names a file.

    Examples
    --------
    >>> absolute("sklearn.svm:SVC")
    'sklearn.svm:SVC'
    """
    place, colon, attribute = name.rpartition(":")
    return f"{Path(place).absolute()}:{attribute}" if colon and place.endswith(".py") else name
