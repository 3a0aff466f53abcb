"""Findings on worst-case records rendered: a page, a document, tables, plots."""

from __future__ import annotations

from privacygauge.report.defences.tables import as_csv
from privacygauge.report.worst_case.document import to_dict, to_json
from privacygauge.report.worst_case.findings import ComparedWorstCases
from privacygauge.report.worst_case.html import render_html
from privacygauge.report.worst_case.plots import plot_accuracy, plot_groups
from privacygauge.report.worst_case.tables import records_frame, summary, trainings_frame
from privacygauge.report.worst_case.terminal import terminal_summary
from privacygauge.report.worst_case.verdict import verdict

__all__ = [
    "further_files",
    "plot_accuracy",
    "plot_groups",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "trainings_frame",
    "verdict",
]


def further_files(f: ComparedWorstCases) -> dict[str, bytes]:
    """Return a line for every training, and for every attack on it, by file name."""
    return {
        "trainings.csv": as_csv(trainings_frame(f)),
        "attacks.csv": as_csv(records_frame(f)),
    }
