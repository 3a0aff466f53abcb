"""Changes of a table before its release: columns left out or made coarser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import entropy

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.tables.released.tables import ReleasedTables, select_columns
from privacygauge.tables.table import Table

STEPS = 10
"""Most values of a column made coarser."""


@dataclass(frozen=True, eq=False)
class Change:
    """Tables after a change, the same for each table."""

    name: str
    """The change in words, such as ``without 'age'``."""
    without: tuple[str, ...]
    """Names of the columns left out."""
    tables: ReleasedTables
    """Tables after the change."""


def possible_changes(
    tables: ReleasedTables, most: int, kept: Sequence[str] = ()
) -> tuple[Change, ...]:
    """Return changes of the columns that identify people best.

    Each of these columns is left out, and each with more than ten values is made coarser: numbers
    and dates in ten steps with equally many synthetic rows each, categories to the nine most
    frequent and one for all others. The last change makes all of them coarser together.

    Parameters
    ----------
    tables : ReleasedTables
    most : int
        Number of columns to change: those with the highest entropy among the real records.
    kept : sequence of str
        Columns that stay as they are.
    """
    written = {text.name: np.array([str(one) for one in text.real]) for text in tables.texts}
    values = dict(zip(tables.schema.names, tables.real.values.T, strict=True))
    told = {
        name: float(entropy(np.unique(column, return_counts=True)[1]))
        for name, column in (written | values).items()
        if name not in kept
    }
    columns = sorted(told, key=lambda name: -told[name])[:most]
    found: list[Change] = []
    together = tables
    coarser = []
    for name in columns:
        found.extend(_without(tables, name))
        after = _coarser(tables, name)
        if after is not None:
            found.append(Change(f"{name!r} in {STEPS} steps", (), after))
            coarser.append(name)
            together = _coarser(together, name) or together
    if len(coarser) > 1:
        named = checks.short_list(map(repr, coarser), most)
        found.append(Change(f"{named} in {STEPS} steps each", (), together))
    return tuple(found)


def _without(tables: ReleasedTables, name: str) -> Iterator[Change]:
    """Yield the tables without a column, unless it is the last one."""
    told = f"without {name!r}"
    texts = tuple(text for text in tables.texts if text.name != name)
    if len(texts) < len(tables.texts):
        joined = tuple(one for one in tables.joined if one.column != name)
        yield Change(told, (name,), replace(tables, texts=texts, joined=joined))
    elif len(tables.schema.names) > 1:
        places = [j for j, other in enumerate(tables.schema.names) if other != name]
        left = _change_each(tables, lambda table: select_columns(table, places))
        yield Change(told, (name,), left)


def _change_each(tables: ReleasedTables, change: Callable[[Table], Table]) -> ReleasedTables:
    """Return the release with each of its tables changed."""
    return replace(
        tables,
        real=change(tables.real),
        synthetic=change(tables.synthetic),
        holdout=None if tables.holdout is None else change(tables.holdout),
    )


def _coarser(tables: ReleasedTables, name: str) -> ReleasedTables | None:
    """Return the tables with a coarser column; None for free text or at most ten values."""
    if name not in tables.schema.names:
        return None
    j = tables.schema.names.index(name)
    column = tables.schema.columns[j]
    made = tables.synthetic.values[:, j]
    made = made[~np.isnan(made)]
    everywhere = np.concatenate([table.values[:, j] for table in tables.tables().values()])
    # What is coarse is decided by the released values alone, and applied to all tables.
    if len(made) == 0 or len(np.unique(everywhere[~np.isnan(everywhere)])) <= STEPS:
        return None
    # The nine most frequent released categories keep their codes; the last entry is the code of a
    # missing value.
    n_categories = len(column.categories)
    code = np.arange(n_categories + 1.0)
    if not column.is_number:
        counts = np.bincount(made.astype(np.int64), minlength=n_categories)[:n_categories]
        frequent = np.argsort(-counts, kind="stable")
        code[frequent[STEPS - 1 :]] = frequent[STEPS - 1]

    def change(table: Table) -> Table:
        values = table.values.copy()
        if column.is_number:
            values[:, j] = _in_steps(values[:, j], made)
            # Steps of whole numbers, such as dates, are whole numbers.
            if tables.schema.limits[2][j]:
                values[:, j] = np.rint(values[:, j])
        else:
            values[:, j] = code[values[:, j].astype(np.int64)]
        return replace(table, values=values)

    return _change_each(tables, change)


def _in_steps(values: Floats, made: Floats) -> Floats:
    """Return for each number the median of the released numbers in its step."""
    # Quantiles that coincide, at frequent values, are one edge: there may be fewer than ten steps.
    edges = np.unique(np.quantile(made, np.arange(1, STEPS) / STEPS))
    step_of_made = np.searchsorted(edges, made, side="right")
    # A step without released numbers is represented by its nearest edge.
    at = np.array(
        [
            np.median(made[step_of_made == step])
            if (step_of_made == step).any()
            else edges[min(step, len(edges) - 1)]
            for step in range(len(edges) + 1)
        ]
    )
    found = at[np.searchsorted(edges, values, side="right")]
    return np.where(np.isnan(values), np.nan, found)
