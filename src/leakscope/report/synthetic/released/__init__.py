"""Findings on a released synthetic table rendered: a page, a document, tables, plots."""

from __future__ import annotations

from pathlib import Path

from leakscope.report import tables as attack_tables
from leakscope.report.synthetic.released.document import to_dict, to_json
from leakscope.report.synthetic.released.html import render_html
from leakscope.report.synthetic.released.membership import attacks_of
from leakscope.report.synthetic.released.plots import plot_risks, plot_roc
from leakscope.report.synthetic.released.tables import records_frame, risks_frame, summary
from leakscope.report.synthetic.released.terminal import terminal_summary
from leakscope.report.synthetic.released.verdict import verdict
from leakscope.report.synthetic.released_findings import ReleasedFindings
from leakscope.runs import atomic

__all__ = [
    "attacks_of",
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
    "write_report",
]


def write_report(f: ReleasedFindings, directory: str | Path) -> list[Path]:
    """Write the report of an audit, all files or none of them half.

    Parameters
    ----------
    f : ReleasedFindings
    directory : str or pathlib.Path
        Created where it is missing; files of an earlier report are replaced.

    Returns
    -------
    list of pathlib.Path
        ``report.html`` and ``report.json``; with a holdout also ``records.parquet`` and
        ``roc.csv``: without one no record was judged.

    Raises
    ------
    OutputError
        Before anything is rendered, if no file can be made there; later, if the disk is full.
    """
    directory = Path(directory)
    atomic.check_writable(directory)
    files = {
        "report.html": render_html(f).encode("utf-8", "replace"),
        "report.json": to_json(f).encode("ascii"),
    }
    attacks = attacks_of(f)
    if attacks is not None:
        files["records.parquet"] = attack_tables.records_parquet(attacks)
        files["roc.csv"] = attack_tables.roc_csv(attacks).encode("utf-8", "replace")
    return atomic.write_all(directory, files)
