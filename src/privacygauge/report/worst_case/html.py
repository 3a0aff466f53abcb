"""The page on worst-case records: one HTML file, no network, no script."""

from __future__ import annotations

from privacygauge.report.html import environment
from privacygauge.report.svg import Picture, picture
from privacygauge.report.verdict import scale_of
from privacygauge.report.worst_case import plots, views
from privacygauge.report.worst_case.findings import ComparedWorstCases
from privacygauge.report.worst_case.verdict import verdict


def render_html(f: ComparedWorstCases) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    f : ComparedWorstCases

    Returns
    -------
    str
        Everything from the user's data is escaped; characters that steer a page are replaced.
        The page asks for nothing from outside and runs no script.
    """
    found = verdict(f)
    template = environment().get_template("worst_case.html.j2")
    return template.render(
        f=f,
        verdict=found,
        grades=scale_of(found.grade),
        severity=scale_of(found.grade).index(found.grade),
        cards=views.cards(f),
        lines=views.lines(f),
        full=views.in_full(f),
        methods=views.methods(f),
        pictures=pictures(f),
    )


def pictures(f: ComparedWorstCases) -> dict[str, Picture]:
    """Return the plots by name; over the accuracy where there is more than one training."""
    words = views.told(f)
    found = [
        picture(
            "groups",
            "Canaries beside ordinary records",
            "Filled: canaries. Hollow: ordinary records in the same models. Bars are intervals "
            "that hold together; the dotted line is guessing.",
            words,
            lambda: plots.plot_groups(f),
        )
    ]
    if f.defended:
        found.append(
            picture(
                "accuracy",
                "Privacy against the models' accuracy",
                "Down is private, right is accurate. Filled points: canaries, with intervals that "
                "hold together. Hollow points: ordinary records.",
                words,
                lambda: plots.plot_accuracy(f),
            )
        )
    return {x.name: x for x in found}
