"""Whose the rows are: what is said of units, and of rows that occur more than once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.held import Held, keys
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.resolution import resolution
from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Ints

_WAY_OUT = (
    "name the person behind each row in a column (--unit, unit=), row numbers where all are "
    "different people"
)
_DISAGREE = 0.01
"""Up to this share of equal rows may differ in class or side where they are taken for one unit:
rows that only look alike, of a model with few answers, differ far more often."""

_FEWEST = 20
"""Fewer different rows are a model with few answers."""

_MATTERS = 0.99
"""Rows that are worth more than this share of their number change no interval."""

_COARSE = 1e-3
"""Predictions in larger steps than this, such as votes of trees, are often equal by chance."""

_SURE = 1e-6
"""A prediction this near to certain equals many others by rounding alone."""


def settled(
    target: Predictions, *, drawn: bool = False, features: Held | None = None
) -> tuple[Predictions, list[str]]:
    """Return predictions whose units are known, and what the reader has to know of them.

    Parameters
    ----------
    target : Predictions
    drawn : bool
        Whether fair, independent coins made the members: then equal rows need no unit, since
        their bits are independent.
    features : array or data frame of n records, optional
        The records themselves, where they are known.

    Returns
    -------
    tuple of Predictions and list of str
        Where no units are given, rows with equal features and equal class count as one unit if
        they also share their side, all but one in a hundred. Rows with equal predictions are
        only named: equal answers may be what a model gives away.
    """
    if target.unit is not None:
        return target, said_of_units(target.units, target.member)
    if drawn and features is not None:  # `twice` says it before coins are drawn
        return target, []
    if features is None:
        return target, _alike(target, drawn=drawn)
    unit, warnings = equal_rows(
        keys(features), target.labels, target.member, "features", drawn=drawn
    )
    return target if unit is None else replace(target, unit=checks.frozen(unit)), warnings


def _alike(target: Predictions, *, drawn: bool) -> list[str]:
    """Return what to say of rows with equal predictions, which may be one person's.

    They stay apart: a model that gives all of its members one answer gives them away, and would
    hide it if equal answers counted as one.
    """
    found = _Equal(units.numbered(_prediction_keys(target)), target.labels)
    warnings = found.on_both_sides("predictions", target.member)
    if warnings and resolution(target).step > _COARSE and not found.copied(target.member):
        warnings = []  # votes of a few trees are often equal by chance
    if drawn or not found.are_units(target.member):
        return warnings
    repeated = int(np.count_nonzero(_repeated(found.unit(target.member))))
    return [
        *warnings,
        f"{repeated:,} of {len(target):,} rows have predictions and a class that occur more than "
        "once on their side: if these are rows of one person, intervals are too narrow, and a leak "
        f"may be seen where there is none; {_WAY_OUT}",
    ]


def equal_rows(
    same: NDArray[Any], labels: Ints, member: Bools, what: str = "values", *, drawn: bool = False
) -> tuple[Ints | None, list[str]]:
    """Return the units that equal rows make, None where they are no units, and what to say.

    Parameters
    ----------
    same : ndarray, shape (n,)
        The same for equal rows.
    labels : ndarray of int, shape (n,)
    member : ndarray of bool, shape (n,)
    what : str
        What is equal.
    drawn : bool
        As in `settled`.
    """
    found = _Equal(units.numbered(same), labels)
    warnings = found.on_both_sides(what, member)
    if drawn or not found.are_units(member):
        return None, warnings
    unit = found.unit(member)
    n, repeated = len(unit), int(np.count_nonzero(_repeated(unit)))
    return unit, [
        *warnings,
        f"{repeated:,} of {n:,} rows have {what} and a class that occur more than once on their "
        f"side: equal rows count as one, so that {checks.n_distinct(unit):,} units are left; "
        f"{_WAY_OUT}",
    ]


def with_unit(target: Predictions, unit: ArrayLike | str | None) -> Predictions:
    """Return predictions with the person behind each row, or the column that names them."""
    return target if unit is None else target.by_unit(unit)


def twice(x: Held, y: Ints) -> list[str]:
    """Return a warning where records are equal that coins put in or leave out one by one."""
    copies = int(np.count_nonzero(_repeated(_classed(keys(x), y))))
    if copies < max(1, (1 - _MATTERS) * len(y)):
        return []
    return [
        f"{copies:,} of {len(y):,} records equal another one in features and class: a record that "
        f"is left out may still be in by its copy, and attacks look weaker than they are; "
        f"{_WAY_OUT}"
    ]


def copies(x: Held, y: Ints) -> list[str]:
    """Return a warning where equal records may be one person's, and are left out one at a time."""
    unit, _ = equal_rows(keys(x), y, np.ones(len(y), np.bool_))
    if unit is None:
        return []
    several = int(np.count_nonzero(_repeated(unit)))
    return [
        f"{several:,} of {len(y):,} records equal another one in features and class: if these are "
        "records of one person, the others stay when one is left out, and the person moves the "
        f"classifier more than was measured; {_WAY_OUT}"
    ]


