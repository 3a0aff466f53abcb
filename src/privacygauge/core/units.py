"""Units: the people behind rows, which are protected and statistically independent.

Without names, equal rows count as one person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.seeds import stream

_BLOCK = 1 << 16
"""Entries of a matrix per block."""


def number_units(labels: ArrayLike, name: str = "unit", *, length: int | None = None) -> Ints:
    """Return the unit of each row as a number from 0 in order of first appearance.

    Parameters
    ----------
    labels : array_like, shape (n,)
        Names or numbers of the units; equal ones are one unit.
    name : str
        Name of the labels in messages.
    length : int, optional
        Required length.

    Returns
    -------
    ndarray of int, shape (n,)
        0..n-1 if all labels differ.

    Raises
    ------
    InputError
        If the labels are not a vector of that length, or one is missing.

    Examples
    --------
    >>> number_units(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    given = checks.present(checks.vector(labels, name, length=length), name)
    # Ascending and distinct, as row numbers are: no sorting needed.
    if given.dtype.kind in "iu" and np.all(given[1:] > given[:-1]):
        return np.arange(len(given))
    if given.dtype == object:
        # Not as an array of texts, in which every name would take the room of the longest.
        place: dict[str, int] = {}
        return np.array([place.setdefault(str(name), len(place)) for name in given], np.int64)
    _, first, index = np.unique(given, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[index]


def owners(unit: ArrayLike | None, ids: ArrayLike | None, n: int) -> Ints | None:
    """Return the unit of each of n records; None if unknown or all different."""
    for name, given in (("unit", unit), ("ids", ids)):
        if given is not None:
            found = number_units(given, name, length=n)
            return None if checks.n_distinct(found) == n else found
    return None


def join_units(one: Ints, other: Ints | None) -> Ints:
    """Return the finest units that contain every unit of both numberings, (n,); None has none."""
    if other is None:
        return one
    n = len(one)
    # A graph of rows, the units of one numbering and those of the other; its components.
    links = coo_array((np.ones(2 * n), (np.tile(np.arange(n), 2), np.concatenate([
        n + number_units(one), 2 * n + number_units(other)
    ]))), shape=(3 * n, 3 * n))  # fmt: skip
    _, found = connected_components(links, directed=False)
    return number_units(found[:n])


def worth(unit: Ints) -> int:
    """Return the effective number of independent rows if all rows of a unit are alike.

    Kish (1965): ``n^2 / sum of squared sizes``, rounded down; n if no unit repeats, the number of
    units if all have the same size, and fewer if a few units hold most of the rows.

    Examples
    --------
    >>> worth(np.array([0, 0, 1, 1])), worth(np.array([0, 0, 0, 1]))
    (2, 1)
    """
    n = len(unit)
    if checks.n_distinct(unit) == n:
        return n
    _, size = np.unique(unit, return_counts=True)
    # Kish's effective size.
    return int(n * n // np.sum(size.astype(np.int64) ** 2))


def sums(unit: Ints, values: Floats) -> Floats:
    """Return the sum of values per unit, in ascending order of unit numbers."""
    _, index = np.unique(unit, return_inverse=True)
    return np.bincount(index, weights=values).astype(np.float64, copy=False)


def foremost(values: Floats, unit: Ints | None, most: int) -> Ints:
    """Return the rows with the highest values, descending, one per unit and at most `most`.

    Examples
    --------
    >>> foremost(np.array([0.9, 0.8, 0.7]), np.array([0, 0, 1]), 2).tolist()
    [0, 2]
    """
    order = np.argsort(-values, kind="stable")
    if unit is None:
        return order[:most]
    _, first = np.unique(unit[order], return_index=True)
    # The first row of a unit in this order is its highest.
    return order[np.sort(first)[:most]]


def fingerprints(values: NDArray[Any], digits: int = 6) -> NDArray[np.uint64]:
    """Return a hash per row, the same for rows that are equal to the given digits.

    Parameters
    ----------
    values : ndarray, shape (n, d)
        Numbers. They are rounded, so that rows which differ only by the size of their batch are
        equal.
    digits : int
        Digits after the decimal point.

    Returns
    -------
    ndarray of uint64, shape (n,)
        Different rows have the same hash with probability about 2^-64.
    """
    n, d = values.shape
    drawn = stream(0, "fingerprints").integers(2**63, size=d, dtype=np.uint64)
    factor = np.asarray(drawn * 2 + 1, np.uint64)
    found = np.empty(n, np.uint64)
    step = max(1, _BLOCK // max(d, 1))
    for start in range(0, n, step):
        block = np.array(values[start : start + step], np.float64) * 10.0**digits
        # Adding 0 turns -0 into 0, which has other bits.
        bits = (np.rint(block) + 0.0).view(np.uint64)
        # Each entry is mixed and multiplied by odd numbers of its column, then entries are summed.
        bits ^= bits >> np.uint64(29)
        bits *= factor
        bits ^= bits >> np.uint64(32)
        found[start : start + step] = (bits * factor[::-1]).sum(axis=1, dtype=np.uint64)
    return found


def on_both_sides(unit: Ints, member: Bools) -> Bools:
    """Return a mask of rows with a unit that has members and non-members, (n,)."""
    _, index = np.unique(unit, return_inverse=True)
    inside, outside = (np.bincount(index, weights=side) > 0 for side in (member, ~member))
    both: Bools = (inside & outside)[index]
    return both


MOST_UNITS = 2_000
"""Most units of several rows that `dealt_by_row` looks at; drawn at random where there are more."""
DEALS = 999
"""Deals of the bits over the rows."""
_CLEAR = 5.0
"""Standard deviations that tell whole units from a deal by row, or neither is shown."""
_BY_CHANCE = 0.01
"""P-value up to which units lie on one side more often than a deal by row explains."""


def dealt_by_row(unit: Ints, member: Bools) -> bool:
    """Return whether the members were dealt row by row although units have several rows.

    Parameters
    ----------
    unit : ndarray of int, shape (n,)
        Unit of each row.
    member : ndarray of bool, shape (n,)

    Returns
    -------
    bool
        True where rows of one unit are on opposite sides as often as coins for every row put them
        there, or more often, as in a deal within each unit. False where units lie on one side,
        even with exceptions, or where units with several rows are too few to tell.

    Notes
    -----
    The statistic is the number of pairs of rows of one unit that are on opposite sides; its law is
    that of permuted bits. A permutation of the bits over the rows is then a fair placebo, so that
    rows are independent given what each is like, however alike those of one unit are.

    Examples
    --------
    >>> unit = np.repeat(np.arange(100), 4)
    >>> bits = np.random.default_rng(0).random(400) < 0.5
    >>> dealt_by_row(unit, bits), dealt_by_row(unit, bits[unit])
    (True, False)
    """
    _, index, size = np.unique(unit, return_inverse=True, return_counts=True)
    # Members of each unit.
    inside = np.bincount(index, weights=member).astype(np.int64)
    rng = stream(0, "deals by row")
    several = np.flatnonzero(size > 1)
    if len(several) > MOST_UNITS:
        several = rng.permutation(several)[:MOST_UNITS]
    alone = size == 1
    # Units of one row share in the deal, but have no pairs: the last place holds them all.
    sizes = np.append(size[several], np.count_nonzero(alone))
    n_in = int(inside[several].sum() + inside[alone].sum())
    deals = rng.multivariate_hypergeometric(sizes, n_in, DEALS, method="marginals")[:, :-1]
    # Pairs of a member and a non-member of one unit: a deal by unit leaves few of them.
    pairs = np.sum(deals * (sizes[:-1] - deals), axis=1)
    found = int(inside[several] @ (sizes[:-1] - inside[several]))
    expected = float(pairs.mean())
    if not expected or expected < _CLEAR * float(pairs.std()):
        return False
    return (1 + int(np.count_nonzero(pairs <= found))) / (1 + DEALS) > _BY_CHANCE


WAY_OUT = (
    "name the person behind each row in a column (--unit, unit=), row numbers where all are "
    "different people"
)
_DISAGREE = 0.2
"""Largest share of equal rows that may differ in class or side if equal rows are to count as units.
In real tables a few per cent of people look alike; rows that share one of a model's few answers
differ far more often."""

_DISAGREE_COARSE = 0.01
"""The same share for coarse values."""

_FEWEST = 20
"""Fewest distinct rows; with fewer, the model has only few answers."""

_LARGEST = 0.02
"""Largest share of a side with one answer that can be one person's; a larger one comes from the
model."""

_LEAST_OF_CLASS = 5
"""Fewest rows of a class on a side for a share of equal rows: half of fewer may be one person's."""

# Equal answers come from the model, not from one person, if among one side's rows at least the
# first share equal half of their class, and among the other's at most the second.
_MOSTLY = 0.5
_RARELY = 0.25

_SURE = 1e-6
"""Largest probability by chance of as many members as non-members among equal rows, everywhere."""

MATTERS = 0.99
"""Effective share of independent rows from which on units do not change an interval."""


def equal_rows(
    same: NDArray[Any], labels: Ints, member: Bools, what: str = "values", *, drawn: bool = False
) -> tuple[Ints | None, list[str]]:
    """Return the units that equal rows form (None if they are not units), and warnings.

    Parameters
    ----------
    same : ndarray, shape (n,)
        Labels, equal for equal rows.
    labels : ndarray of int, shape (n,)
    member : ndarray of bool, shape (n,)
    what : str
        Name of the compared values, for the warnings.
    drawn : bool
        Whether independent fair coins chose the members; equal rows then need no unit.
    """
    found = Equal(number_units(same), labels)
    warnings = found.on_both_sides(f"{what} and class", member)
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
    """Return warnings about units given by the user."""
    n = len(unit)
    n_units = checks.n_distinct(unit)
    if n_units == n:
        return []
    warnings = [
        f"{n:,} rows belong to {n_units:,} units: coins, halves and intervals go by unit, rows of "
        "one are never taken for independent"
    ]
    both = on_both_sides(unit, member)
    if both.any():
        warnings.append(
            f"{checks.n_distinct(unit[both]):,} of {n_units:,} units have rows among the members "
            "and among the non-members: rows keep their side, but such a person is in the "
            "training set either way, and attacks look weaker than they are"
        )
    return warnings


@dataclass(frozen=True, eq=False)
class Equal:
    """Groups of equal rows."""

    rows: Ints
    """(n,) Group number, the same for equal rows whatever their class."""
    labels: Ints
    """(n,) Class of each row."""

    def unit(self, member: Bools) -> Ints:
        """Return unit numbers, (n,): the same for equal rows of one class and side."""
        return number_units(number_with_class(number_with_class(self.rows, self.labels), member))

    def are_units(self, member: Bools, *, coarse: bool = False) -> bool:
        """Return whether equal rows belong to one person and matter for intervals.

        Coarse values, such as votes of trees, are often equal by chance: with `coarse`, almost none
        of the equal rows may differ in class or side.
        """
        unit = self.unit(member)
        # Too few repeats to matter, or so few distinct rows that the model only has few answers.
        if worth(unit) >= MATTERS * len(unit) or checks.n_distinct(unit) < _FEWEST:
            return False
        several = repeated_rows(self.rows)
        # Rows that disagree: those outside the most frequent class and side of their group.
        of_group = np.bincount(self.rows[several])
        _, first, size = np.unique(unit[several], return_index=True, return_counts=True)
        largest = np.zeros(len(of_group), np.int64)
        np.maximum.at(largest, self.rows[several][first], size)
        most = _DISAGREE_COARSE if coarse else _DISAGREE
        return bool(np.sum(of_group - largest) <= most * np.count_nonzero(several))

    def copies_of_each(self, member: Bools) -> Ints | None:
        """Return units if every row was written down equally often, else None.

        Every row was written down k times if k divides the size of each group of equal rows of one
        class and side; by chance, all of 20 groups have an even size once in a million times. Rows
        of a group cannot be told apart, so any k of them form a unit. This also holds for models
        with few answers, where rows of several people are equal.
        """
        unit = self.unit(member)
        size = np.bincount(unit)
        k = int(np.gcd.reduce(size))
        if k < 2 or len(size) < _FEWEST:
            return None
        order = np.argsort(unit, kind="stable")
        # Place of each row within its group, cut into runs of k.
        place = np.arange(len(unit)) - np.repeat(np.cumsum(size) - size, size)
        found = np.empty(len(unit), np.int64)
        found[order] = unit[order] * len(unit) + place // k
        return number_units(found)

    def small(self, member: Bools) -> bool:
        """Return whether even the largest group may be one person's rows, not a common answer."""
        unit = self.unit(member)
        least = min(int(np.count_nonzero(side)) for side in (member, ~member))
        if int(np.bincount(unit).max()) > max(_FEWEST, _LARGEST * least):
            return False
        same = number_with_class(self.rows, self.labels)
        # Share of each side's rows that are equal to at least half of their class.
        shares = []
        for side in (member, ~member):
            labels = self.labels[side]
            equal = number_units(same[side])
            of_class = np.bincount(labels)[labels]
            alike = np.bincount(equal)[equal]
            shares.append(np.mean((of_class >= _LEAST_OF_CLASS) & (alike >= of_class / 2)))
        return bool(max(shares) < _MOSTLY or min(shares) > _RARELY)

    def across(self, member: Bools) -> Bools:
        """Return a mask of rows with an equal row of the same class on the other side, (n,)."""
        return on_both_sides(number_units(number_with_class(self.rows, self.labels)), member)

    def with_copies(self, across: Bools) -> Ints:
        """Return numbers, (n,), the same for equal rows on both sides; of others each has its own.

        A part of the records that teaches an attack about another must not hold their copies.
        """
        alone = np.arange(len(across)) + len(across)
        return number_units(
            np.where(across, number_units(number_with_class(self.rows, self.labels)), alone)
        )

    def in_pairs(self, member: Bools) -> bool:
        """Return whether each group has as many members as non-members, beyond chance."""
        same = number_units(number_with_class(self.rows, self.labels))
        size, inside = (np.bincount(same, weights=weights) for weights in (None, member))
        if (2 * inside != size).any():
            return False
        # log P of these counts if any of the rows are members: product of C(2k, k), over C(2K, K).
        n = np.append(size, len(member))
        ways = gammaln(n + 1) - 2 * gammaln(n / 2 + 1)
        return bool(ways[:-1].sum() - ways[-1] < np.log(_SURE))

    def copied(self, member: Bools) -> bool:
        """Return whether members equal non-members more often than rows within a side are equal.

        Compares shares of rows with an equal among as many others as the smaller side has, since
        more rows have more equals by chance. The larger share within a side counts, since a small
        side has few equals. If members were copied several times, their copies are equal to each
        other as well; the measure is then the geometric mean of both shares. For independently
        drawn rows, the probability that rows of different sides are equal is at most the geometric
        mean of the probabilities within the sides (Cauchy-Schwarz).
        """
        if self.in_pairs(member):
            return True
        _, same = np.unique(number_with_class(self.rows, self.labels), return_inverse=True)
        sizes = np.count_nonzero(member), np.count_nonzero(~member)

        def share(of: Bools, among: Bools) -> float:
            others = np.bincount(same[among], minlength=int(same.max()) + 1)[same[of]]
            # Probability that a given other row is not in a random sample of the smaller side's
            # size; a row is not its own equal.
            missed = 1 - min(sizes) / np.count_nonzero(among)
            return float(np.mean(1 - missed ** (others - (of is among))))

        outside = ~member
        within_members = share(member, member)
        within_others = share(outside, outside)
        found = share(member, outside)
        # Twice as often as within either side: copies, whatever the reason for other equal rows.
        if found > 2 * max(within_members, within_others):
            return True
        # The smaller of both directions: a tree may give all members of a leaf, and only few
        # others, the same answer.
        least = min(found, share(outside, member))
        expected = [
            # A small side has few equal rows by chance: three standard errors are added.
            within + (3 * np.sqrt(within * size) + 5) / size
            for within, size in zip((within_members, within_others), sizes, strict=True)
        ]
        return least > 2 * float(np.sqrt(expected[0] * expected[1]))

    def on_both_sides(self, what: str, member: Bools) -> list[str]:
        """Return a warning if members equal non-members, unless equal rows are common anyway."""
        same = number_units(number_with_class(self.rows, self.labels))
        # On average, rows equal another one of their own side: common answers, not copies.
        sides = (member, ~member)
        common = all(checks.n_distinct(same[side]) * 2 < np.count_nonzero(side) for side in sides)
        if common and not self.in_pairs(member):
            return []
        both = int(np.count_nonzero(on_both_sides(same, member) & member))
        if both < max(1, (1 - MATTERS) * np.count_nonzero(member)):
            return []
        return [
            f"{both:,} members equal a non-member in {what}: no attack can tell them "
            f"apart, and attacks look weaker than they are; take them out of one side, or "
            f"{WAY_OUT}"
        ]


def number_with_class(number: NDArray[Any], labels: NDArray[Any]) -> Ints:
    """Return group numbers, (n,): the same for rows equal in number and label."""
    return number_units(number) * (1 + int(labels.max())) + labels.astype(np.int64)


def repeated_rows(number: Ints) -> Bools:
    """Return a mask of rows that share their number with another row, (n,)."""
    _, index, count = np.unique(number, return_inverse=True, return_counts=True)
    several: Bools = count[index] > 1
    return several
