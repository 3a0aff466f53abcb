"""The interface of a game: the tables it needs, the records each is made from, and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.synthetic.games.setting import Setting
from privacygauge.synthetic.table import Table

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
        """Return all settings that the result depends on besides `Setting`, as JSON values."""
        return {"game": self.name, "knowledge": self.knowledge}

    def check(self, setting: Setting) -> None:
        """Refuse a setting with too few records."""

    def n_tables(self, setting: Setting) -> int:
        """Return the number of synthetic tables."""

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return the labels of a table's random generator; they depend on no other target."""

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return the records that a table is made from; `make` makes a further table."""

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield the blocks of tables for the target at a position."""

    def known(self, setting: Setting, target: int) -> Table:
        """Return the records that the adversary knows about the target at a position."""


def fills(setting: Setting) -> bool:
    """Return whether other records can fill every table of a shared pool to its size."""
    return min(len(pool) for pool in setting.others) >= setting.sizes.records


def tables_a_target(setting: Setting) -> int:
    """Return the number of tables per target where none are shared."""
    return setting.sizes.shadows + setting.sizes.tests


def side_of(setting: Setting, number: int) -> tuple[str, int]:
    """Return whether a table is the adversary's own or in question, and its position there."""
    shadows = setting.sizes.shadows
    return ("shadow", number) if number < shadows else ("test", number - shadows)


def place_of(setting: Setting, number: int) -> tuple[int, str, int]:
    """Return the target of a table, and `side_of` for its position among the target's tables."""
    target, place = divmod(number, tables_a_target(setting))
    return (target, *side_of(setting, place))


def holds_target(setting: Setting, target: int, side: str) -> Bools:
    """Return which tables contain the target: half of them, in random order."""
    n = setting.sizes.shadows if side == "shadow" else setting.sizes.tests
    rng = seeds.stream(setting.seed, "inside", int(setting.targets[target]), side)
    return rng.permutation(np.arange(n) % 2 == 1)


def drawn_beside(setting: Setting, row: Ints, pool: int, rng: np.random.Generator) -> Ints:
    """Draw the rows of a data set from a pool without the target's copies."""
    others = setting.without(setting.pools[pool], row)
    return rng.choice(others, setting.sizes.records, replace=False)


def with_target(
    setting: Setting, rows: Ints, row: Ints, inside: np.bool_, rng: np.random.Generator
) -> Ints:
    """Return the rows; if the target is in, it and its person's records replace some of them."""
    place = places_of(person := setting.of_people(row), len(rows), rng)
    if inside:
        rows[place] = person
    return rows


def places_of(person: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Return the positions among n shuffled rows that a person's records replace."""
    return np.asarray((rng.integers(n) + np.arange(len(person))) % n)


def require_pools(setting: Setting) -> None:
    """Refuse pools that are too small for a data set beside any target."""
    setting.require_room()
    whose = ("that the adversary knows", "for the tables in question")
    for target in range(len(setting.targets)):
        row = setting.targets[target : target + 1]
        for pool, named in zip(setting.pools, whose, strict=True):
            setting.require(setting.without(pool, row), setting.sizes.records, named)


class OneByOne(Game, Protocol):
    """Game with separate tables for each target; the adversary knows a pool of records."""

    def check(self, setting: Setting) -> None:
        """Refuse a setting with too few records."""
        require_pools(setting)

    def n_tables(self, setting: Setting) -> int:
        """Return the number of synthetic tables: shadows and tests for each target."""
        return len(setting.targets) * tables_a_target(setting)

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Draw records from the pool of their side, one of them the target if it is in."""
        target, side, place = place_of(setting, number)
        rng = seeds.stream(setting.seed, *self.roles(setting, number), "records")
        row = setting.targets[target : target + 1]
        rows = drawn_beside(setting, row, int(side == "test"), rng)
        inside = holds_target(setting, target, side)[place]
        return setting.table[with_target(setting, rows, row=row, inside=inside, rng=rng)]

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield the one block of a target."""
        start = target * tables_a_target(setting)
        middle = start + setting.sizes.shadows
        end = start + tables_a_target(setting)
        inside, secret = (holds_target(setting, target, side) for side in ("shadow", "test"))
        yield Block(slice(start, middle), inside, slice(middle, end), secret)

    def known(self, setting: Setting, target: int) -> Table:
        """Return the adversary's pool without the target's copies."""
        row = setting.targets[target : target + 1]
        return setting.table[setting.without(setting.pools[0], row)]
