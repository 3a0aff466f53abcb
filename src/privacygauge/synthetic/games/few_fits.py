"""Many canaries in a few fits, or in a single one: the game for generators that take long.

Every canary is in or out by a fair coin of its own, in each fit again, and no table is made but
those in question. Attacks learn nothing: they compare the released table with the records that are
no canaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.release import coin_flips
from privacygauge.errors import InputError
from privacygauge.synthetic.attacks.attack import Tables
from privacygauge.synthetic.games.game import Block, Make
from privacygauge.synthetic.games.releases import Storage
from privacygauge.synthetic.games.setting import Setting, Sizes
from privacygauge.synthetic.released.judged import Judged, Signals
from privacygauge.synthetic.released.membership import DensityRatio, DistanceRatio, ValueRatio
from privacygauge.synthetic.released.neighbours import usual_distance
from privacygauge.synthetic.schema import Schema
from privacygauge.synthetic.table import Table

FEWEST = 20
"""Canaries: of fewer, chance puts all in or none too often."""


@dataclass(frozen=True)
class Fits(Sizes):
    """How many fits are made, and of how many records; no tables of the adversary's own."""

    shadows: int = 0
    tests: int = 1
    """Fits."""

    @property
    def least(self) -> Mapping[str, int]:
        """The least value of each."""
        return {**super().least, "shadows": 0, "tests": 1}


class Untaught(Protocol):
    """An attack on a released table that needs no other synthetic table."""

    @property
    def name(self) -> str:
        """What reports call it."""

    def signals(self, seen: Judged) -> Signals:
        """Return a signal of each record; higher means more likely a member."""


def untaught(schema: Schema) -> tuple[Untaught, ...]:
    """Return the attacks that are tried unless others are named."""
    return (DistanceRatio(usual_distance(schema)), DensityRatio(), ValueRatio())


@dataclass(frozen=True)
class FewFits:
    """Every target is in each fit by a fair coin of its own; other records fill the places.

    The places are filled in one order, the same in all fits: turning one coin replaces the
    records of one person, and changes nothing else. So the bound of one run is on the epsilon of
    replacing a record, and fits, which have coins of their own, add their canaries up.
    """

    name = "few fits"
    knowledge = "exact"

    def describe(self) -> Mapping[str, Any]:
        """Return its name and the adversary's knowledge."""
        return {"game": self.name, "knowledge": self.knowledge}

    def check(self, setting: Setting) -> None:
        """Refuse a setting that has too few records, or too few canaries."""
        if len(setting.targets) < FEWEST:
            raise InputError(
                f"at least {FEWEST} canaries are needed, different ones of different people, got "
                f"{len(setting.targets)}"
            )
        if not np.array_equal(setting.first, np.arange(len(setting.targets))):
            raise InputError("canaries must be different records of different people")
        setting.require(self.others(setting), setting.sizes.records, "beside the canaries")
        most, records = int(setting.records_of_each.sum()), setting.sizes.records
        if most > records:
            raise InputError(
                f"canaries of {most:,} records do not fit into {records:,}: learn from more "
                "(--size), or take fewer canaries"
            )

    def n_tables(self, setting: Setting) -> int:
        """Return the number of fits."""
        return setting.sizes.tests

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return what a fit's draws derive from."""
        return ("few fits", number)

    def coins(self, setting: Setting) -> Bools:
        """Return who is in which fit, (t, r)."""
        rng = seeds.stream(setting.seed, "few fits", "coins")
        return coin_flips(setting.sizes.tests, len(setting.targets), rng)

    def others(self, setting: Setting) -> Ints:
        """Return the rows that are no canaries, nor their copies, in the order of filling."""
        rows = setting.without(np.arange(len(setting.table)), setting.targets)
        return seeds.stream(setting.seed, "few fits", "others").permutation(rows)

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return the canaries whose coins say so, filled up with others."""
        chosen = setting.of_people(setting.targets[self.coins(setting)[number]])
        others = self.others(setting)[: setting.sizes.records - len(chosen)]
        return setting.table[np.sort(np.concatenate([chosen, others]))]

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Return the one block of a target, without tables of the adversary's own."""
        secret = self.coins(setting)[:, target]
        yield Block(slice(0), np.zeros(0, np.bool_), slice(0, len(secret)), secret)

    def known(self, setting: Setting, target: int) -> Table:
        """Return all records that are no canaries."""
        return setting.table[np.sort(self.others(setting)[: setting.sizes.records])]


def canary_scores(
    setting: Setting, tables: Tables, attacks: Sequence[Untaught] | None = None
) -> dict[str, Floats]:
    """Return what each attack says of every canary in every fit, by the attack's name.

    Parameters
    ----------
    setting : Setting
        Whose targets are the canaries.
    tables : ndarray, shape (t, n, F)
        The synthetic table of each fit of `FewFits`.
    attacks : sequence of Untaught, optional
        Their names differ; default: `untaught`.

    Returns
    -------
    dict of str to ndarray, shape (t, r)
        Higher means more likely in. No attack sees a coin.
    """
    attacks = untaught(setting.table.schema) if attacks is None else attacks
    names = [attack.name for attack in attacks]
    if not names or len(set(names)) < len(names):
        raise InputError(f"attacks must be at least one, of different names, got {names}")

    def kept(values: Floats) -> Table:
        # As the run gives values back, so that copies stay equal.
        low, high, _, _ = setting.table.schema.limits
        rounded = Storage(setting.table.schema).rounded(values)
        return Table(setting.table.schema, np.clip(rounded, low, high))

    canaries = kept(setting.table.values[setting.targets])
    nobody, known = canaries[np.arange(0)], kept(FewFits().known(setting, 0).values)
    seen = [Judged(canaries, nobody, known, kept(values), np.arange(0)) for values in tables]
    return {
        attack.name: np.stack([attack.signals(one).members for one in seen]) for attack in attacks
    }
