from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from privacygauge.claims.dtp.logistic import Logistic
from privacygauge.classifiers.learner import Box, box_of
from privacygauge.classifiers.ratios import cap, log_linear_dtp, log_ratio
from privacygauge.errors import InputError
from tests.thorough import times


@st.composite
def made(draw, most_d=5):
    """Return coefficients, those without records, the records, and a box."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, most_d))
    k = draw(st.integers(2, 4))
    r = draw(st.integers(1, 3))
    scale = draw(st.sampled_from((0.1, 1.0, 30.0)))
    change = draw(st.sampled_from((1e-3, 0.3, 5.0)))
    w = rng.normal(size=(d, k)) * scale
    b = rng.normal(size=k) * scale
    without = w + rng.normal(size=(r, d, k)) * change, b + rng.normal(size=(r, k)) * change
    low = rng.normal(size=d)
    box = Box(low, low + rng.exponential(size=d) * (rng.random(d) < 0.9))
    x = box.low + rng.random((r, d)) * (box.high - box.low)
    return (w, b), without, x, box


def naive(coefficients, without, queries, width):
    """Return the largest log ratio over queries (q, d), for each record."""
    w, b = coefficients
    found = []
    for w_i, b_i in zip(*without, strict=True):
        one = queries @ w + b
        other = queries @ w_i + b_i
        found.append(log_ratio(log_softmax(one, axis=1), log_softmax(other, axis=1), width).max())
    return np.array(found)


def corners_and_more(box, x, n=300):
    inside = box.low + np.random.default_rng(0).random((n, len(box.low))) * (box.high - box.low)
    return np.vstack([list(product(*zip(box.low, box.high, strict=True))), inside, x])


@settings(max_examples=times(60))
@given(made(), st.sampled_from((0.0, 0.01, 0.1)))
def test_no_corner_and_no_query_shows_more_than_the_bound(case, width):
    coefficients, without, x, box = case
    found = log_linear_dtp(coefficients, without, x, width, box)
    shown = naive(coefficients, without, corners_and_more(box, x), width)
    assert (shown <= found.high).all()
    assert (found.low <= found.high).all()


@settings(max_examples=times(40))
@given(made())
def test_some_corner_or_the_record_itself_shows_the_lower_end(case):
    coefficients, without, x, box = case
    found = log_linear_dtp(coefficients, without, x, 0.0, box)
    own = []
    for i in range(len(x)):
        alone = without[0][[i]], without[1][[i]]
        own.append(naive(coefficients, alone, x[[i]], 0.0)[0])
    corners = naive(coefficients, without, corners_and_more(box, x[:0], n=0), 0.0)
    assert (own <= found.low + 1e-12).all()
    assert (found.low <= np.maximum(own, corners) * (1 + 1e-9) + 1e-12).all()


def test_the_bound_is_met_where_a_corner_is_sure_of_the_other_class():
    # The score of class 0 falls by x / 10 and that of class 1 is 50 x higher.
    w = np.array([[0.0, 50.0]])
    without = np.array([[[0.1, 50.0]]])
    zero = np.zeros(2), np.zeros((1, 2))
    box = Box(np.array([0.0]), np.array([1.0]))
    x = np.array([[0.5]])
    found = log_linear_dtp((w, zero[0]), (without, zero[1]), x, 0.0, box)
    np.testing.assert_allclose(found.low, 0.1, rtol=1e-11)
    np.testing.assert_allclose(found.high, 0.1, rtol=1e-11)


def test_probabilities_too_small_for_a_number_have_finite_ratios():
    w = np.array([[0.0, 4000.0]])
    without = np.array([[[1.0, 4000.0]]])
    box = Box(np.array([0.0]), np.array([1.0]))
    x = np.array([[1.0]])
    found = log_linear_dtp((w, np.zeros(2)), (without, np.zeros((1, 2))), x, 0.0, box)
    np.testing.assert_allclose((found.low, found.high), 1.0, rtol=1e-9)


def test_a_record_outside_the_box_is_a_query_too():
    w = np.array([[0.0, 1.0]])
    without = np.array([[[0.0, 2.0]]])
    box = Box(np.array([0.0]), np.array([1.0]))
    without = without, np.zeros((1, 2))
    far = log_linear_dtp((w, np.zeros(2)), without, np.array([[9.0]]), 0.0, box)
    near = log_linear_dtp((w, np.zeros(2)), without, np.array([[1.0]]), 0.0, box)
    assert far.high[0] == far.low[0] > near.high[0]


def test_a_class_that_is_lost_shows_everything_and_one_that_neither_knows_nothing():
    zero = np.zeros((1, 3))
    x = np.zeros((1, 1))
    box = Box(np.zeros(1), np.ones(1))
    b = np.array([0.0, 0.0, -np.inf])
    lost = np.array([[0.0, -np.inf, -np.inf]])
    unchanged = log_linear_dtp((zero, b), (zero[None], b[None]), x, 0.0, box)
    assert unchanged.low[0] == unchanged.high[0] == 0
    found = log_linear_dtp((zero, b), (zero[None], lost), x, 0.0, box)
    assert found.low[0] == found.high[0] == np.inf
    binned = log_linear_dtp((zero, b), (zero[None], lost), x, 0.01, box)
    assert 0 < binned.low[0] <= binned.high[0] <= cap(0.01)


def test_a_box_of_other_attributes_is_refused():
    w = np.zeros((2, 2))
    box = Box(np.zeros(1), np.ones(1))
    with pytest.raises(InputError, match="box must have 2 attributes, got 1"):
        log_linear_dtp((w, np.zeros(2)), (w[None], np.zeros((1, 2))), np.zeros((1, 2)), 0.0, box)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fitted_logistic_regression_bounds_its_own_records_tightly(n_classes):
    rng = np.random.default_rng(1)
    y = rng.integers(n_classes, size=80)
    x = rng.normal(size=(80, 6)) + np.eye(6)[y] * 2
    model = Logistic(0.1).fit(x, y, n_classes=n_classes)
    rows = np.arange(20)
    box = box_of(x)
    found = model.dtp(rows, 0.0, box)
    queries = corners_and_more(box, x)
    shown = log_ratio(model.log_p(queries), model.log_p_without_at(rows, queries)).max(axis=1)
    assert (shown <= found.high).all()
    # No corner shows much more than the few that were looked at.
    assert (found.low >= 0.9 * shown).all()
    assert (found.high / found.low).mean() < 1.1
