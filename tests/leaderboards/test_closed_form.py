"""The closed forms against integrals, limits and the numbers that were checked by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from privacygauge.errors import InputError
from privacygauge.leaderboards.bounds import (
    blum_hardt_bias,
    count_per_label,
    is_normal_enough,
    majority_bias,
    nb_bias,
    plurality_accuracy,
    queries_for_bias,
    scan_bias,
)
from tests.thorough import crossed


@pytest.mark.parametrize(("m", "d"), crossed([2, 3, 10, 1_000], [0.0, 0.1, 1.0, 4.0]))
def test_the_sum_is_the_integral(m, d):
    area = quad(lambda x: norm.pdf(x - d) * norm.cdf(x) ** (m - 1), d - 12, d + 12, epsabs=1e-13)[0]
    assert plurality_accuracy(d, m) == pytest.approx(area, abs=1e-9)


@pytest.mark.parametrize("d", [0.0, 0.3, 2.0])
def test_two_classes_are_a_normal_probability(d):
    assert plurality_accuracy(d, 2) == pytest.approx(norm.cdf(d / math.sqrt(2)), abs=1e-12)


@pytest.mark.parametrize("m", [2, 7, 1_000])
def test_nothing_known_is_a_guess(m):
    assert plurality_accuracy(0.0, m) == pytest.approx(1 / m, abs=1e-12)
    assert nb_bias(100, m, 0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "m", "k", "bias"),
    [
        (10_000, 2, 100, 0.0398),
        (10_000, 2, 5_000, 0.2602),
        (10_000, 10, 1_000, 0.0611),
        (10_000, 100, 5_000, 0.0385),
    ],
)
def test_checked_values(n, m, k, bias):
    assert nb_bias(n, m, k) == pytest.approx(bias, abs=5e-5)
    assert is_normal_enough(n, m, k)


@given(st.integers(100, 10**6), st.integers(2, 1_000), st.integers(1, 10**5))
def test_better_weights_gain_more(n, m, k):
    assert nb_bias(n, m, k) >= majority_bias(n, m, k) >= blum_hardt_bias(n, m, k) >= 0
    assert nb_bias(n, m, k) >= nb_bias(n, m, k, error=0.01)
    assert nb_bias(n, m, k + 1) >= nb_bias(n, m, k) - 1e-12
    assert nb_bias(n, m, k) >= nb_bias(n + 1, m, k) - 1e-12


@given(st.integers(2, 500), st.integers(10, 10**6), st.floats(0.01, 0.99), st.floats(0, 0.02))
def test_queries_for_a_bias_give_that_bias(m, n, share, error):
    bias = share * (1 - 1 / m)
    k = queries_for_bias(bias, n, m, error=error)
    c = 1 / (1 + error**2 * m**2 * n / (m - 1))
    d = math.sqrt(c * k * m / ((m - 1) * n))
    assert plurality_accuracy(d, m) - 1 / m == pytest.approx(bias, abs=1e-9)


@pytest.mark.parametrize(("bias", "slope"), [(0.005, 1.32), (0.01, 1.25), (0.02, 1.15)])
def test_queries_grow_faster_than_classes(bias, slope):
    # Figure 4, n = 100,000: slopes of roughly 1.2 to 1.3 between the ends of the curves.
    few, many = (queries_for_bias(bias, 100_000, m) for m in (2, 100))
    assert math.log(many / few) / math.log(50) == pytest.approx(slope, abs=0.005)


def costs(m):
    """What each possible label costs a scan, in the order in which labels are tried."""
    if m == 2:
        return [1, 1]
    return [1, 1, *range(2, m - 1), m - 2]


@pytest.mark.parametrize("m", [2, 3, 4, 5, 10, 100])
def test_a_scan_of_one_point_by_counting(m):
    assert len(costs(m)) == m
    expected = 1 / m + (m - 1) / m * (m - 2) * (m + 1) / (2 * (m - 1)) if m > 2 else 1
    assert np.mean(costs(m)) == pytest.approx(expected)
    for used in range(m + 3):
        # Right if found; else, if more than one label was tried, a guess among the others.
        tried = used + 1 if used else 0
        right = sum(cost <= used for cost in costs(m)) if used else 1
        if used and right < m:
            right += (m - tried) / (m - tried)
        assert scan_bias(1, m, used + 1) == pytest.approx((right - 1) / m, abs=1e-9), used


def test_a_scan_gains_at_its_rate_and_ends_at_the_whole():
    n = 5_000
    m = 10
    rate = (m - 1) / m / np.mean(costs(m))
    assert scan_bias(n, m, 1) == scan_bias(n, m, 0) == 0.0
    assert scan_bias(n, m, 4_001) == pytest.approx(4_000 * rate / n, rel=0.01)
    assert scan_bias(n, m, 100_000) == pytest.approx(0.9, abs=1e-9)
    steps = np.diff([scan_bias(60, 5, k) for k in range(1, 200)])
    assert steps.min() > -1e-12


def test_when_the_closed_form_is_to_be_trusted():
    assert count_per_label(50_000, 1_000, 5_200) == 5.2
    assert not is_normal_enough(50_000, 1_000, 5_200)
    assert not is_normal_enough(100, 10, 10_000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nb_bias(0, 2, 5), "n must be at least 1, got 0"),
        (lambda: nb_bias(9, 1, 5), "m must be at least 2 classes, got 1"),
        (lambda: majority_bias(9, 2, -1), "k must be at least 0 queries, got -1"),
        (lambda: scan_bias(9, 1, 5), "m must be at least 2 classes, got 1"),
        (lambda: queries_for_bias(0.5, 9, 2), r"bias must be in \(0, 0.5\), got 0.5"),
    ],
)
def test_numbers_out_of_range(call, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        call()
