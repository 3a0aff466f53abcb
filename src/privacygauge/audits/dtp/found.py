"""What an audit of differential training privacy found."""

from __future__ import annotations

from dataclasses import dataclass, field

from privacygauge.classifier.dtp.findings import DtpFindings
from privacygauge.report.axes import Axes
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


@dataclass(frozen=True, eq=False, repr=False)
class DtpAudit(DtpFindings, Reported):
    """How far each record of a training set moves the classifier, with ways to look at it."""

    origin: Origin = field(kw_only=True)
    """Where it comes from."""

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.dtp.says import report

        return report(self)

    def plot_pdtp(self, ax: Axes | None = None) -> Axes:
        """Return axes with the records' PDTP, largest first."""
        from privacygauge.audits.dtp.plots import plot_pdtp

        return plot_pdtp(self, ax)
