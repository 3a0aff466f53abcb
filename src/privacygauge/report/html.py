"""The report as one HTML file that needs nothing else: no network, no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.evaluate.findings import Findings
from privacygauge.evaluate.risk import Risk
from privacygauge.evaluate.slices import SliceTable
from privacygauge.report import numbers, views
from privacygauge.report.figures import pictures
from privacygauge.report.verdict import scale_of, verdict

if TYPE_CHECKING:
    from jinja2 import Environment


def render_html(findings: Findings) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    str
        Everything from the user's data is escaped; characters that steer a page are replaced.
        The page asks for nothing from outside and runs no script.
    """
    found = verdict(findings)
    template = environment().get_template("report.html.j2")
    return template.render(
        f=findings,
        verdict=found,
        grades=scale_of(found.grade),
        severity=scale_of(found.grade).index(found.grade),
        cards=views.cards(findings),
        pictures=pictures(findings),
        risk=findings.risk if isinstance(findings.risk, Risk) else None,
        classes=views.worst_classes(findings.risk) if isinstance(findings.risk, Risk) else (),
        table=findings.slices if isinstance(findings.slices, SliceTable) else None,
        slices=views.shown_slices(findings),
        riskiest=views.riskiest(findings),
        methods=views.methods(findings),
        unresolved=views.unresolved(findings),
    )


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
