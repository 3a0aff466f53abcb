"""A risk register for a terminal: the verdict first, then one line an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.register.findings import Register
from privacygauge.register.line import GRAVE, MODERATE, NOTHING, SMALL, UNJUDGED, UNTOLD
from privacygauge.register.tables import noted, overview
from privacygauge.register.verdict import together, verdict
from privacygauge.report.terminal import Roomy, opening, rows_of, stacked, text

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType

_COLOURS = {
    GRAVE: "red",
    UNTOLD: "dark_orange",
    MODERATE: "dark_orange",
    SMALL: "yellow",
    NOTHING: "green",
    UNJUDGED: "yellow",
}


def terminal_summary(r: Register) -> RenderableType:
    """Return the register as a renderable of rich, made to fit 80 columns.

    Nothing in it is read as markup, so names of folders and files cannot style or forge lines.
    """
    rows = [row[:3] for row in overview(r)]
    wide = rows_of(("Audit", "Severity", "Number"), rows, names=2)
    narrow = rows_of(("Audit", "Severity"), [row[:2] for row in rows], names=2)
    return stacked(
        *opening(verdict(r), _COLOURS[r.severity], noted(r)), Roomy(wide, narrow), text(together(r))
    )
