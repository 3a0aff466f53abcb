"""Findings on differential training privacy for a terminal: the verdict first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.classifier.dtp.findings import DtpFindings
from privacygauge.report.dtp import rows
from privacygauge.report.dtp.tables import lines
from privacygauge.report.dtp.verdict import GRADES, verdict
from privacygauge.report.tables import not_done
from privacygauge.report.terminal import Roomy, figures, opening, rows_of, stacked, text

if TYPE_CHECKING:
    from privacygauge.report.terminal import RenderableType

_COLOURS = dict(zip(GRADES, ("green", "yellow", "red"), strict=True))

_RECORDS = 5
"""So many of the riskiest records are printed."""


def terminal_summary(f: DtpFindings) -> RenderableType:
    """Return the findings as a renderable of rich, made to fit 80 columns.

    Parameters
    ----------
    f : DtpFindings

    Returns
    -------
    rich.console.RenderableType
        Nothing in it is read as markup, so names from the user's data cannot style or forge
        lines.
    """
    found = verdict(f)
    riskiest = rows.riskiest(f)[:_RECORDS]
    every = [(row.id, row.label, row.pdtp, row.factor, row.dtp) for row in riskiest]
    short = [(row.id, row.pdtp) for row in riskiest]
    return stacked(
        *opening(found, _COLOURS[found.grade], f.warnings),
        figures(lines(f)),
        Roomy(
            rows_of(("Riskiest records", "Class", "PDTP", "Factor", "DTP"), every, names=2),
            rows_of(("Riskiest records", "PDTP"), short),
        ),
        *map(text, not_done(f.skipped)),
    )
