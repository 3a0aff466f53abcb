"""Every value of the mathematics is frozen, and those that hold arrays compare by identity."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields, is_dataclass
from inspect import get_annotations

import pytest

import privacygauge.core
import privacygauge.evaluate
from tests.laws.catalogue import ATTACKS, ESTIMATORS, label
from tests.laws.test_house import TREES

ARRAY = re.compile(r"\b(Floats|Bools|Ints|NDArray)\b")


def is_value(cls: type) -> bool:
    private = cls.__name__.startswith("_") or getattr(cls, "_is_protocol", False)
    return is_dataclass(cls) or (bool(get_annotations(cls)) and not private)


def values() -> list[type]:
    """Return every class of core and evaluate with fields, but for protocols and private bases."""
    found = []
    for package in (privacygauge.core, privacygauge.evaluate):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(info.name)
            own = [c for c in vars(module).values() if getattr(c, "__module__", "") == info.name]
            found += [c for c in own if isinstance(c, type) and is_value(c)]
    return found


VALUES = values()


def holds_arrays(cls: type) -> bool:
    kinds = [str(kind) for kind in get_annotations(cls).values()]
    return any(ARRAY.search(kind) and not kind.startswith("Callable") for kind in kinds)


HOLDING_ARRAYS = [cls for cls in VALUES if holds_arrays(cls)]


def test_there_are_values_of_both_kinds():
    assert len(VALUES) > len(HOLDING_ARRAYS) > 10


@pytest.mark.parametrize("cls", VALUES, ids=lambda c: c.__name__)
def test_no_field_can_be_changed_or_added(cls):
    for name in [f.name for f in fields(cls)] or ["another"]:
        with pytest.raises(FrozenInstanceError):
            setattr(object.__new__(cls), name, None)


@pytest.mark.parametrize("strategy", [*ATTACKS, *ESTIMATORS], ids=label)
def test_strategies_are_equal_to_their_copies(strategy):
    other = deepcopy(strategy)
    assert other is not strategy
    assert other == strategy
    assert hash(other) == hash(strategy)


@pytest.mark.parametrize("cls", HOLDING_ARRAYS, ids=lambda c: c.__name__)
def test_what_holds_arrays_compares_by_identity(cls):
    assert cls.__eq__ is object.__eq__
    assert cls.__hash__ is object.__hash__


CHANGING = {
    (
        "classifiers/networks/trainer.py",
        "Peak",
    ): "the memory of a training is measured while it runs",
    ("local_page/server.py", "Drop"): "an audit of dropped files begins, ends and begins again",
    ("inspection/contents.py", "_Collection"): "the parts of a file are gathered while it is read",
    ("tables/nearest.py", "_Open"): "the rows without a neighbour yet become fewer",
}
"""Dataclasses that change, with the reason."""


def decorated() -> list[tuple[str, ast.ClassDef, dict[str, object]]]:
    """Return file, class and keywords of the decorator of every dataclass of the package."""
    found = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            for decorator in getattr(node, "decorator_list", ()):
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if ast.unparse(called).rpartition(".")[2] == "dataclass":
                    keywords = {
                        x.arg: ast.unparse(x.value) for x in getattr(decorator, "keywords", ())
                    }
                    found.append((path, node, keywords))
    return found


def test_every_dataclass_is_frozen_but_for_those_with_a_reason():
    open_ones = {
        (path, node.name)
        for path, node, keywords in decorated()
        if keywords.get("frozen") != "True"
    }
    assert open_ones == CHANGING.keys()


def test_only_classes_with_fields_that_cannot_be_compared_compare_by_identity():
    """`eq=False` is for arrays, and for what a comparison would have to look into."""
    without = {
        (path, node.name)
        for path, node, keywords in decorated()
        if keywords.get("eq") == "False"
        and all(
            ast.unparse(field.annotation) in ("int", "float", "str", "bool", "str | None")
            for field in node.body
            if isinstance(field, ast.AnnAssign)
        )
        and not node.bases
    }
    assert not without
