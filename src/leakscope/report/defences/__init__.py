"""Findings on defences rendered: a page, a document, tables, plots."""

from __future__ import annotations

from pathlib import Path

from leakscope.report.defences.document import to_dict, to_json
from leakscope.report.defences.findings import ComparedDefences
from leakscope.report.defences.html import render_html
from leakscope.report.defences.plots import plot_accuracy, plot_risk, plot_trade_off
from leakscope.report.defences.tables import as_csv, defences_frame, records_frame, summary
from leakscope.report.defences.terminal import terminal_summary
from leakscope.report.defences.verdict import verdict
from leakscope.runs import atomic

__all__ = [
    "defences_frame",
    "plot_accuracy",
    "plot_risk",
    "plot_trade_off",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
    "write_report",
]


def write_report(f: ComparedDefences, directory: str | Path) -> list[Path]:
    """Write the report of an audit, all files or none of them half.

    Parameters
    ----------
    f : ComparedDefences
    directory : str or pathlib.Path
        Created where it is missing; files of an earlier report are replaced.

    Returns
    -------
    list of pathlib.Path
        ``report.html``, ``report.json``, ``defences.csv`` (one line for each defence) and
        ``attacks.csv`` (one for each defence, attack and adversary).

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
            "defences.csv": as_csv(defences_frame(f)),
            "attacks.csv": as_csv(records_frame(f)),
        },
    )
