"""Results of attacks in a defence's games, with the best attack on every defence side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.classifier.defences.games import DefenceGames, TargetGame
from privacygauge.classifier.defences.perturbations import Temperature
from privacygauge.classifier.pool import probabilities
from privacygauge.classifier.predictions import Predictions
from privacygauge.core import seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.core.units import foremost
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

WORST = 10
"""Number of the riskiest records that are named."""


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
        risk = risk_of(rounds, self.estimator, labels=labels, seed=self.seed, level=self.level)
        return GameFindings(self.results(game), *risk)

    def headline(self, found: GameFindings) -> Headline:
        """Return the best attack, with its interval corrected for the choice."""
        return headline(played_of(found.results), seed=self.seed, level=self.level)


def evaluations(results: Sequence[Result]) -> list[Evaluation]:
    """Return the evaluations of the attacks that could be played."""
    return [result[1] for result in results if not isinstance(result, Skipped)]


def judge_defence(
    name: str, variant: str, games: DefenceGames, undefended: GameFindings, asked: DefenceOptions
) -> JudgedDefence:
    """Return the results of attacks in spite of a defence, and its cost."""
    adaptive = asked.of(games.adaptive)
    level = asked.level
    target = games.undefended.target
    before = undefended.scores
    after = adaptive.scores
    worst = (
        WorstRecord(str(target.ids[i]), bool(target.member[i]), float(before[i]), float(after[i]))
        for i in foremost(after, target.unit, WORST)
    )
    return JudgedDefence(
        name,
        variant,
        tuple(
            AttackedDefence(a[1], b[1], c[1], accuracy_lost(a[0].decisions, c[0].decisions, level))
            for a, b, c in zip(
                undefended.results, asked.results(games.non_adaptive), adaptive.results, strict=True
            )
            if not (isinstance(a, Skipped) or isinstance(b, Skipped) or isinstance(c, Skipped))
        ),
        asked.headline(adaptive),
        *_costs(target, games.adaptive.target, level),
        adaptive.risk,
        risk_quantiles(undefended.risk, adaptive.risk, level),
        tuple(worst),
    )


def _costs(
    before: Predictions, after: Predictions, level: float
) -> tuple[tuple[Fact, ...], Estimate]:
    p, q = (probabilities(x.values, logits=x.logits) for x in (before, after))
    moved = np.abs(q - p).sum(axis=1)
    unit = before.units
    facts = [
        Fact(
            f"accuracy on {side} {when} the defence",
            proportion((answers.argmax(axis=1) == before.labels)[rows], unit[rows], level),
        )
        for side, rows in (("members", before.member), ("non-members", ~before.member))
        for when, answers in (("without", p), ("with", q))
    ]
    changed = p.argmax(axis=1) != q.argmax(axis=1)
    facts += [
        Fact("share of records whose predicted class changed", proportion(changed, unit, level)),
        Fact("share of answers that were changed", proportion(moved > 0, unit, level)),
    ]
    return tuple(facts), mean(moved, level, unit="records", owner=unit)


def model_accuracies(target: Predictions, level: float) -> tuple[Estimate, Estimate]:
    """Return a model's accuracy on its members, and on the non-members."""
    right = target.values.argmax(axis=1) == target.labels
    unit = target.units
    member = target.member
    inside, outside = (proportion(right[x], unit[x], level) for x in (member, ~member))
    return inside, outside


def can_be_undone(defence: object) -> bool:
    """Return whether an adversary who knows the defence can recover the true answers."""
    return isinstance(defence, Temperature)
