"""Findings on what submissions can buy rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from privacygauge.report.holdout.bound.document import to_dict, to_json
from privacygauge.report.holdout.bound.html import render_html
from privacygauge.report.holdout.bound.plots import plot_curves
from privacygauge.report.holdout.bound.tables import records_frame, summary
from privacygauge.report.holdout.bound.terminal import terminal_summary
from privacygauge.report.holdout.bound.verdict import verdict

__all__ = [
    "plot_curves",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]
