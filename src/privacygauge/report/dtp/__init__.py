"""Findings on differential training privacy rendered: a page, a document, tables, plots."""

from __future__ import annotations

from privacygauge.classifier.dtp.findings import DtpFindings
from privacygauge.report.dtp.document import to_dict, to_json
from privacygauge.report.dtp.html import render_html
from privacygauge.report.dtp.plots import plot_pdtp, plot_removal, plot_variation
from privacygauge.report.dtp.tables import records_frame, records_parquet, removal_csv, summary
from privacygauge.report.dtp.terminal import terminal_summary
from privacygauge.report.dtp.verdict import DtpVerdict, verdict

__all__ = [
    "DtpVerdict",
    "further_files",
    "plot_pdtp",
    "plot_removal",
    "plot_variation",
    "records_frame",
    "records_parquet",
    "removal_csv",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]


def further_files(f: DtpFindings) -> dict[str, bytes]:
    """Return a row for every record, and the removal where there was one, by file name."""
    files = {"records.parquet": records_parquet(f)}
    if f.removal is not None:
        files["removal.csv"] = removal_csv(f.removal).encode("ascii")
    return files
