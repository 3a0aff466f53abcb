"""Result of an audit of a privacy claim, as values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.core.estimate import Skipped
from privacygauge.datasets.canary_scores import (
    CanaryScores,
)
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.claim_designs import BoundsOfDesign
from privacygauge.evaluate.claim_power import (
    Power,
)
from privacygauge.evaluate.claim_unit import RECORD, ClaimUnit
from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin

NO_CONTROL = Skipped(
    "power",
    "needs a control: the same attack's scores of the same training with its noise switched off",
)
"""Reason for an unknown power of the attack."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClaimResult(BoundsOfDesign, Reported):
    """Values that a `ClaimAudit` reports."""

    origin: Origin
    """Origin of the findings; its level is that of all bounds jointly."""
    claim: PrivacyClaim
    """Claim about the training, for everything that changes with one canary's coin."""
    canaries: CanaryScores
    """The scores."""
    of: ClaimUnit = RECORD
    """Unit whose privacy was claimed, and the adjacency of datasets."""
    apart: int = 1
    """Number of units that change with a coin; `claim` holds for all of them together."""
    inverted: tuple[InvertedAttack, ...] = ()
    """Scores that are higher for canaries that were left out, or that would refute the claim if
    reversed.
    """
    power: Power | Skipped = NO_CONTROL
    """Power of the same attack with the guarantee switched off."""
    controls: tuple[Power, ...] = ()
    """Power of the attack on trainings that are broken in other ways."""

    @property
    def blind_to(self) -> Power | None:
        """The control with the weakest result, if the same attack does not refute its claim."""
        if isinstance(self.power, Skipped):
            return None
        least = min((self.power, *self.controls), key=lambda x: x.detectable)
        return None if least.would_refute(self.claim) else least

    @property
    def n_in(self) -> int:
        """Number of rows whose canary was put in."""
        return int(self.canaries.member.sum())

    @property
    def n_out(self) -> int:
        """Number of rows whose canary was left out."""
        return len(self.canaries.member) - self.n_in
