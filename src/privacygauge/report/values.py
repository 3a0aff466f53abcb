"""A report as a value, before it is rendered.

Every kind of audit returns a `Report`. One renderer per form (page, terminal, summary, JSON, files,
gate, register line) reads it, whatever the kind.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cached_property
from itertools import count, groupby
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.report.numbers import Shown

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas
    import pandas as pd


Json: TypeAlias = "str | bool | int | float | list[Json] | Mapping[str, Json] | None"
"""A value of a JSON document; floats must be finite."""


class Severity(StrEnum):
    """Severity of a grade, on one scale for all kinds of audits, from mild to grave.

    An inconclusive audit ranks above a leak known to be moderate.
    """

    UNJUDGED = "not judged"
    NOTHING = "nothing found"
    SMALL = "small"
    MODERATE = "moderate"
    UNTOLD = "cannot be told"
    GRAVE = "grave"


Axes: TypeAlias = "matplotlib.axes.Axes"
"""Stand-in for matplotlib's type, so that matplotlib is imported only when something is drawn."""


@dataclass(frozen=True)
class Grade:
    """A grade on the scale of one kind of audit."""

    word: str
    """The grade as reports print it."""
    severity: Severity
    """Severity, which determines the colour, the place in a register and the gate."""


@dataclass(frozen=True)
class Gauge:
    """The number behind a verdict, drawn on the scale of grades at the top of the page."""

    label: str
    """Name of the number, as the gauge prints it."""
    shown: Shown
    """The number as text."""
    low: float
    """Lower limit of its interval; the number itself without an interval."""
    value: float
    """The number as a float."""
    high: float
    """Upper limit of its interval; the number itself without an interval."""
    limits: tuple[float, ...]
    """Start of the scale, limits between grades, end of the scale; ascending."""
    ticks: tuple[str, ...]
    """Labels of the limits between grades."""
    rule: str
    """Rule behind the grade, and the origin of its limits."""
    zones: tuple[str, ...] = ()
    """Names of the zones between the limits; default: the grades."""
    marks: tuple[float, ...] = ()
    """Values of single records on the scale, at most a hundred."""

    def at(self, value: float) -> float:
        """Return the position of a number on the gauge, in [0, 100], in true proportions.

        Examples
        --------
        >>> gauge = Gauge("x", Shown("60%"), 0.5, 0.6, 0.7, (0.4, 0.5, 1.0), ("50%",), "")
        >>> gauge.at(0.4), gauge.at(0.5), gauge.at(0.7), gauge.at(2.0)
        (0.0, 16.67, 50.0, 100.0)
        """
        start = self.limits[0]
        end = self.limits[-1]
        # Infinite values are at the ends.
        return round(100 * min(1.0, max(0.0, (value - start) / (end - start))), 2)

    @property
    def ticks_apart(self) -> tuple[tuple[float, str], ...]:
        """Positions and labels of the limits between grades, but for those that would overlap."""
        shown: list[tuple[float, str]] = []
        for limit, tick in zip(self.limits[1:-1], self.ticks, strict=True):
            place = self.at(limit)
            if not shown or place - shown[-1][0] >= 2.2 * len(tick):
                shown.append((place, tick))
        return tuple(shown)


def gauge_limits(limit: float, *found: float) -> tuple[float, float, float]:
    """Return the limits of a two-zone gauge with room beyond all finite numbers.

    Parameters
    ----------
    limit : float
        Limit between the zones, at least 0.
    *found : float
        Numbers to show; infinite ones are drawn at the end.

    Examples
    --------
    >>> gauge_limits(1.0, math.inf), gauge_limits(1.0, 8.0, math.inf), gauge_limits(0.0, 0.5)
    ((0.0, 1.0, 2.0), (0.0, 1.0, 10.0), (-1.0, 0.0, 1.0))
    """
    # A quarter more than the largest, so that it is not drawn at the very end.
    seen = (1.25 * x for x in found if math.isfinite(x))
    return (0.0 if limit else -1.0, limit, max((2 * limit or 1.0, *seen)))


