"""Result of attacks on a test set, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.holdout.contest import ContestFindings
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False, repr=False)
class HoldoutResult(ContestFindings, Reported):
    """Values that a `HoldoutAudit` reports."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
