"""Trainings compared by their worst-case records, with the same canaries and coins for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from privacygauge.audits.work import Running
from privacygauge.audits.worst_case.report import report
from privacygauge.audits.worst_case.verdict import WorstCaseResult
from privacygauge.classifier.defences.training import TrainingDefence
from privacygauge.classifier.defences.trainings import Before
from privacygauge.classifier.estimators import as_trainer, require_records
from privacygauge.classifier.mislabelled import WrongLabel
from privacygauge.classifier.shadows import Execution, Progress
from privacygauge.classifier.trainer import Trainer
from privacygauge.classifier.units_of_rows import twice
from privacygauge.classifier.worst_case import (
    ATTACKS,
    FPRS,
    ComparedTrainings,
    Design,
    defences_of,
    trained_and_judged,
)
from privacygauge.core import checks
from privacygauge.core.game import Attack
from privacygauge.core.units import owners
from privacygauge.evaluate.worst_case import is_resolved
from privacygauge.report import direction
from privacygauge.report.numbers import rate
from privacygauge.report.values import Report


class WorstCaseComparison(WorstCaseResult):
    """Trainings with the same canaries and the same coins, side by side.

    ``to_frame`` has one line for every training, group of targets, attack and false-positive rate.
    """

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)


class WorstCaseAudit(WorstCaseComparison):
    """Findings on canaries and ordinary records of a single training.

    It is a comparison with a single training, so it has the same report.
    """


_MANY = 0.1
"""Largest share of canaries among all records that does not spoil the models."""


def compare_worst_cases(
    model: object,
    x: ArrayLike,
    y: ArrayLike,
    defences: Sequence[TrainingDefence | Trainer | str] = (),
    *,
    n_canaries: int = 100,
    n_ordinary: int | None = None,
    label: WrongLabel | None = None,
    n_models: int = 32,
    attacks: Sequence[Attack] = ATTACKS,
    fprs: Sequence[float] = FPRS,
    unit: ArrayLike | None = None,
    delta: float | None = None,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    before: Before | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "compare_worst_cases",
    provenance: Mapping[str, str] | None = None,
    invocation: Mapping[str, Any] | None = None,
) -> WorstCaseComparison:
    """Measure attacks on canaries and ordinary records, by each way to train.

    Models are trained without a defence and with each defence, on the same records with the same
    canaries. This shows whether the defence that looks best on average also protects the most
    vulnerable records. Adding a defence changes only the corrected intervals of the others.

    Parameters
    ----------
    model : Networks, or what `audit_model` takes
        Training without a defence. Most defences need `Networks`.
    x : array_like, shape (n, d)
    y : array_like of int, shape (n,)
        True classes in 0..k-1, k at least 2.
    defences : sequence of TrainingDefence, Trainer or str
        ``Private(8.0)``, ``"dp-sgd:8"``, or a trainer of your own; none at all is allowed. With
        adversarial regularisation a fifth of each model's records is held back as its reference;
        they count as members, since their owners gave them.
    n_canaries, n_ordinary, label, n_models, attacks, fprs, unit
        As in `audit_worst_case`.
    delta : float, optional
        Delta of defences that need one and name none; default: one over the number of records.
    run, n_jobs, progress, seed, level, command, provenance, invocation
        As in `audit_model`.
    before : callable, optional
        Called with the trainings and their cohort before the first model is trained.

    Returns
    -------
    WorstCaseComparison
        Corrected intervals hold for all attacks, trainings, both groups and all rates together.

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    Aerni, Zhang & Tramèr (2024), "Evaluations of machine learning privacy defenses are
    misleading", sections 3 and 4. The intervals allow for targets that recur in many models, but
    not for another sample of the table.
    """
    running = Running(
        command=command,
        seed=seed,
        level=level,
        provenance=provenance,
        run=run,
        invocation=invocation,
        n_jobs=n_jobs,
        progress=progress,
    )
    checks.kind(label, "label", "wrong", "a rule of wrong labels, such as UniformLabel()")
    checks.kinds(attacks, "attacks", "score", "pg.attacks.Threshold(...)")
    design = Design(
        n_canaries=n_canaries,
        n_ordinary=n_ordinary,
        label=label,
        n_models=n_models,
        attacks=tuple(attacks),
        fprs=tuple(fprs),
    )
    return compare_trainings(
        model,
        x,
        y=y,
        defences=defences,
        design=design,
        running=running,
        unit=unit,
        delta=delta,
        before=before,
    )


def compare_trainings(
    model: object,
    x: ArrayLike,
    y: ArrayLike,
    defences: Sequence[TrainingDefence | Trainer | str],
    design: Design,
    running: Running,
    *,
    unit: ArrayLike | None = None,
    delta: float | None = None,
    before: Before | None = None,
) -> WorstCaseComparison:
    """Run the comparison of `compare_worst_cases`, from the request and the settings of the run."""
    features, labels = require_records(x, y)
    trainer = as_trainer(model)
    owner = owners(unit, None, len(labels))
    # DP-SGD that names no delta gets one over the number of records.
    asked_for = defences_of(defences, 1 / max(len(labels), 2) if delta is None else delta)
    found, failed = trained_and_judged(
        trainer,
        features,
        y=labels,
        defences=asked_for,
        design=design,
        asked=design.asked(len(asked_for), running.seed, running.level),
        owner=owner,
        execution=Execution(
            run=running.run,
            invocation=running.invocation,
            n_jobs=running.n_jobs,
            progress=running.progress,
        ),
        before=before,
    )
    of_units = twice(features, labels) if owner is None else ()
    origin = running.origin(
        "torch" if trainer.logits else None,
        skipped=(*failed, *found.none.found.skipped),
        warnings=(*of_units, *_warnings(found)),
        about={"model": trainer.name, "wrong label": found.none.found.label},
    )
    return WorstCaseComparison(**vars(found), origin=origin)


def audit_worst_case(
    model: object,
    x: ArrayLike,
    y: ArrayLike,
    *,
    n_canaries: int = 100,
    n_ordinary: int | None = None,
    label: WrongLabel | None = None,
    n_models: int = 32,
    attacks: Sequence[Attack] = ATTACKS,
    fprs: Sequence[float] = FPRS,
    unit: ArrayLike | None = None,
    run: str | Path | None = None,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> WorstCaseAudit:
    """Measure attacks on mislabelled canaries, and on ordinary records.

    Independent fair coins put canaries and ordinary targets into every model. Every model is the
    target once, with all others as reference models, so that a defended trainer is attacked by
    models that are defended in the same way.

    Parameters
    ----------
    model : estimator, callable or Trainer
        The training, with or without a defence; see `audit_model`.
    x : array_like, shape (n, d)
    y : array_like of int, shape (n,)
        True classes in 0..k-1, k at least 2.
    n_canaries : int
        Records that get a wrong label. More of them resolve lower false-positive rates; too many
        for the size of the training set spoil the model.
    n_ordinary : int, optional
        Records with their own label that are targets too; default: all others, so that models are
        trained on half of the records. The rest is always in.
    label : WrongLabel, optional
        Rule of the wrong label: `UniformLabel` (default) or `LeastLikelyLabel`.
    n_models : int
        Number of models, at least 4.
    attacks : sequence of Attack
        Attacks on signals and worlds.
    fprs : sequence of float
        False-positive rates, each in (0, 1).
    unit : array_like, shape (n,), optional
        The person behind each record: one coin decides for all records of a person, and intervals
        count people.
    run, invocation, n_jobs, progress
        As in `audit_model`.
    seed : int
        Seed of all draws. Equal seeds give equal canaries and coins, whatever the training, so that
        trainings can be compared.
    level : float
        Level of every interval, in (0, 1).

    Returns
    -------
    WorstCaseAudit
        The result of `compare_worst_cases` for a single training.

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    Aerni, Zhang & Tramèr (2024), "Evaluations of machine learning privacy defenses are
    misleading". Scores of all models and targets of a group are pooled under one threshold;
    intervals allow for targets that recur (`tprs_of_repeated`), but not for another sample of the
    table.
    """
    running = Running(
        command="audit_worst_case",
        seed=seed,
        level=level,
        provenance=None,
        run=run,
        invocation=invocation,
        n_jobs=n_jobs,
        progress=progress,
    )
    checks.kind(label, "label", "wrong", "a rule of wrong labels, such as UniformLabel()")
    checks.kinds(attacks, "attacks", "score", "pg.attacks.Threshold(...)")
    design = Design(
        n_canaries=n_canaries,
        n_ordinary=n_ordinary,
        label=label,
        n_models=n_models,
        attacks=tuple(attacks),
        fprs=tuple(fprs),
    )
    found = compare_trainings(model, x, y=y, defences=(), design=design, running=running, unit=unit)
    # The training may well be one with a defence: its name says which.
    training = replace(found.none, title=found.none.found.model)
    return WorstCaseAudit(**{**vars(found), "trainings": (training,)})


def _warnings(f: ComparedTrainings) -> Iterator[str]:
    n = len(f.targets.y)
    c = len(f.targets.canaries)
    if c > _MANY * n:
        yield (
            f"{c:,} of {n:,} records are canaries with a wrong label: more than a tenth of them "
            "spoils the models, and all numbers are those of worse models than yours"
        )
    if unresolved := [rate(fpr) for fpr in f.fprs if not is_resolved(f.trainings, fpr)]:
        yield (
            f"too few records to tell at a false-positive rate of {', '.join(unresolved)}: fewer "
            "than 10 false positives are expected; more models or more canaries tell"
        )
    for training in f.trainings:
        groups = training.found.groups
        turned = (x for group in groups for x in direction.warnings(group.inverted, group.name))
        where = f"{training.title}: " if len(f.trainings) > 1 else ""
        yield from (f"{where}{text}" for text in (*training.found.warnings, *turned))
