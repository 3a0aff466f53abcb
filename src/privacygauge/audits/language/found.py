"""What an audit of a language model found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privacygauge.evaluate.played import Attacks, GameDescription
from privacygauge.language.audited import Audited
from privacygauge.language.units import UnitFindings
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class LanguageAudit(Reported, Audited):
    """What an audit of a language model found, with ways to look at it."""

    origin: Origin
    """Where it comes from; the intervals of the controls hold together at its level."""
    game: GameDescription
    """What was played."""

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
