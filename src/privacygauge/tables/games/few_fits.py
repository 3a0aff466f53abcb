"""Many canaries in a few fits, or in a single one: a game for slow generators.

Every canary is in or out by an independent fair coin in each fit, and only the tables in question
are made. Attacks do not train: they compare the released table with the records that are not
canaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.release import coin_flips
from privacygauge.core.transcript import tied
from privacygauge.errors import InputError
from privacygauge.evaluate.few_fits import GuessedInFits, guessed_in_fits
from privacygauge.runs.execute import Progress
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.tables.attacks.attack import Tables
from privacygauge.tables.games.games import Block, Game, Make
from privacygauge.tables.games.releases import Making, Storage, make_releases
from privacygauge.tables.games.setting import Setting, Sizes
from privacygauge.tables.generators.generator import Generator
from privacygauge.tables.released.judged import JudgedRecords, Signals
from privacygauge.tables.released.membership import DensityRatio, DistanceRatio, ValueRatio
from privacygauge.tables.released.neighbours import usual_distance
from privacygauge.tables.selection import TargetsAsked, select_targets
from privacygauge.tables.table import Schema, Table

CANARIES = 200
"""Default number of canaries; at most a quarter of the table."""

FEWEST = 20
"""Fewest canaries; with fewer, chance puts all or none in too often."""


@dataclass(frozen=True)
class Fits(Sizes):
    """Numbers of fits and of their records; the adversary has no tables of its own."""

    shadows: int = 0
    tests: int = 1
    """Number of fits, at least 1."""

    @property
    def least(self) -> Mapping[str, int]:
        """Smallest value of each field."""
        return {**super().least, "shadows": 0, "tests": 1}


class Untaught(Protocol):
    """An attack on a released table that needs no other synthetic table."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    def signals(self, seen: JudgedRecords) -> Signals:
        """Return a signal of each record; higher means more likely a member."""


def untaught(schema: Schema) -> tuple[Untaught, ...]:
    """Return the default attacks."""
    return (DistanceRatio(usual_distance(schema)), DensityRatio(), ValueRatio())


@dataclass(frozen=True)
class FewFits(Game):
    """Game with a fair coin per target and fit; other records fill up the fits.

    Places are filled in one order, the same in all fits: flipping one coin replaces the records of
    one person and changes nothing else. So the bound of one run is on the epsilon of replacing a
    record. Fits have independent coins, so their canaries add up.
    """

    name = "few fits"
    knowledge = "exact"

    def check(self, setting: Setting) -> None:
        """Raise on a setting with too few records or canaries."""
        if len(setting.targets) < FEWEST:
            raise InputError(
                f"at least {FEWEST} canaries are needed, different ones of different people, got "
                f"{len(setting.targets)}"
            )
        if not np.array_equal(setting.first, np.arange(len(setting.targets))):
            raise InputError("canaries must be different records of different people")
        setting.require(self.others(setting), setting.sizes.records, "beside the canaries")
        most = int(setting.records_of_each.sum())
        records = setting.sizes.records
        if most > records:
            raise InputError(
                f"canaries of {most:,} records do not fit into {records:,}: learn from more "
                "(--size), or take fewer canaries"
            )

    def n_tables(self, setting: Setting) -> int:
        """Return the number of fits."""
        return setting.sizes.tests

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return the labels from which a fit's random generator is derived."""
        return ("few fits", number)

    def coins(self, setting: Setting) -> Bools:
        """Return the coins (t, r): True where the canary is in the fit."""
        rng = seeds.stream(setting.seed, "few fits", "coins")
        return coin_flips(setting.sizes.tests, len(setting.targets), rng)

    def others(self, setting: Setting) -> Ints:
        """Return the rows of neither canaries nor their copies, in the order of filling."""
        rows = setting.without(np.arange(len(setting.table)), setting.targets)
        return seeds.stream(setting.seed, "few fits", "others").permutation(rows)

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return the canaries whose coins put them in, filled up with others."""
        chosen = setting.of_people(setting.targets[self.coins(setting)[number]])
        others = self.others(setting)[: setting.sizes.records - len(chosen)]
        return setting.table[np.sort(np.concatenate([chosen, others]))]

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield the one block of a target, without tables of the adversary's own."""
        secret = self.coins(setting)[:, target]
        yield Block(slice(0), np.zeros(0, np.bool_), slice(0, len(secret)), secret)

    def known(self, setting: Setting, target: int) -> Table:
        """Return the records that fill up a fit without canaries."""
        return setting.table[np.sort(self.others(setting)[: setting.sizes.records])]


