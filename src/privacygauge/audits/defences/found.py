"""What audits of defences found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from privacygauge.evaluate.best_attack import BestAttack
from privacygauge.evaluate.compared_defences import AfterEpoch, ComparedDefence
from privacygauge.evaluate.defences import JudgedDefence
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.risk import Risk
from privacygauge.report.axes import Axes
from privacygauge.report.document import DataFrame, ends, frame
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


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
    doubts: tuple[str, ...] = ()
    """Why the predictions may not be what they are said to be: no lack of a leak counts then."""

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
