"""Attribute inference against a generator: the secret is a value of a target's record.

The target is among the records of every table. One of its values is drawn again for each table, all
values with equal probability whatever the others are: so dependence between columns does not help,
and a guess without the table is right once in as many times as there are values. The adversary
knows the rest of the record, makes its own tables with each value, and guesses (the game of TAPAS,
Houssiau et al. 2022, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.evaluation import title
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.synthetic.attacks.attack import TableAttack, Tables, View
from privacygauge.synthetic.attacks.suite import suite_for_many
from privacygauge.synthetic.games.games import (
    Block,
    Make,
    OneByOne,
    drawn_beside,
    place_of,
    require_pools,
    tables_a_target,
)
from privacygauge.synthetic.games.releases import Making, Releases, Storage, make_releases
from privacygauge.synthetic.games.setting import Setting, Sizes
from privacygauge.synthetic.generators.named import as_generator
from privacygauge.synthetic.table import Table, require_columns

_LOOSE = 100.0  # one score, and many tables: next to no penalty

QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles of a numeric column that are the possible values by default."""


class Knowledge(Protocol):
    """The adversary's knowledge of the records other than the target. Frozen."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    def check(self, setting: Setting) -> None:
        """Raise on a setting with too few records."""

    def company(self, setting: Setting, target: int, side: str, place: int) -> Ints:
        """Return the other rows that a table is made from, one fewer than its records."""

    def known(self, setting: Setting, target: int) -> Ints:
        """Return the rows that the adversary knows."""


@dataclass(frozen=True)
class AuxiliaryData:
    """Knowledge of other records of the same source: every table is made from a fresh sample."""

    name = "auxiliary"

    def check(self, setting: Setting) -> None:
        """Raise if a pool is too small for a data set next to any target."""
        require_pools(setting)

    def company(self, setting: Setting, target: int, side: str, place: int) -> Ints:
        """Return rows of the adversary's pool for its own tables, else of the other pool."""
        row = setting.targets[target : target + 1]
        rng = seeds.stream(setting.seed, "attribute", "records", int(row[0]), side, place)
        return drawn_beside(setting, row, int(side == "test"), rng)[1:]

    def known(self, setting: Setting, target: int) -> Ints:
        """Return the adversary's pool without the target."""
        return setting.without(setting.pools[0], setting.targets[target : target + 1])


@dataclass(frozen=True)
class ExactData:
    """Knowledge of all other records of the data set, the same for all tables of a target."""

    name = "exact"

    def check(self, setting: Setting) -> None:
        """Raise on a table that is too small for a data set next to any target."""
        for target in range(len(setting.targets)):
            others = self._others(setting, target)
            setting.require(others, setting.sizes.records, "beside the target and its copies")

    def company(self, setting: Setting, target: int, side: str, place: int) -> Ints:
        """Return the rows of the one data set."""
        return self.known(setting, target)

    def known(self, setting: Setting, target: int) -> Ints:
        """Return all rows of the data set but the target."""
        row = int(setting.targets[target])
        rng = seeds.stream(setting.seed, "attribute", "data", row)
        others = self._others(setting, target)
        return rng.choice(others, setting.sizes.records - 1, replace=False)

    def _others(self, setting: Setting, target: int) -> Ints:
        rows = np.arange(len(setting.table))
        return setting.without(rows, setting.targets[target : target + 1])


