"""Output of results to the terminal, a folder or a JSON file, and progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from json import dumps
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from privacygauge.errors import InputError
from privacygauge.report import render
from privacygauge.report.limits import Limit, check_limits, exceeded_limits, never_exceeded
from privacygauge.report.values import Report
from privacygauge.runs.folder import place_text
from privacygauge.runs.results import check_writable, require_free, write_results

SECONDS = 60.0
"""Shortest time in seconds between lines of progress without a terminal."""


def destination(
    out: Path | None,
    json: str | None,
    default: str | None,
    files: Collection[str] = (),
    inputs: Collection[str | Path] = (),
) -> Path | None:
    """Return the folder for results, checked to be writable; None if only JSON is wanted.

    `files` are the names of the files to be written there. None of them, nor the JSON file,
    replaces one of the `inputs` or any other file that PrivacyGauge did not write.
    """
    usual = None if default is None else Path(default)
    folder = out if out is not None or json is not None else usual
    if folder is not None:
        require_free(folder, files, inputs=inputs)
        check_writable(folder)
    check_json(json, inputs)
    # report.json would be written twice with the same content: no conflict.
    if folder is not None and json not in (None, "-"):
        place = Path(str(json)).absolute()
        if place.parent == folder.absolute() and place.name in {*files} - {"report.json"}:
            raise InputError(f"--json {json} is a file of the report: choose another name")
    return folder


_ANOTHER = "choose another file with {}, or move the file away"
"""Way out for a file that may not be replaced, with the flag that names it."""


def print_line(line: str) -> None:
    """Print a line to the standard error, apart from results."""
    print(line, file=sys.stderr, flush=True)


def check_json(json: str | None, inputs: Collection[str | Path] = (), flag: str = "--json") -> None:
    """Test that the requested JSON file is writable and would replace nothing."""
    if json in (None, "-") or _is_stream(path := Path(str(json))):
        return
    require_free(path.parent, [path.name], inputs=inputs, way_out=_ANOTHER.format(flag))
    check_writable(path.parent)


def emit_text(text: str, to: str | Path, flag: str = "--json") -> None:
    """Write a text to a file, completely or not at all, or to the standard output for ``-``."""
    if to == "-":
        print(text, end="")
        return
    path = Path(to)
    if _is_stream(path):
        path.write_text(text, encoding="utf-8")
        return
    check_writable(path.parent)
    write_results(path.parent, {path.name: text.encode()}, way_out=_ANOTHER.format(flag))


def _is_stream(path: Path) -> bool:
    """Return whether a path is a pipe or a device, such as /dev/stdout, to be written in place."""
    return path.is_fifo() or path.is_char_device()


_WIDEST = 10_000
"""Characters of a line that is not for a terminal."""


def emit_rows(rows: Sequence[Mapping[str, object]], json: str | None) -> None:
    """Print rows as a table, or write them as JSON to `json` if given."""
    if json is not None:
        emit_text(dumps(list(rows), indent=2) + "\n", json)
        return
    table = Table(box=None, pad_edge=False)
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        # Numbers stay whole where the window is narrow; texts are folded first.
        number = all(isinstance(row.get(name), int | float | None) for row in rows)
        table.add_column(name, overflow="fold", no_wrap=number)
    for row in rows:
        values = ["" if row.get(name) is None else row[name] for name in names]
        shown = [f"{x:.4g}" if isinstance(x, float) else str(x) for x in values]
        # As text, since rich reads brackets, such as those in names of files, as markup.
        table.add_row(*map(Text, shown))
    # A file or a pipe has no width that lines would have to fit.
    width = None if sys.stdout.isatty() else _WIDEST
    Console(width=width).print(table if rows else "Nothing found.")


def conclude(
    report: Report,
    limits: Collection[Limit],
    folder: Path | None,
    json: str | None,
    quiet: bool,
) -> int:
    """Check a report against limits, write and print it, and return the exit code."""
    # Checked before anything is written: the page shows the limits with their results.
    failures = exceeded_limits(report, limits)
    if not quiet and not failures:
        for line in never_exceeded(limits):
            print_line(f"privacygauge: {line}")
    return emit_report(
        replace(report, held=check_limits(report, limits)),
        folder,
        json=json,
        quiet=quiet,
        failures=failures,
    )


def emit_report(
    report: Report,
    folder: Path | None,
    json: str | None,
    quiet: bool,
    failures: Sequence[str],
    stem: str = "report",
) -> int:
    """Write and print a report and the limits that it exceeds; return the exit code."""
    if folder is not None:
        render.write(report, folder, stem)
    if json is not None:
        emit_text(render.as_json(report), json)
    if not quiet and json != "-":
        Console().print(render.terminal(report))
        if folder is not None:
            print(f"{stem.capitalize()}: {place_text(folder / f'{stem}.html')}")
    for line in failures:
        print(f"privacygauge: {line}", file=sys.stderr)
    return 3 if failures else 0


@contextmanager
def bar(title: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a callback for (done, total).

    It draws a bar with the time left, or prints a line a minute without a terminal.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield (lambda done, total: None) if quiet else _lines(title, console.print)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _lines(title: str, tell: Callable[[str], None]) -> Callable[[int, int], None]:
    """Return a callback that prints a line with the time left, once in `SECONDS` at most."""
    start = last = time.monotonic()

    def line(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS:
            return
        last = now
        left = (total - done) * (now - start) / max(done, 1)
        tell(f"{title}: {done:,} of {total:,}, about {left / 60:.0f} min left")

    return line
