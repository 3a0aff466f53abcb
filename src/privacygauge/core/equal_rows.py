"""Equal rows: those that belong to one person, and the warnings about people's rows."""

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
_DISAGREE = 0.2
"""Largest share of equal rows that may differ in class or side if they count as one unit. In real
tables a few per cent of people look alike; rows with one of a model's few answers differ far more
often."""

_DISAGREE_COARSE = 0.01
"""The same share where values are coarse."""

_FEWEST = 20
"""With fewer distinct rows, the model has few answers."""

_LARGEST = 0.02
"""A larger share of a side with the same answer comes from the model, not from one person."""

_LEAST_OF_CLASS = 5
"""Fewest rows of a class on a side: half of fewer may belong to one person."""

# Equal answers come from the model, not from one person, where at least the first share of one
# side's rows, and at most the second share of the other's, equal half of their class.
_MOSTLY = 0.5
_RARELY = 0.25

MATTERS = 0.99
"""Effective share of independent rows above which units do not change an interval."""


def equal_rows(
    same: NDArray[Any], labels: Ints, member: Bools, what: str = "values", *, drawn: bool = False
) -> tuple[Ints | None, list[str]]:
    """Return the units that equal rows form, or None where they are not units, and warnings.

    Parameters
    ----------
    same : ndarray, shape (n,)
        The same for equal rows.
    labels : ndarray of int, shape (n,)
    member : ndarray of bool, shape (n,)
    what : str
        Name of the equal values, for the warnings.
    drawn : bool
        Whether fair, independent coins chose the members: then equal rows need no unit.
    """
    found = Equal(units.number_units(same), labels)
    warnings = found.on_both_sides(what, member)
    if drawn or not found.are_units(member):
        return None, warnings
    unit = found.unit(member)
    n = len(unit)
    repeated = int(np.count_nonzero(repeated_rows(unit)))
    return unit, [
        *warnings,
        f"{repeated:,} of {n:,} rows have {what} and a class that occur more than once on their "
        f"side: equal rows count as one, so that {checks.n_distinct(unit):,} units are left; "
        f"{WAY_OUT}",
    ]


def said_of_units(unit: Ints, member: Bools) -> list[str]:
    """Return warnings about units that the user gave."""
    n = len(unit)
    n_units = checks.n_distinct(unit)
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


def said_of_rows(unit: Ints, member: Bools) -> str:
    """Return the warning about units whose rows were dealt one by one (`units.dealt_by_row`)."""
    both = checks.n_distinct(unit[units.on_both_sides(unit, member)])
    return (
        f"{both:,} of {checks.n_distinct(unit):,} units have rows among the members and among the "
        "non-members, as where a coin is thrown for every row: each row counts as one. The audit "
        "then says whether a row was in the training set, not whether a person was; for that, put "
        "all rows of a person on one side before the training"
    )


