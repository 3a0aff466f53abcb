"""Distance between two records (Meeus et al. 2023, equations 1 to 6), exact and approximate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from privacygauge.core.checks import Floats, Ints, frozen
from privacygauge.errors import InputError
from privacygauge.tables.table import Table

Columns = Iterable[tuple[Floats, Floats]]
"""Coordinates of one record and of the other, column by column, of shapes that broadcast."""


class Distance(Protocol):
    """Distance between records with a categorical and a numeric part."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    @property
    def title(self) -> str:
        """Name with parameters, as reports print it."""

    def coordinates(self, scaled: Floats) -> Floats:
        """Return the coordinates (n, L) for `of_numbers`, from numbers scaled to [0, 1]."""

    def of_categories(self, mismatches: Ints, n_columns: int) -> Floats:
        """Return the distance of the categorical parts, from the number of columns that differ."""

    def of_numbers(self, a: Floats, b: Floats) -> Floats:
        """Return the distance of the numeric parts, over the last axis of their coordinates."""

    def of_columns(self, columns: Columns) -> Floats:
        """Return the same distance from coordinates given column by column, at least one."""


@dataclass(frozen=True)
class Cosine:
    """One minus the cosine, of the one-hot categories and of the scaled numbers (equation 5).

    The cosine of one-hot categories is the share of columns that agree. The cosine of numbers
    compares directions, not lengths: (0.1, 0.2) and (0.2, 0.4) are at distance 0, so a single
    column of numbers only distinguishes its minimum from all other values. The paper leaves open
    the cosine with a vector of zeros (every number the minimum of its column): here two such
    vectors are equal, and at distance 1 from any other.
    """

    name = "cosine"
    # There are no parameters to add to the name.
    title = name

    def coordinates(self, scaled: Floats) -> Floats:
        """Return unit vectors, with one more axis for zero vectors if there are any."""
        # Divided by the largest number first: squares of tiny numbers would underflow.
        largest = scaled.max(axis=1, keepdims=True, initial=0.0)
        zero = largest == 0.0
        scaled = scaled / np.where(zero, 1.0, largest)
        unit = scaled / np.where(zero, 1.0, np.linalg.norm(scaled, axis=1, keepdims=True))
        return np.hstack([unit, zero]) if zero.any() else np.asarray(unit)

    def of_categories(self, mismatches: Ints, n_columns: int) -> Floats:
        """Return the share of columns that differ."""
        return np.asarray(mismatches, np.float64) / max(n_columns, 1)

    def of_numbers(self, a: Floats, b: Floats) -> Floats:
        """Return one minus the cosine of unit vectors, without cancellation."""
        # |a - b|^2 / 2 = 1 - a . b for unit vectors, and accurate where a . b is near 1.
        difference = a - b
        return np.asarray(0.5 * np.einsum("...l,...l->...", difference, difference))

    def of_columns(self, columns: Columns) -> Floats:
        """Return one minus the cosine of unit vectors given column by column."""
        total = _powers(columns, 2)
        total *= 0.5
        return total


@dataclass(frozen=True)
class Minkowski:
    """The p-norm of the difference, of the one-hot categories and of the numbers (equation 6).

    Raises
    ------
    InputError
        If p is not 1, 2, 3 or 4.
    """

    p: int = 2
    """Order of the norm: 1, 2, 3 or 4."""

    def __post_init__(self) -> None:
        if self.p not in (1, 2, 3, 4):
            raise InputError(f"p must be 1, 2, 3 or 4, got {self.p}")

    name = "minkowski"

    @property
    def title(self) -> str:
        """Name with p."""
        return f"{self.name}, p = {self.p}"

    def coordinates(self, scaled: Floats) -> Floats:
        """Return the scaled numbers unchanged."""
        return scaled

    def of_categories(self, mismatches: Ints, n_columns: int) -> Floats:
        """Return the norm; a column that differs counts in two places of the one-hot vector."""
        return np.asarray((2.0 * np.asarray(mismatches, np.float64)) ** (1.0 / self.p))

    def of_numbers(self, a: Floats, b: Floats) -> Floats:
        """Return the norm of the difference."""
        powers = np.abs(a - b) ** self.p
        return np.asarray(powers.sum(axis=-1) ** (1.0 / self.p))

    def of_columns(self, columns: Columns) -> Floats:
        """Return the norm of differences given column by column."""
        total = _powers(columns, self.p)
        take_root(total, self.p)
        return total


