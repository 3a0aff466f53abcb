"""Renderers of a report, independent of its kind: page, terminal, plain text, JSON, files."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate
from privacygauge.report.axes import inline_plot
from privacygauge.report.numbers import Shown, count, plain
from privacygauge.report.values import (
    Cell,
    Column,
    Content,
    Json,
    Plot,
    Report,
    Section,
    Severity,
    Table,
    Tone,
    Whisker,
    columns,
    finite,
    pick_values,
    values_of,
)
from privacygauge.runs.results import check_writable, folder_path, require_free, write_results

if TYPE_CHECKING:
    from jinja2 import Environment
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.console import RenderableType as RenderableType


SCHEMA = "privacygauge/2"
"""Version of ``report.json``; the number changes if a key is removed or changed."""

COLOURS = {
    Severity.UNJUDGED: "default",
    Severity.NOTHING: "green",
    Severity.SMALL: "yellow",
    Severity.MODERATE: "dark_orange",
    Severity.UNTOLD: "yellow",
    Severity.GRAVE: "red",
}
"""Terminal colours of severities."""

_PAGE_COLOURS = dict(zip(Severity, (0, 0, 1, 2, 1, 3), strict=True))

_NOTEBOOK_COLOURS = ("#5f7f9f", "#a8830f", "#cf6420", "#d3453b")
"""Colours of grades that are seen on light and on dark pages, since a notebook may be either."""


NO_FINDING = (
    "The verdict is that nothing can be told: none of these numbers is a finding about what is "
    "released."
)
"""Sentence above the numbers of an audit that supports no decision."""


def page(report: Report) -> str:
    """Return the report as one self-contained HTML page.

    Everything from the user's data is escaped, and control characters are replaced. The page loads
    nothing from outside and runs no script.
    """
    template = _environment().get_template("page.html.j2")
    # Measures without a card, so that the page has all numbers of the JSON.
    further = Table(
        "further-numbers",
        "Further numbers",
        columns=columns("Name", Column("What it is", prose=True), "Number"),
        rows=tuple(
            (x.name, x.label, Cell(x.shown, doubtful=x.doubtful))
            for x in report.measures
            if not x.card
        ),
        note="By the names that --fail-above, policies and report.json use.",
    )
    limits = Table(
        "limits",
        "Limits",
        columns=columns("Metric", "At most", "Found"),
        rows=tuple(
            (
                Cell(x.metric, tags=() if x.kept else ("not kept",)),
                f"{x.limit:g}",
                "not computed" if x.found is None else f"{x.found:.4g}",
            )
            for x in report.held
        ),
        note="As --fail-above or a policy set them.",
    )
    picture, sections = _picture_first(report.sections)
    return template.render(
        r=report,
        f=report.origin,
        picture=picture,
        sections=sections,
        verdict=report.verdict,
        grades=[grade.word for grade in report.verdict.scale],
        severity=report.verdict.scale.index(report.verdict.grade),
        colour=_PAGE_COLOURS[report.verdict.grade.severity],
        caution=NO_FINDING if report.verdict.grade.severity is Severity.UNTOLD else "",
        limits=limits,
        cards=report.cards,
        further=further,
    )


def notebook_summary(report: Report) -> str:
    """Return the verdict and three numbers as HTML for a notebook, with styles of its own alone."""
    main = report.main
    return (
        _environment()
        .get_template("notebook.html.j2")
        .render(
            r=report,
            cards=[main, *(card for card in report.cards if card is not main)][:3],
            left_out=len(report.origin.warnings) + len(report.origin.skipped),
            colour=_NOTEBOOK_COLOURS[_PAGE_COLOURS[report.verdict.grade.severity]],
            caution=NO_FINDING if report.verdict.grade.severity is Severity.UNTOLD else "",
        )
    )


@dataclass(frozen=True)
class NotebookPage:
    """A page that a notebook shows in a frame, apart from the notebook's own styles."""

    text: str = field(repr=False)
    """The page."""

    def _repr_html_(self) -> str:
        return (
            '<iframe title="Report of an audit" sandbox="" srcdoc="'
            f'{escape(self.text)}" style="width:100%;height:40rem;border:1px solid #888"></iframe>'
        )


def _picture_first(sections: Sequence[Section]) -> tuple[Plot | None, list[Section]]:
    """Return the first plot of some sections, and the sections without it."""
    for i, section in enumerate(sections):
        for k, block in enumerate(section.blocks):
            if isinstance(block, Plot):
                left = replace(section, blocks=section.blocks[:k] + section.blocks[k + 1 :])
                # A wide plot has its description beside it, which here would be one more text.
                picture = replace(block, wide=False)
                return picture, [
                    *sections[:i],
                    *([left] if left.blocks else ()),
                    *sections[i + 1 :],
                ]
    return None, [*sections]


