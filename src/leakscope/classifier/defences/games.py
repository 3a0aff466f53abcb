"""The three games that judge a defence: without it, and with it unknown and known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakscope.classifier.defences.attack_classifier import NeuralJia
from leakscope.classifier.defences.defence import Defence, defended
from leakscope.classifier.game import PredictionGame
from leakscope.classifier.neural import NeuralNasr
from leakscope.classifier.predictions import Predictions
from leakscope.classifier.suite import prediction_attacks
from leakscope.core.game import Attack


@dataclass(frozen=True, eq=False)
class DefenceGames:
    """The same targets and the same shadow records in three games."""

    undefended: PredictionGame
    """Target and shadow answer as they are."""
    non_adaptive: PredictionGame
    """The target is defended; the adversary learns on undefended shadow answers."""
    adaptive: PredictionGame
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

    Parameters
    ----------
    defence : Defence
    target : Predictions
        The undefended target's, on known members and non-members.
    shadow : Predictions
        The undefended shadow model's, on records of its own.
    rng : numpy.random.Generator
        Fitting and answering; the two models' defences draw apart.
    target_owner, shadow_owner : Predictions, optional
        What each model's defence is fitted on; see `defended`.

    Notes
    -----
    Song & Mittal (2021), section 3.2: a defence must be judged by adversaries who know it, so
    the shadow model is defended as the target is.
    """
    for_target, for_shadow = rng.spawn(2)
    answers = defended(defence, target, for_target, owner=target_owner)
    own = defended(defence, shadow, for_shadow, owner=shadow_owner)
    return DefenceGames(
        PredictionGame(target, shadow),
        PredictionGame(answers, shadow),
        PredictionGame(answers, own),
    )


def defence_attacks(*, logits: bool = False) -> tuple[Attack, ...]:
    """Return the suite that judges defences: that of predictions, and two neural networks.

    Parameters
    ----------
    logits : bool
        Whether the undefended model's logits are at hand; see `prediction_attacks`.
    """
    return (*prediction_attacks(logits=logits), NeuralNasr(), NeuralJia())
