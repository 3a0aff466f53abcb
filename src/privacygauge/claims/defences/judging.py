"""The games that judge a defence, their results side by side, and the risk after every epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.claims.defences.defence import Defence, Temperature, defend_predictions
from privacygauge.claims.defences.early_stopping import first_epoch, nearest_epoch
from privacygauge.claims.defences.memguard import NeuralJia
from privacygauge.classifiers.game import PoolGame, PredictionGame
from privacygauge.classifiers.neural import NeuralNasr
from privacygauge.classifiers.predictions import Predictions, probabilities
from privacygauge.classifiers.suite import METRICS, prediction_attacks, single_record_attacks
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import Estimator, RiskScore
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.core.units import foremost
from privacygauge.errors import InputError
from privacygauge.evaluate.defences import (
    AttackedDefence,
    JudgedDefence,
    WorstRecord,
    accuracy_lost,
    risk_quantiles,
)
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact, Headline
from privacygauge.evaluate.playing import Result, audit, headline, played_of, risk_of
from privacygauge.evaluate.rates import mean, proportion
from privacygauge.evaluate.risk import Risk

if TYPE_CHECKING:
    import pandas as pd


TargetGame = PredictionGame | PoolGame
"""A membership game about one target model's answers."""


@dataclass(frozen=True, eq=False)
class DefenceGames:
    """Three games on the same targets and shadow records."""

    undefended: TargetGame
    """Neither the target nor the shadow model is defended."""
    non_adaptive: TargetGame
    """The target is defended; the adversary learns from an undefended shadow model."""
    adaptive: TargetGame
    """Both are defended: the adversary knows the defence and applies it to its shadow model."""


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

    `target` and `shadow` are undefended predictions, each of a model on its own members and
    non-members. Each model's defence is fitted on its
    owner's predictions (see `defend_predictions`); the two defences draw independently.

    Notes
    -----
    Song & Mittal (2021), section 3.2: a defence must be judged by adversaries who know it, so
    the shadow model is defended as the target is.
    """
    # Independent draws: the adversary does not know the randomness of the target's defence.
    for_target, for_shadow = rng.spawn(2)
    answers = defend_predictions(defence, target, for_target, owner=target_owner)
    own = defend_predictions(defence, shadow, for_shadow, owner=shadow_owner)
    return DefenceGames(
        PredictionGame(target, shadow),
        PredictionGame(answers, shadow),
        PredictionGame(answers, own),
    )


def defence_attacks(*, logits: bool = False) -> tuple[Attack, ...]:
    """Return the attacks that judge defences on answers: all on predictions, and two networks.

    `logits` is True if the undefended model gives logits; see `prediction_attacks`.
    """
    return (*prediction_attacks(logits=logits), NeuralNasr(), NeuralJia())


WORST = 10
"""Number of the riskiest records that a report names."""


@dataclass(frozen=True, eq=False)
class GameFindings:
    """Results of one game."""

    results: Sequence[Result]
    """One per attack."""
    risk: Risk
    """The privacy risk score, assessed."""
    scores: Floats
    """(n,) The risk score of every record, in the order of the file."""


@dataclass(frozen=True, eq=False)
class DefenceOptions:
    """Options shared by every game."""

    attacks: tuple[Attack, ...]
    """Attacks; all of them are played in every game."""
    estimator: Estimator | None
    """Estimator of the privacy risk score."""
    seed: int
    """Seed from which all draws are derived."""
    level: float
    """Level of every interval, in (0, 1)."""

    def results(self, game: TargetGame) -> Sequence[Result]:
        """Return the result of every attack in a game."""
        rounds = game.deal(1, seeds.stream(self.seed, "deal"))
        return audit(rounds, self.attacks, seed=self.seed, level=self.level)

    def of(self, game: TargetGame) -> GameFindings:
        """Return the attacks' results and the privacy risk score in a game."""
        rounds = game.deal(1, seeds.stream(self.seed, "deal"))
        labels = game.target.labels
        risk = risk_of(
            rounds,
            RiskScore(estimator=self.estimator),
            labels=labels,
            seed=self.seed,
            level=self.level,
        )
        return GameFindings(self.results(game), *risk)

    def headline(self, found: GameFindings) -> Headline:
        """Return the best attack, with its interval corrected for the choice."""
        return headline(played_of(found.results), seed=self.seed, level=self.level)


def evaluations(results: Sequence[Result]) -> list[Evaluation]:
    """Return the evaluations of the attacks that could be played."""
    return [result[1] for result in results if not isinstance(result, Skipped)]


