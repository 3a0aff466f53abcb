"""What audits of defences found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.evaluate.compared_defences import ComparedDefences
from privacygauge.report.axes import Axes
from privacygauge.report.document import DataFrame, frame
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DefenceAudit(ComparedDefences, Reported):
    """What an audit of defences found, with ways to look at it.

    ``to_frame`` has one line for every defence, attack and adversary.
    """

    origin: Origin
    """Where it comes from."""
    fitted: str
    """On which records defences were fitted, in words."""
    doubts: tuple[str, ...] = ()
    """Why the predictions may not be what they are said to be: no lack of a leak counts then."""

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.defences.says import report

        return report(self)

    def to_frame(self) -> DataFrame:
        """Return one line for every defence, attack and adversary, each interval by itself."""
        return frame(self.lines())

    def plot_trade_off(self, ax: Axes | None = None) -> Axes:
        """Return axes with what attacks achieve over how far answers are changed."""
        from privacygauge.audits.defences.plots import plot_trade_off

        return plot_trade_off(self, ax)
