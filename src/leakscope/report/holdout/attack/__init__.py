"""Findings on attacks on a test set rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from pathlib import Path

from leakscope.report.holdout.attack.document import to_dict, to_json
from leakscope.report.holdout.attack.html import render_html
from leakscope.report.holdout.attack.plots import plot_biases
from leakscope.report.holdout.attack.tables import records_frame, summary
from leakscope.report.holdout.attack.terminal import terminal_summary
from leakscope.report.holdout.attack.verdict import verdict
from leakscope.report.holdout.findings import AttackFindings
from leakscope.runs import atomic

__all__ = [
    "plot_biases",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
    "write_report",
]


def write_report(f: AttackFindings, directory: str | Path) -> list[Path]:
    """Write ``report.html`` and ``report.json``, both or neither, and return their paths.

    Parameters
    ----------
    f : AttackFindings
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
