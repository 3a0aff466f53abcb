"""Worst-case records of a classifier: canaries, every model as target, trainings compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.claims.canaries import (
    LeastLikelyLabel,
    Targets,
    WrongLabel,
    every_model_as_target,
    targets,
)
from privacygauge.claims.defences.adversarial_regularisation import (
    AdversarialRegularisation,
    HeldBack,
)
from privacygauge.claims.defences.played import claim_of
from privacygauge.claims.defences.training import (
    AgainstAttacker,
    TrainingDefence,
    UndefendedTraining,
)
from privacygauge.claims.defences.trainings import (
    UNDEFENDED,
    Before,
    Trainings,
    array_of,
    values_each_way,
)
from privacygauge.claims.options import WorstCaseDesign
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.predictions import Pool
from privacygauge.classifiers.shadows import Execution, failed_shadows_warning, random_states
from privacygauge.classifiers.suite import METRICS
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.attacks.lira import LiraOffline, LiraOnline
from privacygauge.core.attacks.rmia import RmiaOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.core.transcript import TIED, Transcript, tied
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.evaluation import title
from privacygauge.evaluate.rates import proportion
from privacygauge.evaluate.worst_case import (
    NO_DEFENCE,
    AttackedTraining,
    TargetRisk,
    WorstCaseFindings,
    attacked_targets,
    is_resolved,
)
from privacygauge.runs.store import plan_in, read_run

HELD_BACK = 0.2
"""Share of each model's own records that adversarial regularisation holds back, not to train on but
as reference records of its attack network."""


@dataclass(frozen=True, eq=False)
class Way:
    """A way to train: with one defence."""

    title: str
    """Name of the defence, with its parameters."""
    trainer: Trainer
    """The trainer of the defended models."""
    claim: PrivacyClaim | None
    """Privacy claim of the defence's accountant; None without one."""


ATTACKS: tuple[Attack, ...] = (
    LiraOnline(),
    LiraOffline(),
    CalibratedOnline(),
    RmiaOnline(),
    Bavaria(),
    *(Threshold(metric, per_class=False) for metric in METRICS),
)
"""Attacks on single records, and the metric attacks that most evaluations are limited to."""

_FEWEST = 4
"""Fewest models of a worst-case audit."""


@dataclass(frozen=True)
class TargetOptions:
    """Options shared by every group of targets."""

    attacks: tuple[Attack, ...]
    """Attacks on signals and worlds; at least one."""
    fprs: tuple[float, ...]
    """False-positive rates in (0, 1), all different; at least one."""
    seed: int
    """Seed from which every attack's generator is derived."""
    level: float
    """Level of every interval, in (0, 1)."""
    n_together: int
    """Number of simultaneous intervals that the correction covers."""

    def __post_init__(self) -> None:
        checks.level(self.level)
        seeds.non_negative(self.seed)
        if not self.attacks or not self.fprs:
            raise InputError("attacks and fprs must have at least one entry each")
        for fpr in self.fprs:
            checks.level(fpr, "fpr")
            if self.fprs.count(fpr) > 1:
                raise InputError(f"fprs must all be different, got {fpr} more than once")


@dataclass(frozen=True, eq=False)
class _DrawnLabels:
    """Wrong classes that a run already holds, so that no model is trained for them again."""

    name: str
    classes: Ints

    def wrong(self, x: NDArray[Any], y: Ints, rows: Ints, rng: np.random.Generator) -> Ints:
        return self.classes


