"""The games: their settings, the records of each table, and the adversary's knowledge of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
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

    LEAST: ClassVar[Mapping[str, int]] = {
        "shadows": 4, "tests": 4, "records": 2, "made": 1, "auxiliary": 2, "held": 2
    }  # fmt: skip
    """Smallest value of each field."""

    def __post_init__(self) -> None:
        require_at_least(self, **self.LEAST)

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
        # Groups of equal records. NaN does not equal NaN: missing numbers become equal values.
        values = np.where(np.isnan(table.values), np.inf, table.values)
        same = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        if unit is not None:
            # A bipartite graph: each record joins a node of values with a node of a person.
            # Connected records form one group.
            n = int(same.max()) + 1
            joins = np.ones(len(same)), (same, n + unit)
            graph = coo_array(joins, shape=(n + int(unit.max()) + 1,) * 2)
            groups = connected_components(graph, directed=False)[1]
            same = np.asarray(groups[same], np.int64)
        return cls(
            table=table,
            targets=rows,
            sizes=sizes,
            seed=seeds.non_negative(seed),
            identity=same,
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


# The interface of a game: the tables it needs, the records each is made from, and counts.

Make = Callable[[int], Table]
"""Function that makes the synthetic table with a number."""


@dataclass(frozen=True, eq=False)
class Block:
    """Tables of one round of attacks: the adversary's own, and those it is asked about."""

    shadows: slice
    """Numbers of the adversary's own tables."""
    inside: Bools
    """(s,) True where the target was among the records of the adversary's table."""
    released: slice
    """Numbers of the tables that the adversary is asked about."""
    secret: Bools
    """(t,) True where the target was among their records."""


class Game(Protocol):
    """Rule that decides which records each synthetic table is made from. Frozen."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    @property
    def knowledge(self) -> str:
        """The adversary's knowledge beyond the released table."""

    def describe(self) -> Mapping[str, Any]:
        """Return all settings besides `Setting` that affect the result, as JSON values."""
        return {"game": self.name, "knowledge": self.knowledge}

    def check(self, setting: Setting) -> None:
        """Raise on a setting with too few records."""

    def n_tables(self, setting: Setting) -> int:
        """Return the number of synthetic tables."""

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return the labels of a table's random generator, independent of other targets."""

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return the records that a table is made from; `make` makes another table if needed."""

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield the blocks of tables for the target at a position."""

    def known(self, setting: Setting, target: int) -> Table:
        """Return the records that the adversary knows about the target at a position."""

    def record(self, setting: Setting, target: int, block: int) -> Floats:
        """Return the target's record (F,) as the adversary of one of its blocks takes it."""
        return np.asarray(setting.table.values[setting.targets[target]])


def place_of(setting: Setting, number: int) -> tuple[int, str, int]:
    """Return the target of a table, its side ("shadow" or "test"), and its position on that side.

    Where all targets share the tables, the target is 0.
    """
    shadows = setting.sizes.shadows
    target, place = divmod(number, shadows + setting.sizes.tests)
    return (target, "shadow", place) if place < shadows else (target, "test", place - shadows)


def holds_target(setting: Setting, target: int, side: str) -> Bools:
    """Return a mask of the tables that hold the target: half of them, in random order."""
    n = setting.sizes.shadows if side == "shadow" else setting.sizes.tests
    # By row, not position: adding a target changes no other target's draws.
    rng = seeds.stream(setting.seed, "inside", int(setting.targets[target]), side)
    return rng.permutation(np.arange(n) % 2 == 1)


def drawn_beside(setting: Setting, row: Ints, pool: int, rng: np.random.Generator) -> Ints:
    """Draw the rows of a data set from a pool without the target's copies."""
    others = setting.without(setting.pools[pool], row)
    return rng.choice(others, setting.sizes.records, replace=False)


