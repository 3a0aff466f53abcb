"""The files of a report: rendered by the package of its kind, written all or none of them half."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from privacygauge.runs import atomic


def write_report(report: Any, findings: object, directory: str | Path) -> list[Path]:
    """Write ``report.html``, ``report.json`` and what else the kind has; return the files' paths.

    Parameters
    ----------
    report : module
        The report package of the findings' kind, with ``render_html`` and ``to_json``, and with
        ``further_files``, from findings to contents by file name, where there are any.
    findings : object
        Of that kind.
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
        "report.html": report.render_html(findings).encode("utf-8", "replace"),
        "report.json": report.to_json(findings).encode("ascii"),
    }
    if hasattr(report, "further_files"):
        files |= report.further_files(findings)
    return atomic.write_all(directory, files)
