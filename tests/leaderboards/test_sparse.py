"""Poisson label counts: right where labels are drawn seldom, and where they are drawn often."""

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.leaderboards.analysts import trials, uniform_holdout
from privacygauge.leaderboards.bounds import nb_bias, poisson_bias
from privacygauge.leaderboards.naive_bayes import NaiveBayes
from tests.thorough import times

RNG = np.random.default_rng


@pytest.mark.parametrize(("n", "m", "k"), [(600, 100, 60), (300, 60, 200), (100, 100, 60)])
def test_the_attack_reaches_it_where_labels_are_drawn_seldom(n, m, k):
    found = trials(
        NaiveBayes(), lambda rng: uniform_holdout(n, m, rng), k, RNG(0).spawn(times(100))
    )
    assert not found.bias(0.999).excludes(poisson_bias(n, m, k))


@pytest.mark.parametrize("n", [10_000, 50_000])
def test_the_closed_form_is_too_low_for_few_queries(n):
    # Simulated at n = 10,000, k = 100: .00095 +- .00027 (ten trials).
    assert nb_bias(n, 1_000, 100) < poisson_bias(n, 1_000, 100) / 2


@pytest.mark.parametrize(("n", "m", "k"), [(10_000, 10, 1_000), (10_000, 100, 5_000)])
def test_it_meets_the_closed_form_where_that_holds(n, m, k):
    assert poisson_bias(n, m, k) == pytest.approx(nb_bias(n, m, k), rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(10_000, 1_000), (10_000, 5_000), (50_000, 1_000)])
def test_a_thousand_classes_at_full_size(n, k):
    found = trials(
        NaiveBayes(), lambda rng: uniform_holdout(n, 1_000, rng), k, RNG(1).spawn(times(10))
    )
    assert not found.bias(0.99).excludes(poisson_bias(n, 1_000, k))


@pytest.mark.slow
def test_one_query():
    # With accuracy a above 1/m the label of the query is right with probability a; below, every
    # other label is better. Only the sign of the weight counts.
    n = 400
    m = 20
    accuracies = RNG(2).binomial(n, 1 / m, 200_000) / n
    right = np.where(accuracies > 1 / m, accuracies, (1 - accuracies) / (m - 1))
    right[accuracies == 1 / m] = 1 / m
    found = trials(
        NaiveBayes(), lambda rng: uniform_holdout(n, m, rng), 1, RNG(3).spawn(times(300))
    )
    assert not found.bias(0.999).excludes(float(right.mean()) - 1 / m)


def test_few_points_settle_all():
    assert poisson_bias(10, 10, 500) == pytest.approx(0.9, abs=1e-6)


@pytest.mark.parametrize(("n", "m", "k"), [(100, 9, 5), (0, 10, 5), (10, 10, 0)])
def test_numbers_out_of_range(n, m, k):
    message = f"^m must be at least 10, n and k at least 1, got {m}, {n} and {k}$"
    with pytest.raises(InputError, match=message):
        poisson_bias(n, m, k)
