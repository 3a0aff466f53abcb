"""Naive Bayes without one record: against honest refits, scikit-learn, and brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

from privacygauge.claims.dtp import naive_bayes
from privacygauge.claims.dtp.counts import dtp_of_two_classes, dtp_over_cells
from privacygauge.claims.dtp.naive_bayes import FittedNaiveBayes, NaiveBayes, naive_bayes_of
from privacygauge.classifiers.learner import Bounded, Box, Fitted, Learner, box_of, logs
from privacygauge.classifiers.ratios import binned_bound, cap, log_ratio
from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.local_copies import own_file
from privacygauge.datasets.public import CATEGORICAL, CONTINUOUS, adult
from privacygauge.errors import InputError
from tests.thorough import quarter, times

NO_BOX = Box(np.zeros(0), np.zeros(0))


@st.composite
def tables(
    draw: st.DrawFn,
    n_classes: tuple[int, int] = (2, 3),
    alphas: tuple[float, ...] = (0.0, 0.3, 1.0),
) -> tuple[NaiveBayes, Ints, Ints, int]:
    """Small tables of categories: empty categories, classes of one record and duplicates occur."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    k = draw(st.integers(*n_classes))
    n = draw(st.integers(2, 9))
    rows = [[draw(st.integers(0, v - 1)) for v in sizes] for _ in range(n)]
    y = [draw(st.integers(0, k - 1)) for _ in range(n)]
    learner = NaiveBayes(tuple(sizes), draw(st.sampled_from(alphas)))
    return learner, np.array(rows, np.int64), np.array(y, np.int64), k


def honest(learner: Learner, x: NDArray[np.generic], y: Ints, k: int, row: int) -> Fitted:
    others = np.arange(len(y)) != row
    return learner.fit(x[others], y[others], n_classes=k)


def domain(sizes: tuple[int | None, ...]) -> Ints:
    return np.array(list(product(*(range(v or 0) for v in sizes))), np.int64)


def brute_force(made: tuple[NaiveBayes, Ints, Ints, int], width: float = 0.0) -> Floats:
    """DTP by honest refits, over every query."""
    learner, x, y, k = made
    queries = domain(learner.categories)
    shown = learner.fit(x, y, n_classes=k).log_p(queries)
    refits = [honest(learner, x, y, k, row).log_p(queries) for row in range(len(y))]
    return np.array([log_ratio(shown, refit, width).max() for refit in refits])


@pytest.mark.slow
@given(tables())
@settings(max_examples=quarter(150), deadline=None)
def test_leaving_a_record_out_equals_training_without_it(
    made: tuple[NaiveBayes, Ints, Ints, int],
) -> None:
    learner, x, y, k = made
    fitted = learner.fit(x, y, n_classes=k)
    rows = np.arange(len(y))
    queries = domain(learner.categories)
    at_queries = fitted.log_p_without_at(rows, queries)
    for row in rows:
        refit = honest(learner, x, y, k, int(row))
        assert_allclose(fitted.log_p_without(rows)[row], refit.log_p(x[[row]])[0], atol=1e-9)
        assert_allclose(at_queries[row], refit.log_p(queries), atol=1e-9)


