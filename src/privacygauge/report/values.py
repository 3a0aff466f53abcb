"""A report as a value, before it is rendered as a page, a table, a file or a limit.

Every kind of audit returns a `Report`. One renderer for each form (page, terminal, summary, JSON,
files, gate, line of a register) reads it, independent of the kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.report.numbers import Shown

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas as pd

Json: TypeAlias = "str | bool | int | float | list[Json] | Mapping[str, Json] | None"
"""A value of a JSON document; floats must be finite."""


class Severity(StrEnum):
    """Severity of a grade, on one scale for all kinds of audit, from mild to grave.

    An audit that cannot tell ranks above a leak known to be moderate.
    """

    UNJUDGED = "not judged"
    NOTHING = "nothing found"
    SMALL = "small"
    MODERATE = "moderate"
    UNTOLD = "cannot be told"
    GRAVE = "grave"


Axes: TypeAlias = "matplotlib.axes.Axes"
"""Stand-in for matplotlib's type, so that matplotlib is not imported before something is drawn."""


@dataclass(frozen=True)
class Grade:
    """A grade on the scale of a kind of audit."""

    word: str
    """The grade as reports print it."""
    severity: Severity
    """Severity, which decides colour, place in a register and gate."""


@dataclass(frozen=True)
class Gauge:
    """The number behind a verdict on the scale of its grades: the picture of the first screen."""

    label: str
    """Name of the number, as the gauge prints it."""
    shown: Shown
    """The number."""
    low: float
    """Lower end of its interval; the number itself without one."""
    value: float
    """The number as a float."""
    high: float
    """Upper end of its interval."""
    limits: tuple[float, ...]
    """Start of the scale, starts of the further grades, and end of the scale; ascending."""
    ticks: tuple[str, ...]
    """The limits between grades in words."""
    rule: str
    """The rule behind the grade, and the origin of its limits."""
    zones: tuple[str, ...] = ()
    """Names of the zones between the limits, where they are not the grades."""
    marks: tuple[float, ...] = ()
    """Single records on the scale, a hundred at most."""

    def at(self, value: float) -> float:
        """Return the position of a number, in [0, 100]; all grades are equally wide.

        Examples
        --------
        >>> gauge = Gauge("x", Shown("60%"), 0.5, 0.6, 0.7, (0.4, 0.5, 1.0), ("50%",), "")
        >>> gauge.at(0.45), gauge.at(0.5), gauge.at(2.0)
        (25.0, 50.0, 100.0)
        """
        last = len(self.limits) - 1
        if value >= self.limits[last]:
            return 100.0
        place = sum(limit <= value for limit in self.limits[1:])
        start = self.limits[place]
        end = self.limits[place + 1]
        within = max(0.0, (value - start) / (end - start))
        return round(100 * (place + within) / last, 2)


def gauge_limits(limit: float, *found: float) -> tuple[float, float, float]:
    """Return the limits of a two-zone gauge that covers finite numbers, none at its end.

    Parameters
    ----------
    limit : float
        Between the zones, at least 0.
    *found : float
        What is to be seen; infinite ones stand at the end.

    Examples
    --------
    >>> gauge_limits(1.0, math.inf), gauge_limits(1.0, 8.0, math.inf), gauge_limits(0.0, 0.5)
    ((0.0, 1.0, 2.0), (0.0, 1.0, 10.0), (-1.0, 0.0, 1.0))
    """
    seen = (1.25 * x for x in found if math.isfinite(x))
    return (0.0 if limit else -1.0, limit, max((2 * limit or 1.0, *seen)))


@dataclass(frozen=True)
class Verdict:
    """The meaning of an audit for somebody who decides about a release."""

    grade: Grade
    """The grade of the release."""
    scale: tuple[Grade, ...]
    """All grades that this audit could have given, from mild to grave."""
    headline: str
    """The verdict in one line."""
    sentences: tuple[str, ...]
    """Further sentences, the most important first."""
    unsaid: str
    """The limits of the result; shown after the sentences."""
    advice: tuple[str, ...]
    """Advice, the most urgent first."""
    gauge: Gauge | None = None
    """The number behind the grade on the scale; None where the audit cannot tell."""

    def __post_init__(self) -> None:
        if self.grade not in self.scale:
            raise InputError(f"the scale must hold the grade {self.grade.word!r}")
        if self.gauge is not None:
            parts = self.gauge.zones or self.scale
            if len(self.gauge.limits) != len(parts) + 1:
                raise InputError(f"a scale of {len(parts)} parts needs one limit more")


