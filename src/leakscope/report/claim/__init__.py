"""Findings on a privacy claim rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from leakscope.report.claim.document import to_dict, to_json
from leakscope.report.claim.findings import ClaimFindings
from leakscope.report.claim.html import render_html
from leakscope.report.claim.plots import plot_curve
from leakscope.report.claim.tables import curve_csv, curve_frame, records_frame, summary
from leakscope.report.claim.terminal import terminal_summary
from leakscope.report.claim.verdict import verdict
from leakscope.report.tables import parquet

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
