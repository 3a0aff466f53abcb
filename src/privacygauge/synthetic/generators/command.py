"""Generators in any language: a program that reads a CSV table and writes one."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats
from privacygauge.datasets.dates import dates_of
from privacygauge.errors import InputError
from privacygauge.synthetic.generators.foreign import drawn_seed
from privacygauge.synthetic.generators.origin import digest_of_file
from privacygauge.synthetic.generators.returned import one_line, table_from
from privacygauge.synthetic.schema import Column, Schema
from privacygauge.synthetic.table import Table

if TYPE_CHECKING:
    import pandas as pd


_SPECIAL = frozenset(',"\n\r')


def csv_of(table: Table) -> str:
    """Return a table as CSV text with a header, empty fields where a value is missing.

    Numbers have as many digits as it takes to get the same number back, whole ones no point.
    """
    require_no_empty_category(table.schema)
    columns = zip(table.schema.columns, table.values.T, strict=True)
    rows = zip(*(_texts(column, values) for column, values in columns), strict=True)
    return "".join(_line(row) for row in (table.schema.names, *rows))


def frame_of_csv(content: bytes, schema: Schema, name: str) -> pd.DataFrame:
    """Return what a program wrote as a frame, for `table_from` to check by the schema.

    Fields of numbers are numbers where all of a column can be read as such. Unlike a file of the
    user's, nothing but an empty field is a missing value: NA may be a category.

    Parameters
    ----------
    content : bytes
        CSV in UTF-8 with a header.
    schema : Schema
        Says which columns hold numbers.
    name : str
        What messages call the program.

    Raises
    ------
    InputError
        If that is not CSV text, or a line has another number of fields than the header.
    """
    import pandas as pd

    header, rows = _rows(content, name)
    numbers = {schema.names[j] for j in schema.numbers}
    fields = zip(*rows, strict=True) if rows else ((),) * len(header)
    columns = [
        _numbers(texts) if label in numbers else _present(texts)
        for label, texts in zip(header, fields, strict=True)
    ]
    return pd.DataFrame(dict(enumerate(columns))).set_axis(header, axis=1)


def require_no_empty_category(schema: Schema) -> None:
    """Refuse a category of no letters, which CSV cannot tell from a missing value."""
    for column in schema.columns:
        if "" in column.categories:
            raise InputError(
                f"column {column.name!r} has the empty text as a category, which CSV cannot tell "
                "from a missing value: give the category a name"
            )


def _texts(column: Column, values: Floats) -> Iterable[str]:
    if not column.is_number:
        texts = [*column.categories, ""]
        return [texts[int(code)] for code in values]
    if column.date:
        return ["" if np.isnat(date) else str(date) for date in dates_of(values)]
    whole = column.kind == "integer"
    return [_number(value, whole=whole) for value in values.tolist()]


def _number(value: float, *, whole: bool) -> str:
    if math.isnan(value):
        return ""
    return str(int(value)) if whole else repr(value)


def _line(fields: tuple[str, ...]) -> str:
    # The csv module of Python 3.11 leaves a lone carriage return bare, which ends a line. A
    # lone empty field would make an empty line, which readers skip.
    written = [_quoted(field) if _SPECIAL & set(field) else field for field in fields]
    return (",".join(written) or '""') + "\n"


def _quoted(field: str) -> str:
    return '"' + field.replace('"', '""') + '"'


def _rows(content: bytes, name: str) -> tuple[list[str], list[list[str]]]:
    try:
        text = content.decode("utf-8-sig")
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [row for row in lines if row]
    except UnicodeDecodeError as error:
        raise _no_csv(name, f"not in UTF-8, {error.reason} at byte {error.start}") from error
    except csv.Error as error:
        raise _no_csv(name, str(error)) from error
    if not rows:
        raise _no_csv(name, "it has no lines")
    header = rows[0]
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(header):
            raise _no_csv(
                name,
                f"record {number} has {len(row)} fields, the header "
                f"{len(header)}: {one_line(','.join(row), 60)!r}",
            )
    return header, rows[1:]


def _no_csv(name: str, why: str) -> InputError:
    return InputError(
        f"generator {name!r} must write a CSV table with a header on standard output and nothing "
        f"else, but that is none ({why}): write other things to standard error"
    )


def _numbers(texts: tuple[str, ...]) -> NDArray[Any]:
    """Return floats, or the texts where one is not a number: messages then show it."""
    try:
        # Python reads the nearest number; pandas is off in the last digit.
        return np.array([float(text) if text else math.nan for text in texts], dtype=np.float64)
    except ValueError:
        return _present(texts)


def _present(texts: tuple[str, ...]) -> NDArray[Any]:
    return np.array([text or None for text in texts], dtype=object)


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
        args = [_filled(arg, filled) for arg in self.args]
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
            ended = _ended(process, max(min(left, _LOOK_EVERY_SECONDS), 0.0))
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


def _filled(arg: str, values: Mapping[str, str]) -> str:
    for key, value in values.items():
        arg = arg.replace(f"{{{key}}}", value)
    return arg


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
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
