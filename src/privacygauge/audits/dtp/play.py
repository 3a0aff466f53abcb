"""The audit of differential training privacy: what each record does to the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from privacygauge.audits.dtp.found import DtpAudit
from privacygauge.audits.running import Running
from privacygauge.classifier.binning import BIN
from privacygauge.classifier.dtp.findings import Asked, measurement
from privacygauge.classifier.dtp.measure import TrainingSet
from privacygauge.classifier.dtp.removal import Order
from privacygauge.classifier.dtp.told import checked_records, whose
from privacygauge.classifier.shadows import Progress
from privacygauge.core.units import owners


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
    asked = Asked(bin_width, queries, training_sets, remove, order, vary)
    features, labels = checked_records(x, y, remove)
    owner = owners(unit, ids, len(labels))
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
    done = measurement(task, asked, rows, ids, class_names, level)
    told = (*whose(features, labels, owner), *warnings, *done.warnings)
    origin = running.origin(skipped=done.skipped, warnings=told, about={"model": task.name})
    return DtpAudit(**vars(done.found), origin=origin)
