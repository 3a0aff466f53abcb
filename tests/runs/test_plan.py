"""A plan is its JSON: what differs in one differs in the other, and is named."""

from __future__ import annotations

import copy
import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.runs.plan import ArraySpec, Plan, Task, first_difference
from tests.runs.sample import plan

NAMES = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    n_units = draw(st.integers(1, 50))
    later = draw(st.lists(st.integers(1, 30), max_size=2))
    dims = ("unit", "record", "class")[: len(later) + 1]
    chunks = tuple(draw(st.integers(1, length)) for length in later)
    dtype = draw(st.sampled_from(["bool", "uint8", "int64", "float32", "float64"]))
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    spec = ArraySpec(dims, (n_units, *later), dtype, chunks)
    return Plan(
        draw(NAMES),
        seed=draw(st.integers(0, 2**70)),
        n_units=n_units,
        unit="unit",
        units_a_task=draw(st.integers(1, 60)),
        arrays=dict.fromkeys(names, spec),
        settings=draw(st.dictionaries(st.text(max_size=4), VALUES, max_size=4)),
    )


@given(plans())
def test_comes_back_from_json_and_from_a_copy(one: Plan) -> None:
    # A deep copy goes the way that pickling goes.
    for other in (Plan.from_json(one.to_json()), copy.deepcopy(one)):
        assert other == one
        assert hash(other) == hash(one)
        assert other.fingerprint == one.fingerprint
        assert first_difference(one, other) is None


@given(plans())
def test_tasks_cover_every_unit_once(one: Plan) -> None:
    units = [unit for task in one.tasks for unit in range(task.start, task.stop)]
    assert units == list(range(one.n_units))
    assert [task.number for task in one.tasks] == list(range(len(one.tasks)))
    assert all(1 <= task.n_units <= one.units_a_task for task in one.tasks)


@pytest.mark.slow
@given(plans(), plans())
def test_a_difference_is_named_exactly_when_there_is_one(one: Plan, other: Plan) -> None:
    assert (first_difference(one, other) is None) == (one.fingerprint == other.fingerprint)


def test_the_last_task_may_be_shorter() -> None:
    assert plan().tasks[-1] == Task(8, 16, 17)


def test_names_the_first_setting_that_differs() -> None:
    assert first_difference(plan(), plan(epochs=40)) == "epochs is 50 there and 40 here"
    assert first_difference(plan(), plan(seed=3)) == "seed is 0 there and 3 here"
    without = dataclasses.replace(plan(), settings={"data": "0" * 64})
    assert first_difference(plan(), without) == "epochs is 50 there and not set here"
    long = dataclasses.replace(plan(), settings={"epochs": 50, "data": "1" * 64})
    assert first_difference(plan(), long) == (f"data is {'0' * 57}... there and {'1' * 57}... here")


@pytest.mark.parametrize(("a", "b"), [(1, True), (1, 1.0), (None, "null"), ([], {})])
def test_values_that_python_takes_for_equal_are_told_apart(a: object, b: object) -> None:
    one, other = (dataclasses.replace(plan(), settings={"x": {"y": x}}) for x in (a, b))
    assert one != other


def test_numpy_numbers_are_plain_numbers() -> None:
    given = dataclasses.replace(plan(), settings={"epochs": np.int64(50), "data": "0" * 64})
    assert given == plan()


def test_cannot_be_changed_through_what_it_was_made_of() -> None:
    settings = {"inner": {"epochs": 1}}
    one = dataclasses.replace(plan(), settings=settings)
    settings["inner"]["epochs"] = 2
    assert one.settings["inner"]["epochs"] == 1
    with pytest.raises(TypeError):
        one.settings["inner"]["epochs"] = 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"n_units": 0}, "n_units must be an integer of at least 1, got 0"),
        ({"units_a_task": 1.5}, "units_a_task must be an integer of at least 1, got 1.5"),
        ({"unit": "a model"}, "unit must be a word of letters, digits and underscores, got 'a mo"),
        ({"arrays": {}}, "arrays must hold at least one array, got none"),
        ({"n_units": 5}, "the first dimension of correct must be model of length 5, got model of"),
        ({"settings": {"x": float("nan")}}, "settings must be JSON values with finite numbers"),
        ({"settings": {"x": {1}}}, r"but \{1\} is a set"),
        ({"settings": {1: 2}}, "but the key 1 is not a text"),
    ],
)
def test_a_plan_that_breaks_a_rule(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataclasses.replace(plan(), **changes)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ((("model",), (3, 4), "float32"), "dims and shape must have one entry a dimension, chunks"),
        ((("model", "model"), (3, 4), "float32"), "dims must be at least one, each named once"),
        ((("model",), (0,), "float32"), "shape must be an integer of at least 1, got 0"),
        ((("model",), (3,), "object"), "dtype must name a boolean, integer or float of at most 8"),
        ((("model",), (3,), "floaty"), "dtype must be a name such as 'float32', got 'floaty'"),
    ],
)
def test_an_array_that_breaks_a_rule(spec: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ArraySpec(*spec)


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"arrays": {"a": {"x": 1}}})])
def test_a_text_that_is_no_plan(text: str) -> None:
    with pytest.raises(InputError, match="the text does not describe a plan"):
        Plan.from_json(text)
