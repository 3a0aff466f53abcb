"""Findings on a privacy claim rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from privacygauge.report.claim.document import to_dict, to_json
from privacygauge.report.claim.findings import ClaimFindings
from privacygauge.report.claim.html import render_html
from privacygauge.report.claim.plots import plot_curve
from privacygauge.report.claim.tables import curve_csv, curve_frame, records_frame, summary
from privacygauge.report.claim.terminal import terminal_summary
from privacygauge.report.claim.verdict import verdict
from privacygauge.report.tables import parquet

__all__ = [
    "curve_csv",
    "curve_frame",
    "further_files",
    "plot_curve",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]


def further_files(f: ClaimFindings) -> dict[str, bytes]:
    """Return a row for every canary, and the curve, as bytes by file name."""
    return {
        "records.parquet": parquet(records_frame(f)),
        "curve.csv": curve_csv(f).encode("ascii"),
    }
