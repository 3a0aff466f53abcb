"""The membership attacks of an audit of a released table, in the form that other pages take."""

from __future__ import annotations

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.findings import Findings
from privacygauge.report.synthetic.released_findings import ReleasedFindings


def attacks_of(f: ReleasedFindings) -> Findings | None:
    """Return the membership attacks as findings of their own; None where none was played."""
    if isinstance(f.game, Skipped) or f.headline is None or f.records is None:
        return None
    return Findings(
        f.command,
        f.version,
        f.seed,
        f.level,
        f.game,
        f.evaluations,
        f.headline,
        Skipped("privacy risk score", "needs shadow records"),
        Skipped("groups of records", "not looked at"),
        f.records,
        f.copies,
        f.skipped,
        f.warnings,
        f.provenance,
    )
