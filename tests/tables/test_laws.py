"""Laws of the privacy games: each attack of the suites, each built-in generator, each game.

The laws of single attacks, on tables that are made up, stand in `attacks/test_table_attacks.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from privacygauge.core.seeds import stream
from privacygauge.evaluate.by_target import TargetScores, mean_auc_of_records
from privacygauge.runs.plan import Task
from privacygauge.tables.attacks.meta import Forest
from privacygauge.tables.attacks.suite import suite_for_few, suite_for_many
from privacygauge.tables.games.games import GAMES, Average, Block, Setting, Shared, Sizes, Specific
from privacygauge.tables.games.releases import Making, Storage
from privacygauge.tables.games.scores import Scoring
from privacygauge.tables.generators.generator import BayNet, Identity, Silence
from privacygauge.tables.generators.named import GENERATORS, generator_named
from privacygauge.tables.selection import Vulnerable
from privacygauge.tables.table import Table
from tests.tables.attacks.made_views import auc
from tests.tables.made_tables import table_of
from tests.thorough import times


def with_forest(attack, forest):
    """Return an attack with another forest, if it has one."""
    has = isinstance(getattr(attack, "meta", None), Forest)
    return replace(attack, meta=forest) if has else attack


SUITE = tuple(
    with_forest(attack, Forest(10, 4))
    for attack in dict.fromkeys((*suite_for_few(), *suite_for_many()))
)
"""Every attack that an audit runs by default."""

LEAST = {
    "query-based (at most)": 0.8,
    "query-based (equal)": 1.0,
    "query-based (equal + same bin)": 1.0,
    "closest-distance": 1.0,
}
"""The least AUC of the attacks that look at whole records, where records are copied."""

OPTIONS = {"privbayes": {"epsilon": 1.0}}
"""What a built-in generator cannot be made without."""


def title(attack):
    return f"{attack.name} ({attack.variant})" if attack.variant else attack.name


@dataclass(frozen=True)
class Made:
    """Synthetic tables as they are asked for: writing a run takes longer than making them."""

    making: Making

    def tables(self, numbers):
        """Return the tables with these numbers."""
        found = np.stack([self.making.table(i).values for i in range(numbers.start, numbers.stop)])
        storage = Storage(self.making.setting.table.schema)
        return storage.joined(storage.split(found))


def played(game, setting, generator, attacks=SUITE):
    """Return by each attack's title its scores of each target."""
    making = Making(game, setting, generator)
    n = len(setting.targets)
    scores = Scoring(making, Made(making), attacks)(Task(0, 0, n))
    assert np.isfinite(scores["released"]).all()  # none was skipped
    blocks = [next(iter(game.blocks(setting, target))) for target in range(n)]
    return {
        title(attack): [
            TargetScores(
                scores["own"][i, j][None],
                block.inside[None],
                scores["released"][i, j],
                block.secret,
                np.arange(block.released.start, block.released.stop),
            )
            for i, block in enumerate(blocks)
        ]
        for j, attack in enumerate(attacks)
    }


@pytest.fixture(scope="module")
def table():
    return table_of(np.random.default_rng(3), 400, 3, 2)


@pytest.mark.slow
@pytest.mark.parametrize("game", [Average(), Shared(), Specific()], ids=lambda game: game.name)
def test_tables_that_ignore_the_records_say_nothing(game, table):
    setting = Setting.of(table, np.array([7, 100]), Sizes(50, times(80), 30), 0)
    for name, found in played(game, setting, Silence()).items():
        # One interval in 10,000 leaves chance out.
        assert not mean_auc_of_records(found, 0.9999).excludes(0.5), name


@pytest.mark.slow
def test_copied_records_are_found():
    rng = np.random.default_rng(3)
    table = table_of(rng, 300, 3, 4)
    targets = Vulnerable()(table, 2, rng).rows
    setting = Setting.of(table, targets, Sizes(100, 40, 30), 0)
    attacks = tuple(with_forest(a, Forest(50, 5)) for a in SUITE if title(a) in LEAST)
    assert len(attacks) == len(LEAST)
    for name, found in played(Average(), setting, Identity(), attacks).items():
        assert min(auc(one.score, one.secret) for one in found) >= LEAST[name], name
        assert min(one.own_auc() for one in found) >= LEAST[name], name


@pytest.mark.slow
def test_neither_other_targets_nor_other_attacks_change_a_score(table):
    rows = np.array([7, 100])
    company = Setting.of(table, rows, Sizes(24, 12, 30), 0)
    alone = Setting.of(table, rows[1:], Sizes(24, 12, 30), 0)
    first = played(Average(), company, BayNet())
    again = played(Average(), alone, BayNet(), SUITE[::-1])
    assert set(first) == set(again)
    for name, (_, one) in first.items():
        (other,) = again[name]
        np.testing.assert_array_equal(one.own, other.own)
        np.testing.assert_array_equal(one.score, other.score)


