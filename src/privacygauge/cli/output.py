"""Limits on results, their output to the terminal, a folder or a JSON file, and progress."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from json import dumps
from os import environ
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from privacygauge.errors import InputError
from privacygauge.report import render
from privacygauge.report.values import CheckedLimit, Report, Severity
from privacygauge.runs.folder import place_text
from privacygauge.runs.results import check_writable, require_free, write_results

VARIABLE = "PRIVACYGAUGE_PROGRESS"
"""Environment variable with the seconds between lines of progress, for programs that show them."""
_SECONDS = environ.get(VARIABLE, "")
SECONDS = float(_SECONDS) if _SECONDS.isdecimal() else 60.0
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


@dataclass(frozen=True)
class Limit:
    """Largest value that a measure may have."""

    metric: str
    """Name of the measure, with ``.low`` for the lower limit of its interval."""
    value: float
    """The largest value that passes."""


def parsed_limits(texts: Collection[str] | None, metrics: Collection[str]) -> tuple[Limit, ...]:
    """Parse limits such as ``accuracy=0.6`` or ``accuracy=60%``.

    Raises
    ------
    InputError
        If a name is not among the metrics, or a value is not a number in the metric's range: a
        limit outside it would be exceeded never, or always.
    """
    pairs = (text.partition("=") for text in texts or ())
    return tuple(_limit(x.strip(), y, metrics, "--fail-above") for x, _, y in pairs)


def check_limits(report: Report, limits: Collection[Limit]) -> tuple[CheckedLimit, ...]:
    """Return each limit with the result of its check, for the page and the JSON of a report."""
    # An audit that cannot tell keeps no limit: its numbers are no evidence.
    told = report.verdict.grade.severity is not Severity.UNTOLD
    return tuple(
        CheckedLimit(
            x.metric, x.value, report.numbers.get(x.metric), told and not _exceeded_text(report, x)
        )
        for x in limits
    )


def policy_limits(path: str | Path, command: str, metrics: Collection[str]) -> tuple[Limit, ...]:
    """Return the limits that a policy file sets for a command.

    Parameters
    ----------
    path : str or Path
        TOML file with a table per command, such as ``[classifier]``, and lines such as
        ``accuracy = 0.6``, ``accuracy = "60%"`` or ``"tpr@0.01" = 0.02``.
    command : str
        Name of the command, with hyphens for spaces.
    metrics : collection of str
        Names of the measures that may have limits.

    Raises
    ------
    InputError
        If the file cannot be read, has no table for the command, or holds an invalid limit.
    """
    from privacygauge.datasets.reading import read_toml
    from privacygauge.runs.folder import place_text

    file = place_text(path)
    table = read_toml(Path(path), "policy").get(command)
    if not isinstance(table, dict) or not table:
        raise InputError(f"{file} sets no limit for {command}: add a table [{command}]")
    for name, value in table.items():
        # TOML's `true` is a Python bool, which is an int, and would pass as 1.
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise InputError(f"{file}: {command}.{name} must be a number, got {value!r}")
    where = f"{file}: [{command}]"
    return tuple(_limit(name, str(value), metrics, where) for name, value in table.items())


def exceeded_limits(report: Report, limits: Collection[Limit]) -> list[str]:
    """Return a line for each limit that the report exceeds or that could not be checked.

    If the grade is `UNTOLD`, another line comes first: a number below its limit is then not
    evidence.
    """
    lines = [line for limit in limits if (line := _exceeded_text(report, limit))]
    if limits and report.verdict.grade.severity is Severity.UNTOLD:
        return [f"{report.verdict.headline}: no limit can be checked", *lines]
    return lines


def never_exceeded(limits: Collection[Limit]) -> list[str]:
    """Return a line for each limit of 1, which is 100%: some users mean 1%."""
    return [
        f"a limit of 1 on {limit.metric} is 100% and is never exceeded: 1% is {limit.metric}=1%"
        for limit in limits
        if limit.value == getattr(limit.metric, "most", math.inf) == 1
    ]


def _exceeded_text(report: Report, limit: Limit) -> str:
    return exceeded_text(report.numbers.get(limit.metric), limit)


def exceeded_text(found: float | None, limit: Limit) -> str:
    """Return a line if a number is above its limit, or None, and so unknown; else nothing."""
    if found is None:
        return f"{limit.metric} was not computed, so its limit cannot be checked"
    if found > limit.value:
        return f"{limit.metric} is {found:.4g}, above the limit of {limit.value:g}"
    return ""


def _limit(name: str, number: str, metrics: Collection[str], where: str) -> Limit:
    """Parse a limit; error messages begin with `where`, the place it was given."""
    if name not in metrics:
        known = [metric for metric in metrics if not metric.endswith(".low")]
        raise InputError(f"{where}: no metric {name!r}; there are {', '.join(known)}")
    # The equal name among the metrics, not the given text, knows its largest value.
    known_as = next(metric for metric in metrics if metric == name)
    # A metric that does not state its largest value has none.
    most: float = getattr(known_as, "most", math.inf)
    digits = number.strip().removesuffix("%")
    try:
        value = float(digits)
    except ValueError as error:
        example = f"{name}=60%" if most == 1 else f"{name}=0.6"
        rule = f"a limit must be METRIC=VALUE, such as {example}"
        raise InputError(f"{where}: {rule}, got {name}={number}") from error
    if digits != number.strip():
        if most != 1:
            raise InputError(f"{where}: {name} is not a share, and {number} is one: give a number")
        value /= 100
    if not 0 <= value <= most or math.isinf(value):
        # A limit above all values is never exceeded, nor is NaN, which fails the comparison above.
        rule = f"in [0, {most:g}]" if math.isfinite(most) else "finite and at least 0"
        meant = f": did you mean {value / 100:g}?" if most == 1 < value <= 100 else ""
        raise InputError(f"{where}: a limit of {name} must be {rule}, got {number}{meant}")
    return Limit(known_as, value)


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
