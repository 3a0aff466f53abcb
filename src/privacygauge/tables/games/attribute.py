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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.datasets.parsing import dates_of, days_of
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.evaluation import title
from privacygauge.evaluate.slices import holm
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.tables.attacks.attack import TableAttack
from privacygauge.tables.attacks.suite import suite_for_many
from privacygauge.tables.games.games import (
    Block,
    Make,
    OneByOne,
    Setting,
    Sizes,
    drawn_beside,
    place_of,
)
from privacygauge.tables.games.releases import Making, make_releases
from privacygauge.tables.games.scores import GameScores, ScoredTarget, score_releases, scores_in
from privacygauge.tables.generators.named import as_generator
from privacygauge.tables.table import FEWEST_FOR_IDS, Table, require_columns

_LOOSE = 100.0  # one score, and many tables: next to no penalty

QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles of a numeric column that are its possible values: the middle of each fifth."""

FEW_NUMBERS = 12
"""Most different numbers of a column that are all possible values, as categories are."""

MOST_VALUES = 20
"""Most possible values: the adversary makes tables with each, and attacks once per value."""


@dataclass(frozen=True)
class AuxiliaryData:
    """Knowledge of other records of the same source: every table is made from a fresh sample."""

    name = "auxiliary"

    def company(self, setting: Setting, target: int, side: str, place: int) -> Ints:
        """Return rows of the adversary's pool for its own tables, else of the other pool."""
        row = setting.targets[target : target + 1]
        rng = seeds.stream(setting.seed, "attribute", "records", int(row[0]), side, place)
        return drawn_beside(setting, row, int(side == "test"), rng)[len(setting.of_people(row)) :]


@dataclass(frozen=True)
class ExactData:
    """Knowledge of all other records of the data set, the same for all tables of a target."""

    name = "exact"

    def company(self, setting: Setting, target: int, side: str, place: int) -> Ints:
        """Return the rows of the one data set but those of the target's person."""
        row = setting.targets[target : target + 1]
        rng = seeds.stream(setting.seed, "attribute", "data", int(row[0]))
        others = setting.without(np.arange(len(setting.table)), row)
        n_others = setting.sizes.records - len(setting.of_people(row))
        return rng.choice(others, n_others, replace=False)


Knowledge = AuxiliaryData | ExactData
"""The adversary's knowledge of the records other than the target."""


@dataclass(frozen=True)
class Attribute(OneByOne):
    """The game of guessing the value that a target has in one column.

    All records of the target's person are in every table, and the value drawn stands in each of
    them that has the target's own value in the column.

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
        values = setting.table.values[setting.targets[:1].repeat(len(self.values))]
        values[:, setting.table.schema.names.index(self.column)] = self.values
        Table(setting.table.schema, values)
        if isinstance(self.data, ExactData):
            setting.require_room()
            for target in range(len(setting.targets)):
                row = setting.targets[target : target + 1]
                others = setting.without(np.arange(len(setting.table)), row)
                setting.require(others, setting.sizes.records, "beside the target and its copies")
        else:
            super().check(setting)
        # Cross-fitting needs several tables with each value.
        if setting.sizes.shadows < 4 * len(self.values):
            raise InputError(
                f"{len(self.values)} values need at least {4 * len(self.values)} tables of the "
                f"adversary's own, got {setting.sizes.shadows}: make more (--shadows)"
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
        """Return the other records, and the person's with the value drawn, in random order."""
        target, side, place = place_of(setting, number)
        value = np.array(self.values)[self.secret(setting, target, side)[place]]
        company = setting.table.values[self.data.company(setting, target, side, place)]
        row = setting.targets[target : target + 1]
        person = setting.of_people(row)
        values = setting.table.values[person].copy()
        j = setting.table.schema.names.index(self.column)
        own = setting.table.values[row[0], j]
        # Missing numbers equal each other here.
        values[(values[:, j] == own) | (np.isnan(values[:, j]) & np.isnan(own)), j] = value
        values = np.vstack([company, values])
        rng = seeds.stream(setting.seed, *self.roles(setting, number), "order")
        return Table(setting.table.schema, rng.permutation(values))

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield one block per value: "inside" are the tables in which the target has it."""
        start = target * (setting.sizes.shadows + setting.sizes.tests)
        middle = start + setting.sizes.shadows
        end = middle + setting.sizes.tests
        own, asked = (self.secret(setting, target, side) for side in ("shadow", "test"))
        for value in range(len(self.values)):
            yield Block(slice(start, middle), own == value, slice(middle, end), asked == value)

    def known(self, setting: Setting, target: int) -> Table:
        """Return the records that the adversary knows."""
        if isinstance(self.data, ExactData):
            # All of the one data set, whichever table is asked about.
            return setting.table[self.data.company(setting, target, "shadow", 0)]
        return super().known(setting, target)

    def record(self, setting: Setting, target: int, block: int) -> Floats:
        """Return the target's record with the value of a block."""
        values = setting.table.values[setting.targets[target]].copy()
        values[setting.table.schema.names.index(self.column)] = self.values[block]
        return np.asarray(values)


