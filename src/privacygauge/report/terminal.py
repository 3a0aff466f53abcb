"""Rich renderables for findings in a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.report.numbers import plain
from privacygauge.report.values import Verdict

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.console import RenderableType as RenderableType

_LEGIBLE = 12
"""Smallest width of a column of words, in characters; a table that cannot give it is too wide."""


def opening(found: Verdict, colour: str, warnings: Sequence[str]) -> list[RenderableType]:
    """Return the opening lines: the verdict, its first sentence, and the warnings."""
    parts = [
        unmarked_text(found.headline, f"bold {colour}"),
        unmarked_text(found.sentences[0]),
        unmarked_text(""),
    ]
    parts += [unmarked_text(f"! {plain(warning)}", "yellow") for warning in warnings]
    return [*parts, unmarked_text("")] if warnings else parts


def stack_renderables(*parts: RenderableType) -> RenderableType:
    """Stack renderables vertically."""
    from rich.console import Group

    return Group(*parts)


def unmarked_text(line: str, style: str = "") -> RenderableType:
    """Return a text in which nothing is read as markup."""
    from rich.text import Text

    return Text(line, style=style)


def figures(rows: Sequence[tuple[str, str]]) -> RenderableType:
    """Return a grid of names and numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


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


def terminal_table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    prose: Collection[int],
    best: Collection[int] = (),
) -> RenderableType:
    """Return a table; `prose` are indices of columns that may wrap, `best` of rows in bold."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, title in enumerate(titles):
        cells = (title, *(row[place] for row in rows))
        width = max(cell_len(line) for cell in cells for line in _lines(cell))
        # Words may wrap; numbers keep their width, so that columns stay aligned.
        if place in prose:
            table.add_column(title, overflow="fold", min_width=min(width, _LEGIBLE))
        else:
            table.add_column(title, justify="right", no_wrap=True, min_width=width)
    for place, row in enumerate(rows):
        lines = ("\n".join(_lines(cell)) for cell in row)
        table.add_row(*map(Text, lines), style="bold" if place in best else "")
    return table


def _lines(cell: str) -> list[str]:
    return [plain(line) for line in cell.split("\n")]
