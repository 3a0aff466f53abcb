"""Results of audits of a classifier, as values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.audits.classifier.verdict import UnknownSide
from privacygauge.classifier.attacked import AttackFindings
from privacygauge.classifier.candidates import JudgedCandidates
from privacygauge.evaluate.played import Attacks, GameDescription, Records
from privacygauge.report.reported import Reported
from privacygauge.report.values import Axes, Origin


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClassifierResult(AttackFindings, Reported):
    """Values that an `Audit` reports."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription
    """Description of the game."""
    records: Records
    """One row per target."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the predictions: with any of them, the report does not claim that nothing
    leaks."""
    unknown_side: UnknownSide | None = None
    """Side with labels that may belong to other records: the report claims no leak unless that side
    itself shows one."""

    @property
    def attacks(self) -> Attacks:
        """Attacks, with the groups to report."""
        groups = self.slices.announced
        return Attacks(
            game=self.game,
            evaluations=self.evaluations,
            headline=self.headline,
            level=self.level,
            groups=groups,
            questions=self.questions,
        )

    def plot_roc(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Plot the ROC curve of every attack, by default on linear axes."""
        from privacygauge.report.attacks.plots import plot_roc

        return plot_roc(self.evaluations, ax, log=log)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CandidateResult(JudgedCandidates, Reported):
    """Values that a `CandidateAudit` reports."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription
    """Description of the game; its numbers of members and non-members count guesses."""
