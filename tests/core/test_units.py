"""Units: numbers of people, what their rows are worth, and rows that are equal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.core import units
from privacygauge.errors import InputError

LABELS = st.lists(st.integers(0, 8), min_size=1, max_size=30)


@given(LABELS)
def test_numbers_keep_who_is_who_and_count_from_0_in_order(labels):
    number = units.number_units(labels)
    assert number[0] == 0
    assert len(set(zip(number.tolist(), labels, strict=True))) == len(set(labels))
    first = [int(np.flatnonzero(number == i)[0]) for i in range(len(set(labels)))]
    assert first == sorted(first)


@given(LABELS)
def test_rows_are_worth_their_units_at_most_and_one_at_least(labels):
    worth = units.worth(np.array(labels))
    assert 1 <= worth <= len(set(labels))


def test_units_of_one_size_are_worth_their_number():
    assert units.worth(np.repeat(np.arange(7), 5)) == 7
    assert units.worth(np.arange(7)) == 7
    assert units.worth(np.array([0] * 90 + [*range(1, 11)])) == 1


def test_names_of_any_type_are_numbered():
    expected = [0, 1, 0]
    for labels in (["b", "a", "b"], [2.5, 1.0, 2.5], np.array(["b", 3, "b"], object)):
        assert units.number_units(labels).tolist() == expected


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_name_is_refused(missing):
    labels = np.array(["a", missing, "b"], object)
    with pytest.raises(InputError, match="unit must have a value in every row, got none in row 1"):
        units.number_units(labels)


def test_pandas_missing_name_is_refused():
    pd = pytest.importorskip("pandas")
    labels = pd.array(["a", None], dtype="string").to_numpy()
    with pytest.raises(InputError, match="got none in row 1"):
        units.number_units(labels)


def test_equal_rows_share_a_fingerprint_and_others_do_not():
    rng = np.random.default_rng(0)
    rows = rng.random((5000, 3))
    found = units.fingerprints(np.concatenate([rows, rows + 1e-9, -0.0 * rows, 0.0 * rows]))
    first, again, zero, other_zero = np.split(found, 4)
    assert np.mean(first == again) > 0.99  # one in a hundred rounds to the other side
    assert len(np.unique(first)) == 5000
    assert np.array_equal(zero, other_zero)


def test_permuted_rows_are_different():
    found = units.fingerprints(np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [2.0, 1.0, 3.0]]))
    assert len(np.unique(found)) == 3


def test_a_unit_is_on_both_sides_in_all_its_rows():
    member = np.array([True, False, True, False])
    assert units.on_both_sides(np.array([0, 0, 1, 2]), member).tolist() == [
        True,
        True,
        False,
        False,
    ]


def test_the_foremost_rows_are_one_a_unit():
    values = np.array([0.1, 0.9, 0.8, 0.9])
    unit = np.array([4, 3, 3, 5])
    assert units.foremost(values, unit, 2).tolist() == [1, 3]
    assert units.foremost(values, None, 3).tolist() == [1, 3, 2]


def test_a_deal_by_row_is_seldom_taken_for_one_by_unit():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(60), rng.integers(1, 9, 60))
    found = [units.dealt_by_row(unit, rng.random(len(unit)) < 0.4) for _ in range(300)]
    assert np.mean(found) >= 0.97


@pytest.mark.parametrize(("rows", "wrong"), [(2, 0.0), (2, 0.1), (10, 0.0), (10, 0.1), (10, 0.25)])
def test_units_on_one_side_with_exceptions_are_no_deal_by_row(rows, wrong):
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(100), rows)
    for _ in range(50):
        whole = (rng.random(100) < 0.5)[unit]
        assert not units.dealt_by_row(unit, whole ^ (rng.random(len(unit)) < wrong))


def test_a_deal_within_each_unit_is_one_by_row():
    unit = np.repeat(np.arange(80), 4)
    assert units.dealt_by_row(unit, np.tile([True, True, False, False], 80))
    # One row of each unit was held out.
    assert units.dealt_by_row(unit, np.tile([True, True, True, False], 80))


def test_units_of_one_row_share_in_the_deal():
    """A tenth of the rows of units and half of the others are no deal over all rows."""
    rng = np.random.default_rng(4)
    unit = np.append(np.repeat(np.arange(200), 3), np.arange(200, 1000))
    few, half = rng.random(600) < 0.1, rng.random(800) < 0.5
    assert not units.dealt_by_row(unit, np.append(few, half))
    assert units.dealt_by_row(unit, np.append(few, rng.random(800) < 0.1))


def test_too_few_units_of_several_rows_show_no_deal_by_row():
    member = np.arange(400) % 2 == 0
    assert not units.dealt_by_row(np.arange(400), member)
    # Three pairs across the sides, as where a few people came twice.
    unit = np.arange(400)
    unit[[1, 3, 5]] = 0, 2, 4
    assert not units.dealt_by_row(unit, member)
    assert not units.dealt_by_row(np.repeat(np.arange(9), 5), np.ones(45, bool))


def test_a_file_of_one_unit_was_dealt_by_row():
    assert units.dealt_by_row(np.zeros(50, int), np.arange(50) < 20)


def test_the_deal_depends_on_neither_names_nor_order():
    rng = np.random.default_rng(2)
    unit = np.repeat(np.arange(50), 6)
    member = rng.random(300) < 0.5
    order = rng.permutation(300)
    one = units.dealt_by_row(unit, member)
    assert one == units.dealt_by_row(unit[order] * 7 + 3, member[order])