@cache
def _environment() -> Environment:
    """Return the Jinja environment; it escapes everything, and a missing name is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("privacygauge.report"),
        autoescape=True,
        undefined=StrictUndefined,
        # Markup is already escaped; any other text may come from the user's data.
        finalize=lambda x: plain(x) if isinstance(x, str) and not hasattr(x, "__html__") else x,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["count"] = count
    found.filters["drawn"] = inline_plot
    found.filters["shortened"] = partial(textwrap.shorten, placeholder=" ...")
    return found


def summary(report: Report) -> str:
    """Return the verdict and the numbers as plain text."""
    found = report.verdict
    origin = report.origin
    rows = list(_lines(report))
    for table in report.overview:
        for row in table.full:
            # Other rows, such as headings across the table, hold no numbers.
            if len(row.cells) != len(table.columns):
                continue
            pairs = zip(table.columns[1:], row.cells[1:], strict=True)
            # Drawn cells have no form in text.
            kept = [pair for i, pair in enumerate(pairs, 1) if i not in table.drawn]
            said = "; ".join(f"{column.title} {flat(cell)}".strip() for column, cell in kept)
            rows.append((plain(flat(row.cells[0])), plain(said)))
    width = max(len(name) for name, _ in rows)
    lines = [found.headline, "", found.sentences[0], ""]
    lines += [f"Warning: {plain(warning)}" for warning in origin.warnings]
    if found.grade.severity is Severity.UNTOLD:
        lines.append(NO_FINDING)
    lines += [f"{name:{width}}  {value}" for name, value in rows]
    lines += [f"Not done: {plain(s.name)}: {plain(s.reason)}" for s in origin.skipped]
    return "\n".join(lines) + "\n"


def terminal(report: Report) -> RenderableType:
    """Return the verdict and the numbers as a rich renderable that fits 80 columns.

    Nothing in it is read as markup, so that names from the user's data cannot style or forge lines.
    """
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    figures = Grid.grid(padding=(0, 2, 0, 0))
    figures.add_column(overflow="fold")
    figures.add_column(overflow="fold")
    for name, value in _lines(report):
        figures.add_row(Text(name), Text(value))
    tables: list[RenderableType] = []
    for table in report.overview:
        # Drawn cells have no form in a terminal.
        shown = [i for i in range(len(table.columns)) if i not in table.drawn]
        needed = [i for i in shown if table.columns[i].needed]
        # The first form that fits: all columns; the needed columns, with intervals below their
        # numbers; the needed columns without intervals.
        narrow = Fitting(
            terminal_table(table, needed, between="\n"), terminal_table(table, needed, between=None)
        )
        tables.append(Fitting(terminal_table(table, shown, between=" "), narrow))
        if table.note:
            tables.append(unmarked_text(table.note))
    found = report.verdict
    origin = report.origin
    warnings = [unmarked_text(f"! {plain(x)}", "yellow") for x in origin.warnings]
    untold = found.grade.severity is Severity.UNTOLD
    return Group(
        unmarked_text(found.headline, f"bold {COLOURS[found.grade.severity]}"),
        unmarked_text(found.sentences[0]),
        unmarked_text(""),
        *([*warnings, unmarked_text("")] if warnings else ()),
        *([unmarked_text(NO_FINDING)] if untold else ()),
        figures,
        *tables,
        *(unmarked_text(f"Not done: {plain(s.name)}: {plain(s.reason)}") for s in origin.skipped),
    )


def flat(cell: Content, between: str | None = " ") -> str:
    """Return a cell as text, with `between` before an interval; None leaves the interval out."""
    if isinstance(cell, Whisker):
        return ""
    if isinstance(cell, Cell):
        mark = "\N{DAGGER}" if cell.doubtful else ""
        below = f" ({'; '.join(cell.below)})" if cell.below else ""
        return flat(cell.shown, between) + mark + below
    if isinstance(cell, Shown) and cell.interval and between is not None:
        # An interval on a line of its own needs no brackets.
        inside = cell.interval if between == "\n" else f"({cell.interval})"
        return f"{cell.value}{between}{inside}"
    if isinstance(cell, Shown):
        return cell.value
    return str(cell)


def _lines(report: Report) -> list[tuple[str, str]]:
    rows = []
    for x in report.cards:
        value = x.shown.value + ("\N{DAGGER}" if x.doubtful else "")
        inside = "; ".join(part for part in (x.shown.interval, x.note) if part)
        rows.append((plain(x.label), plain(f"{value} ({inside})" if inside else value)))
    return rows


def document(report: Report) -> dict[str, Json]:
    """Return the report as JSON values: keys of schema ``privacygauge/2``, then of its kind.

    An estimate is a dict of value, low, high, level, n and method; a skipped number is
    ``{"skipped": reason}``; infinity is None. Scores of single records are not included.
    """
    origin = report.origin
    verdict = report.verdict
    numbers: list[Json] = []
    for measure in report.measures:
        found = measure.found
        # Stated at the level of its interval, and at most at that of the report.
        level = min(origin.level, found.level) if isinstance(found, Estimate) else measure.level
        numbers.append(
            {
                **pick_values(measure, "name", "label", "note", "guessing"),
                **pick_values(measure, "gate", "doubtful", "looks"),
                "value": finite(measure.numbers[measure.name]),
                "shown": pick_values(measure.shown, "value", "interval"),
                "level": level,
                "estimate": None if isinstance(found, float) else values_of(found),
            }
        )
    return {
        "schema": SCHEMA,
        **pick_values(report, "kind", "title", "name", "note"),
        **pick_values(origin, "made", "command", "version", "seed", "level", "warnings"),
        "about": values_of(report.about),
        "verdict": {
            "grade": verdict.grade.word,
            "severity": verdict.grade.severity.value,
            **pick_values(verdict, "headline", "sentences", "unsaid", "advice"),
        },
        "measures": {name: finite(x) for name, x in report.numbers.items()},
        "numbers": numbers,
        "limits": values_of(report.held),
        "worst": values_of(report.worst),
        "skipped": [{"name": s.name, "reason": s.reason} for s in origin.skipped],
        "provenance": dict(sorted(origin.provenance.items())),
        **report.data,
    }


def as_json(report: Report) -> str:
    """Return `document` as strict JSON in ASCII; equal reports give equal text."""
    return json.dumps(document(report), allow_nan=False, indent=2) + "\n"


def files(report: Report, stem: str = "report") -> Mapping[str, bytes]:
    """Return the content of each file by name; `stem` names the page and the JSON."""
    found = {
        f"{stem}.html": page(report).encode("utf-8", "replace"),
        f"{stem}.json": as_json(report).encode("ascii"),
    }
    # Frames are made only now, since pandas takes long to import.
    for name, make in report.frames.items():
        frame = make()
        if name.endswith(".parquet"):
            file = io.BytesIO()
            frame.to_parquet(file, engine="pyarrow", index=False)
            found[name] = file.getvalue()
        else:
            found[name] = frame.to_csv(index=False, lineterminator="\n").encode("utf-8")
    return found


def write(report: Report, directory: str | Path, stem: str = "report") -> list[Path]:
    """Write all files, each completely or not at all, and return their paths.

    Raises
    ------
    InputError
        If `directory` is not a path.
    OutputError
        Before anything is rendered, if no file can be created there, or a file that PrivacyGauge
        did not write would be replaced; later, if the disk is full.
    """
    place = folder_path(directory)
    require_free(place, (f"{stem}.html", f"{stem}.json", *report.frames))
    check_writable(place)
    return write_results(place, files(report, stem))


_LEGIBLE = 12
"""Smallest width of a column of words, in characters; a table that cannot give it is too wide."""


def unmarked_text(line: str, style: str = "") -> RenderableType:
    """Return a text in which nothing is read as markup."""
    from rich.text import Text

    return Text(line, style=style)


@dataclass(frozen=True)
class Fitting:
    """A renderable with a narrow form for terminals that are too narrow for its wide form."""

    wide: RenderableType
    """Form for wide terminals."""
    narrow: RenderableType
    """Form for narrow terminals."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement

        # Measured with unlimited width, or rich would shrink the table to the terminal first.
        least = Measurement.get(console, options.update(width=10_000), self.wide).minimum
        yield self.wide if least <= options.max_width else self.narrow


def terminal_table(table: Table, columns: Sequence[int], *, between: str | None) -> RenderableType:
    """Return some columns of a table, by index, for a terminal; `between` as in `flat`."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table as Grid
    from rich.text import Text

    # Other rows, such as headings across the table, hold no numbers.
    full = [row for row in table.full if len(row.cells) == len(table.columns)]
    # Without control characters, line by line: an interval stands on a line of its own.
    rows = [
        ["\n".join(map(plain, flat(row.cells[i], between).split("\n"))) for i in columns]
        for row in full
    ]
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, i in enumerate(columns):
        title = table.columns[i].title
        head = map(plain, title.split("\n"))
        lines = [*head, *(line for row in rows for line in row[place].split("\n"))]
        width = max(map(cell_len, lines))
        # Words may wrap; numbers keep their width, so that columns stay aligned.
        if i == 0 or table.columns[i].prose:
            grid.add_column(title, overflow="fold", min_width=min(width, _LEGIBLE))
        else:
            grid.add_column(title, justify="right", no_wrap=True, min_width=width)
    for row, cells_of_row in zip(full, rows, strict=True):
        grid.add_row(*map(Text, cells_of_row), style="bold" if row.tone is Tone.BEST else "")
    return grid
