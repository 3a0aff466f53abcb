"""Findings on defences for a terminal: the verdict first, then one line a defence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.defences.findings import ComparedDefences
from privacygauge.report.defences.tables import grid, short_grid
from privacygauge.report.defences.verdict import verdict
from privacygauge.report.numbers import rate
from privacygauge.report.tables import not_done
from privacygauge.report.terminal import COLOURS, Roomy, opening, rows_of, stacked, text

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType


def terminal_summary(f: ComparedDefences) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns.

    Parameters
    ----------
    f : ComparedDefences

    Returns
    -------
    rich.console.RenderableType
        Nothing in it is read as markup, so names from the user's data cannot style or forge
        lines.
    """
    found, level = verdict(f), rate(f.level)
    wide = ("\nDefence", f"Adaptive\n({level})", "Non-\nadaptive")
    table = Roomy(
        rows_of((*wide, _beside(f), "Model\nright"), grid(f)),
        rows_of(("\nDefence", "\nAdaptive", "Non-\nadaptive"), short_grid(f)),
        70,
    )
    return stacked(
        *opening(found, COLOURS[found.grade], f.warnings),
        text("Right guesses of the best attack; guessing gives 50%"),
        table,
        *map(text, _below(f)),
    )


def _beside(f: ComparedDefences) -> str:
    return "Stopped\nearly" if f.curve else "Answers\nmoved"


def _below(f: ComparedDefences) -> list[str]:
    undone = any(c.undone for c in f.compared)
    note = "\N{DAGGER} can be undone by who knows it: counts as no defence"
    early = "Stopped early: the undefended training, stopped at the same accuracy"
    return [
        *((note,) if undone else ()),
        *((early,) if f.curve else ()),
        *not_done(f.skipped),
    ]
