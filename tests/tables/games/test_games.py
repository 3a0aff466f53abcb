"""Games on generators: who is in which training set, and that nothing else tells."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.tables.attacks.attack import Answer
from privacygauge.tables.games.games import (
    GAMES,
    Average,
    Setting,
    Shared,
    Sizes,
    Specific,
    enough_tests,
    game_named,
)
from privacygauge.tables.games.releases import Making, Storage, make_releases
from privacygauge.tables.games.scores import score_releases
from privacygauge.tables.generators.generator import Identity, Marginals, Silence
from privacygauge.tables.table import Column, Schema, Table
from tests.tables.made_tables import table_of
from tests.thorough import crossed

SIZES = Sizes(shadows=10, tests=12, records=30)
EVERY = pytest.mark.parametrize("game", GAMES.values(), ids=lambda g: f"{g.name}-{g.knowledge}")


@pytest.fixture(scope="module")
def table():
    return table_of(np.random.default_rng(5), 300, 2, 3, missing=0.05)


@pytest.fixture(scope="module")
def setting(table):
    return Setting.of(table, np.array([7, 100, 3]), SIZES, 0)


def none(number):
    raise AssertionError("no game with records of its own asks for another table")


def copies(table, record):
    same = (table.values == record) | (np.isnan(table.values) & np.isnan(record))
    return np.count_nonzero(same.all(axis=1))


@dataclass(frozen=True)
class Copies:
    """Counts the records that equal the target: perfect where a generator copies."""

    name = "copies"
    variant = ""

    def score(self, view, rng):
        """Return the counts."""
        gaps = np.isnan(view.target)
        own, asked = (
            ((t == view.target) | (np.isnan(t) & gaps)).all(axis=2).sum(axis=1) * 1.0
            for t in (view.shadows, view.released)
        )
        return Answer(own, asked, ("copies were counted",))


@dataclass(frozen=True)
class Never:
    """Cannot be played."""

    name = "never"
    variant = "at all"

    def score(self, view, rng):
        """Return why."""
        return Skipped("never", "it is never played")


def played(game, setting, generator, folder, attacks=(Copies(),), **options):
    making = Making(game, setting, generator)
    releases = make_releases(making, folder, **options)
    return score_releases(making, releases, attacks, folder / "scores", **options)


@EVERY
def test_a_table_holds_the_target_exactly_where_the_secret_says(game, setting):
    making = Making(game, setting, Identity())
    for target, row in enumerate(setting.targets):
        record = setting.table.values[row]
        for block in list(game.blocks(setting, target))[:3]:
            sides = ((block.shadows, block.inside), (block.released, block.secret))
            for numbers, inside in sides:
                for number, expected in zip(
                    range(numbers.start, numbers.stop), inside, strict=True
                ):
                    learnt = game.training_set(setting, number, making.table)
                    if game.knowledge == "synthetic" and numbers is block.shadows:
                        continue  # the released table that it is drawn from may hold the target
                    assert copies(learnt, record) == expected
                    assert len(learnt) == SIZES.records


@EVERY
def test_the_adversary_does_not_know_the_target(game, setting):
    for target, row in enumerate(setting.targets):
        assert copies(game.known(setting, target), setting.table.values[row]) == 0


def test_copies_of_a_target_leave_the_pools(table):
    doubled = Table(table.schema, np.vstack([table.values, table.values]))
    setting = Setting.of(doubled, np.array([7]), SIZES, 0)
    for game in (Average(), Shared(), Specific()):
        block = next(game.blocks(setting, 0))
        for number, inside in enumerate(block.inside):
            learnt = game.training_set(setting, number, none)
            assert copies(learnt, table.values[7]) == inside


@pytest.mark.parametrize("game", [Average(), Specific("auxiliary"), Shared()])
def test_no_record_is_both_in_a_shadow_and_in_a_table_in_question(game, table):
    setting = Setting.of(table, np.array([7]), SIZES, 0)
    keys = {tuple(np.nan_to_num(v, nan=-1)): i for i, v in enumerate(table.values)}
    sides = []
    block = next(game.blocks(setting, 0))
    for numbers in (block.shadows, block.released):
        learnt = [game.training_set(setting, i, none) for i in range(numbers.start, numbers.stop)]
        rows = {keys[tuple(np.nan_to_num(v, nan=-1))] for t in learnt for v in t.values}
        sides.append(rows - {7})
    assert not sides[0] & sides[1]
    assert sides[0]
    assert sides[1]


def test_in_the_specific_game_there_are_two_data_sets_only(setting):
    game = Specific()
    learnt = [game.training_set(setting, i, none).values for i in range(22)]
    assert len({np.nan_to_num(np.sort(v, axis=0), nan=-1).tobytes() for v in learnt}) == 2
    assert len(game.known(setting, 0)) == SIZES.records - 1


def test_tables_are_the_same_whatever_other_targets_there_are(table, setting):
    alone = Setting.of(table, np.array([100]), SIZES, 0)
    for game in (Average(), Specific(), GAMES["average", "synthetic"]):
        a = Making(game, setting, Marginals())
        b = Making(game, alone, Marginals())
        shift = game.n_tables(setting) // 3
        for number in (0, 3, 15):
            np.testing.assert_array_equal(a.table(shift + number).values, b.table(number).values)


def test_coins_of_a_shared_pool_are_fair_and_of_their_own(table):
    setting = Setting.of(table, np.arange(40), Sizes(400, 400, 60), 0)
    own, asked = setting.coins
    assert abs(own.mean() - 0.5) < 0.02  # 16,000 coins: five deviations
    together = np.corrcoef(own.T)[np.triu_indices(40, 1)]
    assert np.abs(together).max() < 0.25  # five deviations of 1/20
    assert not np.array_equal(own, asked)


def test_a_shared_pool_of_the_whole_table_has_no_others_to_fill_up_with(table):
    setting = Setting.of(table, np.arange(len(table)), SIZES, 0)
    game = Shared()
    game.check(setting)
    learnt = game.training_set(setting, 2, none)
    assert len(learnt) == setting.coins[0][2, np.unique(setting.first)].sum()


def test_of_equal_targets_one_is_in_or_none(table):
    doubled = Table(table.schema, np.vstack([table.values, table.values[[7, 9]]]))
    setting = Setting.of(doubled, np.array([7, 8, 9, 300, 301]), SIZES, 0)
    game = Shared()
    for target in range(5):
        block = next(game.blocks(setting, target))
        record = doubled.values[setting.targets[target]]
        for number, inside in enumerate(block.inside):
            assert copies(game.training_set(setting, number, none), record) == inside


@pytest.mark.slow
@EVERY
def test_identity_gives_away_all_and_silence_nothing(game, table, tmp_path):
    setting = Setting.of(table, np.array([7]), SIZES, 0)
    for generator, expected in ((Identity(), 1.0), (Silence(), 0.5)):
        scores = played(game, setting, generator, tmp_path / generator.name)
        for found in scores.of(0):
            assert roc_auc_score(found.secret, found.released) == expected
            assert found.notes == ("copies were counted",)
            assert len(found.secret) == SIZES.tests


@pytest.mark.slow
def test_an_attack_that_cannot_be_played_says_why(setting, tmp_path):
    scores = played(Average(), setting, Silence(), tmp_path, (Never(), Copies()))
    assert list(scores.of(0)) == [Skipped("never (at all)", "it is never played")] * 3
    assert not any(isinstance(found, Skipped) for found in scores.of(1))
    with pytest.raises(InputError, match="two attacks are called 'copies'"):
        played(Average(), setting, Silence(), tmp_path, (Copies(), Copies()))
    with pytest.raises(InputError, match="at least one attack, got none"):
        played(Average(), setting, Silence(), tmp_path, ())


@pytest.mark.slow
def test_a_run_goes_on_and_workers_change_nothing(table, tmp_path):
    setting = Setting.of(table, np.array([7]), SIZES, 0)
    first = played(Average(), setting, Marginals(), tmp_path / "a")
    (tmp_path / "a/observations.zarr/digest/c/3/0").unlink()
    (tmp_path / "a/observations.zarr/codes/c/3/0/0").unlink()
    done = []
    played(Average(), setting, Marginals(), tmp_path / "a", progress=lambda d, n: done.append(d))
    assert done[0] == 22 - 4
    second = played(Average(), setting, Marginals(), tmp_path / "b", n_jobs=2)
    for a, b in zip(first.of(0), second.of(0), strict=True):
        np.testing.assert_array_equal(a.released, b.released)
    with pytest.raises(InputError, match="another run: generator is independent columns there"):
        played(Average(), setting, Silence(), tmp_path / "a")


def test_copies_stay_equal_in_single_precision():
    numbers = Column("x", "continuous", 0.0, 1.0)
    large = Column("y", "integer", 0, 2**30)
    values = np.random.default_rng(0).random((5, 1))
    stored = Storage(Schema((numbers,)))
    assert stored.number == np.float32
    again = stored.joined(stored.split(values[None]))
    np.testing.assert_array_equal(again[0], stored.rounded(values))
    assert Storage(Schema((large,))).number == np.float64
    whole = np.array([[2.0**30], [2.0**24 + 1]])
    stored = Storage(Schema((large,)))
    np.testing.assert_array_equal(stored.joined(stored.split(whole[None]))[0], whole)


@dataclass(frozen=True)
class Wrong:
    """Returns fewer records than it was asked for."""

    name = "wrong"

    def describe(self):
        """Return nothing."""
        return {}

    def generate(self, table, n, rng):
        """Return one record too few."""
        return table[np.arange(n - 1)]


def test_a_generator_must_return_as_many_records_as_asked(setting, tmp_path):
    with pytest.raises(InputError, match="wrong must return 30 records, got 29"):
        played(Average(), setting, Wrong(), tmp_path)


def test_what_cannot_be_played_is_said_at_once(table, tmp_path):
    with pytest.raises(InputError, match=r"targets must lie in 0\.\.299, the rows .*, got 300"):
        Setting.of(table, np.array([300]), SIZES, 0)
    with pytest.raises(InputError, match="targets must differ"):
        Setting.of(table, np.array([3, 3]), SIZES, 0)
    with pytest.raises(InputError, match="at least one record, got none"):
        Setting.of(table, np.array([], int), SIZES, 0)
    with pytest.raises(InputError, match="shadows must be at least 4, got 1"):
        Sizes(shadows=1)
    large = Setting.of(table, np.array([3]), Sizes(10, 10, 250), 0)
    with pytest.raises(InputError, match=r"the game needs 250 records .*--size"):
        Average().check(large)
    Specific().check(large)
    crowd = Setting.of(table, np.arange(100), Sizes(10, 10, 50), 0)
    with pytest.raises(InputError, match="do not fit into 50 records"):
        Shared().check(crowd)
    few = Setting.of(table, np.arange(20), Sizes(64, 4, 50), 0)
    with pytest.raises(InputError, match=r"in 4 tables the coins of a target .*--tests"):
        Shared().check(few)
    with pytest.raises(InputError, match="the game must be one of average, specific, shared"):
        game_named("sharde")
    with pytest.raises(InputError, match="in the shared game knowledge must be one of auxiliary"):
        game_named("shared", "exact")
    assert game_named("specific") == Specific("exact")


def test_enough_tables_for_an_interval():
    # Half-width h of an AUC of 1/2 with T/2 tables a side: z sqrt((T + 1) / (3 T^2)).
    for width in (0.02, 0.05, 0.1):
        n = enough_tests(width)
        assert n % 2 == 0
        assert 1.96 * np.sqrt((n + 1) / (3 * n * n)) <= width
        assert 1.96 * np.sqrt((n - 1) / (3 * (n - 2) ** 2)) > width * 0.99
    with pytest.raises(InputError, match="half_width"):
        enough_tests(0.0)


@pytest.mark.parametrize(("game", "household"), crossed(list(GAMES.values()), [1, 2, 3, 7]))
def test_all_records_of_a_person_are_in_a_table_or_none_is(table, game, household):
    """Whoever the target is; a table is as large in either case, and its other records differ."""
    unit = np.random.default_rng(household).permutation(300) // household
    targets = np.array([7, 100, 3])
    setting = Setting.of(table, targets, SIZES, 0, unit)
    game.check(setting)
    making = Making(game, setting, Identity())
    for target, row in enumerate(targets):
        people = table.values[unit == unit[row]]
        block = next(iter(game.blocks(setting, target)))
        for tables, inside in ((block.shadows, block.inside), (block.released, block.secret)):
            for number, is_in in zip(range(tables.start, tables.stop), inside, strict=True):
                learnt = game.training_set(setting, number, making.table)
                held = [copies(learnt, record) for record in people]
                if game.knowledge == "synthetic" and tables is block.shadows:
                    # Drawn with replacement from a released table, which may hold them too.
                    assert min(held) >= is_in
                    continue
                assert held == [int(is_in)] * household
                assert len(learnt) == SIZES.records


def test_a_household_is_in_by_any_of_its_records(table, tmp_path):
    unit = np.arange(300) // 2
    setting = Setting.of(table, np.array([6, 7]), SIZES, 0, unit)
    first, second = played(Shared(), setting, Identity(), tmp_path).of(0)
    for one, other in zip(first.answers, second.answers, strict=True):
        assert set(one.own) == set(one.released) == {0, 1}
        assert np.array_equal(one.own, other.own)
        assert np.array_equal(one.released, other.released)


def test_a_person_of_too_many_records_is_refused(table):
    unit = np.minimum(np.arange(300), 250)
    setting = Setting.of(table, np.array([290, 3]), SIZES, 0, unit)
    for game in GAMES.values():
        with pytest.raises(InputError, match=r"more|do not fit"):
            game.check(setting)


def test_targets_of_one_person_share_a_coin(table):
    unit = np.arange(len(table)) // 2
    setting = Setting.of(table, np.array([6, 7, 12]), SIZES, 0, unit)
    for coins in setting.coins:
        assert np.array_equal(coins[:, 0], coins[:, 1])
        assert not np.array_equal(coins[:, 0], coins[:, 2])
