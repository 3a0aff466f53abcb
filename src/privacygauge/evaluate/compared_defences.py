"""Comparison of a classifier's defences by their best attacks, with jointly valid intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.best_attack import BestAttack, best_attack, left_of
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.defences import JudgedDefence
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.risk import Risk


@dataclass(frozen=True, eq=False)
class AfterEpoch:
    """The undefended model after an epoch, as early stopping would have released it."""

    epoch: int
    """Epochs of training, at least 1."""
    train_accuracy: Estimate
    """The model's accuracy on members."""
    accuracy: Estimate
    """Its accuracy on non-members."""
    best: BestAttack
    """Best attack by an adversary whose shadow models were stopped after the same epoch."""


@dataclass(frozen=True, eq=False)
class ComparedDefence:
    """One defence in a comparison."""

    judged: JudgedDefence
    """Results for the defence by itself."""
    adaptive: BestAttack
    """Best attack by an adversary that defends its shadow model too."""
    non_adaptive: BestAttack
    """Best attack by an adversary that learnt on undefended shadow answers."""
    undone: bool
    """Whether an adversary that knows the defence can compute the true answers from its answers."""
    left: BestAttack
    """The attack that counts: the stronger of the two, or the one on the undefended answers where
    the defence can be undone."""
    at_training: bool = False
    """Whether the model was trained again; a defence on answers leaves it as it is."""
    stopped: AfterEpoch | Skipped | None = None
    """For a defence at training: the undefended model after the first epoch whose accuracy, by
    shadow models, is not below the defended one's."""
    claim: PrivacyClaim | None = None
    """The accountant's (epsilon, delta), where the defence is differentially private."""

    @property
    def ignored(self) -> bool:
        """Whether the adversary that does not know the defence attacks better."""
        return self.by(self.non_adaptive)

    def by(self, reached: BestAttack) -> bool:
        """Return whether `left` is the result of this adversary."""
        if self.left.reached.by_ranking:
            return self.left.auc is reached.auc
        return self.left.accuracy is reached.accuracy

    @property
    def worth(self) -> str:
        """Whether it leaves ``less`` than early stopping, ``more``, or ``alike``.

        Significantly, by the jointly valid intervals; empty where there is nothing to compare.
        """
        if not isinstance(self.stopped, AfterEpoch):
            return ""
        early = self.stopped.best.reached.accuracy
        left = self.left.reached.accuracy
        if left.high < early.low:
            return "less"
        return "more" if left.low > early.high else "alike"

    @property
    def title(self) -> str:
        """The defence's name with its parameters."""
        return self.judged.title

    @property
    def before(self) -> Estimate:
        """The model's accuracy on non-members without the defence."""
        return self._cost("accuracy on non-members without the defence")

    @property
    def after(self) -> Estimate:
        """The model's accuracy on non-members with the defence."""
        return self._cost("accuracy on non-members with the defence")

    @property
    def changed(self) -> Estimate:
        """The share of the records whose predicted class changed."""
        return self._cost("share of records whose predicted class changed")

    def _cost(self, label: str) -> Estimate:
        return next(fact.estimate for fact in self.judged.costs if fact.label == label)


@dataclass(frozen=True, eq=False, repr=False)
class ComparedDefences:
    """Results of the attacks on the undefended model and behind each defence."""

    undefended: Headline
    """The best attack on the undefended model, corrected for the choice."""
    risk: Risk
    """The privacy risk score on the undefended model."""
    none: BestAttack
    """The best attack on the undefended model, corrected for all comparisons."""
    compared: tuple[ComparedDefence, ...]
    """One result per defence, in the order given; jointly valid with `none`."""
    n_in: int
    """Members among the judged records."""
    n_out: int
    """Non-members among the judged records."""
    n_shadows: int = 0
    """Shadow models that were trained in the same way as each target; 0 where predictions of one
    were given."""
    curve: tuple[AfterEpoch, ...] = ()
    """The undefended model epoch by epoch, which holds together with all else; empty where it was
    not trained in epochs, or not here."""

    @property
    def defences(self) -> tuple[JudgedDefence, ...]:
        """Every defence by itself, in the order they were given."""
        return tuple(c.judged for c in self.compared)

    @property
    def trained(self) -> tuple[ComparedDefence, ...]:
        """The defences that trained a model again."""
        return tuple(c for c in self.compared if c.at_training)

    @property
    def best(self) -> ComparedDefence:
        """The defence that leaves least to attack; of equals the one that changes least.

        A defence behind which attacks take members for non-members comes last: it hides a leak.
        """
        return min(
            self.compared,
            key=lambda c: (c.left.untold, c.left.reached.accuracy.value, c.judged.distance.value),
        )

    @property
    def n_attacks(self) -> int:
        """Number of attacks in every game."""
        return len(self.compared[0].judged.attacks)

    def helps(self, c: ComparedDefence) -> bool:
        """Return whether a defence leaves significantly less to attack."""
        return c.left.reached.accuracy.high < self.none.reached.accuracy.low

    @property
    def gentler(self) -> ComparedDefence | None:
        """The defence that is as good as the best, as far as anybody can tell, and changes less.

        None where there is none, or the best does not help; of several, the one that changes least.
        """
        best = self.best
        if not self.helps(best):
            return None
        rivals = (
            c
            for c in self.compared
            if c is not best
            and self.helps(c)
            and c.left.reached.accuracy.low <= best.left.reached.accuracy.high
            and c.left.auc.low <= best.left.auc.high
            and c.judged.distance.high < best.judged.distance.low
            and c.after.value >= best.after.value
            and not (c.at_training or best.at_training)
        )
        return min(rivals, key=lambda c: c.judged.distance.value, default=None)

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping for every defence, attack and adversary."""
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
    """Return the best attack without a defence, and with each of them.

    Where a defence can be `undone`, the adversary attacks the undefended model. `beside` is the
    number of further games whose best attacks are jointly valid with these.

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
    """Return the number of results of each kind that a comparison is corrected for."""
    return attacks * (2 * defences + 1 + beside)
