"""Result of an audit of a language model, as values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privacygauge.evaluate.played import Attacks, GameDescription
from privacygauge.language.audited import EnergyFindings
from privacygauge.language.units import UnitFindings
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class LanguageResult(Reported, EnergyFindings):
    """Values that a `LanguageAudit` reports."""

    origin: Origin
    """Origin of the findings; the intervals of the controls hold jointly at its level."""
    game: GameDescription
    """Description of the game."""

    def attacks(self, unit: UnitFindings) -> Attacks:
        """Return the attacks on samples, or on patients, in the form that reports share.

        People are those of both: the questions besides the average go with the samples.
        """
        game = replace(self.game, n_in=unit.n_in, n_out=unit.n_out)
        of_samples = unit is self.samples
        groups = () if self.slices is None or not of_samples else self.slices.announced
        return Attacks(
            game=game,
            evaluations=unit.evaluations,
            headline=unit.headline,
            level=self.level,
            groups=groups,
            questions=self.questions if of_samples else None,
        )

    def spoken(self, unit: UnitFindings) -> Attacks:
        """Return the attacks in the verdict."""
        return replace(self.attacks(unit), evaluations=unit.spoken)

    def plot_roc(self, ax: Axes | None = None, *, log: bool = True) -> Axes:
        """Plot the ROC curve of every signal, by default on logarithmic axes."""
        from privacygauge.report.attacks.plots import plot_roc

        return plot_roc(self.samples.signals, ax, log=log)
