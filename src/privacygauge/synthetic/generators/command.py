"""Generators in any language: a program that reads a CSV table and writes one."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np

from privacygauge.errors import InputError
from privacygauge.synthetic.generators.foreign import digest_of_file, drawn_seed
from privacygauge.synthetic.generators.returned import csv_of, frame_of_csv, one_line, table_from
from privacygauge.synthetic.table import Table

MOST_BYTES = 2**26
"""A program that writes more than this, and a thousand bytes a field, is stopped: it would fill
the disk before its time is up."""
_MOST_BYTES_A_FIELD = 1_000
_LOOK_EVERY_SECONDS = 0.2
_TAIL_BYTES = 4_096


@dataclass(frozen=True)
class Command:
    """Runs a program for every table: CSV on its standard input, CSV from its standard output.

    Both tables are in UTF-8, with a header, and have empty fields where a value is missing. In
    the arguments ``{n}`` stands for the number of records and ``{seed}`` for the seed; the
    environment holds both as PRIVACYGAUGE_N and PRIVACYGAUGE_SEED. No shell is involved.

    Raises
    ------
    InputError
        If there is no program, or it cannot be found, or the limit is not above 0.

    Examples
    --------
    >>> Command("cat -u").args
    ('cat', '-u')
    """

    args: str | Sequence[str]
    """The program and its arguments, as a list or as they would be typed into a shell."""
    label: str = ""
    """What reports call it; the names of the program and of its first argument by default."""
    limit: float = 600.0
    """Seconds that it may take for a table; above 0."""

    def __post_init__(self) -> None:
        args = tuple(_split(self.args) if isinstance(self.args, str) else self.args)
        if not args:
            raise InputError("a command must name a program, got none")
        if shutil.which(args[0]) is None:
            raise InputError(
                f"the program {args[0]!r} of the command cannot be found or run: give its whole "
                "path, or make the file executable"
            )
        if not self.limit > 0:
            raise InputError(f"limit must be above 0 seconds, got {self.limit}")
        object.__setattr__(self, "args", args)

    @property
    def name(self) -> str:
        """What reports call it."""
        return self.label or one_line(" ".join(Path(arg).name for arg in self.args[:2]), 40)

    def describe(self) -> Mapping[str, Any]:
        """Return the arguments, and digests of the program and of files among the arguments."""
        program = shutil.which(self.args[0]) or self.args[0]
        files = [path for path in (program, *self.args[1:]) if os.path.isfile(path)]
        return {
            "command": list(self.args),
            "files": {path: digest_of_file(path) for path in files},
        }

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return the n records that the program writes when it is given the table."""
        filled = {"n": str(n), "seed": str(drawn_seed(rng))}
        n_fields = (n + 1) * len(table.schema.names)
        most = MOST_BYTES + _MOST_BYTES_A_FIELD * n_fields
        made = self._output(csv_of(table).encode(), most, filled)
        return table_from(frame_of_csv(made, table.schema, self.name), table.schema, n, self.name)

    def _output(self, given: bytes, most: int, filled: Mapping[str, str]) -> bytes:
        # Files, unlike pipes, never fill up, and do not stay open in what the program starts.
        with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
            stdin.write(given)
            stdin.seek(0)
            process = self._started(stdin, stdout, stderr, filled)
            try:
                why = self._stopped(process, (stdout, stderr), most)
            finally:
                _stop(process)
            why = why or _end(process.returncode) or ("" if _size(stdout) else "wrote no table")
            if why:
                raise InputError(
                    f"generator {self.name!r} {why}{_last_line(stderr)}: run it by itself on "
                    "such a table to see where"
                )
            stdout.seek(0)
            return stdout.read()

    def _started(
        self, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes], filled: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        args = [_fill_placeholders(arg, filled) for arg in self.args]
        variables = {f"PRIVACYGAUGE_{key.upper()}": value for key, value in filled.items()}
        try:
            return subprocess.Popen(
                args,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                env={**os.environ, **variables},
                start_new_session=True,  # so that what it starts can be stopped with it
            )
        except (OSError, ValueError) as error:
            raise InputError(
                f"generator {self.name!r} cannot be started ({one_line(str(error))}): correct the "
                "command"
            ) from error

    def _stopped(
        self, process: subprocess.Popen[bytes], written: Sequence[IO[bytes]], most: int
    ) -> str:
        """Wait for the end, and return why not to wait any longer, or an empty text."""
        last = time.monotonic() + self.limit
        while True:
            left = last - time.monotonic()
            ended = _has_ended(process, max(min(left, _LOOK_EVERY_SECONDS), 0.0))
            if sum(map(_size, written)) > most:
                return f"wrote {most / 1e6:.3g} MB and more, too much for a table"
            if ended:
                return ""
            if left <= 0:
                return f"did not end within its limit of {self.limit:g} seconds a table"


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"the command {text!r} cannot be read ({error}): close it") from error


def _fill_placeholders(arg: str, values: Mapping[str, str]) -> str:
    for key, value in values.items():
        arg = arg.replace(f"{{{key}}}", value)
    return arg


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a program that still runs, and what it started."""
    if process.poll() is None:
        if sys.platform == "win32":
            process.kill()
        else:
            # On macOS one that has just ended by itself may not be killed.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _end(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}" if code else ""
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:  # a signal without a name
        return f"was killed by signal {-code}"


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _last_line(stderr: IO[bytes]) -> str:
    stderr.seek(max(_size(stderr) - _TAIL_BYTES, 0))
    lines = stderr.read().decode(errors="replace").splitlines()
    said = next((one_line(line) for line in reversed(lines) if line.strip()), "")
    return f" (its last line on standard error: {said})" if said else ""
