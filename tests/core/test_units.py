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
