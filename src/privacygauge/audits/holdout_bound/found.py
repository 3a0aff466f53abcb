"""What submissions to a test set can buy, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate
from privacygauge.holdout.gained import ATTACK, Allowed, Bias, BiasCurve
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class HoldoutBounds(Reported):
    """What submissions to a test set can buy, with ways to look at it."""

    origin: Origin
    """Where it comes from; a guarantee holds at least as often as its level says."""
    n: int
    """Points of the test set."""
    classes: int
    """Classes, m."""
    accounts: int
    """Accounts that submit."""
    per_account: int
    """Submissions of each."""
    guard: str
    """What stands between the accuracy and the analyst, as on the command line."""
    accuracy: float
    """True accuracy of honest submissions."""
    correlation: float
    """Between the errors of two honest submissions."""
    allowed_bias: float
    """What the owner of the test set can live with."""
    nats: float
    """Logarithm of the number of transcripts that the guard can produce."""
    biases: tuple[Bias, ...]
    """Every number, one a row."""
    simulated: Estimate | None
    """Bias of naive Bayes, played against the guard on uniform labels; None where not asked for."""
    allowed: tuple[Allowed, ...]
    """The question turned round."""
    per_label: float
    """How often a label is drawn, at a point and in a query: the smaller of k/m and n/m."""
    trusted: bool
    """Whether that is enough for the closed forms."""
    reconstruction: int | None
    """Random queries that determine every label in theory; None where the theorem is silent."""
    curves: tuple[BiasCurve, ...]
    """Bias against submissions."""

    @property
    def queries(self) -> int:
        """Submissions of all accounts together, k."""
        return self.accounts * self.per_account

    @property
    def chance(self) -> float:
        """The accuracy of a guess, 1/m."""
        return 1 / self.classes

    def bias(self, key: str) -> Bias:
        """Return the number of this name."""
        return next(found for found in self.biases if found.key == key)

    @property
    def strongest(self) -> Bias | None:
        """The attack that gains most of those known to apply; None where none is."""
        known = [found for found in self.biases if found.kind == ATTACK and found.applies]
        if self.simulated is not None:
            name, told = "naive Bayes, simulated", "played on uniform labels"
            known.append(Bias("nb_simulated", name, ATTACK, self.simulated.value, told))
        return max(known, key=lambda found: found.value, default=None)

    def report(self) -> Report:
        """Return everything that the bounds say, as plain values."""
        from privacygauge.audits.holdout_bound.says import report

        return report(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every number."""
        from privacygauge.audits.holdout_bound.says import numbers_frame

        return numbers_frame(self)

    def plot_curves(self, ax: Axes | None = None) -> Axes:
        """Return axes with bias against submissions, both logarithmic."""
        from privacygauge.audits.holdout_bound.says import plot_curves

        return plot_curves(self, ax)
