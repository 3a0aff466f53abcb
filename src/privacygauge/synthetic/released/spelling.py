"""Values that a table writes otherwise than the real one: an adversary reads them as the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError
from privacygauge.synthetic.schema import Column, Schema
from privacygauge.synthetic.table import Table

MISSING = frozenset(("?", "-", ".", "", "missing", "unknown", "none", "n/a", "na", "nan", "null"))
"""What a missing value is often called, in small letters."""
DECIMALS = 9
"""Numbers of more decimals than these are not rounded."""


def as_written(real: Table, other: Table, name: str) -> tuple[Table, tuple[str, ...]]:
    """Return another table with values spelt as in the real one, and what was read otherwise.

    Categories that the real table does not have are taken for the one that differs in letter case,
    outer spaces or the form of a number alone, and for missing values where they say so. In a
    column of numbers with missing values in the real table, and none in the other, a number stands
    for them that most values beyond the real range are.

    Parameters
    ----------
    real, other : Table
        Of the same columns, in any order, and of the same kinds.
    name : str
        What sentences call the other table.
    """
    known = {column.name: column for column in real.schema.columns}
    columns, values, said = [], [], []
    for column, found in zip(other.schema.columns, other.values.T, strict=True):
        read = _numbers if column.is_number else _texts
        new, numbers, what = read(known[column.name], column, found)
        if what:
            said.append(f"{name}: in column {column.name!r} {what}")
        columns.append(new)
        values.append(numbers)
    return Table(Schema(tuple(columns)), np.column_stack(values)), tuple(said)


def require_common(real: Table, made: Table) -> None:
    """Refuse a synthetic table with a column in which no value could be a real one.

    Both are of one schema.

    Raises
    ------
    InputError
        One line: the column, and the way out.
    """
    for column, own, values in zip(real.schema.columns, real.values.T, made.values.T, strict=True):
        low, high = np.nanmin(own, initial=np.inf), np.nanmax(own, initial=-np.inf)
        if column.is_number:
            common = bool(((values >= low) & (values <= high)).any())
            what = f"which are from {low:g} to {high:g}"
        else:
            common = bool(np.isin(values, own).any())
            there = np.unique(own[own < len(column.categories)]).astype(np.int64)
            what = checks.listed((repr(column.categories[code]) for code in there), 3)
        if not common and low <= high and not np.isnan(values).all():
            raise InputError(
                f"synthetic: no value of column {column.name!r} can be one of the real table, "
                f"{what}, so that no copy could be seen: write the values as there, or leave the "
                f"column out (--drop {column.name})"
            )


def rounded_alike(made: Table, others: Sequence[Table]) -> tuple[list[Table], tuple[str, ...]]:
    """Return tables with numbers rounded where the synthetic table has fewer decimals, and where.

    Parameters
    ----------
    made : Table
        The synthetic one.
    others : sequence of Table
        The real one, and the holdout if there is one; of one schema with `made`.
    """
    values, said = [table.values.copy() for table in others], []
    for j, column in enumerate(made.schema.columns):
        if column.kind != "continuous":
            continue
        few, most = _decimals(made.values[:, j]), _decimals(others[0].values[:, j])
        if few is None or (most is not None and few >= most):
            continue
        for each in values:
            each[:, j] = np.clip(np.round(each[:, j], few), column.low, column.high)
        said.append(
            f"synthetic: numbers of column {column.name!r} have {few} decimals: those of the "
            "other tables are rounded alike"
        )
    tables = [replace(one, values=each) for one, each in zip(others, values, strict=True)]
    return tables, tuple(said)


def _texts(real: Column, column: Column, codes: Floats) -> tuple[Column, Floats, str]:
    """Return a column of categories as the real one spells them, and what was changed."""
    spelt = {_plain(text): text for text in real.categories}
    unique = len(spelt) == len(real.categories)
    marks = {text for text in column.categories if _is_mark(text)} - set(real.categories)
    renamed = {
        text: spelt[_plain(text)]
        for text in column.categories
        if unique and text not in real.categories and _plain(text) in spelt
    }
    renamed |= dict.fromkeys(marks, "") if real.missing else {}
    if not renamed:
        return column, codes, ""
    absent = {text for text in marks if renamed.get(text) == ""}
    kept = [renamed.get(text, text) for text in column.categories if text not in absent]
    texts = tuple(dict.fromkeys(kept))
    place = {text: code for code, text in enumerate(texts)}
    new = [
        len(texts) if text in absent else place[renamed.get(text, text)]
        for text in column.categories
    ]
    codes = np.array([*new, len(texts)], dtype=np.float64)[codes.astype(np.int64)]
    pairs = (
        f"{old!r} is read as {repr(new) if new else 'missing'}" for old, new in renamed.items()
    )
    missing = column.missing or bool(absent)
    return replace(column, categories=texts, missing=missing), codes, checks.listed(pairs, 3)


def _numbers(real: Column, column: Column, values: Floats) -> tuple[Column, Floats, str]:
    """Return a column of numbers, the one number that stands for missing values taken out."""
    assert real.low is not None
    assert real.high is not None
    beyond = (values < real.low) | (values > real.high)
    marks, counts = np.unique(values[beyond], return_counts=True)
    often = counts.max(initial=0)
    if not real.missing or column.missing or often < max(2, 0.5 * beyond.sum()) or beyond.all():
        return column, values, ""
    beyond = values == marks[counts.argmax()]
    there = values[~beyond]
    new = replace(column, low=float(there.min()), high=float(there.max()), missing=True)
    return new, np.where(beyond, np.nan, values), f"{values[beyond][0]:g} is read as missing"


def _plain(text: str) -> str:
    """Return a category without what people write in one way or another."""
    plain = " ".join(text.split()).casefold()
    plain = {"true": "1", "false": "0"}.get(plain, plain)
    try:
        number = float(plain)
    except ValueError:
        return plain
    return repr(number) if np.isfinite(number) else plain


def _is_mark(text: str) -> bool:
    return text.strip().casefold() in MISSING


def _decimals(values: Floats) -> int | None:
    """Return how many decimals numbers have; None for more than `DECIMALS`."""
    there = values[~np.isnan(values)]
    for n in range(DECIMALS + 1):
        if np.array_equal(np.round(there, n), there):
            return n
    return None
