"""Trainings with the same canaries and the same coins, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from numpy.typing import NDArray

from privacygauge.classifier.defences.training import TrainingDefence
from privacygauge.classifier.defences.trainings import values_each_way
from privacygauge.classifier.mislabelled import Targets, UniformLabel
from privacygauge.classifier.shadows import random_states
from privacygauge.classifier.trainer import Cohort, Trainer
from privacygauge.classifier.worst_case import (
    Design,
    as_drawn,
    defences_of,
    judged_each_way,
    trainings_of_ways,
    ways_of,
)
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.worst_case import AttackedTraining, TargetRisk, is_resolved


@dataclass(frozen=True, eq=False, repr=False)
class ComparedTrainings:
    """Results for canaries and ordinary records, one entry per training."""

    trainings: tuple[AttackedTraining, ...]
    """The undefended training first, then one per defence, in their order."""
    n_together: int
    """Number of simultaneous intervals that the correction covers: every attack, training and group
    of targets, at every false-positive rate and for the area under the curve."""
    targets: Targets
    """The targets, and the labels that models were trained on."""

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
        """The lowest rate that this many records can resolve; the highest where they resolve none.

        The corrected intervals hold at all rates simultaneously, so they allow for this choice.
        """
        told = [fpr for fpr in self.fprs if is_resolved(self.trainings, fpr)]
        return min(told) if told else max(self.fprs)

    @property
    def best(self) -> AttackedTraining:
        """The defended training whose canaries leak least; among equals the most accurate.

        The undefended one where there is no other.
        """
        return min(
            self.defended or self.trainings,
            key=lambda t: (t.canaries(self.fpr).estimate.value, -t.accuracy.value),
        )

    @property
    def n_attacks(self) -> int:
        """Number of attacks that were played on every group of targets."""
        return len(self.none.found.canaries.attacks)

    @property
    def changed_places(self) -> tuple[tuple[AttackedTraining, AttackedTraining], ...]:
        """Pairs whose order differs significantly between ordinary records and canaries.

        By ordinary records the first of a pair leaks less, by canaries it leaks more; both times
        the intervals, which hold simultaneously, do not overlap.
        """
        return tuple(
            (a, b)
            for a, b in permutations(self.trainings, 2)
            if a.ordinary(self.fpr).estimate.high < b.ordinary(self.fpr).estimate.low
            and a.canaries(self.fpr).estimate.low > b.canaries(self.fpr).estimate.high
        )

    def worse_for_canaries(self, training: AttackedTraining) -> bool:
        """Return whether a training's canaries leak significantly more than ordinary records."""
        worst = training.canaries(self.fpr)
        usual = training.ordinary(self.fpr)
        return worst.estimate.low > usual.estimate.high

    def helps(self, training: AttackedTraining) -> bool:
        """Return whether the canaries leak significantly less than without a defence."""
        without = self.none.canaries(self.fpr).estimate
        return training.canaries(self.fpr).estimate.high < without.low

    def lines(self) -> list[dict[str, Any]]:
        """Return one mapping per training, group of targets, attack and rate."""
        return [
            {"training": training.title, **line}
            for training in self.trainings
            for line in training.found.lines()
        ]

    @property
    def model(self) -> str:
        """Name of the model that was trained without a defence."""
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


NAME = "worst_case"
"""Name of the kind of run."""


def trained_and_judged(
    trainer: Trainer,
    x: NDArray[Any],
    y: Ints,
    defences: Sequence[TrainingDefence | Trainer | str],
    design: Design,
    owner: Ints | None,
    delta: float | None,
    seed: int,
    level: float,
    how: Mapping[str, Any],
) -> tuple[ComparedTrainings, list[Skipped]]:
    """Return the results of each way to train, and the defences whose training failed.

    `trainer` trains without a defence; `owner` (n,) is the unit of each record; `delta` applies to
    DP-SGD that names none, by default one over the number of records; `how` holds the execution
    options of `values_each_way`: ``run``, ``invocation``, ``n_jobs``, ``progress``, ``before``.
    """
    asked_for = defences_of(defences, 1 / max(len(y), 2) if delta is None else delta)
    asked = design.asked(len(asked_for), seed, level)
    wrong = design.label or UniformLabel()
    known = as_drawn(wrong, how["run"], design.n_canaries)
    chosen, inside = design.dealt(x, y, label=known, seed=seed, unit=owner)
    ways = ways_of(trainer, asked_for, 2 * len(y) - len(chosen.asked))
    states = random_states(seed, len(inside))
    values = values_each_way(
        trainings_of_ways(trainer, ways),
        Cohort(
            x=x,
            y=chosen.y,
            inside=inside,
            seeds=states,
            n_classes=int(chosen.y.max()) + 1,
            asked=chosen.asked,
        ),
        seed=seed,
        name=NAME,
        about={"canaries": design.n_canaries, "wrong label": wrong.name},
        **how,
    )
    trainings, failed = judged_each_way(
        trainer, ways, values=values, inside=inside, chosen=chosen, label=wrong.name, asked=asked
    )
    return ComparedTrainings(tuple(trainings), asked.n_together, chosen), failed
