from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError


def test_what_is_checked_is_a_read_only_copy() -> None:
    for check, given in (
        (checks.floats, np.array([0.0, 1.0])),
        (checks.bools, np.array([False, True])),
        (checks.integers, np.array([0, 1])),
    ):
        result = check(given, "x")
        assert not result.flags.writeable
        given[0] = 1
        assert result[0] == 0


def test_a_column_counts_as_a_vector() -> None:
    assert checks.floats([[1.0], [2.0]], "x").tolist() == [1.0, 2.0]


def test_whole_floats_are_integers_and_zeros_and_ones_are_booleans() -> None:
    assert checks.integers([1.0, -2.0], "x").tolist() == [1, -2]
    assert checks.bools([1.0, 0.0], "x").tolist() == [True, False]
    assert checks.integers([], "x").dtype == np.int64


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (checks.floats, [1.0, np.nan], "x must be finite, got nan in row 1"),
        (checks.floats, [np.inf], "x must be finite, got inf in row 0"),
        (checks.floats, ["a"], "x must hold numbers, got <U1"),
        (checks.floats, [[1.0, 2.0]], r"x must have the shape \(n,\), got \(1, 2\)"),
        (checks.floats, 1.0, r"x must have the shape \(n,\), got \(\)"),
        (checks.bools, [0, 2], r"x must be true or false \(or 1 and 0\), got 2 in row 1"),
        (checks.bools, [np.nan], "x must be true or false .* got nan in row 0"),
        (checks.bools, ["yes"], "x must be true or false .* got <U3"),
        (checks.integers, [0, 0.5], "x must be integers, got 0.5 in row 1"),
        (checks.integers, [np.inf], "x must be integers, got inf in row 0"),
        (checks.integers, ["1"], "x must be integers, got <U1"),
        (checks.classes, [0, 3, -2], "x must be at least 0, got -2 in row 2"),
        (checks.classes, [0, -1, -2], "x must be at least 0, got -1 in row 1"),
        (checks.floats, [0.0, np.inf, np.nan], "x must be finite, got inf in row 1"),
        (checks.integers, [0.5, 1.5], "x must be integers, got 0.5 in row 0"),
        (checks.bools, [1, 3, 2], r"x must be true or false \(or 1 and 0\), got 3 in row 1"),
    ],
)
def test_a_bad_value_is_named_with_its_row(check, value, message) -> None:
    with pytest.raises(InputError, match=f"^{message}$"):
        check(value, "x")


def test_a_wrong_length_is_named() -> None:
    with pytest.raises(InputError, match=r"^x must have 2 rows, got 3$"):
        checks.floats([1.0, 2.0, 3.0], "x", length=2)


@pytest.mark.parametrize("value", [0.0, 1.0, 1.5, -0.1, float("nan")])
def test_a_level_lies_strictly_between_0_and_1(value: float) -> None:
    with pytest.raises(InputError, match=r"^level must be in \(0, 1\), got"):
        checks.level(value)


def test_a_list_for_a_message_shows_the_first_values() -> None:
    assert checks.short_list([1, 2, 3]) == "1, 2, 3"
    assert checks.short_list(range(10)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert checks.short_list(range(11)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..."
    assert checks.short_list("abc", most=1) == "a, ..."
    assert checks.short_list([]) == ""


@pytest.mark.parametrize(
    "values",
    [
        [],
        [3],
        [3, 3],
        [0, 1, 2],
        [0, 2, 1, 2],
        [2, 1, 0],
        [0, 1, 1, 2],
        [1, 1, 1],
        [5, 9, 7],
        [-1, 2, -1],
        [0, 10**15, 0],
    ],
)
def test_distinct_values_are_counted(values) -> None:
    assert checks.n_distinct(np.array(values, np.int64)) == len(set(values))


def test_what_is_read_only_already_is_not_copied() -> None:
    once = checks.frozen(np.arange(3.0))
    assert checks.frozen(once) is once
    view = np.arange(3.0)[:2]
    view.flags.writeable = False
    assert checks.frozen(view) is not view
    assert checks.floats(once, "x") is once


def test_a_wide_table_is_no_vector_and_a_column_must_have_the_length() -> None:
    with pytest.raises(InputError, match=r"^x must have the shape \(n,\), got \(2, 2\)$"):
        checks.vector(np.zeros((2, 2)), "x")
    with pytest.raises(InputError, match=r"^x must have the shape \(n,\), got \(2, 1, 1\)$"):
        checks.vector(np.zeros((2, 1, 1)), "x")
    with pytest.raises(InputError, match=r"^x must have 3 rows, got 2$"):
        checks.vector(np.zeros((2, 1)), "x", length=3)


def test_the_level_comes_back_and_may_have_another_name() -> None:
    assert checks.level(0.25) == 0.25
    with pytest.raises(InputError, match=r"^share must be in \(0, 1\), got 2$"):
        checks.level(2, "share")


def test_classes_begin_at_zero() -> None:
    assert checks.classes([0, 2], "x").tolist() == [0, 2]
    assert checks.classes([], "x").tolist() == []


@pytest.mark.parametrize("value", [Estimate(0.5, 0.4, 0.6, 0.95, 9, "made up"), "0.5", [0.5]])
def test_what_turns_to_float_is_no_number_for_that(value) -> None:
    with pytest.raises(InputError, match="level must be a number in"):
        checks.level(value)
    assert checks.level(np.float32(0.5)) == 0.5
