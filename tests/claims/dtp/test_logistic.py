import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from privacygauge.claims.dtp import logistic
from privacygauge.claims.dtp.logistic import Logistic
from privacygauge.classifiers.learner import Bounded, Learner
from privacygauge.datasets.local_copies import own_file
from privacygauge.errors import InputError
from tests.thorough import quarter, times

CLOSE = 1e-7
"""Largest difference of a probability from that of an honest refit to 1e-12."""

THEIRS = 1e-6
"""The same for scikit-learn's refits, whose tolerance is another one."""


def records(rng, n, d, k, kind="plain"):
    """Return records (n, d) and their classes, each class more than once."""
    y = np.append(np.repeat(np.arange(k), 2), rng.integers(k, size=n - 2 * k))
    x = rng.normal(size=(n, d)) + (y[:, None] == np.arange(d) % k) * rng.uniform(0, 3)
    if kind == "binary":
        x = (x > 0.5).astype(float)
    if kind == "separable":
        x[:, 0] = y * 10.0
    if kind == "redundant":
        x[:, -1], x[:, 0] = x[:, 0] * 2, 3.0
    if kind == "far":
        x = x * 50 + 1e4
    return x, y


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    k = draw(st.integers(2, 4))
    n = draw(st.integers(2 * k, 30))
    d = draw(st.integers(2, 6))
    kind = draw(st.sampled_from(("plain", "binary", "separable", "redundant", "far")))
    return *records(rng, n, d, k, kind), k, 10.0 ** draw(st.floats(-3, 1))


def honest(x, y, l2, k, row):
    """Return what a fit from scratch without the record tells it, (k,)."""
    others = np.arange(len(y)) != row
    return np.exp(Logistic(l2, 1e-12).fit(x[others], y[others], n_classes=k).log_p(x[[row]]))[0]


def by_sklearn(x, y, l2, queries, solver="newton-cholesky"):
    model = LogisticRegression(C=1 / l2, tol=1e-12, max_iter=10_000, solver=solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may not reach 1e-12, and says so
        return model.fit(x, y).predict_proba(queries)


@pytest.mark.slow
@settings(max_examples=times(40))
@given(cases())
def test_every_record_is_left_out_as_by_a_fit_from_scratch(case):
    x, y, k, l2 = case
    model = Logistic(l2).fit(x, y, n_classes=k)
    found = np.exp(model.log_p_without(np.arange(len(y))))
    for row in range(0, len(y), 3):
        np.testing.assert_allclose(found[row], honest(x, y, l2, k, row), rtol=0, atol=CLOSE)


@pytest.mark.slow
@settings(max_examples=times(25))
@given(cases(), st.sampled_from(("newton-cholesky", "lbfgs")))
def test_every_record_is_left_out_as_by_scikit_learn(case, solver):
    x, y, k, l2 = case
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-3)  # its solvers need that
    if solver == "lbfgs":
        l2 = max(l2, 0.1)  # it stops when the loss stalls: too early where that is flat
    model = Logistic(l2).fit(x, y, n_classes=k)
    np.testing.assert_allclose(
        np.exp(model.log_p(x)), by_sklearn(x, y, l2, x, solver), rtol=0, atol=THEIRS
    )
    found = np.exp(model.log_p_without(np.arange(len(y))))
    for row in range(0, len(y), 7):
        others = np.arange(len(y)) != row
        theirs = by_sklearn(x[others], y[others], l2, x[[row]], solver)
        np.testing.assert_allclose(found[[row]], theirs, rtol=0, atol=THEIRS)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_gradient_of_the_loss_as_written_is_zero_without_each_record(k):
    x, y = records(np.random.default_rng(k), 40, 5, k)
    model = Logistic(0.3).fit(x, y, n_classes=k)
    l2 = 0.3
    rows = np.arange(0, 40, 3)
    for row, w, b in zip(rows, *model.coefficients_without(rows), strict=True):
        others = np.arange(40) != row
        scores = np.exp(x[others] @ w + b)
        away = scores / scores.sum(axis=1, keepdims=True) - np.eye(k)[y[others]]
        # scikit-learn penalises the difference of two vectors: twice that of its halves.
        gradient = x[others].T @ away + (2 if k == 2 else 1) * l2 * w
        np.testing.assert_allclose(gradient, 0, atol=1e-8)
        np.testing.assert_allclose(away.sum(axis=0), 0, atol=1e-8)


