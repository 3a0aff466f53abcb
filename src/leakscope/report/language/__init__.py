"""Findings on a language model rendered: a page, a document, tables, plots."""

from __future__ import annotations

from leakscope.report.language.document import to_dict, to_json
from leakscope.report.language.findings import LanguageFindings
from leakscope.report.language.html import render_html
from leakscope.report.language.plots import plot_roc, plot_scores
from leakscope.report.language.tables import records_frame, records_parquet, roc_csv, summary
from leakscope.report.language.terminal import terminal_summary
from leakscope.report.language.verdict import verdict

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
