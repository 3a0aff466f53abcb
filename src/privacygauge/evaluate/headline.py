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
    """The success of an attack, on the scale of balanced accuracies."""

    accuracy: Estimate
    """Balanced accuracy of its guesses, or a lower bound for its ranking's best threshold."""
    by_ranking: bool
    """Whether the ranking decided: the threshold of the guesses did not carry over."""


def best_supported(accuracy: Estimate, auc: Estimate) -> AttackReach:
    """Return the better supported of two accuracies: of the guesses, or of the ranking.

    Parameters
    ----------
    accuracy : Estimate
        Balanced accuracy of guesses, whose threshold was chosen on other rows.
    auc : Estimate
        Area under the ROC curve of the scores.

    Returns
    -------
    AttackReach
        The accuracy itself, unless the lower end of `supported_accuracy` is higher, and above 1/2.
    """
    ranked = supported_accuracy(auc)
    by_ranking = ranked.low > max(0.5, accuracy.low)
    return AttackReach(ranked if by_ranking else accuracy, by_ranking)


@dataclass(frozen=True)
class Headline:
    """The one result that the verdict is based on, corrected for the number of attacks."""

    attack: Evaluation
    """The strongest attack, by its guesses or by its ranking."""
    accuracy: Estimate
    """Its balanced accuracy; the interval allows for the choice among all attacks."""
    auc: Estimate
    """Area under its ROC curve; the interval allows for the choice among all attacks."""
    epsilon: Estimate
    """Lower bound on epsilon (`low`), attack and threshold chosen on other records."""
    epsilon_attack: str
    """The attack behind that bound."""
    epsilon_limit: float
    """The largest bound that this number of records can show."""
    each: float
    """Level of each interval at which those of all attacks are jointly valid, in (0, 1)."""
    inverted: tuple[InvertedAttack, ...] = ()
    """Attacks that tell the sides apart the wrong way round, corrected for their number."""

    @property
    def reached(self) -> AttackReach:
        """The better supported accuracy: of its guesses or of its ranking."""
        return best_supported(self.accuracy, self.auc)


@dataclass(frozen=True)
class Fact:
    """A number about the release itself, such as the model's accuracy on non-members."""

    label: str
    """Label of the number, as reports print it."""
    estimate: Estimate
    """The number."""


@dataclass(frozen=True, eq=False)
class Exposure:
    """An attack that finds many more members than guessing at a low false-positive rate."""

    attack: Evaluation
    """The attack."""
    rate: RateAtFpr
    """The true-positive rate at that false-positive rate."""


def exposure(evaluations: Sequence[Evaluation]) -> Exposure | None:
    """Return the rate at which an attack finds at least ten times as many members as guessing.

    Only resolved rates count, with the lower end of their interval, at an FPR of 1% and 0.1%;
    of several the one that exceeds guessing most.
    """
    rates = [(attack, exposed_rate(attack.tpr_at_fpr)) for attack in evaluations]
    found = [Exposure(attack, rate) for attack, rate in rates if rate is not None]
    return max(found, key=lambda e: e.rate.estimate.low / e.rate.fpr, default=None)
