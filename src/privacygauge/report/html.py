"""What turns templates into pages that need nothing else: no network, no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report import numbers, views

if TYPE_CHECKING:
    from jinja2 import Environment


def environment() -> Environment:
    """Return what renders templates: everything is escaped, a missing name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("privacygauge.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_readable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "percent": numbers.percent,
        "shown": numbers.percent_estimate,
        "tpr": numbers.tpr_estimate,
        "either": views.either,
        "decimal": numbers.decimal_estimate,
        "fixed": numbers.fixed,
        "rate": numbers.rate,
        "count": numbers.count,
        "at_least": numbers.at_least,
        "p_value": numbers.p_value,
        "whisker": views.whisker,
    }
    return found


def _readable(value: object) -> object:
    # Markup was escaped already; everything else that is text may come from the user's data.
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return numbers.plain(value)
    return value
