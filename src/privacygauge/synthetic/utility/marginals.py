"""How far shares of combinations of values are apart in two tables, and how columns depend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import rankdata

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.synthetic.generators.network import combined
from privacygauge.synthetic.released.tables import filled
from privacygauge.synthetic.table import Table


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


def associations(table: Table) -> Floats:
    """Return the association of every pair of columns, (F, F), symmetric, 1 on the diagonal.

    Of two columns of numbers the correlation of the ranks, in [-1, 1] (Spearman; a missing
    number ranks below all others). Of two categorical columns Cramér's V, in [0, 1], without a
    correction of its bias. Of one of each the correlation ratio of the ranks, in [0, 1]: the
    root of the share of their variance that lies between the categories. A constant column is
    associated with none.
    """
    values = filled(table)
    width = values.shape[1]
    numbers = [column.is_number for column in table.schema.columns]
    ranks = np.column_stack([_standard(rankdata(column)) for column in values.T])
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in values.T])
    found = np.eye(width)
    for i in range(width):
        for j in range(i):
            if numbers[i] and numbers[j]:
                value = float(np.mean(ranks[:, i] * ranks[:, j]))
            elif numbers[i] or numbers[j]:
                number, category = (i, j) if numbers[i] else (j, i)
                value = _correlation_ratio(ranks[:, number], codes[:, category])
            else:
                value = _cramers_v(codes[:, i], codes[:, j])
            found[i, j] = found[j, i] = value
    return found


def _standard(ranks: Floats) -> Floats:
    spread = ranks.std()
    return np.zeros(len(ranks)) if spread == 0 else np.asarray((ranks - ranks.mean()) / spread)


def _correlation_ratio(standard: Floats, codes: Ints) -> float:
    counts = np.bincount(codes)
    sums = np.bincount(codes, standard)
    return float(np.sqrt(min(1.0, np.sum(sums**2 / counts) / len(codes))))


def _cramers_v(one: Ints, other: Ints) -> float:
    rows, columns = int(one.max()) + 1, int(other.max()) + 1
    if min(rows, columns) < 2:
        return 0.0
    # Only pairs that occur: of two columns of names there are more pairs than fit into memory.
    pairs, counts = np.unique(one * columns + other, return_counts=True)
    # chi^2 / n without expected counts: the sum of n_ij^2 / (n_i n_j), less one.
    sides = np.bincount(one)[pairs // columns] * np.bincount(other)[pairs % columns]
    square = float(np.sum(counts / sides * counts)) - 1.0
    return float(np.sqrt(min(1.0, max(0.0, square) / (min(rows, columns) - 1))))
