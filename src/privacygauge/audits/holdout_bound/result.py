"""Bounds on the reuse of a test set, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.holdout.gained import ReuseBounds
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False, repr=False)
class HoldoutBoundsResult(ReuseBounds, Reported):
    """Bounds on the gain from submissions to a test set, with its report, tables and plots."""

    origin: Origin
    """Origin of the numbers; a guarantee holds with at least the probability of its level."""
