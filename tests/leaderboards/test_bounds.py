"""Guarantees are sound and ordered; inverses invert; honest selection is what normals do."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from privacygauge.errors import InputError
from privacygauge.leaderboards import bounds as b
from privacygauge.leaderboards.bound_audit.audit import holdout_bounds
from privacygauge.leaderboards.bounds import (
    is_normal_enough,
    majority_bias,
    nb_bias,
    poisson_bias,
    scan_bias,
)
from privacygauge.leaderboards.guards import Exact, Ladder, ParameterFreeLadder, Rounded
from tests.thorough import times

sizes = st.integers(10, 10**6)
classes = st.integers(2, 1_000)


def test_the_papers_example():
    assert b.theorem_3_1(50_000, 1_000, 5_200) == pytest.approx(2.25, abs=0.005)
    assert b.guarantee(Exact(), 50_000, 1_000, 5_200) == pytest.approx(0.24, abs=0.005)


def test_theorem_3_1_in_its_words():
    n = 1_000
    m = 10
    k = 3
    delta = 0.01
    exponent = k * math.log(n + 1) + math.log(1 / delta)
    expected = 2 * max(math.sqrt(exponent / (n * m)), exponent / n)
    assert b.theorem_3_1(n, m, k, delta=delta) == pytest.approx(expected)
    delta = 1 / (n + 1)
    assert b.expected_bias(n, m, k) == pytest.approx(1 / n + b.theorem_3_1(n, m, k, delta=delta))


@given(sizes, classes, st.floats(0, 1e6), st.floats(1e-6, 0.5))
def test_the_exact_exponent_is_never_weaker(n, m, nats, delta):
    found = b.kl_bias(nats, n, m, delta=delta)
    assert found <= b.chernoff_bias(nats, n, m, delta=delta) + 1e-12
    assert 0 <= found <= 1 - 1 / m


@given(st.integers(5, 400), st.integers(2, 20), st.floats(0, 30))
def test_the_exponent_is_above_the_binomial_tail(n, m, nats):
    found = b.kl_bias(nats, n, m, delta=0.05)
    if found < 1 - 1 / m:
        reached = math.ceil(n * (1 / m + found) * (1 - 1e-12))
        assert binom.logsf(reached - 1, n, 1 / m) <= -nats + math.log(0.05) + 1e-9


def test_bits_are_nats():
    assert b.bits_bias(10, 1_000, 2) == b.kl_bias(10 * math.log(2), 1_000, 2)
    assert b.bits_bias(10, 1_000, 2) < b.bits_bias(20, 1_000, 2)


def test_guards_that_say_less_allow_less():
    found = [b.guarantee(g, 10_000, 2, 50) for g in (Exact(), Rounded(2), Ladder(0.01))]
    assert found == sorted(found, reverse=True)
    assert b.guarantee(ParameterFreeLadder(), 10_000, 2, 50) < found[0]


@pytest.mark.parametrize("guard", [None, Rounded(1), Ladder(0.1), ParameterFreeLadder()], ids=repr)
@pytest.mark.parametrize(("n", "m", "bias"), [(10_000, 2, 0.05), (50_000, 100, 0.01)])
def test_guaranteed_submissions_are_the_most(guard, n, m, bias):
    k = b.guaranteed_submissions(bias, n, m, guard=guard)
    assert k >= 1
    delta = 1 - 0.95
    assert b.guarantee(guard or Exact(), n, m, k, delta=delta) <= bias + 1e-9
    assert b.guarantee(guard or Exact(), n, m, k + 1, delta=delta) > bias - 1e-9


@pytest.mark.parametrize("guard", [None, Rounded(2), Ladder(0.01)], ids=repr)
@pytest.mark.parametrize(("m", "k"), [(2, 1), (10, 300)])
def test_guaranteed_points_are_the_fewest(guard, m, k):
    n = b.guaranteed_points(0.005, m, k, guard=guard)
    delta = 1 - 0.95
    assert b.guarantee(guard or Exact(), n, m, k, delta=delta) <= 0.005
    assert b.guarantee(guard or Exact(), n - 1, m, k, delta=delta) > 0.005


def test_where_nothing_is_guaranteed():
    assert b.guaranteed_submissions(0.005, 1_000, 2) == 0
    with pytest.raises(InputError, match=r"^no test set of up to 10\^12 points is enough"):
        b.guaranteed_points(1e-7, 2, 1_000)


def test_honest_selection_is_the_maximum_of_normals():
    draws = np.random.default_rng(0).normal(size=(20_000, 30)).max(axis=1)
    assert b.expected_maximum(30) == pytest.approx(draws.mean(), abs=5 * draws.std() / 20_000**0.5)
    assert b.expected_maximum(1) == pytest.approx(0.0, abs=1e-12)
    assert b.expected_maximum(2) == pytest.approx(1 / math.sqrt(math.pi), abs=1e-12)
    assert b.honest_best_of_k(50_000, 5_200) == pytest.approx(0.0066, abs=5e-5)
    # A quarter of the variance is left, half of the deviation.
    half = b.honest_best_of_k(50_000, 5_200, correlation=0.75)
    assert half == pytest.approx(b.honest_best_of_k(50_000, 5_200) / 2, rel=0.02)


def shared_errors(kind, n, k, p, correlation, rng):
    """Return right answers, (k,), of submissions that err on the same points, in three ways."""
    if kind == "copies":
        # Each answer is copied from one file with this probability.
        copied = rng.random((k, n)) < correlation**0.5
        return np.where(copied, rng.random(n) < p, rng.random((k, n)) < p).sum(axis=1)
    if kind == "easy points":
        right = (1 - correlation) * p
        easy = rng.random(n) < 1 - (1 - p) / (1 - right)
        return (easy | (rng.random((k, n)) < right)).sum(axis=1)
    # A point is known to all, to none, or to each with the accuracy.
    shared = rng.random(n) < correlation
    return np.where(shared, rng.random(n) < p, rng.random((k, n)) < p).sum(axis=1)


@pytest.mark.parametrize("kind", ["copies", "easy points", "known to all or none"])
@pytest.mark.parametrize(
    ("n", "k", "p", "correlation"),
    [(500, 300, 0.95, 0.8), (500, 300, 0.8, 0.8), (1000, 100, 0.9, 0.9), (200, 20, 0.9, 0.7)],
)
def test_the_best_of_correlated_submissions_stays_within_the_bound(kind, n, k, p, correlation):
    rng = np.random.default_rng(5)
    best = np.array(
        [shared_errors(kind, n, k, p, correlation, rng).max() / n - p for _ in range(150)]
    )
    bound = b.honest_best_of_k(n, k, accuracy=p, correlation=correlation)
    error = best.std() / 150**0.5
    assert best.mean() <= bound + 2.6 * error
    # The worst of them reaches it, but for a random number of easy points.
    assert kind != "easy points" or best.mean() >= bound - 2.6 * error - 0.02 * bound


@pytest.mark.parametrize(
    ("n", "k", "p"),
    [
        (1, 1, 0.5),
        (20, 10, 0.9),
        (50, 1_000, 0.98),
        (100, 1_000, 0.05),
        (200, 500, 0.03),
        (1_000, 100, 0.01),
        (2_500, 5_000, 0.02),
        (9_000, 50, 0.8),
    ],
)
def test_honest_selection_is_the_maximum_of_binomial_counts(n, k, p):
    """Skewed counts reach further than normals, and nobody gains more than all points."""
    counts = np.arange(n + 1)
    below = binom.cdf(counts, n, p) ** k
    expected = float((counts * np.diff(below, prepend=0.0)).sum()) / n - p
    found = b.honest_best_of_k(n, k, accuracy=p)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert found <= 1 - p


@given(st.integers(1, 10**9), st.integers(1, 10**12), st.floats(0.01, 0.99), st.floats(0, 1))
def test_honest_selection_is_between_none_and_all(n, k, accuracy, correlation):
    found = b.honest_best_of_k(n, k, accuracy=accuracy, correlation=correlation)
    assert -1e-9 <= found <= 1 - accuracy + 1e-9


def test_many_classes_do_not_protect_against_selection():
    n = 50_000
    m = 1_000
    k = 5_200
    honest = b.honest_best_of_k(n, k)
    assert honest > 3 * poisson_bias(n, m, k) > 3 * nb_bias(n, m, k)
    assert not is_normal_enough(n, m, k)


@given(st.floats(0.001, 0.05), st.integers(1, 10**5), st.floats(0.05, 0.95), st.floats(0.5, 0.99))
def test_honest_inverses_invert(bias, k, accuracy, probability):
    n = b.honest_points(bias, k, accuracy=accuracy, probability=probability)
    assert (
        b.honest_submissions(bias, n, accuracy=accuracy, probability=probability)
        >= k * (1 - 1e-6) - 1
    )
    if n > 1:
        # With a point less the deviation is larger by less than 1/n.
        fewer = b.honest_submissions(bias, n - 1, accuracy=accuracy, probability=probability)
        assert fewer <= k


def test_errors_that_coincide_leave_nothing_to_select():
    assert b.honest_submissions(0.01, 100, correlation=1.0) == 10**12
    assert b.honest_best_of_k(100, 50, correlation=1.0) == 0.0


def test_theorem_4_5():
    n = 10_000
    m = 10
    assert b.reconstruction_queries(n, m) == math.ceil(5 * n * math.log(m) / math.log(250))
    assert b.reconstruction_queries(109, 10) == math.ceil(200 * math.log(1_090))
    with pytest.raises(
        InputError, match=r"^Theorem 4\.5 needs m of at least 3 and n above 4m, got"
    ):
        b.reconstruction_queries(40, 10)


@pytest.mark.parametrize(("rate", "power"), [(b.pointwise_rate, 0.5), (b.reconstruction_rate, 1)])
def test_rates_grow_as_they_say(rate, power):
    assert rate(4_000, 10, 500) / rate(8_000, 10, 500) == pytest.approx(2**power)
    assert "not a bias" in rate.__doc__


def test_the_rows_of_all():
    found = holdout_bounds(10_000, 2, 2_000)
    names = ("honest_best_of_k", "nb", "majority", "linear_scan", "designed", "kl", "theorem_3_1")
    assert tuple(each.key for each in found.biases)[:7] == names
    assert found.trusted
    nb, majority, scan, kl = (found.bias(key).value for key in ("nb", *names[2:4], "kl"))
    assert nb == nb_bias(10_000, 2, 2_000) > majority > scan
    rounded = holdout_bounds(10_000, 2, 2_000, guard="round:2")
    assert rounded.bias("nb").value < nb
    assert rounded.bias("kl").value <= kl
    # A Ladder's answer is not about the submission: its error says nothing about NB.
    assert holdout_bounds(10_000, 2, 2_000, guard="ladder").bias("nb").value == nb


@pytest.mark.slow
@settings(max_examples=times(20))
@given(sizes, classes, st.integers(1, 10**4))
def test_the_attacks_stay_below_the_guarantee(n, m, k):
    assert scan_bias(n, m, k) <= b.guarantee(Exact(), n, m, k) + 1e-9
    assert majority_bias(n, m, k) <= nb_bias(n, m, k)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: b.kl_bias(-1, 10, 2), "nats must be at least 0 and m at least 2, got -1 and 2"),
        (lambda: b.kl_bias(1, 0, 2), "n must be at least 1, got 0"),
        (lambda: b.kl_bias(1, 10, 2, delta=0), r"delta must be in \(0, 1\), got 0"),
        (lambda: b.honest_best_of_k(10, 0), "k must be at least 1, got 0"),
        (
            lambda: b.honest_best_of_k(10, 1, accuracy=1),
            r"accuracy must be in \(0, 1\), got 1",
        ),
        (
            lambda: b.honest_best_of_k(9, 1, correlation=2),
            r"correlation must be in \[0, 1\], got 2",
        ),
        (lambda: b.honest_points(0, 5), "bias must be above 0, got 0"),
        (lambda: b.guaranteed_submissions(0.6, 10, 2), r"bias must be in \(0, 0.5\), got 0.6"),
    ],
)
def test_numbers_out_of_range(call, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        call()


def test_a_guard_with_memory_allows_more_to_accounts_than_to_one():
    for guard in ("ladder", "ladder:0.01"):
        one = holdout_bounds(10_000, 2, 600, guard=guard)
        many = holdout_bounds(10_000, 2, 20, accounts=30, guard=guard)
        assert many.queries == one.queries
        assert many.nats > one.nats
        assert many.bias("kl").value > one.bias("kl").value
    exact = [holdout_bounds(10_000, 2, k, accounts=600 // k).bias("kl").value for k in (20, 600)]
    assert exact[0] == exact[1]


def test_labels_at_hand_allow_as_much_as_their_frequencies():
    """With equal classes it is the usual guarantee; who knows the largest class has its share."""
    for m in (2, 5):
        assert b.bias_for_labels(Exact(), 500, m, 20, 1 / m) == pytest.approx(
            b.guarantee(Exact(), 500, m, 20), abs=1e-9
        )
    found = [b.bias_for_labels(Exact(), 500, 3, 5, share) for share in (1 / 3, 0.45, 0.6, 0.9)]
    assert found == sorted(found)
    assert found[2] >= 0.6 - 1 / 3
    assert b.bias_for_labels(Exact(), 50, 3, 100, 0.9) == pytest.approx(2 / 3)


@pytest.mark.slow
@pytest.mark.parametrize("k", [6, 40])
def test_twenty_skewed_label_files_keep_their_promise(k):
    """Queries from the two most frequent classes gain most; the promise is exceeded seldom."""
    n = 400
    m = 10
    games = 200
    exceeded = []
    n_learnt = 0
    for file in range(20):
        rng = np.random.default_rng(file)
        share = rng.dirichlet(np.full(m, 0.4))
        labels = rng.choice(m, n, p=share)
        counts = np.bincount(labels, minlength=m)
        first, second = np.argsort(-counts, kind="stable")[:2]
        promised = b.bias_for_labels(Exact(), n, m, k, counts.max() / n)
        # The prior of the two classes counts as a query of its own would.
        prior = np.log((counts[first] + 0.5) / (counts[second] + 0.5))
        right = np.stack([labels == first, labels == second])
        gains = np.empty(games)
        for game in range(games):
            taken = rng.random((k, n)) < 0.5
            answers = np.where(taken, right[0], right[1]).mean(axis=1)
            votes = 4 * (answers - right.mean()) @ (2.0 * taken - 1) / right.mean()
            guessed = np.where(prior + votes > 0, first, second)
            gains[game] = (guessed == labels).mean() - 1 / m
        exceeded.append((gains > promised).mean())
        n_learnt += gains.mean() > counts.max() / n - 1 / m
    assert max(exceeded) <= 0.05
    # The queries say more than the frequencies, or nothing would be shown.
    assert n_learnt >= 8


@pytest.mark.parametrize(("n", "m"), [(10_000, 3), (10_000, 10), (2_000, 40)])
def test_the_points_of_algorithm_2_follow_from_the_queries(n, m):
    """The largest example budget that the queries determine: one point more would need more."""
    for k in (b.reconstruction_queries(n, m), 3 * b.reconstruction_queries(12 * m, m)):
        t = b.reconstruction_size(n, m, k)
        assert b.reconstruction_queries(t, m) <= k
        assert t == n or b.reconstruction_queries(t + 1, m) > k
    with pytest.raises(InputError, match=f"got m {m}, n {n}, k 5"):
        b.reconstruction_size(n, m, 5)
    with pytest.raises(InputError, match="needs m of at least 3"):
        b.reconstruction_size(n, 2, 10_000)


@pytest.mark.parametrize(
    ("n", "p", "bias"), [(100, 0.05, 0.06), (200, 0.03, 0.04), (50, 0.9, 0.08)]
)
def test_the_best_of_so_many_honest_submissions_stays_within_the_bias(n, p, bias):
    k = b.honest_submissions(bias, n, accuracy=p, probability=0.9)
    inside = binom.cdf(math.floor(n * (p + bias) + 1e-9), n, p)
    assert inside**k >= 0.9 > inside ** (k + 1)


def test_no_number_of_submissions_gains_more_than_all_errors():
    assert b.honest_submissions(0.02, 50, accuracy=0.98) == 10**12
