"""Results for one defence: attacks, privacy risk and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import BestAttack, Fact, Headline, best_attack, left_of
from privacygauge.evaluate.risk import Risk

RISK_QUANTILES = (0.5, 0.9, 0.99)
"""Levels of the reported quantiles of the members' risk."""


@dataclass(frozen=True, eq=False)
class AttackedDefence:
    """One attack without the defence and with it."""

    undefended: Evaluation
    """Evaluation on the undefended model."""
    non_adaptive: Evaluation
    """Evaluation on the defended model, by an adversary that learnt on undefended shadow
    answers."""
    adaptive: Evaluation
    """Evaluation on the defended model, by an adversary that also defends its shadow model."""
    lost: Estimate
    """Balanced accuracy on the undefended model minus that of the adaptive attack, in [-1, 1]."""

    @property
    def title(self) -> str:
        """The attack's name with its variant and kind of threshold."""
        return self.adaptive.title

    @property
    def by_adversary(self) -> dict[str, Evaluation]:
        """The three evaluations, each by the name of its game."""
        return {
            "undefended": self.undefended,
            "non-adaptive": self.non_adaptive,
            "adaptive": self.adaptive,
        }


@dataclass(frozen=True)
class RiskQuantile:
    """A quantile of the members' privacy risk scores, without the defence and with it."""

    share: float
    """Share of the members whose score is at most the quantile, in (0, 1)."""
    undefended: Estimate
    """The quantile on the undefended model, in [0, 1]."""
    defended: Estimate
    """The quantile for an adversary that also defends its shadow model, in [0, 1]."""


@dataclass(frozen=True)
class WorstRecord:
    """One of the records with the highest privacy risk score behind the defence."""

    id: str
    """Id given by the user, or the number of the row."""
    member: bool
    """Whether the record was in the training set."""
    undefended: float
    """Privacy risk score on the undefended model, in [0, 1]."""
    defended: float
    """Privacy risk score with the defence, in [0, 1]."""


@dataclass(frozen=True, eq=False)
class JudgedDefence:
    """One defence: the attacks on it, and its costs."""

    name: str
    """Name of the defence."""
    variant: str
    """Parameters of the defence, as reports print them."""
    attacks: tuple[AttackedDefence, ...]
    """All attacks, in the order given."""
    headline: Headline
    """The best adaptive attack, corrected for the number of attacks."""
    costs: tuple[Fact, ...]
    """Accuracy of the model without the defence and with it, and the share of changed classes."""
    distance: Estimate
    """Mean L1 distance between the released and the true answers, in [0, 2]."""
    risk: Risk
    """Privacy risk scores for an adversary that knows the defence."""
    quantiles: tuple[RiskQuantile, ...]
    """Quantiles of the members' risk."""
    worst: tuple[WorstRecord, ...]
    """The records with the highest risk behind the defence, in descending order."""

    @property
    def title(self) -> str:
        """The defence's name with its parameters."""
        return f"{self.name} ({self.variant})" if self.variant else self.name


def accuracy_lost(before: Decisions, after: Decisions, level: float = 0.95) -> Estimate:
    """Return the balanced accuracy of `before` minus that of `after`, in [-1, 1].

    Parameters
    ----------
    before, after : Decisions
        Guesses on the same rows, in the same order, with the same units.
    level : float
        In (0, 1).

    Returns
    -------
    Estimate
        Above 0 if the guesses became worse; `n` is the number of units.

    Raises
    ------
    InputError
        If targets or units differ.

    Notes
    -----
    The guesses are paired: records that both get right, or both wrong, add no variance. Interval of
    a difference of paired proportions by Bonett & Price (2012), with one record added to each kind
    of change, for members and non-members separately. If units repeat, the counts of changes are
    scaled to the effective number of records.
    """
    if not all(np.array_equal(getattr(before, x), getattr(after, x)) for x in ("target", "unit")):
        raise InputError("before and after must be guesses on the same targets and units")
    right = [(x.guess == x.secret).astype(np.float64) for x in (before, after)]
    value = balanced_accuracy(before).value - balanced_accuracy(after).value
    centre = 0.0
    variance = 0.0
    sides = (before.secret, ~before.secret)
    for side, worth in zip(sides, before.independent, strict=True):
        change = (right[0] - right[1])[side]
        # One added change of each kind, hence 2 more records.
        n = worth + 2
        worse, better = (
            np.count_nonzero(change == sign) * worth / len(change) + 1 for sign in (1, -1)
        )
        shift = (worse - better) / n
        # The balanced accuracy is the mean of two sides: a half of each shift, a quarter of each
        # variance.
        centre += shift / 2
        variance += ((worse + better) / n - shift**2) / n / 4
    half = float(ndtri(0.5 + checks.level(level) / 2)) * float(np.sqrt(variance))
    low = max(-1.0, centre - half)
    high = min(1.0, centre + half)
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        level=level,
        n=before.n_units,
        method="Bonett-Price, paired",
    )