@pytest.mark.slow
@given(tables())
@settings(max_examples=quarter(150), deadline=None)
def test_the_dtp_over_cells_is_that_of_brute_force(
    made: tuple[NaiveBayes, Ints, Ints, int],
) -> None:
    learner, x, y, k = made
    fitted = learner.fit(x, y, n_classes=k)
    found = dtp_over_cells(fitted.counted.counts, x, y)
    assert_allclose(found, brute_force(made), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@given(tables(n_classes=(2, 2), alphas=(0.1, 1.0)), st.sampled_from([0, 4096]))
@settings(max_examples=quarter(150), deadline=None)
def test_the_dtp_of_two_classes_is_that_of_brute_force(
    made: tuple[NaiveBayes, Ints, Ints, int], most_subsets: int
) -> None:
    learner, x, y, k = made
    fitted = learner.fit(x, y, n_classes=k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privacygauge.claims.dtp.counts.MOST_SUBSETS", most_subsets)
        found = dtp_of_two_classes(fitted.counted.counts, x, y)
    assert_allclose(found, brute_force(made), rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@given(tables(), st.sampled_from([0.0, 0.01, 0.25]))
@settings(max_examples=quarter(150), deadline=None)
def test_brute_force_lies_in_the_certified_range(
    made: tuple[NaiveBayes, Ints, Ints, int], width: float
) -> None:
    learner, x, y, k = made
    fitted = learner.fit(x, y, n_classes=k)
    truth = brute_force(made, width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(naive_bayes, "_exact", lambda f, rows, w: (np.full(len(rows), np.nan), ""))
        found = fitted.dtp(np.arange(len(y)), width, NO_BOX)
    assert (found.low <= truth + 1e-9).all()
    assert (truth <= found.high + 1e-9).all()
    if learner.alpha > 0 and len(y) > 1:  # else it may be left without an answer
        assert (found.high <= cap(width)).all()


@given(tables(), st.sampled_from([0.0, 0.01, 0.25]))
@settings(max_examples=times(60), deadline=None)
def test_the_range_of_small_domains_is_a_single_value(
    made: tuple[NaiveBayes, Ints, Ints, int], width: float
) -> None:
    learner, x, y, k = made
    found = learner.fit(x, y, n_classes=k).dtp(np.arange(len(y)), width, NO_BOX)
    assert found.method.startswith("exact")
    assert_allclose(found.low, brute_force(made, width), rtol=1e-9, atol=1e-9)
    assert_allclose(found.high, found.low)


@pytest.mark.slow
@given(st.integers(0, 2**31), st.integers(4, 12), st.integers(2, 3))
@settings(max_examples=times(60), deadline=None)
def test_numbers_left_out_equal_training_without_them(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n) * 100.0])
    x[:, 0] *= 10.0 ** rng.integers(-3, 4)
    y = rng.integers(0, k, n)
    learner = NaiveBayes((None, 2, None))
    fitted = learner.fit(x, y, n_classes=k)
    rows = np.arange(n)
    queries = x[rng.integers(0, n, 3)] + [[0.1, 0, 1]]
    for row in rows:
        refit = honest(learner, x, y, k, int(row))
        assert_allclose(fitted.log_p_without(rows)[row], refit.log_p(x[[row]])[0], atol=1e-9)
        at_queries = fitted.log_p_without_at(rows, queries)
        assert_allclose(at_queries[row], refit.log_p(queries), atol=1e-9)


@pytest.mark.slow
@given(st.integers(0, 2**31))
@settings(max_examples=times(40), deadline=None)
def test_no_query_in_the_box_shows_more_than_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 15))
    x = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n), rng.normal(size=n) * 9])
    y = rng.integers(0, 3, n)
    y[:3] = np.arange(3)
    fitted = NaiveBayes((None, 2, None)).fit(x, y, n_classes=3)
    rows = np.arange(n)
    box = box_of(x)
    queries = rng.uniform(box.low, box.high, size=(200, 3))
    queries[:, 1] = rng.integers(0, 2, 200)
    shown = log_ratio(fitted.log_p(queries), fitted.log_p_without_at(rows, queries)).max(axis=1)
    found = fitted.dtp(rows, 0.0, box)
    assert (shown <= found.high + 1e-9).all()
    assert (found.low >= log_ratio(fitted.log_p(x), fitted.log_p_without(rows)) - 1e-12).all()


