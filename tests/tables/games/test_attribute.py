"""Attribute inference as a game: who has which value, and generators whose leak is known."""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from privacygauge.errors import InputError
from privacygauge.tables.attacks.density import ClosestDistance, DensityRatio
from privacygauge.tables.distance import Minkowski
from privacygauge.tables.frames import read_table
from privacygauge.tables.games.attribute import (
    Attribute,
    AuxiliaryData,
    ExactData,
    play_attribute,
    possible_values,
    value_names,
)
from privacygauge.tables.games.games import Setting, Sizes
from privacygauge.tables.generators.generator import Identity, Silence
from privacygauge.tables.table import Table
from tests.thorough import THOROUGH, quarter

SIZES = Sizes(shadows=18, tests=30, records=40)
KNOWS = pytest.mark.parametrize("data", [AuxiliaryData(), ExactData()], ids=lambda x: x.name)


@functools.cache
def people(seed=0, n=300):
    """Return people of whom the town tells the illness: that is no leak about anyone."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, n)
    return read_table(
        pd.DataFrame(
            {
                "age": rng.uniform(18, 90, n),
                "town": np.array(list("ABC"))[town],
                "illness": np.array(["none", "one", "two"])[town],
                "income": rng.gamma(2.0, 100.0, n),
            }
        )
    )


@KNOWS
def test_the_target_is_in_every_table_with_the_value_that_was_drawn(data):
    table = people()
    setting = Setting.of(table, np.array([7, 100]), SIZES, 0)
    game = Attribute("illness", (0.0, 1.0, 2.0), data)
    game.check(setting)
    assert game.n_tables(setting) == 2 * 48
    company = []
    for number in range(game.n_tables(setting)):
        target, place = divmod(number, 48)
        side, place = ("shadow", place) if place < 18 else ("test", place - 18)
        record = table.values[setting.targets[target]].copy()
        record[2] = game.secret(setting, target, side)[place]
        learnt = game.training_set(setting, number, None).values
        there = (learnt == record).all(axis=1)
        assert (len(learnt), there.sum()) == (40, 1)
        # Nobody else has the target's other values.
        assert (learnt[:, 0] == record[0]).sum() == 1
        company.append(frozenset(map(tuple, learnt[~there])))
    assert len(set(company[:48])) == (1 if data.name == "exact" else 48)
    known = {tuple(row) for row in game.known(setting, 0).values}
    assert tuple(table.values[7]) not in known
    for number in (0, 20):
        shared = company[number] & known
        own = data.name == "exact" or number < 18
        assert shared == (company[number] if own else set())


@KNOWS
def test_the_value_of_a_person_stands_in_all_records_that_had_it(data):
    """The third record of the person has another value, which stays."""
    table = people()
    values = table.values.copy()
    values[[7, 8, 9]] = values[7]
    values[[8, 9], 0] += [0.25, 0.5]
    values[9, 2] = (values[7, 2] + 1) % 3
    table = Table(table.schema, values)
    unit = np.arange(300)
    unit[[7, 8, 9]] = 7
    setting = Setting.of(table, np.array([7]), SIZES, 0, unit)
    game = Attribute("illness", (0.0, 1.0, 2.0), data)
    game.check(setting)
    for number in range(game.n_tables(setting)):
        learnt = game.training_set(setting, number, None).values
        side, place = ("shadow", number) if number < 18 else ("test", number - 18)
        drawn = game.secret(setting, 0, side)[place]
        own = [learnt[learnt[:, 0] == age] for age in values[[7, 8, 9], 0]]
        assert [len(rows) for rows in own] == [1, 1, 1]
        assert [rows[0, 2] for rows in own] == [drawn, drawn, values[9, 2]]
        assert len(learnt) == 40


def test_every_value_is_as_likely_whatever_the_others_are():
    table = people()
    setting = Setting.of(table, np.arange(40), Sizes(18, 90, 40), 0)
    game = Attribute("illness", (0.0, 1.0, 2.0))
    drawn = np.concatenate([game.secret(setting, i, "test") for i in range(40)])
    error = 4 * np.sqrt(2 / 9 / len(drawn))
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), 1 / 3, atol=error)
    own = [np.bincount(game.secret(setting, i, "shadow")) for i in range(40)]
    assert (np.array(own) == 6).all()


@pytest.mark.parametrize(
    ("column", "data"), [("illness", AuxiliaryData()), ("income", ExactData())], ids=str
)
def test_copies_tell_every_value(column, data):
    attack = ClosestDistance(distance=Minkowski(2))
    game = Attribute(column, possible_values(people(), column), data)
    options = {"sizes": Sizes(60, 30, 40), "attacks": (attack,)}
    found = play_attribute(Identity(), people(), [7], game, **options)
    assert found.chance == 1 / len(possible_values(people(), column))
    assert found.right.shape == (1, 30)
    assert found.accuracy.value > 0.95
    assert found.accuracy.low > found.chance
    assert found.targets[0] == found.accuracy


@dataclass(frozen=True)
class Strangers:
    """Draws from people who are not in the table: it knows how columns go together, and nobody."""

    name = "strangers"

    def describe(self):
        return {}

    def generate(self, table, n, rng):
        others = people(10**6, 100)
        low, high, _, _ = table.schema.limits
        values = np.clip(others.values[rng.integers(len(others), size=n)], low, high)
        return Table(table.schema, values)


@pytest.mark.slow
@pytest.mark.parametrize(
    "generator", [Silence(), Strangers()] if THOROUGH else [Strangers()], ids=lambda g: g.name
)
def test_what_columns_tell_of_each_other_is_no_leak(generator):
    """The town tells the illness of everybody but the target, whose illness a die decides."""
    games = quarter(200)  # every target has tables and dice of its own
    found = play_attribute(
        generator,
        people(n=1200),
        np.arange(games),
        "illness",
        sizes=Sizes(24, 40, 40),
        attacks=(DensityRatio(), ClosestDistance()),
    )
    beyond = sum(one.low > found.chance for one in found.targets)
    assert not found.accuracy.excludes(found.chance)
    assert beyond <= binom.ppf(0.999, games, 0.025)


def test_the_values_of_a_column():
    table = people()
    assert possible_values(table, "illness") == (0.0, 1.0, 2.0)
    found = possible_values(table, "age")
    assert len(found) == 5
    assert set(found) <= set(table.values[:, 0])
    assert possible_values(table, "illness", ["two", "none"]) == (2.0, 0.0)
    rare = np.arange(300) % 100 == 0
    flags = read_table(pd.DataFrame({"flag": rare.astype(int), "age": table.values[:, 0]}))
    assert possible_values(flags, "flag") == (0.0, 1.0)
    days = pd.DataFrame({"day": ["2024-01-31", "2024-02-01"] * 20, "x": range(40)})
    table = read_table(days)
    assert value_names(table, "day", possible_values(table, "day")) == ("2024-01-31", "2024-02-01")
    assert possible_values(table, "day", ["2024-01-31", "2024-02-01"]) == (19753.0, 19754.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": (1.0,)}, "a secret must have at least two values"),
        ({"values": (1.0, 1.0)}, "a secret must have at least two values"),
        ({"values": (0.0, 7.0)}, r"column 'illness' must hold codes in 0\.\.2, got 7"),
        ({"column": "sex"}, "attribute names 'sex', which is not a column"),
        ({"sizes": Sizes(8, 30, 40)}, "3 values need at least 12 tables .*, got 8"),
        ({"sizes": Sizes(18, 30, 290)}, "the game needs 290 records"),
        ({"level": 1.5}, "level must be in"),
        ({"targets": [300]}, r"targets must lie in 0\.\.299"),
    ],
)
def test_bad_input_is_one_line(change, message):
    options = {"targets": [7], "column": "illness", "sizes": SIZES, **change}
    targets = options.pop("targets")
    column = options.pop("column")
    values = options.pop("values", None)

    def play():
        secret = column if values is None else Attribute(column, values)
        return play_attribute(Silence(), people(), targets, secret, **options)

    with pytest.raises(InputError, match=message):
        play()