def quantile(
    values: Floats, share: float, level: float = 0.95, *, worth: int | None = None
) -> Estimate:
    """Return the smallest value such that at least a given share of the values do not exceed it.

    Parameters
    ----------
    values : ndarray, shape (n,)
        At least one.
    share : float
        In (0, 1).
    level : float
        In (0, 1).
    worth : int, optional
        Effective number of independent values, in 1..n; default: n.

    Notes
    -----
    The limits are order statistics with binomial quantiles as ranks, so the interval holds for
    every distribution; with too few values it ends at the smallest or the largest.
    """
    # The ends, 0 and 1, have no order statistics on their far side.
    if not len(values) or not 0 < share < 1:
        raise InputError(f"a quantile needs values and a share in (0, 1), got {share}")
    ordered = np.sort(values)
    n = len(values)
    tail = (1 - checks.level(level)) / 2
    # n * share may be rounded to just above an integer.
    value = ordered[max(int(np.ceil(n * share - 1e-9)), 1) - 1]
    m = n if worth is None else worth
    # Ranks among m effective values, then scaled to places among all n, rounded outwards.
    ranks = (int(binom.ppf(tail, m, share)) - 1, int(binom.ppf(1 - tail, m, share)))
    low = ordered[max((ranks[0] + 1) * n // m - 1, 0)]
    high = ordered[min(-(-ranks[1] * n // m), n - 1)]
    return Estimate(
        value=float(value),
        low=float(min(low, value)),
        high=float(max(high, value)),
        level=level,
        n=m,
        method="order statistics",
    )


def risk_quantiles(before: Risk, after: Risk, level: float = 0.95) -> tuple[RiskQuantile, ...]:
    """Return quantiles of the members' risk scores without a defence and with it."""
    return tuple(
        RiskQuantile(
            share,
            quantile(before.member_scores, share, level, worth=before.independent),
            quantile(after.member_scores, share, level, worth=after.independent),
        )
        for share in RISK_QUANTILES
    )


# Comparison of a classifier's defences by the best attack on each, with joint intervals.


@dataclass(frozen=True, eq=False)
class AfterEpoch:
    """The undefended model after some epoch, as early stopping would have released it."""

    epoch: int
    """Epochs of training, at least 1."""
    train_accuracy: Estimate
    """Accuracy of the model on members, in [0, 1]."""
    accuracy: Estimate
    """Accuracy of the model on non-members, in [0, 1]."""
    best: BestAttack
    """Best attack, with shadow models stopped after the same epoch."""


@dataclass(frozen=True, eq=False)
class ComparedDefence:
    """One defence in a comparison."""

    judged: JudgedDefence
    """Attacks, costs and risk of this defence alone."""
    adaptive: BestAttack
    """Best attack by an adversary that also defends its shadow model."""
    non_adaptive: BestAttack
    """Best attack by an adversary that learnt on undefended shadow answers."""
    undone: bool
    """Whether the true answers can be computed from the defended ones, given the defence."""
    left: BestAttack
    """The attack that counts: the stronger of the two, or the one on undefended answers if the
    defence can be undone and that one is stronger still."""
    at_training: bool = False
    """Whether the model was retrained; a defence on answers leaves it unchanged."""
    stopped: AfterEpoch | Skipped | None = None
    """For a defence at training: the undefended model after the first epoch at which shadow models
    are at least as accurate as with the defence."""
    claim: PrivacyClaim | None = None
    """The accountant's (epsilon, delta) if the defence is differentially private, else None."""

    @property
    def ignored(self) -> bool:
        """Whether the non-adaptive adversary is the stronger one: ignoring the defence pays."""
        return self.by(self.non_adaptive)

    def by(self, reached: BestAttack) -> bool:
        """Return whether `left` is the result of this adversary."""
        if self.left.reached.by_ranking:
            return self.left.auc is reached.auc
        return self.left.accuracy is reached.accuracy

    @property
    def worth(self) -> str:
        """Leak compared with early stopping: significantly ``less`` or ``more``, else ``alike``.

        By jointly valid intervals; empty if there is nothing to compare.
        """
        if not isinstance(self.stopped, AfterEpoch):
            return ""
        early = self.stopped.best
        if self.left.at_most < early.reached.accuracy.low:
            return "less"
        return "more" if self.left.reached.accuracy.low > early.at_most else "alike"

    @property
    def title(self) -> str:
        """The defence's name with its parameters."""
        return self.judged.title

    @property
    def before(self) -> Estimate:
        """Accuracy of the model on non-members without the defence."""
        return self._cost("accuracy on non-members without the defence")

    @property
    def after(self) -> Estimate:
        """Accuracy of the model on non-members with the defence."""
        return self._cost("accuracy on non-members with the defence")

    @property
    def changed(self) -> Estimate:
        """Share of the records whose predicted class changed."""
        return self._cost("share of records whose predicted class changed")

    def _cost(self, label: str) -> Estimate:
        return next(fact.estimate for fact in self.judged.costs if fact.label == label)


@dataclass(frozen=True, eq=False, repr=False)
class ComparedDefences:
    """Results of all attacks on the undefended model and behind each defence."""

    undefended: Headline
    """The best attack on the undefended model, corrected for the number of attacks."""
    risk: Risk
    """The privacy risk score on the undefended model."""
    none: BestAttack
    """The best attack on the undefended model, corrected for all games and attacks."""
    compared: tuple[ComparedDefence, ...]
    """One result per defence, in the order given; jointly valid with `none`."""
    n_in: int
    """Members among the judged records."""
    n_out: int
    """Non-members among the judged records."""
    n_shadows: int = 0
    """Shadow models trained in the same way as each target; 0 if a shadow model's predictions were
    given."""
    curve: tuple[AfterEpoch, ...] = ()
    """The undefended model epoch by epoch, jointly valid with all other results; empty if it was
    not trained in epochs, or not by the audit."""

    @property
    def defences(self) -> tuple[JudgedDefence, ...]:
        """The defences one by one, in the order given."""
        return tuple(c.judged for c in self.compared)

    @property
    def trained(self) -> tuple[ComparedDefence, ...]:
        """The defences that retrained a model."""
        return tuple(c for c in self.compared if c.at_training)

    @property
    def best(self) -> ComparedDefence:
        """The defence that leaves the weakest attack; of equals, the one that changes least.

        A defence behind which attacks are inverted comes last: it hides a leak.
        """
        return min(
            self.compared,
            key=lambda c: (c.left.untold, c.left.reached.accuracy.value, c.judged.distance.value),
        )

    @property
    def n_attacks(self) -> int:
        """Number of attacks per game."""
        return len(self.compared[0].judged.attacks)

    def helps(self, c: ComparedDefence) -> bool:
        """Return whether every attack behind a defence is significantly weaker than without it."""
        return c.left.at_most < self.none.reached.accuracy.low

    @property
    def gentler(self) -> ComparedDefence | None:
        """A defence that is not significantly worse than the best and changes answers less.

        Of several, the one that changes least; None if there is none, or if the best does not help.
        """
        best = self.best
        if not self.helps(best):
            return None
        # Not significantly worse by accuracy and by AUC, significantly gentler, and no less
        # accurate.
        rivals = (
            c
            for c in self.compared
            if c is not best
            and self.helps(c)
            and c.left.reached.accuracy.low <= best.left.reached.accuracy.high
            and c.left.auc.low <= best.left.auc.high
            and c.judged.distance.high < best.judged.distance.low
            and c.after.value >= best.after.value
            # A retrained model's answers change for other reasons: the distances are not
            # comparable.
            and not (c.at_training or best.at_training)
        )
        return min(rivals, key=lambda c: c.judged.distance.value, default=None)

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping per defence, attack and adversary."""
        return [
            {
                "defence": judged.title,
                "attack": attacked.title,
                "adversary": adversary,
                "n": evaluation.accuracy.n,
                "level": evaluation.accuracy.level,
                "accuracy": evaluation.accuracy.value,
                "accuracy low": evaluation.accuracy.low,
                "accuracy high": evaluation.accuracy.high,
                "accuracy method": evaluation.accuracy.method,
                "auc": evaluation.auc.value,
                "auc low": evaluation.auc.low,
                "auc high": evaluation.auc.high,
                "auc method": evaluation.auc.method,
            }
            for judged in self.defences
            for attacked in judged.attacks
            for adversary, evaluation in attacked.by_adversary.items()
        ]


def compare_defences(
    undefended: Sequence[Evaluation],
    defences: Sequence[JudgedDefence],
    undone: Sequence[bool],
    level: float,
    *,
    beside: int = 0,
) -> tuple[BestAttack, tuple[ComparedDefence, ...]]:
    """Return the best attack without a defence, and behind each defence.

    If a defence can be `undone`, the adversary may attack the undefended model. `beside` is the
    number of further games with which the intervals are jointly valid.

    Notes
    -----
    Bonferroni over all attacks on the undefended model, and behind each defence by both kinds of
    adversaries: all intervals are jointly valid. An adversary that knows a defence may ignore it,
    so the result behind the defence is never below that of the non-adaptive adversary.
    """
    n = n_together(len(undefended), len(defences), beside)
    none = best_attack(undefended, n, level)
    found = []
    for one, invertible in zip(defences, undone, strict=True):
        adaptive = best_attack([a.adaptive for a in one.attacks], n, level)
        surprised = best_attack([a.non_adaptive for a in one.attacks], n, level)
        left = left_of(adaptive, surprised, none if invertible else None)
        found.append(
            ComparedDefence(
                judged=one, adaptive=adaptive, non_adaptive=surprised, undone=invertible, left=left
            )
        )
    return none, tuple(found)


def n_together(attacks: int, defences: int, beside: int = 0) -> int:
    """Return the number of comparisons to correct for: attacks times games.

    Two games per defence (adaptive and non-adaptive), one without, and `beside` further ones.
    """
    return attacks * (2 * defences + 1 + beside)
