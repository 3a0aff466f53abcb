"""Findings on what submissions can buy rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from leakscope.report.holdout.bound.document import to_dict, to_json
from leakscope.report.holdout.bound.html import render_html
from leakscope.report.holdout.bound.plots import plot_curves
from leakscope.report.holdout.bound.tables import records_frame, summary
from leakscope.report.holdout.bound.terminal import terminal_summary
from leakscope.report.holdout.bound.verdict import verdict

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
