"""Findings rendered: a page, a document for programs, tables, plots. Computes no statistic."""

from __future__ import annotations

from privacygauge.evaluate.findings import Findings
from privacygauge.report.document import to_dict, to_json
from privacygauge.report.html import render_html
from privacygauge.report.tables import records_frame, records_parquet, roc_csv, summary
from privacygauge.report.terminal import terminal_summary
from privacygauge.report.verdict import Verdict, verdict

__all__ = [
    "Verdict",
    "further_files",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]


def further_files(findings: Findings) -> dict[str, bytes]:
    """Return a row for every record and the curve of the best attack, as bytes by file name."""
    return {
        "records.parquet": records_parquet(findings),
        "roc.csv": roc_csv(findings).encode("utf-8", "replace"),
    }
