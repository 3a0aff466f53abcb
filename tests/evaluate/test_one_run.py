"""Bounds from one run: the theorem's inequality, solved; and slow programs that say the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from privacygauge.errors import InputError
from privacygauge.evaluate.one_run import (
    _tail,
    largest_one_run_epsilon,
    one_run_epsilon,
    one_run_mu,
    refuted_by,
    right_guesses,
)
from tests.thorough import crossed, quarter, times

counts = st.integers(1, 40).flatmap(
    lambda m: st.integers(1, m).flatmap(
        lambda r: st.tuples(st.just(m), st.just(r), st.integers(0, r))
    )
)
deltas = st.sampled_from([1e-8, 1e-5, 1e-3, 0.01, 0.1, 0.5])


def naive_tail(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """Theorem 5.2 of Steinke et al., term by term."""
    law = binom(r, np.exp(epsilon) / (1 + np.exp(epsilon)))
    most = max(sum(law.pmf(j) for j in range(max(v - i, 0), v)) / i for i in range(1, m + 1))
    return law.sf(v - 1) + 2 * m * delta * most


def most_likely(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """The largest P[C >= v] that the trade-off curve allows: a linear program."""
    i = np.arange(r + 1)
    rows = []
    right = []
    for k in range(1, r + 1):
        x = np.where(i >= k, i, 0) / m
        y = np.where(i >= k - 1, r - i, 0) / m
        e = np.exp(epsilon)
        rows += [(x / e - y), (x * e - y)]
        right += [delta / e, e - (1 - delta)]
    found = linprog(-(i >= v).astype(float), rows, right, np.ones((1, r + 1)), [1.0], bounds=(0, 1))
    assert found.status == 0
    return -found.fun


@settings(max_examples=times(200), deadline=None)
@given(st.integers(1, 10_000), st.floats(0.5, 0.999))
def test_with_every_guess_right_it_is_in_closed_form(r, level):
    q = (1 - level) ** (1 / r)
    expected = max(0.0, np.log(q) - np.log1p(-q))
    assert largest_one_run_epsilon(20_000, r, level=level) == pytest.approx(expected, abs=1e-9)


SIZES = [(4, 4, 4), (6, 4, 4), (6, 6, 5), (9, 7, 6), (30, 8, 8)]


@pytest.mark.parametrize(("sizes", "delta", "level"), crossed(SIZES, [1e-3, 0.1], [0.1, 0.8, 0.95]))
def test_it_is_where_one_of_two_slow_programs_stops_to_refute(sizes, delta, level):
    require_the_last_refuted(*sizes, delta, level)


@pytest.mark.slow
@settings(max_examples=times(24), deadline=None)
@given(counts, deltas, st.sampled_from([0.8, 0.95, 0.999]))
def test_so_it_is_whatever_the_counts(sizes, delta, level):
    require_the_last_refuted(*sizes, delta, level)


def require_the_last_refuted(m, r, v, delta, level):
    beta = 1 - level
    bound = float(one_run_epsilon(m, r, v, delta, level))

    def refuted(epsilon):
        return min(naive_tail(m, r, v, epsilon, delta), most_likely(m, r, v, epsilon, delta)) < beta

    if bound > 1e-4:
        assert refuted(bound - 1e-4)
    assert not refuted(bound + 1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.8, 3.0])
def test_the_tail_is_the_theorem_s_for_all_counts(epsilon):
    """A mean that is not the largest one would refute claims that hold."""
    m = 20
    r, v = (x.ravel() for x in np.meshgrid(np.arange(1, m + 1), np.arange(m + 1)))
    r, v = np.stack([r, v])[:, v <= r]
    found = _tail(m, r, v, 0.1, np.full(len(r), epsilon))
    expected = [naive_tail_at(m, *one, epsilon, 0.1) for one in zip(r, v, strict=True)]
    assert found == pytest.approx(expected, rel=1e-12)


@settings(max_examples=times(20), deadline=None)
@given(counts, deltas)
def test_a_tail_that_is_above_a_level_stays_above_it(sizes, delta):
    # With many canaries 2 m delta exceeds 1, and the tail may fall again: but not below 1.
    m = 50 * sizes[0]
    r = sizes[1]
    v = sizes[2]
    tails = np.array([min(1.0, naive_tail_at(m, r, v, e, delta)) for e in np.linspace(0, 12, 30)])
    below = tails < 1 - 1e-9
    assert np.all(np.diff(tails)[below[1:]] >= -1e-12)
    assert np.all(np.diff(below.astype(int)) <= 0)


def naive_tail_at(m, r, v, epsilon, delta):
    law = r, 1 / (1 + np.exp(-epsilon))
    below = np.cumsum(binom.pmf(np.arange(v)[::-1], *law))
    return binom.sf(v - 1, *law) + 2 * m * delta * np.max(below / np.arange(1, v + 1), initial=0.0)


def test_more_right_guesses_show_more_and_a_larger_delta_less():
    v = np.arange(0, 401, 20)
    for delta in (0.0, 1e-3):
        bound = one_run_epsilon(1000, 400, v, delta)
        assert np.all(np.diff(bound) >= -1e-9)
        assert bound[10] == 0 < bound[-1]
        assert np.all(bound <= largest_one_run_epsilon(1000, 400, delta))
    by_delta = [float(one_run_epsilon(1000, 400, 350, d)) for d in (0, 1e-6, 1e-4, 1e-2, 0.3)]
    assert by_delta == sorted(by_delta, reverse=True)
    assert by_delta[0] > by_delta[-1] == 0


def test_the_trade_off_helps_where_few_of_many_canaries_are_guessed():
    # The first theorem alone gives 3.49 here: its delta term grows with all canaries.
    assert float(one_run_epsilon(100_000, 1000, 1000, 1e-5)) == pytest.approx(5.80, abs=0.01)


def test_large_counts_are_finite_and_quick():
    bound = one_run_epsilon(10**6, [10**6, 10], [10**6, 10], 1e-6)
    assert np.all(np.isfinite(bound))
    assert bound[0] > 10


@pytest.mark.parametrize(
    ("mu", "m", "r", "lines"),
    [(1.0, 10, 8, 60)]
    + [pytest.param(mu, 30, 20, quarter(400), marks=pytest.mark.slow) for mu in (0.3, 1.0, 2.5)],
)
def test_a_gaussian_curve_refutes_what_a_linear_program_calls_impossible(mu, m, r, lines):
    # Tangents from below: what they refute the curve refutes, and with many of them almost all.
    beta = 0.05
    points = ndtr(np.linspace(-6, 6, lines))
    value = ndtr(ndtri(points) - mu)
    slope = np.exp(mu * ndtri(points) - mu**2 / 2)
    i = np.arange(r + 1)
    rows = []
    right = []
    for k in range(1, r + 1):
        x, y = np.where(i >= k, i, 0) / m, np.where(i >= k - 1, r - i, 0) / m
        rows += [slope[:, None] * x - y]
        right += [slope * points - value]
    for v in range(r + 1):
        most = -linprog(
            -(i >= v).astype(float), np.vstack(rows), np.concatenate(right),
            np.ones((1, r + 1)), [1.0], bounds=(0, 1),
        ).fun  # fmt: skip
        found = bool(refuted_by(lambda x: ndtr(ndtri(x) - mu), m, r, v, beta, 1)[0])
        if abs(most - beta) > 0.4 / lines:
            assert found == (most < beta)


def test_mu_is_where_the_curve_stops_to_be_refuted():
    mu = one_run_mu(1000, 100, 97)
    around = np.array([mu, mu + 1e-6])
    refuted = refuted_by(lambda x: ndtr(ndtri(x) - around), 1000, 100, 97, 0.05, 2)
    assert refuted.tolist() == [True, False]
    assert one_run_mu(1000, 100, 50) == 0.0


@settings(max_examples=times(50), deadline=None)
@given(st.integers(2, 20), st.randoms(use_true_random=False))
def test_guesses_are_about_the_highest_and_the_lowest(n, random):
    score = np.array(random.sample(range(1000), n), float)
    secret = np.array([random.random() < 0.5 for _ in range(n)])
    order = sorted(range(n), key=lambda j: score[j])
    for r in range(1, n + 1):
        high, low = order[n - (r + 1) // 2 :], order[: r // 2]
        right = sum(secret[j] for j in high) + sum(not secret[j] for j in low)
        assert right_guesses(score, secret, np.array([r]), np.random.default_rng(0))[0] == right


def test_the_order_of_the_rows_gives_nothing_away_where_scores_are_equal():
    secret = np.arange(1000) < 500
    right = right_guesses(np.zeros(1000), secret, np.array([1000]), np.random.default_rng(1))
    assert 400 < right[0] < 600


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 11, 5), r"n_guesses must be in 0..10 \(the canaries\), got 11"),
        ((10, 5, 6), "n_right must be in 0..n_guesses, got 6 of 5"),
        ((10, 5, -1), "n_right must be in 0..n_guesses, got -1 of 5"),
        ((10, -1, 0), r"n_guesses must be in 0..10 \(the canaries\), got -1"),
        ((10, 5, 5, -0.1), r"delta must be in \[0, 1\), got -0.1"),
        ((10, 5, 2.5), "counts of guesses must be integers"),
        ((10, 5, 5, 1.0), r"delta must be in \[0, 1\), got 1.0"),
        ((10, 5, 5, 0.0, 1.0), r"level must be in \(0, 1\), got 1.0"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        one_run_epsilon(*arguments)


def test_mu_refuses_what_cannot_be():
    for guesses, right in ((5, 6), (11, 6), (5, -1)):
        with pytest.raises(InputError, match=f"got {right}, {guesses} and 10"):
            one_run_mu(10, guesses, right)
    assert one_run_mu(10, 0, 0) == 0.0
