"""Where results go: the terminal, a folder, a JSON file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from json import dumps
from pathlib import Path
from typing import Protocol

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from leakscope.audit import Audit, DtpAudit, ReleasedAudit, SyntheticAudit
from leakscope.cli.gate import (
    Limit,
    exceeded,
    exceeded_by_dtp,
    exceeded_by_released,
    exceeded_by_synthetic,
)
from leakscope.report import dtp, synthetic
from leakscope.report.synthetic import released
from leakscope.report.terminal import terminal_summary
from leakscope.runs.atomic import check_writable, write_all


def destination(out: Path | None, json: str | None, default: str) -> Path | None:
    """Return the folder to write to, checked to be writable; None where JSON alone is asked for."""
    folder = out if out is not None or json is not None else Path(default)
    if folder is not None:
        check_writable(folder)
    check_json(json)
    return folder


def check_json(json: str | None) -> None:
    """Prove that the file for JSON can be made, if one is asked for."""
    if json not in (None, "-"):
        check_writable(Path(str(json)).absolute().parent)


def emit_text(text: str, to: str | Path) -> None:
    """Write a text to a file, whole or not at all, or to the standard output for ``-``."""
    if to == "-":
        print(text, end="")
        return
    path = Path(to).absolute()
    check_writable(path.parent)
    write_all(path.parent, {path.name: text.encode()})


def emit_rows(rows: Sequence[Mapping[str, object]], json: str | None) -> None:
    """Print rows as a table, or write them as JSON where asked for."""
    if json is not None:
        emit_text(dumps(list(rows), indent=2) + "\n", json)
        return
    table = Table(box=None, pad_edge=False)
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(_shown(row.get(name)) for name in names))
    Console().print(table if rows else "Nothing found.")


def _shown(value: object) -> Text:
    # Text, not markup: names of files may hold brackets.
    if value is None:
        return Text()
    return Text(f"{value:.4g}" if isinstance(value, float) else str(value))


class Written(Protocol):
    """What an audit returns."""

    def write(self, directory: str | Path) -> list[Path]:
        """Write the report; return the paths of its files."""

    def to_json(self) -> str:
        """Return the text of ``report.json``."""


def emit(
    audit: Audit,
    folder: Path | None,
    json: str | None,
    quiet: bool,
    limits: tuple[Limit, ...] = (),
) -> int:
    """Write and print the audit; return the exit code."""
    shown = partial(terminal_summary, audit)
    return _emit(audit, shown, folder, json, quiet, exceeded(audit, limits))


def emit_dtp(
    audit: DtpAudit,
    folder: Path | None,
    json: str | None,
    quiet: bool,
    limits: tuple[Limit, ...] = (),
) -> int:
    """Write and print an audit of differential training privacy; return the exit code."""
    shown = partial(dtp.terminal_summary, audit)
    return _emit(audit, shown, folder, json, quiet, exceeded_by_dtp(audit, limits))


def emit_synthetic(
    audit: SyntheticAudit,
    folder: Path | None,
    json: str | None,
    quiet: bool,
    limits: tuple[Limit, ...] = (),
) -> int:
    """Write and print an audit of a generator; return the exit code."""
    shown = partial(synthetic.terminal_summary, audit)
    return _emit(audit, shown, folder, json, quiet, exceeded_by_synthetic(audit, limits))


def emit_released(
    audit: ReleasedAudit,
    folder: Path | None,
    json: str | None,
    quiet: bool,
    limits: tuple[Limit, ...] = (),
) -> int:
    """Write and print an audit of a released table; return the exit code."""
    shown = partial(released.terminal_summary, audit)
    return _emit(audit, shown, folder, json, quiet, exceeded_by_released(audit, limits))


def _emit(
    audit: Written,
    shown: Callable[[], RenderableType],
    folder: Path | None,
    json: str | None,
    quiet: bool,
    failures: list[str],
) -> int:
    if folder is not None:
        audit.write(folder)
    if json is not None:
        emit_text(audit.to_json(), json)
    if not quiet and json != "-":
        Console().print(shown())
        if folder is not None:
            print(f"Report: {folder / 'report.html'}")
    for line in failures:
        print(f"leakscope: {line}", file=sys.stderr)
    return 3 if failures else 0
