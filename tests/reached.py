"""Which tests reach which places of the code? A probe before each place notes the running test.

`tests/mutants.py` copies this file as `sitecustomize.py`, so that the commands that tests start
note it too. The sources on disk stay as they are: a module gets its probes while it is imported.
That costs a look at the environment for each pass, where coverage traces every line.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

PLACES = "MUTANTS_PLACES"
"""The environment's name of a JSON file: lines by file, whose probes are wanted."""
LOG = "MUTANTS_REACHED"
"""The environment's name of the file to which probes add lines: place, tab, test."""
_NAME = "_reached_by_a_test"


def innermost(tree: ast.Module, line: int) -> ast.stmt | None:
    """Return the smallest statement around a line, without the block that belongs to it."""
    around = [
        x for x in ast.walk(tree) if isinstance(x, ast.stmt) and x.lineno <= line <= head_end(x)
    ]
    return min(around, key=lambda x: head_end(x) - x.lineno, default=None)


def head_end(found: ast.stmt) -> int:
    """Return the last line of a statement without the block that belongs to it."""
    body = getattr(found, "body", None)
    return body[0].lineno - 1 if body else found.end_lineno or found.lineno


class _Probes(ast.NodeTransformer):
    """Puts a probe before each statement of a line, and one at the start of each function."""

    def __init__(self, tree: ast.Module, lines: Sequence[int]) -> None:
        self.before: dict[ast.stmt, set[int]] = {}
        at_import = _run_at_import(tree)
        for line in lines:
            found = innermost(tree, line)
            if found is None:
                continue
            self.before.setdefault(found, set()).add(line)
            if found in at_import:
                # What is set once at import is tested where it is used.
                for use in _uses(tree, _names_set(found)) - at_import:
                    self.before.setdefault(use, set()).add(line)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            if isinstance(statements, list):
                setattr(node, block, [x for one in statements for x in self._with_probes(one)])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            start = 1 if ast.get_docstring(node, clean=False) is not None else 0
            lines = (0, *self.before.get(node, ()))
            node.body[start:start] = [_probe(line, node.body[0]) for line in lines]
        return node

    def _with_probes(self, statement: ast.stmt) -> list[ast.stmt]:
        lines = self.before.get(statement, set())
        return [*(_probe(line, statement) for line in lines), statement]


def _run_at_import(tree: ast.Module) -> set[ast.stmt]:
    """Return the statements outside every function."""
    found = set()
    blocks: list[ast.AST] = [tree]
    while blocks:
        for x in ast.iter_child_nodes(blocks.pop()):
            if isinstance(x, ast.stmt):
                found.add(x)
            if not isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                blocks.append(x)
    return found


def _names_set(found: ast.stmt) -> set[str]:
    targets = getattr(found, "targets", None) or [getattr(found, "target", None)]
    return {
        x.id for target in targets if target for x in ast.walk(target) if isinstance(x, ast.Name)
    }


def _uses(tree: ast.Module, names: set[str]) -> set[ast.stmt]:
    lines = {
        x.lineno
        for x in ast.walk(tree)
        if (isinstance(x, ast.Name) and x.id in names)
        or (isinstance(x, ast.Attribute) and x.attr in names)
    }
    return {x for line in lines if (x := innermost(tree, line)) is not None}


def _probe(line: int, beside: ast.stmt) -> ast.stmt:
    call = ast.parse(f"{_NAME}(__file__, {line})").body[0]
    for node in ast.walk(call):
        ast.copy_location(node, beside)
    return call


class _Loader(SourceFileLoader):
    """Compiles a module with its probes; the compiled file is not kept."""

    lines: Sequence[int] = ()

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path), self.path)
        probed = _Probes(tree, self.lines).visit(tree)
        return compile(ast.fix_missing_locations(probed), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, places: dict[str, list[int]]) -> None:
        self.places = places

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("privacygauge."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin in self.places:
            loader = _Loader(name, spec.origin)
            loader.lines = self.places[spec.origin]
            spec.loader = loader
        return spec


def install() -> None:
    """Import what is imported from now on with its probes."""
    with open(os.environ[PLACES], encoding="utf-8") as file:
        places = json.load(file)
    log = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    seen: set[tuple[str, int, str]] = set()

    def note(file: str, line: int) -> None:
        test = os.environ.get("PYTEST_CURRENT_TEST", "")
        if test and (file, line, test) not in seen:
            seen.add((file, line, test))
            os.write(log, f"{file}\t{line}\t{test}\n".encode())

    hidden: Any = builtins
    setattr(hidden, _NAME, note)
    sys.meta_path.insert(0, _Finder(places))


if LOG in os.environ:
    install()
