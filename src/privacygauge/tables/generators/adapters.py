"""Adapters for the user's generators: objects with fit and sample, functions, and programs.

SDV, synthcity and others are used through these adapters; PrivacyGauge itself depends on none of
them. `Command` runs any other program. `foreign` seeds such code, says where it cannot, and checks
the tables that come back.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import importlib
import inspect
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from privacygauge.datasets.parsing import days_of
from privacygauge.errors import InputError
from privacygauge.runs.code_fingerprint import code_of
from privacygauge.tables.generators.foreign import (
    SEEDS,
    code_origin,
    csv_of,
    drawn_seed,
    frame_of_csv,
    one_line,
    parameters_of,
    seed_by_name,
    short_name,
    table_from,
    takes,
    theirs,
)
from privacygauge.tables.table import Column, Schema, Table

if TYPE_CHECKING:
    import pandas as pd


CATEGORIES = "discrete_columns"
"""Argument of `fit` that takes the names of the categorical columns, as in CTGAN."""
COUNTS = ("num_rows", "count", "n", "n_samples", "n_rows")
"""Arguments of `sample` and `generate` that take the number of records."""
MAIN = "main_table_name"
"""Argument of `sample` that takes the name of the main table, as in SDV."""
WITHOUT_DATES = {"ctgan", "copulas"}
"""Packages whose models learn from numbers and categories alone: dates are given as days."""
TABLES = "tables"
"""First argument of functions and of `fit` that take a dict of frames instead of a frame."""


@dataclass(frozen=True)
class GeneratorInput:
    """Training data of a generator: a frame, or several by name with a key that joins them."""

    data: object
    """Frame, or dict of frames by name."""
    schemas: Mapping[str, Schema]
    """Schema of each frame, without the key."""
    key: str = ""
    """Column that joins the frames; each key is unique in the first frame. Empty for one frame."""

    @classmethod
    def of(cls, table: Table) -> GeneratorInput:
        """Return a single table as input."""
        return cls(table.to_frame(), {"table": table.schema})


_ANY = GeneratorInput(None, {"table": Schema((Column("x", "continuous", 0.0, 1.0),))})


@dataclass(frozen=True)
class FitSample:
    """Generator with fit(frame) and sample(n); every table gets a new object.

    Also accepted instead of ``sample(n)``: ``sample(num_rows=n)`` as in SDV, and
    ``generate(count=n)`` as in synthcity. The result is a frame, or has ``dataframe()``. Where
    ``sample`` takes the name of a table, as in SDV 2, ``fit`` gets and ``sample`` returns a dict of
    frames by name.

    Raises
    ------
    InputError
        If no object can be made, it lacks fit or both sample and generate, or every call returns
        the same object, which would remember earlier tables.
    """

    make: Any
    """A class or function, without arguments or with one for a seed or random_state, that returns
    an unfitted object; or such an object, which is copied (by scikit-learn's clone if it is an
    estimator). An SDV synthesizer, or a function of metadata, gets the schema as SDV's metadata."""
    label: str = ""
    """Name, as reports print it; by default that of the class or function."""

    def __post_init__(self) -> None:
        with theirs(self.name, 0):
            made, again = (_make_instance(self.make, 0, _ANY) for _ in range(2))
        lacks = "fit" if not callable(getattr(made, "fit", None)) else "sample or generate"
        if lacks == "fit" or _sampler(made) is None:
            raise InputError(
                f"generator {self.name!r} must have fit(frame) and sample(n), but "
                f"{type(made).__name__} has no {lacks}: give a function (frame, n, seed) that "
                "returns a frame"
            )
        # Both are alive at once, so that the second cannot reuse the address of the first.
        if made is again:
            raise InputError(
                f"generator {self.name!r} must be a new object for every table, or it remembers "
                "earlier ones: make it inside the function"
            )

    @property
    def name(self) -> str:
        """Name, as reports print it."""
        return self.label or short_name(self.make)

    def describe(self) -> Mapping[str, Any]:
        """Return the origin of the object and of the code that makes it: names and versions."""
        with theirs(self.name, 0):
            made = _make_instance(self.make, 0, _ANY)
        return {
            "fit and sample": dict(code_origin(type(made))),
            "made by": dict(code_origin(self.make)),
        }

    def reached(self) -> tuple[object, ...]:
        """Return further code that is run: the object that `make` returns, or its class.

        The class where objects made alike differ, as by an id or the time: their settings are in
        the code of `make`.
        """
        with theirs(self.name, 0):
            made, again = (_make_instance(self.make, 0, _ANY) for _ in range(2))
        alike = code_of(made).digests == code_of(again).digests
        return (made if alike else type(made),)

    @property
    def takes_tables(self) -> bool:
        """True if it learns from several tables: `fit` takes `TABLES` first, or SDV made it."""
        if code_origin(self.make)["name"].startswith("sdv.multi_table."):
            return True
        with theirs(self.name, 0):
            fit = _make_instance(self.make, 0, _ANY).fit
            return next(iter(parameters_of(fit)), "") == TABLES

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records of an object fitted to the table's frame."""
        return table_from(self.asked(GeneratorInput.of(table), n, rng), table.schema, n, self.name)

    def asked(self, given: GeneratorInput, n: int, rng: np.random.Generator) -> object:
        """Fit an object to a frame, or to several, and return its sample."""
        seed = drawn_seed(rng)
        with theirs(self.name, seed):
            made = _make_instance(self.make, seed, given)
            packages = {kind.__module__.partition(".")[0] for kind in type(made).__mro__}
            # The package ctgan hides the arguments of its fit from inspect.signature.
            asks = CATEGORIES in parameters_of(made.fit) or "ctgan" in packages
            columns = [column for schema in given.schemas.values() for column in schema.columns]
            categories = [column.name for column in columns if not column.is_number]
            named = {CATEGORIES: categories} if asks else {}
            main = next(iter(given.schemas))
            data = {main: given.data} if _keeps_tables(made, given) else given.data
            if packages & WITHOUT_DATES:
                frame: Any = given.data
                dates = [one for one in given.schemas[main].columns if one.date]
                days = {one.name: days_of(frame[one.name]) for one in dates}
                # Whole numbers as such: these packages then make whole ones.
                whole = {
                    one.name: int
                    for one in dates
                    if one.kind == "integer" and frame[one.name].notna().all()
                }
                data = frame.assign(**days).astype(whole)
            fitted = made.fit(data, **named, **seed_by_name(made.fit, seed))
            # Some libraries return the fitted object, others None.
            if _sampler(fitted) is None:
                fitted = made
            sampler = _sampler(fitted)
            assert sampler is not None  # as checked when the generator was made
            known = parameters_of(sampler)
            by_name: dict[str, Any] = seed_by_name(sampler, seed)
            if MAIN in known:
                by_name[MAIN] = main
            counted = next((name for name in COUNTS if name in known), None)
            drawn = sampler(n, **by_name) if counted is None else sampler(**{counted: n}, **by_name)
            if _keeps_tables(fitted, given) and isinstance(drawn, dict):
                return drawn.get(main)
            return drawn.dataframe() if callable(getattr(drawn, "dataframe", None)) else drawn


