"""The user's code, run seeded and with named errors, and checks of the tables that it returns.

Every ``seed`` or ``random_state`` argument gets a number. Many libraries draw instead from the
global states of numpy, random and torch (if it is loaded), so these are seeded with the same number
around every call and restored after it; a process therefore makes one such call at a time. Code
that seeds itself from the clock, and TensorFlow, are out of reach: their results cannot be
reproduced.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import inspect
import io
import math
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.datasets.parsing import dates_of, days_of
from privacygauge.errors import InputError
from privacygauge.runs.source import version_of
from privacygauge.tables.frames import read_table
from privacygauge.tables.table import Column, Schema, Table

if TYPE_CHECKING:
    import pandas as pd


# Tables returned by foreign generators: checked, and coded by the schema; CSV both ways.

ROUNDING = 1e-9
"""Largest distance of a number from its range, relative to the range's larger end."""
ROUNDING_SINGLE = 1e-6
"""Largest distance in columns of float32, as networks return them."""
# Largest distance from a whole number, however large the number: none is taken for the next.
_MOST = 0.01


def table_from(frame: object, schema: Schema, n: int, name: str) -> Table:
    """Return a generator's output as a table of the schema.

    Numbers outside the schema's range are moved to its nearer end, and `Table.clipped` counts them.
    Numbers that miss the range, or a whole number, by float rounding only (`ROUNDING`) are
    corrected silently. Nothing else is corrected: a missing or infinite value, a fraction in a
    column of whole numbers, or a category that the schema lacks is an error, since training on the
    table cannot produce it.

    Parameters
    ----------
    frame : pandas or polars frame
        Columns in any order; row labels are ignored.
    schema : Schema
        Schema of the table that the generator learnt from.
    n : int
        Number of records requested.
    name : str
        Name of the generator in messages.

    Returns
    -------
    Table
        n records, with columns in the schema's order.

    Raises
    ------
    InputError
        If the output breaks a rule: the generator, the rule, the value and the way out, in one
        line.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema((Column("age", "integer", 18, 90),))
    >>> table_from(pd.DataFrame({"age": [20.0, 33.0]}), schema, 2, "mine").values.ravel()
    array([20., 33.])
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame) and hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"generator {name!r} must return a pandas or polars frame, got "
            f"{type(frame).__name__}: return a frame with the columns of the one it was given"
        )
    labels = [str(label) for label in frame.columns]
    given = frame.set_axis(labels, axis=1).reset_index(drop=True)
    found = list(given.columns)
    wrong = {
        "lacks": [label for label in schema.names if label not in found],
        "has besides": [label for label in found if label not in schema.names],
        "has twice": sorted({label for label in found if found.count(label) > 1}),
    }
    said = [
        f"{verb} {checks.short_list(repr(one_line(label, 40)) for label in labels)}"
        for verb, labels in wrong.items()
        if labels
    ]
    if said:
        raise InputError(
            f"generator {name!r} must return the columns of the table, but what it returned "
            f"{' and '.join(said)}: return each once, under its name, and no others"
        )
    if len(given) != n:
        raise InputError(
            f"generator {name!r} must return as many records as it is asked for, {n}, got "
            f"{len(given)}: let it draw until it has them all"
        )
    # Dates become days, as the schema counts them; a column that is not all dates is left for the
    # error.
    dates = {c.name: days_of(given[c.name]) for c in schema.columns if c.date}
    given = given.assign(**{name: days for name, days in dates.items() if days is not None})
    numbers = {}
    clipped = 0
    for column in schema.columns:
        if given[column.name].dtype.kind in "iufc" and column.is_number:
            numbers[column.name], beyond = _inside(given[column.name], column, name)
            clipped += beyond
    try:
        return replace(read_table(given.assign(**numbers), schema=schema), clipped=clipped)
    except InputError as error:
        raise InputError(f"generator {name!r} returned a wrong value: {error}") from error


def one_line(text: str, most: int = 200) -> str:
    """Return a printable, one-line version of a user's text for a message, cut to a length."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    words = " ".join(plain.split())
    return words if len(words) <= most else words[: most - 3] + "..."


