"""Findings on worst-case records for a terminal: the verdict first, then one line a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.numbers import rate
from privacygauge.report.tables import not_done
from privacygauge.report.terminal import COLOURS, Roomy, opening, rows_of, stacked, text
from privacygauge.report.worst_case.findings import ComparedWorstCases
from privacygauge.report.worst_case.tables import DAGGER, grid, short_grid
from privacygauge.report.worst_case.verdict import verdict

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType


def terminal_summary(f: ComparedWorstCases) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns.

    Parameters
    ----------
    f : ComparedWorstCases

    Returns
    -------
    rich.console.RenderableType
        Nothing in it is read as markup, so names from the user's data cannot style or forge
        lines.
    """
    found, level = verdict(f), rate(f.level)
    wide = ("\nTraining", f"Canaries\n({level})", f"Ordinary\n({level})", "Model\nright")
    table = Roomy(
        rows_of(wide, grid(f)),
        rows_of(("Training", "Canaries", "Ordinary"), short_grid(f)),
        76,
    )
    return stacked(
        *opening(found, COLOURS[found.grade], f.warnings),
        text(f"Found by the best attack at {rate(f.fpr)} false alarms; guessing finds as many"),
        table,
        *map(text, _below(f)),
    )


def _below(f: ComparedWorstCases) -> list[str]:
    unsure = any(DAGGER in cell for row in grid(f) for cell in row)
    note = f"{DAGGER} too few records to tell: under 10 false positives expected"
    return [*((note,) if unsure else ()), *not_done(f.skipped)]
