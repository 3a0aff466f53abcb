"""The trainings that are compared by their worst-case records, from the defences asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from privacygauge.classifier.defences.adversarial_regularisation import (
    AdversarialRegularisation,
    HeldBack,
)
from privacygauge.classifier.defences.defended import as_defence, claim_of, require_different
from privacygauge.classifier.defences.training import (
    AgainstAttacker,
    Private,
    TrainingDefence,
    Undefended,
)
from privacygauge.classifier.defences.trainings import Trainings
from privacygauge.classifier.networks import Networks
from privacygauge.classifier.trainer import Trainer
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.evaluation import title

HELD_BACK = 0.2
"""The share of its own records that adversarial regularisation has for its attack network."""


@dataclass(frozen=True, eq=False)
class Way:
    """A training with a defence."""

    title: str
    """The defence's name with its parameters."""
    trainer: Trainer
    """Trains defended models."""
    claim: PrivacyClaim | None
    """What an accountant says of it."""


def defences_of(
    given: Sequence[TrainingDefence | Trainer | str], delta: float
) -> list[TrainingDefence]:
    """Return the defences, all of them at training, with a delta where one needs it."""
    found: list[TrainingDefence] = []
    for one in given:
        defence = as_defence(one, delta)
        if not isinstance(defence, TrainingDefence):
            raise InputError(
                f"{defence.name} changes a model's answers and not its training, so it cannot be "
                "compared by canaries: give a defence at training, or privacygauge defend"
            )
        if isinstance(defence, Private) and defence.delta is None:
            defence = replace(defence, delta=delta)
        found.append(defence)
    if found:
        require_different(found)
    return found


def ways_of(trainer: Trainer, defences: Sequence[TrainingDefence], n: int) -> list[Way]:
    """Return how models are trained with each defence; n is twice what one is trained on."""
    of = Undefended(trainer, n)
    ways = []
    for defence in defences:
        if isinstance(defence, AgainstAttacker):
            by: Trainer = AdversarialRegularisation(
                of.networks(defence.name), defence.weight, HeldBack(HELD_BACK)
            )
        else:
            by = defence.trainer(of)
        named = title(defence.name, defence.variant, "")
        ways.append(Way(named, by, claim_of(defence, by, of)))
    return ways


def trainings_of(trainer: Trainer, ways: Sequence[Way]) -> Trainings:
    """Return all trainings, that without a defence first, of which the last epoch is kept."""
    last = trainer.epochs if isinstance(trainer, Networks) else 1
    return Trainings(trainer, (last,), tuple(way.trainer for way in ways))
