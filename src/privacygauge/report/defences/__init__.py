"""Findings on defences rendered: a page, a document, tables, plots."""

from __future__ import annotations

from privacygauge.report.defences.document import to_dict, to_json
from privacygauge.report.defences.early import curve_lines
from privacygauge.report.defences.findings import ComparedDefences
from privacygauge.report.defences.html import render_html
from privacygauge.report.defences.plots import plot_accuracy, plot_risk, plot_trade_off
from privacygauge.report.defences.tables import as_csv, defences_frame, records_frame, summary
from privacygauge.report.defences.terminal import terminal_summary
from privacygauge.report.defences.verdict import verdict

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
