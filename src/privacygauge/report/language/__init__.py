"""Findings on a language model rendered: a page, a document, tables, plots."""

from __future__ import annotations

from privacygauge.report.language.document import to_dict, to_json
from privacygauge.report.language.findings import LanguageFindings
from privacygauge.report.language.html import render_html
from privacygauge.report.language.plots import plot_roc, plot_scores
from privacygauge.report.language.tables import records_frame, records_parquet, roc_csv, summary
from privacygauge.report.language.terminal import terminal_summary
from privacygauge.report.language.verdict import verdict

__all__ = [
    "further_files",
    "plot_roc",
    "plot_scores",
    "records_frame",
    "records_parquet",
    "render_html",
    "roc_csv",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]


def further_files(f: LanguageFindings) -> dict[str, bytes]:
    """Return a row for every sample, and the curves, as bytes by file name."""
    return {
        "records.parquet": records_parquet(f),
        "roc.csv": roc_csv(f).encode("utf-8", "replace"),
    }
