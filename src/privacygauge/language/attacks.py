"""The attacks on a language model: one signal, and one way to choose its threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut
from privacygauge.language.scores import TextScores
from privacygauge.language.statistic import LIKELIHOOD_RATIO, LOSS
from privacygauge.language.thresholds import MeanTrainThreshold, Threshold, default_thresholds


@dataclass(frozen=True)
class EnergyAttack:
    """Guess "member" where a signal reaches a threshold that was chosen beforehand."""

    signal: str
    """Which signal of the observation, such as ``loss`` or ``likelihood-ratio``."""
    cut: Cut
    """The threshold and where it comes from."""
    variant: str
    """The kind of threshold, such as ``population, FPR 10%``."""
    thresholds: str = "global"
    """One threshold serves all samples."""

    @property
    def name(self) -> str:
        """The signal's name."""
        return self.signal

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the signal of every sample, and the rule; nothing is drawn."""
        if self.signal not in observation.signals:
            return Skipped(self.name, f"the observation has no signal {self.signal!r}")
        return Scores(observation.signals[self.signal], self.cut, self._notes())

    def _notes(self) -> tuple[str, ...]:
        if math.isfinite(self.cut.threshold):
            return ()
        return (
            f"{self.name} ({self.variant}): the samples behind the threshold are too few, or too "
            "many of them are equal, for so low a rate; nobody is guessed to be a member.",
        )


def energy_attacks(
    scores: TextScores, thresholds: Sequence[Threshold] | None = None
) -> tuple[EnergyAttack | Skipped, ...]:
    """Return the likelihood ratio, the loss and all further signals, with each threshold.

    Parameters
    ----------
    scores : TextScores
    thresholds : sequence of Threshold, optional
        `default_thresholds` by default; the loss is then also played with the mean
        training loss, the baseline of Jagannatha et al. (2021).

    Returns
    -------
    tuple of EnergyAttack or Skipped
        The likelihood ratio is skipped where there is no reference model.

    Raises
    ------
    InputError
        If the population's threshold is asked for and there is no population.
    """
    chosen = default_thresholds(scores) if thresholds is None else tuple(thresholds)
    further = (MeanTrainThreshold(),) if thresholds is None else ()
    attacks: list[EnergyAttack | Skipped] = []
    if scores.energy_reference is None:
        attacks.append(Skipped(LIKELIHOOD_RATIO, "needs energies of a reference model"))
    else:
        attacks += [_attack(scores, LIKELIHOOD_RATIO, threshold) for threshold in chosen]
    return (
        *attacks,
        *(_attack(scores, LOSS, threshold) for threshold in (*chosen, *further)),
        *(_attack(scores, name, threshold) for name in scores.further for threshold in chosen),
    )


def _attack(scores: TextScores, name: str, threshold: Threshold) -> EnergyAttack:
    return EnergyAttack(name, threshold.cut(scores, name), threshold.label)
