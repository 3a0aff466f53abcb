"""Findings on a released table for a terminal: the verdict first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.numbers import (
    DASH,
    decimal_estimate,
    percent,
    percent_estimate,
    rate,
)
from privacygauge.report.synthetic.released.tables import lines
from privacygauge.report.synthetic.released.verdict import named, verdict
from privacygauge.report.synthetic.released_findings import ReleasedFindings, ReleaseRisk
from privacygauge.report.tables import not_done, rate_at
from privacygauge.report.terminal import COLOURS, Roomy, figures, opening, rows_of, stacked, text

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType

_RISKS = 8
"""So many forms of the risks are printed."""


def terminal_summary(f: ReleasedFindings) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns.

    Parameters
    ----------
    f : ReleasedFindings

    Returns
    -------
    rich.console.RenderableType
        Nothing in it is read as markup, so names from the user's data cannot style or forge
        lines.
    """
    found = verdict(f)
    return stacked(
        *opening(found, COLOURS[found.grade], f.warnings),
        figures(lines(f)),
        *([_attacks(f)] if f.evaluations else []),
        *([_risks(f)] if f.risks else []),
        *map(text, not_done(f.skipped)),
    )


def _attacks(f: ReleasedFindings) -> RenderableType:
    every = [
        (
            e.name,
            str(percent_estimate(e.accuracy, 1)),
            decimal_estimate(e.auc).value,
            rate_at(e, 0.01),
        )
        for e in f.evaluations
    ]
    titles = ("Attack", f"Accuracy ({rate(f.level)})", "AUC", "TPR at 1% FPR")
    short = [(e.name, percent(e.accuracy.value), decimal_estimate(e.auc).value)
             for e in f.evaluations]  # fmt: skip
    few = any(not r.resolved for e in f.evaluations for r in e.tpr_at_fpr if r.fpr == 0.01)
    dagger = "\N{DAGGER} too few non-members to tell: under 10 false positives expected"
    return stacked(
        Roomy(rows_of(titles, every), rows_of(("Attack", "Accuracy", "AUC"), short)),
        *([text(dagger)] if few else []),
    )


def _risks(f: ReleasedFindings) -> RenderableType:
    """Return the risks, the one furthest beyond its control first."""
    shown = sorted(f.risks, key=_furthest_first)[:_RISKS]
    every = [(named(r), *_rates(r), _beyond(r)) for r in shown]
    titles = ("Risk", "Real", "Holdout", "Baseline", f"Beyond control ({rate(f.level)})")
    short = [(named(r), *_rates(r)[:2]) for r in shown]
    rest = len(f.risks) - len(shown)
    more = [text(f"and {rest} further in the report")] if rest else []
    return stacked(Roomy(rows_of(titles, every), rows_of(titles[:3], short)), *more)


def _furthest_first(risk: ReleaseRisk) -> float:
    beyond = risk.risk
    return risk.baseline.value - risk.attack.value if beyond is None else -beyond.low


def _rates(risk: ReleaseRisk) -> tuple[str, str, str]:
    control = DASH if risk.control is None else percent(risk.control.value)
    return percent(risk.attack.value), control, percent(risk.baseline.value)


def _beyond(risk: ReleaseRisk) -> str:
    return DASH if risk.risk is None else str(percent_estimate(risk.risk, 1))
