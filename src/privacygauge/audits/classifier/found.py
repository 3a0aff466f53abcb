"""What audits of a classifier found, as plain values."""

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
    """What an audit found, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    game: GameDescription
    """What was played."""
    records: Records
    """One row a target."""
    doubts: tuple[str, ...] = ()
    """Why the predictions may not be what they are said to be: no lack of a leak counts then."""
    other_labels: tuple[str, ...] = ()
    """Why the labels of one side may be those of other records: no leak counts then."""

    @property
    def attacks(self) -> Attacks:
        """The attacks, and what to speak of."""
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
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.classifier.says import report

        return report(self)

    def plot_roc(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Return axes with the ROC curve of every attack, log-log where asked for."""
        from privacygauge.report.attacks.plots import plot_roc

        return plot_roc(self.evaluations, ax, log=log)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CandidateAudit(JudgedCandidates, Reported):
    """What the candidate-set game found, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    game: GameDescription
    """What was played; its numbers of members and non-members count guesses."""

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.classifier.candidates_say import report

        return report(self)