def test_a_record_far_from_all_others_is_left_out_exactly():
    rng = np.random.default_rng(0)
    x, y = records(rng, 60, 4, 3)
    x[7] = [300.0, -200.0, 100.0, 50.0]
    for l2 in (1e-3, 1.0):
        found = np.exp(Logistic(l2).fit(x, y, n_classes=3).log_p_without([7]))[0]
        np.testing.assert_allclose(found, honest(x, y, l2, 3, 7), rtol=0, atol=CLOSE)


def test_what_chords_do_not_reach_newton_steps_do(monkeypatch):
    x, y = records(np.random.default_rng(1), 40, 4, 3)
    model = Logistic(0.1).fit(x, y, n_classes=3)
    rows = np.arange(40)
    expected = np.exp(model.log_p_without(rows))
    monkeypatch.setattr("privacygauge.claims.dtp.logistic._CHORDS", 1)
    np.testing.assert_allclose(np.exp(model.log_p_without(rows)), expected, rtol=0, atol=1e-9)


def test_ordinary_records_need_no_newton_steps_of_their_own(monkeypatch):
    x, y = records(np.random.default_rng(1), 300, 4, 3)
    model = Logistic().fit(x, y, n_classes=3)
    monkeypatch.delattr(logistic.Problem, "without")
    found = np.exp(model.log_p_without(np.arange(300)))
    np.testing.assert_allclose(found[0], honest(x, y, 1.0, 3, 0), rtol=0, atol=CLOSE)


def test_blocks_change_nothing(monkeypatch):
    x, y = records(np.random.default_rng(2), 200, 4, 3)
    whole = np.exp(Logistic().fit(x, y, n_classes=3).log_p_without(np.arange(90)))
    monkeypatch.setattr(logistic, "BLOCK", 50)
    monkeypatch.setattr("privacygauge.claims.dtp.logistic.BLOCK", 50)
    parts = np.exp(Logistic().fit(x, y, n_classes=3).log_p_without(np.arange(90)))
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-10)


def test_equal_records_and_repeated_rows_have_equal_answers():
    x, y = records(np.random.default_rng(3), 30, 3, 2)
    x[5], y[5] = x[4], y[4]
    model = Logistic().fit(x, y, n_classes=2)
    found = np.exp(model.log_p_without([5, 4, 4, 0]))
    assert (found[0] == found[1]).all()
    assert (found[1] == found[2]).all()
    np.testing.assert_allclose(found[3], honest(x, y, 1.0, 2, 0), rtol=0, atol=CLOSE)


def test_queries_are_told_what_the_coefficients_say():
    x, y = records(np.random.default_rng(4), 30, 3, 3)
    model = Logistic().fit(x, y, n_classes=3)
    rows = np.array([3, 20])
    found = np.exp(model.log_p_without_at(rows, x[:5]))
    assert found.shape == (2, 5, 3)
    for row, told in zip(rows, found, strict=True):
        others = np.arange(30) != row
        refit = Logistic(1.0, 1e-12).fit(x[others], y[others], n_classes=3)
        np.testing.assert_allclose(told, np.exp(refit.log_p(x[:5])), rtol=0, atol=CLOSE)
        np.testing.assert_allclose(
            model.coefficients_without([row])[0][0], refit.coefficients()[0], rtol=0, atol=1e-6
        )
    np.testing.assert_allclose(
        np.exp(model.log_p_without_at(rows, x))[[0, 1], rows], np.exp(model.log_p_without(rows))
    )


