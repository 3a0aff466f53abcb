"""The audit of differential training privacy: what each record does to the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.dtp.found import DtpAudit
from privacygauge.audits.running import Running
from privacygauge.classifier.binning import BIN
from privacygauge.classifier.dtp.measure import TrainingSet
from privacygauge.classifier.dtp.removal import LIMIT, Order, check_order
from privacygauge.classifier.dtp.told import (
    check_numbers,
    checked_records,
    exact,
    in_one_bin,
    lone,
    mean_of,
    names_of,
    rows_of,
    sampled,
    whose,
)
from privacygauge.classifier.shadows import Progress
from privacygauge.core import checks
from privacygauge.core.units import owners
from privacygauge.evaluate import rates

VARIED = 2
"""Number of of the riskiest records that are looked at beside what else moves their predictions."""


def audit_dtp(
    model: object,
    x: ArrayLike,
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
    """Measure how far each record of a training set moves the classifier trained on it.

    Parameters
    ----------
    model : Learner, estimator, callable or Trainer
        How the classifier is trained. A learner leaves records out without training. So do
        scikit-learn's naive Bayes, discriminant analysis and nearest neighbours, where refits of
        the riskiest records and of some at random agree; anything else is trained once more for
        each record, as it was given: a random state of its own stays.
    x : array_like, shape (n, d)
        The training set.
    y : array_like of int, shape (n,)
        Classes in 0..k-1, at least two of them.
    rows : array_like of int, shape (r,), optional
        The records to measure; default: all. Of a person with several, all are.
    bin_width : float
        Width of the bins in which probabilities are published; 0 for none.
    queries : int
        So many further queries are asked beside the record itself, in search of a larger change,
        where the largest is not known otherwise: other records, and blends of records.
    training_sets : int
        In so many further pairs of halves of the data each record's PDTP is measured again.
    remove : int
        So many of the riskiest records are removed, one at a time, to see what that does.
    order : {"recomputed", "initial"}
        Whether the riskiest of those left is removed, or the next in the order of the first values.
    vary : int
        So many models each, for the two riskiest records, show what random initial weights and
        the other records do to their predictions.
    ids, unit : array_like, shape (n,), optional
        Names of the records in the report, and the people behind them; default: equal ids are one
        person. All records of a person are left out together, whatever the model is, by training
        once more; what is found of a person is what its riskiest record shows.
    class_names : tuple of str, optional
        Names of the classes.
    warnings : tuple of str
        What the reader has to know beside.
    run, n_jobs, progress, seed, level, command, provenance, invocation
        As in `audit_model`.

    Returns
    -------
    DtpAudit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

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
    running = Running(command, seed, level, provenance, run)
    check_numbers(
        bin_width, vary, {"queries": queries, "training_sets": training_sets, "remove": remove}
    )
    check_order(order)
    features, labels = checked_records(x, y, remove)
    owner = owners(unit, ids, len(labels))
    chosen = rows_of(rows, len(labels), owner)
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
    )
    names = names_of(class_names, task.n_classes)
    measured = task.measured(chosen)
    if owner is not None:
        riskiest, measured = measured.of_units(owner[chosen])
        chosen = chosen[riskiest]
    path, skipped = task.removal(remove, order, measured.learner) if remove else (None, ())
    named = np.arange(len(labels)) if ids is None else checks.vector(ids, "ids", length=len(labels))
    n_train = len(labels) if owner is None else checks.n_distinct(owner)
    complete = len(chosen) == n_train
    learner, above = measured.learner, measured.pdtp > LIMIT
    share = exact(above, level) if complete else rates.proportion(above, level=level)
    repeated = task.repeated(chosen, training_sets, learner) if training_sets else None
    columns = () if repeated is None else repeated.T
    varied = chosen[np.lexsort((chosen, -measured.pdtp))][:VARIED]
    origin = running.origin(
        skipped=skipped,
        warnings=(
            *(*whose(features, labels, owner), *warnings, *measured.warnings),
            *(*lone(labels, names), *sampled(len(chosen), n_train, level)),
            *in_one_bin(measured.pdtp, bin_width),
        ),
        about={"model": task.name},
    )
    return DtpAudit(
        origin,
        task.name,
        method=measured.method,
        width=bin_width,
        n_train=n_train,
        class_names=names,
        rows=chosen,
        ids=named[chosen],
        labels=labels[chosen],
        pdtp=measured.pdtp,
        dtp=measured.dtp,
        mean=mean_of(measured.pdtp, complete, level, "records"),
        share_above=share,
        repeated=repeated,
        averages=tuple(mean_of(x, False, level, "training sets") for x in columns),
        removal=path,
        variation=task.variation(varied, vary) if vary else (),
        checked=measured.checked,
    )
