"""The audit of differential training privacy: what each record does to the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.audits.dtp.found import DtpAudit
from privacygauge.audits.running import Running
from privacygauge.classifier.binning import BIN, n_bins
from privacygauge.classifier.dtp.measure import TrainingSet
from privacygauge.classifier.dtp.removal import LIMIT, Order, check_order
from privacygauge.classifier.estimators import require_records
from privacygauge.classifier.shadows import Progress
from privacygauge.classifier.whose import copies, owners
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate import rates

EXACT = "exact: every record of the training set"
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
    _check(bin_width, vary, {"queries": queries, "training_sets": training_sets, "remove": remove})
    check_order(order)
    features, labels = _records(x, y, remove)
    owner = owners(unit, ids, len(labels))
    chosen = _rows(rows, len(labels), owner)
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
    names = _names(class_names, task.n_classes)
    measured = task.measured(chosen)
    if owner is not None:
        riskiest, measured = measured.of_units(owner[chosen])
        chosen = chosen[riskiest]
    path, skipped = task.removal(remove, order, measured.learner) if remove else (None, ())
    named = np.arange(len(labels)) if ids is None else checks.vector(ids, "ids", length=len(labels))
    n_train = len(labels) if owner is None else checks.n_distinct(owner)
    complete = len(chosen) == n_train
    learner, above = measured.learner, measured.pdtp > LIMIT
    share = _exact(above, level) if complete else rates.proportion(above, level=level)
    repeated = task.repeated(chosen, training_sets, learner) if training_sets else None
    columns = () if repeated is None else repeated.T
    varied = chosen[np.lexsort((chosen, -measured.pdtp))][:VARIED]
    origin = running.origin(
        skipped=skipped,
        warnings=(
            *(*_whose(features, labels, owner), *warnings, *measured.warnings),
            *(*_lone(labels, names), *_sampled(len(chosen), n_train, level)),
            *_one_bin(measured.pdtp, bin_width),
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
        mean=_mean(measured.pdtp, complete, level, "records"),
        share_above=share,
        repeated=repeated,
        averages=tuple(_mean(x, False, level, "training sets") for x in columns),
        removal=path,
        variation=task.variation(varied, vary) if vary else (),
        checked=measured.checked,
    )


def _records(x: ArrayLike, y: ArrayLike, remove: int) -> tuple[NDArray[Any], Ints]:
    """Return features and classes of at least two classes, and of more records than go."""
    features, labels = require_records(x, y)
    if len(np.unique(labels)) < 2:
        raise InputError("at least two classes are needed: one class alone has nothing to tell")
    if remove >= len(labels):
        raise InputError(
            f"remove must be at most {len(labels) - 1:,}, because one of the {len(labels):,} "
            f"records has to stay, got {remove:,}"
        )
    return features, labels


def _check(bin_width: float, vary: int, counts: Mapping[str, int]) -> None:
    """Refuse numbers before any work: some are needed only after hours of training."""
    if bin_width:
        n_bins(bin_width)
    for name, number in counts.items():
        if number < 0:
            raise InputError(f"{name} must be at least 0, got {number}")
    if vary != 0 and vary < 2:
        raise InputError(f"vary must be 0 or at least 2, got {vary}: one model does not vary")


def _rows(rows: ArrayLike | None, n: int, owner: Ints | None) -> Ints:
    """Return the records to measure, with all others of the same people."""
    if rows is None:
        return np.arange(n)
    chosen = np.unique(checks.integers(rows, "rows"))
    if not len(chosen) or chosen[0] < 0 or chosen[-1] >= n:
        raise InputError(f"rows must lie in 0..{n - 1}, got {checks.listed(chosen.tolist())}")
    return chosen if owner is None else np.flatnonzero(np.isin(owner, owner[chosen]))


def _whose(x: NDArray[Any], y: Ints, owner: Ints | None) -> list[str]:
    """Return what is to be said of people with several records."""
    if owner is None:
        return copies(x, y)
    return [
        f"{len(y):,} records belong to {checks.n_distinct(owner):,} people: all records of a "
        "person are left out together, and what is counted and ranked are people, each by its "
        "riskiest record"
    ]


def _names(given: tuple[str, ...] | None, n_classes: int) -> tuple[str, ...]:
    if given is None:
        return tuple(str(i) for i in range(n_classes))
    if len(given) < n_classes:
        raise InputError(f"class_names must name {n_classes} classes, got {len(given)}")
    return given


def _exact(values: Floats | Bools, level: float) -> Estimate:
    value = float(values.mean())
    return Estimate(value, value, value, level, len(values), EXACT)


def _mean(values: Floats, complete: bool, level: float, unit: str) -> Estimate:
    if complete:
        return _exact(values, level)
    value = float(values.mean())
    if np.isinf(value):
        return Estimate(value, float(values.min()), value, level, len(values), "infinite values")
    return rates.mean(values, level, unit=unit, least=0.0)  # no log ratio is below 0


def _one_bin(pdtp: Floats, width: float) -> list[str]:
    """Return a warning where records are above 1 by a single step between bins."""
    step = float(np.log(3)) if width else 0.0
    lone = int(np.count_nonzero(np.isclose(pdtp, step, rtol=1e-9, atol=0))) if step > 1 else 0
    if not lone:
        return []
    return [
        f"{lone:,} of the records above 1 have the value {step:.4f}, the step between the two "
        f"lowest bins, {width / 2:g} and {width * 1.5:g}: near their border a tiny change counts "
        "as a factor of 3; look at the values without bins beside these (--bin 0)"
    ]


def _lone(y: Ints, names: tuple[str, ...]) -> list[str]:
    """Return a warning that names the classes with a single record."""
    lone = np.flatnonzero(np.bincount(y, minlength=len(names)) == 1)
    if not len(lone):
        return []
    rows = [int(np.flatnonzero(y == label)[0]) for label in lone]
    return [
        f"{'a class has' if len(lone) == 1 else f'{len(lone)} classes have'} a single record "
        f"({checks.listed(names[label] for label in lone)}; rows {checks.listed(rows)}): without "
        "it the class is gone and its probability is 0, so its value is infinite, or the largest "
        "that bins allow"
    ]


def _sampled(measured: int, n: int, level: float) -> list[str]:
    if measured == n:
        return []
    # If a share q lies above, that no sampled one does has a probability of at most (1 - q)^m.
    missed = 1 - (1 - level) ** (1 / measured)
    return [
        f"{measured:,} of {n:,} records were measured: others may be riskier than the riskiest of "
        f"these; if they were drawn at random, at most {missed:.2g} of all records are, with "
        f"{level:.0%} confidence"
    ]
