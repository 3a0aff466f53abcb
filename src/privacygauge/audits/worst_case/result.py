"""Result of a comparison of trainings by their canaries, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

from privacygauge.classifier.compared_trainings import ComparedTrainings
from privacygauge.report.document import DataFrame, frame
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin


@dataclass(frozen=True, eq=False, repr=False)
class WorstCaseResult(ComparedTrainings, Reported):
    """Trainings with the same canaries and the same coins, side by side.

    ``to_frame`` has one line for every training, group of targets, attack and false-positive rate.
    """

    origin: Origin = field(kw_only=True)
    """Origin of the findings; its level is that of every interval, and of the corrected ones
    jointly.
    """

    def to_frame(self) -> DataFrame:
        """Return one row per training, group of targets, attack and rate."""
        return frame(self.lines())
