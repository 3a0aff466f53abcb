from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report import numbers


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value, low, high, 0.95, 100, "test")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.6155, "61.6%"),
        (0.6905, "69.1%"),
        (0.781, "78.1%"),
        (0.0005, "0.1%"),
        (0.00049999, "0.0%"),
        (1.0, "100.0%"),
        (0.0, "0.0%"),
        (-0.0, "0.0%"),
        (-0.0005, "-0.1%"),
        (-0.0001, "0.0%"),
    ],
)
def test_percentages_are_rounded_half_up(value: float, shown: str) -> None:
    assert numbers.percent(value) == shown


def test_every_percentage_with_two_decimals_is_rounded_as_by_hand() -> None:
    for hundredths in range(10_001):
        tenths = (hundredths + 5) // 10
        assert numbers.percent(hundredths / 10_000) == f"{tenths // 10}.{tenths % 10}%"


def test_an_interval_stands_behind_its_number() -> None:
    shown = numbers.percent_estimate(estimate(0.781, 0.762, 0.7985))
    assert str(shown) == "78.1% (76.2 to 79.9)"


def test_small_rates_have_more_decimals() -> None:
    assert str(numbers.percent_estimate(estimate(0.0, 0.0, 0.0037))) == "0.00% (0.00 to 0.37)"
    assert str(numbers.percent_estimate(estimate(1e-4, 0.0, 5e-4))) == "0.010% (0.000 to 0.050)"
    assert str(numbers.percent_estimate(estimate(0.0, 0.0, 0.0))) == "0.0% (0.0 to 0.0)"


@pytest.mark.parametrize(
    ("value", "shown"), [(1e-4, "0.01%"), (1e-5, "0.001%"), (0.1, "10%"), (0.95, "95%")]
)
def test_rates_have_the_digits_that_they_need(value: float, shown: str) -> None:
    assert numbers.rate(value) == shown


def test_keys_are_plain_decimals() -> None:
    assert [numbers.key(x) for x in (0.1, 0.001, 0.0001, 0.00001)] == [
        "0.1",
        "0.001",
        "0.0001",
        "0.00001",
    ]


def test_counts_have_thin_spaces() -> None:
    assert numbers.count(1_000_000) == "1,000,000"
    assert numbers.count(999) == "999"


def test_what_was_skipped_is_a_dash() -> None:
    assert str(numbers.percent_estimate(Skipped("x", "no reason"))) == "-"
    assert str(numbers.decimal_estimate(Skipped("x", "no reason"))) == "-"


def test_infinity_is_a_sign() -> None:
    assert numbers.decimal_estimate(Estimate(1.5, 1.0, math.inf, 0.95, 9, "test")).high == "∞"


@given(st.floats(0, 20))
def test_a_lower_bound_is_never_rounded_up(value: float) -> None:
    assert float(numbers.rounded_down(value)) <= value


def test_text_cannot_steer_a_terminal_or_a_page() -> None:
    assert numbers.plain("a\x1b[31mb\nc\u202ed\x00\te") == "a\ufffd[31mb c\ufffdd\ufffd e"
    assert numbers.plain("Ünï 東京 1\u202f000") == "Ünï 東京 1\u202f000"
