"""Findings on a language model rendered: a page, a document, tables, plots."""

from __future__ import annotations

from pathlib import Path

from leakscope.report.language.document import to_dict, to_json
from leakscope.report.language.findings import LanguageFindings
from leakscope.report.language.html import render_html
from leakscope.report.language.plots import plot_roc, plot_scores
from leakscope.report.language.tables import records_frame, records_parquet, roc_csv, summary
from leakscope.report.language.terminal import terminal_summary
from leakscope.report.language.verdict import verdict
from leakscope.runs import atomic

__all__ = [
    "plot_roc",
    "plot_scores",
    "records_frame",
    "records_parquet",
    "render_html",
    "roc_csv",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
    "write_report",
]


def write_report(f: LanguageFindings, directory: str | Path) -> list[Path]:
    """Write the report of an audit of a language model, all files or none of them half.

    Parameters
    ----------
    f : LanguageFindings
    directory : str or pathlib.Path
        Created where it is missing; files of an earlier report are replaced.

    Returns
    -------
    list of pathlib.Path
        ``report.html``, ``report.json``, ``records.parquet`` and ``roc.csv``.

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
        "roc.csv": roc_csv(f).encode("utf-8", "replace"),
    }
    return atomic.write_all(directory, files)