@dataclass(frozen=True)
class Call:
    """Generator that calls a function of the user's for every table.

    Raises
    ------
    InputError
        If the function takes other arguments.
    """

    function: Callable[..., pd.DataFrame]
    """Function of a frame, a number of records and optionally a seed; returns a frame. The seed is
    passed by name if the argument is called seed or random_state."""
    label: str = ""
    """Name, as reports print it; by default that of the function."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"a generator must be callable, got {type(self.function).__name__}")
        by_place = not seed_by_name(self.function, 0) and not takes(self.function, 2)
        if not takes(self.function, 2 + by_place):
            try:
                signature = one_line(str(inspect.signature(self.function)), 80)
            except (TypeError, ValueError):
                signature = "a callable that does not say what it takes"
            raise InputError(
                f"generator {self.name!r} must take a frame, a number of records and a seed (or "
                f"the first two), got {signature}: bind what else it needs with "
                "functools.partial"
            )

    @property
    def name(self) -> str:
        """Name, as reports print it."""
        return self.label or short_name(self.function)

    def describe(self) -> Mapping[str, Any]:
        """Return the origin of the function: its name and version."""
        return {"function": dict(code_origin(self.function))}

    @property
    def takes_tables(self) -> bool:
        """True if it learns from several tables: its first argument is called `TABLES`."""
        return next(iter(parameters_of(self.function)), "") == TABLES

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records that the function makes from the table's frame."""
        return table_from(self.asked(GeneratorInput.of(table), n, rng), table.schema, n, self.name)

    def asked(self, given: GeneratorInput, n: int, rng: np.random.Generator) -> object:
        """Return the function's result for a frame, or for several."""
        seed = drawn_seed(rng)
        named = seed_by_name(self.function, seed)
        # A seed under another name is the third argument; required arguments are.
        by_place = () if named or takes(self.function, 2) else (seed,)
        with theirs(self.name, seed):
            return self.function(given.data, n, *by_place, **named)


