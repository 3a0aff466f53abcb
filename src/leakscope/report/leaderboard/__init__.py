"""Findings on a leaderboard's history rendered: a page, a document, tables, a plot."""

from __future__ import annotations

from pathlib import Path

from leakscope.report import tables as any_tables
from leakscope.report.leaderboard.document import to_dict, to_json
from leakscope.report.leaderboard.findings import LeaderboardFindings
from leakscope.report.leaderboard.html import render_html
from leakscope.report.leaderboard.plots import plot_history
from leakscope.report.leaderboard.tables import records_frame, summary, tests_frame
from leakscope.report.leaderboard.terminal import terminal_summary
from leakscope.report.leaderboard.verdict import verdict
from leakscope.runs import atomic

__all__ = [
    "plot_history",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "tests_frame",
    "to_dict",
    "to_json",
    "verdict",
    "write_report",
]


def write_report(f: LeaderboardFindings, directory: str | Path) -> list[Path]:
    """Write ``report.html``, ``report.json`` and ``records.parquet``, all or none of them half.

    Parameters
    ----------
    f : LeaderboardFindings
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
        "records.parquet": any_tables.parquet(records_frame(f)),
    }
    return atomic.write_all(directory, files)
