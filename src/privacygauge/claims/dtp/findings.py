"""Options and results of leaving records out, estimates of PDTP, and their caveats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.claims.dtp.measure import LIMIT, Order, RemovalPath, TrainingSet
from privacygauge.claims.dtp.named import RefitAgreement
from privacygauge.claims.dtp.retrained import Variation
from privacygauge.claims.options import DtpDesign
from privacygauge.classifiers.estimators import as_trainer, class_names
from privacygauge.classifiers.held import Held
from privacygauge.classifiers.learner import DtpRange
from privacygauge.classifiers.probe_training import records_for
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate import rates

EXACT = "exact: every record of the training set"


def mean_of_records(values: Floats | Bools, complete: bool, level: float, unit: str) -> Estimate:
    """Return the mean over records or training sets, with an interval unless all were measured."""
    value = float(values.mean())
    # All records of a training set have no sampling error.
    if complete:
        n = len(values)
        return Estimate(value=value, low=value, high=value, level=level, n=n, method=EXACT)
    if np.isinf(value):
        # An infinite mean has no interval: the range of the values is all there is.
        return Estimate(
            value=value,
            low=float(values.min()),
            high=value,
            level=level,
            n=len(values),
            method="infinite values",
        )
    # No log ratio is below 0.
    return rates.mean(np.asarray(values, np.float64), level, unit=unit, least=0.0)


def checked_records(model: object, x: object, y: ArrayLike, remove: int) -> tuple[Held, Ints]:
    """Return checked records and classes: at least two classes, and more records than are removed.

    Records stay as the user holds them, if the model takes any kind.
    """
    features, labels = records_for(as_trainer(model), x, y, class_names(y))
    if len(np.unique(labels)) < 2:
        raise InputError("at least two classes are needed: one class alone has nothing to tell")
    if remove >= len(labels):
        raise InputError(
            f"remove must be at most {len(labels) - 1:,}, because one of the {len(labels):,} "
            f"records has to stay, got {remove:,}"
        )
    return features, labels


POINTS = 400
"""Largest number of points of a drawn curve."""


@dataclass(frozen=True, eq=False)
class RankedRecords:
    """Records by falling PDTP; if there are many, several neighbours form one point."""

    rank: Ints
    """(p,) Rank of each point's first record, from 1."""
    pdtp: Floats
    """(p,) Largest PDTP among the point's records."""
    low: Floats
    """(p,) Largest lower bound of DTP among the point's records."""
    high: Floats
    """(p,) Largest upper bound of DTP among the point's records."""


Decision = Literal["publish", "do not publish"]

VARIED = 2
"""Number of the riskiest records that are compared with other sources of variation."""


@dataclass(frozen=True)
class Reach:
    """Number of records by how well their DTP over all queries is known."""

    exact: int
    """Records whose lower and upper bounds are equal."""
    bounded: int
    """Records with a finite upper bound."""
    unknown: int
    """Records without an upper bound."""


@dataclass(frozen=True)
class OfClass:
    """Results for the records of one class."""

    label: int
    """The class, in 0..k-1."""
    n: int
    """Records of the class that were measured."""
    above: int
    """Measured records of the class with a PDTP above 1."""
    largest: float
    """The largest PDTP, in nats."""


