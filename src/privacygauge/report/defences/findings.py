"""What a comparison of defences found, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.defences import DefenceFindings, JudgedDefence
from privacygauge.evaluate.direction import Inverted


@dataclass(frozen=True)
class BestAttack:
    """What the best of all attacks reaches in one game, allowing for all that was compared."""

    attack: str
    """The attack whose balanced accuracy has the highest lower end."""
    accuracy: Estimate
    """Its balanced accuracy; 1/2 is chance."""
    auc_attack: str
    """The attack whose AUC has the highest lower end."""
    auc: Estimate
    """Its AUC; 1/2 is chance."""
    inverted: tuple[Inverted, ...] = ()
    """Attacks that take members for non-members, allowing for all that was compared too."""

    @property
    def untold(self) -> bool:
        """Whether no attack finds a leak, and some take members for non-members."""
        return bool(self.inverted) and max(self.accuracy.low, self.auc.low) <= 0.5


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
    """Whether the model was trained anew; a defence on answers leaves it as it is."""
    stopped: AfterEpoch | Skipped | None = None
    """Of a defence at training: the undefended model after the first epoch whose accuracy, by
    shadow models, is not below the defended one's."""
    claim: PrivacyClaim | None = None
    """What an accountant says of it, where it is differentially private."""

    @property
    def ignored(self) -> bool:
        """Whether the adversary who does not know the defence goes further."""
        return self.left.accuracy is self.non_adaptive.accuracy

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


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparedDefences(DefenceFindings):
    """The result of a comparison of defences."""

    command: str
    """The command or call that made it."""
    version: str
    """PrivacyGauge's version."""
    provenance: Mapping[str, str]
    """Versions, hashes of the inputs, platform."""
    n_in: int
    """Members among the judged records."""
    n_out: int
    """Non-members among the judged records."""
    fitted: str
    """On which records defences were fitted, in words."""
    none: BestAttack
    """What the best attack reaches on the model as it is."""
    compared: tuple[ComparedDefence, ...]
    """Of every defence, in the order they were given. All of it holds together with `none`."""
    n_shadows: int = 0
    """Shadow models that were trained in the same way as each target; 0 where predictions of one
    were given."""
    curve: tuple[AfterEpoch, ...] = ()
    """The undefended model epoch by epoch, which holds together with all else; empty where it was
    not trained in epochs, or not here."""

    @property
    def best(self) -> ComparedDefence:
        """The defence that leaves least to attack; of equals the one that changes least.

        One behind which attacks take members for non-members comes last: it hides a leak.
        """
        return min(
            self.compared,
            key=lambda c: (c.left.untold, c.left.accuracy.value, c.judged.distance.value),
        )

    @property
    def n_attacks(self) -> int:
        """How many attacks were played in every game."""
        return len(self.defences[0].attacks)
