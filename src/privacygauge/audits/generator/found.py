"""What an audit of a generator of synthetic tables found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.report.attacks.played import GameDescription
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report
from privacygauge.synthetic.games.audited import PlayedGame

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SyntheticAudit(Reported, PlayedGame):
    """What an audit of a generator found, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    game: GameDescription
    """What was played."""

    def __repr__(self) -> str:
        auc = self.headline.auc
        return (
            f"<SyntheticAudit of {self.generator}, {len(self.targets):,} records: mean AUC "
            f"{auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f}) by {self.best.title}>"
        )

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.generator.says import report

        return report(self)

    def plot_auc(self, ax: Axes | None = None) -> Axes:
        """Return axes with the AUC of every target, by the attack that the verdict speaks of."""
        from privacygauge.audits.generator.plots import plot_auc

        return plot_auc(self, ax)
