"""Kept results as Markdown and figures, and the index of the papers' tables and figures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.papers.catalogue import ITEMS, PROTOCOLS, REPRODUCTIONS, judgement
from privacygauge.papers.table import Cell, Item, Reproduction, Status, Table, value_text
from privacygauge.papers.verdict import (
    FULL,
    Judgement,
    ReproductionResult,
    read_result,
)
from privacygauge.report.axes import DASHES, FAINT, INK, SERIES, axes, legend, plot_label, svg_text
from privacygauge.report.numbers import DASH, decimal

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDEST = 4
"""Most columns of numbers side by side; further ones start another table."""
_MOST_DECIMALS = 6


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table.

    Examples
    --------
    >>> print(table_of(("a", "b"), [("1", "x|y")]), end="")
    | a | b |
    |---|---|
    | 1 | x\|y |
    """
    lines = [_line(head), "|" + "---|" * len(head), *(_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def numbers_tables(table: Table, judgement: Judgement) -> list[str]:
    """Return a table's numbers as Markdown tables: one or more per set of rows with equal columns.

    None has more than `WIDEST` columns of numbers, not counting the paper's.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in table.rows:
        groups.setdefault(tuple(row.cells), []).append(row.label)
    found = []
    for columns, labels in groups.items():
        # Transposed if the lines of all parts are fewer that way. Each part has its own head, rule
        # and blank line.
        usual = -(-len(columns) // WIDEST) * (len(labels) + 3)
        turned = -(-len(labels) // WIDEST) * (len(columns) + 3) < usual
        across, down = (labels, columns) if turned else (columns, labels)
        for start in range(0, len(across), WIDEST):
            part = across[start : start + WIDEST]
            # One (row, column) per cell, in the lines of the Markdown table.
            places = [
                [(name, other) if turned else (other, name) for name in part] for other in down
            ]
            found.append(_one_table(table, judgement, across=part, down=down, places=places))
    return found


def number(found: Estimate | Skipped) -> str:
    """Return a number and its interval, with as many decimals as the interval needs.

    Examples
    --------
    >>> number(Estimate(0.81234, 0.7, 0.9, 0.95, 10, "Wilson"))
    '0.812 (0.700 to 0.900)'
    >>> number(Estimate(1234.0, 1000.0, 1500.0, 0.95, 10, "t")), number(Skipped("a", "b"))
    ('1,234 (1,000 to 1,500)', '-')
    >>> number(Estimate(0.00021, 0.0001, 0.0004, 0.95, 38_821, "Wilson"))
    '0.00021 (0.00010 to 0.00040)'
    """
    if isinstance(found, Skipped):
        return DASH
    ends = found.low, found.high
    # A count: no interval and no decimals.
    if ends == (found.value, found.value) and found.value.is_integer():
        return f"{found.value:,.0f}"
    largest = max(abs(x) for x in (found.value, *ends) if not math.isinf(x))
    decimals = _decimals(largest, found.high - found.low)
    value, low, high = (_decimal(x, decimals) for x in (found.value, *ends))
    return value if low == high else f"{value} ({low} to {high})"


def _one_table(
    table: Table,
    judgement: Judgement,
    across: Sequence[str],
    down: Sequence[str],
    places: Sequence[Sequence[tuple[str, str]]],
) -> str:
    """Return one Markdown table, with the paper's numbers beside each column that has any."""
    # cells: lines of the table by its columns; None where a row has no such column.
    cells = [[table.cell(*place) for place in line] for line in places]
    known = [
        any(cell is not None and cell.published is not None for cell in column)
        for column in zip(*cells, strict=True)
    ]
    head = [""]
    rows = [[name] for name in down]
    for place, name in enumerate(across):
        head += [name, "paper"] if known[place] else [name]
        for line, row in enumerate(rows):
            cell = cells[line][place]
            row.append("" if cell is None else number(cell.ours))
            if not known[place]:
                continue
            published = ""
            if cell is not None and cell.published is not None:
                word = judgement.of_cell(*places[line][place], cell)
                decimals = _decimals(abs(cell.published), abs(cell.published))
                published = _decimal(cell.published, decimals)
                # Other verdicts, such as "not judged", would fill the table and say nothing.
                published += f" {word}" if word in ("agrees", "differs", "open") else ""
            row.append(published)
    return table_of(head, rows)


def _decimals(largest: float, width: float) -> int:
    """Return the number of decimals for numbers up to `largest` with an interval of this width."""
    # Two significant digits of the width, but no fewer decimals than usual for the size.
    usual = 3 if largest < 10 else 1 if largest < 1000 else 0
    if not 0 < width < math.inf:
        return usual
    return max(usual, min(_MOST_DECIMALS, 1 - math.floor(math.log10(width))))


def _decimal(value: float, decimals: int) -> str:
    if math.isinf(value):
        return decimal(value, 0)
    whole, _, rest = decimal(value, decimals).partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    grouped = f"{sign}{int(digits):,}"
    return f"{grouped}.{rest}" if rest else grouped


def _line(cells: Sequence[str]) -> str:
    # A pipe within a cell would end it.
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


MOST_LINES = 30
"""Most lines of numbers shown at once; longer ones are folded, below the claims."""


def page(results: Path) -> str:
    """Return all results of a folder as Markdown, below the index of tables and figures.

    Parameters
    ----------
    results : Path
        Folder of ``NAME.json`` files, as `privacygauge reproduce` writes them.

    Raises
    ------
    InputError
        If a result cannot be read.
    """
    known = results_in(results)
    parts = ["# Reproduction\n", index(known)]
    parts += [
        f"## {name}\n\n{result_markdown(result, f'{name}.json')}" for name, result in known.items()
    ]
    return "\n".join(parts)


def results_in(folder: Path) -> Mapping[str, ReproductionResult]:
    """Return name to result for the files of a folder, in the catalogue's order."""
    paths = {known.name: folder / f"{known.name}.json" for known in REPRODUCTIONS}
    return {name: read_result(path) for name, path in paths.items() if path.is_file()}


def index(known: Mapping[str, ReproductionResult], paper: str | None = None) -> str:
    """Return the index of the papers' tables and figures with status and verdict, as Markdown.

    Parameters
    ----------
    known : mapping of str to ReproductionResult
        Results by name.
    paper : str or None, default None
        Authors and year, for the items of one paper with the reason for each status.
    """
    if paper is None:
        return table_of(
            ("paper", "item", "shows", "status", "verdict"),
            [(item.paper, *_entry(item, known)) for item in ITEMS],
        )
    return table_of(
        ("item", "shows", "status", "verdict", "which data, which part"),
        [(*_entry(item, known), item.why) for item in ITEMS if item.paper == paper],
    )


def protocol(paper: str) -> str:
    """Return the settings that a paper states, ours, and the reasons for ours, as Markdown."""
    return table_of(
        ("setting", "section", "the paper", "here", "same", "in"),
        [
            (
                one.what,
                one.section,
                "not stated" if one.paper is None else value_text(one.paper),
                value_text(one.ours),
                f"{one.same}: {one.why}" if one.why else one.same,
                one.where,
            )
            for one in PROTOCOLS[paper]
        ],
    )


def result_markdown(result: ReproductionResult, link: str) -> str:
    """Return a result as Markdown: form, verdict, claims, numbers and missing numbers.

    Parameters
    ----------
    result : ReproductionResult
    link : str
        Link from the page to the file with every number.
    """
    name = result.table.name
    judged = judgement(name, result.form, result.data)
    verdict = judged.of(result.table)
    numbers = "\n".join(numbers_tables(result.table, judged))
    if numbers.count("\n") > MOST_LINES:
        # GitHub's Markdown folds `details` too.
        numbers = f"<details><summary>The numbers</summary>\n\n{numbers}\n</details>"
    left_out = {
        cell.ours.reason
        for row in result.table.rows
        for cell in row.cells.values()
        if isinstance(cell.ours, Skipped)
    }
    # Why a claim is not tested; what a quick form leaves out is said by the form.
    left_out |= {
        one.effect.reason
        for one in verdict.claims
        if isinstance(one.effect, Skipped) and one.effect.reason != "not in this form"
    }
    own_data = "".join(f", on {data} ({size})" for data, size in result.data.items())
    forms = {FULL: "full form", "quick": "quick form: small, with wide intervals"}
    form = forms.get(result.form, result.form)
    # The level of the intervals, and the fewest and the most independent units behind.
    measured = [
        cell.ours
        for row in result.table.rows
        for cell in row.cells.values()
        if isinstance(cell.ours, Estimate)
    ]
    # Exact numbers have no sample.
    units = [one.n for one in measured if one.low < one.high]
    if not units:
        intervals = "exact numbers, "
    else:
        low = f"{min(units):,}"
        high = f"{max(units):,}"
        said = ", ".join(f"{100 * level:g}%" for level in sorted({one.level for one in measured}))
        intervals = f"{said} intervals, n = {low if low == high else f'{low} to {high}'}, "
    parts = [
        f"**`{name}`**, {form}{own_data}, seed {result.seed}, "
        f"{intervals}"
        f"{result.seconds:,.0f} s, version {result.version}; "
        f"[every number]({link}). Verdict: **{verdict}**.",
        (
            ""
            if all(isinstance(one.effect, Skipped) for one in verdict.claims)
            else table_of(
                ("claim", "said in", "effect, above 0 if true", "verdict"),
                [
                    (one.claim, one.section or DASH, number(one.effect), one.word)
                    for one in verdict.claims
                ],
            )
        ),
        numbers,
        f"Not measured: {'; '.join(sorted(left_out))}." if left_out else "",
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _entry(item: Item, known: Mapping[str, ReproductionResult]) -> Sequence[str]:
    """Return number, content, status and verdict of an item; the number links to the result."""
    # An item without results of its own has those of `by`.
    results = [known[name] for name in item.by or (item.name,) if name in known]
    made = item.status not in (Status.NOT_POSSIBLE, Status.NO_RESULT)
    if not results:
        return (item.number, item.what, item.status.value, "not judged" if made else "")
    # A verdict on another table is none on this one, which may have few of its numbers.
    verdicts = (
        [f"not judged by itself: {', '.join(item.by)}"] if item.by else map(_verdict, results)
    )
    number = f"[{item.number}](#{results[0].table.name})"
    return (number, item.what, item.status.value, "; ".join(dict.fromkeys(verdicts)))


def _verdict(result: ReproductionResult) -> str:
    """Return a result's verdict, followed by its form if that is not the full one."""
    told = str(judgement(result.table.name, result.form, result.data).of(result.table))
    return told if result.form == FULL else f"{told}, {result.form}"


# A table as a figure: dots with intervals, or lines over a number in the names of its rows.

PANELS = 4
"""Panels in one row of a figure."""
BESIDE = (7.0, 4.0)
"""Width and height, in inches, of a plot with its legend at the side."""
MOST = 12
"""Most panels of a figure, for the first columns of a table."""


def draw_dots(table: Table) -> Axes:
    """Draw one panel per column: ours as dots with intervals, the paper's numbers as diamonds.

    Parameters
    ----------
    table : Table
        Table with at least one measured number.

    Returns
    -------
    matplotlib.axes.Axes
        The first panel.
    """
    from matplotlib.figure import Figure

    measured = dict.fromkeys(
        column
        for row in table.rows
        for column, cell in row.cells.items()
        if isinstance(cell.ours, Estimate)
    )
    if not measured:
        raise InputError(f"{table.name} has no number to draw: nothing of it was measured")
    columns = list(measured)[:MOST]
    # At most `PANELS` panels per row of the figure; unused ones of the last row are hidden.
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
    """A drawing of numbers over a number in the names of rows or columns."""

    x: str
    """Regular expression: its group is the number, the rest of the name is the series."""
    xlabel: str
    """Label of the horizontal axis."""
    ylabel: str
    """Label of the vertical axis."""
    columns: tuple[str, ...] = ()
    """Columns to draw; empty for all."""
    xscale: str = "linear"
    """Scale of the horizontal axis, by matplotlib's name; `yscale` likewise."""
    yscale: str = "linear"
    across: bool = False
    """Whether the number is in the columns' names, so that each row is a series."""

    def __call__(self, table: Table) -> Axes:
        """Draw a table: ours as lines with intervals, the paper's numbers as diamonds."""
        ax = axes(None)
        series = self.series(table)
        if not series:
            raise InputError(f"{table.name} has no number to draw: make it again")
        for place, (name, points) in enumerate(series.items()):
            _draw_line(ax, name, points, place)
        ax.set(xscale=self.xscale, yscale=self.yscale)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.xscale == "log":
            # Ticks at the points themselves: powers of ten are too far apart.
            values = sorted({x for points in series.values() for x, _ in points})
            ax.set_xticks(values, [f"{x:,g}" for x in values])
            ax.minorticks_off()
        if len(series) <= len(SERIES):
            legend(ax, loc="best")
            return ax
        # With more lines than colours the legend would hide the plot: put it at the side.
        legend(ax, loc="center left", bbox_to_anchor=(1.02, 0.5))
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.set_size_inches(BESIDE)
        return ax

    def series(self, table: Table) -> dict[str, list[tuple[float, Cell]]]:
        """Return name to the points, as (number, cell), of each series."""
        found: dict[str, list[tuple[float, Cell]]] = {}
        for row in table.rows:
            for column, cell in row.cells.items():
                if self.columns and column not in self.columns:
                    continue
                where, other = (column, row.label) if self.across else (row.label, column)
                match = re.search(self.x, where)
                if match is None or not isinstance(cell.ours, Estimate):
                    continue
                # The name without the match, and the other of row and column, name the series.
                rest = (where[: match.start()] + where[match.end() :]).strip(" ,:")
                name = ", ".join(part for part in (rest, other) if part)
                found.setdefault(name, []).append((float(match[1].replace(",", "")), cell))
        return found


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


def _draw_line(ax: Axes, name: str, points: Sequence[tuple[float, Cell]], place: int) -> None:
    color = SERIES[place % len(SERIES)]
    x = np.array([at for at, _ in points])
    ours = [cell.ours for _, cell in points if isinstance(cell.ours, Estimate)]
    # errorbar takes distances below and above, (2, n).
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
"""Name to the lines of a reproduction; the others draw themselves, or dots with intervals."""


def figure_svg(known: Reproduction, table: Table) -> str:
    """Return a table's figure as SVG text, byte for byte the same at every call.

    Raises
    ------
    InputError
        If no cell of the table was measured.
    """
    draw = known.draw or DRAWINGS.get(known.name) or draw_dots
    return svg_text(lambda: draw(table), transparent=False)
