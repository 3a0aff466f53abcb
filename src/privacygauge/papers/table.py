"""Published tables beside PrivacyGauge's measurements, with their status and settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Cell:
    """One number of a paper beside ours."""

    published: float | None
    """Number in the paper; None if it prints nothing comparable."""
    ours: Estimate | Skipped
    """Our measurement, or the reason for its absence."""


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    label: str
    """Name of the row, unique in its table."""
    cells: Mapping[str, Cell]
    """Column to cell; rows of a table may differ in their columns."""


@dataclass(frozen=True)
class Table:
    """A reproduced table or figure, as rows of cells."""

    name: str
    """Name of the reproduction on the command line."""
    title: str
    """Paper and number of the table."""
    rows: tuple[Row, ...]
    """Rows in the paper's order."""
    notes: tuple[str, ...]
    """Differences in data, models or sizes from the paper's, in sentences."""

    def to_frame(self) -> pd.DataFrame:
        """Return one line per cell: row, column, published, ours, low, high, level, n, method."""
        import pandas as pd

        return pd.DataFrame(self.lines())

    def to_json(self) -> str:
        """Return the table as JSON text."""
        plain = {"name": self.name, "title": self.title, "notes": list(self.notes)}
        return json.dumps({**plain, "cells": self.lines()}, indent=2, allow_nan=False) + "\n"

    @property
    def measured(self) -> bool:
        """Whether at least one cell was measured."""
        return any(isinstance(c.ours, Estimate) for row in self.rows for c in row.cells.values())

    def cell(self, row: str, column: str) -> Cell | None:
        """Return the cell of a row and column; None if this form of the table does not have it."""
        for one in self.rows:
            if one.label == row:
                return one.cells.get(column)
        return None

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping per cell, for JSON and data frames."""
        return [
            {
                "row": row.label,
                "column": column,
                "published": cell.published,
                **(
                    {"ours": None, "skipped": cell.ours.reason}
                    if isinstance(cell.ours, Skipped)
                    else {
                        "ours": cell.ours.value,
                        "low": cell.ours.low,
                        "high": cell.ours.high,
                        "level": cell.ours.level,
                        "n": cell.ours.n,
                        "method": cell.ours.method,
                    }
                ),
            }
            for row in self.rows
            for column, cell in row.cells.items()
        ]


@dataclass(frozen=True)
class Effort:
    """Size of a reproduction, and where and how it runs."""

    quick: bool = False
    """Whether to make the small form: enough to show that it works, with wide intervals."""
    seed: int = 0
    """Root of all random draws."""
    run: Path | None = None
    """Folder for trained models; None keeps nothing."""
    n_jobs: int | None = None
    """Number of processes."""
    progress: Callable[[int, int], None] | None = None
    """Called with the work done and the total work."""
    share: float = 1.0
    """Part of the full form's repetitions to make, in (0, 1]; the whole may take hours."""
    data: Path | None = None
    """Folder with the paper's own data, if the reader has them; see `make.LAYOUTS`."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(
                f"share must be in (0, 1], got {self.share}: it is the part of the full form's "
                "repetitions that are made"
            )

    @property
    def form(self) -> str:
        """`quick`, `full`, or the part of the full form, such as `0.1 of the full form`."""
        if self.quick:
            return "quick"
        return "full" if self.share == 1 else f"{self.share:g} of the full form"

    def told(self, done: int, total: int) -> None:
        """Report progress, if anyone follows it."""
        if self.progress is not None:
            self.progress(done, total)

    def noted(self, notes: tuple[str, ...], quick: str) -> tuple[str, ...]:
        """Return the notes, followed in the quick form by the note on its size."""
        return (*notes, quick) if self.quick else notes

    def shared(self, name: str) -> Path | None:
        """Return the folder of models that several reproductions share; None keeps nothing.

        It lies beside the folders of the single reproductions.
        """
        return None if self.run is None else self.run.parent / name

    def some(self, full: int, quick: int) -> int:
        """Return the number of repetitions: the share of `full`, but at least `quick`."""
        return quick if self.quick else max(quick, round(full * self.share))


def part_of(effort: Effort, number: int, parts: int) -> Callable[[int, int], None] | None:
    """Return the progress callback for one of several parts of about equal cost.

    `number` counts the parts from 0. None if nobody follows the progress.
    """
    # In units of the part's own total, so that every part takes an equal share of the bar.
    told = effort.progress
    if told is None:
        return None
    return lambda done, total: told(number * total + done, parts * total)


def exact(value: float, n: int, method: str) -> Estimate:
    """Return a number without sampling error: counted, or from a formula."""
    return Estimate(value=value, low=value, high=value, level=0.95, n=n, method=method)


@dataclass(frozen=True)
class Reproduction:
    """A published table or figure that can be reproduced."""

    name: str
    """Name on the command line."""
    title: str
    """Paper, number and content."""
    make: Callable[[Effort], Table]
    """Maker of the table."""
    draw: Callable[[Table], Axes | Figure] | None = None
    """Drawing of the table; None for `page.DRAWINGS`, or else dots with intervals by column."""


class Status(Enum):
    """Status of a published table or figure in this library."""

    DONE = "done"
    """Reproduced on the paper's own data, or on data that the paper draws at random."""
    STAND_IN = "stand-in"
    """Reproduced on other data: only claims can be compared, not numbers."""
    PARTLY = "partly"
    """Some of its rows or points are reproduced."""
    NOT_POSSIBLE = "not possible"
    """Its data or models are not available."""
    NO_RESULT = "no result"
    """No measurement to reproduce: notation, settings, a drawing of the method."""


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper."""

    name: str
    """Name, equal to that of its reproduction unless `by` names others."""
    paper: str
    """Authors and year."""
    number: str
    """Number in the paper, such as `Table 4`."""
    what: str
    """Content, in a few words."""
    status: Status
    """Status of the reproduction."""
    why: str
    """Substitute data, the part that is made, or why it is not made; empty if all is done."""
    by: tuple[str, ...] = ()
    """Reproductions that cover it under another name; empty if one has its name."""

    def __post_init__(self) -> None:
        if self.status is not Status.DONE and not self.why:
            raise InputError(f"why must say why {self.name} is not done, got an empty text: say it")

    @property
    def title(self) -> str:
        """Paper, number and content."""
        return f"{self.paper}, {self.number}: {self.what}"

    @property
    def told(self) -> str:
        """Reproductions under another name and the reason for the status, if there are any."""
        by = f"made by {', '.join(self.by)}" if self.by else ""
        return "; ".join(part for part in (by, self.why) if part)


def item_title(key: str) -> str:
    """Return a paper's name for a table or figure; `in its text` for any other key.

    Examples
    --------
    >>> item_title("table4-defences"), item_title("fig3a"), item_title("claims")
    ('Table 4', 'Figure 3(a)', 'in its text')
    """
    found = re.match(r"(table|fig)(\d+)([a-z]?)", key)
    if found is None:
        return "in its text"
    kind, number, part = found.groups()
    return f"{'Table' if kind == 'table' else 'Figure'} {number}{f'({part})' if part else ''}"


def items(paper: str, prefix: str, *rows: tuple[str, str, Status, *tuple[str, ...]]) -> list[Item]:
    """Return the items of a paper.

    Parameters
    ----------
    paper : str
        Authors and year.
    prefix : str
        First part of the items' names, without the hyphen.
    *rows : tuple
        Rest of the name, content, status, and optionally the reason and the reproductions that
        cover the item under another name; as in `Item`.
    """
    # A row ends early where it has no reason; names in `by` come after the reason.
    return [
        Item(
            f"{prefix}-{key}",
            paper=paper,
            number=item_title(key),
            what=what,
            status=status,
            why="".join(told[:1]),
            by=told[1:],
        )
        for key, what, status, *rest in rows
        for told in (tuple(rest),)
    ]


Value = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
"""Value of a setting; ours are the constants that the code itself uses."""


@dataclass(frozen=True)
class Entry:
    """A setting of a paper beside ours."""

    names: str
    """Reproductions that use it, as shell patterns separated by blanks."""
    section: str
    """Section of the paper, such as `5.1`."""
    what: str
    """Setting, in a few words."""
    paper: Value | None
    """Value in the paper; None if the paper states none."""
    ours: Value
    """Value in the code."""
    why: str = ""
    """Reason for another value, or for the choice where the paper states none; empty if equal."""

    def __post_init__(self) -> None:
        if self.same == "yes" and self.why:
            raise InputError(f"why must be empty where {self.what} is the paper's, got {self.why}")
        if self.same != "yes" and not self.why:
            raise InputError(f"why must say why {self.what} is not the paper's, got an empty text")

    @property
    def same(self) -> Literal["yes", "no", "open"]:
        """`yes` if our value is the paper's, `no` if not, `open` if the paper states none."""
        if self.paper is None:
            return "open"
        return "yes" if self.paper == self.ours else "no"

    @property
    def deviation(self) -> str:
        """Setting, both values and the reason, in a sentence for the notes of a result."""
        stated = "not stated" if self.paper is None else value_text(self.paper)
        return f"{self.what}: {stated} in the paper, {value_text(self.ours)} here: {self.why}"

    @property
    def where(self) -> str:
        """Reproductions that use it, without the paper's name; `all` for every one."""
        keys = [pattern.partition("-")[2] for pattern in self.names.split()]
        return ", ".join("all" if key == "*" else key for key in keys)

    def about(self, name: str) -> bool:
        """Return whether a reproduction uses this setting."""
        return any(fnmatchcase(name, pattern) for pattern in self.names.split())


def value_text(value: Value) -> str:
    """Return a value as text: thousands separated, tuples joined by commas.

    Examples
    --------
    >>> value_text(48842), value_text(0.01), value_text((1, 5, 10)), value_text("tanh")
    ('48,842', '0.01', '1, 5, 10', 'tanh')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return ", ".join(value_text(one) for one in value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def deviations(entries: Sequence[Entry], name: str) -> tuple[str, ...]:
    """Return one sentence for each stated setting in which a reproduction differs."""
    return tuple(one.deviation for one in entries if one.about(name) and one.same == "no")
