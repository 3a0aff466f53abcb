"""Findings on a privacy claim rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from pathlib import Path

from leakscope.report.claim.document import to_dict, to_json
from leakscope.report.claim.findings import ClaimFindings
from leakscope.report.claim.html import render_html
from leakscope.report.claim.plots import plot_curve
from leakscope.report.claim.tables import curve_csv, curve_frame, records_frame, summary
from leakscope.report.claim.terminal import terminal_summary
from leakscope.report.claim.verdict import verdict
from leakscope.report.tables import parquet
from leakscope.runs import atomic

__all__ = [
    "curve_csv",
    "curve_frame",
    "plot_curve",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
    "write_report",
]


def write_report(f: ClaimFindings, directory: str | Path) -> list[Path]:
    """Write the report of an audit, all files or none of them half.

    Parameters
    ----------
    f : ClaimFindings
    directory : str or pathlib.Path
        Created where it is missing; files of an earlier report are replaced.

    Returns
    -------
    list of pathlib.Path
        ``report.html``, ``report.json``, ``records.parquet`` and ``curve.csv``.

    Raises
    ------
    OutputError
        Before anything is rendered, if no file can be made there; later, if the disk is full.
    """
    directory = Path(directory)
    atomic.check_writable(directory)
    return atomic.write_all(
        directory,
        {
            "report.html": render_html(f).encode("utf-8", "replace"),
            "report.json": to_json(f).encode("ascii"),
            "records.parquet": parquet(records_frame(f)),
            "curve.csv": curve_csv(f).encode("ascii"),
        },
    )