@dataclass(frozen=True)
class Verdict:
    """Meaning of an audit for readers who decide about a release."""

    grade: Grade
    """Grade of the release."""
    scale: tuple[Grade, ...] = field(repr=False)
    """All grades that this audit could have given, from mild to grave."""
    headline: str
    """Verdict in one line."""
    sentences: tuple[str, ...] = field(repr=False)
    """Further sentences, the most important first."""
    unsaid: str = field(repr=False)
    """Limits of the result, shown after the sentences."""
    advice: tuple[str, ...] = field(repr=False)
    """Advice, the most urgent first."""
    gauge: Gauge | None = field(default=None, repr=False)
    """Number behind the grade on the scale; None if the audit is inconclusive."""

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
    """The number; the value of a one-sided bound is the bound."""
    shown: Shown
    """The number as text."""
    note: str = ""
    """Short remark, printed with the number everywhere."""
    text: str = ""
    """Meaning of the number, in a sentence or two."""
    guessing: str = ""
    """Value under guessing, or without a release, as text."""
    gate: bool = True
    """Whether limits apply to the number."""
    looks: int = 1
    """Number of comparisons, each at its level, from which this one was chosen; at least 1."""
    level: float | None = None
    """Confidence level of a number without an interval, in (0, 1)."""
    doubtful: bool = False
    """Whether there are too few records for this number."""
    card: bool = True
    """Whether the number has a card of its own, not only a line of a table."""

    @cached_property
    def numbers(self) -> Mapping[str, float | None]:
        """Numbers to which limits may apply, by name; None if not computed."""
        if isinstance(self.found, Skipped):
            return {self.name: None}
        if isinstance(self.found, Estimate):
            # An infinite lower limit is unknown: no limit can be checked with it.
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
    """A heading within a section."""

    title: str
    """Text of the heading."""


@dataclass(frozen=True)
class Text:
    """A block of paragraphs."""

    paragraphs: tuple[str, ...]
    """Paragraphs, one text each."""
    tone: Tone = Tone.PLAIN
    """``PLAIN``, ``NOTE`` or ``CAUTION``."""


@dataclass(frozen=True)
class Items:
    """A block with a list."""

    lines: tuple[str, ...]
    """Items of the list, one text each."""
    numbered: bool = False
    """Whether their order matters."""


@dataclass(frozen=True)
class Pairs:
    """A block of names and their values."""

    rows: tuple[tuple[str, str | Shown | Cell], ...]
    """Pairs of a name and its value."""


@dataclass(frozen=True)
class Whisker:
    """An interval drawn on a line: positions from 0 to 100."""

    low: float
    """Position of the lower limit."""
    value: float
    """Position of the value."""
    high: float
    """Position of the upper limit."""
    chance: float
    """Position of guessing."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table with additions to its content."""

    shown: str | Shown
    """Content of the cell."""
    below: tuple[str, ...] = ()
    """Small lines below the content."""
    tags: tuple[str, ...] = ()
    """Short labels beside the content."""
    doubtful: bool = False
    """Whether there are too few records for this number, marked by a dagger."""