def _inside(given: pd.Series[Any], column: Column, name: str) -> tuple[Floats, int]:
    """Return numbers clipped to the column's range, and how many were outside it.

    Columns of whole numbers are rounded; NaN and inf are kept, for `read_table` to reject.
    """
    if given.dtype.kind == "c":
        raise InputError(
            f"generator {name!r} must return real numbers in column {column.name!r}, got "
            f"{given.dtype}: take their real part"
        )
    # Extension types of pandas may have no itemsize: they are taken for double precision.
    single = given.dtype.kind == "f" and getattr(given.dtype, "itemsize", 8) < 8
    slack = ROUNDING_SINGLE if single else ROUNDING
    values = given.to_numpy(dtype=np.float64, na_value=np.nan)
    assert column.low is not None
    assert column.high is not None
    low = float(column.low)
    high = float(column.high)
    most = _MOST if column.kind == "integer" else np.inf
    near = min(slack * max(abs(low), abs(high)), most)
    there = np.isfinite(values)
    # Negated, so that the comparison is false for NaN rather than true.
    beyond = there & ~((values >= low - near) & (values <= high + near))
    if column.kind == "integer":
        whole = np.rint(values)
        # Only finite numbers: inf - inf would warn.
        apart = np.zeros(len(values))
        np.subtract(values, whole, out=apart, where=there)
        wrong = there & ~(np.abs(apart) <= np.clip(slack * np.abs(values), slack, most))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"generator {name!r} must return whole numbers in column {column.name!r}, got "
                f"{values[row]} in row {row}: round them, or make the column continuous in the "
                "schema (--schema)"
            )
        values = whole
    return np.where(there, np.clip(values, low, high), values), int(beyond.sum())


_SPECIAL = frozenset(',"\n\r')


def csv_of(table: Table) -> str:
    """Return a table as CSV text with a header; missing values are empty fields.

    Numbers have as many digits as needed to read the same number back; whole numbers have no point.
    """
    for column in table.schema.columns:
        if "" in column.categories:
            raise InputError(
                f"column {column.name!r} has the empty text as a category, which CSV cannot tell "
                "from a missing value: give the category a name"
            )
    columns: list[list[str]] = []
    for column, values in zip(table.schema.columns, table.values.T, strict=True):
        if not column.is_number:
            names = [*column.categories, ""]
            columns.append([names[int(code)] for code in values])
        elif column.date:
            columns.append(["" if np.isnat(date) else str(date) for date in dates_of(values)])
        else:
            whole = column.kind == "integer"
            columns.append(
                [
                    "" if math.isnan(value) else str(int(value)) if whole else repr(value)
                    for value in values.tolist()
                ]
            )
    lines = []
    for fields in (table.schema.names, *zip(*columns, strict=True)):
        # The csv module of Python 3.11 does not quote a lone carriage return, which ends a line. A
        # single empty field would be an empty line, which readers skip.
        written = [
            '"' + field.replace('"', '""') + '"' if _SPECIAL & set(field) else field
            for field in fields
        ]
        lines.append((",".join(written) or '""') + "\n")
    return "".join(lines)


def frame_of_csv(content: bytes, schema: Schema, name: str) -> pd.DataFrame:
    """Return a program's CSV output as a frame, for `table_from` to check by the schema.

    A column of numbers holds numbers if all of its fields can be read as such. Unlike in a user's
    file, only an empty field is a missing value: NA may be a category.

    Parameters
    ----------
    content : bytes
        CSV in UTF-8 with a header.
    schema : Schema
        Schema that says which columns hold numbers.
    name : str
        Name of the program in messages.

    Raises
    ------
    InputError
        If it is not CSV text, or a line and the header have different numbers of fields.
    """
    import pandas as pd

    try:
        # Spreadsheets and Windows programs put a byte order mark in front.
        text = content.decode("utf-8-sig")
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        header, *rows = [row for row in lines if row] or [[]]
    except UnicodeDecodeError as error:
        raise _no_csv(name, f"not in UTF-8, {error.reason} at byte {error.start}") from error
    except csv.Error as error:
        raise _no_csv(name, str(error)) from error
    if not header:
        raise _no_csv(name, "it has no lines")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise _no_csv(
                name,
                f"record {number} has {len(row)} fields, the header "
                f"{len(header)}: {one_line(','.join(row), 60)!r}",
            )
    numbers = {schema.names[j] for j in schema.numbers}
    fields = zip(*rows, strict=True) if rows else ((),) * len(header)
    columns: list[NDArray[Any]] = []
    for label, texts in zip(header, fields, strict=True):
        if label in numbers:
            # A column keeps its texts if one of them is not a number, so that messages show it.
            with contextlib.suppress(ValueError):
                # Python reads the nearest number; pandas may be off in the last digit.
                read = [float(text) if text else math.nan for text in texts]
                columns.append(np.array(read, dtype=np.float64))
                continue
        columns.append(np.array([text or None for text in texts], dtype=object))
    # By position: the header may repeat a name, which `table_from` reports.
    return pd.DataFrame(dict(enumerate(columns))).set_axis(header, axis=1)


