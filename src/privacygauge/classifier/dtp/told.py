"""Estimates of PDTP, and the caveats that a reader needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifier.dtp.learner import DtpRange
from privacygauge.classifier.estimators import as_trainer, class_names
from privacygauge.classifier.held import Held
from privacygauge.classifier.tables import CategoricalTable, Records
from privacygauge.classifier.trial import records_for
from privacygauge.classifier.whose import copies_warning
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.units import owners
from privacygauge.errors import InputError
from privacygauge.evaluate import rates

EXACT = "exact: every record of the training set"


def exact_mean(values: Floats | Bools, level: float) -> Estimate:
    """Return the mean over all records of a training set, which has no sampling error."""
    value = float(values.mean())
    return Estimate(value=value, low=value, high=value, level=level, n=len(values), method=EXACT)


def mean_of_records(values: Floats, complete: bool, level: float, unit: str) -> Estimate:
    """Return the mean over records, or training sets, with an interval unless it is complete."""
    if complete:
        return exact_mean(values, level)
    value = float(values.mean())
    if np.isinf(value):
        return Estimate(
            value=value,
            low=float(values.min()),
            high=value,
            level=level,
            n=len(values),
            method=("infinite values"),
        )
    return rates.mean(values, level, unit=unit, least=0.0)  # no log ratio is below 0


def in_one_bin(pdtp: Floats, width: float) -> list[str]:
    """Return a warning if records are above 1 by a single step between bins."""
    step = float(np.log(3)) if width else 0.0
    lone = int(np.count_nonzero(np.isclose(pdtp, step, rtol=1e-9, atol=0))) if step > 1 else 0
    if not lone:
        return []
    return [
        f"{lone:,} of the records above 1 have the value {step:.4f}, the step between the two "
        f"lowest bins, {width / 2:g} and {width * 1.5:g}: near their border a tiny change counts "
        "as a factor of 3; look at the values without bins beside these (--bin 0)"
    ]


def lone_classes_warning(y: Ints, names: tuple[str, ...]) -> list[str]:
    """Return a warning that names the classes with a single record."""
    lone = np.flatnonzero(np.bincount(y, minlength=len(names)) == 1)
    if not len(lone):
        return []
    rows = [int(np.flatnonzero(y == label)[0]) for label in lone]
    return [
        f"{'a class has' if len(lone) == 1 else f'{len(lone)} classes have'} a single record "
        f"({checks.short_list(names[label] for label in lone)}; rows {checks.short_list(rows)}): "
        "without "
        "it the class is gone and its probability is 0, so its value is infinite, or the largest "
        "that bins allow"
    ]


def sampling_warning(measured: int, n: int, level: float) -> list[str]:
    """Return a warning if not every record was measured."""
    if measured == n:
        return []
    # If a share q lies above, the probability that no sampled record does is at most (1 - q)^m.
    missed = 1 - (1 - level) ** (1 / measured)
    return [
        f"{measured:,} of {n:,} records were measured: others may be riskier than the riskiest of "
        f"these; if they were drawn at random, at most {missed:.2g} of all records are, with "
        f"{level:.0%} confidence"
    ]


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


def measured_rows(rows: ArrayLike | None, n: int, owner: Ints | None) -> Ints:
    """Return the rows to measure, ascending, with all rows of the same people; default: all."""
    if rows is None:
        return np.arange(n)
    chosen = np.unique(checks.integers(rows, "rows"))
    if not len(chosen) or chosen[0] < 0 or chosen[-1] >= n:
        raise InputError(f"rows must lie in 0..{n - 1}, got {checks.short_list(chosen.tolist())}")
    return chosen if owner is None else np.flatnonzero(np.isin(owner, owner[chosen]))


def draw_people_rows(
    number: int | None, records: Records | CategoricalTable, data: str, seed: int
) -> Ints | None:
    """Return one record each of `number` people drawn at random; None for all."""
    owner = owners(records.unit, records.ids, len(records))
    first = np.arange(len(records)) if owner is None else np.unique(owner, return_index=True)[1]
    n = len(first)
    what = "records" if owner is None else "people"
    if number is None or number == n:
        return None
    if not 1 <= number <= n:
        raise InputError(
            f"--measure must be in 1..{n:,}, the number of {what} in {data}, got {number:,}"
        )
    rng = seeds.stream(seed, "dtp", "measured")
    return first[np.sort(rng.choice(n, number, replace=False))]


def units_note(x: Held, y: Ints, owner: Ints | None) -> list[str]:
    """Return the notes on people with several records."""
    if owner is None:
        return copies_warning(x, y)
    return [
        f"{len(y):,} records belong to {checks.n_distinct(owner):,} people: all records of a "
        "person are left out together, and what is counted and ranked are people, each by its "
        "riskiest record"
    ]


def class_names_of(given: tuple[str, ...] | None, n_classes: int) -> tuple[str, ...]:
    """Return the names of the classes; by default their numbers."""
    if given is None:
        return tuple(str(i) for i in range(n_classes))
    if len(given) < n_classes:
        raise InputError(f"class_names must name {n_classes} classes, got {len(given)}")
    return given


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


def rank_by_pdtp(pdtp: Floats, dtp: DtpRange, order: Ints, points: int = POINTS) -> RankedRecords:
    """Return the records by falling PDTP, thinned to at most `points`: the riskiest one by one.

    `order` holds their places, the riskiest first.
    """
    n = len(order)
    first = np.arange(n)
    if n > points:
        first = np.unique(np.round(np.geomspace(1, n, points)).astype(np.int64)) - 1
    low, high = (np.maximum.reduceat(x[order], first) for x in (dtp.low, dtp.high))
    return RankedRecords(first + 1, pdtp[order][first], low, high)
