"""Canaries in a few fits: coins, company, and generators whose leak is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from privacygauge.core.seeds import stream
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.canaries import guessed_in_fits
from privacygauge.evaluate.claim_bounds import bound_of
from privacygauge.tables.few_fits_audit import FewFits, Fits, canary_scores
from privacygauge.tables.frames import read_table
from privacygauge.tables.games.games import Setting
from privacygauge.tables.games.releases import Making
from privacygauge.tables.generators.generator import BayNet, Identity, Marginals, Silence
from tests.tables.made_tables import table_of
from tests.thorough import quarter

GAME = FewFits()


@pytest.fixture(scope="module")
def table():
    return table_of(np.random.default_rng(5), 300, 2, 3, missing=0.05)


def setting_of(table, n=40, records=200, fits=2, seed=0, unit=None):
    sizes = Fits(tests=fits, records=records)
    return Setting.of(table, np.arange(n), sizes, seed, unit)


def none(number):
    raise AssertionError("no fit asks for another")


def holds(learnt, record):
    gaps = np.isnan(record)
    return bool(((learnt.values == record) | (np.isnan(learnt.values) & gaps)).all(1).any())


def guessed(setting, generator):
    making = Making(GAME, setting, generator)
    tables = np.stack([making.table(k).values for k in range(setting.sizes.tests)])
    coins = GAME.coins(setting)
    found = guessed_in_fits(canary_scores(setting, tables), coins, setting.seed)
    played = Transcript(found.score.ravel(), found.secret.ravel())
    return found, bound_of(played, setting.seed, 0.95)


def test_a_canary_is_in_a_fit_if_its_coin_says_so(table):
    setting = setting_of(table, fits=4)
    for number, coins in enumerate(GAME.coins(setting)):
        learnt = GAME.training_set(setting, number, none)
        assert len(learnt) == 200
        inside = [holds(learnt, table.values[row]) for row in setting.targets]
        np.testing.assert_array_equal(inside, coins)


def test_turning_one_coin_replaces_the_records_of_one_person(table, monkeypatch):
    unit = np.arange(300)
    unit[40:50] = np.arange(10)  # ten canaries have a second record
    setting = setting_of(table, unit=unit, fits=1)
    coins = GAME.coins(setting)
    before = GAME.training_set(setting, 0, none).values
    for canary in (3, 20):
        turned = coins.copy()
        turned[0, canary] ^= True
        monkeypatch.setattr(FewFits, "coins", lambda game, setting, turned=turned: turned)
        after = GAME.training_set(setting, 0, none).values
        assert len(after) == len(before)
        rows = [sorted(map(tuple, np.nan_to_num(x, nan=-1.0))) for x in (before, after)]
        gone = [row for row in rows[0] if row not in rows[1]]
        assert len(gone) == setting.records_of_each[canary]


def test_coins_are_fair_and_differ_from_fit_to_fit(table):
    coins = GAME.coins(setting_of(table, n=100, fits=100, records=200))
    error = 4 * 0.5 / np.sqrt(coins.size)
    assert coins.mean() == pytest.approx(0.5, abs=error)
    assert (coins[1:] == coins[:-1]).mean() == pytest.approx(0.5, abs=error)


@pytest.mark.parametrize("fits", [1, 3])
def test_copies_are_told_and_so_is_what_repeats_values(fits):
    numbers = np.random.default_rng(1).normal(size=(300, 4))
    table = read_table(pd.DataFrame(numbers, columns=list("abcd")))
    found, bound = guessed(setting_of(table, n=100, records=190, fits=fits), Identity())
    assert found.auc.value > 0.99
    # Coins seldom put exactly half in: that much is lost, and hardly more.
    lost = np.mean([abs(2 * fit.sum() - len(fit)) / (2 * len(fit)) for fit in found.secret])
    assert found.accuracy.value > 1 - lost - 0.02
    assert found.accuracy.low > 0.8
    assert bound.estimate.low > 0.7 * bound.largest > 0
    values, _ = guessed(setting_of(table, n=100, records=190, fits=fits), Marginals())
    assert values.attack == "value-ratio"
    assert values.accuracy.low > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("fits", [1, 3])
def test_a_generator_that_ignores_its_records_tells_nothing(fits):
    games = quarter(240)
    above = np.zeros(3)
    for seed in range(games):
        people = table_of(stream(seed, "few fits", "people"), 150, 2, 2)
        setting = setting_of(people, n=40, records=80, fits=fits, seed=seed)
        different = setting.first == np.arange(40)
        setting = Setting.of(people, np.flatnonzero(different), setting.sizes, seed)
        found, bound = guessed(setting, Silence())
        above += found.accuracy.low > 0.5, found.auc.low > 0.5, bound.estimate.low > 0
    most = [binom.ppf(0.999, games, error) for error in (0.025, 0.025, 0.05)]
    assert (above <= most).all(), above / games


def test_an_attack_never_sees_a_coin(table, monkeypatch):
    setting = setting_of(table, fits=1)
    making = Making(GAME, setting, BayNet())
    tables = making.table(0).values[None]
    before = canary_scores(setting, tables)
    monkeypatch.setattr(FewFits, "coins", none)
    for name, score in canary_scores(setting, tables).items():
        np.testing.assert_array_equal(score, before[name])
        assert score.shape == (1, 40)


def test_what_cannot_be_played_is_said_at_once(table):
    with pytest.raises(InputError, match="at least 20 canaries are needed"):
        GAME.check(setting_of(table, n=10))
    with pytest.raises(InputError, match="the game needs 290 records beside the canaries"):
        GAME.check(setting_of(table, records=290))
    with pytest.raises(InputError, match="canaries of 40 records do not fit into 30"):
        GAME.check(setting_of(table, records=30))
    with pytest.raises(InputError, match="different records of different people"):
        GAME.check(setting_of(table, unit=np.arange(300) // 2))
    with pytest.raises(InputError, match="tests must be at least 1, got 0"):
        Fits(tests=0)
    with pytest.raises(InputError, match="of different names"):
        canary_scores(setting_of(table), np.zeros((0, 1, 5)), ())
