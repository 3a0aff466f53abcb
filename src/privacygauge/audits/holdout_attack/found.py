"""What attacks made of a test set's own labels, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.holdout.contest import Guarded, Result
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class HoldoutAudit(Reported):
    """What attacks made of a test set's own labels, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    n: int
    """Points of the test set."""
    metric: str
    """How submissions are scored, such as ``accuracy``."""
    most: float
    """All there is to gain, from chance to a score of 1."""
    classes: int
    """Classes, m; 0 where hidden values are numbers."""
    queries: int
    """Submissions that each attack may make, k."""
    trials: int
    """Independent plays of each attack against each guard."""
    knowledge: str
    """What the attacker knew before, in words."""
    largest_class: float
    """Share of the most frequent hidden value."""
    model_accuracy: float | None
    """Accuracy of the base model; None without one."""
    results: tuple[Result, ...]
    """One an attack and a guard, attacks in the order of the table."""
    guards: tuple[Guarded, ...]
    """One a guard."""
    honest: float
    """Expected bias of the best of k honest submissions, at most."""
    honest_accuracy: float
    """Their true accuracy, or score."""

    @property
    def scored(self) -> str:
        """What submissions are shown, as a word in a sentence: accuracy, or score."""
        return "accuracy" if self.metric == "accuracy" else "score"

    @property
    def worst(self) -> Result:
        """The strongest attack, and the guard that let it."""
        return max(self.results, key=_reach)

    @property
    def attacks(self) -> tuple[str, ...]:
        """The attacks that were played, in their order."""
        return tuple(dict.fromkeys(r.attack for r in self.results))

    def of(self, attack: str, guard: str) -> Result:
        """Return what an attack came to behind a guard."""
        return next(r for r in self.results if (r.attack, r.guard) == (attack, guard))

    def worst_behind(self, guard: str) -> Result:
        """Return the result of the strongest attack behind a guard."""
        return max((r for r in self.results if r.guard == guard), key=_reach)

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.holdout_attack.says import report

        return report(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every attack and guard."""
        from privacygauge.audits.holdout_attack.says import results_frame

        return results_frame(self)

    def plot_biases(self, ax: Axes | None = None) -> Axes:
        """Return axes with the bias of every attack behind every guard."""
        from privacygauge.audits.holdout_attack.says import plot_biases

        return plot_biases(self, ax)


def _reach(r: Result) -> tuple[float, float]:
    # By the accuracy at the end, not by the bias: an attack that throws a good model away and
    # starts from a guess gains more and has less.
    return r.baseline + r.corrected.low, r.accuracy.value
