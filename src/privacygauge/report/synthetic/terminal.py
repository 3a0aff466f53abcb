"""Findings on a generator for a terminal: the verdict first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.numbers import decimal_estimate, rate, tpr_estimate
from privacygauge.report.synthetic import rows
from privacygauge.report.synthetic.findings import SyntheticFindings
from privacygauge.report.synthetic.tables import lines
from privacygauge.report.synthetic.verdict import verdict
from privacygauge.report.tables import not_done
from privacygauge.report.terminal import COLOURS, Roomy, figures, opening, rows_of, stacked, text

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType


_RECORDS = 5
"""So many of the riskiest records are printed."""


def terminal_summary(f: SyntheticFindings) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns.

    Parameters
    ----------
    f : SyntheticFindings

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
        _attacks(f),
        _records(f),
        *map(text, not_done(f.skipped)),
    )


def _attacks(f: SyntheticFindings) -> RenderableType:
    found = [
        (f"{x.name} ({x.variant})" if x.variant else x.name, decimal_estimate(x.auc), x)
        for x in rows.attacks(f)
    ]
    every = [
        (title, auc.value, auc.interval, row.accuracy.value, row.rates[0], row.told)
        for title, auc, row in found
    ]
    low = f"TPR at {rate(f.best.tpr_at_fpr[0][0])}"
    heads = ("Attack", "Mean AUC", rate(f.level), "Accuracy", low, "Told")
    short = [(title, auc.value) for title, auc, _ in found]
    return Roomy(rows_of(heads, every), rows_of(("Attack", "Mean AUC"), short), 76)


def _records(f: SyntheticFindings) -> RenderableType:
    found = rows.riskiest(f)[:_RECORDS]
    every = [
        (
            row.id,
            str(decimal_estimate(row.auc)),
            tpr_estimate(row.rates[0].estimate, row.rates[0].fpr).value,
            row.epsilon,
            row.score,
        )
        for row in found
    ]
    low = f"TPR at {rate(found[0].rates[0].fpr)}"
    heads = ("Riskiest records", "AUC", low, "Epsilon", "Score")
    short = [(row.id, decimal_estimate(row.auc).value) for row in found]
    return Roomy(rows_of(heads, every), rows_of(("Riskiest records", "AUC"), short), 76)
