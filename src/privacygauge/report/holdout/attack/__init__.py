"""Findings on attacks on a test set rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from privacygauge.report.holdout.attack.document import to_dict, to_json
from privacygauge.report.holdout.attack.html import render_html
from privacygauge.report.holdout.attack.plots import plot_biases
from privacygauge.report.holdout.attack.tables import records_frame, summary
from privacygauge.report.holdout.attack.terminal import terminal_summary
from privacygauge.report.holdout.attack.verdict import verdict

__all__ = [
    "plot_biases",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]
