"""One private training with canaries: what it says of those that coins put in or left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.defences.dp_sgd import PrivateTraining
from privacygauge.classifier.estimators import require_records
from privacygauge.classifier.predictions import predictions
from privacygauge.classifier.signals import signals
from privacygauge.classifier.trainer import Cohort
from privacygauge.core import checks, seeds
from privacygauge.core.release import coin_flips
from privacygauge.core.units import numbered
from privacygauge.errors import InputError


def losses_of_canaries(
    defence: PrivateTraining,
    x: ArrayLike,
    y: ArrayLike,
    canary: ArrayLike | None,
    unit: ArrayLike | None,
    seed: int,
) -> dict[str, NDArray[np.generic]]:
    """Return ``score``, ``member`` and ``id`` of the canaries, and their ``unit`` where given.

    Scores are the signal of the loss on a canary's label after a training; parameters are those
    of `audit_dp_sgd`.

    Raises
    ------
    InputError
        If training failed numerically.
    """
    features, labels = require_records(x, y)
    chosen = (
        np.ones(len(labels), np.bool_)
        if canary is None
        else checks.bools(canary, "canary", length=len(labels))
    )
    owner = None if unit is None else numbered(unit, length=len(labels))
    inside = coin_flips(1, len(labels), seeds.stream(seed, "coins"), owner)
    inside[0, ~chosen] = True
    state = int(seeds.stream(seed, "model", 0).integers(2**31))
    asked = np.flatnonzero(chosen)
    cohort = Cohort(features, labels, inside, (state,), int(labels.max()) + 1, asked)
    logits = defence.train(cohort)[0]
    if np.isnan(logits).any():
        raise InputError("training failed numerically: lower the learning rate")
    known = predictions(logits=logits, labels=labels[asked], member=inside[0, asked])
    found = {"score": signals(known)["loss"], "member": known.member, "id": asked}
    return found if owner is None else {**found, "unit": owner[asked]}
