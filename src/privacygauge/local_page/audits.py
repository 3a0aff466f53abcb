"""Audits of dropped files: each runs as the command line would, in a process that can be ended."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from typing import Any

_LINES = 1_000
"""Most lines of one audit that are kept."""
_LENGTH = 2_000
"""Most characters of a line that are kept."""
_PATIENCE = 5.0
"""Seconds for an audit to end by itself once it is cancelled."""


class Audit:
    """A command in a process of its own, with the lines that it wrote; the object is mutable."""

    def __init__(self, command: str, arguments: Sequence[str], files: Path, out: Path) -> None:
        self.out = out
        """Folder of the results."""
        self.shown = shlex.join(["privacygauge", *command.split(), *arguments])
        """The command as one would type it."""
        self.lines: list[str] = []
        """Lines of progress, warnings and errors."""
        self.cancelled = False
        """Whether it was ended before it was finished."""
        self._began = monotonic()
        self._changed = Condition()
        self._code: int | None = None
        self._process = subprocess.Popen(
            # -P: dropped files lie in the working folder, and none of them is a module.
            [
                sys.executable,
                "-P",
                "-m",
                "privacygauge",
                *command.split(),
                *arguments,
                f"--out={out}",
            ],
            cwd=files,
            # Lines of progress more often than once a minute.
            env={**os.environ, "PRIVACYGAUGE_PROGRESS": "2", "COLUMNS": "100"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # A group of its own, which ends with all workers, and not with a key in the terminal.
            start_new_session=True,
        )
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        stream: Any = self._process.stderr
        while raw := stream.readline(_LENGTH):
            if line := " ".join(raw.decode("utf-8", "replace").split()):
                with self._changed:
                    self.lines = [*self.lines, line][-_LINES:]
                    self._changed.notify_all()
        stream.close()
        code = self._process.wait()
        with self._changed:
            self._code = code
            self._changed.notify_all()

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs."""
        return self._code

    @property
    def seconds(self) -> int:
        """Seconds since it began."""
        return int(monotonic() - self._began)

    @property
    def finished(self) -> bool:
        """Whether there is a page; a limit or a finding is no failure."""
        return self.code in (0, 3) and not self.cancelled

    @property
    def failure(self) -> str:
        """Reason in one line why there is no page; empty while it runs or if there is one."""
        if self.cancelled:
            return "The audit was cancelled."
        if self.code is None or self.finished:
            return ""
        error = next((x for x in reversed(self.lines) if x.startswith(_ERROR)), "")
        if error:
            return error.removeprefix(_ERROR)
        return (
            f"The audit ended without a result (code {self.code}): there may be too little memory"
        )

    def wait(self, seen: int, seconds: float) -> list[str]:
        """Return the lines after the first `seen`; wait for one for some seconds at most."""
        with self._changed:
            self._changed.wait_for(
                lambda: len(self.lines) > seen or self.code is not None, timeout=seconds
            )
            return self.lines[seen:]

    def cancel(self) -> None:
        """End the process with all of its workers; nothing happens to one that has ended."""
        if self.code is not None:
            return
        self.cancelled = True
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)
        # Workers of a process that has ended stay in its group.
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self._process.wait()
        self._reader.join()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)


_ERROR = "privacygauge: error: "
