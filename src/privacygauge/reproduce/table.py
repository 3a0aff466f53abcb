"""A published table beside what PrivacyGauge measures."""

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
    """What the paper prints; None where it prints nothing comparable."""
    ours: Estimate | Skipped
    """What was measured, or why not."""


@dataclass(frozen=True)
class Row:
    """One row of a table."""

    label: str
    """What it is about."""
    cells: Mapping[str, Cell]
    """Column to cell."""


@dataclass(frozen=True)
class Table:
    """A reproduction's result."""

    name: str
    """Its name on the command line."""
    title: str
    """Paper and number of the table."""
    rows: tuple[Row, ...]
    """In the paper's order."""
    notes: tuple[str, ...]
    """Where data, models or sizes differ from the paper's."""

    def to_frame(self) -> pd.DataFrame:
        """Return one line for every cell: row, column, published, ours, low, high, n, method."""
        import pandas as pd

        return pd.DataFrame(self.lines())

    def to_json(self) -> str:
        """Return the table as JSON text."""
        plain = {"name": self.name, "title": self.title, "notes": list(self.notes)}
        return json.dumps({**plain, "cells": self.lines()}, indent=2, allow_nan=False) + "\n"

    @property
    def measured(self) -> bool:
        """Whether any number of it was measured."""
        return any(isinstance(c.ours, Estimate) for row in self.rows for c in row.cells.values())

    def cell(self, row: str, column: str) -> Cell | None:
        """Return a cell; None where this form of the table has none."""
        for one in self.rows:
            if one.label == row:
                return one.cells.get(column)
        return None

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping for every cell."""
        return [
            {"row": row.label, "column": column, "published": cell.published, **_plain(cell.ours)}
            for row in self.rows
            for column, cell in row.cells.items()
        ]


@dataclass(frozen=True)
class Effort:
    """How much of a reproduction is done, and where."""

    quick: bool = False
    """A small form that shows that it works, with wide intervals."""
    seed: int = 0
    """All random draws derive from it."""
    run: Path | None = None
    """Folder that keeps what was trained."""
    n_jobs: int | None = None
    """Processes."""
    progress: Callable[[int, int], None] | None = None
    """Called with what is done and all there is to do."""
    share: float = 1.0
    """Of the full form's repetitions, in (0, 1]: a part of it where the whole takes hours."""
    data: Path | None = None
    """Folder of the paper's own data, where the reader has them: see `layouts`."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(
                f"share must be in (0, 1], got {self.share}: it is the part of the full form's "
                "repetitions that are made"
            )

    @property
    def form(self) -> str:
        """`quick`, `full`, or which part of the full form."""
        if self.quick:
            return "quick"
        return "full" if self.share == 1 else f"{self.share:g} of the full form"

    def told(self, done: int, total: int) -> None:
        """Tell whoever follows the progress."""
        if self.progress is not None:
            self.progress(done, total)

    def noted(self, notes: tuple[str, ...], quick: str) -> tuple[str, ...]:
        """Return notes, with what is smaller in the quick form where that is made."""
        return (*notes, quick) if self.quick else notes

    def shared(self, name: str) -> Path | None:
        """Return the folder of what several reproductions train alike; None to keep nothing."""
        return None if self.run is None else self.run.parent / name

    def some(self, full: int, quick: int) -> int:
        """Return a number of repetitions: the full form's share, at least the quick form's."""
        return quick if self.quick else max(quick, round(full * self.share))


def part_of(effort: Effort, number: int, parts: int) -> Callable[[int, int], None] | None:
    """Return the progress of one of several parts that cost about the same."""
    told = effort.progress
    if told is None:
        return None
    return lambda done, total: told(number * total + done, parts * total)


def exact(value: float, n: int, method: str) -> Estimate:
    """Return a number without doubt: counted, or by a formula."""
    return Estimate(value=value, low=value, high=value, level=0.95, n=n, method=method)


@dataclass(frozen=True)
class Reproduction:
    """A published table or figure that can be made again."""

    name: str
    """Its name on the command line."""
    title: str
    """Paper and number."""
    make: Callable[[Effort], Table]
    """Returns the table."""
    draw: Callable[[Table], Axes | Figure] | None = None
    """Draws it; None for what `drawings` says, or dots with intervals, one panel a column."""


def _plain(ours: Estimate | Skipped) -> dict[str, Any]:
    if isinstance(ours, Skipped):
        return {"ours": None, "skipped": ours.reason}
    return {
        "ours": ours.value,
        "low": ours.low,
        "high": ours.high,
        "level": ours.level,
        "n": ours.n,
        "method": ours.method,
    }
