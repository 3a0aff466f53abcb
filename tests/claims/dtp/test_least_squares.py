from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.claims.dtp.least_squares import KernelRidge, LeastSquares, Linear, Rbf
from privacygauge.classifiers.learner import Learner
from privacygauge.errors import InputError
from privacygauge.runs.threads import one_thread
from tests.claims.dtp import honest
from tests.claims.dtp.honest import adult_all, adult_numbers
from tests.thorough import quarter

assert_honest = partial(honest.assert_honest, logs=False)


@pytest.fixture(scope="module", autouse=True)
def alone():
    """Small decompositions on several threads wait for each other beside other tests."""
    with one_thread():
        yield


@st.composite
def cramped(draw):
    """Return few records of few values: collinear, equal, alone in their class or direction."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 8))
    d = draw(st.integers(1, 4))
    k = draw(st.integers(1, 3))
    x = rng.integers(-1, 2, size=(n, d)) * draw(st.sampled_from([1.0, 0.1]))
    if draw(st.booleans()):
        x[:, 0] += rng.normal(size=n)
    return x, rng.integers(0, k, size=n), k


def asked_of(x):
    return np.vstack([x, np.zeros_like(x[:1]), 2 * x[:1] + 1])


@pytest.mark.parametrize("l2", [0.0, 0.5])
@given(cramped())
def test_a_record_left_out_is_a_refit(l2, drawn):
    x, y, k = drawn
    assert_honest(LeastSquares(l2), x, y, k, queries=asked_of(x))


@pytest.mark.parametrize("kernel", [Linear(), Rbf(0.7)], ids=["linear", "rbf"])
@given(cramped())
def test_a_record_left_out_of_kernel_ridge_is_a_refit(kernel, drawn):
    x, y, k = drawn
    assert_honest(KernelRidge(0.3, kernel), x, y, k, queries=asked_of(x))


@given(cramped())
def test_without_a_penalty_the_smallest_solution_is_the_limit(drawn):
    x, y, k = drawn
    queries = asked_of(x)
    limit = LeastSquares(1e-7).fit(x, y, n_classes=k).scores(queries)
    found = LeastSquares().fit(x, y, n_classes=k).scores(queries)
    # The smallest singular value is about 0.01, so the penalty moves scores by about 1e-3.
    np.testing.assert_allclose(found, limit, rtol=0, atol=1e-2)


@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_scores_are_those_of_scikit_learn(l2):
    from sklearn.linear_model import LinearRegression, Ridge

    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 5))
    y = rng.integers(0, 3, size=60)
    theirs = (Ridge(alpha=l2) if l2 else LinearRegression()).fit(x, np.eye(3)[y])
    found = LeastSquares(l2).fit(x, y, n_classes=3)
    np.testing.assert_allclose(found.scores(x), theirs.predict(x), rtol=0, atol=1e-12)
    clipped = theirs.predict(x).clip(0, 1)
    expected = clipped / clipped.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(found.log_p(x)), expected, rtol=0, atol=1e-12)


@given(cramped())
def test_a_linear_kernel_is_ridge_regression(drawn):
    x, y, k = drawn
    one = LeastSquares(0.4).fit(x, y, n_classes=k)
    other = KernelRidge(0.4, Linear()).fit(x, y, n_classes=k)
    np.testing.assert_allclose(np.exp(one.log_p(x)), np.exp(other.log_p(x)), rtol=0, atol=1e-10)


def test_kernel_ridge_without_its_intercept_is_that_of_scikit_learn():
    from sklearn.kernel_ridge import KernelRidge as Theirs

    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 3))
    y = np.arange(40) % 2
    fitted = KernelRidge(0.5, Rbf(0.3)).fit(x, y, n_classes=2)
    intercept = fitted._coefficients[-1]
    theirs = Theirs(alpha=0.5, kernel="rbf", gamma=0.3).fit(x, np.eye(2)[y] - intercept)
    clipped = (theirs.predict(x) + intercept).clip(0, 1)
    expected = clipped / clipped.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(fitted.log_p(x)), expected, rtol=0, atol=1e-12)


def test_a_record_that_alone_decides_a_coefficient_leaves_the_smallest_solution():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    fitted = LeastSquares().fit(x, np.array([0, 1, 1, 0]), n_classes=2)
    assert np.exp(fitted.log_p(x[3:]))[0] == pytest.approx([1.0, 0.0])
    # Without it the second attribute has no coefficient: the line through 0, 1, 1 at 0.
    assert np.exp(fitted.log_p_without([3]))[0] == pytest.approx([5 / 6, 1 / 6])


def test_a_record_far_away_is_left_out_exactly():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 2))
    y = rng.integers(0, 2, size=30)
    x[4] = [1e7, -1e7]
    assert_honest(LeastSquares(), x, y, 2)


def test_people_left_out_are_refits(data_folder):
    x, y = adult_all(1000)
    assert_honest(LeastSquares(1.0), x, y, 2, rows=np.arange(0, 1000, 100), queries=x[:10])
    numbers, y = adult_numbers(1000)
    rows = np.arange(0, 1000, 1000 // quarter(200))
    assert_honest(LeastSquares(), numbers, y, 2, rows=rows, queries=numbers[:20])


def test_people_left_out_of_kernel_ridge_are_refits(data_folder):
    x, y = adult_numbers(200)
    rows = np.arange(0, 200, 8)
    assert_honest(KernelRidge(0.1, Rbf(0.2)), x, y, 2, rows=rows, queries=x[:10])


@pytest.mark.slow
def test_people_left_out_of_1000_are_refits(data_folder):
    x, y = adult_all(1000)
    rows = np.arange(0, 1000, 1000 // quarter(80))
    for learner in (LeastSquares(), LeastSquares(1.0), KernelRidge(0.1, Rbf(0.02))):
        assert_honest(learner, x, y, 2, rows=rows, queries=x[:10])


@pytest.mark.parametrize(
    ("learner", "name", "described"),
    [
        (LeastSquares(), "least squares", {"l2": 0.0}),
        (LeastSquares(2.0), "ridge regression", {"l2": 2.0}),
        (KernelRidge(2.0, Linear()), "kernel ridge regression", {"l2": 2.0, "kernel": "linear"}),
        (
            KernelRidge(1.0),
            "kernel ridge regression",
            {"l2": 1.0, "kernel": "rbf", "gamma": 1.0},
        ),
    ],
    ids=repr,
)
def test_it_is_a_learner(learner, name, described):
    assert isinstance(learner, Learner)
    assert (learner.name, learner.describe()) == (name, described)
    assert np.isnan(learner.fit(np.ones((1, 2)), [0], n_classes=2).log_p_without([0])).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LeastSquares(-1), "l2 must be finite and at least 0, got -1"),
        (lambda: KernelRidge(0), "l2 must be finite and above 0, got 0"),
        (lambda: Rbf(0), "gamma must be finite and above 0, got 0"),
    ],
)
def test_bad_options_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