def with_target(
    setting: Setting, rows: Ints, row: Ints, inside: np.bool_, rng: np.random.Generator
) -> Ints:
    """Return the rows, some replaced by the records of the target's person if it is inside."""
    person = setting.of_people(row)
    # Drawn in either case, so that both cases leave the generator in the same state. Consecutive
    # positions from a random one, wrapping around: the rows are shuffled already.
    place = (rng.integers(len(rows)) + np.arange(len(person))) % len(rows)
    if inside:
        rows[place] = person
    return rows


class OneByOne(Game, Protocol):
    """Game with separate tables for each target; the adversary knows a pool of records."""

    def check(self, setting: Setting) -> None:
        """Raise on a setting with too few records."""
        setting.require_room()
        whose = ("that the adversary knows", "for the tables in question")
        # A pool must fill a data set next to any target.
        for target in range(len(setting.targets)):
            row = setting.targets[target : target + 1]
            for pool, named in zip(setting.pools, whose, strict=True):
                setting.require(setting.without(pool, row), setting.sizes.records, named)

    def n_tables(self, setting: Setting) -> int:
        """Return the number of synthetic tables: shadow and test tables for each target."""
        return len(setting.targets) * (setting.sizes.shadows + setting.sizes.tests)

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Draw records from the side's pool; the target is one of them if it is inside."""
        target, side, place = place_of(setting, number)
        rng = seeds.stream(setting.seed, *self.roles(setting, number), "records")
        row = setting.targets[target : target + 1]
        rows = drawn_beside(setting, row, int(side == "test"), rng)
        inside = holds_target(setting, target, side)[place]
        return setting.table[with_target(setting, rows, row=row, inside=inside, rng=rng)]

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield the one block of a target."""
        start = target * (setting.sizes.shadows + setting.sizes.tests)
        middle = start + setting.sizes.shadows
        end = middle + setting.sizes.tests
        inside, secret = (holds_target(setting, target, side) for side in ("shadow", "test"))
        yield Block(slice(start, middle), inside, slice(middle, end), secret)

    def known(self, setting: Setting, target: int) -> Table:
        """Return the adversary's pool without the target's copies."""
        row = setting.targets[target : target + 1]
        return setting.table[setting.without(setting.pools[0], row)]


RECORDS = 1000
"""Default number of training records of a generator, if the table is large enough."""

SHARE = 6
"""Default training sets hold at most one in this many records of the table."""


@dataclass(frozen=True)
class Average(OneByOne):
    """Average game: a fresh data set for every table, with the target or another record.

    The game of Meeus et al. (2023), section 2.3: its results are averages over the data sets that a
    record may be in. The adversary knows records of the same source (auxiliary data).
    """

    name = "average"
    knowledge = "auxiliary"

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return the labels from which a table's random generator is derived."""
        target, side, place = place_of(setting, number)
        return ("average", int(setting.targets[target]), side, place)


@dataclass(frozen=True)
class Specific(OneByOne):
    """One data set per target: only the generator's randomness differs between tables.

    Its results hold for this data set, in which a record may be at risk though the average game
    does not show it (Guepin et al. 2024, "Lost in the Averages"). With exact knowledge the
    adversary has all records of the data set but the one in question, as differential privacy
    assumes; with auxiliary knowledge its own tables are those of the average game.
    """

    knowledge: Literal["exact", "auxiliary"] = "exact"
    """The adversary's knowledge of the other records."""

    name = "specific"

    def __post_init__(self) -> None:
        if self.knowledge not in ("exact", "auxiliary"):
            raise InputError(f"knowledge must be exact or auxiliary, got {self.knowledge!r}")

    def check(self, setting: Setting) -> None:
        """Raise on a setting with too few records."""
        setting.require_room()
        if self.knowledge == "auxiliary":
            super().check(setting)
        for target in range(len(setting.targets)):
            pool = self._pool(setting, target)
            setting.require(pool, setting.sizes.records, "beside the target and its copies")

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return the labels from which a table's random generator is derived."""
        target, side, place = place_of(setting, number)
        return ("specific", self.knowledge, int(setting.targets[target]), side, place)

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return the data set, with the target's records or those that they replace."""
        target, side, place = place_of(setting, number)
        if self.knowledge == "auxiliary" and side == "shadow":
            return super().training_set(setting, number, make)
        rows = self._data_set(setting, target)
        if holds_target(setting, target, side)[place]:
            person = setting.of_people(setting.targets[target : target + 1])
            rows = np.append(rows[: -len(person)], person)
        # Sorted: at the end, the records replaced would stand out by their place.
        return setting.table[np.sort(rows)]

    def known(self, setting: Setting, target: int) -> Table:
        """Return the other records of the data set, or the auxiliary records."""
        if self.knowledge == "auxiliary":
            return super().known(setting, target)
        person = setting.of_people(setting.targets[target : target + 1])
        return setting.table[self._data_set(setting, target)[: -len(person)]]

    def _pool(self, setting: Setting, target: int) -> Ints:
        own = setting.targets[target : target + 1]
        everyone = np.arange(len(setting.table))
        return setting.without(setting.pools[1] if self.knowledge == "auxiliary" else everyone, own)

    def _data_set(self, setting: Setting, target: int) -> Ints:
        """Return the rows of the data set, the last of which the target's person replaces."""
        rng = seeds.stream(setting.seed, "specific", "data", int(setting.targets[target]))
        return rng.choice(self._pool(setting, target), setting.sizes.records, replace=False)