@dataclass(frozen=True, eq=False, repr=False)
class DtpFindings:
    """Effect of each record of a training set on the classifier."""

    model: str
    """Kind of classifier, as reports print it."""
    method: str
    """Method of obtaining predictions without a record."""
    width: float
    """Bin width of the published probabilities; 0 for no bins."""
    n_train: int
    """Records in the training set."""
    class_names: tuple[str, ...]
    """(k,) Names of the classes."""
    rows: Ints
    """(r,) The records that were measured: rows of the data, ascending."""
    ids: NDArray[Any]
    """(r,) Names of the measured records."""
    labels: Ints
    """(r,) Classes of the measured records, in 0..k-1."""
    pdtp: Floats
    """(r,) Largest log ratio at the record itself, in nats; infinite if a class is emptied."""
    dtp: DtpRange
    """Lower and upper bounds of the largest log ratio over all queries."""
    mean: Estimate
    """Mean PDTP of the records, with an interval if they are a sample of the training set."""
    share_above: Estimate
    """Share of the records with a PDTP above 1."""
    repeated: Floats | None
    """(m, r) PDTP in further training sets, random halves of the data; None without them."""
    averages: tuple[Estimate, ...]
    """(r,) Mean of the repeated values of each record; empty without them."""
    removal: RemovalPath | None
    """Effect of removing the riskiest records; None if not requested."""
    variation: tuple[Variation, ...]
    """Other sources of variation for the `VARIED` riskiest records; empty if not requested."""
    checked: RefitAgreement | None = None
    """Agreement of refits with the shortcut; None if no shortcut was tried."""
    lone_classes: tuple[int, ...] = ()
    """Classes with a single record, or with the records of a single person."""
    shared: Floats | None = None
    """(r,) PDTP over all classes but these; None if there are none, or no others."""

    def __post_init__(self) -> None:
        for name in ("rows", "ids", "labels", "pdtp"):
            object.__setattr__(self, name, checks.frozen(np.asarray(getattr(self, name))))

    @property
    def complete(self) -> bool:
        """Whether every record of the training set was measured."""
        return len(self.rows) == self.n_train

    @property
    def highest(self) -> float:
        """The largest PDTP: the classifier's value."""
        return float(self.pdtp.max())

    @property
    def n_above(self) -> int:
        """Number of records with a PDTP above 1."""
        return int(np.count_nonzero(self.pdtp > LIMIT))

    @property
    def n_by_lone_classes(self) -> int:
        """Number of records above 1 in the probability of a lone class alone."""
        if self.shared is None:
            return 0
        return int(np.count_nonzero((self.pdtp > LIMIT) & (self.shared <= LIMIT)))

    @property
    def n_infinite(self) -> int:
        """Number of records that, when removed, leave some probability at 0 or no answer."""
        return int(np.count_nonzero(np.isinf(self.pdtp)))

    @property
    def n_above_on_average(self) -> int:
        """Number of records with a mean above 1 over several training sets."""
        return sum(x.value > LIMIT for x in self.averages)

    @property
    def n_surely_above(self) -> int:
        """Number of records with the whole interval of their mean above 1."""
        return sum(x.low > LIMIT for x in self.averages)

    @property
    def order(self) -> Ints:
        """(r,) Places of the records, the riskiest first: by PDTP, then by DTP's lower bound."""
        # The last key counts most; rows break ties, so that the order does not depend on the sort.
        return np.lexsort((self.rows, -self.dtp.low, -self.pdtp))

    @property
    def n_indirect(self) -> int:
        """Number of records that only other queries reveal."""
        return int(np.count_nonzero(self.indirect))

    @property
    def indirect(self) -> Bools:
        """(r,) True where other queries show more than 1 and the record's own does not."""
        return np.asarray((self.dtp.low > LIMIT) & (self.pdtp <= LIMIT), np.bool_)

    @property
    def decision(self) -> Decision:
        """The DTP-1 rule: do not publish where some query shows more than 1."""
        return "do not publish" if self.dtp.low.max() > LIMIT else "publish"

    @property
    def certified(self) -> bool:
        """Whether no query of the domain shows more than 1, for any record of the training set."""
        return self.complete and bool(self.dtp.high.max() <= LIMIT)

    @property
    def reach(self) -> Reach:
        """Number of measured records whose DTP is exact, bounded, or unbounded."""
        exact = self.dtp.low == self.dtp.high
        unknown = ~exact & np.isinf(self.dtp.high)
        return Reach(*(int(np.count_nonzero(x)) for x in (exact, ~exact & ~unknown, unknown)))

    @property
    def classes(self) -> list[OfClass]:
        """Classes with measured records, those with the most above 1 first."""
        found = []
        for label in np.unique(self.labels).tolist():
            values = self.pdtp[self.labels == label]
            above = int(np.count_nonzero(values > LIMIT))
            found.append(OfClass(label, len(values), above, float(values.max())))
        return sorted(found, key=lambda x: (-x.above, -x.largest, x.label))

    @property
    def by_other_queries(self) -> Ints:
        """Places of the records that only other queries reveal, the largest ratio first."""
        places = np.flatnonzero(self.indirect)
        return places[np.argsort(-self.dtp.low[places], kind="stable")]

    @property
    def by_average(self) -> Ints:
        """(r,) Places of the records, the largest mean over several training sets first."""
        return np.argsort([-x.value for x in self.averages], kind="stable")