def test_a_class_whose_only_record_is_left_out_is_gone():
    x, y = records(np.random.default_rng(5), 30, 3, 2)
    y[9] = 3
    model = Logistic().fit(x, y, n_classes=5)
    assert (np.exp(model.log_p(x))[:, [2, 4]] == 0).all()
    found = np.exp(model.log_p_without([9, 0]))
    others = np.arange(30) != 9
    assert (found[0, 2:] == 0).all()
    theirs = by_sklearn(x[others], y[others], 1.0, x[[9]])
    np.testing.assert_allclose(found[[0], :2], theirs, rtol=0, atol=THEIRS)
    assert found[1, 3] > 0
    np.testing.assert_allclose(found[1], honest(x, y, 1.0, 5, 0), rtol=0, atol=CLOSE)


def test_a_class_that_is_left_alone_has_the_probability_one():
    x = np.arange(4.0)[:, None]
    y = np.array([1, 1, 0, 1])
    model = Logistic().fit(x, y, n_classes=2)
    np.testing.assert_array_equal(np.exp(model.log_p_without([2])), [[0.0, 1.0]])
    alone = Logistic().fit(x[:2], y[:2], n_classes=2)
    np.testing.assert_array_equal(np.exp(alone.log_p(x)), [[0.0, 1.0]] * 4)
    np.testing.assert_array_equal(np.exp(alone.log_p_without([0, 1])), [[0.0, 1.0]] * 2)


def test_records_without_attributes_have_the_shares_of_the_classes():
    y = np.array([0, 0, 1, 2, 2, 2])
    model = Logistic().fit(np.zeros((6, 2)), y, n_classes=3)
    np.testing.assert_allclose(np.exp(model.log_p(np.zeros((1, 2))))[0], [2 / 6, 1 / 6, 3 / 6])
    np.testing.assert_allclose(
        np.exp(model.log_p_without([5]))[0], [2 / 5, 1 / 5, 2 / 5], rtol=1e-9
    )


def test_it_is_a_learner_whose_classifier_bounds_dtp():
    x, y = records(np.random.default_rng(6), 20, 2, 2)
    learner = Logistic(2.0)
    assert isinstance(learner, Learner)
    assert isinstance(learner.fit(x, y, n_classes=2), Bounded)
    assert learner.describe() == {"l2": 2.0, "tol": 1e-10}


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda x, y: Logistic(0.0), "l2 must be above 0, got 0.0; 1e-6 is nearly no penalty"),
        (lambda x, y: Logistic(tol=1.0), r"tol must be in \(0, 1\), got 1.0"),
        (lambda x, y: Logistic().fit(x * np.nan, y, n_classes=2), "must be finite numbers"),
        (lambda x, y: Logistic().fit(x, y[1:], n_classes=2), "as many rows, at least 1, got 9, 8"),
        (lambda x, y: Logistic().fit(x, y, n_classes=1), r"must be in 0..0, got 0..1"),
        (
            lambda x, y: np.exp(Logistic().fit(x[:1], y[:1], n_classes=2).log_p_without([0])),
            "single record",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused(broken, message):
    x, y = records(np.random.default_rng(7), 9, 2, 2)
    with pytest.raises(InputError, match=message):
        broken(x, y)


def test_too_many_parameters_are_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(logistic, "MOST_PARAMETERS", 8)
    x, y = records(np.random.default_rng(8), 9, 4, 3)
    with pytest.raises(InputError, match="drop attributes or classes, or refit for each record"):
        Logistic().fit(x, y, n_classes=3)


@pytest.mark.slow
@pytest.mark.skipif(own_file("adult.data") is None, reason="PRIVACYGAUGE_DATA holds no adult.data")
def test_records_of_adult_are_left_out_as_by_honest_refits():
    from privacygauge.datasets.public import adult, adult_binary

    x, y = adult_binary(adult()[:3000])
    x = x[:1000]
    y = y[:1000]
    rows = np.arange(quarter(200))
    found = np.exp(Logistic().fit(x, y, n_classes=2).log_p_without(rows))
    ours = [honest(x, y, 1.0, 2, row) for row in rows]
    np.testing.assert_allclose(found, ours, rtol=0, atol=1e-8)
    for row in rows:
        others = np.arange(1000) != row
        theirs = by_sklearn(x[others], y[others], 1.0, x[[row]])
        np.testing.assert_allclose(found[[row]], theirs, rtol=0, atol=THEIRS)
