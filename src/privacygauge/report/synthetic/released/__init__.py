"""Findings on a released synthetic table rendered: a page, a document, tables, plots."""

from __future__ import annotations

from privacygauge.report import tables as attack_tables
from privacygauge.report.synthetic.released.document import to_dict, to_json
from privacygauge.report.synthetic.released.html import render_html
from privacygauge.report.synthetic.released.membership import attacks_of
from privacygauge.report.synthetic.released.plots import plot_risks, plot_roc
from privacygauge.report.synthetic.released.tables import records_frame, risks_frame, summary
from privacygauge.report.synthetic.released.terminal import terminal_summary
from privacygauge.report.synthetic.released.verdict import verdict
from privacygauge.report.synthetic.released_findings import ReleasedFindings

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
