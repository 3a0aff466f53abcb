"""Findings on what submissions can buy rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from pathlib import Path

from leakscope.report.holdout.bound.document import to_dict, to_json
from leakscope.report.holdout.bound.html import render_html
from leakscope.report.holdout.bound.plots import plot_curves
from leakscope.report.holdout.bound.tables import records_frame, summary
from leakscope.report.holdout.bound.terminal import terminal_summary
from leakscope.report.holdout.bound.verdict import verdict
from leakscope.report.holdout.findings import BoundFindings
from leakscope.runs import atomic

__all__ = [
    "plot_curves",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
    "write_report",
]


def write_report(f: BoundFindings, directory: str | Path) -> list[Path]:
    """Write ``report.html`` and ``report.json``, both or neither, and return their paths.

    Parameters
    ----------
    f : BoundFindings
    directory : str or pathlib.Path
        Created where it is missing; files of an earlier report are replaced.

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
    return atomic.write_all(directory, files)