def canary_scores(
    setting: Setting, tables: Tables, attacks: Sequence[Untaught] | None = None
) -> dict[str, Floats]:
    """Return each attack's scores of all canaries in all fits, by the attack's name.

    Parameters
    ----------
    setting : Setting
        Setting with the canaries as targets.
    tables : ndarray, shape (t, n, F)
        The synthetic table of each fit of `FewFits`.
    attacks : sequence of Untaught, optional
        Attacks with distinct names; by default those of `untaught`.

    Returns
    -------
    dict of str to ndarray, shape (t, r)
        Scores; higher means more likely in. No attack sees a coin.
    """
    attacks = untaught(setting.table.schema) if attacks is None else attacks
    names = [attack.name for attack in attacks]
    if not names or len(set(names)) < len(names):
        raise InputError(f"attacks must be at least one, of different names, got {names}")

    def kept(values: Floats) -> Table:
        # Rounded as the run stores values, so that copies stay equal; clipped, as rounding may
        # leave the range.
        low, high, _, _ = setting.table.schema.limits
        rounded = Storage(setting.table.schema).rounded(values)
        return Table(setting.table.schema, np.clip(rounded, low, high))

    canaries = kept(setting.table.values[setting.targets])
    # All canaries pose as members and nobody as non-member: the scores need no labels.
    nobody = canaries[np.arange(0)]
    known = kept(FewFits().known(setting, 0).values)
    seen = [
        JudgedRecords(
            real=canaries,
            nonmembers=nobody,
            reference=known,
            synthetic=kept(values),
            nonmember_rows=np.arange(0),
        )
        for values in tables
    ]
    return {
        attack.name: np.stack([attack.signals(one).members for one in seen]) for attack in attacks
    }


def fits_arranged(
    generator: Generator,
    table: Table,
    canaries: TargetsAsked | None,
    select: str | Sequence[str],
    sizes: tuple[int, int | None, int | None],
    seed: int,
    owner: Ints | None,
) -> Making:
    """Return the checked game of a few fits; no fit has begun.

    Parameters
    ----------
    generator : Generator
    table : Table
    canaries, select
        As in `audit_few_fits`.
    sizes : tuple of int
        Number of fits; training records, None for all that are not canaries; records of a synthetic
        table, None for as many.
    seed : int
    owner : ndarray of int, shape (N,), optional
        Person behind each record.

    Raises
    ------
    InputError
        If the game cannot be played.
    """
    fits, size, made = sizes
    game = FewFits()
    asked = min(CANARIES, len(table) // 4) if canaries is None else canaries
    selections = select_targets(table, asked, select, seed)
    rows = np.unique(np.concatenate([s.rows for s in selections]))
    # First with all rows, to find copies and people: one canary of each is kept.
    every = Setting.of(table, rows, sizes=Fits(tests=fits), seed=seed, unit=owner)
    rows = rows[every.first == np.arange(len(rows))]
    records = max(2, len(game.others(every))) if size is None else size
    setting = Setting.of(
        table, rows, sizes=Fits(tests=fits, records=records, made=made), seed=seed, unit=owner
    )
    game.check(setting)
    return Making(game, setting, generator)


def canaries_guessed(
    making: Making,
    run: str | Path | None,
    attacks: Sequence[Untaught] | None,
    level: float,
    *,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[GuessedInFits, tuple[int, int]]:
    """Evaluate guesses of canaries; also return `Releases.clipped_numbers`.

    Parameters
    ----------
    making : Making
        Making from `fits_arranged`.
    run : str or Path, optional
        Folder of the run; None for a temporary one.
    attacks, level
        As in `audit_few_fits`.
    invocation, n_jobs, progress
        As in `make_releases`.

    Raises
    ------
    InputError
        If every attack gives all canaries the same score.
    """
    setting = making.setting
    game = FewFits()
    with kept_or_scratch(run) as folder:
        releases = make_releases(
            making, folder, invocation=invocation, n_jobs=n_jobs, progress=progress
        )
        scores = canary_scores(setting, releases.tables(slice(0, setting.sizes.tests)), attacks)
        clipped = releases.clipped_numbers
    telling = {name: score for name, score in scores.items() if not tied(score)}
    if not telling:
        raise InputError("every attack gives all canaries the same score: give other attacks")
    return guessed_in_fits(telling, game.coins(setting), setting.seed, level), clipped
