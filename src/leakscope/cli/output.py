"""Where results go: the terminal, a folder, a JSON file."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from leakscope.audit import Audit
from leakscope.cli.gate import Limit, exceeded
from leakscope.report.terminal import terminal_summary
from leakscope.runs.atomic import check_writable, write_all


def destination(out: Path | None, json: str | None, default: str) -> Path | None:
    """Return the folder to write to, checked to be writable; None where JSON alone is asked for."""
    folder = out if out is not None or json is not None else Path(default)
    if folder is not None:
        check_writable(folder)
    if json not in (None, "-"):
        check_writable(Path(str(json)).absolute().parent)
    return folder


def emit(
    audit: Audit,
    folder: Path | None,
    json: str | None,
    quiet: bool,
    limits: tuple[Limit, ...] = (),
) -> int:
    """Write and print the audit; return the exit code."""
    if folder is not None:
        audit.write(folder)
    if json == "-":
        print(audit.to_json())
    elif json is not None:
        path = Path(json).absolute()
        write_all(path.parent, {path.name: audit.to_json().encode()})
    if not quiet and json != "-":
        Console().print(terminal_summary(audit))
        if folder is not None:
            print(f"Report: {folder / 'report.html'}")
    failures = exceeded(audit, limits)
    for line in failures:
        print(f"leakscope: {line}", file=sys.stderr)
    return 3 if failures else 0