def rank_by_pdtp(pdtp: Floats, dtp: DtpRange, order: Ints, points: int = POINTS) -> RankedRecords:
    """Return the records by falling PDTP, thinned to at most `points`: the riskiest one by one.

    `order` holds their places, the riskiest first.
    """
    n = len(order)
    first = np.arange(n)
    if n > points:
        # Evenly spaced on a log scale, so that the riskiest ranks keep a point each.
        first = np.unique(np.round(np.geomspace(1, n, points)).astype(np.int64)) - 1
    low, high = (np.maximum.reduceat(x[order], first) for x in (dtp.low, dtp.high))
    return RankedRecords(first + 1, pdtp[order][first], low, high)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Results of a measurement, with the parts that were skipped and the caveats."""

    found: DtpFindings
    """All results."""
    skipped: tuple[Skipped, ...]
    """Parts that were not done, with reasons."""
    warnings: tuple[str, ...]
    """Caveats for the reader."""


def measurement(
    task: TrainingSet,
    design: DtpDesign,
    rows: ArrayLike | None,
    ids: ArrayLike | None,
    class_names: tuple[str, ...] | None,
    level: float,
) -> Measurement:
    """Return the requested measurements of a training set's records, by default of all.

    A person with several records is represented by the riskiest one.
    """
    y = task.y
    owner = task.unit
    chosen = np.arange(len(y))
    if rows is not None:
        chosen = np.unique(checks.integers(rows, "rows"))
        if not len(chosen):
            raise InputError("rows must name at least one record")
        if chosen[0] < 0 or chosen[-1] >= len(y):
            listed = checks.short_list(chosen.tolist())
            raise InputError(f"rows must lie in 0..{len(y) - 1}, got {listed}")
        # A person's rows are left out together, so all of them are measured.
        if owner is not None:
            chosen = np.flatnonzero(np.isin(owner, owner[chosen]))
    names = class_names
    if names is None:
        names = tuple(str(i) for i in range(task.n_classes))
    if len(names) < task.n_classes:
        raise InputError(f"class_names must name {task.n_classes} classes, got {len(names)}")
    measured = task.measured(chosen)
    # Each person becomes one entry, from here on a record like any other.
    if owner is not None:
        riskiest, measured = measured.of_units(owner[chosen])
        chosen = chosen[riskiest]
    learner = measured.learner
    pdtp = measured.pdtp
    path = None
    skipped: tuple[Skipped, ...] = ()
    if design.remove:
        path, skipped = task.removal(design.remove, cast(Order, design.order), learner)
    named = np.arange(len(y)) if ids is None else checks.vector(ids, "ids", length=len(y))
    n_train = len(y) if owner is None else checks.n_distinct(owner)
    complete = len(chosen) == n_train
    above = pdtp > LIMIT
    repeated = None
    if design.training_sets:
        repeated = task.repeated(chosen, design.training_sets, learner)
    columns = () if repeated is None else repeated.T
    # The riskiest first, ties by row, so that the choice does not depend on the sort.
    varied = chosen[np.lexsort((chosen, -pdtp))][:VARIED]
    found = DtpFindings(
        task.name,
        method=measured.method,
        width=design.bin_width,
        n_train=n_train,
        class_names=names,
        rows=chosen,
        ids=named[chosen],
        labels=y[chosen],
        pdtp=pdtp,
        dtp=measured.dtp,
        mean=mean_of_records(pdtp, complete, level, "records"),
        share_above=mean_of_records(above, True, level, "records")
        if complete
        else rates.proportion(above, level=level),
        repeated=repeated,
        averages=tuple(mean_of_records(x, False, level, "training sets") for x in columns),
        removal=path,
        variation=task.variation(varied, design.vary) if design.vary else (),
        checked=measured.checked,
        lone_classes=tuple(task.lone_classes.tolist()),
        shared=measured.shared,
    )
    lone = task.lone_classes
    if not len(lone):
        of_lone_classes = []
    else:
        lone_rows = [int(np.flatnonzero(task.y == label)[0]) for label in lone]
        whose = "a single record" if task.unit is None else "the records of a single person"
        labels_text = checks.short_list(names[label] for label in lone)
        of_lone_classes = [
            f"{'a class has' if len(lone) == 1 else f'{len(lone)} classes have'} {whose} "
            f"({labels_text}; rows {checks.short_list(lone_rows)}): without it the class is gone "
            "and its probability is 0, so its value is infinite, or the largest that bins allow"
        ]
    n_measured = len(chosen)
    if n_measured == n_train:
        of_sampling = []
    else:
        # If a share q lies above, the probability that no sampled record does is at most (1 - q)^m.
        missed = 1 - (1 - level) ** (1 / n_measured)
        of_sampling = [
            f"{n_measured:,} of {n_train:,} records were measured: others may be riskier than the "
            f"riskiest of these; if they were drawn at random, at most {missed:.2g} of all "
            f"records are, with {level:.0%} confidence"
        ]
    told = (
        *measured.warnings,
        *of_lone_classes,
        *of_sampling,
    )
    # The two lowest bins are published as width / 2 and 3 width / 2, a factor of 3.
    step_of_bins = float(np.log(3)) if design.bin_width else 0.0
    n_step = (
        int(np.count_nonzero(np.isclose(pdtp, step_of_bins, rtol=1e-9, atol=0)))
        if step_of_bins > 1
        else 0
    )
    if not n_step:
        one_step = []
    else:
        one_step = [
            f"{n_step:,} of the records above 1 have the value {step_of_bins:.4f}, the step "
            f"between the two lowest bins, {design.bin_width / 2:g} and "
            f"{design.bin_width * 1.5:g}: near their border a tiny change counts as a factor of "
            "3; look at the values without bins beside these (--bin 0)"
        ]
    return Measurement(found, skipped, (*told, *one_step))
