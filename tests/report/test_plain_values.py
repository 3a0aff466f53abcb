"""Values of any kind as JSON has them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields

import numpy as np
import pytest

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.values import Severity, estimate_dict, pick_values, values_of


@dataclass(frozen=True)
class Two:
    first: object
    second: object


ESTIMATE = Estimate(0.5, -math.inf, math.inf, 0.95, 10, "example")
KINDS = (
    None,
    True,
    3,
    "text",
    1.5,
    math.inf,
    math.nan,
    np.float32(0.5),
    np.int64(2),
    np.bool_(False),
    np.array([[1.0, np.nan], [np.inf, 2.0]]),
    np.array(["a", "b"]),
    Severity.GRAVE,
    ESTIMATE,
    Skipped("a", "too few"),
    {1: (ESTIMATE, None)},
    object,
)


@pytest.mark.parametrize("found", KINDS, ids=str)
def test_whatever_it_is_it_is_strict_json_and_is_so_again(found):
    once = values_of(Two(found, [found, {"x": found}]))
    assert json.loads(json.dumps({"found": once}, allow_nan=False)) == {"found": once}
    assert values_of(once) == once


def test_estimates_keep_their_one_form():
    two = Two(ESTIMATE, Skipped("a", "too few"))
    assert values_of(two) == {
        "first": estimate_dict(ESTIMATE),
        "second": {"skipped": "too few"},
    }
    assert values_of(two) == pick_values(two, *(field.name for field in fields(two)))


def test_keys_may_have_names_of_their_own():
    assert pick_values(Two(1, 2), "second", left="first") == {"second": 2, "left": 1}
    with pytest.raises(AttributeError):
        pick_values(Two(1, 2), "third")
