"""Findings on attacks on a test set for a terminal: the verdict first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.holdout.attack.tables import grid, lines, short_grid
from privacygauge.report.holdout.attack.verdict import FIXED, GRADES, verdict
from privacygauge.report.holdout.findings import AttackFindings
from privacygauge.report.holdout.words import SCORES
from privacygauge.report.numbers import rate
from privacygauge.report.tables import not_done
from privacygauge.report.terminal import Roomy, figures, opening, rows_of, stacked, text

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType

_COLOURS = dict(zip(GRADES, ("green", "yellow", "dark_orange", "red"), strict=True))

_WIDE = 3
"""So many guards have room for their intervals."""


def terminal_summary(f: AttackFindings) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns."""
    found = verdict(f)
    guards = tuple(g.guard for g in f.guards)
    title = "Bias, points"
    short = rows_of((title, *guards), short_grid(f))
    wide = rows_of((f"{title} ({rate(f.level)})", *guards), grid(f))
    return stacked(
        *opening(found, _COLOURS[found.grade], f.warnings),
        figures(lines(f)),
        Roomy(wide if len(guards) <= _WIDE else short, short, least=78),
        text(FIXED),
        text(SCORES),
        *map(text, not_done(f.skipped)),
    )
