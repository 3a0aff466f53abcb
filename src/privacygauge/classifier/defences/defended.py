"""The models that an audit of defences trains, and those that belong to each defence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.classifier.defences.defence import Defence
from privacygauge.classifier.defences.dp_sgd import PrivateTraining
from privacygauge.classifier.defences.games import behind
from privacygauge.classifier.defences.named import any_defence_named
from privacygauge.classifier.defences.output_perturbation import NoisyLogistic
from privacygauge.classifier.defences.soft_labels import Distillation
from privacygauge.classifier.defences.trained import TrainedAlike, TrainedWithout, recorded_epochs
from privacygauge.classifier.defences.training import (
    AgainstAttacker,
    OtherTraining,
    Private,
    StopAfter,
    TrainingDefence,
    UndefendedTraining,
)
from privacygauge.classifier.defences.trainings import Trainings
from privacygauge.classifier.networks import Networks
from privacygauge.classifier.trainer import Trainer
from privacygauge.core import seeds
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import PrivacyClaim

_SHARE = 5
"""One record in this many is a reference record, of adversarial regularisation or distillation."""


@dataclass(frozen=True, eq=False)
class DefendedModels:
    """A defence, and the models behind it."""

    defence: Defence | TrainingDefence
    models: TrainedAlike
    claim: PrivacyClaim | None = None


def as_defence(
    given: TrainingDefence | Defence | Trainer | str, delta: float | None
) -> TrainingDefence | Defence:
    """Return the defence of this name, or one for a trainer of the user's own."""
    if isinstance(given, str):
        return any_defence_named(given, delta)
    if isinstance(given, Trainer):
        return OtherTraining(given, given.name)
    return given


def undefended_of(
    trainer: Trainer, n: int, defences: Sequence[TrainingDefence | Defence], seed: int
) -> tuple[UndefendedTraining, Ints]:
    """Return the undefended training, and the rows that are judged."""
    if n < 2 * _SHARE:
        raise InputError(f"x must have at least {2 * _SHARE} records, got {n}")
    order = seeds.stream(seed, "reference").permutation(n)
    needed = any(isinstance(defence, AgainstAttacker | Distillation) for defence in defences)
    kept = n // _SHARE if needed else 0
    references = np.sort(order[:kept])
    rows = np.sort(order[kept:])
    return UndefendedTraining(trainer, len(rows), tuple(references.tolist())), rows


def trainings_by_defence(
    of: UndefendedTraining, defences: Sequence[TrainingDefence | Defence]
) -> tuple[Trainings, Mapping[int, int]]:
    """Return the trainings to run, and the index of the training of each defence by number."""
    at_training = {i: x for i, x in enumerate(defences) if isinstance(x, TrainingDefence)}
    trainers = {i: defence.trainer(of) for i, defence in at_training.items()}
    # Epochs of the undefended training are recorded anyway.
    stops = {i: x.epoch for i, x in at_training.items() if isinstance(x, StopAfter)}
    alone = {i: trainer for i, trainer in trainers.items() if i not in stops}
    networks = of.trainer
    epochs = (
        recorded_epochs(networks.epochs, tuple(stops.values()))
        if isinstance(networks, Networks)
        else (1,)
    )
    places = {number: place for place, number in enumerate(alone)}
    return Trainings(of.trainer, epochs, tuple(alone.values())), places


def models_behind(
    defences: Sequence[TrainingDefence | Defence],
    places: Mapping[int, int],
    trainings: Trainings,
    of: UndefendedTraining,
    without: TrainedWithout,
    ways: Sequence[TrainedAlike | Skipped],
    seed: int,
) -> tuple[list[DefendedModels], list[Skipped]]:
    """Return the models behind each defence, and the defences whose training failed."""
    found = []
    failed = []
    for number, defence in enumerate(defences):
        claim = None
        models = without.last
        if isinstance(defence, StopAfter):
            # Early stopping needs no training: the undefended one recorded this epoch.
            stopped = without.after(defence.epoch)
        elif isinstance(defence, TrainingDefence):
            stopped = ways[places[number]]
            claim = claim_of(defence, trainings.defended[places[number]], of)
        else:
            stopped = behind(
                defence, models, seeds.stream(seed, "defence", defence.name, defence.variant)
            )
        if isinstance(stopped, Skipped):
            failed.append(Skipped(f"{defence.name} ({defence.variant})", stopped.reason))
        else:
            found.append(DefendedModels(defence, stopped, claim))
    if not found:
        raise InputError(f"no defence could be judged: {failed[0].name}: {failed[0].reason}")
    return found, failed


def claim_of(
    defence: TrainingDefence, trainer: Trainer, of: UndefendedTraining
) -> PrivacyClaim | None:
    """Return the accountant's privacy claim for a training; None where it has no accountant."""
    if isinstance(trainer, NoisyLogistic):
        return PrivacyClaim(trainer.epsilon, trainer.delta, "the Gaussian mechanism")
    if not isinstance(defence, Private) or not isinstance(trainer, PrivateTraining):
        return None
    delta = defence.at_delta(of)
    return PrivacyClaim(trainer.epsilon(delta), delta, trainer.accountant(delta))


def require_different_defences(defences: Sequence[TrainingDefence | Defence]) -> None:
    """Raise if there is no defence, or two have the same name and variant."""
    titles = [f"{defence.name} ({defence.variant})" for defence in defences]
    if not titles:
        raise InputError("at least one defence is needed, got none")
    twice = next((title for title in titles if titles.count(title) > 1), None)
    if twice is not None:
        raise InputError(f"two defences are called {twice!r}: leave one of them out")