def attribute_game(
    table: Table,
    column: str,
    values: Sequence[object] = (),
    *,
    game: str | None = None,
    knowledge: str | None = None,
) -> Attribute:
    """Return the game about a column, by the names of a game and of the adversary's knowledge.

    Parameters
    ----------
    table : Table
    column : str
    values : sequence of str or float, optional
        As in `possible_values`.
    game : {"average", "specific"}, optional
        A fresh data set for every table, or one for each target; default: the one that goes with
        `knowledge`.
    knowledge : {"auxiliary", "exact"}, optional
        Auxiliary in the average game, exact in the specific one.

    Raises
    ------
    InputError
        If there is no such game, or the column has no values to guess.
    """
    known: dict[str, Knowledge] = {"average": AuxiliaryData(), "specific": ExactData()}
    default = "specific" if knowledge == "exact" else "average"
    data = known.get(game or default)
    if data is None or knowledge not in (None, data.name):
        asked = ", ".join(x for x in (game, knowledge) if x)
        raise InputError(
            "with --attribute --game must be average, with auxiliary --knowledge, or specific, "
            f"with exact --knowledge, got {asked}"
        )
    return Attribute(column, possible_values(table, column, values), data)


def possible_values(table: Table, column: str, named: Sequence[object] = ()) -> tuple[float, ...]:
    """Return the possible values of a secret, coded as `Table.values`.

    Parameters
    ----------
    table : Table
    column : str
    named : sequence of str or float, optional
        At most 20 values in the user's words: categories, numbers or dates. Default: all
        categories; all numbers of a column of at most 12 different ones; else the middles of the
        fifths of its numbers, quantiles that are values of the column.

    Raises
    ------
    InputError
        If the column does not exist, names its records, or has one value or too many.
    """
    require_columns((column,), table.schema.names, "attribute")
    j = table.schema.names.index(column)
    schema = table.schema.columns[j]
    middles = middles_of_fifths(table, column)
    if named:
        values = _codes_of([str(x) for x in named], table, column)
    else:
        there = table.values[:, j][~np.isnan(table.values[:, j])]
        different = np.unique(there)
        whole_range = len(different) and different[-1] - different[0] + 1 == len(table)
        numbered = schema.kind == "integer" and len(table) > FEWEST_FOR_IDS and whole_range
        if len(different) == len(table) > MOST_VALUES and (numbered or not schema.is_number):
            raise InputError(
                f"column {column!r} has another value in every record, like a name or a number of "
                "a file: choose another column (--attribute)"
            )
        values = middles or tuple(different.tolist())
    names = checks.short_list(value_names(table, column, values))
    if len(set(values)) < max(2, len(values)):
        raise InputError(
            f"a secret must have at least two values, all different, got {names}: name others "
            "(--values)"
            if named
            else f"column {column!r} has no value but {names or 'missing ones'} "
            f"{'in the middle of all fifths' if middles else 'in all records'}: name values of a "
            "column that has others (--values), or choose another column (--attribute)"
        )
    if len(values) > MOST_VALUES:
        raise InputError(
            f"column {column!r} has {len(values):,} values to guess, and at most {MOST_VALUES} can "
            "be told apart: name some of them (--values A,B), or merge them in the table"
        )
    return values


def middles_of_fifths(table: Table, column: str) -> tuple[float, ...]:
    """Return the different middles of the fifths of a column of numbers; none if it has few."""
    j = table.schema.names.index(column)
    there = table.values[:, j][~np.isnan(table.values[:, j])]
    if not table.schema.columns[j].is_number or len(np.unique(there)) <= FEW_NUMBERS:
        return ()
    # inverted_cdf: the quantiles are values of the column.
    return tuple(np.unique(np.quantile(there, QUANTILES, method="inverted_cdf")).tolist())


