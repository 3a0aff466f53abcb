"""A table as a figure: dots with intervals, or lines over a number in the rows' names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.report.axes import DASHES, FAINT, INK, SERIES, axes, legend, plot_label
from privacygauge.reproduce.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


from collections.abc import Mapping

from privacygauge.report.axes import svg_text
from privacygauge.reproduce.table import Reproduction

PANELS = 4
"""Columns of a table in one row of panels."""
BESIDE = (7.0, 4.0)
"""Inches of a plot with its legend beside it."""
MOST = 12
"""Panels at most: the first columns of a table."""


def draw_dots(table: Table) -> Axes:
    """Draw one panel a column: ours as dots with intervals, the paper's numbers as diamonds.

    Parameters
    ----------
    table : Table
        The numbers are those of its cells.

    Returns
    -------
    matplotlib.axes.Axes
        The first panel.
    """
    from matplotlib.figure import Figure

    columns = _measured_columns(table)[:MOST]
    wide = min(len(columns), PANELS)
    high = -(-len(columns) // PANELS)
    size = (2.2 + 2.1 * wide, high * (0.9 + 0.2 * len(table.rows)))
    panels = Figure(figsize=size, layout="constrained").subplots(
        high, wide, squeeze=False, sharey=True
    )
    for place in range(high * wide):
        ax = panels.flat[place]
        if place >= len(columns):
            ax.set_axis_off()
            continue
        _dots(ax, table, columns[place])
    first: Axes = panels.flat[0]
    first.set_yticks(range(len(table.rows)), [plot_label(row.label) for row in table.rows])
    first.invert_yaxis()
    return first


@dataclass(frozen=True)
class Lines:
    """Draws numbers over a number that stands in the names of rows or of columns."""

    x: str
    """Regular expression; its group is the number, what is left of the name is the series."""
    xlabel: str
    """Of the horizontal axis."""
    ylabel: str
    """Of the vertical axis."""
    columns: tuple[str, ...] = ()
    """Which are drawn; all where none is named."""
    xscale: str = "linear"
    """matplotlib's, as is `yscale`."""
    yscale: str = "linear"
    across: bool = False
    """Whether `x` is in the columns' names, and each row is a series."""

    def __call__(self, table: Table) -> Axes:
        """Draw a table: ours as lines with intervals, the paper's numbers as diamonds."""
        ax = axes(None)
        series = self.series(table)
        if not series:
            raise InputError(f"{table.name} has no number to draw: make it again")
        for place, (name, points) in enumerate(series.items()):
            _line(ax, name, points, place)
        ax.set(xscale=self.xscale, yscale=self.yscale)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.xscale == "log":
            _name_points(ax, sorted({x for points in series.values() for x, _ in points}))
        _name_series(ax, len(series))
        return ax

    def series(self, table: Table) -> dict[str, list[tuple[float, Cell]]]:
        """Return each series' points: what is drawn, by its name."""
        found: dict[str, list[tuple[float, Cell]]] = {}
        for row in table.rows:
            for column, cell in row.cells.items():
                if self.columns and column not in self.columns:
                    continue
                where, other = (column, row.label) if self.across else (row.label, column)
                match = re.search(self.x, where)
                if match is None or not isinstance(cell.ours, Estimate):
                    continue
                rest = (where[: match.start()] + where[match.end() :]).strip(" ,:")
                name = ", ".join(part for part in (rest, other) if part)
                found.setdefault(name, []).append((float(match[1].replace(",", "")), cell))
        return found


def _name_points(ax: Axes, points: Sequence[float]) -> None:
    """Write the points themselves below a logarithmic axis: powers of ten are too far apart."""
    ax.set_xticks(points, [f"{x:,g}" for x in points])
    ax.minorticks_off()