def deal_targets(
    design: WorstCaseDesign,
    x: NDArray[Any],
    y: Ints,
    wrong: WrongLabel,
    *,
    seed: int,
    unit: Ints | None,
    run: str | Path | None,
) -> tuple[Targets, Bools]:
    """Return the targets, and a mask of each model's training set, (n_models, n).

    If the choice of wrong labels trains a model, labels that a `run` holds are taken from there.
    """
    if design.n_models < _FEWEST:
        raise InputError(f"n_models must be at least {_FEWEST}, got {design.n_models}")
    if run is not None and isinstance(wrong, LeastLikelyLabel):
        plan = plan_in(run)
        if plan is not None and plan.settings.get("canaries") == design.n_canaries:
            # The run's labels begin with those of the canaries, the first records asked about.
            labels = np.asarray(read_run(run).array("label")[: design.n_canaries], np.int64)
            wrong = _DrawnLabels(wrong.name, labels)
    rng = seeds.stream(seed, "worst-case", "targets")
    chosen = targets(
        x, y, design.n_canaries, rng, n_ordinary=design.n_ordinary, label=wrong, unit=unit
    )
    # A stream apart from the targets': the number of models does not change the targets.
    coins = seeds.stream(seed, "worst-case", "coins")
    return chosen, chosen.membership(design.n_models, coins)


def judge_worst_case(
    trainer: Trainer,
    values: NDArray[Any],
    inside: Bools,
    chosen: Targets,
    label: str,
    asked: TargetOptions,
) -> WorstCaseFindings | Skipped:
    """Return the results of attacks on both groups; skipped if too few models could be trained.

    `values` (m, a, k) holds the predictions of every model for the canaries, then for the ordinary
    targets; `label` names the choice of the canaries' wrong class.
    """
    finite = np.array([bool(np.isfinite(model).all()) for model in values])
    if finite.sum() < _FEWEST:
        return Skipped(
            trainer.name,
            f"training failed for {int((~finite).sum())} of {len(finite)} models: their "
            "predictions are not finite, or their records hold a single class",
        )
    kept = values[finite]
    c = len(chosen.canaries)
    groups = {
        "canaries": (kept[:, :c], chosen.canaries),
        "ordinary": (kept[:, c:], chosen.ordinary),
    }
    pools = {
        name: Pool(answers, trainer.logits, inside[finite][:, rows], chosen.y[rows])
        for name, (answers, rows) in groups.items()
    }
    units = {"canaries": chosen.unit[chosen.canaries], "ordinary": chosen.unit[chosen.ordinary]}
    found = [_risk(group, pool, units[group], asked) for group, pool in pools.items()]
    ordinary = pools["ordinary"]
    # (models, targets): every model is tested on the ordinary targets that it was not trained on.
    right = ordinary.values.argmax(axis=2) == ordinary.labels
    outside = ~ordinary.inside
    owner = np.broadcast_to(units["ordinary"], right.shape)
    return WorstCaseFindings(
        trainer.name,
        label,
        canaries=found[0][0],
        ordinary=found[1][0],
        test_accuracy=proportion(right[outside], owner[outside], asked.level),
        seed=asked.seed,
        level=asked.level,
        skipped=found[0][1],
        warnings=tuple(failed_shadows_warning(np.flatnonzero(~finite), len(finite))),
    )


def _risk(
    name: str, pool: Pool, unit: Ints, asked: TargetOptions
) -> tuple[TargetRisk, tuple[Skipped, ...]]:
    """Return the results of all attacks on one group of targets, and those that were skipped."""
    scores: list[list[Floats]] = [[] for _ in asked.attacks]
    skipped: dict[int, Skipped] = {}
    for number, round_ in enumerate(every_model_as_target(pool)):
        for i, attack in enumerate(asked.attacks):
            rng = seeds.stream(asked.seed, "attack", attack.name, attack.variant, name, number)
            answer = attack.score(round_.observation, rng)
            if isinstance(answer, Skipped):
                # Skipped on one target model, an attack is left out altogether.
                skipped.setdefault(i, answer)
            else:
                scores[i].append(answer.value)
    for i, attack in enumerate(asked.attacks):
        if i not in skipped and tied(np.concatenate(scores[i])):
            skipped[i] = Skipped(attack.name, TIED)
    found = tuple(
        attacked_targets(
            title(attack.name, attack.variant, ""),
            _transcript(scores[i], pool, unit),
            asked.fprs,
            asked.level,
            n_together=asked.n_together,
        )
        for i, attack in enumerate(asked.attacks)
        if i not in skipped
    )
    if not found:
        reasons = [f" ({x.name} {x.reason})" for x in skipped.values()]
        raise InputError(
            f"no attack could be played{''.join(reasons[:1])}: give at least one on signals or "
            "worlds"
        )
    return TargetRisk(name, pool.n_targets, len(pool), found), tuple(skipped.values())


