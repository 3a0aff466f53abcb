"""The page on a leaderboard's history: one HTML file, no network, no script."""

from __future__ import annotations

from privacygauge.holdout.history.detectors import ALL
from privacygauge.report.html import environment
from privacygauge.report.leaderboard import plots
from privacygauge.report.leaderboard.findings import LeaderboardFindings
from privacygauge.report.leaderboard.verdict import SCALE, verdict
from privacygauge.report.leaderboard.views import cards
from privacygauge.report.numbers import percent
from privacygauge.report.svg import picture

_ROWS = 25
"""Tests that are listed; all are in report.json."""


def render_html(f: LeaderboardFindings) -> str:
    """Return the report as one self-contained HTML page.

    Names of accounts are escaped; submitted answers and labels are not in it. The page asks for
    nothing from outside and runs no script.
    """
    found, s = verdict(f), f.submissions
    drawn = picture(
        "history",
        "Scores in the order of time",
        "Dots: submissions; crosses: those in a finding. Where the best so far stays near the "
        "curve of noise alone, luck explains it. The Ladder is what it would have shown.",
        f"The best score is {percent(s.best[-1], 2)}, it rose {int(s.record.sum()):,} times; "
        f"noise alone gives {percent(s.noise[-1], 2)}.",
        lambda: plots.plot_history(f),
    )
    ran = {test.detector.name for test in f.tests}
    template = environment().get_template("leaderboard.html.j2")
    return template.render(
        f=f,
        verdict=found,
        grades=SCALE,
        severity=SCALE.index(found.grade),
        cards=cards(f),
        drawn=drawn,
        quiet=[test for test in f.tests if not test.stands_out][:_ROWS],
        detectors=[detector for detector in ALL if detector.name in ran],
    )
