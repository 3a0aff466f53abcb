"""Certified bounds for networks that are trained with and without each record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.learner import Box
from privacygauge.classifier.dtp.lipschitz import (
    RELU,
    SIGMOID,
    TANH,
    Activation,
    Layer,
    network_bound,
)
from privacygauge.classifier.dtp.log_answers import log_answers
from privacygauge.classifier.dtp.records import class_log_p
from privacygauge.classifier.networks.factories import MLP
from privacygauge.classifier.trainer import Cohort, Trainer
from privacygauge.core.checks import Floats

ACTIVATIONS: Mapping[str, Activation] = {"tanh": TANH, "relu": RELU, "sigmoid": SIGMOID}
"""Activations of `MLP` by their names."""


def with_bounds(trainer: Trainer, cohort: Cohort, box: Box) -> tuple[Floats, Floats]:
    """Return log probabilities of networks, and what the DTP of each but the first is at most.

    The cohort has 1 + r models: on all of T first, then without one record each. They are
    (1 + r, a, k) and (r,); bounds are infinite where the trainer makes other networks than `MLP`.
    """
    make = getattr(trainer, "make", None)
    if not isinstance(make, MLP):
        made = log_answers(trainer, cohort)
        return made, np.full(len(made) - 1, np.inf)
    trained = trainer.train_with_weights(cohort)  # type: ignore[attr-defined]
    whole, *others = (layers_of(state) for state in trained.weights)
    activation = ACTIVATIONS[make.activation]
    bounds = [network_bound(whole, other, activation, box).value for other in others]
    log_p = class_log_p(np.asarray(trained.logits, np.float64))
    return log_p, np.where(np.isfinite(bounds), bounds, np.inf)


def layers_of(state: Mapping[str, NDArray[Any]]) -> list[Layer]:
    """Return the layers of a fully connected network from its named weights, in their order."""
    names = [name.removesuffix(".weight") for name in state if name.endswith(".weight")]
    return [
        (state[f"{name}.weight"].astype(np.float64), state[f"{name}.bias"].astype(np.float64))
        for name in names
    ]
