"""Short constructors of the blocks of a report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from privacygauge.report.numbers import Shown
from privacygauge.report.values import Cell, Column, Content, Pairs, Row, Table, Text, Tone

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
