from __future__ import annotations

import json

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report import values

ESTIMATE = {"value", "low", "high", "level", "n", "method"}


def strict(text: str) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_infinity_is_null_and_skipped_is_a_reason() -> None:
    assert values.estimate_dict(Skipped("risk", "no shadow")) == {"skipped": "no shadow"}
    endless = Estimate(np.inf, 0.0, np.inf, 0.95, 3, "x")
    assert values.estimate_dict(endless)["value"] is None
