"""What attacks made of a test set's own labels, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.holdout.attacked import Attacked
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class HoldoutAudit(Reported, Attacked):
    """What attacks made of a test set's own labels, with ways to look at it."""

    origin: Origin
    """Where it comes from."""

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.holdout_attack.says import report

        return report(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every attack and guard."""
        from privacygauge.audits.holdout_attack.says import results_frame

        return results_frame(self)

    def plot_biases(self, ax: Axes | None = None) -> Axes:
        """Return axes with the bias of every attack behind every guard."""
        from privacygauge.audits.holdout_attack.says import plot_biases

        return plot_biases(self, ax)
