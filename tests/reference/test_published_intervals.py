"""Intervals and corrections against numbers printed in the papers that propose them."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.exact import GaussianGame
from privacygauge.evaluate.rates import clopper_pearson, difference, wilson
from privacygauge.evaluate.slices import holm


# Newcombe (1998), Two-sided confidence intervals for the single proportion, Statistics in
# Medicine 17, 857-872, table I: methods 3 (Wilson) and 5 (Clopper-Pearson).
@pytest.mark.parametrize(
    ("k", "n", "score", "exact"),
    [
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0.0000, 0.1611), (0.0000, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
    ],
)
def test_newcombes_single_proportions(k: int, n: int, score, exact) -> None:
    assert wilson(k, n) == pytest.approx(score, abs=5.1e-5)
    assert clopper_pearson(k, n) == pytest.approx(exact, abs=5.1e-5)


# Newcombe (1998), Interval estimation for the difference between independent proportions,
# Statistics in Medicine 17, 873-890, table II: method 10.
@pytest.mark.parametrize(
    ("first", "second", "interval"),
    [
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((6, 7), (2, 7), (0.0582, 0.8062)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
        ((0, 10), (0, 20), (-0.1611, 0.2775)),
        ((0, 10), (0, 10), (-0.2775, 0.2775)),
        ((10, 10), (0, 20), (0.6791, 1.0000)),
        ((10, 10), (0, 10), (0.6075, 1.0000)),
    ],
)
def test_newcombes_differences(first, second, interval) -> None:
    a, b = (np.arange(n) < k for k, n in (first, second))
    found = difference(a, b)
    assert (found.low, found.high) == pytest.approx(interval, abs=5.1e-5)


def test_holms_example() -> None:
    # p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") in R 4.
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_the_gaussian_mechanisms_delta() -> None:
    # Google's dp_accounting, privacy_loss_mechanism_test.py: deviation 1, sensitivity 1,
    # epsilon 1.
    assert GaussianGame(2, 1.0).delta(1.0) == pytest.approx(0.12693674, abs=1e-8)
