"""Removal of the riskiest records, one at a time (Long et al. 2017, section 7)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.counts import Counts, count_categories
from privacygauge.classifier.dtp.domain import dtp_over_cells
from privacygauge.classifier.dtp.learner import Learner
from privacygauge.classifier.dtp.ratios import log_ratio
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

LIMIT = 1.0
"""The DTP-1 rule: a classifier with a larger DTP is not published (Long et al. 2017, section 5)."""

RISE = 0.1
"""A record whose value rises by this much when another one is removed was shielded by it."""

Measure = Literal["DTP", "PDTP"]
"""Measure of the records' risk."""

Order = Literal["recomputed", "initial"]
"""Remove the currently riskiest record, or go down the list of the first values, as in Figure 6."""


class Remaining(Protocol):
    """A training set from which records are removed, and the risk of every record left."""

    @property
    def measure(self) -> Measure:
        """Name of the measure of risk."""

    def values(self) -> Floats:
        """Return the value of every group of equal records, (g,); NaN if none of it is left."""

    def row(self, group: int) -> int:
        """Return the row of one remaining record of the group."""

    def less(self, group: int) -> Self:
        """Return the training set without one record of the group."""


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
    """(s,) Its value one removal earlier; NaN for the first."""
    order: Order
    """How the next record was chosen."""
    measure: Measure = "DTP"
    """Name of the measure of risk."""

    def __post_init__(self) -> None:
        for name in ("removed", "highest", "value", "before"):
            object.__setattr__(self, name, checks.frozen(getattr(self, name)))

    @property
    def best(self) -> int:
        """Number of removals after which to stop: the first value of at most 1, else the lowest."""
        safe = np.flatnonzero(self.highest <= LIMIT)
        return int(safe[0]) if len(safe) else int(np.argmin(self.highest))

    @property
    def groups(self) -> tuple[Ints, ...]:
        """Rows that shield each other: each rose when the one before it was removed.

        Such records keep each other's influence down. Only groups of at least two.
        """
        with np.errstate(invalid="ignore"):  # from infinite to infinite is no rise
            rose = self.value - self.before > RISE
        starts = np.flatnonzero(~rose)
        parts = np.split(self.removed, starts[1:] if len(starts) else [])
        return tuple(part for part in parts if len(part) > 1)


def check_order(order: str) -> None:
    """Raise unless the order exists."""
    if order not in ("recomputed", "initial"):
        raise InputError(f"order must be 'recomputed' or 'initial', got {order!r}")


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
        if np.count_nonzero(~np.isnan(ranked)) < 2:
            break
        group = int(np.nanargmax(ranked))
        removed.append(remaining.row(group))
        own.append(values[group])
        before.append(earlier[group])
        remaining = remaining.less(group)
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


@dataclass(frozen=True, eq=False)
class CategoricalRecords:
    """Records of naive Bayes on categories, grouped by equality; the value is the exact DTP."""

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
        """Return the exact DTP of every group over the whole domain, (g,)."""
        here = self.left > 0
        result = np.full(len(self.left), np.nan)
        result[here] = dtp_over_cells(self.counts, self.codes[here], self.y[here])
        return result

    def row(self, group: int) -> int:
        """Return the row of one remaining record of the group."""
        return int(self.order[self.ends[group] - self.left[group]])

    def less(self, group: int) -> CategoricalRecords:
        """Return the records without one of the group."""
        left = self.left.copy()
        left[group] -= 1
        counts = self.counts.less(self.codes[group], int(self.y[group]))
        return replace(self, counts=counts, left=left)


def categorical_records(
    codes: Ints, y: Ints, sizes: tuple[int, ...], n_classes: int, alpha: float
) -> CategoricalRecords:
    """Return records (n, m) with classes (n,), ready to be removed one at a time."""
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
    """Records of any learner, each a group of its own; the value is PDTP."""

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
        """Return the PDTP of every remaining record, (n,)."""
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
