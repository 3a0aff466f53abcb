"""Numbers of an audit as trackers of experiments take them: one name to one finite number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.report.reported import Reported
from privacygauge.report.values import Report


def report_to_track(audit: Reported) -> Report:
    """Return the report of an audit; anything else is refused in one line."""
    checks.kind(audit, "audit", "report", "the result of an audit")
    # `checks.kind` takes None for an option that was not given.
    if audit is None:
        raise InputError("audit must be the result of an audit, got None")
    return audit.report()


def require_own_names(
    numbers: Iterable[str], known: Iterable[str], *, verdict: str, verdicts: re.Pattern[str]
) -> None:
    """Refuse numbers that a run has from another audit under the same prefix.

    Parameters
    ----------
    numbers : iterable of str
        Names that are to be logged.
    known : iterable of str
        Names in the run, with those of verdicts.
    verdict : str
        Name of the audit's own verdict: with one in the run, the audit is logged once more.
    verdicts : re.Pattern
        Pattern of the names of verdicts under the prefix.
    """
    names = {*known}
    others = [name for name in names if verdicts.fullmatch(name)]
    taken = sorted(names.intersection(numbers))
    if others and taken and verdict not in names:
        raise InputError(
            f"the run has {taken[0]} from another audit ({min(others)}): give this one a prefix "
            "of its own, such as prefix='second'"
        )


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