@dataclass(frozen=True)
class Attribute(OneByOne):
    """The game of guessing the value that a target has in one column.

    Raises
    ------
    InputError
        If there are fewer than two values, or two are equal.
    """

    column: str
    """Name of the column whose values are the secret."""
    values: tuple[float, ...]
    """(v,) Possible values, coded as `Table.values`, with equal probabilities."""
    data: Knowledge = field(default_factory=AuxiliaryData)
    """The adversary's knowledge of the other records."""

    name = "attribute"

    def __post_init__(self) -> None:
        if len(set(self.values)) < max(2, len(self.values)):
            raise InputError(
                f"a secret must have at least two values, all different, got {self.values}"
            )

    @property
    def knowledge(self) -> str:
        """The adversary's knowledge beyond the released table."""
        return self.data.name

    def describe(self) -> Mapping[str, Any]:
        """Return all settings besides `Setting` that affect the result, as JSON values."""
        return {**super().describe(), "column": self.column, "values": list(self.values)}

    def check(self, setting: Setting) -> None:
        """Raise without the column or its values, or with too few records or tables."""
        require_columns((self.column,), setting.table.schema.names, "column")
        # Building a table of the possible values checks them against the schema.
        target = setting.targets[:1].repeat(len(self.values))
        Table(setting.table.schema, self._with(setting, target, np.array(self.values)))
        self.data.check(setting)
        # Cross-fitting needs several tables with each value.
        if setting.sizes.shadows < 4 * len(self.values):
            raise InputError(
                f"{len(self.values)} values need at least {4 * len(self.values)} tables of the "
                f"adversary's own, got {setting.sizes.shadows}: make more (shadows)"
            )

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return the labels from which a table's random generator is derived."""
        target, side, place = place_of(setting, number)
        return ("attribute", self.column, int(setting.targets[target]), side, place)

    def secret(self, setting: Setting, target: int, side: str) -> Ints:
        """Return the position of the target's value in `values`, for each table of a side.

        The adversary makes equally many of its own tables with each value; in the tables in
        question, each value is drawn independently.
        """
        rng = seeds.stream(setting.seed, "attribute", "secret", int(setting.targets[target]), side)
        if side == "test":
            return rng.integers(len(self.values), size=setting.sizes.tests)
        return rng.permutation(np.arange(setting.sizes.shadows) % len(self.values))

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return the other records, and the target with the value drawn, in random order."""
        target, side, place = place_of(setting, number)
        row = setting.targets[target : target + 1]
        value = np.array(self.values)[self.secret(setting, target, side)[place]]
        company = setting.table.values[self.data.company(setting, target, side, place)]
        values = np.vstack([company, self._with(setting, row, value)])
        rng = seeds.stream(setting.seed, *self.roles(setting, number), "order")
        return Table(setting.table.schema, rng.permutation(values))

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield one block per value: "inside" are the tables in which the target has it."""
        start = target * tables_a_target(setting)
        middle = start + setting.sizes.shadows
        end = start + tables_a_target(setting)
        own, asked = (self.secret(setting, target, side) for side in ("shadow", "test"))
        for value in range(len(self.values)):
            yield Block(slice(start, middle), own == value, slice(middle, end), asked == value)

    def known(self, setting: Setting, target: int) -> Table:
        """Return the records that the adversary knows."""
        return setting.table[self.data.known(setting, target)]

    def views(self, setting: Setting, releases: Releases, target: int) -> Iterator[View]:
        """Yield the adversary's view once per value: the target as if it had that value."""
        stored = Storage(setting.table.schema)
        known = self.known(setting, target)
        row = setting.targets[target : target + 1]
        # The blocks differ in labels only: their tables are read once.
        read: dict[int, Tables] = {}
        for block, value in zip(self.blocks(setting, target), self.values, strict=True):
            for numbers in (block.shadows, block.released):
                if numbers.start not in read:
                    read[numbers.start] = releases.tables(numbers)
            yield View(
                schema=setting.table.schema,
                target=stored.rounded(self._with(setting, row, np.array(value))[0]),
                shadows=read[block.shadows.start],
                inside=block.inside,
                released=read[block.released.start],
                known=known,
            )

    def _with(self, setting: Setting, rows: Ints, value: Floats) -> Floats:
        values = setting.table.values[rows].copy()
        values[:, setting.table.schema.names.index(self.column)] = value
        return values


@dataclass(frozen=True, eq=False)
class ValuesGuessed:
    """Accuracy of the guesses of targets' values from the released tables."""

    attack: str
    """Name of the attack: among several, the most accurate one on the adversary's own tables."""
    chance: float
    """Accuracy of guessing without the tables, 1 / v."""
    right: Bools
    """(r, t) True where a guess is right, by target and table in question."""
    accuracy: Estimate
    """Accuracy over all targets and tables; `n` is their number."""
    targets: tuple[Estimate, ...]
    """(r,) Accuracy per target, each interval by itself."""


def secret_values(table: Table, column: str) -> tuple[float, ...]:
    """Return the possible values of a secret: all categories, or five quantiles."""
    require_columns((column,), table.schema.names, "column")
    found = table.values[:, table.schema.names.index(column)]
    there = found[~np.isnan(found)]
    if table.schema.columns[table.schema.names.index(column)].is_number and len(there):
        # inverted_cdf: the quantiles are values of the column.
        there = np.quantile(there, QUANTILES, method="inverted_cdf")
    return tuple(np.unique(there).tolist())


