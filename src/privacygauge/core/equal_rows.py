"""Rows that equal each other: which are one person's, and what is said of people's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Ints

WAY_OUT = (
    "name the person behind each row in a column (--unit, unit=), row numbers where all are "
    "different people"
)
_DISAGREE = 0.01
"""Up to this share of equal rows may differ in class or side where they are taken for one unit:
rows that only look alike, of a model with few answers, differ far more often."""

_FEWEST = 20
"""Fewer different rows are a model with few answers."""

MATTERS = 0.99
"""Rows that are worth more than this share of their number change no interval."""


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
        Whether fair, independent coins made the members: then equal rows need no unit.
    """
    found = Equal(units.numbered(same), labels)
    warnings = found.on_both_sides(what, member)
    if drawn or not found.are_units(member):
        return None, warnings
    unit = found.unit(member)
    n, repeated = len(unit), int(np.count_nonzero(repeated_rows(unit)))
    return unit, [
        *warnings,
        f"{repeated:,} of {n:,} rows have {what} and a class that occur more than once on their "
        f"side: equal rows count as one, so that {checks.n_distinct(unit):,} units are left; "
        f"{WAY_OUT}",
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
class Equal:
    """Which rows are equal."""

    rows: Ints
    """(n,) The same number for equal rows, whatever their class."""
    labels: Ints
    """(n,) Their classes."""

    def unit(self, member: Bools) -> Ints:
        """Return one number for equal rows of one class and side."""
        return units.numbered(classed(classed(self.rows, self.labels), member))

    def are_units(self, member: Bools) -> bool:
        """Return whether equal rows are one person's, and matter."""
        unit = self.unit(member)
        if units.worth(unit) >= MATTERS * len(unit) or checks.n_distinct(unit) < _FEWEST:
            return False
        several = repeated_rows(self.rows)
        # As many rows as lie outside the largest class and side of their equals.
        of_group = np.bincount(self.rows[several])
        _, first, size = np.unique(unit[several], return_index=True, return_counts=True)
        largest = np.zeros(len(of_group), np.int64)
        np.maximum.at(largest, self.rows[several][first], size)
        return bool(np.sum(of_group - largest) <= _DISAGREE * np.count_nonzero(several))

    def copied(self, member: Bools) -> bool:
        """Return whether members equal non-members more often than members equal each other."""
        same = classed(self.rows, self.labels)
        both = np.count_nonzero(units.on_both_sides(units.numbered(same), member) & member)
        return bool(both > 2 * np.count_nonzero(repeated_rows(same[member])))

    def on_both_sides(self, what: str, member: Bools) -> list[str]:
        """Return a warning where members equal non-members, unless rows are often alike anyway."""
        same = units.numbered(classed(self.rows, self.labels))
        if all(checks.n_distinct(same[s]) * 2 < np.count_nonzero(s) for s in (member, ~member)):
            return []
        both = int(np.count_nonzero(units.on_both_sides(same, member) & member))
        if both < max(1, (1 - MATTERS) * np.count_nonzero(member)):
            return []
        return [
            f"{both:,} members equal a non-member in {what} and class: no attack can tell them "
            f"apart, and attacks look weaker than they are; take them out of one side, or "
            f"{WAY_OUT}"
        ]


def classed(number: NDArray[Any], labels: NDArray[Any]) -> Ints:
    """Return one number for rows that are equal in both."""
    return units.numbered(number) * (1 + int(labels.max())) + labels.astype(np.int64)


def repeated_rows(number: Ints) -> Bools:
    """Return which rows share their number with another one, (n,)."""
    _, index, count = np.unique(number, return_inverse=True, return_counts=True)
    several: Bools = count[index] > 1
    return several