def _make_instance(make: Any, seed: int, given: GeneratorInput) -> Any:
    # A class or a function: called. An object: cloned if an estimator, else copied.
    if isinstance(make, type) or not hasattr(make, "fit"):
        known = {"metadata": _metadata(given)} if asks_for_metadata(make) else {}
        return make(**known, **seed_by_name(make, seed))
    if not hasattr(make, "get_params"):
        return copy.deepcopy(make)
    from sklearn.base import clone

    copied = clone(make)
    # Nested estimators have names such as model__random_state.
    names = [key for key in copied.get_params() if key.split("__")[-1] in SEEDS]
    return copied.set_params(**dict.fromkeys(names, seed)) if names else copied


def asks_for_metadata(make: Any) -> bool:
    """Return whether an SDV class, or a function that makes an object, takes metadata.

    A function takes metadata if its first argument is called metadata and no other argument than a
    seed is required.
    """
    known = list(parameters_of(make))
    if code_origin(make)["name"].startswith("sdv."):
        return "metadata" in known
    return not isinstance(make, type) and known[:1] == ["metadata"] and takes(make, 1)


def _metadata(given: GeneratorInput) -> Any:
    """Return SDV's metadata of the columns and the key."""
    made = importlib.import_module("sdv.metadata").Metadata
    known: dict[str, Any] = {}
    for name, schema in given.schemas.items():
        kinds = {
            column.name: ("datetime" if column.date else "numerical")
            if column.is_number
            else "categorical"
            for column in schema.columns
        }
        known[name] = {"columns": {column: {"sdtype": kind} for column, kind in kinds.items()}}
    if not given.key:
        return made.load_from_dict({"tables": known})
    for table in known.values():
        # The key is the first column of the frames; SDV warns of another order.
        table["columns"] = {given.key: {"sdtype": "id"}, **table["columns"]}
    # The first table is the parent: the others refer to its key.
    parent, *children = known
    known[parent]["primary_key"] = given.key
    joins = [
        {
            "parent_table_name": parent,
            "parent_primary_key": given.key,
            "child_table_name": child,
            "child_foreign_key": given.key,
        }
        for child in children
    ]
    return made.load_from_dict({"tables": known, "relationships": joins})


def _keeps_tables(made: object, given: GeneratorInput) -> bool:
    """Return whether an object takes a single frame as a dict by name, as in SDV 2."""
    sampler = _sampler(made)
    return not given.key and sampler is not None and MAIN in parameters_of(sampler)


def _sampler(made: object) -> Callable[..., Any] | None:
    found = (getattr(made, name, None) for name in ("sample", "generate"))
    return next((method for method in found if callable(method)), None)


# Generators in any language: programs that read one CSV table and write another.

MOST_BYTES = 2**26
"""Most bytes of a program's output, besides a thousand per field; without a limit, a runaway
program would fill the disk before the time limit."""
_MOST_BYTES_A_FIELD = 1_000
_LOOK_EVERY_SECONDS = 0.2
# Bytes at the end of standard error that are searched for its last line.
_TAIL_BYTES = 4_096


