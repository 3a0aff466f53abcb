"""The audit of one training by its worst-case records: canaries beside ordinary records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from privacygauge.audits.running import Running
from privacygauge.audits.worst_case.found import WorstCaseAudit
from privacygauge.audits.worst_case.judging import ATTACKS, FPRS, Design
from privacygauge.audits.worst_case.play import compared
from privacygauge.classifier.mislabelled import WrongLabel
from privacygauge.classifier.shadows import Progress
from privacygauge.core.game import Attack


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
    """Return what attacks achieve on mislabelled canaries, beside ordinary records.

    Canaries and ordinary targets are put into every model by fair coins of their own. Every
    model is the target once, with all others for the adversary's, so that a defended trainer is
    attacked by models that are defended in the same way.

    Parameters
    ----------
    model : estimator, callable or Trainer
        How a model is trained; see `audit_model`. Trainings with a defence too.
    x : array_like, shape (n, d)
    y : array_like of int, shape (n,)
        True classes in 0..k-1, k at least 2.
    n_canaries : int
        Records that get a wrong label. More of them resolve lower false-positive rates; many
        beside the size of the training set spoil the model.
    n_ordinary : int, optional
        Records with their own label whose membership is asked about too; all others
        by default, so that models are trained on half of the records. The rest is always in.
    label : WrongLabel, optional
        `UniformLabel` by default, or `LeastLikelyLabel`.
    n_models : int
        At least 4.
    attacks : sequence of Attack
        On signals and worlds.
    fprs : sequence of float
        False-positive rates, each in (0, 1).
    unit : array_like, shape (n,), optional
        The person behind each record: one coin puts all records of a person in, and intervals go
        by person.
    run, invocation, n_jobs, progress
        As in `audit_model`.
    seed : int
        Equal seeds give equal canaries and equal coins, whatever is trained: so trainings can be
        compared.
    level : float
        Of every interval, in (0, 1).

    Returns
    -------
    WorstCaseAudit
        The same as `compare_worst_cases` says of a training with no other beside it.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Aerni, Zhang & Tramèr (2024), "Evaluations of machine learning privacy defenses are
    misleading". Scores of all models and targets of a group are pooled under one threshold;
    intervals allow for targets that come back (`tprs_of_repeated`), not for another drawing of
    the table.
    """
    running = Running(
        "audit_worst_case", seed, level, None, run, invocation, n_jobs=n_jobs, progress=progress
    )
    design = Design(n_canaries, n_ordinary, label, n_models, tuple(attacks), tuple(fprs))
    found = compared(model, x, y, (), design, running, unit=unit)
    # The training may well be one with a defence: its name says which.
    training = replace(found.none, title=found.none.found.model)
    return WorstCaseAudit(found.origin, (training,), found.n_together, found.targets)
