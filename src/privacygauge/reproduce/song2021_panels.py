"""What the drawings of Song & Mittal's figures share: panels, and numbers of a table's cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate
from privacygauge.report.axes import INK, OTHER, SIZE, styled
from privacygauge.reproduce.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def panels(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    """Return a figure that no window knows of, and its panels row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE[0] * columns, SIZE[1] * rows), layout="constrained")
    return figure, [styled(ax) for ax in figure.subplots(rows, columns, squeeze=False).flat]


def titled(ax: Axes, title: str, x: str, y: str) -> None:
    """Name a panel and its axes."""
    ax.set_title(title, fontsize=9, loc="left", color=INK)
    ax.set(xlabel=x, ylabel=y)


def diagonal(ax: Axes) -> None:
    """Draw where a calibrated score would lie."""
    ax.plot([0, 1], [0, 1], color=OTHER, lw=0.9, ls=(0, (1, 2)), zorder=1, label="ideal")
    ax.set(xlim=(0, 1), ylim=(0, 1))


def cells(table: Table, labels: Sequence[str], column: str) -> list[Cell | None]:
    """Return the cells of a column in these rows; None where the table has none."""
    rows = {row.label: row.cells for row in table.rows}
    return [rows.get(label, {}).get(column) for label in labels]


def known(given: Sequence[Cell | None]) -> dict[int, Estimate]:
    """Return what was measured, by place; what was not is left out."""
    found = [None if cell is None else cell.ours for cell in given]
    return {place: ours for place, ours in enumerate(found) if isinstance(ours, Estimate)}
