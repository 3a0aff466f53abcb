"""Numbers of an audit as trackers of experiments take them: one name to one finite number."""

from __future__ import annotations

import math

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.values import Report


def tracked_numbers(report: Report, prefix: str) -> dict[str, float]:
    """Return every measure as ``PREFIX/NAME``, and its interval's ends as ``.low`` and ``.high``.

    ``tpr@0.01`` becomes ``tpr_at_0.01``. Numbers that were not computed, or are infinite, are left
    out.
    """
    found: dict[str, float] = {}
    for measure in report.measures:
        value = measure.found
        if isinstance(value, Skipped):
            continue
        # MLflow accepts no @ in a name.
        name = f"{prefix}/{measure.name.replace('@', '_at_')}"
        if isinstance(value, Estimate):
            found |= {name: value.value, f"{name}.low": value.low, f"{name}.high": value.high}
        else:
            found[name] = float(value)
    return {name: value for name, value in found.items() if math.isfinite(value)}
