"""Findings on differential training privacy rendered: a page, a document, tables, plots."""

from __future__ import annotations

from pathlib import Path

from leakscope.classifier.dtp.findings import DtpFindings
from leakscope.report.dtp.document import to_dict, to_json
from leakscope.report.dtp.html import render_html
from leakscope.report.dtp.plots import plot_pdtp, plot_removal, plot_variation
from leakscope.report.dtp.tables import records_frame, records_parquet, removal_csv, summary
from leakscope.report.dtp.terminal import terminal_summary
from leakscope.report.dtp.verdict import DtpVerdict, verdict
from leakscope.runs import atomic

__all__ = [
    "DtpVerdict",
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
    "write_report",
]


def write_report(f: DtpFindings, directory: str | Path) -> list[Path]:
    """Write the report of an audit, all files or none of them half.

    Parameters
    ----------
    f : DtpFindings
    directory : str or pathlib.Path
        Created where it is missing; files of an earlier report are replaced.

    Returns
    -------
    list of pathlib.Path
        ``report.html``, ``report.json``, ``records.parquet``, and ``removal.csv`` where records
        were removed.

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
    if f.removal is not None:
        files["removal.csv"] = removal_csv(f.removal).encode("ascii")
    return atomic.write_all(directory, files)
