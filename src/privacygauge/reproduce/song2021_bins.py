"""Scores against the real share of members, bin by bin; and what the figures' drawings share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.calibration import Reliability, reliability
from privacygauge.evaluate.rates import mean, proportion
from privacygauge.report.axes import DASHES, INK, OTHER, SERIES, SIZE, style_axes
from privacygauge.reproduce.song2021 import LEVEL
from privacygauge.reproduce.song2021_classifiers import MemberScores
from privacygauge.reproduce.song2021_defences import over_fits
from privacygauge.reproduce.song2021_white_box import over_pairs
from privacygauge.reproduce.table import Cell, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 10
"""Equal bins of [0, 1]."""

LEAST = 10
"""A bin counts where it holds at least so many records of every target."""


def bin_label(name: str, number: int) -> str:
    """Return the label of the row about a bin."""
    low = number / BINS
    high = (number + 1) / BINS
    return f"{name}: score in [{low:g}, {high:g}{']' if number == BINS - 1 else ')'}"


def bin_rows(name: str, found: Sequence[MemberScores], scores: Sequence[str]) -> list[Row]:
    """Return a row for every bin: the members in it, their share there, and the mean score."""
    return [
        Row(
            bin_label(name, number),
            {key: cell for score in scores for key, cell in _bin(found, score, number).items()},
        )
        for number in range(BINS)
    ]


def calibrations(
    found: Sequence[MemberScores], score: str, seed: int, level: float
) -> list[Reliability]:
    """Return how far the scores of each target are from the real share of members."""
    rngs = [seeds.stream(seed, "bootstrap", score, i) for i in range(len(found))]
    return [
        reliability(one.by_name[score], one.member, rng, n_bins=BINS, level=level)
        for one, rng in zip(found, rngs, strict=True)
    ]


def over_models(
    values: Sequence[float], name: str, *, least: float = -np.inf
) -> Estimate | Skipped:
    """Return the mean of a number, never below `least`, that has no interval for one pair."""
    if len(values) < 2:
        return Skipped(name, "one pair of models shows no spread: make the full form")
    return mean(np.array(values), LEVEL, unit="pairs", least=least)


def plot_bins(ax: Axes, table: Table, name: str, score: str, number: int, label: str) -> None:
    """Draw the real share of members against the mean score of each bin."""
    labels = [bin_label(name, i) for i in range(BINS)]
    x = measured_by_place(cells(table, labels, f"{score}: mean score"))
    y = measured_by_place(cells(table, labels, f"{score}: share of members"))
    colour = SERIES[number % len(SERIES)]
    places = sorted(set(x) & set(y))
    if not places:
        return
    at = [x[i].value for i in places]
    ax.vlines(at, [y[i].low for i in places], [y[i].high for i in places], color=colour, lw=1.0)
    ax.plot(
        at,
        [y[i].value for i in places],
        color=colour,
        ls=DASHES[number] if number < len(DASHES) else (0, (2, 4)),
        lw=1.4,
        marker="o",
        ms=3,
        label=label,
    )


def panels(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    """Return a figure that no window knows of, and its panels row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE[0] * columns, SIZE[1] * rows), layout="constrained")
    return figure, [style_axes(ax) for ax in figure.subplots(rows, columns, squeeze=False).flat]


def title_panel(ax: Axes, title: str, x: str, y: str) -> None:
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


def measured_by_place(given: Sequence[Cell | None]) -> dict[int, Estimate]:
    """Return what was measured, by place; what was not is left out."""
    found = [None if cell is None else cell.ours for cell in given]
    return {place: ours for place, ours in enumerate(found) if isinstance(ours, Estimate)}


def _bin(found: Sequence[MemberScores], score: str, number: int) -> dict[str, Cell]:
    held = [_places(one.by_name[score]) == number for one in found]
    pairs = list(zip(found, held, strict=True))
    here = over_fits([proportion(rows[one.member], level=LEVEL) for one, rows in pairs])
    fewest = min(int(np.count_nonzero(rows)) for rows in held)
    share: Estimate | Skipped = Skipped(
        f"{score}, bin {number + 1}", f"{fewest} records, and at least {LEAST} are needed"
    )
    middle = share
    if fewest >= LEAST:
        share = over_fits([proportion(one.member[rows], level=LEVEL) for one, rows in pairs])
        values = [one.by_name[score][rows] for one, rows in pairs]
        middle = over_pairs([mean(some, LEVEL, unit="records") for some in values])
    return {
        f"{score}: of the members": Cell(None, here),
        f"{score}: share of members": Cell(None, share),
        f"{score}: mean score": Cell(None, middle),
    }


def _places(score: Floats) -> Ints:
    # As `reliability` counts them.
    return np.clip((score * BINS).astype(np.int64), 0, BINS - 1)
