import re
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.tables import queries
from privacygauge.tables.queries import (
    all_query_counts,
    bitmap_query_counts,
    bitmaps,
    bits_of,
    masks,
    sampled_subsets,
    some_query_counts,
)

DTYPES = (np.float64, np.float32, np.int64, np.int16, np.uint8, np.bool_)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def naive_mask(row, target, at_most):
    conditions = zip(row, target, at_most, strict=True)
    met = [value <= bound if below else value == bound for value, bound, below in conditions]
    return sum(1 << j for j, meets in enumerate(met) if meets)


def naive_count(rows, target, at_most, attributes):
    """Return how many rows meet each named condition, with no mask in between."""
    return sum(
        all(row[j] <= target[j] if at_most[j] else row[j] == target[j] for j in attributes)
        for row in rows
    )


def naive_answers(row_masks, n_features):
    return [sum(int(m) & a == a for m in row_masks) for a in range(1 << n_features)]


def attributes(subset, n_features):
    return [j for j in range(n_features) if subset >> j & 1]


@st.composite
def tables(draw, most_features=7, sets=False):
    """Return rows (n, F) or (k, n, F), a target (F,), and which attributes take "<="."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(0, 12))
    n_features = draw(st.integers(1, most_features))
    shape = (draw(st.integers(1, 4)), n, n_features) if sets else (n, n_features)
    dtype = draw(st.sampled_from(DTYPES))
    rows = rng.integers(0, 4, shape).astype(dtype)
    return rows, rng.integers(0, 4, n_features).astype(dtype), rng.random(n_features) < 0.5


@st.composite
def masked(draw):
    """Return masks of k data sets, (k, n), and F."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_features = draw(st.integers(0, 8))
    shape = draw(st.integers(1, 5)), draw(st.integers(0, 30))
    return rng.integers(0, 1 << n_features, shape).astype(np.uint32), n_features


@given(tables())
def test_a_mask_has_a_bit_for_each_condition_that_a_row_meets(table):
    rows, target, at_most = table
    got = masks(rows, target, at_most)
    assert got.dtype == np.uint32
    assert got.tolist() == [naive_mask(row, target, at_most) for row in rows]


@given(tables(sets=True))
def test_masks_of_many_data_sets_are_those_of_each(table):
    rows, target, at_most = table
    each = [masks(one, target, at_most).tolist() for one in rows]
    assert masks(rows, target, at_most).tolist() == each


@given(tables(most_features=5))
def test_answers_count_the_rows_that_meet_every_condition_of_a_subset(table):
    rows, target, at_most = table
    n_features = len(target)
    got = all_query_counts(masks(rows, target, at_most), n_features)
    assert got.tolist() == [
        naive_count(rows, target, at_most, attributes(a, n_features))
        for a in range(1 << n_features)
    ]


@given(masked())
def test_answers_of_many_data_sets_are_those_of_each(case):
    sets, n_features = case
    got = all_query_counts(sets, n_features)
    assert got.shape == (len(sets), 1 << n_features)
    assert got.tolist() == [naive_answers(one, n_features) for one in sets]
    assert got.tolist() == [all_query_counts(one, n_features).tolist() for one in sets]


@given(masked(), st.integers(0, 2**32 - 1))
def test_sampled_answers_are_taken_from_all_answers(case, seed):
    sets, n_features = case
    subsets = np.random.default_rng(seed).integers(0, 1 << n_features, 9)
    whole = all_query_counts(sets, n_features)
    assert np.array_equal(some_query_counts(sets, subsets, n_features), whole[:, subsets])
    assert np.array_equal(some_query_counts(sets[0], subsets, n_features), whole[0, subsets])


@given(masked(), st.sampled_from([1, 2, 5, 64]))
def test_the_size_of_a_block_changes_nothing(case, size):
    sets, n_features = case
    whole = all_query_counts(sets, n_features)
    taken = some_query_counts(sets, [0], n_features)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "BLOCK", size)
        assert np.array_equal(all_query_counts(sets, n_features), whole)
        assert np.array_equal(some_query_counts(sets, [0], n_features), taken)