Content: TypeAlias = str | Shown | Cell | Whisker
"""Content of a cell."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    """Head of the column."""
    prose: bool = False
    """Whether the column holds words, which may wrap, rather than numbers."""
    group: str = ""
    """Second head above; neighbours with the same group share it."""
    aside: bool = False
    """Whether the column is for comparison only."""
    needed: bool = True
    """Whether a narrow terminal shows the column."""


@dataclass(frozen=True)
class Row:
    """A row of a table with its emphasis."""

    cells: tuple[Content, ...]
    """Cells, one per column."""
    tone: Tone = Tone.PLAIN
    """``PLAIN``, ``BEST`` or ``FAINT``."""


@dataclass(frozen=True)
class Table:
    """A table; its first column names the rows."""

    name: str
    """Part of the id on the page."""
    title: str
    """Title of the table."""
    columns: tuple[Column, ...]
    """Columns with their heads."""
    rows: tuple[tuple[Content, ...] | Row, ...]
    """Rows of one cell per column; a row of a single cell is a heading for the rows that follow."""
    note: str = ""
    """Note on how to read the table."""
    at_once: int | None = None
    """Number of rows shown at first, the others being folded; default: all."""

    full: tuple[Row, ...] = field(init=False, repr=False, compare=False)
    """All rows, each with its tone."""
    drawn: frozenset[int] = field(init=False, repr=False, compare=False)
    """Indices of columns with drawn cells."""
    groups: tuple[tuple[str, tuple[int, ...]], ...] = field(init=False, repr=False, compare=False)
    """Second heads with the indices of their columns; empty if no column has one."""

    def __post_init__(self) -> None:
        full = tuple(row if isinstance(row, Row) else Row(row) for row in self.rows)
        drawn = set()
        for row in full:
            if len(row.cells) not in (1, len(self.columns)):
                raise InputError(f"table {self.name}: {len(self.columns)} cells a row, got {row}")
            drawn |= {i for i, cell in enumerate(row.cells) if isinstance(cell, Whisker)}
        object.__setattr__(self, "full", full)
        object.__setattr__(self, "drawn", frozenset(drawn))
        # Heads span neighbours alone: equal ones apart from each other stay two.
        runs = groupby(range(len(self.columns)), lambda i: self.columns[i].group)
        groups = tuple((group, tuple(columns)) for group, columns in runs)
        headed = any(column.group for column in self.columns)
        object.__setattr__(self, "groups", groups if headed else ())


@dataclass(frozen=True)
class Plot:
    """A plot that is drawn when a page is rendered, with a text description."""

    name: str
    """Part of the ids on the page."""
    title: str
    """Title of the plot."""
    caption: str
    """Note on how to read the plot."""
    words: str
    """Description of the plot for readers who cannot see it."""
    draw: Callable[[], Axes]
    """Draws the plot and returns its axes."""
    wide: bool = True
    """Whether the plot takes the whole width of the page; narrower neighbours are side by side."""


@dataclass(frozen=True)
class FoldedBlocks:
    """Blocks that are folded behind a line."""

    title: str
    """Line that opens the blocks."""
    blocks: tuple[Block, ...]
    """The folded blocks."""
    open: bool = False
    """Whether the blocks are open at first."""


Block: TypeAlias = "Heading | Text | Items | Pairs | Table | Plot | FoldedBlocks"
"""A part of a section."""


@dataclass(frozen=True)
class Section:
    """A part of the page with its own heading."""

    name: str
    """Anchor of the section."""
    title: str
    """Heading of the section."""
    blocks: tuple[Block, ...]
    """Blocks from top to bottom."""
    short: str = ""
    """Title in the table of contents; default: the title."""
    open: bool = False
    """Whether the section is unfolded at first."""


@dataclass(frozen=True)
class About:
    """Subject of an audit, as a register describes it."""

    audited: str
    """Audited release."""
    game: str
    """Game, in a sentence for non-specialists."""
    knowledge: str
    """Access and knowledge of the attacker."""
    task: str
    """Task of the attacker, as a model card names it."""


@dataclass(frozen=True)
class Worst:
    """The most exposed records, by id, never by content."""

    what: str = "records"
    """Kind of the ids, as a plural noun."""
    ids: tuple[str, ...] = ()
    """Ids, the most exposed first."""
    reason: str = ""
    """Reason if there are no ids."""


@dataclass(frozen=True)
class Origin:
    """Origin of a report, with the same fields for all kinds."""

    command: str
    """Command or call that made the report."""
    version: str
    """Version of PrivacyGauge."""
    seed: int
    """Seed of all random draws."""
    level: float
    """Level of every interval, in (0, 1)."""
    made: str
    """Date of the report, such as ``2026-01-31``."""
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
    """Name of the measure, with ``.low`` for the lower limit of its interval."""
    limit: float
    """Largest value that passes."""
    found: float | None
    """Number found; None if it was not computed."""
    kept: bool
    """Whether the release passes; False if the audit is inconclusive."""


@dataclass(frozen=True, repr=False)
class Report:
    """The full report of an audit, as plain values."""

    kind: str
    """Kind of audit, such as ``privacy-claim``."""
    title: str
    """Name of the kind, as the page prints it."""
    about: About
    """Subject of the audit."""
    intro: str
    """Sentences above the numbers."""
    origin: Origin
    """Origin of the report."""
    verdict: Verdict
    """The verdict."""
    measures: tuple[Measure, ...]
    """Numbers; the first one to which limits apply represents the audit in a register."""
    sections: tuple[Section, ...]
    """Sections of the page, below the numbers."""
    terms: Mapping[str, str]
    """Glossary of the page."""
    worst: Worst
    """The most exposed records."""
    data: Mapping[str, Json]
    """Further keys of ``report.json``, specific to this kind."""
    frames: Mapping[str, Callable[[], pd.DataFrame]]
    """Tables written to the folder of the page, by file name: ``.parquet`` or ``.csv``."""
    nothing_left_out: str = "Nothing: everything was done."
    """Text of the page if nothing was skipped."""
    overview: tuple[Table, ...] = ()
    """Tables that a terminal and a summary print below the numbers."""
    sources: str = ""
    """Papers behind the audit, printed last on the page."""
    name: str = ""
    """Name of the release, given by its owner."""
    note: str = ""
    """Remark by the owner."""
    held: tuple[CheckedLimit, ...] = ()
    """Limits with the results of their checks."""

    def __repr__(self) -> str:
        return f"<Report {self.kind!r}: {self.verdict!r}>"

    @property
    def plots(self) -> tuple[Plot, ...]:
        """All plots of the page, from top to bottom, folded ones too."""
        found: list[Plot] = []
        left: list[Block] = [block for section in self.sections for block in section.blocks]
        while left:
            block = left.pop(0)
            if isinstance(block, Plot):
                found.append(block)
            elif isinstance(block, FoldedBlocks):
                left[:0] = block.blocks
        return tuple(found)

    @cached_property
    def numbers(self) -> dict[str, float | None]:
        """All measures by name, with their lower limits."""
        return {name: x for measure in self.measures for name, x in measure.numbers.items()}

    @property
    def cards(self) -> tuple[Measure, ...]:
        """Measures with a card."""
        return tuple(measure for measure in self.measures if measure.card)

    @property
    def main(self) -> Measure:
        """Measure that represents the audit in a register."""
        return next(measure for measure in self.measures if measure.gate)


Rows: TypeAlias = list[dict[str, Content]]
"""Rows as mappings from column heads to cells."""


def text(*paragraphs: str) -> Text:
    """Return a block of paragraphs."""
    return Text(paragraphs)


def note(*paragraphs: str) -> Text:
    """Return a block with remarks on the block above."""
    return Text(paragraphs, Tone.NOTE)


def caution(*paragraphs: str) -> Text:
    """Return a boxed block of warnings."""
    return Text(paragraphs, Tone.CAUTION)


def pairs(rows: Mapping[str, str | Shown | Cell]) -> Pairs:
    """Return a block of names and their values."""
    return Pairs(tuple(rows.items()))


def columns(*heads: str | Column) -> tuple[Column, ...]:
    """Return the columns of a table; a plain title is a column of numbers."""
    return tuple(Column(head) if isinstance(head, str) else head for head in heads)


def table(
    name: str,
    title: str,
    rows: Sequence[Mapping[str, Content]],
    note: str = "",
    *,
    prose: Collection[str] = (),
    spare: Collection[str] = (),
    best: Sequence[bool] = (),
    at_once: int | None = None,
) -> Table:
    """Return a table from rows that map column heads to cells.

    Parameters
    ----------
    name, title, note, at_once
        As in `Table`.
    rows : sequence of mapping
        Mappings from column heads to cells, all with the same heads in the same order. Without
        rows, the table has no columns.
    prose : collection of str
        Heads of columns of words, which may wrap; other columns hold numbers.
    spare : collection of str
        Heads of columns that a narrow terminal leaves out.
    best : sequence of bool
        True for the rows that matter most; default: none.
    """
    tones = (Tone.BEST if which else Tone.PLAIN for which in best or [False] * len(rows))
    full = (Row(tuple(row.values()), tone) for row, tone in zip(rows, tones, strict=True))
    heads = (
        Column(head, prose=head in prose, needed=head not in spare)
        for head in (rows[0] if rows else ())
    )
    return Table(name, title, columns=tuple(heads), rows=tuple(full), note=note, at_once=at_once)


DataFrame: TypeAlias = "pandas.DataFrame"
"""Stand-in for pandas' type, so that pandas is imported only when a table is made."""