GUESSES = {
    "its place": lambda inside, t: np.arange(t),
    "whether its place is even": lambda inside, t: np.arange(t) % 2,
    "the adversary's coin at that place": lambda inside, t: np.resize(inside, t) * 1,
    "the coin before": lambda inside, t: np.resize(np.roll(inside, 1), t) * 1,
}
"""What somebody may make of a table who sees everything of a game but the tables."""


@dataclass(frozen=True)
class Alternating(Average):
    """A wrong game: every other table holds the target."""

    def blocks(self, setting, target) -> Iterator[Block]:
        """Return blocks whose secrets are in order."""
        for block in super().blocks(setting, target):
            yield replace(block, secret=np.arange(len(block.secret)) % 2 == 1)


def errors_of(guess, game, table) -> float:
    """Return how many standard errors the mean AUC of a guess is above 1/2."""
    n = 12
    t = 300
    setting = Setting.of(table, np.arange(n), Sizes(t, t, 20), 0)
    areas = []
    for target in range(n):
        blocks = list(game.blocks(setting, target))
        secret = np.concatenate([block.secret for block in blocks])
        areas.append(auc(guess(blocks[0].inside, len(secret)), secret))
    return (np.mean(areas) - 0.5) / np.sqrt((t + 1) / (3 * t * t) / n)


@pytest.mark.parametrize("guess", GUESSES.values(), ids=GUESSES)
@pytest.mark.parametrize("game", GAMES.values(), ids=lambda g: f"{g.name}-{g.knowledge}")
def test_who_sees_all_but_the_tables_knows_nothing(guess, game, table):
    assert abs(errors_of(guess, game, table)) < 4


def test_a_game_whose_places_tell_is_caught(table):
    assert errors_of(GUESSES["whether its place is even"], Alternating(), table) > 10


@dataclass(frozen=True)
class First:
    """A wrong generator: it keeps the records that come first."""

    def generate(self, table, n, rng):
        """Return the first records, again and again."""
        return table[np.arange(n) % (len(table) // 2)]


def moments(table: Table) -> np.ndarray:
    """Return means and mean products of the columns, and how many numbers are missing."""
    values = np.nan_to_num(table.values)
    gaps = np.isnan(table.values)
    pairs = values[:, :, None] * values[:, None, :]
    upper = np.triu_indices(values.shape[1])
    return np.concatenate([values.mean(axis=0), pairs.mean(axis=0)[upper], gaps.mean(axis=0)])


def most_errors(generator, table: Table, other: Table) -> float:
    """Return by how many standard errors synthetic tables of two tables differ, at most."""
    n = times(120)
    first, second = (
        np.array([moments(generator.generate(t, 50, stream(0, side, i))) for i in range(n)])
        for side, t in enumerate((table, other))
    )
    error = np.sqrt((first.var(axis=0) + second.var(axis=0)) / n)
    gaps = np.abs(first.mean(axis=0) - second.mean(axis=0))
    # What never varies must be equal, but for the rounding of sums.
    return float((gaps / np.maximum(error, 1e-9 * (1 + np.abs(first.mean(axis=0))))).max())


ORDERED = table_of(np.random.default_rng(8), 80, 2, 2, missing=0.1, levels=9)
ORDERED = ORDERED[np.lexsort(ORDERED.values.T)]
SHUFFLED = ORDERED[np.random.default_rng(0).permutation(80)]


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATORS)
def test_the_order_of_the_records_changes_no_distribution(name):
    generator = generator_named(name, **OPTIONS.get(name, {}))
    # 18 numbers are compared: of t with over 50 degrees of freedom 5.5 is one chance in 10^4.
    assert most_errors(generator, ORDERED, SHUFFLED) < 5.5


def test_a_generator_that_keeps_the_first_records_is_caught():
    assert most_errors(First(), ORDERED, SHUFFLED) > 5.5


@pytest.mark.parametrize("name", GENERATORS)
def test_named_generators_return_the_schemas_table_and_draw_from_what_they_are_given(name):
    generator = generator_named(name, **OPTIONS.get(name, {}))
    made, again, other = (
        generator.generate(SHUFFLED, 40, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert made.schema == SHUFFLED.schema
    assert len(made) == 40
    np.testing.assert_array_equal(made.values, again.values)
    assert not np.array_equal(made.values, other.values, equal_nan=True)