@dataclass(frozen=True)
class Measure:
    """A number with its interval: a card, a line of a summary, a metric, a key of the JSON."""

    name: str
    """Name in ``--fail-above``, in the JSON and in a register."""
    label: str
    """Label in plain words."""
    found: Estimate | float | Skipped
    """The number. A one-sided bound has its value at the bound."""
    shown: Shown
    """The number as text."""
    note: str = ""
    """A few words printed beside the number everywhere."""
    text: str = ""
    """Meaning of the number, in a sentence or two."""
    guessing: str = ""
    """Value under guessing, or without a release."""
    gate: bool = True
    """Whether limits apply to it."""
    looks: int = 1
    """Number of comparisons, each at its level, among which this one was chosen."""
    level: float | None = None
    """Confidence level of a number without an interval, in (0, 1)."""
    doubtful: bool = False
    """Whether there are too few records to tell."""
    card: bool = True
    """Whether it is shown by itself, and not only within a table."""

    @cached_property
    def numbers(self) -> Mapping[str, float | None]:
        """The numbers that limits apply to, by name; None if not computed."""
        if isinstance(self.found, Skipped):
            return {self.name: None}
        if isinstance(self.found, Estimate):
            # No limit can be checked by a lower end that is not known.
            low = None if self.found.low == -math.inf else self.found.low
            return {self.name: self.found.value, f"{self.name}.low": low}
        return {self.name: self.found}


class Tone(StrEnum):
    """Emphasis of a text or of a row of a table."""

    PLAIN = "plain"
    NOTE = "note"
    """A remark on the block above."""
    CAUTION = "caution"
    """A warning in a box."""
    BEST = "best"
    """The row that matters most."""
    FAINT = "faint"
    """A row that does not count."""


@dataclass(frozen=True)
class Heading:
    """A smaller head within a section."""

    title: str
    """Text of the heading."""


@dataclass(frozen=True)
class Text:
    """A block of paragraphs."""

    paragraphs: tuple[str, ...]
    """Paragraphs, one text each."""
    tone: Tone = Tone.PLAIN
    """Plain, a note or a caution."""


@dataclass(frozen=True)
class Items:
    """A block with a list."""

    lines: tuple[str, ...]
    """Items, one text each."""
    numbered: bool = False
    """Whether their order matters."""


@dataclass(frozen=True)
class Pairs:
    """A block of names and their values."""

    rows: tuple[tuple[str, str | Shown | Cell], ...]
    """Name, and value or words."""


@dataclass(frozen=True)
class Whisker:
    """An interval drawn on a line: positions from 0 to 100."""

    low: float
    """Left end."""
    value: float
    """The mark."""
    high: float
    """Right end."""
    chance: float
    """Position of guessing."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table with more than a number or a word in it."""

    shown: str | Shown
    """Content of the cell."""
    below: tuple[str, ...] = ()
    """Small lines below."""
    tags: tuple[str, ...] = ()
    """Short labels beside."""
    doubtful: bool = False
    """Whether there are too few records to tell: marked by a dagger."""


Content: TypeAlias = str | Shown | Cell | Whisker
"""Content of a cell."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    """Its head."""
    prose: bool = False
    """Whether it holds words, which wrap, and not numbers."""
    group: str = ""
    """A head above its own; neighbours with the same group share one."""
    aside: bool = False
    """Whether the column is for comparison only."""
    needed: bool = True
    """Whether a narrow terminal shows the column."""


@dataclass(frozen=True)
class Row:
    """A row with emphasis."""

    cells: tuple[Content, ...]
    """Cells, one per column."""
    tone: Tone = Tone.PLAIN
    """Best or faint."""


@dataclass(frozen=True)
class Table:
    """Rows below heads; the first column names the row."""

    name: str
    """Part of the id on the page."""
    title: str
    """Title of the table."""
    columns: tuple[Column, ...]
    """The heads."""
    rows: tuple[tuple[Content, ...] | Row, ...]
    """One cell per column. A row of a single cell is a heading for the rows that follow."""
    note: str = ""
    """How to read it."""
    at_once: int | None = None
    """Number of rows that are shown, the others behind a fold; default: all."""

    def __post_init__(self) -> None:
        for row in self.full:
            if len(row.cells) not in (1, len(self.columns)):
                raise InputError(f"table {self.name}: {len(self.columns)} cells a row, got {row}")

    @property
    def full(self) -> tuple[Row, ...]:
        """All rows, each with its tone."""
        return tuple(row if isinstance(row, Row) else Row(row) for row in self.rows)

    @property
    def drawn(self) -> frozenset[int]:
        """The columns whose cells are drawn."""
        found = (enumerate(row.cells) for row in self.full)
        return frozenset(i for row in found for i, cell in row if isinstance(cell, Whisker))

    @property
    def groups(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Neighbouring columns by the head that they share; empty where no column has one."""
        if not any(column.group for column in self.columns):
            return ()
        runs = groupby(range(len(self.columns)), lambda i: self.columns[i].group)
        return tuple((group, tuple(columns)) for group, columns in runs)


