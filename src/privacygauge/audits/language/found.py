"""What an audit of a language model found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.played import Attacks, GameDescription, Records
from privacygauge.language.matching import MatchedAttack
from privacygauge.language.texts import Texts
from privacygauge.language.units import LengthFindings, PatientRows, UnitFindings
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class ControlFinding:
    """How well something tells members from non-members that never saw the audited model."""

    name: str
    """``reference``, ``blind`` or ``sizes``."""
    auc: Estimate
    """Its area under the ROC curve; the intervals of all controls hold together."""
    fires: bool
    """Whether it tells them apart significantly."""
    meaning: str
    """What it says if it fires, in a sentence."""


@dataclass(frozen=True, eq=False)
class Controls:
    """Is the test honest? None of these sees what was memorised."""

    reference: ControlFinding | Skipped
    """The reference model's energy alone, which saw no member."""
    blind: ControlFinding | Skipped
    """A classifier that sees the words and no model."""
    matched: MatchedAttack | Skipped
    """The attack after members and non-members were made alike in reference energy."""
    sizes: ControlFinding | Skipped
    """The number of a patient's texts alone."""

    @property
    def fired(self) -> tuple[str, ...]:
        """The names of all controls that tell members from non-members."""
        unequal = not isinstance(self.sizes, Skipped) and self.sizes.fires
        return (*self.void, *(("sizes",) if unequal else ()))

    @property
    def void(self) -> tuple[str, ...]:
        """The names of those after which no number is evidence: all but ``sizes``.

        The attack on patients compares equally many texts, and the intervals of samples count
        patients, so that unequal numbers of texts are allowed for.
        """
        return tuple(name for name, found in self.played if found.fires)

    @property
    def played(self) -> tuple[tuple[str, ControlFinding | MatchedAttack], ...]:
        """The controls of the texts themselves that could be played, by name."""
        every = (("reference", self.reference), ("blind", self.blind), ("matched", self.matched))
        return tuple((name, x) for name, x in every if not isinstance(x, Skipped))


@dataclass(frozen=True, eq=False)
class Energies:
    """What the scores of the judged samples were made of."""

    target: Floats
    """(n,) Energy under the audited model; lower means more likely."""
    reference: Floats | None
    """(n,) Energy under the reference model."""
    group: Texts | None = field(repr=False)
    """(n,) The patient of each sample."""
    signal: str
    """Which signal the score of a record is: ``likelihood-ratio``, or ``loss`` without a
    reference model."""
    score: Floats
    """(n,) That signal; higher means more likely a member."""


@dataclass(frozen=True, eq=False, repr=False)
class LanguageAudit(Reported):
    """What an audit of a language model found, with ways to look at it."""

    origin: Origin
    """Where it comes from; the intervals of the controls hold together at its level."""
    game: GameDescription
    """What was played."""
    samples: UnitFindings
    """Sample by sample."""
    patients: UnitFindings | Skipped
    """Patient by patient."""
    lengths: tuple[LengthFindings, ...]
    """Short and long samples apart."""
    controls: Controls
    """Whether members and non-members differ in more than membership."""
    records: Records
    """One row for every judged sample."""
    energies: Energies
    """Of the same rows."""
    rows: PatientRows | None
    """One row for every judged patient; None without a patient level."""
    one_run: PrivacyBound | None = None
    """Lower bound on epsilon of one person; None where no coins were dealt before training."""

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """The attacks, sample by sample."""
        return self.samples.evaluations

    @property
    def headline(self) -> Headline:
        """What to speak of, sample by sample."""
        return self.samples.headline

    @property
    def units(self) -> tuple[UnitFindings, ...]:
        """What was played: samples, and patients where there are some."""
        return (self.samples, *(() if isinstance(self.patients, Skipped) else (self.patients,)))

    def attacks(self, unit: UnitFindings) -> Attacks:
        """Return the attacks on samples, or on patients, in the form that reports share."""
        game = replace(self.game, n_in=unit.n_in, n_out=unit.n_out)
        return Attacks(game, unit.evaluations, unit.headline, self.level)

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.language.says import report

        return report(self)

    def plot_roc(self, ax: Axes | None = None, *, log: bool = True) -> Axes:
        """Return axes with the ROC curve of every signal, log-log unless asked otherwise."""
        from privacygauge.report.attacks.plots import plot_roc

        return plot_roc(self.samples.signals, ax, log=log)
