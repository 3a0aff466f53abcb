"""Short ways to write the blocks that every report is made of."""

from __future__ import annotations

from privacygauge.report.values import Column, Text, Tone


def text(*paragraphs: str) -> Text:
    """Return paragraphs."""
    return Text(paragraphs)


def note(*paragraphs: str) -> Text:
    """Return a remark on what stands above."""
    return Text(paragraphs, Tone.NOTE)


def columns(*heads: str | Column) -> tuple[Column, ...]:
    """Return the columns of a table; a title alone is a column of numbers."""
    return tuple(Column(head) if isinstance(head, str) else head for head in heads)
