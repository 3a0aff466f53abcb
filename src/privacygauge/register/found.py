"""A risk register: what several audits found, side by side, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from privacygauge.register.line import SEVERITIES, RegisterLine
from privacygauge.report import render
from privacygauge.report.document import DataFrame
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report, Severity

STEM = "register"
"""What its files are called."""


@dataclass(frozen=True)
class Together:
    """What holds for all lines at once, by Bonferroni's inequality."""

    level: float | None
    """All statements at a level hold together with at least this probability; None where the
    inequality leaves nothing, or where no line makes such a statement."""
    asked: float
    """The level that all of them are wanted to hold at."""
    needed: float | None
    """The level at which every audit has to be run for that; None without such statements."""
    names: tuple[str, ...]
    """The lines that make a statement at a level; the others were computed."""


@dataclass(frozen=True, eq=False, repr=False)
class RiskRegister(Reported):
    """Several audits as a release board needs them, with ways to look at them."""

    origin: Origin
    """Where it comes from; nothing was drawn at random."""
    title: str
    """What is to be released."""
    lines: tuple[RegisterLine, ...]
    """By falling severity; within one as they were given."""
    together: Together
    """What holds for all lines at once."""

    @property
    def severity(self) -> Severity:
        """The severity of the first line."""
        return self.lines[0].severity

    @property
    def counts(self) -> dict[Severity, int]:
        """How many lines there are of each severity, from grave to mild; without those of none."""
        given = [line.severity for line in self.lines]
        return {severity: given.count(severity) for severity in SEVERITIES if severity in given}

    def report(self) -> Report:
        """Return everything that the register says, as plain values."""
        from privacygauge.register.says import report

        return report(self)

    def to_frame(self) -> DataFrame:
        """Return one row for every audit, by falling severity."""
        from privacygauge.register.says import lines_frame

        return lines_frame(self)

    def write(self, directory: str | Path) -> list[Path]:
        """Write register.html, register.json and register.csv; return the files' paths."""
        return render.write(self.report(), directory, STEM)
