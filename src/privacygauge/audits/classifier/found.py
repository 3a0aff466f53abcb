"""Findings of audits of a classifier, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.classifier.attacked import AttackFindings
from privacygauge.classifier.candidates_judged import JudgedCandidates
from privacygauge.evaluate.played import Attacks, GameDescription, Records
from privacygauge.report.axes import Axes
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Audit(AttackFindings, Reported):
    """Findings of an audit, with its report, tables and plots."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription
    """Description of the game."""
    records: Records
    """One row per target."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the predictions: with any of them, no absence of a leak is claimed."""
    other_labels: tuple[str, ...] = ()
    """Why the labels of one side may belong to other records: with any reason, no leak is claimed.
    """

    @property
    def attacks(self) -> Attacks:
        """The attacks, and the groups to report."""
        groups = self.slices.announced
        return Attacks(
            game=self.game,
            evaluations=self.evaluations,
            headline=self.headline,
            level=self.level,
            groups=groups,
            questions=self.questions,
        )

    def report(self) -> Report:
        """Return the report, as plain values."""
        from privacygauge.audits.classifier.says import report

        return report(self)

    def plot_roc(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Plot the ROC curve of every attack, by default on linear axes."""
        from privacygauge.report.attacks.plots import plot_roc

        return plot_roc(self.evaluations, ax, log=log)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CandidateAudit(JudgedCandidates, Reported):
    """Findings of the candidate-set game, with its report, tables and plots."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription
    """Description of the game; its numbers of members and non-members count guesses."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        from privacygauge.audits.classifier.candidates_say import report

        return report(self)
