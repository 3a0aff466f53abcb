"""A training set, and what leaving its records out does to whatever is trained on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.indirect import shown_by
from privacygauge.classifier.dtp.learner import Bounded, DtpRange, Learner, box_of
from privacygauge.classifier.dtp.logistic import Logistic
from privacygauge.classifier.dtp.naive_bayes import NaiveBayes
from privacygauge.classifier.dtp.ratios import binned_bound, cap, log_ratio
from privacygauge.classifier.dtp.recognised import recognised
from privacygauge.classifier.dtp.removal import (
    LearnerRecords,
    Order,
    Remaining,
    RemovalPath,
    categorical_records,
    remove_riskiest,
)
from privacygauge.classifier.dtp.retrained import failures, retrained, vanished
from privacygauge.classifier.dtp.variation import Variation, variation
from privacygauge.classifier.estimators import as_trainer
from privacygauge.classifier.shadows import Progress
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError

CLOSED = "exact without training: what the record contributed is taken out"
AT_OPTIMUM = "at the optimum with and without the record, from one factorised Hessian"
TRAINED = "trained once more without each record, with the same random draws"
STOPS_SHORT = (
    "scikit-learn's solver stops short of the optimum of logistic regression, and at other points "
    "with and without a record; measured is the optimum itself: give pg.learners.Logistic(l2) to "
    "mean that, or a callable that returns the estimator to have it trained again as it is"
)
FROM_WEIGHTS = "lower end from queries that were tried; certified bound from the networks' weights"
SEARCHED = "lower end from queries that were tried; no upper bound is known but that of bins"


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found of some records."""

    pdtp: Floats
    """(r,) Largest log ratio at the record itself."""
    dtp: DtpRange
    """Between which numbers the largest log ratio over all queries lies."""
    method: str
    """How the classifier without a record was had."""
    warnings: tuple[str, ...] = ()
    """What the reader has to know."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """A training set, a way to train on it, and how to leave records out."""

    model: object
    """A learner, or whatever `as_trainer` takes."""
    x: NDArray[Any]
    """(n, d) Records."""
    y: Ints
    """(n,) Their classes."""
    width: float
    """Of the bins; 0 for none."""
    n_queries: int
    """Queries to ask beside a record's own, where the largest change is not known."""
    seed: int
    """All random draws derive from it."""
    run: str | Path | None = None
    """Folder that keeps what was trained."""
    n_jobs: int | None = None
    """Processes."""
    progress: Progress | None = None
    """Called with the number of models done and the number of all."""
    invocation: Mapping[str, Any] | None = None
    """How to start the run again, kept in its folder."""

    @cached_property
    def learner(self) -> Learner | None:
        """What leaves records out without training, where there is such a thing."""
        if isinstance(self.model, Learner):
            return self.model
        return recognised(self.model, self.x, self.y)

    @cached_property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1

    @property
    def name(self) -> str:
        """What reports call the kind of model."""
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

    def measured(self, rows: Ints) -> Measured:
        """Return PDTP and DTP of records (r,)."""
        if self.learner is None:
            return self._trained(rows)
        fitted = self.learner.fit(self.x, self.y, n_classes=self.n_classes)
        said = fitted.log_p(self.x[rows])
        silent = np.flatnonzero(np.isnan(said).any(axis=1))
        if len(silent):
            raise InputError(
                f"{self.learner.name} has no answer for {len(silent):,} of its own records, first "
                f"row {rows[silent[0]]}: a class has too few records, or a covariance has no "
                "inverse; take a smoothed or regularised one"
            )
        if isinstance(fitted, Bounded):
            found = fitted.dtp(rows, self.width, box_of(self.x))
        else:
            low = shown_by(fitted, rows, self.queries, self.width)
            found = DtpRange(low, np.maximum(low, cap(self.width)), SEARCHED)
        own = found.own
        if own is None:
            own = log_ratio(said, fitted.log_p_without(rows), self.width)
        low = np.maximum(found.low, own)
        method = AT_OPTIMUM if isinstance(self.learner, Logistic) else CLOSED
        told = () if self.learner is self.model or method == CLOSED else (STOPS_SHORT,)
        both = DtpRange(low, np.maximum(found.high, low), found.method)
        return Measured(own, both, method, told)

    def _trained(self, rows: Ints) -> Measured:
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
        told = (*failures(said.failed, rows), *vanished(said, own, rows))
        return Measured(own, DtpRange(low, high, method), TRAINED, told)

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
            return log_ratio(fitted.log_p(self.x[rows]), fitted.log_p_without(place), self.width)
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
        """Return what removing the riskiest records does, or why that was not done."""
        if self.learner is None:
            why = "every step would train the classifier without each record again"
            return None, (Skipped("removal of the riskiest records", why),)
        return remove_riskiest(self._remaining(self.learner), steps, order), ()

    def _remaining(self, learner: Learner) -> Remaining:
        everyone, k = np.ones(len(self.y), np.bool_), self.n_classes
        if isinstance(learner, NaiveBayes) and not self.width and learner.has_small_domain(k):
            codes, _ = learner.parts(self.x)
            return categorical_records(codes, self.y, learner.sizes, self.n_classes, learner.alpha)
        return LearnerRecords(learner, self.x, self.y, self.n_classes, self.width, everyone)

    def variation(self, rows: Ints, n_models: int) -> tuple[Variation, ...]:
        """Return what else moves the predictions of records (t,), by so many models each."""
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
