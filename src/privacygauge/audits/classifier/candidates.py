"""The candidate-set game of Long et al. (2017) as one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from numpy.typing import ArrayLike

from privacygauge.audits.classifier.found import CandidateAudit
from privacygauge.audits.running import Running
from privacygauge.classifier.candidates import (
    CandidateGame,
    CandidateRound,
    PerTargetDesign,
    SharedDesign,
)
from privacygauge.classifier.shadows import Progress
from privacygauge.classifier.suite import candidate_attacks
from privacygauge.classifier.trial import given
from privacygauge.classifier.whose import twice
from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack
from privacygauge.core.units import owners
from privacygauge.evaluate.direction import inverted
from privacygauge.evaluate.per_target import per_target
from privacygauge.evaluate.played import GameDescription
from privacygauge.evaluate.playing import audit, furthest, played_of, telling
from privacygauge.evaluate.rates import mean
from privacygauge.report import direction


def audit_candidates(
    model: object,
    x: object = None,
    y: ArrayLike | None = None,
    *,
    iterations: int = 100,
    n_targets: int = 100,
    design: PerTargetDesign | SharedDesign | None = None,
    measurements: int = 0,
    attacks: Sequence[Attack] | None = None,
    unit: ArrayLike | None = None,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> CandidateAudit:
    """Play the candidate-set game: which single records are at risk, and how sure is that.

    Parameters
    ----------
    model : estimator, callable, Training or Trainer
        As in `audit_model`.
    x : array_like or data frame of n records
        As in `audit_model`. The candidate set; half of it is the training set of each target model.
    y : array_like of int, shape (n,)
    iterations : int
        Each cuts the candidates again and trains two targets.
    n_targets : int
        Records that are attacked, drawn at random.
    design : PerTargetDesign or SharedDesign, optional
        Default: one shared pool of 64 shadow models.
    measurements : int
        Iterations in which the targets' PDTP is measured, exactly for a learner and by
        retraining for any other model.
    attacks : sequence of Attack, optional
        Default: the suite of `candidate_attacks`.
    unit : array_like, shape (n,), optional
        The person behind each candidate: all rows of a person fall in the same half, and
        intervals go by person.
    run, n_jobs, progress, seed, level
        As in `audit_model`.

    Returns
    -------
    CandidateAudit

    Notes
    -----
    Long et al. (2017), section 5.4; 100 iterations and 100 targets there.
    """
    checks.level(level)
    seeds.non_negative(seed)
    about = given(model, x, y)
    features, labels = about.x, about.y
    chosen = SharedDesign() if design is None else design
    owner = owners(unit, None, len(labels))
    game = CandidateGame(
        about.trainer,
        features,
        y=labels,
        iterations=iterations,
        n_targets=n_targets,
        design=chosen,
        seed=seed,
        unit=owner,
    )
    warnings = twice(features, labels) if owner is None else []
    dealt = game.train(measurements=measurements, run=run, n_jobs=n_jobs, progress=progress)
    suite = candidate_attacks(chosen.name) if attacks is None else attacks
    return _evaluated(game, dealt, suite, level, warnings)


def _evaluated(
    game: CandidateGame,
    dealt: CandidateRound,
    suite: Sequence[Attack],
    level: float,
    warnings: Sequence[str],
) -> CandidateAudit:
    results = telling(audit([dealt.round], suite, seed=game.seed, level=level))
    played = played_of(results, "give at least one that fits the candidate-set game")
    found = {evaluation.title: per_target(p.decisions) for p, evaluation in played}
    pdtp = dealt.pdtp
    correlations = (
        {}
        if pdtp is None
        else {title: accuracy.correlation_with(pdtp, level) for title, accuracy in found.items()}
    )
    turned = inverted([(e.title, p.transcript) for p, e in played], level)
    origin = Running("audit_candidates", game.seed, level).origin(
        skipped=(result for result in results if isinstance(result, Skipped)),
        warnings=(*warnings, *direction.warnings(turned)),
    )
    best, accuracy, area = furthest(played, level)
    return CandidateAudit(
        origin,
        _described(game, dealt),
        evaluations=tuple(evaluation for _, evaluation in played),
        best=best,
        accuracy=accuracy,
        auc=area,
        per_target=MappingProxyType(found),
        targets=game.targets,
        measured=None if dealt.measured is None else checks.frozen(dealt.measured),
        correlations=MappingProxyType(correlations),
        train_accuracy=mean(dealt.train_accuracy, level, unit="target models"),
        test_accuracy=mean(dealt.test_accuracy, level, unit="target models"),
        inverted=turned,
    )


def _described(game: CandidateGame, dealt: CandidateRound) -> GameDescription:
    """Return the game in words."""
    n_in = int(dealt.round.secret.sum())
    own = f"{game.design.n_models(game.n_targets):,} models of its own, " + (
        "shared by all targets" if game.design.name == "shared" else "some for each target"
    )
    return GameDescription(
        "candidate-set membership",
        "Which half of the candidate set was the model trained on: the one with this record, or "
        "the other?",
        "Sees the model's full prediction and the true class of a record (black box), knows the "
        f"candidate set and how the model is trained, and has {own}",
        f"drawn: in each of {game.iterations:,} iterations the candidates are cut in two halves at "
        "random, and a model is trained on each",
        "on the adversary's own models only",
        n_in,
        len(dealt.round.secret) - n_in,
    )
