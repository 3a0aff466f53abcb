"""Findings on a privacy claim for a terminal: the verdict first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.claim.findings import ClaimFindings
from privacygauge.report.claim.tables import lines
from privacygauge.report.claim.verdict import GRADES, REVERSED, UNKNOWN, verdict
from privacygauge.report.tables import not_done
from privacygauge.report.terminal import figures, opening, stacked, text

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType

_COLOURS = {
    **dict(zip(GRADES, ("green", "red", "red"), strict=True)),
    UNKNOWN: "yellow",
    REVERSED: "yellow",
}


def terminal_summary(f: ClaimFindings) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns.

    Parameters
    ----------
    f : ClaimFindings

    Returns
    -------
    rich.console.RenderableType
        Nothing in it is read as markup, so names from the user's data cannot style or forge
        lines.
    """
    found = verdict(f)
    return stacked(
        *opening(found, _COLOURS[found.grade], f.warnings),
        figures(lines(f)),
        *map(text, not_done(f.skipped)),
    )