def estimate_dict(estimate: Estimate | Skipped) -> dict[str, Json]:
    """Return an estimate as JSON values, or ``{"skipped": reason}``."""
    if isinstance(estimate, Skipped):
        return {"skipped": estimate.reason}
    return {
        "value": finite(estimate.value),
        "low": finite(estimate.low),
        "high": finite(estimate.high),
        "level": float(estimate.level),
        "n": int(estimate.n),
        "method": estimate.method,
    }


def values_of(found: object) -> Json:
    """Return any value as JSON values; a value without a JSON form becomes text.

    An `Estimate` or `Skipped` is converted by `estimate_dict`, another dataclass to its fields by
    name.
    """
    # JSON holds only finite floats; numpy values become Python ones.
    if found is None or isinstance(found, bool | int | str):
        return found
    if isinstance(found, float):
        return finite(found)
    if isinstance(found, np.ndarray | np.generic):
        return values_of(found.tolist())
    if isinstance(found, Estimate | Skipped):
        return estimate_dict(found)
    if isinstance(found, Mapping):
        return {str(name): values_of(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [values_of(value) for value in found]
    if is_dataclass(found):
        return pick_values(found, *(field.name for field in fields(found)))
    return str(found)


def pick_values(found: object, *names: str, **called: str) -> dict[str, Json]:
    """Return attributes of a value as JSON values, by name.

    Parameters
    ----------
    found : object
    *names : str
        Names of attributes, and keys of the result.
    **called : str
        Names of attributes, by key of the result.
    """
    named = {**{name: name for name in names}, **called}
    return {key: values_of(getattr(found, name)) for key, name in named.items()}


def frame(found: Mapping[str, object] | Sequence[Mapping[str, object]]) -> DataFrame:
    """Return a data frame from columns by name, or from rows as mappings."""
    import pandas as pd

    return pd.DataFrame(found)


_MARKS = {"<=": "at most", ">=": "at least", "=": "equal", "<": "below", ">": "above"}
"""Words for marks in the names of attacks, which would differ by nothing else."""


def query_names(columns: Iterable[object]) -> list[str]:
    """Return a name that ``DataFrame.query`` takes for each column, no two alike.

    Whatever cannot stand in a name of Python becomes an underscore.

    Examples
    --------
    >>> query_names(["score:entropy (per-class)", "2019", "in", "a b", "a-b"])
    ['score_entropy_per_class', '_2019', '_in', 'a_b', 'a_b_2']
    """
    found: dict[str, None] = {}
    for column in columns:
        # In the form in which Python reads names.
        text = unicodedata.normalize("NFKC", str(column))
        for mark, words in _MARKS.items():
            text = text.replace(mark, f" {words} ")
        kept = "".join(c if f"_{c}".isidentifier() else " " for c in text)
        name = re.sub("[ _]+", "_", kept).strip("_") or "column"
        if not name.isidentifier() or iskeyword(name):
            name = f"_{name}"
        unlike = (f"{name}_{i}" for i in count(2))
        found[name if name not in found else next(x for x in unlike if x not in found)] = None
    return list(found)


def ends(name: str, found: Estimate | None, between: str = "_") -> dict[str, object]:
    """Return an estimate and its limits as three columns; missing values for None."""
    three = (None,) * 3 if found is None else (found.value, found.low, found.high)
    heads = (name, f"{name}{between}low", f"{name}{between}high")
    return dict(zip(heads, three, strict=True))


def finite(value: float | None) -> float | None:
    """Return a number as a float; None if it is None, infinite or NaN, which JSON cannot hold."""
    return None if value is None or not math.isfinite(value) else float(value)


def names_of(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids as a column: numbers unchanged, anything else as valid UTF-8 text."""
    if ids.dtype.kind in "biuf":
        return ids
    # UTF-8 cannot hold lone surrogates, such as those of undecodable file names.
    text = [str(x).encode("utf-8", "replace").decode() for x in ids.tolist()]
    return np.array(text, dtype=object)
