"""The audit of differential training privacy: what each record does to the classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakscope.classifier.binning import BIN, n_bins
from leakscope.classifier.dtp.findings import DtpFindings
from leakscope.classifier.dtp.indirect import search
from leakscope.classifier.dtp.learner import Bounded, DtpRange, Learner, box_of
from leakscope.classifier.dtp.logistic import Logistic
from leakscope.classifier.dtp.naive_bayes import NaiveBayes
from leakscope.classifier.dtp.ratios import binned_bound, cap, log_ratio
from leakscope.classifier.dtp.recognised import recognised
from leakscope.classifier.dtp.removal import (
    LearnerRecords,
    Order,
    Remaining,
    RemovalPath,
    categorical_records,
    remove_riskiest,
)
from leakscope.classifier.dtp.retrained import failures, retrained
from leakscope.classifier.dtp.variation import Variation, variation
from leakscope.classifier.estimators import as_trainer, require_records
from leakscope.classifier.shadows import Progress
from leakscope.core import checks, seeds
from leakscope.core.checks import Bools, Floats, Ints
from leakscope.core.estimate import Estimate, Skipped
from leakscope.core.versions import own_version, versions
from leakscope.errors import InputError
from leakscope.evaluate import rates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

EXACT = "exact: every record of the training set"
CLOSED = "exact without training: what the record contributed is taken out"
AT_OPTIMUM = "at the optimum with and without the record, from one factorised Hessian"
TRAINED = "trained once more without each record, with the same random draws"
STOPS_SHORT = (
    "scikit-learn's solver stops short of the optimum of logistic regression, and at other points "
    "with and without a record; measured is the optimum itself: give ls.Logistic(l2) to mean that, "
    "or a callable that returns the estimator to have it trained again as it is"
)
FROM_WEIGHTS = "lower end from queries that were tried; certified bound from the networks' weights"
SEARCHED = "lower end from queries that were tried; no upper bound is known"


@dataclass(frozen=True, eq=False, repr=False)
class DtpAudit(DtpFindings):
    """What an audit of differential training privacy found, with ways to look at it."""

    def __repr__(self) -> str:
        return (
            f"<DtpAudit of {len(self.rows):,} records: PDTP up to {self.highest:.3f}, "
            f"{self.n_above:,} above 1: {self.decision}>"
        )

    def summary(self) -> str:
        """Return the verdict and the main numbers as plain text."""
        from leakscope.report import dtp

        return dtp.summary(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every record: row, id, label, pdtp, dtp_lower, dtp_upper."""
        from leakscope.report import dtp

        return dtp.records_frame(self)

    def to_json(self) -> str:
        """Return the text of ``report.json``."""
        from leakscope.report import dtp

        return dtp.to_json(self)

    def to_html(self) -> str:
        """Return the text of ``report.html``."""
        from leakscope.report import dtp

        return dtp.render_html(self)

    def plot_pdtp(self, ax: Axes | None = None) -> Axes:
        """Return axes with the records' PDTP, largest first."""
        from leakscope.report import dtp

        return dtp.plot_pdtp(self, ax)

    def write(self, directory: str | Path) -> list[Path]:
        """Write report.html, report.json and records.parquet; return their paths."""
        from leakscope.report import dtp

        return dtp.write_report(self, Path(directory))


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
        How the classifier is trained. For a learner, and for scikit-learn's naive Bayes,
        logistic regression, discriminant analysis and nearest neighbours, leaving a record out
        needs no training; anything else is trained once more for each record.
    x : array_like, shape (n, d)
        The training set.
    y : array_like of int, shape (n,)
        Classes in 0..k-1, at least two of them.
    rows : array_like of int, shape (r,), optional
        The records to measure; all where nothing is given.
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
    ids : array_like, shape (n,), optional
        Names of the records in the report.
    class_names : tuple of str, optional
        Names of the classes.
    warnings : tuple of str
        What the reader has to know beside.
    run : str or Path, optional
        Folder that keeps what was trained: after an interruption the same call goes on there.
    n_jobs, progress, seed, level, command, provenance, invocation
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
    checks.level(level)
    seeds.non_negative(seed)
    if bin_width:
        n_bins(bin_width)
    for name, number in {"queries": queries, "training_sets": training_sets}.items():
        if number < 0:
            raise InputError(f"{name} must be at least 0, got {number}")
    features, labels = require_records(x, y)
    if len(np.unique(labels)) < 2:
        raise InputError("at least two classes are needed: one class alone has nothing to tell")
    task = _Task(
        model, features, labels, bin_width, queries, seed, run, n_jobs, progress, invocation
    )
    chosen = _rows(rows, len(labels))
    measured = task.measured(chosen)
    repeated = task.repeated(chosen, training_sets) if training_sets else None
    risky = chosen[np.lexsort((chosen, -measured.pdtp))]
    path, skipped = task.removal(remove, order) if remove else (None, ())
    names = class_names or tuple(str(i) for i in range(task.n_classes))
    return DtpAudit(
        command,
        own_version(),
        seed,
        level,
        task.name,
        measured.method,
        bin_width,
        len(labels),
        names,
        chosen,
        (np.arange(len(labels)) if ids is None else checks.vector(ids, "ids", length=len(labels)))[
            chosen
        ],
        labels[chosen],
        measured.pdtp,
        measured.dtp,
        _mean(measured.pdtp, len(chosen) == len(labels), level, "records"),
        _share(measured.pdtp > 1, len(chosen) == len(labels), level),
        repeated,
        ()
        if repeated is None
        else tuple(_mean(v, False, level, "training sets") for v in repeated.T),
        path,
        task.variation(risky[:2], vary) if vary else (),
        skipped,
        (
            *warnings,
            *measured.warnings,
            *_lone(labels, names),
            *_sampled(len(chosen), len(labels), level),
        ),
        {**versions(), "model": task.name, **(provenance or {})},
    )


