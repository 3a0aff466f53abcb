from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, replace

import pytest

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


LEFT_OUT = Skipped("neural", "needs the full prediction vectors")


def test_a_skipped_result_says_why_it_lacks_what_was_asked_for():
    why = r"neural was skipped \(needs the full prediction vectors\)"
    with pytest.raises(AttributeError, match=f"{why}, so it has no 'value'"):
        LEFT_OUT.value  # noqa: B018
    with pytest.raises(TypeError, match=f"{why}, so it holds no results"):
        _play, _evaluation = LEFT_OUT
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
