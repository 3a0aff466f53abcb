"""Findings on a language model for a terminal: the verdict first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.language.findings import LanguageFindings
from privacygauge.report.language.tables import lines, threshold_rows
from privacygauge.report.language.units import units_of
from privacygauge.report.language.verdict import verdict
from privacygauge.report.tables import not_done
from privacygauge.report.terminal import Roomy, figures, opening, rows_of, stacked, text
from privacygauge.report.verdict import GRADES, UNKNOWN

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType

_COLOURS = dict(
    zip((*GRADES, UNKNOWN), ("green", "yellow", "dark_orange", "red", "red"), strict=True)
)


def terminal_summary(f: LanguageFindings) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns.

    Parameters
    ----------
    f : LanguageFindings

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
        *(part for unit in units_of(f) for part in _thresholds(unit.unit, threshold_rows(unit))),
        *map(text, not_done(f.skipped)),
    )


def _thresholds(unit: str, rows: tuple[tuple[str, ...], ...]) -> tuple[RenderableType, ...]:
    titles = (f"By {unit}", "FPR asked", "FPR realised", "Precision", "Recall")
    short = [(row[0], row[1], row[3], row[4]) for row in rows]
    narrow = rows_of((titles[0], "FPR", *titles[3:]), short)
    return (Roomy(rows_of(titles, rows), narrow),)
