"""What audits of trainings by their worst-case records found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

from privacygauge.classifier.compared_trainings import ComparedTrainings
from privacygauge.report.document import DataFrame, frame
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


@dataclass(frozen=True, eq=False, repr=False)
class WorstCaseComparison(ComparedTrainings, Reported):
    """Trainings with the same canaries and the same coins, side by side.

    ``to_frame`` has one line for every training, group of targets, attack and false-positive rate.
    """

    origin: Origin = field(kw_only=True)
    """Where it comes from; its level is that of every interval, and of the corrected ones
    together."""

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.worst_case.says import report

        return report(self)

    def to_frame(self) -> DataFrame:
        """Return one line for every training, group of targets, attack and rate."""
        return frame(self.lines())


class WorstCaseAudit(WorstCaseComparison):
    """What was found of canaries and of ordinary records of a single training.

    It is the comparison of that training with no other, so it has the same report.
    """
