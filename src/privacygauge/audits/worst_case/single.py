"""The audit of worst-case records: mislabelled canaries beside ordinary records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from privacygauge.audits.units import owners
from privacygauge.audits.worst_case.judging import ATTACKS, FPRS, AskedOfTargets, dealt, judged
from privacygauge.classifier.estimators import as_trainer, require_records
from privacygauge.classifier.mislabelled import Targets, UniformLabel, WrongLabel
from privacygauge.classifier.shadows import Progress, train_all
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack
from privacygauge.errors import InputError
from privacygauge.evaluate.worst_case import WorstCaseFindings
from privacygauge.report.numbers import rate
from privacygauge.report.worst_case import training
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.store import unchecked_code

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class WorstCaseAudit(WorstCaseFindings):
    """What was found of canaries and of ordinary records, with ways to look at it."""

    targets: Targets
    """Which records they are, and the labels that models were trained on."""

    def __repr__(self) -> str:
        fpr = self.canaries.attacks[0].rates[0].fpr
        worst, usual = (group.highest(fpr)[1].estimate.value for group in self.groups)
        return (
            f"<WorstCaseAudit of {self.model}: TPR at {rate(fpr)} FPR {worst:.3f} for canaries, "
            f"{usual:.3f} for ordinary records>"
        )

    def summary(self) -> str:
        """Return the highest true-positive rates of both groups as plain text."""
        return training.summary(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one line for every group of targets, attack and false-positive rate."""
        import pandas as pd

        return pd.DataFrame(self.lines())

    def to_json(self) -> str:
        """Return the findings as strict JSON in ASCII; no single record is in it."""
        return training.to_json(self)


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
        Records with their own label whose membership is asked about too; all others where nothing
        is given, so that models are trained on half of the records. The rest is always in.
    label : WrongLabel, optional
        `UniformLabel` where nothing is given, or `LeastLikelyLabel`.
    n_models : int
        At least 4.
    attacks : sequence of Attack
        On signals and worlds.
    fprs : sequence of float
        False-positive rates, each in (0, 1).
    unit : array_like, shape (n,), optional
        The person behind each record: one coin puts all records of a person in, and intervals go
        by person.
    run : str or Path, optional
        Folder that keeps what was trained.
    invocation : mapping, optional
        How to start the run again, kept in its folder.
    n_jobs : int, optional
        Processes.
    progress : callable, optional
        Called with the number of models done and the number of all.
    seed : int
        Equal seeds give equal canaries and equal coins, whatever is trained: so trainings can be
        compared.
    level : float
        Of every interval, in (0, 1).

    Returns
    -------
    WorstCaseAudit

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
    trainer = as_trainer(model)
    features, labels = require_records(x, y)
    asked = AskedOfTargets(tuple(attacks), tuple(fprs), seed, level, len(attacks))
    chosen_label = label or UniformLabel()
    chosen, inside = dealt(
        features, labels, n_canaries, n_ordinary, chosen_label, n_models=n_models, seed=seed,
        unit=owners(unit, None, len(labels)),
    )  # fmt: skip
    with kept_or_scratch(run) as folder:
        values = train_all(
            trainer,
            features,
            chosen.y,
            inside,
            seed=seed,
            run=folder,
            asked=chosen.asked,
            invocation=invocation,
            n_jobs=n_jobs,
            progress=progress,
        )
    found = judged(trainer, values, inside, chosen, chosen_label.name, asked)
    if isinstance(found, Skipped):
        raise InputError(found.reason)
    return WorstCaseAudit(
        found.model,
        found.label,
        found.canaries,
        found.ordinary,
        found.test_accuracy,
        found.seed,
        found.level,
        found.skipped,
        (*found.warnings, *unchecked_code(run)),
        chosen,
    )
