"""The claim of DP-SGD put to the test: one training with canaries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.privacy_claim.found import ClaimAudit
from privacygauge.audits.privacy_claim.play import audit_privacy_claim
from privacygauge.classifier.defences.dp_sgd import PrivateTraining
from privacygauge.classifier.estimators import require_records
from privacygauge.classifier.predictions import predictions
from privacygauge.classifier.signals import signals
from privacygauge.classifier.trainer import Cohort
from privacygauge.core import checks, seeds
from privacygauge.core.release import coin_flips
from privacygauge.core.units import numbered
from privacygauge.errors import InputError


def audit_dp_sgd(
    defence: PrivateTraining,
    x: ArrayLike,
    y: ArrayLike,
    *,
    canary: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    claimed: float | None = None,
    delta: float = 1e-5,
    seed: int = 0,
    level: float = 0.95,
) -> ClaimAudit:
    """Return what one training gives away of its canaries, beside the epsilon that is claimed.

    Parameters
    ----------
    defence : DpSgd or OpacusDpSgd
    x : array_like of float, shape (n, d)
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    canary : array_like of bool, shape (n,), optional
        Records that fair coins put in or leave out; default: all. The others are
        always in. Records that the model can only know by heart show the most.
    unit : array_like, shape (n,), optional
        The person behind each record: one coin puts all of a person's canaries in, which are
        guessed together.
    claimed : float, optional
        The epsilon to be tested; default: the accountant's.
    delta : float
        In (0, 1).
    seed : int
        Of the coins and of the training.
    level : float
        In (0, 1).

    Returns
    -------
    ClaimAudit
        Scores are the losses on the canaries' labels. Its bound exceeds the true epsilon with
        probability ``1 - level`` at most; how far it stays below depends on the canaries.

    Raises
    ------
    InputError
        If training failed numerically, or without noise where nothing is claimed.
    """
    features, labels = require_records(x, y)
    chosen = (
        np.ones(len(labels), np.bool_)
        if canary is None
        else checks.bools(canary, "canary", length=len(labels))
    )
    epsilon = defence.epsilon(delta) if claimed is None else claimed
    if not np.isfinite(epsilon):
        raise InputError(f"claimed must be given where there is no noise, got {epsilon}")
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
    canaries = {"score": signals(known)["loss"], "member": known.member, "id": asked}
    if owner is not None:
        canaries["unit"] = owner[asked]
    found = audit_privacy_claim(canaries, epsilon, delta, seed=seed, level=level)
    by = defence.accountant(delta) if claimed is None else ""
    return replace(found, claim=replace(found.claim, accountant=by))