@dataclass(frozen=True)
class Plot:
    """A plot, drawn when a page is rendered, with a description in words."""

    name: str
    """Part of the ids on the page."""
    title: str
    """Title of the plot."""
    caption: str
    """How to read it."""
    words: str
    """Description of the plot, for readers who cannot see it."""
    draw: Callable[[], Axes]
    """Returns the axes."""
    wide: bool = True
    """Whether it takes the page's whole width; narrower neighbours stand side by side."""


@dataclass(frozen=True)
class FoldedBlocks:
    """Blocks behind a line that opens them."""

    title: str
    """The line."""
    blocks: tuple[Block, ...]
    """The folded blocks."""
    open: bool = False
    """Whether they are shown at first."""


Block: TypeAlias = "Heading | Text | Items | Pairs | Table | Plot | FoldedBlocks"
"""A part of a section."""


@dataclass(frozen=True)
class Section:
    """A part of the page under a head of its own."""

    name: str
    """Anchor of the section."""
    title: str
    """Its head."""
    blocks: tuple[Block, ...]
    """Blocks from top to bottom."""
    short: str = ""
    """Title in the table of contents; default: the title."""


@dataclass(frozen=True)
class About:
    """The audit's subject, in the words of a register."""

    audited: str
    """The audited release."""
    game: str
    """The game, in a sentence for readers who are not specialists."""
    knowledge: str
    """The attacker's access and knowledge."""
    task: str
    """The attacker's task, as a model card names it."""


@dataclass(frozen=True)
class Worst:
    """The most exposed records, by id, never by content."""

    what: str = "records"
    """Kind of the ids, as a plural noun."""
    ids: tuple[str, ...] = ()
    """The worst first."""
    reason: str = ""
    """Reason if there are none."""


@dataclass(frozen=True)
class Origin:
    """Origin of a report, the same for all kinds."""

    command: str
    """The command or call that made it."""
    version: str
    """PrivacyGauge's version."""
    seed: int
    """Seed of all random draws."""
    level: float
    """Level of every interval, in (0, 1)."""
    made: str
    """The date, as ``2026-01-31``."""
    skipped: tuple[Skipped, ...] = ()
    """Parts of the audit that were skipped, with reasons."""
    warnings: tuple[str, ...] = ()
    """Warnings about the result."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Versions, hashes of the inputs, platform."""


@dataclass(frozen=True)
class CheckedLimit:
    """A limit with the result of its check."""

    metric: str
    """Name of the measure, with ``.low`` for the lower end of its interval."""
    limit: float
    """The largest value that passes."""
    found: float | None
    """The number found; None if it was not computed."""
    kept: bool
    """Whether the release passes; False where the audit cannot tell."""


@dataclass(frozen=True)
class Report:
    """The full report of an audit, as plain values."""

    kind: str
    """Kind of audit, such as ``privacy-claim``."""
    title: str
    """Name of the kind, as the page prints it."""
    about: About
    """The audit's subject."""
    intro: str
    """Sentences above the numbers."""
    origin: Origin
    """Where it comes from."""
    verdict: Verdict
    """The verdict."""
    measures: tuple[Measure, ...]
    """Its numbers. The first that limits apply to represents the audit in a register."""
    sections: tuple[Section, ...]
    """Sections of the page, below the numbers."""
    terms: Mapping[str, str]
    """Glossary of the page."""
    worst: Worst
    """The most exposed records."""
    data: Mapping[str, Json]
    """Further keys of ``report.json``, specific to this kind."""
    frames: Mapping[str, Callable[[], pd.DataFrame]]
    """Tables written beside the page, by file name: ``.parquet`` or ``.csv``."""
    nothing_left_out: str = "Nothing: everything was done."
    """Text of the page where nothing was skipped."""
    overview: tuple[Table, ...] = ()
    """The few tables that a terminal and a summary print below the numbers."""
    sources: str = ""
    """The papers behind the audit, printed last on the page."""
    name: str = ""
    """The owner's name of the release."""
    note: str = ""
    """The owner's remark."""
    held: tuple[CheckedLimit, ...] = ()
    """The checked limits."""

    @cached_property
    def numbers(self) -> dict[str, float | None]:
        """All measures by name, with their lower limits."""
        return {name: x for measure in self.measures for name, x in measure.numbers.items()}

    @property
    def cards(self) -> tuple[Measure, ...]:
        """The measures with a card."""
        return tuple(measure for measure in self.measures if measure.card)

    @property
    def main(self) -> Measure:
        """The measure that represents the audit in a register."""
        return next(measure for measure in self.measures if measure.gate)