def training_attacks(*, logits: bool = False) -> tuple[Attack, ...]:
    """Return the attacks that judge defences at training: those that train nothing themselves.

    These are the metric attacks and those on single records. Neural attacks need seconds per game,
    and there are three games per defence and one per epoch. `logits` is as in `defence_attacks`.
    """
    metrics = (x for x in prediction_attacks(logits=logits) if isinstance(x, Threshold))
    return (*metrics, *single_record_attacks("shared"))


def judge_defence(
    name: str, variant: str, games: DefenceGames, undefended: GameFindings, asked: DefenceOptions
) -> JudgedDefence:
    """Return the risk that remains behind a defence, and the cost of the defence."""
    adaptive = asked.of(games.adaptive)
    level = asked.level
    target = games.undefended.target
    before = undefended.scores
    # The non-adaptive game is played below for its attacks only.
    after = adaptive.scores
    # A person is listed once, by the record at the highest risk.
    worst = (
        WorstRecord(str(target.ids[i]), bool(target.member[i]), float(before[i]), float(after[i]))
        for i in foremost(after, target.unit, WORST)
    )
    # Costs of the defence: accuracy, predicted classes and answers, before and after.
    p, q = (probabilities(x.values, logits=x.logits) for x in (target, games.adaptive.target))
    # L1 distance of each answer from the undefended one.
    moved = np.abs(q - p).sum(axis=1)
    unit = target.units
    facts = [
        Fact(
            f"accuracy on {side} {when} the defence",
            proportion((answers.argmax(axis=1) == target.labels)[rows], unit[rows], level),
        )
        for side, rows in (("members", target.member), ("non-members", ~target.member))
        for when, answers in (("without", p), ("with", q))
    ]
    changed = p.argmax(axis=1) != q.argmax(axis=1)
    facts += [
        Fact("share of records whose predicted class changed", proportion(changed, unit, level)),
        Fact("share of answers that were changed", proportion(moved > 0, unit, level)),
    ]
    costs = tuple(facts)
    distance = mean(moved, level, unit="records", owner=unit)
    return JudgedDefence(
        name=name,
        variant=variant,
        attacks=tuple(
            AttackedDefence(a[1], b[1], c[1], accuracy_lost(a[0].decisions, c[0].decisions, level))
            for a, b, c in zip(
                undefended.results, asked.results(games.non_adaptive), adaptive.results, strict=True
            )
            # An attack is compared only if it could be played in all three games.
            if not (isinstance(a, Skipped) or isinstance(b, Skipped) or isinstance(c, Skipped))
        ),
        headline=asked.headline(adaptive),
        costs=costs,
        distance=distance,
        risk=adaptive.risk,
        quantiles=risk_quantiles(undefended.risk, adaptive.risk, level),
        worst=tuple(worst),
    )


def can_be_undone(defence: object) -> bool:
    """Return whether an adversary who knows the defence can recover the true answers."""
    return isinstance(defence, Temperature)


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
    """One per attack, with a shadow model that was stopped after the same epoch."""
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
        """Return the point with the lowest test accuracy that is not below `accuracy`."""
        return self._chosen(nearest_epoch, accuracy)

    def first(self, accuracy: float) -> EpochRisk | Skipped:
        """Return the first point whose test accuracy is not below `accuracy`."""
        return self._chosen(first_epoch, accuracy)

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

    def _chosen(
        self, rule: Callable[[list[int], list[float], float], int | Skipped], accuracy: float
    ) -> EpochRisk | Skipped:
        epochs = [p.epoch for p in self.points]
        epoch = rule(epochs, [p.test_accuracy.value for p in self.points], accuracy)
        return epoch if isinstance(epoch, Skipped) else self.at(epoch)


def model_accuracies(target: Predictions, level: float) -> tuple[Estimate, Estimate]:
    """Return a model's accuracy on its members, and on the non-members."""
    right = target.values.argmax(axis=1) == target.labels
    unit = target.units
    member = target.member
    inside, outside = (proportion(right[x], unit[x], level) for x in (member, ~member))
    return inside, outside


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
        # One stream for all epochs, so that they differ in the models only.
        rounds = game.deal(1, seeds.stream(seed, "deal"))
        played = played_of(audit(rounds, attacks, seed=seed, level=level))
        found = tuple(evaluation for _, evaluation in played)
        highest = headline(played, seed=seed, level=level).accuracy
        accuracies = model_accuracies(target[epoch], level)
        points.append(EpochRisk(epoch, *accuracies, found, highest))
    return EpochCurve(tuple(points))
