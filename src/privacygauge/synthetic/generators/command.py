"""Generators in any language: a program that reads one CSV table and writes another."""

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
"""Most bytes of a program's output, besides a thousand per field: more would fill the disk before
the time limit."""
_MOST_BYTES_A_FIELD = 1_000
_LOOK_EVERY_SECONDS = 0.2
# Bytes at the end of standard error in which its last line is looked for.
_TAIL_BYTES = 4_096


@dataclass(frozen=True)
class Command:
    """Program run for every table: CSV on standard input, CSV from standard output.

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
    """Program and arguments, as a list or as a shell command."""
    label: str = ""
    """Name, as reports print it; by default those of the program and of its first argument."""
    limit: float = 600.0
    """Time limit per table in seconds, above 0."""

    def __post_init__(self) -> None:
        if isinstance(self.args, str):
            try:
                args = tuple(shlex.split(self.args))
            except ValueError as error:
                raise InputError(
                    f"the command {self.args!r} cannot be read ({error}): close it"
                ) from error
        else:
            args = tuple(self.args)
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
        """Name, as reports print it."""
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
        """Return n records that the program writes for the table."""
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
        args = list(self.args)
        for key, value in filled.items():
            args = [arg.replace(f"{{{key}}}", value) for arg in args]
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
        """Wait for the end; return the reason to wait no longer, or an empty text."""
        last = time.monotonic() + self.limit
        while True:
            left = last - time.monotonic()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(min(left, _LOOK_EVERY_SECONDS), 0.0))
            ended = process.returncode is not None
            # Looked at after it has ended, too: the last block may be the one too many.
            if sum(map(_size, written)) > most:
                return f"wrote {most / 1e6:.3g} MB and more, too much for a table"
            if ended:
                return ""
            if left <= 0:
                return f"did not end within its limit of {self.limit:g} seconds a table"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a running program and its child processes."""
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
