"""The audit of defences: attacks without a defence, and adaptive and non-adaptive ones with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from privacygauge.audits.classifier.verdict import of_classes
from privacygauge.audits.defences.says import report
from privacygauge.audits.defences.sections import plot_trade_off
from privacygauge.audits.defences.verdict import DefenceResult
from privacygauge.audits.running import Running
from privacygauge.classifier.attacked import beside_shadow
from privacygauge.classifier.defences import judging
from privacygauge.classifier.defences.defence import Defence
from privacygauge.classifier.defences.judging import training_attacks
from privacygauge.classifier.defences.played import (
    PlayedDefences,
    as_defence,
    asked_of,
    at_training,
    behind_one,
    on_answers,
    require_different_defences,
    require_same_records,
)
from privacygauge.classifier.defences.training import TrainingDefence
from privacygauge.classifier.defences.trainings import Before
from privacygauge.classifier.files import PredictionsLike, as_predictions
from privacygauge.classifier.shadows import Execution, Progress
from privacygauge.classifier.trainer import Trainer
from privacygauge.classifier.trial import prepare_records
from privacygauge.classifier.whose import settle_units, twice
from privacygauge.core import checks
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.game import Attack
from privacygauge.core.units import owners
from privacygauge.report import direction
from privacygauge.report.values import Axes, Report


class DefenceAudit(DefenceResult):
    """Findings of an audit of defences, with its report, tables and plots.

    ``to_frame`` has one row per defence, attack and adversary.
    """

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)

    def plot_trade_off(self, ax: Axes | None = None) -> Axes:
        """Plot the accuracy of attacks over the change of answers."""
        return plot_trade_off(self, ax)


_CROSSFITTED = (
    "on all members and, in turn, on either half of the non-members, to answer the other half"
)
_OWNED = "on records of the owner that are not judged"
_AT_HAND = "by the owner: the defended answers were given"
_TRAINED = (
    "at training, on the records of each model; those on answers as each model's owner can: on "
    "all members and, in turn, on either half of the non-members, to answer the other half"
)


def audit_defences(
    target: PredictionsLike,
    shadow: PredictionsLike,
    defences: Sequence[Defence],
    *,
    target_owner: PredictionsLike | None = None,
    shadow_owner: PredictionsLike | None = None,
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    unit: ArrayLike | str | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_defences",
    provenance: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DefenceAudit:
    """Measure attacks against each defence, and the cost of the defence.

    Parameters
    ----------
    target : Predictions, path, mapping of arrays, or data frame
        Undefended predictions of the audited model on known members and known non-members.
    shadow : Predictions, path, mapping of arrays, or data frame
        Undefended predictions of a model that the adversary trained, on records of its own.
    defences : sequence of Defence
        At least one, such as ``MemGuard(budget=1.0)``.
    target_owner, shadow_owner : optional
        Predictions of either model on the records that its defence is fitted on: its members,
        and non-members that are not judged. Without them the judged records are cross-fitted.
    attacks : sequence of Attack, optional
        By default, the suite of `prediction_attacks` and two neural networks.
    estimator : Estimator, optional
        Estimator of the privacy risk score; default: isotonic regression.
    unit : array_like (n,) or str, optional
        The person behind each row of the target, or the name of the column of people; as in
        `audit_classifier`.
    progress : callable, optional
        Called after each game, with the number of games played and their total.
    seed, level, command, provenance
        As in `audit_model`.

    Returns
    -------
    DefenceAudit
        For each defence, every attack three times: on the undefended model, by an adversary who
        does not know the defence, and by one who does. Only the last shows the defence's worth.

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    Song & Mittal (2021), section 3.2.
    """
    running = Running(command, seed, level, provenance)
    owned = settle_units(as_predictions(target, "target", unit=unit))
    target = owned.target
    of_units = owned.warnings
    shadow = as_predictions(shadow, "shadow")
    checks.kinds(defences, "defences", "name", "pg.defences.Rounding(2)")
    checks.kinds(attacks, "attacks", "score", "pg.attacks.Threshold(...)")
    checks.kind(estimator, "estimator", "learn", "pg.attacks.Isotonic()")
    require_different_defences(defences)
    asked = asked_of(target, shadow, attacks=attacks, estimator=estimator, seed=seed, level=level)
    warnings = [*of_units, *beside_shadow(target, shadow, level)]
    owner, other = (
        None if given is None else as_predictions(given, name)
        for given, name in ((target_owner, "target_owner"), (shadow_owner, "shadow_owner"))
    )
    told = progress or (lambda done, total: None)
    played = on_answers(
        defences, target, shadow=shadow, owners=(owner, other), asked=asked, told=told
    )
    return _audit(played, _CROSSFITTED if target_owner is None else _OWNED, warnings, running)


def audit_defended(
    target: PredictionsLike,
    shadow: PredictionsLike,
    defended_target: PredictionsLike,
    defended_shadow: PredictionsLike,
    *,
    name: str = "defended",
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    unit: ArrayLike | str | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_defended",
    provenance: Mapping[str, str] | None = None,
) -> DefenceAudit:
    """Return the audit of one defence from its answers, as `audit_defences` does.

    Parameters
    ----------
    target, shadow : Predictions, path, mapping of arrays, or data frame
        Undefended predictions of either model.
    defended_target, defended_shadow : Predictions, path, mapping of arrays, or data frame
        Answers of the defended models on the same records, in the same order.
    name : str
        Name of the defence, for the reader.
    attacks, estimator, unit, seed, level, command, provenance
        As in `audit_defences`.

    Raises
    ------
    InputError
        If the defended answers are on other records.
    """
    running = Running(command, seed, level, provenance)
    owned = settle_units(as_predictions(target, "target", unit=unit))
    target = owned.target
    of_units = owned.warnings
    shadow = as_predictions(shadow, "shadow")
    answers = as_predictions(defended_target, "defended_target")
    own = as_predictions(defended_shadow, "defended_shadow")
    require_same_records(target, answers, "defended_target", "target")
    require_same_records(shadow, own, "defended_shadow", "shadow")
    # The defended rows are the same, and so are the people behind them.
    answers = replace(answers, unit=target.unit)
    asked = asked_of(target, shadow, attacks=attacks, estimator=estimator, seed=seed, level=level)
    warnings = [*of_units, *beside_shadow(target, shadow, level)]
    played = behind_one(name, target, shadow=shadow, answers=answers, own=own, asked=asked)
    return _audit(played, _AT_HAND, warnings, running)


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
    """Measure attacks against each defence at training, and the cost of the defence.

    A target and shadow models are trained without a defence and with each defence, on records
    chosen by fair, independent coins. For networks, the undefended training is recorded epoch by
    epoch, so that every defence at training is compared with early stopping at the same accuracy.

    Parameters
    ----------
    model : Networks, or what `audit_model` takes
        Training without a defence. Most defences at training need `Networks`.
    x : array_like or data frame of n records
        Candidate records, as in `audit_model`; None for a `Training`.
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    defences : sequence of TrainingDefence, Defence, Trainer or str
        At least one: ``Private(8.0)``, ``"dp-sgd:8"``, ``LabelOnly()`` on the undefended model,
        or a trainer of your own. Adversarial regularisation and distillation set a fifth of the
        records apart as references: no model is trained on them and no attack is judged on them.
    n_shadows : int
        Shadow models of each kind, at least 1.
    attacks : sequence of Attack, optional
        Default: the suite of `training_attacks`.
    estimator : Estimator, optional
        Estimator of the privacy risk score; default: isotonic regression.
    ids : array_like, shape (n,), optional
        Names of the records in the report.
    unit : array_like, shape (n,), optional
        The person behind each record; default: equal ids. One coin decides for all records of a
        person, and intervals count people.
    delta : float, optional
        Delta of DP-SGD or output perturbation given by name; see `Private`.
    before : callable, optional
        Called with the trainings and their cohort before the first model is trained.
    run, n_jobs, progress, seed, level, command, provenance, invocation
        As in `audit_model`.

    Returns
    -------
    DefenceAudit
        For each defence, every attack three times, as in `audit_defences`; in `curve`, the best
        attack after every recorded epoch of the undefended training.

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    Song & Mittal (2021), section 3.2. Epochs are chosen by the accuracy of shadow models, so the
    choice favours no attack on the target.
    """
    running = Running(command=command, seed=seed, level=level, provenance=provenance, run=run)
    records = prepare_records(model, x, y)
    suite = training_attacks(logits=records.trainer.logits) if attacks is None else attacks
    owner = owners(unit, ids, len(records.y))
    execution = Execution(run=run, invocation=invocation, n_jobs=n_jobs, progress=progress)
    asked = judging.DefenceOptions(tuple(suite), estimator, seed, level)
    asked_for = [as_defence(one, delta) for one in defences]
    played = at_training(
        records,
        asked_for,
        n_shadows=n_shadows,
        asked=asked,
        ids=ids,
        owner=owner,
        execution=execution,
        before=before,
    )
    of_units = twice(records.x, records.y) if owner is None else []
    return _audit(played, _TRAINED, of_units, running)


def _audit(
    played: PlayedDefences, fitted: str, warnings: Sequence[str], running: Running
) -> DefenceAudit:
    """Return the audit of the attacks and defences that were run, with warnings."""
    found = played.found
    doubts = tuple(of_classes(played.target, running.level))
    behind = (direction.warnings(c.left.inverted, c.title) for c in found.compared)
    turned = (*direction.warnings(found.none.inverted, "Without a defence"), *chain(*behind))
    origin = running.origin(
        played.package,
        skipped=played.skipped,
        warnings=(*played.warnings, *warnings, *doubts, *turned),
        about=played.about,
    )
    return DefenceAudit(**vars(found), origin=origin, fitted=fitted, doubts=doubts)
