"""Approximate distances of records to all others, in single precision with an error bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from privacygauge.core.checks import Ints
from privacygauge.errors import InputError
from privacygauge.synthetic.distance import Cosine, Minkowski, Space, raise_to, take_root

Singles = NDArray[np.float32]

_CACHED = 2**18
"""Numbers that stay in the cache: 1 MB."""
_FEW = 64
"""A code of a larger column is rare where fewer than one in this many points have it."""
_UNIT = 2.0**-24
"""Largest relative error of rounding to single precision."""


class Rough(Protocol):
    """Approximate distances, up to a constant."""

    @property
    def width(self) -> int:
        """Divisor of the number of columns."""

    @property
    def error(self) -> np.float32:
        """Bound on the distance from the exact values."""

    def distances(self, rows: Ints) -> Singles:
        """Return (r, n + padding) distances to all points, infinite in the padding."""


@dataclass(frozen=True, eq=False)
class _Products:
    """Distances that are one inner product: those of categories, and the cosine."""

    points: Singles
    """(n + padding, D) Points to multiply."""
    n: int
    """Number of points."""
    offset: float
    """Offset added to the products."""
    width: int
    """Divisor of the number of columns."""
    error: np.float32
    """Error bound of every distance."""
    rare: csr_array
    """(n, R) Roots of weights where a point has a rare code; their product is subtracted, too."""

    def distances(self, rows: Ints) -> Singles:
        """Return (r, n + padding) distances to all points, infinite in the padding."""
        found: Singles = -self.points[rows] @ self.points.T
        if self.rare.nnz:
            shared = (self.rare[rows] @ self.rare.T).tocoo()
            found[shared.row, shared.col] -= shared.data
        if self.offset:
            found += np.float32(self.offset)
        found[:, self.n :] = np.inf
        return found


@dataclass(frozen=True, eq=False)
class _Norms:
    """Distances of categories as a product, and of numbers column by column."""

    mismatches: _Products
    """Numbers of categories that differ."""
    numbers: Singles
    """(L, n + padding) Coordinates."""
    share: float
    """Weight of the numbers."""
    p: int
    """Order p of the norm."""
    error: np.float32
    """Error bound of every distance."""

    @property
    def width(self) -> int:
        """Divisor of the number of columns."""
        return self.mismatches.width

    def distances(self, rows: Ints) -> Singles:
        """Return (r, n + padding) distances to all points, infinite in the padding."""
        n_columns = self.numbers.shape[1]
        found = self.mismatches.distances(rows)
        found[:, self.mismatches.n :] = 0
        # A few rows at a time stay in the cache, which is several times faster.
        n_rows = max(1, _CACHED // n_columns)
        total = np.empty((n_rows, n_columns), dtype=np.float32)
        gap = np.empty_like(total)
        for begin in range(0, len(rows), n_rows):
            some = rows[begin : begin + n_rows]
            self._add(found[begin : begin + n_rows], some, total[: len(some)], gap[: len(some)])
        found[:, self.mismatches.n :] = np.inf
        return found

    def _add(self, found: Singles, rows: Ints, total: Singles, gap: Singles) -> None:
        """Turn numbers of mismatches into distances, in place."""
        total[:] = 0
        for column in self.numbers:
            np.subtract(column[rows][:, None], column, out=gap)
            raise_to(gap, self.p)
            total += gap
        take_root(total, self.p)
        total *= np.float32(self.share)
        found *= np.float32(2)
        take_root(found, self.p)
        found *= np.float32(1 - self.share)
        found += total


def rough_of(space: Space, width: int) -> Rough:
    """Return approximate distances between all points of a space.

    Those of categories alone are numbers of columns that differ, and exact.
    """
    n, n_cat = space.codes.shape
    padding = -n % width
    if isinstance(space.distance, Cosine) and space.share:
        # Weighted unit vectors side by side: the whole similarity is one inner product.
        in_f = float(np.sqrt(space.steps[1])) if n_cat else 1.0
        length = space.numbers.shape[1]
        both, rare = _one_hot(space, n + padding, length, in_f)
        np.multiply(
            space.numbers, np.sqrt(space.share), out=both[:n, -length:], casting="same_kind"
        )
        # At most n_cat + length terms are above zero, none is below, and their sum is 1.
        error = np.float32((n_cat + length + 8) * _UNIT)
        return _Products(points=both, n=n, offset=0.0, width=width, error=error, rare=rare)
    points, rare = _one_hot(space, n + padding)
    matches = _Products(
        points=points, n=n, offset=float(n_cat), width=width, error=np.float32(0), rare=rare
    )
    if space.share == 0.0:
        return matches
    if not isinstance(space.distance, Minkowski):
        raise InputError(f"distance must be Cosine or Minkowski, got {space.distance.name}")
    numbers = np.pad(space.numbers.astype(np.float32), ((0, padding), (0, 0)))
    # Coordinates in [0, 1] are off by a unit of rounding. A norm changes by no more than the norm
    # of the change, at most L units twice; its terms, sum and root lose at most L + 8 units of a
    # norm of at most L. Then comes the weighted sum. Fourth powers of numbers below 1e-9 vanish,
    # which is less than a unit.
    length = space.numbers.shape[1]
    units = length * (length + 12) + 8 * float(space.steps[-1]) + 4
    error = np.float32(float(units * _UNIT))
    columns = np.ascontiguousarray(numbers.T)
    return _Norms(
        mismatches=matches, numbers=columns, share=space.share, p=space.distance.p, error=error
    )


def _one_hot(
    space: Space, n_rows: int, further: int = 0, one: float = 1.0
) -> tuple[Singles, csr_array]:
    """Return one-hot codes (n_rows, C + further), and the same of rare codes (n, R).

    In a column of many codes those that few points have are rare: their ones take no more memory
    than there are points, and few pairs of points share one. Further columns are zeros.
    """
    n = len(space)
    sizes = np.array(space.sizes, dtype=np.int64)
    small = np.flatnonzero(sizes <= _FEW)
    begins = np.cumsum(sizes[small]) - sizes[small]
    width = int(sizes[small].sum())
    places = []
    rare = [csr_array((n, 1), dtype=np.float32)]
    for j in np.flatnonzero(sizes > _FEW):
        codes = space.codes[:, j]
        often = np.bincount(codes, minlength=sizes[j]) > n / _FEW
        place = width + np.cumsum(often) - 1
        width += int(often.sum())
        rows = np.flatnonzero(often[codes])
        places.append((rows, place[codes[rows]]))
        seldom = np.flatnonzero(~often[codes])
        ones = np.full(len(seldom), one, dtype=np.float32)
        rare.append(csr_array((ones, (seldom, codes[seldom])), shape=(n, space.sizes[j])))
    frequent = np.zeros((n_rows, width + further), dtype=np.float32)
    # A row after the other, as they lie in memory.
    step = max(1, _CACHED // max(1, len(small)))
    for begin in range(0, n, step):
        some = np.arange(begin, min(begin + step, n))
        frequent[some[:, None], begins + space.codes[some[:, None], small]] = one
    for rows, place in places:
        frequent[rows, place] = one
    return frequent, csr_array(hstack(rare))
