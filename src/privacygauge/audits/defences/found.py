"""What audits of defences found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.best_attack import BestAttack
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.defences import JudgedDefence
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.risk import Risk
from privacygauge.report.axes import Axes
from privacygauge.report.document import DataFrame, ends, frame
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


@dataclass(frozen=True, eq=False)
class AfterEpoch:
    """The undefended model after an epoch: what stopping there would have released."""

    epoch: int
    """Epochs that were made."""
    train_accuracy: Estimate
    """The model's accuracy on members."""
    accuracy: Estimate
    """Its accuracy on non-members."""
    best: BestAttack
    """By an adversary whose shadow models were stopped after the same epoch."""


@dataclass(frozen=True, eq=False)
class ComparedDefence:
    """One defence beside the others."""

    judged: JudgedDefence
    """All that was found about it."""
    adaptive: BestAttack
    """By an adversary who defends its own shadow model too."""
    non_adaptive: BestAttack
    """By an adversary who learnt on undefended shadow answers."""
    undone: bool
    """Whether who knows the defence can compute the true answers from the defended ones."""
    left: BestAttack
    """What counts: whoever goes further of the two, and with the undefended answers where the
    defence can be undone."""
    at_training: bool = False
    """Whether the model was trained again; a defence on answers leaves it as it is."""
    stopped: AfterEpoch | Skipped | None = None
    """Of a defence at training: the undefended model after the first epoch whose accuracy, by
    shadow models, is not below the defended one's."""
    claim: PrivacyClaim | None = None
    """What an accountant says of it, where it is differentially private."""

    @property
    def ignored(self) -> bool:
        """Whether the adversary who does not know the defence goes further."""
        return self.by(self.non_adaptive)

    def by(self, reached: BestAttack) -> bool:
        """Return whether what is left is what this adversary reaches."""
        if self.left.reached.by_ranking:
            return self.left.auc is reached.auc
        return self.left.accuracy is reached.accuracy

    @property
    def worth(self) -> str:
        """Whether it leaves ``less`` than early stopping, ``more``, or ``alike``.

        Significantly, by the intervals that hold together; empty where there is nothing to compare.
        """
        if not isinstance(self.stopped, AfterEpoch):
            return ""
        early, left = self.stopped.best.reached.accuracy, self.left.reached.accuracy
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
class DefenceAudit(Reported):
    """What an audit of defences found, with ways to look at it.

    ``to_frame`` has one line for every defence, attack and adversary.
    """

    origin: Origin
    """Where it comes from."""
    undefended: Headline
    """The best attack on the model as it is, corrected for the choice."""
    risk: Risk
    """The privacy risk score on the model as it is."""
    none: BestAttack
    """What the best attack reaches on the model as it is."""
    compared: tuple[ComparedDefence, ...]
    """Of every defence, in the order they were given. All of it holds together with `none`."""
    n_in: int
    """Members among the judged records."""
    n_out: int
    """Non-members among the judged records."""
    fitted: str
    """On which records defences were fitted, in words."""
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

        One behind which attacks take members for non-members comes last: it hides a leak.
        """
        return min(
            self.compared,
            key=lambda c: (c.left.untold, c.left.reached.accuracy.value, c.judged.distance.value),
        )

    @property
    def n_attacks(self) -> int:
        """How many attacks were played in every game."""
        return len(self.compared[0].judged.attacks)

    def helps(self, c: ComparedDefence) -> bool:
        """Return whether a defence leaves significantly less to attack."""
        return c.left.reached.accuracy.high < self.none.reached.accuracy.low

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.defences.says import report

        return report(self)

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping for every defence, attack and adversary."""
        return [
            {
                "defence": judged.title,
                "attack": attacked.title,
                "adversary": adversary,
                "n": evaluation.accuracy.n,
                "level": self.level,
                **ends("accuracy", evaluation.accuracy, between=" "),
                "accuracy method": evaluation.accuracy.method,
                **ends("auc", evaluation.auc, between=" "),
                "auc method": evaluation.auc.method,
            }
            for judged in self.defences
            for attacked in judged.attacks
            for adversary, evaluation in attacked.by_adversary.items()
        ]

    def to_frame(self) -> DataFrame:
        """Return one line for every defence, attack and adversary, each interval by itself."""
        return frame(self.lines())

    def plot_trade_off(self, ax: Axes | None = None) -> Axes:
        """Return axes with what attacks achieve over how far answers are changed."""
        from privacygauge.audits.defences.plots import plot_trade_off

        return plot_trade_off(self, ax)