@given(tables(most_features=10, sets=True), st.sampled_from([1, 3, 64]))
def test_the_size_of_a_block_changes_no_mask_and_no_bitmap(table, size):
    rows, target, at_most = table
    subsets = sampled_subsets(len(target), 30, 1, np.random.default_rng(0))

    def found():
        counts = bitmap_query_counts(bitmaps(rows, target, at_most), subsets)
        return masks(rows, target, at_most).tolist(), counts.tolist()

    whole = found()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "BLOCK", size)
        assert found() == whole


@given(masked(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_no_answer_and_one_row_adds_one_to_what_it_meets(case, seed):
    sets, n_features = case
    rng = np.random.default_rng(seed)
    before = all_query_counts(sets[0], n_features)
    assert np.array_equal(all_query_counts(rng.permutation(sets[0]), n_features), before)
    row = int(rng.integers(1 << n_features))
    after = all_query_counts(np.append(sets[0], np.uint32(row)), n_features)
    assert (after - before).tolist() == [int(row & a == a) for a in range(1 << n_features)]


@given(masked())
def test_a_larger_subset_is_met_by_no_more_rows(case):
    sets, n_features = case
    counts = all_query_counts(sets, n_features)
    assert np.all(counts[:, 0] == sets.shape[1])
    for j in range(n_features):
        numbers = np.arange(1 << n_features)
        without = numbers[numbers >> j & 1 == 0]
        assert np.all(counts[:, without | 1 << j] <= counts[:, without])


@pytest.mark.parametrize("n_features", [0, 1, 2, 3, 9, 13, 16])
def test_answers_equal_a_count_of_each_subset_of_the_masks(rng, n_features):
    rows = rng.integers(0, 1 << n_features, 150).astype(np.uint32)
    got = all_query_counts(rows, n_features)
    subsets = np.unique(rng.integers(0, 1 << n_features, 300)).astype(np.uint32)
    expected = np.count_nonzero(rows & subsets[:, None] == subsets[:, None], axis=1)
    assert np.array_equal(got[subsets], expected)
    # Both sides summed over all subsets: a row that meets j conditions is in 2^j answers.
    assert got.sum(dtype=int) == np.sum(1 << np.bitwise_count(rows).astype(int))


@pytest.mark.parametrize("n", [32_767, 32_768, 70_000])
def test_many_equal_rows_carry_nothing_over_to_other_subsets(n):
    counts = all_query_counts(np.full(n, 0b1011, np.uint32), 4)
    assert counts.dtype == (np.int16 if n < 32_768 else np.int32)
    assert counts.tolist() == [n if 0b1011 & a == a else 0 for a in range(16)]
    packed = bitmaps(np.tile([1, 1, 0, 1], (n, 1)), np.ones(4), np.zeros(4, bool))
    assert bitmap_query_counts(packed, [[0, 1, 3], [0, 1, 2], [3, 3, 3]]).tolist() == [n, 0, n]


def test_counts_have_room_for_more_rows_than_32_bits_can_number():
    # So many rows fit into no test: their type is all there is to see.
    assert queries.count_dtype(2**31 - 1) is np.int32
    assert queries.count_dtype(2**31) is np.int64


def test_a_data_set_without_rows_answers_zero():
    assert all_query_counts([], 2).tolist() == [0, 0, 0, 0]
    assert some_query_counts(np.zeros((2, 0), int), [0, 3], 2).tolist() == [[0, 0], [0, 0]]
    empty = bitmaps(np.zeros((0, 2)), [1, 1], [True, False])
    assert bitmap_query_counts(empty, [[0, 1]]).tolist() == [0]


def test_the_worked_example_of_a_condition_at_its_bound():
    rows = [[1, 40], [1, 41], [2, 40], [2, 39.5]]
    assert masks(rows, [1, 40], [False, True]).tolist() == [3, 1, 2, 2]
    assert masks(rows, [1, 40], [False, False]).tolist() == [3, 1, 2, 0]


def test_values_of_another_type_are_compared_as_numbers():
    rows = np.array([[-1000, 300], [1, 2]], np.int64)
    assert masks(rows, np.array([1, 2], np.uint8), [True, False]).tolist() == [1, 3]
    assert masks(rows, [0.5, 2.5], [True, True]).tolist() == [1, 2]


def test_infinities_are_numbers_and_what_is_no_number_meets_nothing():
    rows = [[-np.inf, np.inf, np.nan, np.nan, 0.0]]
    target = [-np.inf, np.inf, 0.0, np.nan, np.nan]
    for at_most in (True, False):
        every = np.full(5, at_most)
        assert masks(rows, target, every).tolist() == [0b00011]


def test_thirty_two_attributes_fill_a_mask(rng):
    rows = rng.integers(0, 2, (50, 32))
    got = masks(rows, np.ones(32), np.zeros(32, bool))
    assert got.tolist() == [sum(1 << j for j in range(32) if row[j]) for row in rows]


def test_an_input_is_left_as_it_was(rng):
    rows = rng.integers(0, 3, (20, 4)).astype(float)
    target = np.ones(4)
    rows.flags.writeable = target.flags.writeable = False
    found = masks(rows, target, np.ones(4, bool))
    found.flags.writeable = False
    packed = bitmaps(rows, target, np.ones(4, bool))
    packed.flags.writeable = False
    assert np.array_equal(all_query_counts(found, 4), all_query_counts(found, 4))
    assert np.array_equal(
        bitmap_query_counts(packed, [[0, 1]]), bitmap_query_counts(packed, [[0, 1]])
    )


@given(tables(most_features=9, sets=True), st.integers(0, 2**32 - 1))
def test_bitmaps_count_as_the_naive_loop_does(table, seed):
    rows, target, at_most = table
    n_features = len(target)
    rng = np.random.default_rng(seed)
    subsets = sampled_subsets(n_features, 12, min(4, n_features), rng)
    packed = bitmaps(rows, target, at_most)
    assert packed.shape == (len(rows), n_features, -(-rows.shape[1] // 64))
    expected = [[naive_count(one, target, at_most, row) for row in subsets] for one in rows]
    assert bitmap_query_counts(packed, subsets).tolist() == expected
    assert bitmap_query_counts(packed[0], subsets).tolist() == expected[0]


@given(tables(most_features=12, sets=True), st.integers(0, 2**32 - 1))
def test_masks_and_bitmaps_give_the_same_answers(table, seed):
    rows, target, at_most = table
    n_features = len(target)
    kept = masks(rows, target, at_most)
    packed = bitmaps(rows, target, at_most)
    subsets = sampled_subsets(n_features, 20, n_features, np.random.default_rng(seed))
    expected = some_query_counts(kept, bits_of(subsets), n_features)
    assert np.array_equal(bitmap_query_counts(packed, subsets), expected)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_many_attributes_and_many_rows_are_counted(rng, n):
    met = rng.random((n, 50)) < 0.7
    packed = bitmaps(met, np.ones(50), np.zeros(50, bool))
    subsets = sampled_subsets(50, 3000, 3, rng)
    assert (
        bitmap_query_counts(packed, subsets).tolist()
        == met[:, subsets].all(axis=2).sum(axis=0).tolist()
    )


@pytest.mark.parametrize(("n_features", "most"), [(1, 1), (4, 4), (6, 3), (9, 2)])
def test_every_subset_comes_once_where_all_fit(rng, n_features, most):
    subsets = sampled_subsets(n_features, 10_000, most, rng)
    assert subsets.shape[1] == most
    found = [tuple(sorted(set(row))) for row in subsets.tolist()]
    wanted = [c for size in range(1, most + 1) for c in combinations(range(n_features), size)]
    assert sorted(found) == sorted(wanted)


@given(st.integers(2, 200), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_drawn_subsets_are_different_and_ascending(n_features, most, seed):
    most = min(most, n_features)
    subsets = sampled_subsets(n_features, 40, most, np.random.default_rng(seed))
    possible = sum(comb(n_features, size) for size in range(1, most + 1))
    assert len(subsets) == min(40, possible)
    assert len(np.unique(subsets, axis=0)) == len(subsets)
    assert subsets.min() >= 0
    assert subsets.max() < n_features
    for row in subsets.tolist():
        named = sorted(set(row))
        assert row == named + [named[-1]] * (most - len(named))


def test_subsets_are_drawn_evenly():
    # 800 draws of 5 of 10 pairs and singles each: every one of them comes in half of the draws,
    # 400 times with a standard deviation of 14.1; 5 of them are 71.
    rng = np.random.default_rng(5)
    drawn = np.concatenate([bits_of(sampled_subsets(4, 5, 2, rng)) for _ in range(800)])
    times = np.unique(drawn, return_counts=True)[1]
    assert len(times) == 10
    assert np.all(np.abs(times - 400) < 71)


def test_the_same_generator_draws_the_same_subsets():
    first, again, other = (
        sampled_subsets(30, 50, 4, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_largest_ranks_are_exact():
    # There are 2^62 - 1 subsets, more than a float can tell apart.
    subsets = sampled_subsets(62, 2000, 62, np.random.default_rng(0))
    sizes = np.array([len(set(row)) for row in subsets.tolist()])
    assert np.all(np.diff(subsets, axis=1) >= 0)
    # Sizes are binomial with 62 trials of 1/2: mean 31, and .088 is the mean's standard error.
    assert abs(sizes.mean() - 31) < 5 * 0.088


def test_bits_of_subsets_count_a_repeated_attribute_once():
    assert bits_of([[0, 2, 2], [31, 31, 31]]).tolist() == [5, 1 << 31]


REFUSED = {
    "rows must have the shape (n, F) or (k, n, F), got (2,)": lambda: masks([1, 2], [1], [True]),
    "rows must have at least one attribute, got none": lambda: masks(np.zeros((2, 0)), [], []),
    "target must have the shape (F,) = (2,), got (1,)": lambda: masks([[1, 2]], [1], [True]),
    "at_most must have 2 rows, got 1": lambda: masks([[1, 2]], [1, 2], [True]),
    "rows must hold numbers (categories as codes), got <U1": lambda: masks([["a"]], [1], [True]),
    "target must hold numbers (categories as codes)": lambda: masks([[1]], ["a"], [True]),
    "rows must have at most 32 attributes to be masks, got 33: use bitmaps": lambda: masks(
        np.zeros((1, 33)), np.zeros(33), np.zeros(33, bool)
    ),
    "n_features must be in 0..24, got 25: count a sample of the queries on bitmaps": lambda: (
        all_query_counts([1], 25)
    ),
    "masks must lie in 0..2^2 - 1, got values from 1 to 4: is n_features right?": lambda: (
        all_query_counts([1, 4], 2)
    ),
    "masks must lie in 0..2^2 - 1, got values from -1 to 0": lambda: all_query_counts([-1, 0], 2),
    "masks must hold integers, got float64": lambda: all_query_counts([1.0], 2),
    "masks must have the shape (n,) or (k, n), got (1, 1, 1)": lambda: all_query_counts([[[1]]], 2),
    "subsets must lie in 0..2^2 - 1, got values from 4 to 4": lambda: some_query_counts(
        [1], [4], 2
    ),
    "subsets must have the shape (q,), got (1, 1)": lambda: some_query_counts([1], [[1]], 2),
    "bitmaps must be uint64 of the shape (F, w) or (k, F, w), got int64 and (1, 1)": lambda: (
        bitmap_query_counts([[1]], [[0]])
    ),
    "subsets must name attributes in 0..1, got 0 to 2": lambda: bitmap_query_counts(
        np.zeros((2, 1), np.uint64), [[0, 2]]
    ),
    "subsets must be integers of the shape (q, most), got int64 and (2,)": lambda: bits_of([0, 2]),
    "n_features and n_queries must be at least 1, got 3 and 0": lambda: sampled_subsets(
        3, 0, 1, np.random.default_rng(0)
    ),
    "most must be in 1..n_features = 1..3, got 4": lambda: sampled_subsets(
        3, 1, 4, np.random.default_rng(0)
    ),
    "most must leave fewer than 2^63 subsets of 64 attributes, got 64: take a smaller": lambda: (
        sampled_subsets(64, 1, 64, np.random.default_rng(0))
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_an_input_that_breaks_a_rule_is_refused(message):
    with pytest.raises(InputError, match=re.escape(message)):
        REFUSED[message]()
