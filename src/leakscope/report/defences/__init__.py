"""Findings on defences rendered: a page, a document, tables, plots."""

from __future__ import annotations

from leakscope.report.defences.document import to_dict, to_json
from leakscope.report.defences.early import curve_lines
from leakscope.report.defences.findings import ComparedDefences
from leakscope.report.defences.html import render_html
from leakscope.report.defences.plots import plot_accuracy, plot_risk, plot_trade_off
from leakscope.report.defences.tables import as_csv, defences_frame, records_frame, summary
from leakscope.report.defences.terminal import terminal_summary
from leakscope.report.defences.verdict import verdict

__all__ = [
    "defences_frame",
    "further_files",
    "plot_accuracy",
    "plot_risk",
    "plot_trade_off",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]


def further_files(f: ComparedDefences) -> dict[str, bytes]:
    """Return a line for every defence, every attack on it, and every epoch, by file name."""
    import pandas as pd

    files = {
        "defences.csv": as_csv(defences_frame(f)),
        "attacks.csv": as_csv(records_frame(f)),
    }
    if f.curve:
        files["epochs.csv"] = as_csv(pd.DataFrame(curve_lines(f)))
    return files
