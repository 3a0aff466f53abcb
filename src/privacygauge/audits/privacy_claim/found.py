"""What an audit of a privacy claim found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.datasets.canary_scores import CanaryScores
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.claim_designs import BoundsOfDesign
from privacygauge.evaluate.direction import Inverted
from privacygauge.report.axes import Axes
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClaimAudit(BoundsOfDesign, Reported):
    """What an audit of a claimed (epsilon, delta) found, with ways to look at it."""

    origin: Origin
    """Where it comes from; its level is that of all bounds together."""
    claim: PrivacyClaim
    """What is said of the training."""
    canaries: CanaryScores
    """The scores."""
    inverted: tuple[Inverted, ...] = ()
    """The scores, where they are higher for canaries that were left out; or would refute the claim
    if they were reversed."""

    @property
    def n_in(self) -> int:
        """The number of rows whose canary was put in."""
        return int(self.canaries.member.sum())

    @property
    def n_out(self) -> int:
        """The number of rows whose canary was left out."""
        return len(self.canaries.member) - self.n_in

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.privacy_claim.says import report

        return report(self)

    def plot_curve(self, ax: Axes | None = None) -> Axes:
        """Return axes with the bound by the number of guesses."""
        from privacygauge.audits.privacy_claim.says import plot_curve

        return plot_curve(self, ax)
