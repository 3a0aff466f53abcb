"""Numbers with their doubt as plain values, and documents as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.values import Json


def as_text(document: Mapping[str, Json]) -> str:
    """Return a document as strict JSON in ASCII."""
    return json.dumps(document, allow_nan=False, indent=2) + "\n"


def estimate_dict(estimate: Estimate | Skipped) -> dict[str, Json]:
    """Return an estimate, or the reason why there is none."""
    if isinstance(estimate, Skipped):
        return {"skipped": estimate.reason}
    return {
        "value": finite(estimate.value),
        "low": finite(estimate.low),
        "high": finite(estimate.high),
        "level": float(estimate.level),
        "n": int(estimate.n),
        "method": estimate.method,
    }


def finite(value: float | None) -> float | None:
    """Return a number as a plain float; None for infinity and for what was not computed."""
    return None if value is None or not math.isfinite(value) else float(value)
