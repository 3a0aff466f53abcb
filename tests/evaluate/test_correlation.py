"""Correlations, with intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.rates import correlation, correlation_p_value, rank_correlation
from tests.laws.draws import SEEDS
from tests.thorough import times


@given(SEEDS, st.sampled_from([0.5, 0.95, 0.999]))
def test_the_correlation_is_pearsons_with_fishers_interval(seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    x = rng.normal(size=n)
    y = rng.normal(size=n) + rng.choice([-2, 0, 2]) * x
    expected = stats.pearsonr(x, y)
    found = correlation(x, y, level)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(expected.statistic)
    interval = expected.confidence_interval(level)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert correlation_p_value(found) == pytest.approx(expected.pvalue, abs=1e-12)
    assert found.n == n


def test_points_on_a_line_are_fully_correlated() -> None:
    for sign in (1, -1):
        found = correlation(np.arange(5.0), sign * np.arange(5.0))
        assert found.value == pytest.approx(sign)
        assert -1 <= found.low <= found.high <= 1
        assert correlation_p_value(found) == pytest.approx(0, abs=1e-12)


def test_without_enough_points_or_variation_there_is_no_correlation() -> None:
    few = correlation(np.arange(3.0), np.arange(3.0))
    assert few == Skipped("correlation", "fewer than 4 classes with members and non-members (3)")
    for x, y in ((np.ones(5), np.arange(5.0)), (np.arange(5.0), np.ones(5))):
        flat = correlation(x, y)
        assert flat == Skipped("correlation", "one of the two does not vary over the classes")


@given(SEEDS, st.sampled_from([0.5, 0.95]))
def test_the_rank_correlation_is_spearmans(seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    x = rng.integers(0, 9, n).astype(float)
    y = rng.normal(size=n)
    found = rank_correlation(x, y, level)
    if np.ptp(x) == 0:
        assert isinstance(found, Skipped)
        return
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert -1 <= found.low <= found.value <= found.high <= 1
    # Only the order counts.
    assert rank_correlation(np.exp(x), y, level) == found
    z = stats.norm.ppf((1 + level) / 2) * np.sqrt((1 + found.value**2 / 2) / (n - 3))
    ends = np.tanh(np.arctanh(found.value) - z), np.tanh(np.arctanh(found.value) + z)
    assert (found.low, found.high) == pytest.approx(ends)


@pytest.mark.parametrize("n", [4, 5, 30])
def test_equal_or_turned_ranks_are_fully_correlated(n: int) -> None:
    for sign in (1, -1):
        found = rank_correlation(np.arange(float(n)), sign * np.arange(float(n)) ** 3)
        assert isinstance(found, Estimate)
        assert found.value == pytest.approx(sign)
        assert min(abs(found.low), abs(found.high)) > 1 - 1e-6
        assert -1 <= found.low <= found.high <= 1


def test_the_interval_of_a_rank_correlation_covers_it() -> None:
    rng = np.random.default_rng(0)
    rho = 0.6
    games = times(1000)
    n = 30
    truth = 6 / np.pi * np.arcsin(rho / 2)  # of normal pairs
    held = 0
    for _ in range(games):
        x = rng.normal(size=n)
        y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)
        found = rank_correlation(x, y)
        held += found.low <= truth <= found.high
    # Approximate: 93% at the least, five deviations of so many games below.
    assert held / games > 0.93 - 5 * np.sqrt(0.93 * 0.07 / games)


def test_without_enough_points_there_is_no_rank_correlation() -> None:
    few = rank_correlation(np.arange(3.0), np.arange(3.0))
    assert few == Skipped("rank correlation", "fewer than 4 records, or one side does not vary")
