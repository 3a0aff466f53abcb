"""People and their visits: one record a person, as a loop over the people makes it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import privacygauge as pg
from privacygauge.errors import InputError
from privacygauge.tables.attacks.density import ClosestDistance, MarginalRatio
from privacygauge.tables.games.games import GAMES, Setting, Sizes
from privacygauge.tables.games.releases import Making
from privacygauge.tables.generators.adapters import Call, FitSample
from privacygauge.tables.generators.named import generator_named
from privacygauge.tables.related import Related, over, per_person, takes_tables
from tests.thorough import THOROUGH, times


def made(rng, n=30):
    """Return people, some of them without a visit, and visits with gaps."""
    people = pd.DataFrame({"id": rng.permutation(n) + 100, "age": rng.integers(18, 90, n)})
    m = 3 * n
    visits = pd.DataFrame(
        {
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, m), "D"),
            "id": rng.choice(people["id"][:-4], m),
            "cost": np.round(rng.gamma(2.0, 50.0, m), 1),
            "ward": rng.choice(list("abc"), m),
        }
    )
    gaps = rng.random((m, 2)) < 0.3
    return people, visits.assign(
        cost=visits["cost"].mask(gaps[:, 0]), ward=visits["ward"].mask(gaps[:, 1])
    )


@pytest.mark.parametrize("seed", range(3))
def test_each_person_has_what_a_loop_finds(seed):
    people, visits = made(np.random.default_rng(seed))
    found, schema = per_person(people, visits, "id")
    assert schema.names == ("day", "cost", "ward")
    pd.testing.assert_frame_equal(found[["id", "age"]], people)
    for _, one in found.iterrows():
        own = visits[visits["id"] == one["id"]]
        assert one["rows"] == len(own)
        costs = own["cost"].dropna()
        wanted = [costs.min(), costs.mean(), costs.max()] if len(costs) else [np.nan] * 3
        np.testing.assert_allclose(
            [one[f"cost {x}"] for x in ("least", "mean", "largest")], wanted, rtol=1e-12
        )
        if len(own):
            days = (own["day"] - pd.Timestamp("1970-01-01")).dt.days
            assert (one["day least"], one["day largest"]) == (days.min(), days.max())
        counts = Counter(own["ward"].dropna())
        assert one["ward kinds"] == len(counts)
        best = sorted(counts, key=lambda x: (-counts[x], x))
        assert one["ward most frequent"] == best[0] if best else pd.isna(one["ward most frequent"])


def test_neither_the_order_of_rows_nor_the_keys_themselves_matter():
    rng = np.random.default_rng(4)
    people, visits = made(rng)
    found, schema = per_person(people, visits, "id")
    mixed = visits.sample(frac=1.0, random_state=1)
    named = [frame.assign(id="p" + frame["id"].astype(str)) for frame in (people, mixed)]
    again, _ = per_person(*named, "id", schema=schema)
    pd.testing.assert_frame_equal(found.drop(columns="id"), again.drop(columns="id"))


def test_what_is_a_number_in_the_real_table_is_one_in_others():
    people, visits = made(np.random.default_rng(5))
    _, schema = per_person(people, visits.assign(ward=1), "id", schema=None)
    found, _ = per_person(people, visits.assign(ward="3"), "id", schema=schema)
    assert found["ward mean"].dropna().unique().tolist() == [3.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, v: (p.drop(columns="id"), v), "key names 'id', which is not a column"),
        (lambda p, v: (p, v.drop(columns="id")), "key names 'id', which is not a column"),
        (lambda p, v: (p.assign(id=1), v), "must name each person once, got 1 in row 1"),
        (lambda p, v: (p, v.assign(id=7)), "must name a person, got 7 in row 0"),
        (lambda p, v: (p.assign(rows=1), v), "column 'rows' is in both tables"),
    ],
)
def test_keys_that_do_not_fit_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        per_person(*change(*made(np.random.default_rng(0))), "id")


def test_one_record_a_person_may_have_whatever_rows_there_may_be():
    people, visits = made(np.random.default_rng(6))
    related = Related.of(people, visits, "id")
    table = related.table()
    found, _ = per_person(people, visits, "id")
    shown = table.to_frame()
    assert list(shown) == list(found.drop(columns="id"))
    for name in ("rows", "cost least", "cost mean", "ward kinds", "day largest"):
        np.testing.assert_array_equal(shown[name].astype(float), found[name].astype(float))
    columns = {c.name: c for c in table.schema.columns}
    assert columns["ward most frequent"].categories == ("a", "b", "c")
    assert columns["cost mean"].high == visits["cost"].max()
    assert columns["cost mean"].missing


@dataclass
class Seen:
    """A function of tables that remembers what it was given."""

    given: list[dict[str, pd.DataFrame]]

    def __call__(self, tables, n, seed):
        self.given.append(tables)
        return tables


@pytest.mark.parametrize("game", GAMES.values(), ids=lambda game: f"{game.name}-{game.knowledge}")
def test_all_rows_of_a_person_are_in_or_out_with_the_person(game):
    people, visits = made(np.random.default_rng(7), n=150)
    related = Related.of(people, visits, "id")
    setting = Setting.of(related.table(), np.arange(40), Sizes(4, 4, 30, 30), seed=0)
    seen = Seen([])
    making = Making(game, setting, over(Call(seen), related))
    if game.knowledge == "synthetic":
        with pytest.raises(InputError, match="learns from real people alone"):
            making.table(1)
        return
    for number in (0, 3, 4, 7):  # the first and last shadow and test table
        making.table(number)
        tables = seen.given[-1]
        dealt = game.training_set(setting, number, making.table)
        assert tables["people"]["id"].tolist() == people["id"][dealt.people].tolist()
        own = visits[visits["id"].isin(tables["people"]["id"])]
        np.testing.assert_array_equal(tables["rows"]["cost"], own["cost"])
        np.testing.assert_array_equal(tables["rows"]["id"], own["id"])


def anybody(n, rng):
    """Return people that nobody has anything to do with."""
    columns = {"age": rng.integers(18, 90, n), "sex": rng.choice(["f", "m"], n)}
    return pd.DataFrame({"id": np.arange(n), **columns})


def any_rows(n, rng):
    """Return rows of n such people."""
    m = 3 * n
    rows = {"cost": rng.integers(0, 500, m), "ward": rng.choice(list("abc"), m)}
    return pd.DataFrame({"id": rng.integers(0, n, m), **rows})


def copied_rows(tables, n, seed):
    """Return made-up people with the rows of the real ones."""
    people = anybody(n, np.random.default_rng(seed))
    return {"people": people.assign(id=tables["people"]["id"].to_numpy()), "rows": tables["rows"]}


def made_up_rows(tables, n, seed):
    """Return made-up people with made-up rows."""
    rng = np.random.default_rng(seed)
    return {"people": anybody(n, rng), "rows": any_rows(n, rng)}


@pytest.mark.slow
def test_a_game_finds_a_leak_that_only_the_rows_have_and_none_where_there_is_none():
    rng = np.random.default_rng(8)
    related = Related.of(anybody(600, rng), any_rows(600, rng), "id")

    def auc(generator, data):
        sizes = {"shadows": times(80), "tests": 80, "size": 60}
        attacks = [MarginalRatio(), ClosestDistance()]
        game = None if THOROUGH else "shared"  # the same tables for all targets
        played = pg.audit_synthetic(generator, data, targets=3, game=game, attacks=attacks, **sizes)
        return played.headline.auc

    leaking, silent = (over(Call(f), related) for f in (copied_rows, made_up_rows))
    assert auc(leaking, related.table()).low > 0.8
    null = auc(silent, related.table())
    assert null.low < 0.5
    assert null.high < 0.65
    # The people's table alone shows nothing of it.
    alone = auc(
        lambda _, n, seed: anybody(n, np.random.default_rng(seed)).drop(columns="id"),
        related.people,
    )
    assert alone.low < 0.5


def test_one_table_is_learnt_where_a_generator_takes_one():
    related = Related.of(*made(np.random.default_rng(9)), "id")
    one = Call(lambda frame, n, seed: frame)
    assert over(one, related) is one
    assert takes_tables(Call(copied_rows))
    assert not takes_tables(one)
    assert not takes_tables(generator_named("baynet"))


class FittedToTables:
    """An object as those of SDV, of several tables."""

    def fit(self, tables):
        self.tables = tables

    def sample(self, num_rows, main_table_name):
        assert main_table_name == "people"
        people = copied_rows(self.tables, num_rows, 0)["people"].drop(columns="sex")
        return {**self.tables, "people": people}


def test_an_object_that_is_fitted_to_tables_is_asked_for_people():
    related = Related.of(*made(np.random.default_rng(9)), "id")
    table = related.table()
    found = over(FitSample(FittedToTables), related).generate(table, 30, np.random.default_rng(0))
    np.testing.assert_array_equal(found.values[:, 1:], table.values[:, 1:])
    assert not np.array_equal(found.values[:, 0], table.values[:, 0])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda t: t["people"], "must return a dict of the tables 'people' and 'rows', got DataFr"),
        (lambda t: {"people": t["people"]}, "got people"),
        (lambda t: {**t, "rows": t["rows"].assign(id=-1)}, "wrong tables: .*must name a person"),
        (lambda t: {**t, "rows": 3}, "wrong tables: a table must be a pandas"),
        (lambda t: {**t, "rows": t["rows"].drop(columns="cost")}, "wrong tables: .*'cost'"),
        (lambda t: {**t, "people": t["people"].iloc[:3]}, "wrong tables|as many records"),
        (lambda t: {**t, "rows": t["rows"].assign(ward="z")}, "a category of the schema, got 'z'"),
    ],
)
def test_tables_that_do_not_fit_are_refused_by_name(returned, message):
    def mine(tables, n, seed):
        return returned(tables)

    related = Related.of(*made(np.random.default_rng(9)), "id")
    with pytest.raises(InputError, match=f"generator '.*mine' .*({message})"):
        over(Call(mine), related).generate(related.table(), 30, np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_hma_of_sdv_is_a_generator_of_tables():
    multi_table = pytest.importorskip("sdv.multi_table", reason="sdv is not installed")
    people, visits = made(np.random.default_rng(9), n=60)
    related = Related.of(people, visits, "id")
    hma = over(FitSample(multi_table.HMASynthesizer), related)
    assert len(hma.generate(related.table(), 50, np.random.default_rng(0))) == 50
