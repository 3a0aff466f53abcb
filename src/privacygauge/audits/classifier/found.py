"""What an audit returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.audits.rendered import Rendered
from privacygauge.evaluate.findings import Findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Rendered, Findings):
    """What an audit found, with ways to look at it."""

    REPORT = "privacygauge.report"

    def __repr__(self) -> str:
        best = self.headline
        return (
            f"<Audit of {len(self.records.member):,} records: {best.attack.title} has accuracy "
            f"{best.accuracy.value:.3f} ({best.accuracy.low:.3f} to {best.accuracy.high:.3f})>"
        )

    def plot_roc(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Return axes with the ROC curve of every attack, log-log where asked for."""
        from privacygauge.report.plots import plot_roc

        return plot_roc(self.evaluations, ax, log=log)
