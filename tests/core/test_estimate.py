from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError


def test_an_interval_excludes_what_lies_outside_and_not_its_ends() -> None:
    estimate = Estimate(0.5, 0.25, 0.75, 0.95, 10, "made up")
    assert estimate.excludes(0.2)
    assert estimate.excludes(0.8)
    assert not any(estimate.excludes(x) for x in (0.25, 0.5, 0.75))


def test_not_a_number_is_no_estimate() -> None:
    for values in ((float("nan"), 0, 1), (0.5, float("nan"), 1), (0.5, 0, float("nan"))):
        with pytest.raises(InputError, match="cannot be NaN: give a Skipped"):
            Estimate(*values, 0.95, 10, "made up")


def test_the_value_lies_in_its_interval() -> None:
    for values in ((0.2, 0.3, 0.4), (0.5, 0.3, 0.4)):
        with pytest.raises(InputError, match="low <= value <= high must hold"):
            Estimate(*values, 0.95, 10, "made up")


def test_the_level_is_checked() -> None:
    with pytest.raises(InputError, match=r"level must be in \(0, 1\), got 95"):
        Estimate(0.5, 0.0, 1.0, 95, 10, "made up")


@given(
    ends=st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3).map(sorted),
    spec=st.sampled_from([".2f", ".1%", "+.3g", ">12.4f", "012.3e", "g"]),
)
def test_an_estimate_is_turned_to_float_and_formatted_by_its_value(ends, spec):
    low, value, high = ends
    estimate = Estimate(value, low, high, 0.95, 10, "made up")
    assert float(estimate) == np.float64(estimate) == value
    assert format(estimate, spec) == format(value, spec)
    assert f"{estimate}" == str(estimate) == repr(estimate)
    assert np.asarray([estimate, estimate], float).tolist() == [value, value]


LEFT_OUT = Skipped("neural", "needs the full prediction vectors")


def test_a_skipped_result_says_why_it_lacks_what_was_asked_for():
    why = r"neural was skipped \(needs the full prediction vectors\)"
    with pytest.raises(AttributeError, match=f"{why}, so it has no 'value'"):
        LEFT_OUT.value  # noqa: B018
    with pytest.raises(TypeError, match=f"{why}, so it holds no results"):
        _play, _evaluation = LEFT_OUT
    for number in (float, "{:.2f}".format):
        with pytest.raises(TypeError, match=f"{why}, so it is not a number"):
            number(LEFT_OUT)
    assert f"{LEFT_OUT}" == str(LEFT_OUT)
    assert not hasattr(LEFT_OUT, "value")
    assert getattr(LEFT_OUT, "value", None) is None


def test_a_skipped_result_stays_a_plain_value():
    for again in (
        copy.copy(LEFT_OUT),
        copy.deepcopy(LEFT_OUT),
        pickle.loads(pickle.dumps(LEFT_OUT)),  # noqa: S301
        replace(LEFT_OUT),
        Skipped(**asdict(LEFT_OUT)),
    ):
        assert again == LEFT_OUT
        assert hash(again) == hash(LEFT_OUT)
    assert repr(LEFT_OUT) == "Skipped(name='neural', reason='needs the full prediction vectors')"
    # Copies are built field by field: an empty one must not ask itself for its reason.
    empty = object.__new__(Skipped)
    for protocol in ("__len__", "__array__", "_repr_html_", "_private", "reason"):
        with pytest.raises(AttributeError, match=f"'Skipped' object has no attribute '{protocol}'"):
            getattr(empty, protocol)
    with pytest.raises(FrozenInstanceError):
        LEFT_OUT.reason = "another"
