"""The audit of differential training privacy: the effect of each record on the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from numpy.typing import ArrayLike

from privacygauge.audits.dtp.options import NAME, DtpRequest
from privacygauge.audits.dtp.says import report
from privacygauge.audits.dtp.sections import plot_pdtp
from privacygauge.audits.dtp.verdict import DtpResult
from privacygauge.audits.running import Running
from privacygauge.audits.training import load_labelled_records
from privacygauge.audits.work import Work
from privacygauge.classifier import estimators
from privacygauge.classifier.dtp.findings import (
    DtpOptions,
    checked_records,
    draw_people_rows,
    measurement,
    units_note,
)
from privacygauge.classifier.dtp.learner import Learner, LearnerTrainer
from privacygauge.classifier.dtp.measure import Order, TrainingSet
from privacygauge.classifier.dtp.named import (
    learner_on_categories,
    learner_on_numbers,
    many_categories,
)
from privacygauge.classifier.forms import NUMBERS, on_records_made_up, standardise_columns
from privacygauge.classifier.held import Held
from privacygauge.classifier.named import NETWORKS, trainer_named
from privacygauge.classifier.names import ON_CATEGORIES
from privacygauge.classifier.networks import Networks
from privacygauge.classifier.resolution import BIN
from privacygauge.classifier.shadows import Progress
from privacygauge.classifier.tables import CategoricalTable, Records, load_categories
from privacygauge.classifier.trainer import Trainer
from privacygauge.classifier.trial import bill_without_each
from privacygauge.core.checks import Ints
from privacygauge.core.units import owners
from privacygauge.report.values import Axes, Report
from privacygauge.runs.store import plan_in


class DtpAudit(DtpResult):
    """Effect of each training record on the classifier, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)

    def plot_pdtp(self, ax: Axes | None = None) -> Axes:
        """Plot the records' PDTP, largest first."""
        return plot_pdtp(self, ax)


def audit_dtp(
    model: object,
    x: object,
    y: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    bin_width: float = BIN,
    queries: int = 500,
    training_sets: int = 0,
    remove: int = 0,
    order: Order = "recomputed",
    vary: int = 0,
    ids: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    class_names: tuple[str, ...] | None = None,
    warnings: tuple[str, ...] = (),
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_dtp",
    provenance: Mapping[str, str] | None = None,
    invocation: Mapping[str, Any] | None = None,
) -> DtpAudit:
    """Measure the effect of each record of a training set on the classifier.

    Parameters
    ----------
    model : Learner, estimator, callable or Trainer
        Training of the classifier. A learner leaves records out without training. So do
        scikit-learn's naive Bayes, discriminant analysis and nearest neighbours, if refits of the
        riskiest records and of some at random agree. Anything else is trained once more for each
        record, as given: it keeps its own random state.
    x : array_like, shape (n, d), data frame of pandas or polars, or list of n texts
        The training set; models are trained on it, and queried, in this form.
    y : array_like of int, shape (n,)
        Classes in 0..k-1, at least two of them.
    rows : array_like of int, shape (r,), optional
        The records to measure; default: all. All records of a person are measured together.
    bin_width : float
        Width of the bins in which probabilities are published; 0 for none.
    queries : int
        Number of queries besides the record itself, in search of a larger change if the largest is
        not known otherwise: other records, and blends of records.
    training_sets : int
        Number of random pairs of halves of the data in which each record's PDTP is measured again.
    remove : int
        Number of the riskiest records to remove, one at a time, to measure the effect.
    order : {"recomputed", "initial"}
        Whether the riskiest of those left is removed, or the next in the order of the first values.
    vary : int
        Number of models with other random states, and as many on other records, to compare with the
        effect of the two riskiest records; 0 for none, else at least 2.
    ids, unit : array_like, shape (n,), optional
        Names of the records in the report, and the people behind them; default: equal ids are one
        person. All records of a person are left out together, by training once more with any model;
        a person's result is that of the riskiest record.
    class_names : tuple of str, optional
        Names of the classes.
    warnings : tuple of str
        Warnings for the reader of the report.
    run, n_jobs, progress, seed, level, command, provenance, invocation
        As in `audit_model`.

    Returns
    -------
    DtpAudit

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    Long et al. (2017): PDTP is definition 4.3, DTP definition 4.2, the limit of 1 section 5, the
    average over training sets section 5.4, removal section 7.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> x = np.array([[0.0], [0.1], [0.3], [0.9], [1.0], [1.2]])
    >>> found = audit_dtp(GaussianNB(), x, [0, 0, 0, 1, 1, 1], bin_width=0)
    >>> found.decision
    'do not publish'
    """
    running = Running(command=command, seed=seed, level=level, provenance=provenance, run=run)
    asked = DtpOptions(
        width=bin_width,
        queries=queries,
        training_sets=training_sets,
        remove=remove,
        order=order,
        vary=vary,
    )
    features, labels = checked_records(model, x, y, remove)
    owner = owners(unit, ids, len(labels))
    names = class_names or estimators.class_names(y)
    task = TrainingSet(
        model,
        features,
        y=labels,
        width=bin_width,
        n_queries=queries,
        seed=seed,
        unit=owner,
        run=run,
        n_jobs=n_jobs,
        progress=progress,
        invocation=invocation,
        class_names=names,
    )
    done = measurement(task, asked, rows=rows, ids=ids, class_names=names or None, level=level)
    told = (*units_note(features, labels, owner), *warnings, *done.warnings)
    origin = running.origin(skipped=done.skipped, warnings=told, about={"model": task.name})
    return DtpAudit(**vars(done.found), origin=origin)