def said_of_units(unit: Ints, member: Bools) -> list[str]:
    """Return what is to be said of units that are given."""
    n, n_units = len(unit), checks.n_distinct(unit)
    if n_units == n:
        return []
    warnings = [
        f"{n:,} rows belong to {n_units:,} units: coins, halves and intervals go by unit, rows of "
        "one are never taken for independent"
    ]
    both = units.on_both_sides(unit, member)
    if both.any():
        warnings.append(
            f"{checks.n_distinct(unit[both]):,} of {n_units:,} units have rows among the members "
            "and among the non-members: rows keep their side, but such a person is in the "
            "training set either way, and attacks look weaker than they are"
        )
    return warnings


@dataclass(frozen=True, eq=False)
class _Equal:
    """Which rows are equal."""

    rows: Ints
    """(n,) The same number for equal rows, whatever their class."""
    labels: Ints
    """(n,) Their classes."""

    def unit(self, member: Bools) -> Ints:
        """Return one number for equal rows of one class and side."""
        return units.numbered(_classed(_classed(self.rows, self.labels), member))

    def are_units(self, member: Bools) -> bool:
        """Return whether equal rows are one person's, and matter."""
        unit = self.unit(member)
        if units.worth(unit) >= _MATTERS * len(unit) or checks.n_distinct(unit) < _FEWEST:
            return False
        several = _repeated(self.rows)
        # As many rows as lie outside the largest class and side of their equals.
        of_group = np.bincount(self.rows[several])
        _, first, size = np.unique(unit[several], return_index=True, return_counts=True)
        largest = np.zeros(len(of_group), np.int64)
        np.maximum.at(largest, self.rows[several][first], size)
        return bool(np.sum(of_group - largest) <= _DISAGREE * np.count_nonzero(several))

    def copied(self, member: Bools) -> bool:
        """Return whether members equal non-members more often than members equal each other."""
        same = _classed(self.rows, self.labels)
        both = np.count_nonzero(units.on_both_sides(units.numbered(same), member) & member)
        return bool(both > 2 * np.count_nonzero(_repeated(same[member])))

    def on_both_sides(self, what: str, member: Bools) -> list[str]:
        """Return a warning where members equal non-members, unless rows are often alike anyway."""
        same = units.numbered(_classed(self.rows, self.labels))
        if all(checks.n_distinct(same[s]) * 2 < np.count_nonzero(s) for s in (member, ~member)):
            return []
        both = int(np.count_nonzero(units.on_both_sides(same, member) & member))
        if both < max(1, (1 - _MATTERS) * np.count_nonzero(member)):
            return []
        return [
            f"{both:,} members equal a non-member in {what} and class: no attack can tell them "
            f"apart, and attacks look weaker than they are; take them out of one side, or "
            f"{_WAY_OUT}"
        ]


def _prediction_keys(target: Predictions) -> NDArray[Any]:
    """Return the same number for equal predictions; near-certain ones are all different."""
    same = units.numbered(units.fingerprints(target.values))
    if not target.logits:
        sure = _sure(target)
        same[sure] = len(same) + np.flatnonzero(sure)
    return same


def _sure(target: Predictions) -> Bools:
    sure = np.empty(len(target), np.bool_)
    for rows, block in target.blocks():
        sure[rows] = block.max(axis=1) >= 1 - _SURE
    return sure


def _classed(number: NDArray[Any], labels: NDArray[Any]) -> Ints:
    """Return one number for rows that are equal in both."""
    return units.numbered(number) * (1 + int(labels.max())) + labels.astype(np.int64)


def _repeated(number: Ints) -> Bools:
    _, index, count = np.unique(number, return_inverse=True, return_counts=True)
    several: Bools = count[index] > 1
    return several