def play_attribute(
    generator: object,
    table: Table,
    targets: ArrayLike,
    column: str,
    *,
    values: Sequence[float] = (),
    knowledge: Knowledge | None = None,
    sizes: Sizes | None = None,
    attacks: Sequence[TableAttack] = (),
    run: str | Path | None = None,
    n_jobs: int | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> ValuesGuessed:
    """Play attribute inference against a generator; return the accuracy of the guesses.

    Parameters
    ----------
    generator : object
        Generator, as `as_generator` takes it.
    table : Table
        Records like those that the generator will learn from.
    targets : array_like of int, shape (r,)
        Rows of the table.
    column : str
        Column with the secret values.
    values : sequence of float, optional
        Possible values, as `Attribute.values`; by default `secret_values` of the column.
    knowledge : Knowledge, optional
        The adversary's knowledge: `AuxiliaryData` by default, or `ExactData`.
    sizes : Sizes, optional
        By default 400 tables of the adversary's own and 200 in question per target, each from 1,000
        records, or from a sixth of a small table.
    attacks : sequence of TableAttack, optional
        Membership attacks; by default those for many targets.
    run, n_jobs
        As in `make_releases`; by default a temporary folder.
    seed : int
    level : float
        Level of each interval, in (0, 1).

    Raises
    ------
    InputError
        If the game cannot be played: the reason and the way out, in one line.
    """
    checks.level(level)
    if sizes is None:
        sizes = Sizes(400, 200, min(1000, max(2, len(table) // 6)))
    rows = checks.integers(targets, "targets")
    setting = Setting.of(table, rows, sizes, seed)
    secret = tuple(values) or secret_values(table, column)
    game = Attribute(column, secret, knowledge or AuxiliaryData())
    making = Making(game, setting, as_generator(generator))
    with kept_or_scratch(run) as folder:
        releases = make_releases(making, folder, n_jobs=n_jobs)
        return guessed_values(making, releases, attacks, level)


def guessed_values(
    making: Making,
    releases: Releases,
    attacks: Sequence[TableAttack] = (),
    level: float = 0.95,
) -> ValuesGuessed:
    """Evaluate an adversary's guesses of the values of all targets of an `Attribute` game.

    Parameters
    ----------
    making : Making
        Making of an `Attribute` game.
    releases : Releases
        All of its synthetic tables.
    attacks : sequence of TableAttack, optional
        Membership attacks; by default those for many targets.
    level : float
        Level of each interval, in (0, 1).

    Returns
    -------
    ValuesGuessed
        Clopper & Pearson's intervals: every table has an independent value and, except with exact
        knowledge, its own records.

    Notes
    -----
    A membership attack is run once per value: tables with this value count as those with the
    target, all others as those without. A logistic regression on the adversary's own tables turns
    its scores into log odds of each value; the guess is the value with the highest.
    """
    game = making.game
    setting = making.setting
    if not isinstance(game, Attribute):
        raise InputError(f"the game must be an Attribute, got {game.name}")
    players = tuple(attacks) or suite_for_many()
    n = len(setting.targets)
    m = len(players)
    # -1 is no value: a skipped attack is never right, and not chosen.
    own = np.full((m, n, setting.sizes.shadows), -1)
    asked = np.full((m, n, setting.sizes.tests), -1)
    skipped: dict[int, Skipped] = {}
    for target in range(n):
        views = tuple(game.views(setting, releases, target))
        for place, attack in enumerate(players):
            rng = seeds.stream(setting.seed, "attack", attack.name, attack.variant, target)
            guesses = _guesses(attack, views, rng)
            if isinstance(guesses, Skipped):
                skipped[place] = guesses
            else:
                own[place, target], asked[place, target] = guesses
    if len(skipped) == m:
        raise InputError(f"no attack could be played: {skipped[0].name} {skipped[0].reason}")
    sides = (
        np.stack([game.secret(setting, target, side) for target in range(n)])
        for side in ("shadow", "test")
    )
    # Chosen on the adversary's own tables, so that the accuracy in question needs no correction.
    own_right, right = (x == secret for x, secret in zip((own, asked), sides, strict=True))
    best = int(np.argmax(own_right.mean(axis=(1, 2))))
    return ValuesGuessed(
        attack=title(players[best].name, players[best].variant, ""),
        chance=1 / len(game.values),
        right=right[best],
        accuracy=rates.proportion(right[best].ravel(), level=level),
        targets=tuple(rates.proportion(row, level=level) for row in right[best]),
    )


def _guesses(
    attack: TableAttack, views: Sequence[View], rng: np.random.Generator
) -> tuple[Ints, Ints] | Skipped:
    """Return the positions of the guessed values, for own tables and those in question."""
    from sklearn.linear_model import LogisticRegression

    own = []
    asked = []
    for view in views:
        answer = attack.score(view, rng)
        if isinstance(answer, Skipped):
            return answer
        # Standardised, so that the penalty weighs equally for every attack.
        mean = answer.own.mean()
        spread = answer.own.std() or 1.0
        sides = [((x - mean) / spread)[:, None] for x in (answer.own, answer.released)]
        learnt = LogisticRegression(C=_LOOSE).fit(sides[0], view.inside)
        own.append(learnt.decision_function(sides[0]))
        asked.append(learnt.decision_function(sides[1]))
    # Ties are broken at random, or some value would be guessed more often than by chance.
    luck = rng.random((len(views), 1))

    def best(scores: list[Floats]) -> Ints:
        order = np.lexsort((np.broadcast_to(luck, np.shape(scores)), np.array(scores)), axis=0)
        return np.asarray(order[-1], np.int64)

    return best(own), best(asked)
