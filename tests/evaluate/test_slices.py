from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate import decision
from privacygauge.evaluate.slices import (
    MOST_GROUPS,
    SliceTable,
    column_groups,
    deciles,
    find_slices,
    holm,
    id_groups,
    number_groups,
)
from tests.laws.draws import SEEDS, few_values
from tests.thorough import quarter, times


def game(n: int, rng: np.random.Generator, *, leaks: float = 0.0, common: float = 0.0):
    """Return guesses and three columns; in the value 3 of one of them, guesses are better."""
    secret = rng.permutation(np.arange(n) < n // 2)
    columns = {
        "class": rng.integers(10, size=n),
        "confidence": deciles(rng.random(n)),
        "site": rng.integers(5, size=n),
    }
    right = rng.random(n) < 0.5 + common + leaks * (columns["site"] == 3)
    return Decisions(right == secret, secret), columns


@pytest.mark.slow
def test_on_noise_no_slice_is_announced_in_95_of_100_games() -> None:
    rng = np.random.default_rng(2)
    announced = [bool(find_slices(*game(1000, rng), "a").announced) for _ in range(quarter(400))]
    assert sum(announced) <= stats.binom.isf(1e-3, quarter(400), 0.05)


@pytest.mark.slow
def test_many_small_slices_are_announced_no_more_often_on_noise() -> None:
    # 60 slices of 12 members and 12 non-members each: far in the tail of few records.
    rng = np.random.default_rng(3)
    secret = np.arange(480) < 240
    groups = np.tile(np.arange(20), 12)
    announced = 0
    for _ in range(quarter(400)):
        columns = {
            name: np.concatenate([rng.permutation(groups), rng.permutation(groups)])
            for name in "abc"
        }
        guesses = Decisions(rng.random(480) < 0.5, secret)
        announced += bool(find_slices(guesses, columns, "a").announced)
    assert announced <= stats.binom.isf(1e-3, quarter(400), 0.05)


@pytest.mark.slow
def test_where_all_records_leak_alike_no_slice_is_announced() -> None:
    rng = np.random.default_rng(4)
    games = times(200)
    dealt = (game(1000, rng, common=0.3) for _ in range(games))
    announced = [bool(find_slices(*g, "a").announced) for g in dealt]
    assert sum(announced) <= stats.binom.isf(1e-4, games, 0.05)


def test_a_planted_slice_is_found_and_nothing_else() -> None:
    table = find_slices(*game(2000, np.random.default_rng(0), leaks=0.3), "a")
    (found,) = table.announced
    assert (found.column, found.group) == ("site", "3")
    assert found.p_value < 1e-6
    assert found.excess == pytest.approx(0.3, abs=0.06)
    assert table.slices[0] is found


def test_a_slice_that_leaks_less_is_not_announced() -> None:
    rng = np.random.default_rng(0)
    table = find_slices(*game(2000, rng, leaks=-0.3, common=0.3), "a")
    assert "3" not in {s.group for s in table.announced if s.column == "site"}


@pytest.mark.slow
def test_a_slice_of_mere_chance_is_no_leak_where_the_rest_is_worse_than_chance() -> None:
    rng = np.random.default_rng(6)
    n = quarter(400)
    tables = [find_slices(*game(1000, rng, common=-0.2, leaks=0.2), "a") for _ in range(n)]
    assert any(table.announced for table in tables)  # more than the rest it is
    assert sum(bool(table.shown) for table in tables) <= stats.binom.isf(1e-3, n, 0.0125)


def test_every_slice_holds_its_own_numbers() -> None:
    guesses, columns = game(600, np.random.default_rng(1), leaks=0.2)
    table = find_slices(guesses, columns, "confidence (global)", 0.9)
    assert (table.attack, table.level) == ("confidence (global)", 0.9)
    assert len(table.slices) == 25
    for s in table.slices:
        rows = columns[s.column].astype(str) == s.group
        inside, outside = (
            Decisions(guesses.guess[r], guesses.secret[r], guesses.target[r]) for r in (rows, ~rows)
        )
        assert (s.n_in, s.n_out) == (inside.n_in, inside.n_out)
        # Bonferroni: all 25 intervals hold together.
        assert s.accuracy == decision.balanced_accuracy(inside, 1 - 0.1 / 25)
        rest = decision.balanced_accuracy(outside).value
        assert s.excess == pytest.approx(s.accuracy.value - rest)
        assert s.announced == (s.p_value <= 0.1)
    assert [s.accuracy.low for s in table.slices] == sorted(
        (s.accuracy.low for s in table.slices), reverse=True
    )


@pytest.mark.slow
def test_all_intervals_hold_together() -> None:
    rng = np.random.default_rng(5)
    held = 0
    games = times(200)
    for _ in range(games):
        table = find_slices(*game(1000, rng, common=0.2), "a")
        held += all(not s.accuracy.excludes(0.7) for s in table.slices)
    assert held >= stats.binom.ppf(1e-4, games, 0.95)


def test_p_values_fall_as_the_excess_grows() -> None:
    def p_value(hits: int) -> float:
        secret = np.arange(200) % 2 == 0
        wrong = np.concatenate([np.arange(100) >= hits, np.arange(100) >= 50])
        table = find_slices(Decisions(secret ^ wrong, secret), {"half": np.arange(200) // 100}, "a")
        return next(s.p_value for s in table.slices if s.group == "0")

    found = [p_value(hits) for hits in (50, 60, 70, 80)]
    assert found == sorted(found, reverse=True)
    # Two slices: Holm doubles the smaller.
    assert found[3] == pytest.approx(2 * stats.norm.sf(0.3 / np.sqrt(2 * 0.65 * 0.35 / 100)), rel=1)


def chance_of(guesses: Decisions, rows: np.ndarray) -> float:
    """Return how often a slice like the rest has an excess as large, by counting all outcomes."""
    sides = []
    for side in (guesses.secret, ~guesses.secret):
        right = guesses.guess == guesses.secret
        n = int(np.sum(side & rows))
        rest = int(np.sum(side & ~rows))
        hits = int(np.sum(side & right))
        seen = int(np.sum(side & right & rows))
        law = stats.hypergeom(n + rest, hits, n)
        outcomes = {
            k: (Fraction(k, n) - Fraction(hits - k, rest), law.pmf(k)) for k in range(n + 1)
        }
        sides.append((outcomes, outcomes[seen][0]))
    (one, a), (other, b) = sides
    return sum(p * q for x, p in one.values() for y, q in other.values() if x + y >= a + b)


@given(SEEDS)
@settings(max_examples=times(30))
def test_p_values_are_exact_given_how_many_were_guessed_rightly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Sizes with many ties between outcomes, and guesses that may all be right on one side.
    groups = np.tile(np.arange(3), 22) if rng.random() < 0.5 else rng.integers(3, size=66)
    secret = rng.permutation(66) < 33
    wrong = rng.random(66) < np.where(secret, rng.choice([0.0, 0.3]), 0.5)
    guesses = Decisions(secret ^ wrong, secret)
    table = find_slices(guesses, {"g": groups}, "a")
    raw = {s.group: chance_of(guesses, groups.astype(str) == s.group) for s in table.slices}
    expected = dict(zip(raw, holm(np.array(list(raw.values()))), strict=True))
    assert {s.group: s.p_value for s in table.slices} == pytest.approx(expected, abs=1e-9)


@given(SEEDS)
def test_holm_is_the_step_down_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.random(rng.integers(1, 12)) ** 3
    p[rng.random(len(p)) < 0.2] = p[0]
    # Hypotheses by rising p-value are rejected until the first that is not below its share.
    for level in (0.01, 0.05, 0.3):
        rejected = set()
        for rank, i in enumerate(np.argsort(p, kind="stable")):
            if p[i] * (len(p) - rank) > level:
                break
            rejected.add(i)
        assert set(np.flatnonzero(holm(p) <= level)) == rejected
    assert (holm(p) >= p).all()
    assert (holm(p) <= 1).all()


@given(SEEDS, st.integers(1, 200))
def test_deciles_part_no_equal_values_and_keep_the_order(seed: int, n: int) -> None:
    values = few_values(n, np.random.default_rng(seed))
    names = deciles(values)
    groups = [values[names == name] for name in dict.fromkeys(names[np.argsort(values)])]
    assert len(groups) <= 10
    for one, other in pairwise(groups):
        assert one.max() < other.min()


def test_deciles_are_tenths() -> None:
    names = deciles(np.random.default_rng(0).permutation(1000) / 1000)
    counts = np.unique(names, return_counts=True)[1]
    assert len(counts) == 10
    assert counts.min() >= 99
    assert "0 to 0.099" in names


@given(SEEDS, st.integers(1, 5000))
def test_a_fiftieth_at_either_end_is_a_group_of_its_own(seed: int, n: int) -> None:
    values = np.random.default_rng(seed).permutation(n).astype(float)
    plain, cut = (len(set(deciles(values, end))) for end in (0.0, 0.02))
    names = deciles(values, 0.02)
    if n < 1500:
        # Groups of a few records could not be judged.
        assert cut == plain
    else:
        assert cut == plain + 2
        assert abs(np.count_nonzero(names == names[np.argmax(values)]) - n / 50) <= 1


def test_whole_numbers_of_many_values_are_codes_and_quantities() -> None:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, size=3000)
    sliced, left_out = column_groups({"age": age, "site": rng.integers(12, size=3000)})
    assert list(sliced) == ["age", "age (ranges)", "site"]
    assert left_out == []
    assert len(set(sliced["age"])) == 72
    ranges = sliced["age (ranges)"]
    assert len(set(ranges)) == 12
    assert 0.01 <= np.mean(ranges == ranges[age == 89][0]) <= 0.04


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (["C01-1", "C02-2", "C01-3"], ["C01", "C02", "C01"]),
        (["AB12", "AB13", "Z9"], ["AB", "AB", "Z"]),
        (["2020/17", "2021/1", "2020/3"], ["2020", "2021", "2020"]),
        (["C01-1", "C01-2", "C01-3"], None),
        (["C01-1", "7", "C01-3"], None),
        (["1", "2", "3"], None),
        ([f"{k:x}-0" for k in range(MOST_GROUPS + 1)], None),
    ],
)
def test_ids_are_grouped_by_what_all_begin_with(ids: list[str], found: list[str] | None) -> None:
    groups = id_groups(np.array(ids))
    assert (None if groups is None else groups.tolist()) == found
    assert id_groups(np.arange(3)) is None


