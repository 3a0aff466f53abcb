"""The result that is spoken of, and numbers about a release itself."""

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
    """How far an attack goes, on the scale of balanced accuracies."""

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
    """The one result that the verdict speaks of, corrected for having looked at many attacks."""

    attack: Evaluation
    """The attack that goes furthest, by its guesses or by its ranking."""
    accuracy: Estimate
    """Its balanced accuracy; the interval allows for the choice among all attacks."""
    auc: Estimate
    """Area under its ROC curve; the interval allows for the choice among all attacks."""
    epsilon: Estimate
    """Lower bound on epsilon (`low`), attack and threshold chosen on other records."""
    epsilon_attack: str
    """The attack behind that bound."""
    epsilon_limit: float
    """The largest bound that so many records could ever show."""
    each: float
    """The level of each interval at which those of all attacks hold together, in (0, 1)."""
    inverted: tuple[InvertedAttack, ...] = ()
    """Attacks that tell the sides apart the wrong way round, corrected for their number."""

    @property
    def reached(self) -> AttackReach:
        """How far the attack goes, by whichever goes further: its guesses or its ranking."""
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
    """An attack that finds many more members than guessing does, with hardly a false alarm."""

    attack: Evaluation
    """The attack."""
    rate: RateAtFpr
    """Where it does."""


def exposure(evaluations: Sequence[Evaluation]) -> Exposure | None:
    """Return where an attack finds at least ten times as many members as guessing would.

    Only resolved rates count, with the lower end of their interval, at an FPR of 1% and 0.1%;
    of several the one that exceeds guessing most.
    """
    rates = [(attack, exposed_rate(attack.tpr_at_fpr)) for attack in evaluations]
    found = [Exposure(attack, rate) for attack, rate in rates if rate is not None]
    return max(found, key=lambda e: e.rate.estimate.low / e.rate.fpr, default=None)
