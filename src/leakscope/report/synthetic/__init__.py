"""Findings on synthetic tables rendered: a page, a document, tables, plots."""

from __future__ import annotations

from leakscope.report.synthetic.document import to_dict, to_json
from leakscope.report.synthetic.findings import SyntheticFindings
from leakscope.report.synthetic.html import render_html
from leakscope.report.synthetic.plots import plot_auc, plot_vulnerability
from leakscope.report.synthetic.tables import records_frame, records_parquet, summary
from leakscope.report.synthetic.terminal import terminal_summary
from leakscope.report.synthetic.verdict import verdict

__all__ = [
    "further_files",
    "plot_auc",
    "plot_vulnerability",
    "records_frame",
    "records_parquet",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]


def further_files(f: SyntheticFindings) -> dict[str, bytes]:
    """Return a row for every target, as bytes by file name."""
    return {"records.parquet": records_parquet(f)}
