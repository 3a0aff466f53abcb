"""The headline result of an audit or of one game, and numbers about the release itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.direction import InvertedAttack, inverted_attacks
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.rate_at_fpr import RateAtFpr, exposed_rate
from privacygauge.evaluate.roc import auc, supported_accuracy


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
    auc_low: float = 0.0
    """Highest lower limit of all attacks' AUCs, corrected for the choice among them; 0 for that of
    `auc`."""

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


# The best attack of one game, corrected for multiple comparisons.


@dataclass(frozen=True)
class BestAttack:
    """The best attack of one game, by accuracy and by AUC, corrected for multiple comparisons."""

    attack: str
    """Title of the attack whose balanced accuracy has the highest lower limit; if none is above
    1/2, the highest value."""
    accuracy: Estimate
    """Balanced accuracy of `attack`, in [0, 1]; 1/2 is chance."""
    auc_attack: str
    """Title of the attack whose AUC has the highest lower limit; if none is above 1/2, the highest
    value."""
    auc: Estimate
    """AUC of `auc_attack`, in [0, 1]; 1/2 is chance."""
    inverted: tuple[InvertedAttack, ...] = ()
    """Attacks whose AUC is below 1/2, corrected for the same comparisons."""
    highest: float = 0.0
    """Largest upper limit of all attacks' accuracies, by guesses or by ranking; 0 if unknown."""

    @property
    def reached(self) -> AttackReach:
        """The better supported accuracy, from the guesses or from the ranking."""
        return best_supported(self.accuracy, self.auc)

    @property
    def at_most(self) -> float:
        """Upper limit of the accuracy that any attack of this game reaches, in [1/2, 1].

        The attack with the highest lower limit may have a narrow interval, because it guesses the
        same of nearly every record; another attack may then reach further than its upper limit.
        """
        return max(self.highest, self.reached.accuracy.high)

    @property
    def advantage(self) -> tuple[float, float, float]:
        """The advantage with the limits of its interval, in percentage points."""
        found = self.reached.accuracy
        return 200 * found.value - 100, 200 * found.low - 100, 200 * found.high - 100

    @property
    def leading(self) -> str:
        """Title of the strongest attack."""
        return self.auc_attack if self.reached.by_ranking else self.attack

    @property
    def untold(self) -> bool:
        """Whether no attack finds a leak and at least one is significantly inverted."""
        return bool(self.inverted) and max(self.accuracy.low, self.auc.low) <= 0.5


def best_attack(evaluations: Sequence[Evaluation], n_compared: int, level: float) -> BestAttack:
    """Return the attacks with the best supported accuracy and AUC.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        At least one attack; one row per target.
    n_compared : int
        Number of comparisons of each kind that the intervals are corrected for.
    level : float
        In (0, 1).
    """
    # Intervals at this level are jointly valid.
    each = 1 - (1 - level) / n_compared
    accuracies = []
    transcripts = []
    for e in evaluations:
        # Rebuilt from the four counts: an evaluation keeps no guesses of single rows.
        hits = e.true_positives
        alarms = e.false_positives
        counts = (hits, e.n_in - hits, alarms, e.n_out - alarms)
        guess, secret = (
            np.repeat(np.array(pattern, np.bool_), counts)
            for pattern in ((1, 0, 1, 0), (1, 1, 0, 0))
        )
        accuracies.append(balanced_accuracy(Decisions(guess, secret, rule=e.rule), each))
        # The ROC curve keeps the sorted scores of each side, which is all that the AUC needs.
        score = np.concatenate([e.roc.members, e.roc.nonmembers])
        transcripts.append(Transcript(score, np.arange(len(score)) < e.roc.n_in))
    areas = [
        auc(transcript, each, curve=e.roc)
        for e, transcript in zip(evaluations, transcripts, strict=True)
    ]
    places = []
    for together in (accuracies, areas):
        # By lower limits: the maximum of the values would favour attacks with wide intervals. Where
        # nothing is shown, an attack that guesses the same of every record has the highest limit,
        # as its interval around 1/2 is narrow, and says nothing: there the values decide.
        lows = [estimate.low for estimate in together]
        shown = max(lows) > 0.5
        places.append(int(np.argmax(lows if shown else [x.value for x in together])))
    accuracy, area = (
        replace(found, level=level, method=f"{found.method}, Bonferroni over {n_compared} results")
        for found in (accuracies[places[0]], areas[places[1]])
    )
    below = [
        (e.title, transcript)
        for e, transcript in zip(evaluations, transcripts, strict=True)
        if e.auc.high < 0.5
    ]
    turned = inverted_attacks(below, level, looks=n_compared)
    return BestAttack(
        attack=evaluations[places[0]].title,
        accuracy=accuracy,
        auc_attack=evaluations[places[1]].title,
        auc=area,
        inverted=turned,
        highest=max(x.high for x in (*accuracies, *map(supported_accuracy, areas))),
    )


def left_of(adaptive: BestAttack, surprised: BestAttack, undone: BestAttack | None) -> BestAttack:
    """Return the attack that counts behind a defence: the adaptive one, unless another beats it.

    Parameters
    ----------
    adaptive, surprised : BestAttack
        Best attacks by an adversary that knows the defence, and by one that does not.
    undone : BestAttack or None
        Best attack on the undefended model if the defence can be undone, else None.
    """
    # A higher lower limit alone may come from a narrower interval; the value must be higher too.
    a = adaptive.accuracy
    b = surprised.accuracy
    accuracy = surprised if b.low > a.low and b.value > a.value else adaptive
    a = adaptive.auc
    b = surprised.auc
    ranked = surprised if b.low > a.low and b.value > a.value else adaptive
    if undone is not None:
        # An adversary who can undo the defence has whichever attack is better supported.
        accuracy = max(accuracy, undone, key=lambda b: b.accuracy.low)
        ranked = max(ranked, undone, key=lambda b: b.auc.low)
    # An adversary that knows that an attack is inverted reverses its scores: keep them all.
    games = (adaptive, surprised, *(() if undone is None else (undone,)))
    turned = tuple(attack for game in games for attack in game.inverted)
    return BestAttack(
        attack=accuracy.attack,
        accuracy=accuracy.accuracy,
        auc_attack=ranked.auc_attack,
        auc=ranked.auc,
        inverted=turned,
        # The people behind the data do not choose their adversary: the most successful one counts.
        highest=max(game.at_most for game in games),
    )