def _transcript(scores: Sequence[Floats], pool: Pool, unit: Ints) -> Transcript:
    m, n = pool.inside.shape
    # One round per model: scores come model by model, each for all targets.
    target = np.tile(np.arange(n), m)
    model = np.repeat(np.arange(m), n)
    return Transcript(
        score=np.concatenate(scores),
        secret=pool.inside.ravel(),
        target=target,
        round=model,
        unit=np.tile(unit, m),
    )


@dataclass(frozen=True, eq=False, repr=False)
class ComparedTrainings:
    """Results for canaries and ordinary records, one entry per training."""

    trainings: tuple[AttackedTraining, ...]
    """The undefended training, then one per defence, in the order of the defences."""
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
        """False-positive rates of the audit, in their given order."""
        return tuple(rate.fpr for rate in self.none.found.canaries.attacks[0].rates)

    @property
    def fpr(self) -> float:
        """The lowest rate that this many records can resolve; the highest if they resolve none.

        The corrected intervals hold at all rates simultaneously, so they allow for this choice.
        """
        told = [fpr for fpr in self.fprs if is_resolved(self.trainings, fpr)]
        return min(told) if told else max(self.fprs)

    @property
    def best(self) -> AttackedTraining:
        """The defended training with the least leakage of canaries; among equals the most accurate.

        The undefended training if there is no other.
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
        """Pairs of trainings that canaries rank significantly against ordinary records.

        The first of a pair leaks less by ordinary records and more by canaries; in both cases the
        intervals, which hold simultaneously, do not overlap.
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
    chosen: Targets,
    inside: Bools,
    *,
    defences: Sequence[TrainingDefence],
    wrong: str,
    asked: TargetOptions,
    execution: Execution,
    before: Before | None,
) -> tuple[ComparedTrainings, list[Skipped]]:
    """Return the results of each way to train, and the defences whose training failed.

    `trainer` trains without a defence, on the records `inside`; `wrong` names the choice of the
    canaries' labels, and `execution` and `before` are those of `values_each_way`.
    """
    # Targets are in half of the training sets on average, all other records in every one.
    of = UndefendedTraining(trainer, 2 * len(x) - len(chosen.asked))
    ways = []
    for defence in defences:
        if isinstance(defence, AgainstAttacker):
            by: Trainer = AdversarialRegularisation(
                of.networks(defence.name), defence.weight, HeldBack(HELD_BACK)
            )
        else:
            by = defence.trainer(of)
        named = title(defence.name, defence.variant, "")
        ways.append(Way(named, by, claim_of(defence, by, of)))
    # Predictions are kept of the last epoch. Other models than networks have no epochs: their
    # training counts as one.
    last = trainer.epochs if isinstance(trainer, Networks) else 1
    values = values_each_way(
        Trainings(trainer, (last,), tuple(way.trainer for way in ways)),
        Cohort(
            x=x,
            y=chosen.y,
            inside=inside,
            seeds=random_states(asked.seed, len(inside)),
            n_classes=int(chosen.y.max()) + 1,
            asked=chosen.asked,
        ),
        execution,
        seed=asked.seed,
        name=NAME,
        about={"canaries": len(chosen.canaries), "wrong label": wrong},
        before=before,
    )
    judge = partial(judge_worst_case, inside=inside, chosen=chosen, label=wrong, asked=asked)
    undefended = judge(trainer, values[UNDEFENDED][:, 0])
    if isinstance(undefended, Skipped):
        where = "without a defence " if ways else ""
        raise InputError(f"{where}{undefended.reason}")
    trainings = [AttackedTraining(NO_DEFENCE, undefended)]
    failed = []
    for number, way in enumerate(ways):
        found = judge(way.trainer, values[array_of(number)])
        if isinstance(found, Skipped):
            failed.append(Skipped(way.title, found.reason))
        else:
            trainings.append(AttackedTraining(way.title, found, way.claim))
    return ComparedTrainings(tuple(trainings), asked.n_together, chosen), failed
