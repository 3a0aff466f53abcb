"""Short ways to write the blocks that every report is made of."""

from __future__ import annotations

from collections.abc import Mapping

from privacygauge.report.numbers import Shown
from privacygauge.report.values import Cell, Column, Pairs, Text, Tone


def text(*paragraphs: str) -> Text:
    """Return paragraphs."""
    return Text(paragraphs)


def note(*paragraphs: str) -> Text:
    """Return a remark on what stands above."""
    return Text(paragraphs, Tone.NOTE)


def caution(*paragraphs: str) -> Text:
    """Return a warning in a box."""
    return Text(paragraphs, Tone.CAUTION)


def pairs(rows: Mapping[str, str | Shown | Cell]) -> Pairs:
    """Return names, each with what there is to say of it."""
    return Pairs(tuple(rows.items()))


def columns(*heads: str | Column) -> tuple[Column, ...]:
    """Return the columns of a table; a title alone is a column of numbers."""
    return tuple(Column(head) if isinstance(head, str) else head for head in heads)
