"""The page on a privacy claim: one HTML file, no network, no script."""

from __future__ import annotations

from privacygauge.report.claim import plots, views
from privacygauge.report.claim.findings import ClaimFindings
from privacygauge.report.claim.verdict import GRADES, verdict
from privacygauge.report.claim.words import claimed, sample
from privacygauge.report.html import environment
from privacygauge.report.svg import Picture, picture


def render_html(f: ClaimFindings) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    f : ClaimFindings

    Returns
    -------
    str
        Everything from the user's data is escaped; characters that steer a page are replaced.
        The page asks for nothing from outside and runs no script.
    """
    found = verdict(f)
    scale = GRADES if found.grade in GRADES else (found.grade,)
    return (
        environment()
        .get_template("claim.html.j2")
        .render(
            f=f,
            verdict=found,
            grades=scale,
            severity=scale.index(found.grade),
            unknown=found.grade not in GRADES,
            cards=views.cards(f),
            claimed=claimed(f.claim),
            sample=sample(f),
            bounds=views.bound_rows(f),
            guesses=views.guess_rows(f),
            curve=curve(f),
        )
    )


def curve(f: ClaimFindings) -> Picture:
    """Return the bound by the number of guesses as a picture."""
    return picture(
        "curve",
        "The bound by the number of guesses",
        "Descriptive: each point is a bound as if it were the only one, so the highest of them "
        "holds at no level. The dashed line is the bound of an attack that is always right; where "
        "the dotted line, the claim, lies above it, the claim cannot be refuted.",
        views.curve_words(f),
        lambda: plots.plot_curve(f),
    )
