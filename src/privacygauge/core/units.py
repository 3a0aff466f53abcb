"""Units: the people behind rows, which are protected and statistically independent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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


def join_units(one: Ints, other: Ints) -> Ints:
    """Return the finest units that contain every unit of both numberings, (n,)."""
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
