"""A risk register: what several audits found, side by side, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privacygauge.core.estimate import Skipped
from privacygauge.register.line import SEVERITIES, RegisterLine


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


@dataclass(frozen=True, eq=False)
class Register:
    """Several audits as a release board needs them."""

    title: str
    """What is to be released."""
    version: str
    """PrivacyGauge's version that wrote the register."""
    lines: tuple[RegisterLine, ...]
    """By falling severity; within one as they were given."""
    together: Together
    """What holds for all lines at once."""

    @property
    def severity(self) -> str:
        """The severity of the first line."""
        return self.lines[0].told.judged.severity

    @property
    def counts(self) -> dict[str, int]:
        """How many lines there are of each severity, from grave to mild; without those of none."""
        given = [line.told.judged.severity for line in self.lines]
        return {severity: given.count(severity) for severity in SEVERITIES if severity in given}

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Lines that name nobody, and why."""
        return tuple(
            Skipped(line.name, f"no {line.told.worst.what} are named: {line.told.worst.reason}")
            for line in self.lines
            if line.told.worst.reason
        )

    @property
    def provenance(self) -> Mapping[str, str]:
        """The SHA-256 of every report, by name."""
        return {line.name: f"report.json sha256:{line.sha256}" for line in self.lines}
