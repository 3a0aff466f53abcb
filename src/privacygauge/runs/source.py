"""Python files that are read and never imported: what each defines, and what it imports beside it.

Comments, docstrings and line breaks do not count.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from importlib.machinery import PathFinder
from pathlib import Path

from privacygauge.runs.owners import is_installed

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def files_beside(path: Path) -> dict[str, Path]:
    """Return the files that a file imports from its own folder, by module; itself first.

    They are read, and nothing is imported.
    """
    return _reached(path.stem, path, path.parent)


def files_of_module(name: str) -> dict[str, Path]:
    """Return a module's file and those that it imports beside it; nothing is imported.

    Empty where the module is installed, built in or cannot be found.
    """
    spec, place, parts = None, None, name.split(".")
    for number in range(len(parts)):
        try:
            spec = PathFinder.find_spec(".".join(parts[: number + 1]), place)
        except (ImportError, ValueError):
            return {}
        if spec is None or is_installed(spec.origin or ""):
            return {}
        place = spec.submodule_search_locations
    if spec is None or spec.origin is None:  # a folder without code of its own
        return {}
    path = Path(spec.origin)
    depth = len(parts) - (path.name != "__init__.py")
    return _reached(name, path, path.parents[depth])


def pieces_of(files: Mapping[str, Path]) -> dict[str, str]:
    """Return a digest of every definition and constant of some files, by its name."""
    found: dict[str, str] = {}
    for module, path in files.items():
        tree = _tree(path)
        found |= {module: digest(path.read_bytes())} if tree is None else _pieces(tree, module)
    return found


def digest(content: str | bytes) -> str:
    """Return the first 16 digits of the sha256 of a text or of bytes."""
    plain = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(plain).hexdigest()[:16]


def _reached(module: str, path: Path, folder: Path) -> dict[str, Path]:
    found, waiting = {}, [(module, path)]
    while waiting:
        name, place = waiting.pop()
        if name in found:
            continue
        found[name] = place
        tree = _tree(place)
        package = name if place.name == "__init__.py" else name.rpartition(".")[0]
        named = () if tree is None else _imported(tree, package)
        waiting += [one for text in sorted(set(named)) for one in _files(text, folder) if text]
    return found


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Return the names of what a file imports; of a package's parts, those that may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(parents if node.level else ()), *([node.module or ""])]).strip(".")
            yield base
            yield from (f"{base}.{alias.name}".strip(".") for alias in node.names)


def _files(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Return the files of a module and of the packages that it lies in, as far as they exist."""
    parts = name.split(".")
    for number in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:number])
        for path in (place / "__init__.py", place.with_name(f"{place.name}.py")):
            if path.is_file() and not is_installed(str(path)):
                yield ".".join(parts[:number]), path
                break


def _tree(path: Path) -> ast.Module | None:
    """Return what a file says, without docstrings; None where it is no Python."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, (*_DEFINITIONS, ast.Module)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree


def _pieces(tree: ast.Module, module: str) -> dict[str, str]:
    """Return digests of what is defined at the top level by name, and of all else together."""
    found: dict[str, str] = {}
    for node in tree.body:
        name = f"{module}.{_bound(node)}" if _bound(node) else f"the top level of {module}"
        found[name] = digest(found.get(name, "") + ast.dump(node))
    return found


def _bound(node: ast.stmt) -> str | None:
    """Return the name that a definition, or an assignment to one name, gives."""
    if isinstance(node, _DEFINITIONS):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign) else targets
    only = targets[0] if len(targets) == 1 else None
    return only.id if isinstance(only, ast.Name) else None
