"""Findings on a leaderboard's history for a terminal: the verdict first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.leaderboard.findings import LeaderboardFindings
from privacygauge.report.leaderboard.tables import found_rows, lines
from privacygauge.report.leaderboard.verdict import verdict
from privacygauge.report.numbers import count, percent
from privacygauge.report.tables import not_done
from privacygauge.report.terminal import Roomy, figures, opening, rows_of, stacked, text

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType


def terminal_summary(f: LeaderboardFindings) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns.

    Nothing in it is read as markup, so names of accounts cannot style or forge lines.
    """
    colour = "dark_orange" if f.findings else "green"
    return stacked(
        *opening(verdict(f), colour, f.warnings),
        figures(lines(f)),
        *([_found(f)] if f.findings else []),
        *([_replayed(f)] if f.replays else []),
        *map(text, not_done(f.skipped)),
    )


def _found(f: LeaderboardFindings) -> RenderableType:
    rows = found_rows(f)
    wide = rows_of(("Finding", "Accounts", "p", "p, corrected"), rows, names=2)
    return Roomy(wide, rows_of(("Finding", "Accounts"), [row[:2] for row in rows], names=2))


def _replayed(f: LeaderboardFindings) -> RenderableType:
    rows = [(r.guard, count(r.improvements), percent(r.best, 2), percent(r.error, 2))
            for r in f.replays]  # fmt: skip
    titles = ("Guard", "Rises shown", "Best shown", "Mean error")
    return Roomy(rows_of(titles, rows), rows_of(titles[:3], [row[:3] for row in rows]))
