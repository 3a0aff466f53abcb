"""How far the shares of combinations of values are apart in two tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.synthetic.generators.network import combined


@dataclass(frozen=True, eq=False)
class Marginals:
    """Total variation distances between two tables, for sets of k columns."""

    k: int
    """Columns of a set."""
    sets: tuple[tuple[int, ...], ...]
    """Positions of the columns of each set."""
    distances: Floats
    """(number of sets,) In [0, 1]; 0 where all combinations of values have equal shares."""

    def __post_init__(self) -> None:
        found = checks.floats(self.distances, "distances", length=len(self.sets))
        object.__setattr__(self, "distances", found)

    @property
    def mean(self) -> float:
        """The mean over the sets."""
        return float(self.distances.mean())


def column_sets(
    width: int, k: int, most: int, rng: np.random.Generator
) -> tuple[tuple[int, ...], ...]:
    """Return all sets of k of `width` columns, or `most` different ones drawn at random."""
    if math.comb(width, k) <= most:
        return tuple(combinations(range(width), k))
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < most:
        columns = np.sort(rng.choice(width, k, replace=False))
        drawn[tuple(columns.tolist())] = None
    return tuple(drawn)


def marginal_distances(
    one: Ints, other: Ints, sizes: tuple[int, ...], sets: tuple[tuple[int, ...], ...]
) -> Marginals:
    """Return the total variation distance for each set of columns.

    Parameters
    ----------
    one, other : ndarray of int, shape (n, F) and (m, F)
        Codes of two tables.
    sizes : tuple of int, length F
        Codes of each column.
    sets : tuple of tuple of int
        Sets of equally many columns, at least one.

    Notes
    -----
    TV = 1/2 sum over combinations of values of |share in one - share in the other|. Two samples
    of one population are apart too, the farther the smaller they are and the larger k is.
    """
    found = [_distance(one, other, sizes, columns) for columns in sets]
    return Marginals(len(sets[0]), sets, np.array(found))


def _distance(one: Ints, other: Ints, sizes: tuple[int, ...], columns: tuple[int, ...]) -> float:
    keys = [combined(codes, columns, sizes) for codes in (one, other)]
    # Only what occurs is counted: the product of the sizes may be large.
    values, places = np.unique(np.concatenate(keys), return_inverse=True)
    sides = np.split(places, [len(one)])
    shares = [np.bincount(side, minlength=len(values)) / len(side) for side in sides]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())