@dataclass(frozen=True)
class Shared(Game):
    """One pool of tables for all targets; a fair coin decides whether each target is in a table.

    A table is made from the targets whose coins put them in, filled up with other records, so that
    all targets are audited for the cost of one. Coins are independent: how many tables hold one
    target says nothing about another.
    """

    name = "shared"
    knowledge = "auxiliary"

    def check(self, setting: Setting) -> None:
        """Raise on a setting with too few records, or too few tables for its coins."""
        n = len(setting.targets)
        records = setting.sizes.records
        # Records per group of equal targets, which share a coin; a coin of c records has variance
        # c^2 / 4.
        sizes = setting.records_of_each[np.unique(setting.first)]
        # Five standard deviations above the mean: one table in three million has more.
        most = min(sizes.sum(), sizes.sum() / 2 + 2.5 * np.sqrt(np.square(sizes).sum()))
        # Without others to fill up, tables hold targets only, in varying numbers.
        if min(map(len, setting.others)) < records:
            setting.require(setting.targets, 20, "among the targets or beside them")
        elif most > records:
            raise InputError(
                f"{n:,} targets, each in with a fair coin, do not fit into {records:,} records: "
                "learn from more records (--size), or choose fewer targets"
            )
        for coins, option in zip(setting.coins, ("--shadows", "--tests"), strict=True):
            if coins.all(axis=0).any() or not coins.any(axis=0).all():
                raise InputError(
                    f"in {len(coins)} tables the coins of a target all fall the same way: make "
                    f"more tables ({option})"
                )

    def n_tables(self, setting: Setting) -> int:
        """Return the number of synthetic tables: shadow and test tables for all targets."""
        return setting.sizes.shadows + setting.sizes.tests

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return the labels from which a table's random generator is derived."""
        _, side, place = place_of(setting, number)
        return ("shared", side, place)

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return the targets whose coins put them in, filled up with others if possible."""
        _, side, place = place_of(setting, number)
        pool = int(side == "test")
        # Of equal targets only one is in, as in the other games.
        alone = setting.first == np.arange(len(setting.targets))
        chosen = setting.of_people(setting.targets[setting.coins[pool][place] & alone])
        if min(map(len, setting.others)) < setting.sizes.records:
            return setting.table[np.sort(chosen)]
        rng = seeds.stream(setting.seed, *self.roles(setting, number), "records")
        n_others = setting.sizes.records - len(chosen)
        others = rng.choice(setting.others[pool], n_others, replace=False)
        return setting.table[np.sort(np.concatenate([chosen, others]))]

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield the one block of a target; all targets share its tables."""
        inside, secret = (coins[:, target] for coins in setting.coins)
        n = setting.sizes.shadows
        yield Block(slice(0, n), inside, slice(n, n + setting.sizes.tests), secret)

    def known(self, setting: Setting, target: int) -> Table:
        """Return the adversary's pool and the other targets, without the target's copies."""
        rows = np.unique(np.concatenate([setting.pools[0], setting.targets]))
        return setting.table[setting.without(rows, setting.targets[target : target + 1])]


