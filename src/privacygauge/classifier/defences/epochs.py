"""The risk of a model after every epoch of its training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privacygauge.classifier.defences.early_stopping import first_epoch, nearest_epoch
from privacygauge.classifier.defences.judging import model_accuracies
from privacygauge.classifier.game import PredictionGame
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.suite import METRICS
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation

if TYPE_CHECKING:
    import pandas as pd
from privacygauge.evaluate.playing import audit, headline, played_of

METRIC_ATTACKS: tuple[Attack, ...] = tuple(Threshold(name) for name in METRICS)
"""The metric attacks of Song & Mittal (2021), with a threshold for each class."""


@dataclass(frozen=True, eq=False)
class EpochRisk:
    """A model after one epoch: its accuracy, and the results of attacks."""

    epoch: int
    """Epochs of training so far."""
    train_accuracy: Estimate
    """Accuracy on the members."""
    test_accuracy: Estimate
    """Accuracy on the non-members."""
    attacks: tuple[Evaluation, ...]
    """One per attack, by an adversary whose shadow model was stopped after the same epoch."""
    highest: Estimate
    """Balanced accuracy of the best attack, its interval corrected for the choice."""


@dataclass(frozen=True, eq=False)
class EpochCurve:
    """Accuracy against risk, epoch by epoch."""

    points: tuple[EpochRisk, ...]
    """Points by ascending epoch, at least one."""

    def at(self, epoch: int) -> EpochRisk:
        """Return the point of a recorded epoch."""
        found = next((point for point in self.points if point.epoch == epoch), None)
        if found is None:
            known = checks.short_list(point.epoch for point in self.points)
            raise InputError(f"epoch must be a recorded one ({known}), got {epoch}")
        return found

    def nearest(self, accuracy: float) -> EpochRisk | Skipped:
        """Return the point whose test accuracy is closest to `accuracy` from above."""
        return self._chosen(nearest_epoch(*self._accuracies(), accuracy))

    def first(self, accuracy: float) -> EpochRisk | Skipped:
        """Return the first point whose test accuracy is not below `accuracy`."""
        return self._chosen(first_epoch(*self._accuracies(), accuracy))

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping per epoch and attack."""
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
        """Return a data frame with one row per epoch and attack."""
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
    """Return accuracy and risk after every epoch of a training.

    Parameters
    ----------
    target : mapping of int to Predictions
        Epoch to the target's predictions after it, on the same members and non-members.
    shadow : mapping of int to Predictions
        The shadow model's predictions after the same epochs, for its own records.
    attacks : sequence of Attack
        Default: the metric attacks.
    seed : int
    level : float
        Level of every interval, in (0, 1).

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
            f"{checks.short_list(sorted(target)) or 'none'} and "
            f"{checks.short_list(sorted(shadow)) or 'none'}"
        )
    points = []
    for epoch in sorted(target):
        game = PredictionGame(target[epoch], shadow[epoch])
        rounds = game.deal(1, seeds.stream(seed, "deal"))
        played = played_of(audit(rounds, attacks, seed=seed, level=level))
        found = tuple(evaluation for _, evaluation in played)
        highest = headline(played, seed=seed, level=level).accuracy
        accuracies = model_accuracies(target[epoch], level)
        points.append(EpochRisk(epoch, *accuracies, found, highest))
    return EpochCurve(tuple(points))
