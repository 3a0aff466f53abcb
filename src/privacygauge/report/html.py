"""What turns templates into pages that need nothing else: no network, no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report import numbers, svg

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
    found.filters["count"] = numbers.count
    found.filters["drawn"] = svg.drawn
    return found


def _readable(value: object) -> object:
    # Markup was escaped already; everything else that is text may come from the user's data.
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return numbers.plain(value)
    return value