@dataclass(frozen=True)
class Command:
    """Program run for every table: CSV on standard input, CSV from standard output.

    Both tables are UTF-8 with a header and have empty fields for missing values. In the arguments,
    ``{n}`` is replaced by the number of records and ``{seed}`` by the seed; the environment holds
    both as PRIVACYGAUGE_N and PRIVACYGAUGE_SEED. No shell is involved.


    Raises
    ------
    InputError
        If no program is named or it cannot be found, or the limit is not above 0.

    Examples
    --------
    >>> Command("cat -u").args
    ('cat', '-u')
    """

    args: str | Sequence[str]
    """Program and arguments, as a sequence or as a shell-quoted string."""
    label: str = ""
    """Name, as reports print it; by default the names of the program and of its first argument."""
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
        digests = {}
        for path in (program, *self.args[1:]):
            if os.path.isfile(path):
                with open(path, "rb") as stream:
                    digests[path] = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
        return {
            "command": list(self.args),
            "files": digests,
        }

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records that the program writes for the table."""
        filled = {"n": str(n), "seed": str(drawn_seed(rng))}
        n_fields = (n + 1) * len(table.schema.names)
        most = MOST_BYTES + _MOST_BYTES_A_FIELD * n_fields
        made = self._output(csv_of(table).encode(), most, filled)
        return table_from(frame_of_csv(made, table.schema, self.name), table.schema, n, self.name)

    def _output(self, given: bytes, most: int, filled: Mapping[str, str]) -> bytes:
        # Files, unlike pipes, never fill up, and do not stay open in the program's child processes.
        with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
            stdin.write(given)
            stdin.seek(0)
            args = list(self.args)
            for key, value in filled.items():
                args = [arg.replace(f"{{{key}}}", value) for arg in args]
            variables = {f"PRIVACYGAUGE_{key.upper()}": value for key, value in filled.items()}
            try:
                process = subprocess.Popen(
                    args,
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env={**os.environ, **variables},
                    start_new_session=True,  # so that its child processes can be stopped with it
                )
            except (OSError, ValueError) as error:
                raise InputError(
                    f"generator {self.name!r} cannot be started ({one_line(str(error))}): correct "
                    "the command"
                ) from error
            try:
                why = self._stopped(process, (stdout, stderr), most)
            finally:
                # Kill a program that still runs, and its child processes.
                if process.poll() is None:
                    if sys.platform == "win32":
                        process.kill()
                    else:
                        # On macOS, killing a process that has just ended may be refused.
                        with contextlib.suppress(ProcessLookupError, PermissionError):
                            os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            why = why or ("" if _size(stdout) else "wrote no table")
            if why:
                stderr.seek(max(_size(stderr) - _TAIL_BYTES, 0))
                lines = stderr.read().decode(errors="replace").splitlines()
                last = next((one_line(line) for line in reversed(lines) if line.strip()), "")
                said = f" (its last line on standard error: {last})" if last else ""
                # What other tools fill in: this one passes the tables through the program.
                form = re.compile(r"(--?[\w-]+=)?\{(?!n\}|seed\})\w+\}")
                unfilled = [arg for arg in self.args if form.fullmatch(arg)]
                way_out = "run it by itself on such a table to see where"
                if unfilled:
                    way_out = (
                        f"{one_line(unfilled[0])!r} is not filled in, only {{n}} and {{seed}} are; "
                        "the table comes on standard input, and is expected on standard output"
                    )
                raise InputError(f"generator {self.name!r} {why}{said}: {way_out}")
            stdout.seek(0)
            return stdout.read()

    def _stopped(
        self, process: subprocess.Popen[bytes], written: Sequence[IO[bytes]], most: int
    ) -> str:
        """Wait for the program; return how it failed, why it must be stopped, or an empty text."""
        last = time.monotonic() + self.limit
        while True:
            left = last - time.monotonic()
            # Waits in short steps, since the output has to be measured while the program runs.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(min(left, _LOOK_EVERY_SECONDS), 0.0))
            ended = process.returncode is not None
            # Also measured after the end: the last block may exceed the limit.
            if sum(map(_size, written)) > most:
                return f"wrote {most / 1e6:.3g} MB and more, too much for a table"
            if ended:
                code = process.returncode
                # A negative exit code is minus the number of the signal.
                if code >= 0:
                    return f"ended with exit code {code}" if code else ""
                try:
                    return f"was killed by {signal.Signals(-code).name}"
                except ValueError:  # a signal without a name
                    return f"was killed by signal {-code}"
            if left <= 0:
                return f"did not end within its limit of {self.limit:g} seconds a table"


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size