def _no_csv(name: str, why: str) -> InputError:
    return InputError(
        f"generator {name!r} must write a CSV table with a header on standard output and nothing "
        f"else, but that is none ({why}): write other things to standard error"
    )


SEEDS = ("seed", "random_state")
"""Names of arguments that take a seed."""

# A process has only one set of global random states.
_ALONE = threading.RLock()


def takes(function: Callable[..., Any], n_positional: int) -> bool:
    """Return whether a callable takes this many positional arguments, and a seed by name."""
    try:
        signature = inspect.signature(function)
        signature.bind(*range(n_positional), **seed_by_name(function, 0))
    except (TypeError, ValueError):  # other arguments; compiled code that does not say
        return False
    return True


@contextlib.contextmanager
def theirs(name: str, seed: int) -> Iterator[None]:
    """Run the user's code with seeded global random states; turn its exceptions into InputError.

    Its output goes to standard error, so that results on standard output stay intact.
    """
    try:
        with _ALONE, _seeded_globals(seed), contextlib.redirect_stdout(sys.stderr):
            yield
    except MemoryError:
        raise
    # A program's sys.exit must not end the audit.
    except (Exception, SystemExit) as error:
        raise InputError(
            f"generator {name!r} failed with {_error_text(error)}: call it by itself to see where"
        ) from error


@contextlib.contextmanager
def _seeded_globals(seed: int) -> Iterator[None]:
    # The user's code may draw from these states, though this package never does.
    numpys = np.random.get_state()  # noqa: NPY002
    pythons = random.getstate()
    torch = sys.modules.get("torch")
    torches = None if torch is None else torch.get_rng_state()
    on_gpu: list[Any] = []
    # Querying the states would initialise CUDA where the user's code does not.
    if torch is not None and torch.cuda.is_initialized():
        on_gpu = torch.cuda.get_rng_state_all()
    try:
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        if torch is not None:
            torch.manual_seed(seed)
        yield
    finally:
        np.random.set_state(numpys)  # noqa: NPY002
        random.setstate(pythons)
        if torch is not None:
            torch.set_rng_state(torches)
            for number, state in enumerate(on_gpu):
                torch.cuda.set_rng_state(state, number)


def drawn_seed(rng: np.random.Generator) -> int:
    """Draw a seed that every library accepts, in [0, 2**31 - 1]."""
    return int(rng.integers(2**31))


def parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the arguments that can be passed by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled code may not say
        return {}
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: value for name, value in parameters.items() if value.kind in kinds}


def seed_by_name(function: Callable[..., Any], seed: int) -> dict[str, int]:
    """Return the seed under every name that the callable has for it; empty if it has none."""
    known = parameters_of(function)
    return {name: seed for name in SEEDS if name in known}


def require_sendable(generator: object, name: str) -> None:
    """Raise, before any work, if a generator cannot be sent to another process.

    Raises
    ------
    InputError
        If it cannot be sent: the reason and the way out, in one line.
    """
    # As joblib's processes do it: this takes lambdas too.
    from joblib.externals.loky.backend.reduction import dumps

    # Pickling runs the user's code, which may raise anything.
    try:
        dumps(generator)
    except Exception as error:
        raise InputError(
            f"generator {name!r} cannot be sent to another process ({_error_text(error)}): give a "
            "function that makes it, or use one job"
        ) from error


def _error_text(error: BaseException) -> str:
    said = one_line(str(error))
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def code_origin(thing: object) -> Mapping[str, str]:
    """Return the name and the version of code; its content is compared by `runs.source`.

    Parameters
    ----------
    thing : function, class, partial, or object
        Code; for an object, that of its class.

    Returns
    -------
    mapping of str to str
        ``name``: module and qualified name. ``version``: version of the distribution that contains
        the module, if there is one.
    """
    code = _code_of(thing)
    module = getattr(code, "__module__", None) or "builtins"
    name = f"{module}.{getattr(code, '__qualname__', type(code).__name__)}"
    known = version_of(module)
    return {"name": name, "version": known} if known else {"name": name}


def short_name(thing: object) -> str:
    """Return the short name of a function, a class, or an object's class."""
    code = _code_of(thing)
    return str(getattr(code, "__qualname__", type(code).__name__))


def _code_of(thing: object) -> object:
    # A partial may wrap another partial.
    while isinstance(thing, functools.partial):
        thing = thing.func
    return thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing)