def _codes_of(texts: Sequence[str], table: Table, column: str) -> tuple[float, ...]:
    """Return values of a column from the user's words."""
    schema = table.schema.columns[table.schema.names.index(column)]
    if not schema.is_number:
        unknown = [text for text in texts if text not in schema.categories]
        if unknown:
            raise InputError(
                f"values names {unknown[0]!r}, which is not a value of column {column!r}; they are "
                f"{checks.short_list(schema.categories, 30)}"
            )
        return tuple(float(schema.categories.index(text)) for text in texts)
    if schema.date:
        import pandas as pd

        days = days_of(pd.Series(texts))
        if days is None or np.isnan(days).any():
            raise InputError(
                f"values of column {column!r} must be dates, such as 2024-01-31, got "
                f"{checks.short_list(texts)}"
            )
        values = tuple(days.tolist())
    else:
        try:
            values = tuple(float(text) for text in texts)
        except ValueError as error:
            raise InputError(
                f"values of column {column!r} must be numbers, got {checks.short_list(texts)}"
            ) from error
    outside = [x for x, y in zip(texts, values, strict=True) if not schema.low <= y <= schema.high]
    if outside:
        raise InputError(
            f"values names {outside[0]}, beyond the range of column {column!r}: name values in it, "
            "or widen it in the schema (--schema)"
        )
    return values


def value_names(
    table: Table, column: str, values: Sequence[float], *, digits: int = 10
) -> tuple[str, ...]:
    """Return the values of a column as texts; numbers, but no dates, to so many digits."""
    schema = table.schema.columns[table.schema.names.index(column)]
    if schema.date:
        return tuple(str(date) for date in dates_of(np.array(values)))
    if schema.is_number:
        return tuple(f"{float(f'{value:.{digits}g}'):.10g}" for value in values)
    return tuple([*schema.categories, "missing"][int(value)] for value in values)


