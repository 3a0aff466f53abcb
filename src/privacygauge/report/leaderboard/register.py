"""The line of a leaderboard's history in a risk register."""

from __future__ import annotations

from privacygauge.register.line import MODERATE, NOTHING, Kind, Number, Told, judged, named
from privacygauge.register.reading import Columns, Part
from privacygauge.report.leaderboard.verdict import LOUD, QUIET
from privacygauge.report.numbers import Shown, count, rate

SEVERITIES = {QUIET: NOTHING, LOUD: MODERATE}
"""Of the grades: a finding is no proof, so none is grave."""


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report on a leaderboard's history says."""
    found, tests = len(report.parts("findings")), len(report.parts("tests"))
    level = report.level()
    return Told(
        f"A leaderboard's history of {count(report.whole('submissions'))} submissions",
        "Are there submissions that honest work would hardly make?",
        f"nobody attacked here; looked at: {report.text('evidence')}",
        Number(
            "findings",
            "Tests that found something",
            float(found),
            Shown(f"{count(found)} of {count(tests)}"),
            f"none, in at least {rate(level)} of honest histories",
            "Holm's correction over all tests; a count has no interval",
            None,
            level if tests else None,
        ),
        judged(report, SEVERITIES),
        named("accounts", report.texts("suspects")),
        {"suspects": float(len(report.texts("suspects")))},
    )


KIND = Kind(
    "leaderboard history",
    "privacygauge.report.leaderboard",
    frozenset({"suspects", "winner"}),
    "test-set-reuse",
    tell,
)
"""Leaderboards' histories."""
