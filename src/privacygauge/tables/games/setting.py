"""The setting of a privacy game: a table, its targets, and numbers and sizes of tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.release import coin_flips
from privacygauge.errors import InputError
from privacygauge.evaluate.detectable import smallest_auc
from privacygauge.tables.table import Table, require_at_least

HALF_WIDTH = 0.05
"""Default half-width of the interval of an AUC near 1/2, if no number of test tables is given."""


@dataclass(frozen=True)
class Sizes:
    """Numbers of tables and of their records."""

    shadows: int = 1000
    """The adversary's own tables, per target or for all targets; at least 4."""
    tests: int = 512
    """Tables that the adversary is asked about, per target or for all targets; at least 4."""
    records: int = 1000
    """Training records of a generator, at least 2."""
    made: int | None = None
    """Records of a synthetic table, at least 1; by default as many as it is trained on."""
    auxiliary: int = 10_000
    """Most records that the adversary knows, at least 2."""
    held: int = 5_000
    """Most records that the tables in question are made from, none of them known to the adversary;
    at least 2."""

    @property
    def least(self) -> Mapping[str, int]:
        """Smallest value of each field."""
        return {"shadows": 4, "tests": 4, "records": 2, "made": 1, "auxiliary": 2, "held": 2}

    def __post_init__(self) -> None:
        require_at_least(self, **self.least)

    @property
    def n_made(self) -> int:
        """Records of a synthetic table."""
        return self.records if self.made is None else self.made

    def smallest_auc(self, level: float = 0.95) -> float | None:
        """Return the smallest AUC of a record that this many test tables would mostly show.

        Half of them hold the record: see `evaluate.detectable.smallest_auc`.
        """
        return smallest_auc(self.tests // 2, self.tests - self.tests // 2, level)


def enough_tests(half_width: float = HALF_WIDTH, level: float = 0.95) -> int:
    """Return the fewest test tables that give an AUC an interval of at most this half-width.

    Parameters
    ----------
    half_width : float
        Half of the interval's width, in (0, 0.5).
    level : float
        Level of the interval, in (0, 1).

    Returns
    -------
    int
        Even number, for an AUC of 1/2, where the interval is widest: the variance with T/2 tables
        on either side is (T + 1) / (3 T^2) (Mann & Whitney 1947).
    """
    if not 0.0 < half_width < 0.5:
        raise InputError(f"half_width must be in (0, 0.5), got {half_width}")
    z = float(ndtri(0.5 + checks.level(level) / 2))
    # (T + 1) / (3 T^2) = (h / z)^2, solved for T.
    variance = 3 * (half_width / z) ** 2
    tests = (1 + math.sqrt(1 + 4 * variance)) / (2 * variance)
    return 2 * math.ceil(tests / 2)


@dataclass(frozen=True, eq=False)
class Setting:
    """A table, its targets, the sizes, and the seed of all draws."""

    table: Table
    """All records."""
    targets: Ints
    """(r,) Distinct rows of the table."""
    sizes: Sizes
    """Numbers of tables and records."""
    seed: int
    """Seed of all draws."""
    identity: Ints
    """(N,) Number of each record's group, shared by equal records and by those of one person."""
    unit: Ints | None = None
    """(N,) Person behind each record; None if every record is of another person."""

    @classmethod
    def of(
        cls, table: Table, targets: Ints, sizes: Sizes, seed: int, unit: Ints | None = None
    ) -> Setting:
        """Return a checked setting; `unit` (N,) names the person behind each record.

        Raises
        ------
        InputError
            If a target is not a row of the table, or is named twice.
        """
        rows = checks.integers(targets, "targets")
        if not len(rows):
            raise InputError("targets must name at least one record, got none")
        outside = rows[(rows < 0) | (rows >= len(table))]
        if len(outside):
            raise InputError(
                f"targets must lie in 0..{len(table) - 1}, the rows of the table, got {outside[0]}"
            )
        if len(np.unique(rows)) < len(rows):
            raise InputError("targets must differ, got one of them twice")
        return cls(
            table=table,
            targets=rows,
            sizes=sizes,
            seed=seeds.non_negative(seed),
            identity=_identities(table, unit),
            unit=unit,
        )

    @cached_property
    def pools(self) -> tuple[Ints, Ints]:
        """Rows known to the adversary, and rows of the tables in question, disjoint."""
        order = seeds.stream(self.seed, "synthetic", "pools").permutation(len(self.table))
        # The adversary knows two thirds of a small table, so that a third is left for the others.
        known = min(self.sizes.auxiliary, 2 * len(order) // 3)
        held = min(self.sizes.held, len(order) - known)
        return order[:known], order[known : known + held]

    @cached_property
    def others(self) -> tuple[Ints, Ints]:
        """Both pools without the targets and their copies."""
        known, held = self.pools
        return self.without(known, self.targets), self.without(held, self.targets)

    @cached_property
    def coins(self) -> tuple[Bools, Bools]:
        """(s, r) and (t, r) Fair coins: True where a target is in a shadow or test table.

        Equal records share one coin: a table without one of them must not hold its copy.
        """
        n_tables = (self.sizes.shadows, self.sizes.tests)
        own, asked = (
            coin_flips(n, len(self.targets), seeds.stream(self.seed, "shared", side))
            for n, side in zip(n_tables, ("shadow", "test"), strict=True)
        )
        return own[:, self.first], asked[:, self.first]

    @cached_property
    def first(self) -> Ints:
        """(r,) Position of the first target that equals each target."""
        _, first, which = np.unique(
            self.identity[self.targets], return_index=True, return_inverse=True
        )
        return first[which].astype(np.int64)

    def without(self, rows: Ints, targets: Ints) -> Ints:
        """Return the rows that are not copies of the targets."""
        return rows[~np.isin(self.identity[rows], self.identity[targets])]

    def of_people(self, rows: Ints) -> Ints:
        """Return all records of the people behind these rows; a person is in or out as a whole."""
        if self.unit is None:
            return rows
        return np.flatnonzero(np.isin(self.unit, self.unit[rows]))

    @property
    def records_of_each(self) -> Ints:
        """(r,) Number of records of each target's person."""
        if self.unit is None:
            return np.ones(len(self.targets), np.int64)
        return np.bincount(self.unit)[self.unit[self.targets]]

    def require_room(self) -> None:
        """Raise if a target's person has more records than a generator is trained on."""
        most = self.records_of_each.max()
        if most > self.sizes.records:
            raise InputError(
                f"a target's person has {most:,} records, and a generator learns from "
                f"{self.sizes.records:,}: learn from more (--size), or choose other targets"
            )

    def require(self, pool: Ints, needed: int, whose: str) -> None:
        """Raise if a game has fewer records than it needs."""
        if len(pool) < needed:
            raise InputError(
                f"the game needs {needed:,} records {whose}, and there are {len(pool):,} of the "
                f"table's {len(self.table):,}: learn from fewer records (--size), or give a larger "
                "table"
            )


def _identities(table: Table, unit: Ints | None) -> Ints:
    # NaN does not equal NaN: missing numbers become equal values.
    values = np.where(np.isnan(table.values), np.inf, table.values)
    same = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if unit is None:
        return same
    # A bipartite graph: each record joins a node of values with a node of a person. Connected
    # records form one group.
    n = int(same.max()) + 1
    joins = np.ones(len(same)), (same, n + unit)
    graph = coo_array(joins, shape=(n + int(unit.max()) + 1,) * 2)
    return np.asarray(connected_components(graph, directed=False)[1][same], np.int64)
