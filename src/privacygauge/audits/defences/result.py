"""Result of a comparison of defences, as values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.evaluate.compared_defences import ComparedDefences
from privacygauge.report.document import DataFrame, frame
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DefenceResult(ComparedDefences, Reported):
    """Findings of an audit of defences, with its report, tables and plots.

    ``to_frame`` has one row per defence, attack and adversary.
    """

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    fitted: str
    """Records on which defences were fitted, in words."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the predictions: with any of them, no absence of a leak is claimed."""

    def to_frame(self) -> DataFrame:
        """Return one row per defence, attack and adversary, each interval by itself."""
        return frame(self.lines())
