"""The audit of defences at training: target and shadow models are trained with each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.defences.found import DefenceAudit
from privacygauge.audits.defences.play import Setting, audit_of
from privacygauge.audits.running import Running
from privacygauge.classifier.defences import judging
from privacygauge.classifier.defences.defence import Defence
from privacygauge.classifier.defences.defended import (
    as_defence,
    models_behind,
    require_different,
    trainings_of,
    undefended_of,
)
from privacygauge.classifier.defences.games import training_attacks, training_games
from privacygauge.classifier.defences.stopped import beside_stopping, curve_by_epoch
from privacygauge.classifier.defences.trained import train_each_way
from privacygauge.classifier.defences.training import TrainingDefence
from privacygauge.classifier.defences.trainings import Before
from privacygauge.classifier.pool_game import PoolGame
from privacygauge.classifier.shadows import Progress, failures
from privacygauge.classifier.trainer import Trainer
from privacygauge.classifier.trial import given
from privacygauge.classifier.whose import twice
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.game import Attack
from privacygauge.core.units import owners
from privacygauge.evaluate.compared_defences import n_together

_FITTED = (
    "at training, on the records of each model; those on answers as each model's owner can: on "
    "all members and, in turn, on either half of the non-members, to answer the other half"
)


def audit_training_defences(
    model: object,
    x: object,
    y: ArrayLike | None,
    defences: Sequence[TrainingDefence | Defence | Trainer | str],
    *,
    n_shadows: int = 8,
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    ids: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    delta: float | None = None,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_training_defences",
    provenance: Mapping[str, str] | None = None,
    invocation: Mapping[str, Any] | None = None,
    before: Before | None = None,
) -> DefenceAudit:
    """Return what attacks achieve against each defence, and what the defence costs.

    A target and shadow models are trained without a defence and with each of them, on the records
    that fair, independent coins put in them. Of networks the undefended training is recorded epoch
    by epoch, so that every defence at training stands beside early stopping at the same accuracy.

    Parameters
    ----------
    model : Networks, or what `audit_model` takes
        How a model is trained without a defence. Most defences at training need `Networks`.
    x : array_like or data frame of n records
        Candidate records, as in `audit_model`; None for a `Training`.
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    defences : sequence of TrainingDefence, Defence, Trainer or str
        At least one: ``Private(8.0)``, ``"dp-sgd:8"``, ``LabelOnly()`` on the undefended model,
        or a trainer of your own. With adversarial regularisation a fifth of the records becomes
        its reference: no model is trained on them and no attack is judged on them.
    n_shadows : int
        Shadow models of each kind, at least 1.
    attacks : sequence of Attack, optional
        Default: the suite of `training_attacks`.
    estimator : Estimator, optional
        Of the privacy risk score; default: isotonic regression.
    ids : array_like, shape (n,), optional
        Names of the records in the report.
    unit : array_like, shape (n,), optional
        The person behind each record; default: equal ids. One coin puts all records
        of a person in, and intervals go by person.
    delta : float, optional
        Of DP-SGD that is given by name; see `Private`.
    before : callable, optional
        Called with the trainings and their cohort before the first model is trained.
    run, n_jobs, progress, seed, level, command, provenance, invocation
        As in `audit_model`.

    Returns
    -------
    DefenceAudit
        For each defence every attack three times, as in `audit_defences`; in `curve` the best
        attack after every recorded epoch of the undefended training.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Song & Mittal (2021), section 3.2. Epochs are chosen by the accuracy of shadow models, so the
    choice favours no attack on the target.
    """
    running = Running(command, seed, level, provenance, run)
    records = given(model, x, y)
    trainer, features, labels = records.trainer, records.x, records.y
    asked_for = [as_defence(one, delta) for one in defences]
    require_different(asked_for)
    of, rows = undefended_of(trainer, len(labels), asked_for, seed)
    trainings, places = trainings_of(of, asked_for)
    owner = owners(unit, ids, len(labels))
    of_units = twice(features, labels) if owner is None else []
    without, ways = train_each_way(
        trainings,
        features,
        labels,
        rows,
        n_shadows=n_shadows,
        ids=None if ids is None else np.asarray(ids)[rows],
        unit=None if owner is None else owner[rows],
        seed=seed,
        run=run,
        invocation=invocation,
        n_jobs=n_jobs,
        progress=progress,
        before=before,
    )
    suite = training_attacks(logits=trainer.logits) if attacks is None else attacks
    asked = judging.Asked(tuple(suite), estimator, seed, level)
    defended, failed = models_behind(asked_for, places, trainings, of, without, ways, seed)
    undefended = asked.of(PoolGame(without.last.target, without.last.pool))
    results = [
        judging.judged(one.defence.name, one.defence.variant, games, undefended, asked)
        for one in defended
        for games in [training_games(without.last, one.models)]
    ]
    beside = len(without.epochs) - 1
    together = n_together(len(judging.evaluations(undefended.results)), len(results), beside)
    curve = curve_by_epoch(without, undefended, asked, together)
    about = {"model": trainer.name, "shadow models": str(n_shadows)}
    if of.references:
        about["reference records"] = f"{len(of.references):,}"
    told = [
        f"{one.defence.name} ({one.defence.variant}): {line}"
        for one in defended
        if isinstance(one.defence, TrainingDefence)
        for line in failures(one.models.failed, n_shadows)
    ]
    warnings = [*failures(without.last.failed, n_shadows), *told, *of_units]
    package, target = "torch" if without.last.pool.logits else None, without.last.target
    setting = Setting(target, _FITTED, warnings, running, failed, about, package)
    undone = [judging.can_be_undone(one.defence) for one in defended]
    audit = audit_of(undefended, results, undone, asked, setting, beside=beside)
    full = [
        beside_stopping(*pair, without, curve)
        for pair in zip(audit.compared, defended, strict=True)
    ]
    recorded = curve if len(curve) > 1 else ()
    return replace(audit, compared=tuple(full), n_shadows=n_shadows, curve=recorded)
