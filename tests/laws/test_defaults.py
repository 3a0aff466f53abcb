"""What is taken where nothing is said is the same everywhere, and nothing is on unasked."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil

import pytest

import privacygauge.core
import privacygauge.evaluate
from tests.laws.test_house import TREES

USUAL = {"level": 0.95, "delta": 0.0, "seed": 0}


def defaults() -> list[tuple[str, str, object]]:
    """Return function, parameter and default of every public function of core and evaluate."""
    found = []
    for package in (privacygauge.core, privacygauge.evaluate):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(info.name)
            for name, value in vars(module).items():
                if callable(value) and getattr(value, "__module__", "") == info.name:
                    found += [
                        (f"{info.name}.{name}", parameter.name, parameter.default)
                        for parameter in inspect.signature(value).parameters.values()
                        if parameter.default is not inspect.Parameter.empty
                    ]
    return found


@pytest.mark.parametrize("parameter", USUAL)
def test_a_default_is_the_same_in_every_function(parameter):
    taken = {where: value for where, name, value in defaults() if name == parameter}
    assert taken
    assert set(taken.values()) == {USUAL[parameter]}, taken


OTHERS = {
    ("classifiers/shadows.py", "n_shadows"): "models of a user's own split, or of predictions",
    ("leaderboards/history/made.py", "teams"): "an attack needs fewer teams than a contest",
    ("report/numbers.py", "decimals"): "per cent, a decimal and a bound differ",
}
"""Parameters whose default differs within a file, with the reason."""


def test_a_number_that_is_taken_unasked_is_one_in_the_functions_of_a_file():
    differ = set()
    for path, tree in TREES.items():
        taken: dict[str, set[str]] = {}
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                given = function.args
                positional = [*given.posonlyargs, *given.args]
                last = positional[len(positional) - len(given.defaults) :]
                pairs = [
                    *zip(last, given.defaults, strict=True),
                    *zip(given.kwonlyargs, given.kw_defaults, strict=True),
                ]
                for parameter, default in pairs:
                    if isinstance(default, ast.Constant) and type(default.value) in (int, float):
                        taken.setdefault(parameter.arg, set()).add(ast.unparse(default))
        differ |= {(path, name) for name, values in taken.items() if len(values) > 1}
    assert differ == OTHERS.keys()