@dataclass(frozen=True, eq=False)
class _Measured:
    pdtp: Floats
    dtp: DtpRange
    method: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Task:
    """A training set, a way to train on it, and how to leave records out."""

    model: object
    x: NDArray[Any]
    y: Ints
    width: float
    n_queries: int
    seed: int
    run: str | Path | None
    n_jobs: int | None
    progress: Progress | None
    invocation: Mapping[str, Any] | None

    @cached_property
    def learner(self) -> Learner | None:
        """What leaves records out without training, where there is such a thing."""
        if isinstance(self.model, Learner):
            return self.model
        return recognised(self.model, self.x, self.y)

    @cached_property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1

    @property
    def name(self) -> str:
        return as_trainer(self.model).name if self.learner is None else self.learner.name

    @cached_property
    def queries(self) -> NDArray[Any]:
        """What is asked beside the records left out, (q, d).

        The query 0, which c* of section 6.1 answers with its secret; records drawn at random;
        blends, whose attributes come from a record each; and, of numbers, places between two
        records, where the nearest neighbours of section 6.3 give themselves away.
        """
        rng = seeds.stream(self.seed, "dtp", "queries")
        n, d = self.x.shape
        if not self.n_queries:
            return self.x[:0]
        kinds = 2 if (self.x == np.round(self.x)).all() else 3
        each = -(-(self.n_queries - 1) // kinds)
        records = self.x[rng.choice(n, min(each, n), replace=False)]
        blends = self.x[rng.integers(n, size=(each, d)), np.arange(d)]
        asked = [np.zeros_like(self.x[:1]), records, blends]
        if kinds == 3:
            first, second = self.x[rng.integers(n, size=(2, each))]
            asked.append(first + rng.random((each, 1)) * (second - first))
        return np.vstack(asked)

    def measured(self, rows: Ints) -> _Measured:
        if self.learner is None:
            return self._trained(rows)
        fitted = self.learner.fit(self.x, self.y, n_classes=self.n_classes)
        said = fitted.predict(self.x[rows])
        silent = np.flatnonzero(~np.isfinite(said).all(axis=1))
        if len(silent):
            raise InputError(
                f"{self.learner.name} has no answer for {len(silent):,} of its own records, first "
                f"row {rows[silent[0]]}: a class has too few records, or a covariance has no "
                "inverse; take a smoothed or regularised one"
            )
        if isinstance(fitted, Bounded):
            found = fitted.dtp(rows, self.width, box_of(self.x))
        else:
            low = search(fitted, self.x, rows, self.queries, self.width)
            found = DtpRange(low, np.full(len(rows), np.inf), SEARCHED)
        own = found.own
        if own is None:
            own = log_ratio(said, fitted.without(rows), self.width)
        low = np.maximum(found.low, own)
        method = AT_OPTIMUM if isinstance(self.learner, Logistic) else CLOSED
        told = () if self.learner is self.model or method == CLOSED else (STOPS_SHORT,)
        both = DtpRange(low, np.maximum(found.high, low), found.method)
        return _Measured(own, both, method, told)

    def _trained(self, rows: Ints) -> _Measured:
        n = len(self.y)
        everything = np.vstack([self.x, self.queries])
        said = retrained(
            as_trainer(self.model),
            everything,
            np.append(self.y, np.zeros(len(self.queries), np.int64)),
            rows,
            n_classes=self.n_classes,
            members=np.arange(len(everything)) < n,
            queries=np.arange(n, len(everything)),
            width=self.width,
            seed=self.seed,
            run=self.run,
            invocation=self.invocation,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        own = log_ratio(said.with_it, said.without, self.width)
        low = np.maximum(own, said.searched)
        bound = np.minimum(binned_bound(said.bound, self.width), cap(self.width))
        high = np.where(np.isinf(low), np.inf, np.maximum(bound, low))
        method = SEARCHED if np.isinf(said.bound).all() else FROM_WEIGHTS
        told = tuple(failures(said.failed, rows))
        return _Measured(own, DtpRange(low, high, method), TRAINED, told)

    def repeated(self, rows: Ints, training_sets: int) -> Floats:
        """Return PDTP in further training sets, halves of the data, (training_sets, r)."""
        result = np.empty((training_sets, len(rows)))
        for i, found in enumerate(result):
            order = seeds.stream(self.seed, "dtp", "halves", i).permutation(len(self.y))
            first = np.zeros(len(self.y), np.bool_)
            first[order[: len(order) // 2]] = True
            for side, members in enumerate((first, ~first)):
                mine = members[rows]
                found[mine] = self._within(members, rows[mine], f"set-{i:03}-{side}")
        return result

    def _within(self, members: Bools, rows: Ints, name: str) -> Floats:
        if not len(rows):
            return np.zeros(0)
        if self.learner is not None:
            fitted = self.learner.fit(self.x[members], self.y[members], n_classes=self.n_classes)
            place = np.cumsum(members)[rows] - 1
            return log_ratio(fitted.predict(self.x[rows]), fitted.without(place), self.width)
        said = retrained(
            as_trainer(self.model),
            self.x,
            self.y,
            rows,
            n_classes=self.n_classes,
            members=members,
            width=self.width,
            seed=self.seed,
            run=None if self.run is None else Path(self.run) / name,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        return log_ratio(said.with_it, said.without, self.width)

    def removal(self, steps: int, order: Order) -> tuple[RemovalPath | None, tuple[Skipped, ...]]:
        if self.learner is None:
            why = "every step would train the classifier without each record again"
            return None, (Skipped("removal of the riskiest records", why),)
        return remove_riskiest(self._remaining(self.learner), steps, order), ()

    def _remaining(self, learner: Learner) -> Remaining:
        everyone = np.ones(len(self.y), np.bool_)
        if isinstance(learner, NaiveBayes) and not self.width and learner.has_small_domain:
            codes, _ = learner.parts(self.x)
            return categorical_records(codes, self.y, learner.sizes, self.n_classes, learner.alpha)
        return LearnerRecords(learner, self.x, self.y, self.n_classes, self.width, everyone)

    def variation(self, rows: Ints, n_models: int) -> tuple[Variation, ...]:
        return variation(
            as_trainer(self.learner or self.model),
            self.x,
            self.y,
            rows,
            n_models=n_models,
            seed=self.seed,
            run=None if self.run is None else Path(self.run) / "variation",
            n_jobs=self.n_jobs,
            progress=self.progress,
        )


def _rows(rows: ArrayLike | None, n: int) -> Ints:
    if rows is None:
        return np.arange(n)
    chosen = np.unique(checks.integers(rows, "rows"))
    if not len(chosen) or chosen[0] < 0 or chosen[-1] >= n:
        raise InputError(f"rows must lie in 0..{n - 1}, got {checks.listed(chosen.tolist())}")
    return chosen


def _mean(values: Floats, complete: bool, level: float, unit: str) -> Estimate:
    value = float(values.mean())
    if complete:
        return Estimate(value, value, value, level, len(values), EXACT)
    if np.isinf(value):
        return Estimate(value, float(values.min()), value, level, len(values), "infinite values")
    found = rates.mean(values, level, unit=unit)
    return replace(found, low=max(0.0, found.low))  # no log ratio is below 0


def _share(above: Bools, complete: bool, level: float) -> Estimate:
    if complete:
        value = float(above.mean())
        return Estimate(value, value, value, level, len(above), EXACT)
    return rates.proportion(above, level=level)


def _told(rows: Ints, y: Ints, names: tuple[str, ...], level: float) -> list[str]:
    return [*_lone(y, names), *_sampled(len(rows), len(y), level)]


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