@dataclass(frozen=True, eq=False)
class ValuesGuessed:
    """Guesses of one attack about the targets' values, from the released tables."""

    name: str
    """Name of the attack."""
    variant: str
    """Variant of the attack; empty if there is only one."""
    n_values: int
    """Number of possible values v."""
    secret: Ints
    """(r, t) Position of the true value, by target and table in question."""
    guess: Ints
    """(r, t) Position of the guessed value."""
    own_secret: Ints
    """(r, s) Position of the true value in the adversary's own tables."""
    own_guess: Ints
    """(r, s) Position of the value guessed for them."""
    level: float = 0.95
    """Level of each interval, in (0, 1)."""
    notes: tuple[str, ...] = ()
    """Remarks of the attack, for the report."""

    attack: str = field(init=False)
    """The attack's name with its variant."""
    chance: float = field(init=False)
    """Accuracy of guessing without the tables, 1 / v."""
    right: Bools = field(init=False)
    """(r, t) True where a guess is right."""
    own_accuracy: Floats = field(init=False)
    """(r,) Accuracy on the adversary's own tables, by which attacks and targets are chosen."""
    accuracy: Estimate = field(init=False)
    """Accuracy over all targets and tables, with Clopper & Pearson's interval; `n` is their number.
    """
    targets: tuple[Estimate, ...] = field(init=False)
    """(r,) Accuracy per target, each interval by itself."""

    def __post_init__(self) -> None:
        right = np.asarray(self.guess == self.secret)
        derived = {
            "attack": title(self.name, self.variant, ""),
            "chance": 1 / self.n_values,
            "right": right,
            "own_accuracy": np.asarray((self.own_guess == self.own_secret).mean(axis=1)),
            # Every table has an independent value and, except with exact knowledge, its own
            # records. Targets differ in their accuracy, which makes the number of right guesses
            # vary less than a binomial one.
            "accuracy": rates.proportion(right.ravel(), level=self.level),
            "targets": tuple(rates.proportion(row, level=self.level) for row in right),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def told(self, level: float) -> Bools:
        """Return a mask (r,) of targets whose value is guessed significantly better than by chance.

        Exact binomial tests, corrected by Holm for the number of targets: with confidence
        `level`, which counts both sides of an interval, none is a false positive.
        """
        n = self.right.shape[1]
        p_values = binom.sf(self.right.sum(axis=1) - 1, n, self.chance)
        # One side of the error only: the rate at which a two-sided interval lies above chance.
        return holm(p_values) <= (1 - level) / 2

    def of_value(self, value: int, level: float) -> tuple[Estimate, Estimate]:
        """Return how often a value is guessed where it is the true one, and where another is.

        A value that was drawn for no table in question has the interval from 0 to 1.
        """
        guessed = self.guess == value
        there = self.secret == value
        unknown = Estimate(value=0.0, low=0.0, high=1.0, level=level, n=0, method="no table")
        recognised, mistaken = (
            rates.proportion(guessed[side], level=level) if side.any() else unknown
            for side in (there, ~there)
        )
        return recognised, mistaken


def play_attribute(
    generator: object,
    table: Table,
    targets: ArrayLike,
    secret: str | Attribute,
    *,
    sizes: Sizes | None = None,
    attacks: Sequence[TableAttack] = (),
    run: str | Path | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> ValuesGuessed:
    """Play attribute inference against a generator; return the guesses of the strongest attack.

    `audit_synthetic` with an attribute plays the same game, with a report.

    Parameters
    ----------
    generator : object
        Generator, as `as_generator` takes it.
    table : Table
        Records like those that the generator will learn from.
    targets : array_like of int, shape (r,)
        Rows of the table.
    secret : str or Attribute
        Column with the secret values, of which all `possible_values` are possible and about which
        the adversary has auxiliary data; or a game with values and knowledge of its own.
    sizes : Sizes, optional
        By default 400 tables of the adversary's own and 200 in question per target, each from 1,000
        records, or from a sixth of a small table.
    attacks : sequence of TableAttack, optional
        Membership attacks; by default those for many targets.
    run : str or pathlib.Path, optional
        Folder that keeps the tables; by default a temporary one.
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
    game = (
        secret
        if isinstance(secret, Attribute)
        else Attribute(secret, possible_values(table, secret))
    )
    making = Making(game, setting, as_generator(generator))
    players = tuple(attacks) or suite_for_many()
    with kept_or_scratch(run) as folder:
        releases = make_releases(making, folder)
        place = scores_in(folder, players)
        scores = score_releases(making, releases, players, place)
        guessed, _ = guessed_values(scores, level)
    return strongest(guessed)


def strongest(guessed: Sequence[ValuesGuessed]) -> ValuesGuessed:
    """Return the attack that is most accurate on the adversary's own tables."""
    # Chosen there, so that the accuracy in question needs no correction.
    return guessed[int(np.argmax([one.own_accuracy.mean() for one in guessed]))]


def guessed_values(
    scores: GameScores, level: float = 0.95
) -> tuple[tuple[ValuesGuessed, ...], tuple[Skipped, ...]]:
    """Return each attack's guesses of the values of all targets; also why some were skipped.

    Parameters
    ----------
    scores : GameScores
        Scores of an `Attribute` game.
    level : float
        Level of each interval, in (0, 1).

    Raises
    ------
    InputError
        If no attack could be played.

    Notes
    -----
    A membership attack is run once per value: tables with this value count as those with the
    target, all others as those without. A logistic regression on the adversary's own tables turns
    its scores into log odds of each value; the guess is the value with the highest.
    """
    game = scores.making.game
    setting = scores.making.setting
    if not isinstance(game, Attribute):
        raise InputError(f"the game must be an Attribute, got {game.name}")
    n = len(setting.targets)
    sides = ("shadow", "test")
    own, asked = (np.stack([game.secret(setting, i, side) for i in range(n)]) for side in sides)
    played = []
    skipped: dict[Skipped, None] = {}
    for place, attack in enumerate(scores.attacks):
        found = list(scores.of(place))
        reasons = [x for x in found if isinstance(x, Skipped)]
        if reasons:
            skipped.update(dict.fromkeys(reasons))
            continue
        scored = [x for x in found if isinstance(x, ScoredTarget)]
        guesses = []
        for row, one in zip(setting.targets.tolist(), scored, strict=True):
            role = ("attribute", "ties", attack.name, attack.variant, row)
            guesses.append(_guesses(one, seeds.stream(setting.seed, *role)))
        guessed_own, guessed = (np.stack(side) for side in zip(*guesses, strict=True))
        played.append(
            ValuesGuessed(
                name=attack.name,
                variant=attack.variant,
                n_values=len(game.values),
                secret=checks.frozen(asked),
                guess=checks.frozen(guessed),
                own_secret=checks.frozen(own),
                own_guess=checks.frozen(guessed_own),
                level=level,
                notes=tuple(dict.fromkeys(note for one in scored for note in one.notes)),
            )
        )
    if not played:
        first = next(iter(skipped))
        raise InputError(f"no attack could be played: {first.name} {first.reason}")
    return tuple(played), tuple(skipped)


def _guesses(scored: ScoredTarget, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the positions of the guessed values, for own tables and those in question."""
    from sklearn.linear_model import LogisticRegression

    own = []
    asked = []
    for block, answer in zip(scored.blocks, scored.answers, strict=True):
        # Standardised, so that the penalty weighs equally for every attack.
        mean = answer.own.mean()
        spread = answer.own.std() or 1.0
        sides = [((x - mean) / spread)[:, None] for x in (answer.own, answer.released)]
        learnt = LogisticRegression(C=_LOOSE).fit(sides[0], block.inside)
        own.append(learnt.decision_function(sides[0]))
        asked.append(learnt.decision_function(sides[1]))
    # Ties are broken at random, or some value would be guessed more often than by chance.
    luck = rng.random((len(own), 1))

    def best(scores: list[Floats]) -> Ints:
        order = np.lexsort((np.broadcast_to(luck, np.shape(scores)), np.array(scores)), axis=0)
        return np.asarray(order[-1], np.int64)

    return best(own), best(asked)
