"""The headline result of an audit, and numbers about the release itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.rate_at_fpr import RateAtFpr, exposed_rate
from privacygauge.evaluate.roc import supported_accuracy


@dataclass(frozen=True)
class AttackReach:
    """Success of an attack on the scale of balanced accuracy."""

    accuracy: Estimate
    """Balanced accuracy of its guesses, or a lower bound for the best threshold on its ranking."""
    by_ranking: bool
    """Whether the ranking supports more than the guesses, whose threshold did not carry over."""


def best_supported(accuracy: Estimate, auc: Estimate) -> AttackReach:
    """Return the better supported accuracy, from the guesses or from the ranking.

    Parameters
    ----------
    accuracy : Estimate
        Balanced accuracy of guesses with a threshold chosen on other rows.
    auc : Estimate
        Area under the ROC curve of the scores.

    Returns
    -------
    AttackReach
        The given accuracy, unless the lower limit of `supported_accuracy` is higher and above 1/2.
    """
    ranked = supported_accuracy(auc)
    by_ranking = ranked.low > max(0.5, accuracy.low)
    return AttackReach(ranked if by_ranking else accuracy, by_ranking)


@dataclass(frozen=True)
class Headline:
    """The result that the verdict is based on, corrected for the number of attacks."""

    attack: Evaluation
    """The strongest attack, by its guesses or by its ranking."""
    accuracy: Estimate
    """Balanced accuracy of `attack`; the interval is corrected for the choice among all attacks."""
    auc: Estimate
    """AUC of `attack`; the interval is corrected for the choice among all attacks."""
    epsilon: Estimate
    """Lower bound on epsilon (`low`), with attack and threshold chosen on other records."""
    epsilon_attack: str
    """Title of the attack behind the bound on epsilon."""
    epsilon_limit: float
    """Bound on epsilon of a perfect attack on this number of records."""
    each: float
    """Level of each single interval at which all attacks' are jointly valid, in (0, 1)."""
    inverted: tuple[InvertedAttack, ...] = ()
    """Attacks that rank non-members above members, corrected for their number."""

    @property
    def reached(self) -> AttackReach:
        """The better supported accuracy, from the guesses or from the ranking."""
        return best_supported(self.accuracy, self.auc)


@dataclass(frozen=True)
class Fact:
    """A number about the release itself, such as the model's accuracy on non-members."""

    label: str
    """Label of the number, as reports print it."""
    estimate: Estimate
    """The number with its interval."""


@dataclass(frozen=True, eq=False)
class Exposure:
    """An attack that finds many more members than guessing does at a low false-positive rate."""

    attack: Evaluation
    """The attack."""
    rate: RateAtFpr
    """True-positive rate at that false-positive rate."""


def exposure(evaluations: Sequence[Evaluation]) -> Exposure | None:
    """Return the attack and rate with at least ten times as many members as guessing, or None.

    Only resolved rates count, by their lower limit, at an FPR of 1% and 0.1%; of several, the one
    with the largest ratio to guessing.
    """
    rates = [(attack, exposed_rate(attack.tpr_at_fpr)) for attack in evaluations]
    found = [Exposure(attack, rate) for attack, rate in rates if rate is not None]
    return max(found, key=lambda e: e.rate.estimate.low / e.rate.fpr, default=None)
