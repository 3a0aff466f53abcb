"""The candidate-set game of Long et al. (2017) as one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from privacygauge.audits.classifier.found import CandidateAudit
from privacygauge.audits.running import Running
from privacygauge.classifier.candidates import (
    CandidateGame,
    CandidateRound,
    PerTargetDesign,
    SharedDesign,
    judge_candidates,
)
from privacygauge.classifier.shadows import Progress
from privacygauge.classifier.suite import candidate_attacks
from privacygauge.classifier.trial import prepare_records
from privacygauge.classifier.whose import twice
from privacygauge.core import checks
from privacygauge.core.game import Attack
from privacygauge.core.units import owners
from privacygauge.evaluate.played import GameDescription
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
    """Play the candidate-set game: estimate which single records are at risk, with intervals.

    Parameters
    ----------
    model : estimator, callable, Training or Trainer
        As in `audit_model`.
    x : array_like or data frame of n records
        As in `audit_model`. The candidate set: half of it is the training set of each target model.
    y : array_like of int, shape (n,)
    iterations : int
        Number of splits of the candidates, at least 1; each trains two target models.
    n_targets : int
        Number of records that are attacked, drawn at random, at least 1.
    design : PerTargetDesign or SharedDesign, optional
        Default: one shared pool of 64 shadow models.
    measurements : int
        Number of iterations in which the targets' PDTP is measured, at most `iterations`: exactly
        for a learner, by retraining for any other model.
    attacks : sequence of Attack, optional
        Default: the suite of `candidate_attacks`.
    unit : array_like, shape (n,), optional
        The person behind each candidate: all rows of a person are in the same half, and intervals
        resample people.
    run, n_jobs, progress, seed, level
        As in `audit_model`.

    Returns
    -------
    CandidateAudit

    Notes
    -----
    Long et al. (2017), section 5.4; 100 iterations and 100 targets there.
    """
    running = Running("audit_candidates", seed, level)
    checks.kinds(attacks, "attacks", "score", "pg.attacks.Threshold(...)")
    about = prepare_records(model, x, y)
    features = about.x
    labels = about.y
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
    # Equal records without units may be in both halves, in one of them as a copy.
    warnings = twice(features, labels) if owner is None else []
    dealt = game.train(measurements=measurements, run=run, n_jobs=n_jobs, progress=progress)
    suite = candidate_attacks(chosen.name) if attacks is None else attacks
    found, skipped = judge_candidates(dealt, suite, targets=game.targets, seed=seed, level=level)
    told = (*warnings, *direction.warnings(found.inverted))
    origin = running.origin(skipped=skipped, warnings=told)
    return CandidateAudit(**vars(found), origin=origin, game=_describe_game(game, dealt))


def _describe_game(game: CandidateGame, dealt: CandidateRound) -> GameDescription:
    """Return the description of the game."""
    n_in = int(dealt.round.secret.sum())
    own = f"{game.design.n_models(game.n_targets):,} models of its own, " + (
        "shared by all targets" if game.design.name == "shared" else "some for each target"
    )
    return GameDescription(
        "candidate-set membership",
        question=(
            "Which half of the candidate set was the model trained on: the one with this record, "
            "or the other?"
        ),
        adversary=(
            "Sees the model's full prediction and the true class of a record (black box), knows "
            f"the candidate set and how the model is trained, and has {own}"
        ),
        secret=(
            f"drawn: in each of {game.iterations:,} iterations the candidates are cut in two "
            "halves at random, and a model is trained on each"
        ),
        thresholds="on the adversary's own models only",
        n_in=n_in,
        n_out=len(dealt.round.secret) - n_in,
    )
