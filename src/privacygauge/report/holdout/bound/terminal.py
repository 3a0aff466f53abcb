"""Findings on what submissions can buy for a terminal: the verdict first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.holdout.bound.tables import allowed_rows, asked, lines
from privacygauge.report.holdout.bound.verdict import GRADES, UNKNOWN, verdict
from privacygauge.report.holdout.findings import BoundFindings
from privacygauge.report.holdout.words import SCORES, points
from privacygauge.report.numbers import rate
from privacygauge.report.tables import not_done
from privacygauge.report.terminal import Roomy, figures, opening, rows_of, stacked, text

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType

COLOURS = dict(
    zip((*GRADES, UNKNOWN), ("green", "green", "dark_orange", "red", "yellow"), strict=True)
)
"""Of the grades."""


def terminal_summary(f: BoundFindings) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns."""
    found = verdict(f)
    short = [row[:2] for row in lines(f)]
    turned = [row[:3] for row in allowed_rows(f)]
    most = f"For at most {points(f.allowed_bias)} points ({rate(f.level)})"
    return stacked(
        *opening(found, COLOURS[found.grade], f.warnings),
        figures(asked(f)),
        Roomy(_assumed(f), rows_of(("Bias", "Points"), short)),
        *([text("In brackets: does not apply here.")] if _brackets(f) else []),
        rows_of((most, "Submissions", "or examples"), turned),
        text(SCORES),
        *map(text, not_done(f.skipped)),
    )


def _brackets(f: BoundFindings) -> bool:
    return any(not b.applies for b in f.biases)


def _assumed(f: BoundFindings) -> RenderableType:
    rows = [(title, assumed, value) for title, value, assumed in lines(f)]
    return rows_of(("Bias", "Taken for granted", "Points"), rows, names=2)
