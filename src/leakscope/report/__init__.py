"""Findings rendered: a page, a document for programs, tables, plots. Computes no statistic."""

from __future__ import annotations

from pathlib import Path

from leakscope.evaluate.findings import Findings
from leakscope.report.document import to_dict, to_json
from leakscope.report.html import render_html
from leakscope.report.tables import records_frame, records_parquet, roc_csv, summary
from leakscope.report.terminal import terminal_summary
from leakscope.report.verdict import Verdict, verdict
from leakscope.runs import atomic

__all__ = [
    "Verdict",
    "records_frame",
    "render_html",
    "summary",
    "terminal_summary",
    "to_dict",
    "to_json",
    "verdict",
    "write_report",
]


def write_report(findings: Findings, directory: str | Path) -> list[Path]:
    """Write the report of an audit, all files or none of them half.

    Parameters
    ----------
    findings : Findings
    directory : str or pathlib.Path
        Created where it is missing; files of an earlier report are replaced.

    Returns
    -------
    list of pathlib.Path
        ``report.html``, ``report.json``, ``records.parquet``, ``roc.csv``.

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
            "report.html": render_html(findings).encode("utf-8", "replace"),
            "report.json": to_json(findings).encode("ascii"),
            "records.parquet": records_parquet(findings),
            "roc.csv": roc_csv(findings).encode("utf-8", "replace"),
        },
    )