@dataclass(frozen=True)
class SyntheticOnly(OneByOne):
    """Average game against an adversary who knows only the released table.

    It makes its own tables from samples of the released table, drawn with replacement, with and
    without the target (Guepin et al. 2023, "Synthetic is all you need"). Every table in question
    gets new ones, so the number of tables is the product of both numbers.
    """

    name = "average"
    knowledge = "synthetic"

    def n_tables(self, setting: Setting) -> int:
        """Return the number of synthetic tables: each test table and its shadow tables."""
        return len(setting.targets) * setting.sizes.tests * (1 + setting.sizes.shadows)

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return the labels from which a table's random generator is derived."""
        block, place = divmod(number, 1 + setting.sizes.shadows)
        target, test = divmod(block, setting.sizes.tests)
        row = int(setting.targets[target])
        # The tables in question are those of the average game, with the same random generators.
        if place == 0:
            return ("average", row, "test", test)
        return ("synthetic only", row, test, place - 1)

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return records sampled from a released table, or the data set that it was made from."""
        block, place = divmod(number, 1 + setting.sizes.shadows)
        target, test = divmod(block, setting.sizes.tests)
        roles = self.roles(setting, number)
        rng = seeds.stream(setting.seed, *roles, "records")
        row = setting.targets[target : target + 1]
        if place == 0:
            rows = drawn_beside(setting, row, 1, rng)
            secret = holds_target(setting, target, "test")[test]
            return setting.table[with_target(setting, rows, row=row, inside=secret, rng=rng)]
        # Tables are laid out as one in question, then its shadows: this is the number of the
        # former.
        released = make(number - place)
        values = released.values[rng.integers(len(released), size=setting.sizes.records)].copy()
        if holds_target(setting, target, "shadow")[place - 1]:
            person = setting.of_people(row)
            # Consecutive positions from a random one, as in the tables in question.
            place_in = (rng.integers(len(values)) + np.arange(len(person))) % len(values)
            values[place_in] = setting.table.values[person]
        return Table(setting.table.schema, values)

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield one block per table in question."""
        shadows = setting.sizes.shadows
        tests = setting.sizes.tests
        inside, secret = (holds_target(setting, target, side) for side in ("shadow", "test"))
        for test in range(tests):
            start = (target * tests + test) * (1 + shadows)
            own = slice(start + 1, start + 1 + shadows)
            yield Block(own, inside, slice(start, start + 1), secret[test : test + 1])

    def known(self, setting: Setting, target: int) -> Table:
        """Return a table without rows: no record is known."""
        return Table(setting.table.schema, np.empty((0, len(setting.table.schema.columns))))


GAMES: Mapping[tuple[str, str], Game] = {
    (game.name, game.knowledge): game
    for game in (Average(), SyntheticOnly(), Specific("exact"), Specific("auxiliary"), Shared())
}
"""Games by name and knowledge."""


def game_named(name: str, knowledge: str | None = None) -> Game:
    """Return a game by its name and by the adversary's knowledge.

    Parameters
    ----------
    name : {"average", "specific", "shared"}
    knowledge : {"auxiliary", "exact", "synthetic"}, optional
        The adversary's knowledge; by default exact in the specific game, otherwise auxiliary.
    """
    there = [known for game, known in GAMES if game == name]
    if not there:
        names = checks.short_list(dict.fromkeys(game for game, _ in GAMES))
        raise InputError(f"the game must be one of {names}, got {name!r}")
    if knowledge is not None and knowledge not in there:
        raise InputError(
            f"in the {name} game knowledge must be one of {checks.short_list(there)}, got "
            f"{knowledge!r}"
        )
    return GAMES[name, knowledge or there[0]]