def test_deciles_of_one_value_are_one_group() -> None:
    assert set(deciles(np.full(5, 2.0))) == {"2"}


def test_deciles_whose_names_look_alike_stay_apart() -> None:
    names = deciles(1 + np.arange(100) * 1e-9)
    assert len(set(names)) == 10


def test_a_value_that_most_records_have_is_a_tenth_of_its_own() -> None:
    amount = np.concatenate([np.zeros(920), np.arange(1.0, 81)])
    names = deciles(amount)
    assert set(names[amount == 0]) == {"0"}
    assert set(names[amount > 0]) == {"1 to 80"}


@given(SEEDS, st.sampled_from([2, 4, 30, 150]), st.sampled_from([0, 0.02, 0.5]))
def test_codes_are_groups_however_they_are_stored(seed: int, n_codes: int, gaps: float) -> None:
    """A column of integers that has a gap is one of floats."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, n_codes, 300)
    missing = rng.random(300) < gaps
    names = number_groups(np.where(missing, np.nan, code), 200)
    assert (names[missing] == "missing").all()
    for stored in (code, code.astype(np.float64), code.astype(np.float32), code.astype(np.uint8)):
        assert (number_groups(stored, 200)[~missing] == names[~missing]).all()
    assert (names[~missing] == code[~missing].astype(str)).all()


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([1.0, 1.3, 1.7] * 50, {"1", "1.3", "1.7"}),
        ([0.0, np.inf] * 50, {"0", "inf"}),
        ([np.nan] * 5, {"missing"}),
        ([], set()),
        (np.arange(300), {f"{30 * i} to {30 * i + 29}" for i in range(10)}),
    ],
)
def test_groups_of_numbers(values: list[float], groups: set[str]) -> None:
    assert set(number_groups(np.array(values, float), 200)) == groups


def test_what_cannot_be_judged_is_skipped_with_the_reason() -> None:
    secret = np.arange(100) % 2 == 0
    guesses = Decisions(secret, secret)
    table = find_slices(
        guesses, {"one": np.zeros(100), "small": np.arange(100) // 95, "many": np.arange(100)}, "a"
    )
    assert table.skipped == (
        Skipped("slices by one", "all records have the same value"),
        Skipped("slices by small", "1 of 2 groups have fewer than 10 members or 10 non-members"),
        Skipped("slices by many", "100 of 100 groups have fewer than 10 members or 10 non-members"),
    )
    assert [(s.column, s.n_in, s.n_out) for s in table.slices] == [("small", 48, 47)]
    nothing = find_slices(guesses, {"many": np.arange(100)}, "a")
    assert nothing == SliceTable("a", 0.95, (), nothing.skipped)


def test_the_level_is_checked() -> None:
    with pytest.raises(InputError, match=r"level must be in \(0, 1\), got 1"):
        find_slices(Decisions([1, 0], [1, 0]), {}, "a", 1)
