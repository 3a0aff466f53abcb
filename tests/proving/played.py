"""One audit as a user plays it: the command in this process, bounded in time, and what it said."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest import mock

CPU_SECONDS = 60.0
"""What a world of the usual size may take on one core: 30 times as long as most do."""
WALL_SECONDS = 300.0
"""What waits rather than computes is stopped then."""

CRASHED = 70
"""The exit code where an exception came out of the command."""
HUNG = 124
"""The exit code of a world that was stopped."""


@dataclass(frozen=True)
class Oracle:
    """What an attacker who knows the plant reaches on the very records of the audit."""

    low: float
    high: float
    """Ends of an exact interval."""
    value: float
    """On the scale of `question`: balanced accuracy in [0, 1] of the average; the share of all
    records that are wholly exposed for the tail; the records of the group for groups."""
    question: str = "average"
    """average, tail or groups."""
    p: float | None = None
    """Of an exact test that nothing leaks; for the tail and for groups, whose scale is a size."""


@dataclass(frozen=True)
class Truth:
    """What is known of a world by construction."""

    leak: bool
    """Whether the release gives something away."""
    fair: bool
    """Whether the comparison that the user made can tell. Where something went wrong for the user
    only a confident wrong statement is a failure."""
    oracle: Callable[[Path], Oracle] | None = None
    """Given the folder that was played in; None where a miss cannot be held against the audit."""
    may_refuse: bool = False
    """Whether to refuse the files in one line is an answer."""
    least: str | None = None
    """The mildest severity that is right, where a leak is shown; None where that is not known."""
    most: str = "nothing found"
    """The gravest severity that is right without a leak: of honest work that looks like one."""


@dataclass(frozen=True)
class Played:
    """What the command said."""

    exit_code: int
    report: Mapping[str, Any] | None
    stdout: str
    stderr: str
    html_text: str
    """The words of the page, without marks and with single spaces."""
    seconds: float
    """CPU seconds."""
    broken: tuple[str, ...] = ()
    """What else is wrong, in sentences: a file of the user's that was replaced, a limit unheard."""

    @property
    def severity(self) -> str | None:
        """The verdict's severity; None where there is no report."""
        return None if self.report is None else self.report["verdict"]["severity"]


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.silent += tag in ("script", "style", "svg")

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in ("script", "style", "svg")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.parts.append(data)


def words(page: str) -> str:
    """Return the text of an HTML page, with single spaces."""
    reader = _Text()
    reader.feed(page)
    return " ".join("".join(reader.parts).split())


def command(arguments: Sequence[str], folder: Path, *, cpu: float = CPU_SECONDS) -> Played:
    """Return what ``privacygauge ARGUMENTS --out FOLDER/out --json FOLDER/out.json`` says.

    It runs in this process. Plots are left empty, since they take longer than most audits.
    """
    results = ["--out", str(folder / "out"), "--json", str(folder / "out.json")]
    argv = ["privacygauge", *map(str, arguments), *results]

    def play() -> int:
        from privacygauge.cli.main import run

        with mock.patch.object(sys, "argv", argv):
            return run()

    return _heard(play, folder, cpu)


def call(function: Callable[[], Any], folder: Path, *, cpu: float = CPU_SECONDS) -> Played:
    """Return what a public Python call says whose result has a ``report()``; as `command` does."""

    def play() -> int:
        from privacygauge.errors import PrivacyGaugeError

        try:
            result = function()
        except PrivacyGaugeError as error:
            sys.stderr.write(f"privacygauge: error: {error}\n")
            return 2
        result.write(folder / "out")
        (folder / "out.json").write_text(result.to_json(), encoding="utf-8")
        sys.stdout.write(result.summary())
        return 0

    return _heard(play, folder, cpu)


def _heard(play: Callable[[], int], folder: Path, cpu: float) -> Played:
    """Return what a play says that writes `out` and `out.json` below the folder."""
    heard = io.StringIO()
    complaints = io.StringIO()
    start = time.process_time()
    with redirect_stdout(heard), redirect_stderr(complaints), _undrawn(), warnings.catch_warnings():
        warnings.simplefilter("default")
        code = _bounded(play, cpu)
    seconds = time.process_time() - start
    page = folder / "out" / "report.html"
    report = None
    broken = []
    if code != HUNG and (folder / "out.json").exists():
        report, strange = _read(folder / "out.json")
        broken += [f"the JSON holds {name}" for name in strange]
        written = folder / "out" / "report.json"
        if written.exists() and _read(written)[0] != report:
            broken.append("report.json differs from what --json wrote")
    return Played(
        code,
        report,
        heard.getvalue(),
        complaints.getvalue(),
        words(page.read_text(encoding="utf-8")) if page.exists() else "",
        seconds,
        tuple(broken),
    )


def _read(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return a JSON file, and the numbers in it that JSON does not have."""
    strange: list[str] = []
    text = path.read_text(encoding="utf-8")
    return json.loads(text, parse_constant=strange.append), strange


class _Stopped(BaseException):
    """Raised where a world takes too long; nothing catches it on its way."""


def _bounded(play: Callable[[], int], cpu: float) -> int:
    """Return the exit code of a play that is stopped when it takes too long."""
    try:
        with _limits(cpu):
            return play()
    except _Stopped:
        sys.stderr.write(f"stopped after {cpu:g} seconds of one core\n")
        return HUNG
    except SystemExit as ended:
        return int(ended.code or 0)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - any exception is what is looked for
        traceback.print_exc(file=sys.stderr)
        return CRASHED


@contextmanager
def _limits(cpu: float) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise _Stopped

    before = {kind: signal.signal(kind, stop) for kind in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_REAL, max(WALL_SECONDS, 5 * cpu))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for kind, handler in before.items():
            signal.signal(kind, handler)


@contextmanager
def _undrawn() -> Iterator[None]:
    empty = '<svg viewBox="0 0 1 1"></svg>'
    with mock.patch("privacygauge.report.axes.svg_text", return_value=empty):
        yield


def squeezed(text: str) -> str:
    """Return text with single spaces, as the terminal's line breaks are nobody's words."""
    return re.sub(r"\s+", " ", text).strip()
