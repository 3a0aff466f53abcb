"""Marks of code that is hard to follow, counted over the whole package: they may only fall.

Whoever lowers a count lowers its limit here; raising one needs a reason beside it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import privacygauge

ROOT = Path(privacygauge.__file__).parent
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PARTICIPLES = re.compile(
    "told|shown|held|found|made|drawn|kept|beside|together|whose|most|met|left|lost|seen|known|given"
    "|taken|written|chosen|spoken|done|gone|put|read|said|meant|spent|sent|built|learnt|[a-z]{3,}ed"
)


def trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module by its path."""
    files = sorted(ROOT.rglob("*.py"))
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text("utf-8")) for file in files}


TREES = trees()


def nodes(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Yield all nodes of some kinds, each with its place."""
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield f"{path}:{getattr(node, 'lineno', 1)}", node


def packed() -> Iterator[str]:
    """Yield assignments of several values to several names in one line, swaps left out."""
    for place, node in nodes(ast.Assign):
        assert isinstance(node, ast.Assign)
        target, value = node.targets[0], node.value
        if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)):
            continue
        left, right = ({ast.unparse(x) for x in side.elts} for side in (target, value))
        if len(target.elts) == len(value.elts) and not left & right:
            yield place


def positional() -> Iterator[str]:
    """Yield calls with five or more positional arguments."""
    for place, node in nodes(ast.Call):
        assert isinstance(node, ast.Call)
        if len(node.args) >= 5:
            yield place


def long_signatures() -> Iterator[str]:
    """Yield functions with ten or more parameters, but for those that build an object."""
    for place, node in nodes(*FUNCTIONS):
        assert isinstance(node, FUNCTIONS)
        given = node.args
        n = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
        if n >= 10 and node.name != "__init__":
            yield f"{place} {node.name}"


def participles() -> Iterator[str]:
    """Yield module-level functions that are named by a bare participle or adverb."""
    for path, tree in TREES.items():
        for node in tree.body:
            word = node.name.strip("_") if isinstance(node, FUNCTIONS) else ""
            if PARTICIPLES.fullmatch(word):
                yield f"{path} {word}"


def used_once() -> Iterator[str]:
    """Yield short private functions that one place uses."""
    names = Counter(n.id for _, n in nodes(ast.Name) if isinstance(n, ast.Name))
    names += Counter(n.attr for _, n in nodes(ast.Attribute) if isinstance(n, ast.Attribute))
    for path, tree in TREES.items():
        for node in tree.body:
            if not isinstance(node, FUNCTIONS) or not node.name.startswith("_"):
                continue
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1
            if names[node.name] == 1 and lines < 9:
                yield f"{path} {node.name}"


def bracketed() -> Iterator[str]:
    """Yield keyword arguments that are a constant, a name or an f-string in needless brackets."""
    lines = {path: (ROOT / path).read_text("utf-8").split("\n") for path in TREES}
    for place, node in nodes(ast.keyword):
        assert isinstance(node, ast.keyword)
        value = node.value
        one_line = value.lineno == value.end_lineno
        if isinstance(value, (ast.Constant, ast.Name, ast.JoinedStr)) and one_line:
            line = lines[place.rpartition(":")[0]][value.lineno - 1].encode()
            if line[: value.col_offset].endswith(b"=("):
                yield place


def clauses() -> Iterator[str]:
    """Yield docstrings that name a thing by a clause that begins with "what"."""
    for place, node in nodes(ast.Module, ast.ClassDef, *FUNCTIONS):
        assert isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))
        text = (ast.get_docstring(node) or "").split("\n\n")[0]
        if re.search(r"(^|[ ,(])[Ww]hat [a-z]", text):
            yield place


LIMITS = {
    packed: 0,
    bracketed: 0,
    positional: 73,
    long_signatures: 0,
    participles: 0,
    used_once: 39,
    clauses: 14,
}


def test_marks_of_code_that_is_hard_to_follow_only_fall() -> None:
    found = {count.__name__: list(count()) for count in LIMITS}
    over = {
        count.__name__: found[count.__name__]
        for count, most in LIMITS.items()
        if len(found[count.__name__]) > most
    }
    assert not over, {name: (len(places), places[-20:]) for name, places in over.items()}


def test_the_examples_of_contributing_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    trees = {f"example {i}": ast.parse(text) for i, text in enumerate(examples)}
    monkeypatch.setitem(globals(), "TREES", trees)
    assert len(trees) > 10
    found = [place for count in (packed, positional, long_signatures) for place in count()]
    assert not found


def test_no_more_than_three_classes_share_a_name() -> None:
    names = Counter(n.name for _, n in nodes(ast.ClassDef) if isinstance(n, ast.ClassDef))
    assert not [name for name, n in names.items() if n > 3]


def imports() -> dict[str, set[str]]:
    """Return the modules that each module imports, within functions and for types too."""
    modules = {
        ".".join(("privacygauge", *Path(path).with_suffix("").parts)): tree
        for path, tree in TREES.items()
    }
    found = {}
    for module, tree in modules.items():
        named = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                named |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
            elif isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
        found[module] = (named & modules.keys()) - {module}
    return found


def test_no_import_closes_a_circle() -> None:
    TopologicalSorter(imports()).prepare()  # raises CycleError, which names the circle


def documented_parameters(doc: str) -> list[str]:
    """Return the names in the section of parameters of a numpydoc docstring."""
    _, found, rest = doc.partition("\nParameters\n----------\n")
    if not found:
        return []
    section = re.split(r"\n\n?[A-Z][A-Za-z ]+\n-{3,}", rest)[0]
    heads = [line.split(" : ")[0] for line in section.split("\n") if line and line[0] != " "]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def test_docstrings_document_the_parameters_that_there_are() -> None:
    wrong = {}
    for place, node in nodes(*FUNCTIONS):
        spec = node.args
        known = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
        names = {one.arg for one in known if one is not None}
        unknown = set(documented_parameters(ast.get_docstring(node) or "")) - names
        if unknown:
            wrong[f"{place} {node.name}"] = unknown
    assert not wrong
    assert documented_parameters("A.\n\nParameters\n----------\na, b : int\n    Two.\n") == [
        "a",
        "b",
    ]
