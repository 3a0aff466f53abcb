"""Findings on a released synthetic table rendered: a page, a document, tables, plots."""

from __future__ import annotations

from leakscope.report import tables as attack_tables
from leakscope.report.synthetic.released.document import to_dict, to_json
from leakscope.report.synthetic.released.html import render_html
from leakscope.report.synthetic.released.membership import attacks_of
from leakscope.report.synthetic.released.plots import plot_risks, plot_roc
from leakscope.report.synthetic.released.tables import records_frame, risks_frame, summary
from leakscope.report.synthetic.released.terminal import terminal_summary
from leakscope.report.synthetic.released.verdict import verdict
from leakscope.report.synthetic.released_findings import ReleasedFindings

__all__ = [
    "attacks_of",
    "further_files",
    "plot_risks",
    "plot_roc",
    "records_frame",
    "render_html",
    "risks_frame",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
]


def further_files(f: ReleasedFindings) -> dict[str, bytes]:
    """Return a row for every record and the curve, by file name; nothing without a holdout.

    Without one no record was judged.
    """
    attacks = attacks_of(f)
    if attacks is None:
        return {}
    return {
        "records.parquet": attack_tables.records_parquet(attacks),
        "roc.csv": attack_tables.roc_csv(attacks).encode("utf-8", "replace"),
    }
