"""What audits of a classifier found, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.direction import Inverted
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact, Headline, Reached, reached
from privacygauge.evaluate.more_models import Foretold
from privacygauge.evaluate.over_targets import SeveralTargets
from privacygauge.evaluate.per_target import Correlation, PerTarget
from privacygauge.evaluate.played import Attacks, GameDescription, Records
from privacygauge.evaluate.rates import mean
from privacygauge.evaluate.risk import Risk
from privacygauge.evaluate.slices import SliceTable
from privacygauge.report.axes import Axes
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Reported):
    """What an audit found, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    game: GameDescription
    """What was played."""
    evaluations: tuple[Evaluation, ...]
    """One an attack, in the order of the suite."""
    headline: Headline
    """What the verdict speaks of."""
    risk: Risk | Skipped
    """The privacy risk score."""
    slices: SliceTable | Skipped
    """Groups of records."""
    records: Records
    """One row a target."""
    facts: tuple[Fact, ...]
    """About the release."""
    targets: SeveralTargets | None = None
    """The same attacks on further targets, where a half-width was asked for."""
    more_models: tuple[Foretold, ...] = ()
    """What attacks would reach with more shadow models, where those there are can tell."""
    doubts: tuple[str, ...] = ()
    """Why the predictions may not be what they are said to be: no lack of a leak counts then."""

    @property
    def attacks(self) -> Attacks:
        """The attacks, and what to speak of."""
        groups = self.slices.announced if isinstance(self.slices, SliceTable) else ()
        return Attacks(self.game, self.evaluations, self.headline, self.level, groups)

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.classifier.says import report

        return report(self)

    def plot_roc(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Return axes with the ROC curve of every attack, log-log where asked for."""
        from privacygauge.report.attacks.plots import plot_roc

        return plot_roc(self.evaluations, ax, log=log)


@dataclass(frozen=True, eq=False, repr=False)
class CandidateAudit(Reported):
    """What the candidate-set game found, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    game: GameDescription
    """What was played; its numbers of members and non-members count guesses."""
    evaluations: tuple[Evaluation, ...]
    """One an attack, over all guesses; intervals allow for the repeated targets."""
    best: Evaluation
    """The strongest attack."""
    accuracy: Estimate
    """Its balanced accuracy; the interval allows for the choice among all attacks."""
    auc: Estimate
    """Area under its ROC curve; the interval allows for the choice among all attacks."""
    per_target: Mapping[str, PerTarget]
    """Attack title to the right guesses on each target."""
    targets: Ints
    """(t,) Rows of the attacked records."""
    measured: Floats | None
    """(measurements, t) PDTP of each target in each of the first iterations, where measured."""
    correlations: Mapping[str, Correlation | Skipped]
    """Attack title to the correlation of per-target accuracy with PDTP; empty without PDTP."""
    train_accuracy: Estimate
    """Mean accuracy of the target models on their training halves."""
    test_accuracy: Estimate
    """Mean accuracy of the target models on the other halves."""
    inverted: tuple[Inverted, ...] = ()
    """Attacks that tell the sides apart the wrong way round, corrected for their number."""

    @property
    def reached(self) -> Reached:
        """How far the attack goes, by whichever goes further: its guesses or its ranking."""
        return reached(self.accuracy, self.auc)

    @property
    def pdtp(self) -> Floats | None:
        """(t,) Mean PDTP of each target, where it was measured."""
        return None if self.measured is None else np.asarray(self.measured.mean(axis=0))

    @property
    def mean_pdtp(self) -> Estimate | None:
        """The mean PDTP over the targets."""
        pdtp = self.pdtp
        return None if pdtp is None else mean(pdtp, self.level, unit="targets")

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.classifier.candidates_say import report

        return report(self)
