"""The three games that judge a defence: without it, with it unknown, and with it known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from privacygauge.classifier.defences.attack_classifier import NeuralJia
from privacygauge.classifier.defences.defence import Defence, defend_predictions
from privacygauge.classifier.defences.trained import TrainedAlike
from privacygauge.classifier.game import PredictionGame
from privacygauge.classifier.neural import NeuralNasr
from privacygauge.classifier.pool import Pool
from privacygauge.classifier.pool_game import PoolGame
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.suite import prediction_attacks, single_record_attacks
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.game import Attack, Round


class TargetGame(Protocol):
    """A membership game about one target model's answers."""

    @property
    def target(self) -> Predictions:
        """The target's predictions for the judged records."""

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return one round."""


@dataclass(frozen=True, eq=False)
class DefenceGames:
    """The same targets and the same shadow records in three games."""

    undefended: TargetGame
    """Target and shadow both answer undefended."""
    non_adaptive: TargetGame
    """The target is defended; the adversary learns on undefended shadow answers."""
    adaptive: TargetGame
    """Both are defended: the adversary knows the defence and uses it on its own shadow model."""


def defence_games(
    defence: Defence,
    target: Predictions,
    shadow: Predictions,
    rng: np.random.Generator,
    *,
    target_owner: Predictions | None = None,
    shadow_owner: Predictions | None = None,
) -> DefenceGames:
    """Return the games without the defence and with it.

    `target` and `shadow` are undefended predictions: of the target on known members and
    non-members, and of the shadow model on its own records. Each model's defence is fitted on its
    owner's predictions (see `defend_predictions`); the two defences draw independently.

    Notes
    -----
    Song & Mittal (2021), section 3.2: a defence must be judged by adversaries who know it, so
    the shadow model is defended as the target is.
    """
    for_target, for_shadow = rng.spawn(2)
    answers = defend_predictions(defence, target, for_target, owner=target_owner)
    own = defend_predictions(defence, shadow, for_shadow, owner=shadow_owner)
    return DefenceGames(
        PredictionGame(target, shadow),
        PredictionGame(answers, shadow),
        PredictionGame(answers, own),
    )


def defence_attacks(*, logits: bool = False) -> tuple[Attack, ...]:
    """Return the suite that judges defences: that of predictions, and two neural networks.

    `logits` says whether those of the undefended model are available; see `prediction_attacks`.
    """
    return (*prediction_attacks(logits=logits), NeuralNasr(), NeuralJia())


def training_games(undefended: TrainedAlike, defended: TrainedAlike) -> DefenceGames:
    """Return the games of models trained on the same records without a defence and with it.

    Notes
    -----
    Song & Mittal (2021), section 3.2: an adversary who knows the defence trains shadow models with
    it.
    """
    return DefenceGames(
        PoolGame(undefended.target, undefended.pool),
        PoolGame(defended.target, undefended.pool),
        PoolGame(defended.target, defended.pool),
    )


def behind(defence: Defence, models: TrainedAlike, rng: np.random.Generator) -> TrainedAlike:
    """Return the predictions of a target and shadow models behind a defence on answers.

    Each model has its own defence, fitted and drawn apart; see `defend_predictions`.
    """
    pool = models.pool
    generators = rng.spawn(len(models.pool) + 1)
    target = defend_predictions(defence, models.target, generators[0])
    shadows = [
        replace(models.target, answers=values, logits=pool.logits, member=inside)
        for values, inside in zip(pool.values, pool.inside, strict=True)
    ]
    answers = np.stack(
        [
            defend_predictions(defence, shadow, own).values
            for shadow, own in zip(shadows, generators[1:], strict=True)
        ]
    )
    return TrainedAlike(target, Pool(answers, False, pool.inside, pool.labels), models.failed)


def training_attacks(*, logits: bool = False) -> tuple[Attack, ...]:
    """Return the suite that judges defences at training: all attacks without training of their own.

    These are the metric attacks and those on single records. Neural attacks need seconds per game,
    and there are three games per defence and one per epoch. `logits` is as in `defence_attacks`.
    """
    metrics = (x for x in prediction_attacks(logits=logits) if isinstance(x, Threshold))
    return (*metrics, *single_record_attacks("shared"))
