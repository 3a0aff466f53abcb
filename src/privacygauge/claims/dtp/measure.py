"""A training set, the effect of leaving its records out, and the removal of the riskiest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privacygauge.claims.dtp.counts import Counts, count_categories, dtp_over_cells, is_small
from privacygauge.claims.dtp.indirect import queries_within, shown_by
from privacygauge.claims.dtp.logistic import Logistic
from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.claims.dtp.named import (
    AGREED,
    SPOTS,
    RefitAgreement,
    Shortcut,
    before_the_optimum,
    find_shortcut,
)
from privacygauge.claims.dtp.retrained import (
    LeaveOneOutAnswers,
    LeavingOut,
    Variation,
    failed_records_warning,
    retrain_without_each,
    steps_of,
    variation,
    zero_probability_warning,
)
from privacygauge.claims.options import check_order
from privacygauge.classifiers.estimators import as_given, as_trainer
from privacygauge.classifiers.held import Held, is_frame, take_records
from privacygauge.classifiers.learner import Bounded, DtpRange, Fitted, Learner, box_of
from privacygauge.classifiers.probe_training import with_class_names
from privacygauge.classifiers.ratios import binned_bound, cap, log_ratio
from privacygauge.classifiers.shadows import Execution, Progress
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError

# How predictions without a record were obtained, and how the largest ratio was, as reports say it.
CLOSED = "exact without training: what the record contributed is taken out"
AT_OPTIMUM = "at the optimum with and without the record, from one factorised Hessian"
TRAINED = "trained once more without each record, with the same random states"
WITHOUT_UNITS = "trained once more without all records of each person, with the same random states"
FROM_WEIGHTS = "lower end from queries that were tried; certified bound from the networks' weights"
SEARCHED = "lower end from queries that were tried; no upper bound is known but that of bins"


@dataclass(frozen=True, eq=False)
class DtpMeasurement:
    """Measured PDTP and DTP of some records."""

    pdtp: Floats
    """(r,) Largest log ratio at the record itself, in nats."""
    dtp: DtpRange
    """Lower and upper bounds of the largest log ratio over all queries."""
    method: str
    """Method of obtaining predictions without a record."""
    warnings: tuple[str, ...] = ()
    """Caveats for the reader."""
    learner: Learner | None = None
    """The learner that left records out without training; None where every record took a
    training."""
    checked: RefitAgreement | None = None
    """Agreement of refits with the shortcut; None if no shortcut was tried."""
    shared: Floats | None = None
    """(r,) Largest log ratio at the record itself over all classes but the lone ones; None if there
    are no lone classes, or only these."""

    def of_units(self, unit: Ints) -> tuple[Ints, DtpMeasurement]:
        """Return the place of each unit's riskiest record (u,), and the measurement of the units.

        `unit` (r,) is that of each record. A unit's values are the largest of its records.
        """
        # By unit, each unit's riskiest record first: by PDTP, then by DTP's lower bound.
        order = np.lexsort((-self.dtp.low, -self.pdtp, unit))
        _, first = np.unique(unit[order], return_index=True)
        place = order[first]
        low = self.dtp.low[order]
        high = self.dtp.high[order]
        dtp = DtpRange(
            np.maximum.reduceat(low, first), np.maximum.reduceat(high, first), self.dtp.method
        )
        shared = None if self.shared is None else np.maximum.reduceat(self.shared[order], first)
        return place, replace(self, pdtp=self.pdtp[place], dtp=dtp, shared=shared)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """A training set, a training algorithm, and options for leaving records out."""

    model: object
    """A learner, or anything that `as_trainer` takes."""
    x: Held
    """Records as the user holds them, mostly features (n, d)."""
    y: Ints
    """(n,) Classes of the records, in 0..k-1."""
    width: float
    """Bin width of the published probabilities; 0 for no bins."""
    n_queries: int
    """Queries besides a record's own, at least 0, to search for the largest change if unknown."""
    seed: int
    """Seed from which all draws are derived."""
    unit: Ints | None = None
    """(n,) Number of the person behind each record; a person's records are left out together. None
    if each record is a person."""
    run: str | Path | None = None
    """Folder for the trained results; None to keep nothing."""
    n_jobs: int | None = None
    """Number of processes."""
    progress: Progress | None = None
    """Called with the number of models done, and their total."""
    invocation: Mapping[str, Any] | None = None
    """Settings from which the run can be started again, kept in its folder."""
    class_names: tuple[str, ...] = ()
    """(k,) Names of the classes, as the model uses them; empty if these are numbers."""

    @cached_property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1

    @cached_property
    def lone_classes(self) -> Ints:
        """Classes with a single record, or with the records of a single person."""
        unit = np.arange(len(self.y)) if self.unit is None else self.unit
        # One row for each class and person with records of it.
        owners_of_class = np.unique(np.column_stack([self.y, unit]), axis=0)[:, 0]
        return np.flatnonzero(np.bincount(owners_of_class, minlength=self.n_classes) == 1)

    def _shared_log_ratio(self, with_it: Floats, without: Floats) -> Floats | None:
        """Return the largest log ratios (r,) over all but the lone classes; None as in `shared`."""
        shared = np.setdiff1d(np.arange(self.n_classes), self.lone_classes)
        if len(shared) in (0, self.n_classes):
            return None
        return log_ratio(with_it[:, shared], without[:, shared], self.width)

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        trainer = as_trainer(self.model)
        steps = steps_of(trainer)
        if not steps or steps.startswith(f"{trainer.name}: "):
            return steps or trainer.name
        return f"{trainer.name} ({steps})"

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The records as an array, as learners take them."""
        return np.asarray(self.x)

    @cached_property
    def queries(self) -> Held:
        """Queries that are asked in addition to the records left out; see `queries_within`."""
        return queries_within(self.x, self.n_queries, seeds.stream(self.seed, "dtp", "queries"))

    def measured(self, rows: Ints) -> DtpMeasurement:
        """Return PDTP and DTP of records (r,)."""
        if self.unit is not None:
            return replace(self._trained(rows), method=WITHOUT_UNITS)
        if isinstance(self.model, Learner):
            fitted = self.model.fit(self.numbers, self.y, n_classes=self.n_classes)
            return self._exact(self.model, fitted, rows, np.asarray(self.queries))
        shortcut = find_shortcut(self.model, self.x, self.y)
        if shortcut is None or shortcut.unsure[rows].all():
            return self._trained(rows)
        return self._by_shortcut(shortcut, rows)

    def _exact(
        self, learner: Learner, fitted: Fitted, rows: Ints, queries: NDArray[Any]
    ) -> DtpMeasurement:
        said = fitted.log_p(self.numbers[rows])
        silent = np.flatnonzero(np.isnan(said).any(axis=1))
        if len(silent):
            raise InputError(
                f"{learner.name} has no answer for {len(silent):,} of its own records, first "
                f"row {rows[silent[0]]}: a class has too few records, or a covariance has no "
                "inverse; take a smoothed or regularised one"
            )
        if isinstance(fitted, Bounded):
            found = fitted.dtp(rows, self.width, box_of(self.numbers))
        else:
            low = shown_by(fitted, rows, queries, self.width)
            found = DtpRange(low, np.maximum(low, cap(self.width)), SEARCHED)
        own = found.own
        if own is None:
            own = log_ratio(said, fitted.log_p_without(rows), self.width)
        # The record's own query is part of every domain: its ratio is a lower bound too.
        low = np.maximum(found.low, own)
        method = AT_OPTIMUM if isinstance(learner, Logistic) else CLOSED
        # Rounding must not put the upper end below the lower one.
        both = DtpRange(low, np.maximum(found.high, low), found.method)
        shared = None
        if len(self.lone_classes):
            shared = self._shared_log_ratio(said, fitted.log_p_without(rows))
        return DtpMeasurement(own, both, method, learner=learner, shared=shared)

    def _by_shortcut(self, shortcut: Shortcut, rows: Ints) -> DtpMeasurement:
        """Return the shortcut's measurement, if refits of some of the records agree with it."""
        # Queries that ties decide would differ between the learner and the estimator.
        asked = np.flatnonzero(shortcut.settled(np.asarray(self.queries)))
        queries = take_records(self.queries, asked)
        fitted = shortcut.learner.fit(self.numbers, self.y, n_classes=self.n_classes)
        quick = self._exact(shortcut.learner, fitted, rows, np.asarray(queries))
        unsure = shortcut.unsure[rows]
        places = np.flatnonzero(~unsure)
        # By falling PDTP, then by falling lower end of DTP.
        places = places[np.lexsort((-quick.dtp.low[places], -quick.pdtp[places]))]
        # Some at random as well: a fault need not show at the riskiest.
        others = places[SPOTS:]
        drawn = seeds.stream(self.seed, "dtp", "spots").choice(
            others, min(SPOTS, len(others)), replace=False
        )
        some = np.sort(np.concatenate([places[:SPOTS], drawn]))
        # Refit the spots to check the shortcut, and the unsure records because it does not cover
        # them.
        again = np.union1d(some, np.flatnonzero(unsure))
        run = self._below("refits")
        said = self._refits(rows[again], queries, run)
        own = log_ratio(said.with_it, said.without, self.width)
        at = np.searchsorted(again, some)
        shown = np.maximum(
            quick.pdtp[some], shown_by(fitted, rows[some], np.asarray(queries), self.width)
        )
        # Answers with and without the record, its PDTP, and its largest ratio over the queries.
        largest = []
        for ours, theirs in (
            (np.exp(fitted.log_p(self.numbers[rows[some]])), np.exp(said.with_it[at])),
            (np.exp(fitted.log_p_without(rows[some])), np.exp(said.without[at])),
            (quick.pdtp[some], own[at]),
            (shown, said.searched[at]),
        ):
            # Equal infinities agree, and so do two models without an answer, NaN.
            same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
            with np.errstate(invalid="ignore"):
                difference = np.where(same, 0.0, np.nan_to_num(np.abs(ours - theirs), nan=np.inf))
            largest.append(difference.reshape(len(difference), -1).max(axis=1))
        apart = np.max(largest, axis=0)
        checked = RefitAgreement(
            len(apart), int(np.count_nonzero(apart <= AGREED)), float(apart.max())
        )
        if not checked.holds:
            why = f"the shortcut to {self.name} was not taken: {checked}; all were refitted"
            trained = self._trained(rows)
            return replace(trained, warnings=(*trained.warnings, why), checked=checked)
        # The shortcut holds: only the unsure records take the values of their refits.
        refitted = np.searchsorted(again, np.flatnonzero(unsure))
        pdtp = quick.pdtp.copy()
        low = quick.dtp.low.copy()
        high = quick.dtp.high.copy()
        pdtp[unsure] = own[refitted]
        low[unsure] = said.searched[refitted]
        high[unsure] = np.maximum(low[unsure], cap(self.width))
        shared = None
        of_refits = self._shared_log_ratio(said.with_it, said.without)
        if quick.shared is not None and of_refits is not None:
            shared = quick.shared.copy()
            shared[unsure] = of_refits[refitted]
        n_unsure = int(np.count_nonzero(unsure))
        refits = (
            f"; {n_unsure:,} further {'record was' if n_unsure == 1 else 'records were'} refitted, "
            "where ties, rare values or rounding decide"
            if n_unsure
            else ""
        )
        over_all = quick.dtp.method
        if n_unsure and over_all != SEARCHED:
            over_all += "; for refitted records from queries that were tried"
        if len(queries) < len(self.queries):
            over_all += "; queries that ties decide were left out"
        return DtpMeasurement(
            pdtp=pdtp,
            dtp=DtpRange(low, high, over_all),
            method=f"{quick.method}; {checked}{refits}",
            warnings=tuple(failed_records_warning(said.failed, rows[again])),
            learner=shortcut.learner,
            checked=checked,
            shared=shared,
        )

    def _trained(self, rows: Ints) -> DtpMeasurement:
        said = self._refits(rows, self.queries, self.run)
        own = log_ratio(said.with_it, said.without, self.width)
        low = np.maximum(own, said.searched)
        # Bins cap any ratio, except where an answer is missing: then both ends are infinite.
        bound = np.minimum(binned_bound(said.bound, self.width), cap(self.width))
        high = np.where(np.isinf(low), np.inf, np.maximum(bound, low))
        # Only weights that can be followed give a finite bound.
        method = SEARCHED if np.isinf(said.bound).all() else FROM_WEIGHTS
        told = (
            *failed_records_warning(said.failed, rows),
            *zero_probability_warning(said, own, rows),
            *before_the_optimum(self.model),
        )
        shared = self._shared_log_ratio(said.with_it, said.without)
        return DtpMeasurement(own, DtpRange(low, high, method), TRAINED, told, shared=shared)

    def _refits(
        self,
        rows: Ints,
        queries: Held,
        run: str | Path | None,
        members: Bools | None = None,
    ) -> LeaveOneOutAnswers:
        """Return the predictions of the user's model trained without each of the records (r,)."""
        n = len(self.y)
        # Records and queries in one table, so that every model answers both.
        if not len(queries):
            everything = self.x
        elif not is_frame(self.x):
            everything = np.concatenate([self.x, queries])
        elif hasattr(self.x, "iloc"):
            import pandas as pd

            everything = pd.concat([self.x, queries])
        else:
            import polars as pl

            everything = pl.concat([self.x, queries])
        number = np.arange(len(everything))
        inside = number < n
        unit = number if self.unit is None else np.append(self.unit, number[n:])
        work = LeavingOut(
            trainer=with_class_names(as_given(self.model), self.class_names),
            x=everything,
            # Queries have no class, and need none: no model is trained on them.
            y=np.append(self.y, np.zeros(len(queries), np.int64)),
            rows=rows,
            n_classes=self.n_classes,
            members=inside if members is None else members,
            unit=unit,
            queries=np.arange(n, len(everything)),
            width=self.width if members is None else 0.0,
            seed=self.seed,
        )
        execution = Execution(
            run=run,
            # A subfolder's run cannot be started again by the settings of the whole.
            invocation=self.invocation if run == self.run else None,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        return retrain_without_each(work, execution)

    def repeated(self, rows: Ints, training_sets: int, learner: Learner | None) -> Floats:
        """Return PDTP in further training sets, halves of the data, (training_sets, r).

        `learner` is the one that left records out of the whole; None if models were retrained.
        """
        result = np.empty((training_sets, len(rows)))
        # Both halves of a permutation train, so that every record gets a value in every set.
        for i, found in enumerate(result):
            unit = np.arange(len(self.y)) if self.unit is None else self.unit
            order = seeds.stream(self.seed, "dtp", "halves", i).permutation(int(unit.max()) + 1)
            first = np.isin(unit, order[: len(order) // 2])
            for side, members in enumerate((first, ~first)):
                mine = members[rows]
                if not mine.any():
                    continue
                some = rows[mine]
                x = take_records(self.x, np.flatnonzero(members))
                y = self.y[members]
                # Place of each record within its half.
                places = np.cumsum(members)[some] - 1
                closed = learner
                # The half may break a rule that the whole keeps: the shortcut has to pass again.
                if learner is not None and learner is not self.model:
                    shortcut = find_shortcut(self.model, x, y)
                    sure = shortcut is not None and not shortcut.unsure[places].any()
                    closed = shortcut.learner if shortcut is not None and sure else None
                if closed is None:
                    no_queries = take_records(self.x, rows[:0])
                    run = self._below(f"set-{i:03}-{side}")
                    said = self._refits(some, no_queries, run, members)
                    found[mine] = log_ratio(said.with_it, said.without, self.width)
                    continue
                fitted = closed.fit(np.asarray(x), y, n_classes=self.n_classes)
                own = fitted.log_p(self.numbers[some])
                found[mine] = log_ratio(own, fitted.log_p_without(places), self.width)
        return result

    def _below(self, name: str) -> str | None:
        """Return a subfolder of the run, which may be a URL; None if nothing is kept."""
        return None if self.run is None else f"{str(self.run).rstrip('/')}/{name}"

    def removal(
        self, steps: int, order: Order, learner: Learner | None
    ) -> tuple[RemovalPath | None, tuple[Skipped, ...]]:
        """Return the effect of removing the riskiest records, or why that was not done."""
        if learner is None:
            why = "every step would train the classifier without each record again"
            return None, (Skipped("removal of the riskiest records", why),)
        records: Remaining = LearnerRecords(
            learner=learner,
            x=self.numbers,
            y=self.y,
            n_classes=self.n_classes,
            width=self.width,
            here=np.ones(len(self.y), np.bool_),
        )
        # The exact DTP at every step is feasible for small domains only; otherwise PDTP is used.
        n_classes = self.n_classes
        if (
            isinstance(learner, NaiveBayes)
            and not self.width
            and None not in learner.categories
            and is_small(learner.sizes, n_classes)
        ):
            codes, _ = learner.parts(self.numbers)
            records = categorical_records(
                codes, self.y, sizes=learner.sizes, n_classes=n_classes, alpha=learner.alpha
            )
        return remove_riskiest(records, steps, order), ()

    def variation(self, rows: Ints, n_models: int) -> tuple[Variation, ...]:
        """Return other sources of variation of predictions (t,), from `n_models` models each."""
        return variation(
            with_class_names(as_trainer(self.model), self.class_names),
            self.x,
            self.y,
            rows,
            n_models=n_models,
            seed=self.seed,
            execution=Execution(
                run=self._below("variation"), n_jobs=self.n_jobs, progress=self.progress
            ),
        )


LIMIT = 1.0
"""The DTP-1 rule: a classifier with a larger DTP is not published (Long et al. 2017, section 5)."""

RISE = 0.1
"""Rise of a record's value, in nats, above which the record removed before had shielded it."""

Measure = Literal["DTP", "PDTP"]
"""Measure of the records' risk."""

Order = Literal["recomputed", "initial"]
"""Remove the riskiest of the remaining records, or follow the first values, as in Figure 6."""


@dataclass(frozen=True, eq=False)
class RemovalPath:
    """The largest value while the riskiest records are removed, one at a time."""

    removed: Ints
    """(s,) Rows, in the order of their removal."""
    highest: Floats
    """(s + 1,) The largest value of all remaining records before each removal, and at the end."""
    value: Floats
    """(s,) Each removed record's value when it was removed."""
    before: Floats
    """(s,) The same record's value one removal earlier; NaN for the first."""
    order: Order
    """Rule by which the next record was chosen."""
    measure: Measure = "DTP"
    """Name of the measure of risk."""

    def __post_init__(self) -> None:
        for name in ("removed", "highest", "value", "before"):
            object.__setattr__(self, name, checks.frozen(getattr(self, name)))

    @property
    def best(self) -> int:
        """Number of removals to the first largest value of at most 1, else to the lowest one."""
        safe = np.flatnonzero(self.highest <= LIMIT)
        return int(safe[0]) if len(safe) else int(np.argmin(self.highest))

    @property
    def groups(self) -> tuple[Ints, ...]:
        """Rows that shield each other: each rose when the one before it was removed.

        Such records keep each other's influence down. Groups have at least two records.
        """
        with np.errstate(invalid="ignore"):  # from infinite to infinite is no rise
            rose = self.value - self.before > RISE
        # Split the path before each record that did not rise.
        starts = np.flatnonzero(~rose)
        parts = np.split(self.removed, starts[1:] if len(starts) else [])
        return tuple(part for part in parts if len(part) > 1)


@dataclass(frozen=True, eq=False)
class CategoricalRecords:
    """Training records of naive Bayes on categories, in groups of equals; values are exact DTP."""

    counts: Counts
    """Counts of all remaining records."""
    codes: Ints
    """(g, m) Categories of the distinct records."""
    y: Ints
    """(g,) Classes of the distinct records."""
    left: Ints
    """(g,) Number of remaining records in each group."""
    order: Ints
    """(n,) Rows, sorted by group."""
    ends: Ints
    """(g,) End of each group's rows in `order`."""

    measure: ClassVar[Measure] = "DTP"

    def values(self) -> Floats:
        """Return the exact DTP of every group over the whole domain, (g,); NaN for an empty one."""
        here = self.left > 0
        result = np.full(len(self.left), np.nan)
        result[here] = dtp_over_cells(self.counts, self.codes[here], self.y[here])
        return result

    def row(self, group: int) -> int:
        """Return the row of one remaining record of the group."""
        # Records of a group are equal, so any one may go: the first of those left.
        return int(self.order[self.ends[group] - self.left[group]])

    def less(self, group: int) -> CategoricalRecords:
        """Return the remaining records without one of the group."""
        left = self.left.copy()
        left[group] -= 1
        counts = self.counts.less(self.codes[group], int(self.y[group]))
        return replace(self, counts=counts, left=left)


def categorical_records(
    codes: Ints, y: Ints, sizes: tuple[int, ...], n_classes: int, alpha: float
) -> CategoricalRecords:
    """Return records (n, m) with classes (n,), ready to be removed one at a time."""
    # One number per cell of the table: equal records of a class stand together.
    key = np.ravel_multi_index((*codes.T, y), (*sizes, n_classes))
    order = np.argsort(key, kind="stable")
    _, first, size = np.unique(key[order], return_index=True, return_counts=True)
    some = order[first]
    counts = count_categories(codes, y, sizes=sizes, n_classes=n_classes, alpha=alpha)
    return CategoricalRecords(
        counts=counts, codes=codes[some], y=y[some], left=size, order=order, ends=np.cumsum(size)
    )


@dataclass(frozen=True, eq=False)
class LearnerRecords:
    """Training records of any learner, each its own group; values are PDTP."""

    learner: Learner
    """Learner, retrained after each removal."""
    x: NDArray[Any]
    """(n, d) All records, removed ones too."""
    y: Ints
    """(n,) Classes of the records."""
    n_classes: int
    """Number of classes."""
    width: float
    """Bin width of the published probabilities; 0 for no bins."""
    here: Bools
    """(n,) True for the remaining records."""

    measure: ClassVar[Measure] = "PDTP"

    def values(self) -> Floats:
        """Return the PDTP of every remaining record, (n,); NaN for a removed one."""
        x = self.x[self.here]
        y = self.y[self.here]
        fitted = self.learner.fit(x, y, n_classes=self.n_classes)
        result = np.full(len(self.y), np.nan)
        without = fitted.log_p_without(np.arange(len(y)))
        result[self.here] = log_ratio(fitted.log_p(x), without, self.width)
        return result

    def row(self, group: int) -> int:
        """Return the row of the record."""
        return group

    def less(self, group: int) -> LearnerRecords:
        """Return the records without this one."""
        here = self.here.copy()
        here[group] = False
        return replace(self, here=here)


Remaining = CategoricalRecords | LearnerRecords
"""A training set from which records are removed, and the risk of every record left."""


def remove_riskiest(remaining: Remaining, steps: int, order: Order = "recomputed") -> RemovalPath:
    """Return the path of removing `steps` records; all values are recomputed after each.

    Parameters
    ----------
    remaining : Remaining
        The training set.
    steps : int
        Number of removals, at least 1; fewer if no two groups of records are left.
    order : {"recomputed", "initial"}
        Remove the riskiest of the remaining records, or follow the first values, as in Figure 6.

    Raises
    ------
    InputError
        If `steps` or `order` breaks a rule.
    """
    checks.at_least(1, steps=steps)
    check_order(order)
    values = first = remaining.values()
    highest = [float(np.nanmax(values))]
    removed = []
    own = []
    before = []
    earlier = np.full(len(values), np.nan)
    for _ in range(steps):
        # In the initial order the first values rank, without the groups that are gone.
        ranked = np.where(np.isnan(values), np.nan, first if order == "initial" else values)
        # The last group stays: there would be nothing to train on.
        if np.count_nonzero(~np.isnan(ranked)) < 2:
            break
        group = int(np.nanargmax(ranked))
        removed.append(remaining.row(group))
        own.append(values[group])
        before.append(earlier[group])
        remaining = remaining.less(group)
        # Kept to show how much this removal changes the value of the next record.
        earlier = values
        values = remaining.values()
        highest.append(float(np.nanmax(values)))
    return RemovalPath(
        removed=np.array(removed, np.int64),
        highest=np.array(highest),
        value=np.array(own, np.float64),
        before=np.array(before, np.float64),
        order=order,
        measure=remaining.measure,
    )
