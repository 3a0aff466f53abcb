"""What is taken where nothing is said is the same everywhere."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import privacygauge.core
import privacygauge.evaluate

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
