"""What a generator that is not ours gave back: checked, and coded by the schema."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.datasets.dates import days_of
from privacygauge.errors import InputError
from privacygauge.synthetic.frames import read_table
from privacygauge.synthetic.schema import Column, Schema
from privacygauge.synthetic.table import Table

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-9
"""How far, relative to the larger end of its range, a number may lie outside of it."""
ROUNDING_SINGLE = 1e-6
"""The same for columns of float32, as networks give them."""
# Of whole numbers, however large they are: so that none is taken for the next.
_MOST = 0.01


def table_from(frame: object, schema: Schema, n: int, name: str) -> Table:
    """Return what a generator gave back as a table of the schema, or say what is wrong with it.

    Numbers beyond the schema's range become its nearer end, and `Table.clipped` counts them.
    Numbers that miss the range, or a whole number, by float rounding alone (`ROUNDING`) are put
    right without a word. Nothing else is mended: a value that is missing, infinite or a fraction
    where none may be, or a category that the schema does not have, is refused. Learning from the
    table cannot yield such a category.

    Parameters
    ----------
    frame : pandas or polars frame
        Its columns in any order; what its rows are called does not matter.
    schema : Schema
        The table's that the generator learnt from.
    n : int
        How many records it was asked for.
    name : str
        What messages call the generator.

    Returns
    -------
    Table
        n records, columns in the schema's order.

    Raises
    ------
    InputError
        One line: the generator, the rule it broke, the value, and the way out.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema((Column("age", "integer", 18, 90),))
    >>> table_from(pd.DataFrame({"age": [20.0, 33.0]}), schema, 2, "mine").values.ravel()
    array([20., 33.])
    """
    given = _frame(frame, name)
    _check_columns(given, schema, name)
    if len(given) != n:
        raise InputError(
            f"generator {name!r} must return as many records as it is asked for, {n}, got "
            f"{len(given)}: let it draw until it has them all"
        )
    dates = {c.name: days_of(given[c.name]) for c in schema.columns if c.date}
    given = given.assign(**{name: days for name, days in dates.items() if days is not None})
    numbers, clipped = {}, 0
    for column in schema.columns:
        if given[column.name].dtype.kind in "iufc" and column.is_number:
            numbers[column.name], beyond = _inside(given[column.name], column, name)
            clipped += beyond
    try:
        return replace(read_table(given.assign(**numbers), schema=schema), clipped=clipped)
    except InputError as error:
        raise InputError(f"generator {name!r} returned a wrong value: {error}") from error


def one_line(text: str, most: int = 200) -> str:
    """Return a text of the user's for a message: printable, on one line, at most so long."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    words = " ".join(plain.split())
    return words if len(words) <= most else words[: most - 3] + "..."


def _frame(frame: object, name: str) -> pd.DataFrame:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame) and hasattr(frame, "to_pandas"):
        frame = frame.to_pandas()
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"generator {name!r} must return a pandas or polars frame, got "
            f"{type(frame).__name__}: return a frame with the columns of the one it was given"
        )
    return frame.set_axis([str(label) for label in frame.columns], axis=1).reset_index(drop=True)


def _check_columns(frame: pd.DataFrame, schema: Schema, name: str) -> None:
    found = list(frame.columns)
    wrong = {
        "lacks": [label for label in schema.names if label not in found],
        "has besides": [label for label in found if label not in schema.names],
        "has twice": sorted({label for label in found if found.count(label) > 1}),
    }
    said = [
        f"{verb} {checks.listed(repr(one_line(label, 40)) for label in labels)}"
        for verb, labels in wrong.items()
        if labels
    ]
    if said:
        raise InputError(
            f"generator {name!r} must return the columns of the table, but what it returned "
            f"{' and '.join(said)}: return each once, under its name, and no others"
        )


def _inside(given: pd.Series[Any], column: Column, name: str) -> tuple[Floats, int]:
    """Return numbers clipped to the column's range, and how many lay beyond it.

    Whole where they must be; NaN and inf stay.
    """
    if given.dtype.kind == "c":
        raise InputError(
            f"generator {name!r} must return real numbers in column {column.name!r}, got "
            f"{given.dtype}: take their real part"
        )
    single = given.dtype.kind == "f" and getattr(given.dtype, "itemsize", 8) < 8
    slack = ROUNDING_SINGLE if single else ROUNDING
    values = given.to_numpy(dtype=np.float64, na_value=np.nan)
    assert column.low is not None
    assert column.high is not None
    low, high = float(column.low), float(column.high)
    most = _MOST if column.kind == "integer" else np.inf
    near = min(slack * max(abs(low), abs(high)), most)
    there = np.isfinite(values)
    beyond = there & ~((values >= low - near) & (values <= high + near))
    if column.kind == "integer":
        whole, apart = np.rint(values), np.zeros(len(values))
        np.subtract(values, whole, out=apart, where=there)
        _refuse(
            there & ~(np.abs(apart) <= np.clip(slack * np.abs(values), slack, most)),
            values,
            f"generator {name!r} must return whole numbers in column {column.name!r}",
            "round them, or make the column continuous in the schema (--schema)",
        )
        values = whole
    return np.where(there, np.clip(values, low, high), values), int(beyond.sum())


def _refuse(wrong: NDArray[np.bool_], values: Floats, rule: str, way_out: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(f"{rule}, got {values[row]} in row {row}: {way_out}")
