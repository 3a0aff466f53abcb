"""Findings on synthetic tables rendered: a page, a document, tables, plots."""

from __future__ import annotations

from privacygauge.report.synthetic.document import to_dict, to_json
from privacygauge.report.synthetic.findings import SyntheticFindings
from privacygauge.report.synthetic.html import render_html
from privacygauge.report.synthetic.plots import plot_auc, plot_vulnerability
from privacygauge.report.synthetic.tables import records_frame, records_parquet, summary
from privacygauge.report.synthetic.terminal import terminal_summary
from privacygauge.report.synthetic.verdict import verdict

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
