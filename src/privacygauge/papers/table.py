"""Published tables beside PrivacyGauge's measurements."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
