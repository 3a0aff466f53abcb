"""What a game is: which records tables are made from, and what the adversary works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from privacygauge.core.checks import Bools
from privacygauge.synthetic.games.setting import Setting
from privacygauge.synthetic.table import Table

Make = Callable[[int], Table]
"""Makes the synthetic table with a number."""


@dataclass(frozen=True, eq=False)
class Block:
    """What the adversary works with at a time: tables of its own, and those it is asked about."""

    shadows: slice
    """Numbers of its own tables."""
    inside: Bools
    """(s,) True where the target was among the records of its own table."""
    released: slice
    """Numbers of the tables that it is asked about."""
    secret: Bools
    """(t,) True where the target was among their records."""


class Game(Protocol):
    """Says what each of a number of synthetic tables is made from. Frozen."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def knowledge(self) -> str:
        """What the adversary knows beside the released table."""

    def describe(self) -> Mapping[str, Any]:
        """Return everything that the result depends on beside the setting, as JSON values."""

    def check(self, setting: Setting) -> None:
        """Refuse a setting that has too few records."""

    def n_tables(self, setting: Setting) -> int:
        """Return how many synthetic tables are made."""

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return what a table's draws derive from: the same whatever other targets there are."""

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return the records that a table is made from; `make` makes another one."""

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Return what the adversary works with, for the target at a position."""

    def known(self, setting: Setting, target: int) -> Table:
        """Return the records that the adversary knows, for the target at a position."""