def audit_training_set(asked: DtpRequest, work: Work) -> DtpAudit:
    """Run the requested audit, training the models that the run does not hold yet."""
    # Before any of the user's code is imported: the run may have been made with other code.
    invocation = work.invocation(NAME, asked) if asked.keeps else None
    records, x, model, warnings = _load_records(asked, work)
    showing = work.bar("Training models") if asked.keeps else nullcontext(None)
    with work.resumable(asked), showing as shown:
        progress = (
            None
            if shown is None
            else _announce_cost(asked, work, x=x, y=records.y, model=model, progress=shown)
        )
        return audit_dtp(
            model,
            x,
            records.y,
            rows=draw_people_rows(asked.measure, records, asked.data, asked.seed),
            bin_width=asked.bin_width,
            queries=asked.queries,
            training_sets=asked.training_sets,
            remove=asked.remove,
            order=cast(Order, asked.order),
            vary=asked.vary,
            ids=records.ids,
            unit=records.unit,
            class_names=records.names,
            warnings=warnings,
            run=work.run if asked.keeps else None,
            n_jobs=work.jobs if asked.keeps else 1,
            progress=progress,
            invocation=invocation,
            **asked.told(NAME),
        )


def _load_records(
    asked: DtpRequest, work: Work
) -> tuple[Records | CategoricalTable, Held, Learner | Trainer, tuple[str, ...]]:
    """Return the records, the training inputs, the model, and warnings about columns."""
    if asked.model in ON_CATEGORIES:
        table = load_categories(
            asked.data,
            asked.label,
            continuous=asked.continuous,
            ids=asked.ids,
            unit=asked.unit,
            drop=asked.drop,
            separator=asked.separator,
        )
        learner = learner_on_categories(asked.model, table, asked.alpha, asked.seed)
        return table, table.x, learner, many_categories(table)
    trainer = trainer_named(asked.model, work.read) if asked.keeps else None
    form = NUMBERS if trainer is None else on_records_made_up(trainer)
    records = load_labelled_records(asked, form, unit=asked.unit)
    x = records.x
    if asked.model in NETWORKS and isinstance(trainer, Networks):
        # In float64 first; then each network has the scale of what it is trained on.
        x = standardise_columns(x)
        trainer = replace(trainer, own_scale=True)
    if trainer is None:
        return records, x, learner_on_numbers(asked.model, asked.l2, asked.neighbours), ()
    if isinstance(trainer, LearnerTrainer):  # it leaves records out without training
        return records, x, trainer.learner, ()
    return records, x, trainer, ()


def _announce_cost(
    asked: DtpRequest,
    work: Work,
    x: Held,
    y: Ints,
    model: Learner | Trainer,
    progress: Progress,
) -> Progress:
    """Return a progress callback that announces the cost of training before its first call.

    Progress begins after every check that may refuse, so that an error is a single line.
    """
    if isinstance(model, Learner) or work.quiet:
        return progress
    # A resumed run has announced it already.
    if work.run is not None and plan_in(work.run) is not None:
        return progress
    said = False

    def tell(done: int, total: int) -> None:
        nonlocal said
        if not said:
            said = True
            n = asked.measure or len(y)
            work.say(
                bill_without_each(
                    model, x, y=y, n_models=n, training_sets=asked.training_sets, n_jobs=work.jobs
                )
            )
        progress(done, total)

    return tell
