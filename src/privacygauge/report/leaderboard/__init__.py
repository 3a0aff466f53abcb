"""Findings on a leaderboard's history rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from privacygauge.report import tables as any_tables
from privacygauge.report.leaderboard.document import to_dict, to_json
from privacygauge.report.leaderboard.findings import LeaderboardFindings
from privacygauge.report.leaderboard.html import render_html
from privacygauge.report.leaderboard.plots import plot_history
from privacygauge.report.leaderboard.tables import records_frame, summary, tests_frame
from privacygauge.report.leaderboard.terminal import terminal_summary
from privacygauge.report.leaderboard.verdict import verdict

__all__ = [
    "further_files",
    "plot_history",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "tests_frame",
    "to_dict",
    "to_json",
    "verdict",
]


def further_files(f: LeaderboardFindings) -> dict[str, bytes]:
    """Return a row for every submission, as bytes by file name."""
    return {"records.parquet": any_tables.parquet(records_frame(f))}
