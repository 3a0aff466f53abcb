"""Defences at training: risk after every epoch, and the claim of DP-SGD put to the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.attacks import audit, headline, played_of
from privacygauge.audits.privacy_claim.found import ClaimAudit
from privacygauge.audits.privacy_claim.play import audit_privacy_claim
from privacygauge.classifier.defences.dp_sgd import PrivateTraining
from privacygauge.classifier.defences.early_stopping import first_epoch, nearest_epoch
from privacygauge.classifier.estimators import require_records
from privacygauge.classifier.game import PredictionGame
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.classifier.signals import signals
from privacygauge.classifier.suite import METRICS
from privacygauge.classifier.trainer import Cohort
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.core.release import coin_flips
from privacygauge.core.units import numbered
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.rates import proportion

if TYPE_CHECKING:
    import pandas as pd

METRIC_ATTACKS: tuple[Attack, ...] = tuple(Threshold(name) for name in METRICS)
"""The metric attacks of Song & Mittal (2021), with a threshold for each class."""


@dataclass(frozen=True, eq=False)
class EpochRisk:
    """A model after one epoch: how accurate it is, and what attacks achieve."""

    epoch: int
    """Epochs that were made."""
    train_accuracy: Estimate
    """On the members."""
    test_accuracy: Estimate
    """On the non-members."""
    attacks: tuple[Evaluation, ...]
    """Each by an adversary whose shadow model was stopped after the same epoch."""
    highest: Estimate
    """Balanced accuracy of the best attack, its interval corrected for the choice."""


@dataclass(frozen=True, eq=False)
class EpochCurve:
    """Accuracy against risk, epoch by epoch."""

    points: tuple[EpochRisk, ...]
    """Ascending in epochs, at least one."""

    def at(self, epoch: int) -> EpochRisk:
        """Return the point of a recorded epoch."""
        found = next((point for point in self.points if point.epoch == epoch), None)
        if found is None:
            known = checks.listed(point.epoch for point in self.points)
            raise InputError(f"epoch must be a recorded one ({known}), got {epoch}")
        return found

    def nearest(self, accuracy: float) -> EpochRisk | Skipped:
        """Return the point whose test accuracy is the nearest not below `accuracy`."""
        return self._chosen(nearest_epoch(*self._accuracies(), accuracy))

    def first(self, accuracy: float) -> EpochRisk | Skipped:
        """Return the first point whose test accuracy is not below `accuracy`."""
        return self._chosen(first_epoch(*self._accuracies(), accuracy))

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping for every epoch and attack."""
        return [
            {
                "epoch": point.epoch,
                "train_accuracy": point.train_accuracy.value,
                "test_accuracy": point.test_accuracy.value,
                "attack": attack.name,
                "accuracy": attack.accuracy.value,
                "low": attack.accuracy.low,
                "high": attack.accuracy.high,
                "level": attack.accuracy.level,
                "n": attack.accuracy.n,
                "auc": attack.auc.value,
            }
            for point in self.points
            for attack in point.attacks
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return one line for every epoch and attack."""
        import pandas as pd

        return pd.DataFrame(self.lines())

    def _accuracies(self) -> tuple[list[int], list[float]]:
        return [p.epoch for p in self.points], [p.test_accuracy.value for p in self.points]

    def _chosen(self, epoch: int | Skipped) -> EpochRisk | Skipped:
        return epoch if isinstance(epoch, Skipped) else self.at(epoch)


def risk_by_epoch(
    target: Mapping[int, Predictions],
    shadow: Mapping[int, Predictions],
    *,
    attacks: Sequence[Attack] = METRIC_ATTACKS,
    seed: int = 0,
    level: float = 0.95,
) -> EpochCurve:
    """Return how accuracy and risk go together while a model is trained.

    Parameters
    ----------
    target : mapping of int to Predictions
        Epoch to the target's predictions after it, on the same members and non-members.
    shadow : mapping of int to Predictions
        The shadow model's after the same epochs, on records of its own.
    attacks : sequence of Attack
        The metric attacks where nothing is given.
    seed : int
    level : float
        Of every interval, in (0, 1).

    Returns
    -------
    EpochCurve
        Each attack learns at the epoch at which it is judged.

    Raises
    ------
    InputError
        If epochs are missing, or none of the attacks can be played.

    Notes
    -----
    Song & Mittal (2021), section 3.2.1.
    """
    if not target or set(target) != set(shadow):
        raise InputError(
            "target and shadow must have the same epochs, at least one, got "
            f"{checks.listed(sorted(target)) or 'none'} and "
            f"{checks.listed(sorted(shadow)) or 'none'}"
        )
    return EpochCurve(
        tuple(
            _point(epoch, target[epoch], shadow[epoch], attacks, seed, level)
            for epoch in sorted(target)
        )
    )


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
        Records that fair coins put in or leave out; all where nothing is given. The others are
        always in. Records that the model can only know by heart show the most.
    unit : array_like, shape (n,), optional
        The person behind each record: one coin puts all of a person's canaries in, which are
        guessed together.
    claimed : float, optional
        The epsilon to be tested; the accountant's where nothing is given.
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
    return audit_privacy_claim(canaries, epsilon, delta, seed=seed, level=level)


def _point(
    epoch: int,
    target: Predictions,
    shadow: Predictions,
    attacks: Sequence[Attack],
    seed: int,
    level: float,
) -> EpochRisk:
    rounds = PredictionGame(target, shadow).deal(1, seeds.stream(seed, "deal"))
    played = played_of(audit(rounds, attacks, seed=seed, level=level))
    right = target.values.argmax(axis=1) == target.labels
    return EpochRisk(
        epoch,
        proportion(right[target.member], target.units[target.member], level),
        proportion(right[~target.member], target.units[~target.member], level),
        tuple(evaluation for _, evaluation in played),
        headline(played, seed=seed, level=level).accuracy,
    )