def _name_series(ax: Axes, n: int) -> None:
    if n <= len(SERIES):
        legend(ax, loc="best")
        return
    # Beside the plot, where more lines than colours would hide it.
    legend(ax, loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.set_size_inches(BESIDE)


def _measured_columns(table: Table) -> list[str]:
    found: dict[str, None] = {}
    for row in table.rows:
        for column, cell in row.cells.items():
            if isinstance(cell.ours, Estimate):
                found.setdefault(column)
    if not found:
        raise InputError(f"{table.name} has no number to draw: nothing of it was measured")
    return list(found)


def _dots(ax: Axes, table: Table, column: str) -> None:
    ax.grid(color=FAINT, lw=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(which="both", color=FAINT, labelcolor=INK, labelsize=7.5)
    ax.set_title(plot_label(column), fontsize=8.5, loc="left", color=INK)
    for place, row in enumerate(table.rows):
        cell = row.cells.get(column)
        if cell is None:
            continue
        if isinstance(cell.ours, Estimate):
            ends = np.nan_to_num([cell.ours.low, cell.ours.high])
            ax.plot(ends, [place, place], color=SERIES[0], lw=1.6)
            ax.plot(cell.ours.value, place, "o", color=SERIES[0], ms=4)
        if cell.published is not None:
            ax.plot(cell.published, place, "D", mfc="none", mec=SERIES[1], ms=4.5)


def _line(ax: Axes, name: str, points: Sequence[tuple[float, Cell]], place: int) -> None:
    color = SERIES[place % len(SERIES)]
    x = np.array([at for at, _ in points])
    ours = [cell.ours for _, cell in points if isinstance(cell.ours, Estimate)]
    y = np.array([one.value for one in ours])
    ends = np.array([[one.value - one.low, one.high - one.value] for one in ours]).T
    style = DASHES[place % len(DASHES)]
    ax.errorbar(x, y, ends, color=color, ls=style, lw=1.3, marker="o", ms=3, label=plot_label(name))
    known = [(at, cell.published) for at, cell in points if cell.published is not None]
    if known:
        ax.plot(*zip(*known, strict=True), "D", mfc="none", mec=color, ms=5)


_ROC = Lines(r"FPR ([\d.]+)", "False-positive rate", "True-positive rate")

DRAWINGS: Mapping[str, Lines] = {
    "long-fig3": Lines(
        r"mean of (\d+)", "Measurements of PDTP", "Correlation with the attack", xscale="log"
    ),
    "meeus-fig3a": Lines(r"k = (\d+)", "Neighbours", "AUC", ("mean AUC",)),
    "meeus-fig4": Lines(
        x=r"epsilon ([\d.]+)", xlabel="Epsilon", ylabel="AUC", columns=("mean AUC",), xscale="log"
    ),
    "mireshghallah-fig3": Lines(
        r"quantile ([\d.]+)", "Share of the samples", "Value, higher is more like a member"
    ),
    "mireshghallah-fig4": _ROC,
    "mireshghallah-fig5": Lines(_ROC.x, _ROC.xlabel, _ROC.ylabel, xscale="log"),
    "song-fig2": Lines(r"epoch (\d+)", "Epoch", "Share"),
    "song-fig6": Lines(r"at most ([\d.]+)", "Privacy risk score", "Members with at most this"),
    "song-fig7": Lines(
        r"score in \[([\d.]+), [\d.]+[\])]",
        "Privacy risk score, from",
        "Log ratio of modified entropies",
        ("removed", "another removed", "net"),
    ),
    "song-fig10": Lines(r"prior ([\d.]+)", "Prior", "Mean score less the prior"),
    "feldman-fig1": Lines(r"k ([\d,]+)", "Queries", "Gain in accuracy", xscale="log", across=True),
    "feldman-fig3": Lines(
        r", k ([\d,]+)", "Queries", "Bias", ("simulation",), xscale="log", yscale="log"
    ),
    "feldman-fig4": Lines(
        r", m ([\d,]+)",
        "Classes",
        "Queries",
        ("theory", "simulation"),
        xscale="log",
        yscale="log",
    ),
    "feldman-fig5": Lines(
        r", k ([\d,]+)", "Queries", "Bias", ("NB", "majority", "dropping"), xscale="log"
    ),
}
"""Reproduction to its lines; the others have drawings of their own, or dots with intervals."""


def figure_svg(known: Reproduction, table: Table) -> str:
    """Return a table's figure as SVG text, the same at every call.

    Raises
    ------
    InputError
        If no cell of the table was measured.
    """
    draw = known.draw or DRAWINGS.get(known.name) or draw_dots
    return svg_text(lambda: draw(table), transparent=False)
