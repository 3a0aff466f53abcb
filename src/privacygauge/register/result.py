"""A risk register, as values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.evaluate.together import JointStatement
from privacygauge.register.line import SEVERITIES, RegisterLine
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Severity


@dataclass(frozen=True, eq=False, repr=False)
class RegisterResult(Reported):
    """Values that a `RiskRegister` reports."""

    origin: Origin
    """Origin of the register; nothing was drawn at random."""
    title: str
    """Name of the release."""
    lines: tuple[RegisterLine, ...]
    """Lines by descending severity; ties in the order given."""
    together: JointStatement
    """Joint level of all lines."""

    @property
    def severity(self) -> Severity:
        """The severity of the first line."""
        return self.lines[0].severity

    @property
    def counts(self) -> dict[Severity, int]:
        """Number of lines of each severity that has any, from grave to mild."""
        given = [line.severity for line in self.lines]
        return {severity: given.count(severity) for severity in SEVERITIES if severity in given}