@dataclass(frozen=True, eq=False)
class Equal:
    """Groups of equal rows."""

    rows: Ints
    """(n,) Group number, the same for equal rows of any class."""
    labels: Ints
    """(n,) Class of each row."""

    def unit(self, member: Bools) -> Ints:
        """Return one number for equal rows of one class and side."""
        return units.number_units(
            number_with_class(number_with_class(self.rows, self.labels), member)
        )

    def are_units(self, member: Bools, *, coarse: bool = False) -> bool:
        """Return whether equal rows belong to one person and change intervals.

        Where values are `coarse`, as votes of trees are, rows are often equal by chance: then next
        to none of them may differ in class or side.
        """
        unit = self.unit(member)
        if units.worth(unit) >= MATTERS * len(unit) or checks.n_distinct(unit) < _FEWEST:
            return False
        several = repeated_rows(self.rows)
        # As many rows as lie outside the largest class and side of their equals.
        of_group = np.bincount(self.rows[several])
        _, first, size = np.unique(unit[several], return_index=True, return_counts=True)
        largest = np.zeros(len(of_group), np.int64)
        np.maximum.at(largest, self.rows[several][first], size)
        most = _DISAGREE_COARSE if coarse else _DISAGREE
        return bool(np.sum(of_group - largest) <= most * np.count_nonzero(several))

    def copies_of_each(self, member: Bools) -> Ints | None:
        """Return the units of rows that all occur equally often, None where they do not.

        Every row was written down k times where k divides the size of each group of equal rows of
        one class and side; by chance an even number of rows is in every one of 20 groups once in a
        million times. Rows of a group cannot be told apart, so each k of them make a unit: this
        holds for models of few answers too, where rows of several people are equal.
        """
        unit = self.unit(member)
        size = np.bincount(unit)
        k = int(np.gcd.reduce(size))
        if k < 2 or len(size) < _FEWEST:
            return None
        order = np.argsort(unit, kind="stable")
        place = np.arange(len(unit)) - np.repeat(np.cumsum(size) - size, size)
        found = np.empty(len(unit), np.int64)
        found[order] = unit[order] * len(unit) + place // k
        return units.number_units(found)

    def small(self, member: Bools) -> bool:
        """Return whether the largest group is one person's rows rather than a common answer."""
        unit = self.unit(member)
        least = min(int(np.count_nonzero(side)) for side in (member, ~member))
        if int(np.bincount(unit).max()) > max(_FEWEST, _LARGEST * least):
            return False
        shares = [self._share_of_one_for_a_class(side) for side in (member, ~member)]
        return max(shares) < _MOSTLY or min(shares) > _RARELY

    def _share_of_one_for_a_class(self, side: Bools) -> float:
        """Return the share of a side's rows that equal at least half of the rows of their class."""
        labels = self.labels[side]
        equal = units.number_units(number_with_class(self.rows, self.labels)[side])
        of_class, alike = (np.bincount(number)[number] for number in (labels, equal))
        return float(np.mean((of_class >= _LEAST_OF_CLASS) & (alike >= of_class / 2)))

    def across(self, member: Bools) -> Bools:
        """Return a mask of the rows with an equal row of their class on the other side, (n,)."""
        return units.on_both_sides(
            units.number_units(number_with_class(self.rows, self.labels)), member
        )

    def copied(self, member: Bools) -> bool:
        """Return whether members equal non-members more often than rows of one side do each other.

        Shares of rows that equal one of as many others as the smaller side has: of more rows more
        are equal by chance. The larger share of the two sides counts, since of a small side few are
        equal. Where members were copied several times, their copies equal each other, too: then
        the geometric mean of both shares is the measure. For rows that are drawn independently,
        the probability that one of each side are equal is no larger than the geometric mean of
        the probabilities within the sides (Cauchy-Schwarz).
        """
        _, same = np.unique(number_with_class(self.rows, self.labels), return_inverse=True)
        sizes = np.count_nonzero(member), np.count_nonzero(~member)

        def share(of: Bools, among: Bools) -> float:
            others = np.bincount(same[among], minlength=int(same.max()) + 1)[same[of]]
            missed = 1 - min(sizes) / np.count_nonzero(among)
            return float(np.mean(1 - missed ** (others - (of is among))))

        outside = ~member
        within_members = share(member, member)
        within_others = share(outside, outside)
        found = share(member, outside)
        if found > 2 * max(within_members, within_others):
            return True
        # In both directions: a tree may answer all its members as it answers a few others.
        least = min(found, share(outside, member))
        expected = [
            # Few rows of a small side are equal by chance: three standard errors more.
            within + (3 * np.sqrt(within * size) + 5) / size
            for within, size in zip((within_members, within_others), sizes, strict=True)
        ]
        return least > 2 * float(np.sqrt(expected[0] * expected[1]))

    def on_both_sides(self, what: str, member: Bools) -> list[str]:
        """Return a warning where members equal non-members, unless rows are often alike anyway."""
        same = units.number_units(number_with_class(self.rows, self.labels))
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


def number_with_class(number: NDArray[Any], labels: NDArray[Any]) -> Ints:
    """Return a group number, the same for rows that are equal in both."""
    return units.number_units(number) * (1 + int(labels.max())) + labels.astype(np.int64)


def repeated_rows(number: Ints) -> Bools:
    """Return a mask of the rows that share their number with another row, (n,)."""
    _, index, count = np.unique(number, return_inverse=True, return_counts=True)
    several: Bools = count[index] > 1
    return several
