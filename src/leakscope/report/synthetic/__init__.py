"""Findings on synthetic tables rendered: a page, a document, tables, plots."""

from __future__ import annotations

from pathlib import Path

from leakscope.report.synthetic.document import to_dict, to_json
from leakscope.report.synthetic.findings import SyntheticFindings
from leakscope.report.synthetic.html import render_html
from leakscope.report.synthetic.plots import plot_auc, plot_vulnerability
from leakscope.report.synthetic.tables import records_frame, records_parquet, summary
from leakscope.report.synthetic.terminal import terminal_summary
from leakscope.report.synthetic.verdict import verdict
from leakscope.runs import atomic

__all__ = [
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
    "write_report",
]


def write_report(f: SyntheticFindings, directory: str | Path) -> list[Path]:
    """Write the report of an audit of a generator, all files or none of them half.

    Parameters
    ----------
    f : SyntheticFindings
    directory : str or pathlib.Path
        Created where it is missing; files of an earlier report are replaced.

    Returns
    -------
    list of pathlib.Path
        ``report.html``, ``report.json`` and ``records.parquet``.

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
        "records.parquet": records_parquet(f),
    }
    return atomic.write_all(directory, files)
