"""Trainings with the same canaries and the same coins, side by side: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

from privacygauge.classifier.mislabelled import Targets
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.worst_case import AttackedTraining, TargetRisk, resolved


@dataclass(frozen=True, eq=False, repr=False)
class ComparedTrainings:
    """What is found of canaries and of ordinary records, training by training."""

    trainings: tuple[AttackedTraining, ...]
    """Without a defence first, then in the order of the defences."""
    n_together: int
    """The corrected intervals hold for so many numbers together: every attack, training and group
    of targets, at every false-positive rate and by the area under the curve."""
    targets: Targets
    """Which records they are, and the labels that models were trained on."""

    @property
    def none(self) -> AttackedTraining:
        """The training without a defence."""
        return self.trainings[0]

    @property
    def defended(self) -> tuple[AttackedTraining, ...]:
        """The trainings with a defence."""
        return self.trainings[1:]

    @property
    def fprs(self) -> tuple[float, ...]:
        """The false-positive rates that were asked for."""
        return tuple(rate.fpr for rate in self.none.found.canaries.attacks[0].rates)

    @property
    def fpr(self) -> float:
        """The lowest rate that so many records can tell of; the highest where they tell of none.

        The corrected intervals hold at all rates together, so they allow for this choice.
        """
        told = [fpr for fpr in self.fprs if resolved(self.trainings, fpr)]
        return min(told) if told else max(self.fprs)

    @property
    def best(self) -> AttackedTraining:
        """The defended training by which least is found of canaries; of equals the most accurate.

        The undefended one where there is no other.
        """
        return min(
            self.defended or self.trainings,
            key=lambda t: (t.canaries(self.fpr).estimate.value, -t.accuracy.value),
        )

    @property
    def n_attacks(self) -> int:
        """How many attacks were played on every group of targets."""
        return len(self.none.found.canaries.attacks)

    @property
    def changed_places(self) -> tuple[tuple[AttackedTraining, AttackedTraining], ...]:
        """Pairs whose order differs significantly between ordinary records and canaries.

        By ordinary records the first of a pair gives less away, by canaries it gives more; both
        times the intervals, which hold together, do not overlap.
        """
        return tuple(
            (a, b)
            for a, b in permutations(self.trainings, 2)
            if a.ordinary(self.fpr).estimate.high < b.ordinary(self.fpr).estimate.low
            and a.canaries(self.fpr).estimate.low > b.canaries(self.fpr).estimate.high
        )

    def worse_for_canaries(self, training: AttackedTraining) -> bool:
        """Return whether significantly more is found of a training's canaries."""
        worst, usual = training.canaries(self.fpr), training.ordinary(self.fpr)
        return worst.estimate.low > usual.estimate.high

    def helps(self, training: AttackedTraining) -> bool:
        """Return whether significantly less is found of the canaries than without a defence."""
        without = self.none.canaries(self.fpr).estimate
        return training.canaries(self.fpr).estimate.high < without.low

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping for every training, group of targets, attack and rate."""
        return [
            {"training": training.title, **line}
            for training in self.trainings
            for line in training.found.lines()
        ]

    @property
    def model(self) -> str:
        """What was trained without a defence."""
        return self.none.found.model

    @property
    def canaries(self) -> TargetRisk:
        """The worst case, without a defence."""
        return self.none.found.canaries

    @property
    def ordinary(self) -> TargetRisk:
        """The average case, without a defence."""
        return self.none.found.ordinary

    @property
    def groups(self) -> tuple[TargetRisk, TargetRisk]:
        """Canaries, and ordinary records, without a defence."""
        return self.none.found.groups

    @property
    def test_accuracy(self) -> Estimate:
        """The undefended models' accuracy on ordinary records that they were not trained on."""
        return self.none.accuracy
