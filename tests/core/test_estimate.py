from __future__ import annotations

import pytest

from privacygauge.core.estimate import Estimate
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