def test_scikit_learns_classifiers_are_reproduced() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    codes = rng.integers(0, 4, (60, 3))
    numbers = rng.normal(size=(60, 2)) + y[:, None]
    ours = NaiveBayes((4, 4, 4), 0.5).fit(codes, y, n_classes=3)
    theirs = CategoricalNB(alpha=0.5, min_categories=4).fit(codes, y)
    assert_allclose(np.exp(ours.log_p(codes)), theirs.predict_proba(codes), atol=1e-12)
    bits = (codes > 1).astype(np.int64)
    ours = NaiveBayes((2, 2, 2), 0.5).fit(bits, y, n_classes=3)
    assert_allclose(
        np.exp(ours.log_p(bits)), BernoulliNB(alpha=0.5).fit(bits, y).predict_proba(bits)
    )
    ours = NaiveBayes((None, None)).fit(numbers, y, n_classes=3)
    theirs = GaussianNB().fit(numbers, y)
    assert_allclose(np.exp(ours.log_p(numbers)), theirs.predict_proba(numbers), atol=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(own_file("adult.data") is None, reason="PRIVACYGAUGE_DATA holds no adult.data")
def test_records_of_adult_equal_honest_refits() -> None:
    frame = adult().iloc[:3_000]
    codes = [np.unique(frame[name], return_inverse=True)[1] for name in CATEGORICAL]
    x = np.column_stack([*codes, frame[list(CONTINUOUS)].to_numpy(np.float64)])
    y = frame["income"].to_numpy(np.int64)
    learner = naive_bayes_of(x, continuous=range(8, 14))
    fitted = learner.fit(x, y, n_classes=2)
    rows = np.random.default_rng(0).choice(len(y), 50, replace=False)
    without = np.exp(fitted.log_p_without(rows))
    refits = [np.exp(honest(learner, x, y, 2, int(row)).log_p(x[[row]]))[0] for row in rows]
    assert_allclose(without, refits, rtol=0, atol=1e-9)
    numbers = x[:, 8:]
    theirs = GaussianNB().fit(np.delete(numbers, rows[0], 0), np.delete(y, rows[0]))
    ours = np.exp(NaiveBayes((None,) * 6).fit(numbers, y, n_classes=2).log_p_without(rows[:1]))
    assert_allclose(ours, theirs.predict_proba(numbers[rows[:1]]), atol=1e-9)


def test_the_last_record_of_a_class_has_an_infinite_value() -> None:
    x = np.array([[0], [0], [1]])
    y = np.array([0, 0, 1])
    fitted = NaiveBayes((2,)).fit(x, y, n_classes=2)
    without = fitted.log_p_without(np.arange(3))
    assert without[2].tolist() == [0.0, -np.inf]
    assert log_ratio(fitted.log_p(x), without)[2] == np.inf
    found = fitted.dtp(np.arange(3), 0.0, NO_BOX)
    assert np.isinf(found.high).tolist() == [False, False, True]
    # Binned, a probability is never 0.
    assert (fitted.dtp(np.arange(3), 0.01, NO_BOX).high <= cap(0.01)).all()


def test_a_single_class_moves_nothing() -> None:
    x = np.array([[0], [1], [1]])
    y = np.zeros(3, np.int64)
    fitted = NaiveBayes((2,)).fit(x, y, n_classes=1)
    assert fitted.dtp(np.arange(3), 0.0, NO_BOX).high.tolist() == [0.0, 0.0, 0.0]


def test_constant_numbers_say_nothing() -> None:
    x = np.column_stack([np.full(6, 0.1), np.array([0.3, 0.1, 0.2, 0.9, 0.8, 0.7])])
    y = np.array([0, 0, 0, 1, 1, 1])
    alone = NaiveBayes((None,)).fit(x[:, 1:], y, n_classes=2)
    beside = NaiveBayes((None, None)).fit(x, y, n_classes=2)
    assert_allclose(np.exp(alone.log_p(x[:, 1:])), np.exp(beside.log_p(x)), atol=1e-12)
    only = NaiveBayes((None,)).fit(x[:, :1], y, n_classes=2)
    assert_allclose(np.exp(only.log_p(x[:, :1])), 0.5)


def test_many_categories_are_no_trouble() -> None:
    n = 200_000
    x = np.arange(n)[:, None]
    y = np.arange(n) % 2
    fitted = NaiveBayes((n,)).fit(x, y, n_classes=2)
    rows = np.arange(0, n, 1000)
    own = log_ratio(fitted.log_p(x[rows]), fitted.log_p_without(rows))
    # A category that occurs once: 2/(n + v) against 1/(n + v), and back to even.
    assert_allclose(own, np.log(1.5) - np.log(1.0), atol=1e-5)


def test_learners_and_fitted_classifiers_follow_the_protocols() -> None:
    learner = NaiveBayes((2, None))
    assert isinstance(learner, Learner)
    assert isinstance(learner.fit(np.zeros((1, 2)), np.zeros(1, int), n_classes=1), Bounded)
    assert FittedNaiveBayes.__doc__


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NaiveBayes((2,), -1.0), "alpha must be at least 0, got -1.0"),
        (lambda: NaiveBayes(()), "every attribute needs at least one category"),
        (lambda: NaiveBayes((2,)).parts(np.zeros((1, 2))), r"x must have the shape \(n, 1\)"),
        (lambda: NaiveBayes((2,)).parts(np.array([[2]])), r"0\.\.1, got 2 in row 0"),
        (lambda: NaiveBayes((None, 2)).parts(np.array([[9, 0.5]])), r"attribute 1 .* got 0.5"),
    ],
)
def test_bad_input_is_named(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


@given(
    st.floats(0, 8), st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.sampled_from([0.01, 0.05, 0.5])
)
@settings(max_examples=times(300), deadline=None)
def test_bins_move_no_further_than_their_bound(
    gamma: float, p: float, share: float, width: float
) -> None:
    q = float(np.clip(p * np.exp(gamma * (2 * share - 1)), 0, 1))
    one = logs(np.array([p, 1 - p]))
    other = logs(np.array([q, 1 - q]))
    actual = float(log_ratio(one, other))
    assert float(log_ratio(one, other, width)) <= binned_bound(np.array(actual), width) + 1e-12


def wide(n: int, m: int) -> tuple[NaiveBayes, Ints, Ints]:
    rng = np.random.default_rng(0)
    return NaiveBayes((2,) * m), rng.integers(0, 2, (n, m)), rng.integers(0, 2, n)


@pytest.mark.slow
def test_too_wide_tables_end_in_a_certified_range(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, x, y = wide(60, 16)
    fitted = learner.fit(x, y, n_classes=2)
    rows = np.arange(60)
    exact = fitted.dtp(rows, 0.0, NO_BOX)
    assert np.array_equal(exact.low, exact.high)
    # Some frontiers are too long: the others stay exact.
    monkeypatch.setattr("privacygauge.claims.dtp.counts.MOST_PAIRS", 28)
    some = fitted.dtp(rows, 0.0, NO_BOX)
    known = some.low == some.high
    assert 0 < known.sum() < 60
    assert_allclose(some.low[known], exact.low[known])
    assert (some.low <= exact.low + 1e-9).all()
    assert (exact.high <= some.high + 1e-9).all()
    assert f"for {(~known).sum()} of 60" in some.method
    # Too much work for all: given up after twenty of a class.
    monkeypatch.setattr("privacygauge.claims.dtp.counts.MOST_WORK", 10)
    few = fitted.dtp(rows, 0.0, NO_BOX)
    assert (few.low == few.high).sum() <= known.sum()
    assert (few.low <= exact.low + 1e-9).all()
    assert (exact.high <= few.high + 1e-9).all()


@pytest.mark.slow
def test_two_hundred_attributes_are_exact_within_the_certified_range() -> None:
    learner, x, y = wide(6, 200)
    fitted = learner.fit(x, y, n_classes=2)
    rows = np.arange(6)
    exact = fitted.dtp(rows, 0.0, NO_BOX)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privacygauge.claims.dtp.counts.MOST_PAIRS", 0)
        certified = fitted.dtp(rows, 0.0, NO_BOX)
    assert np.array_equal(exact.low, exact.high)
    assert (certified.low <= exact.low + 1e-9).all()
    assert (exact.high <= certified.high + 1e-9).all()
    assert (exact.high < certified.high).any()