def _powers(columns: Columns, p: int) -> Floats:
    """Sum powers of differences column by column, so that the sum stays in the cache."""
    rest = iter(columns)
    total = np.subtract(*next(rest))
    raise_to(total, p)
    gap = np.empty_like(total)
    for a, b in rest:
        np.subtract(a, b, out=gap)
        raise_to(gap, p)
        total += gap
    return total


def raise_to(gap: NDArray[Any], p: int) -> None:
    """Raise the absolute values of differences to the power 1, 2, 3 or 4, in place."""
    if p % 2:
        np.abs(gap, out=gap)
    if p == 3:
        gap *= gap * gap
    # Squared once for p = 2, twice for p = 4; by multiplication, which is far faster than a power.
    for _ in range(p // 2 if p != 3 else 0):
        gap *= gap


def take_root(total: NDArray[Any], p: int) -> None:
    """Take the root of order 1, 2, 3 or 4, in place."""
    if p == 3:
        np.cbrt(total, out=total)
    for _ in range(p // 2 if p != 3 else 0):
        np.sqrt(total, out=total)


def written_distance(name: str, p: int | None = None) -> Distance:
    """Parse a distance: ``cosine``, or ``minkowski`` of order p (2 by default).

    Raises
    ------
    InputError
        If there is no such distance, or the cosine is given a p.
    """
    if name == "minkowski":
        return Minkowski(2 if p is None else p)
    if name != "cosine":
        raise InputError(f"--distance must be cosine or minkowski, got {name!r}")
    if p is not None:
        raise InputError(f"--p {p} goes with --distance minkowski only: the cosine has no p")
    return Cosine()


@dataclass(frozen=True, eq=False)
class Space:
    """Records as points of a metric space."""

    distance: Distance
    """Distance measure of both parts."""
    codes: Ints
    """(n, F_cat) Category codes."""
    sizes: tuple[int, ...]
    """(F_cat,) Number of codes of each column."""
    numbers: Floats
    """(n, L) Coordinates of the numeric part."""
    steps: Floats
    """(F_cat + 1,) Weighted distance of records that differ only in 0, 1, ... categories."""
    share: float
    """Weight of the numbers, F_cont / F."""

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Ints) -> Space:
        codes = self.codes[rows]
        numbers = self.numbers[rows]
        return Space(
            distance=self.distance,
            codes=codes,
            sizes=self.sizes,
            numbers=numbers,
            steps=self.steps,
            share=self.share,
        )

    def between(self, i: Ints, j: Ints) -> Floats:
        """Return the distances between points i and j, pair by pair."""
        mismatches = np.count_nonzero(self.codes[i] != self.codes[j], axis=-1)
        found = self.steps[mismatches]
        if self.share:
            found = found + self.share * self.distance.of_numbers(self.numbers[i], self.numbers[j])
        return np.asarray(found)


def space_of(table: Table, distance: Distance) -> Space:
    """Return a table's records as points.

    Numbers are scaled to [0, 1] over the table (equation 3); a constant column becomes 0. A missing
    number is 0 in its column and 1 in an indicator column, so that it equals other missing numbers
    and differs from every number.
    """
    n_columns = table.values.shape[1]
    n_cat = len(table.schema.categorical)
    codes = table.codes
    sizes = table.sizes
    numbers = distance.coordinates(scale_columns(table.numbers))
    if isinstance(distance, Cosine) and n_columns - n_cat == 1:
        # A single number is positive, zero or missing: a category, whose distances are found by
        # counting.
        codes = np.column_stack([codes, numbers.argmax(axis=1)])
        sizes = (*sizes, numbers.shape[1])
        numbers = numbers[:, :0]
        n_cat = n_columns
    # Distances by the number of mismatches, weighted by the share of categorical columns (equation
    # 1).
    counts = np.arange(n_cat + 1)
    return Space(
        distance=distance,
        codes=frozen(codes),
        sizes=sizes,
        numbers=frozen(numbers),
        steps=frozen(n_cat / n_columns * distance.of_categories(counts, n_cat)),
        share=(n_columns - n_cat) / n_columns,
    )


def scale_columns(numbers: Floats) -> Floats:
    """Scale each column from its minimum, 0, to its maximum, 1; add indicators of missing values.

    Parameters
    ----------
    numbers : ndarray, shape (n, F_cont)
        Numbers, NaN where missing.

    Returns
    -------
    ndarray, shape (n, F_cont + m)
        Scaled numbers, then a 0/1 column for each of the m columns with missing numbers.
    """
    if not numbers.size:
        return numbers
    missing = np.isnan(numbers)
    # Halves, since the range of the largest numbers overflows.
    halves = np.where(missing, np.nan, numbers / 2)
    low = np.where(missing, np.inf, halves).min(axis=0)
    width = np.where(missing, -np.inf, halves).max(axis=0) - low
    inside = np.where(missing | (width <= 0), 0.0, (halves - low) / np.where(width > 0, width, 1.0))
    return np.hstack([inside, missing[:, missing.any(axis=0)].astype(np.float64)])


# Approximate distances of records to all others, in single precision with an error bound.

Singles = NDArray[np.float32]

_CACHED = 2**18
"""Numbers that stay in the cache: 1 MB."""
_FEW = 64
"""Largest column stored whole; in larger ones, codes of fewer than one in this many points are
rare."""
_UNIT = 2.0**-24
"""Largest relative error of rounding to single precision."""


@dataclass(frozen=True, eq=False)
class _Products:
    """Distances that are one inner product: those of categories, and the cosine."""

    points: Singles
    """(n + padding, D) Points, of which the inner products are taken."""
    n: int
    """Number of points."""
    offset: float
    """Offset added to minus the products."""
    width: int
    """Divisor of the number of columns of the result."""
    error: np.float32
    """Error bound of each distance."""
    rare: csr_array
    """(n, R) Roots of weights where a point has a rare code; their products are subtracted too."""

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
    """Number of categories that differ."""
    numbers: Singles
    """(L, n + padding) Coordinates."""
    share: float
    """Weight of the numbers."""
    p: int
    """Order of the norm."""
    width: int
    """Divisor of the number of columns of the result."""
    error: np.float32
    """Error bound of each distance."""

    def distances(self, rows: Ints) -> Singles:
        """Return (r, n + padding) distances to all points, infinite in the padding."""
        n_columns = self.numbers.shape[1]
        found = self.mismatches.distances(rows)
        # The padding is 0 during the computation: an infinity would turn into NaN.
        found[:, self.mismatches.n :] = 0
        # A few rows at a time, so that the arrays stay in the cache, which is several times faster.
        n_rows = max(1, _CACHED // n_columns)
        total = np.empty((n_rows, n_columns), dtype=np.float32)
        gap = np.empty_like(total)
        for begin in range(0, len(rows), n_rows):
            some = rows[begin : begin + n_rows]
            numbers = total[: len(some)]
            numbers[:] = 0
            for column in self.numbers:
                np.subtract(column[some][:, None], column, out=gap[: len(some)])
                raise_to(gap[: len(some)], self.p)
                numbers += gap[: len(some)]
            take_root(numbers, self.p)
            numbers *= np.float32(self.share)
            # 2 m: each mismatch counts in two places of the one-hot vectors.
            part = found[begin : begin + n_rows]
            part *= np.float32(2)
            take_root(part, self.p)
            part *= np.float32(1 - self.share)
            part += numbers
        found[:, self.mismatches.n :] = np.inf
        return found


Rough = _Products | _Norms
"""Approximate distances; their error bounds the difference from the exact ones."""


def rough_of(space: Space, width: int) -> Rough:
    """Return approximate distances between all points of a space.

    The columns of the distances, n and a padding, are a multiple of `width`.
    Without numbers they are the exact numbers of categorical columns that differ.
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
        # At most n_cat + length terms are above zero, none below, and their sum is at most 1.
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
    # Coordinates in [0, 1] are off by one rounding unit. A norm changes by no more than the norm of
    # the change, at most L units, twice; its terms, sum and root lose at most L + 8 units of a norm
    # of at most L. The weighted sum comes last. Fourth powers of numbers below 1e-9 underflow,
    # which is less than a unit.
    length = space.numbers.shape[1]
    units = length * (length + 12) + 8 * float(space.steps[-1]) + 4
    error = np.float32(float(units * _UNIT))
    columns = np.ascontiguousarray(numbers.T)
    return _Norms(
        mismatches=matches,
        numbers=columns,
        share=space.share,
        p=space.distance.p,
        width=width,
        error=error,
    )


def _one_hot(
    space: Space, n_rows: int, further: int = 0, one: float = 1.0
) -> tuple[Singles, csr_array]:
    """Return one-hot codes (n_rows, C + further), and sparse ones of rare codes (n, R).

    In a column with many codes, those of few points are rare: stored sparsely, they take no more
    memory than there are points, and few pairs of points share one. Further columns are zeros.
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
    # Block by block in memory order.
    step = max(1, _CACHED // max(1, len(small)))
    for begin in range(0, n, step):
        some = np.arange(begin, min(begin + step, n))
        frequent[some[:, None], begins + space.codes[some[:, None], small]] = one
    for rows, place in places:
        frequent[rows, place] = one
    return frequent, csr_array(hstack(rare))
