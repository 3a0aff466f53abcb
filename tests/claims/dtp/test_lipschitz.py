from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from privacygauge.claims.dtp.network_bounds import (
    RELU,
    SIGMOID,
    TANH,
    Bound,
    dtp_bound,
    logistic_constant,
    logistic_odds_constant,
    network_bound,
    network_constant,
)
from privacygauge.classifiers.learner import Box
from privacygauge.errors import InputError
from tests.thorough import times

ROUNDING = 1 + 1e-9
ACTIVATIONS = (TANH, RELU, SIGMOID)
numbers = st.integers(0, 2**32 - 1)


def a_box(rng, d):
    low = rng.normal(size=d) * 2
    return Box(low, low + rng.exponential(size=d))


def queries(rng, box, n=60):
    inside = box.low + rng.random((n, len(box.low))) * (box.high - box.low)
    corners = np.where(rng.random((n, len(box.low))) < 0.5, box.low, box.high)
    return np.vstack([inside, corners])


def a_network(rng, widths, scale):
    return [
        (rng.normal(size=(out, into)) * scale, rng.normal(size=out) * scale)
        for into, out in pairwise(widths)
    ]


def moved_a_little(rng, layers, by):
    return [
        (w + rng.normal(size=w.shape) * by, b + rng.normal(size=b.shape) * by) for w, b in layers
    ]


def log_probabilities(layers, activation, x):
    for w, b in layers[:-1]:
        x = activation.function(x @ w.T + b)
    w, b = layers[-1]
    return log_softmax(x @ w.T + b, axis=1)


def apart(layers, others):
    pairs = zip(layers, others, strict=True)
    return max(np.abs(a - b).max() for one, two in pairs for a, b in zip(one, two, strict=True))


@st.composite
def network_pairs(draw):
    rng = np.random.default_rng(draw(numbers))
    depth = draw(st.integers(1, 3))
    widths = [*rng.integers(1, 6, size=depth), draw(st.integers(2, 4))]
    layers = a_network(rng, widths, draw(st.sampled_from((0.3, 1.0, 5.0))))
    others = moved_a_little(rng, layers, draw(st.sampled_from((1e-4, 0.1, 3.0))))
    return rng, layers, others, a_box(rng, widths[0])


@settings(max_examples=times(60))
@given(network_pairs(), st.sampled_from(ACTIVATIONS))
def test_no_query_shows_more_than_the_bounds_of_networks(case, activation):
    rng, layers, others, box = case
    x = queries(rng, box)
    one, two = (log_probabilities(v, activation, x) for v in (layers, others))
    shown = np.abs(one - two).max()
    constant = network_constant([layers, others], activation, box).value
    direct = network_bound(layers, others, activation, box).value
    assert shown <= direct * ROUNDING + 1e-12
    assert shown <= constant * apart(layers, others) * ROUNDING + 1e-12
    # The two networks themselves say more than the norms of their layers do.
    assert direct <= constant * apart(layers, others) * ROUNDING


@settings(max_examples=times(40))
@given(network_pairs(), st.sampled_from(ACTIVATIONS))
def test_the_constant_holds_between_any_networks_of_no_larger_norms(case, activation):
    rng, layers, _, box = case
    constant = network_constant([layers], activation, box).value
    others = [(w * rng.uniform(-1, 1), b * rng.uniform(-1, 1)) for w, b in layers]
    x = queries(rng, box)
    one, two = (log_probabilities(v, activation, x) for v in (layers, others))
    assert np.abs(one - two).max() <= constant * apart(layers, others) * ROUNDING + 1e-12


@settings(max_examples=times(40))
@given(numbers, st.integers(1, 5), st.integers(2, 4), st.sampled_from((0.01, 1.0, 30.0)))
def test_no_query_shows_more_than_the_constant_of_logistic_regression(seed, d, k, scale):
    rng = np.random.default_rng(seed)
    box = a_box(rng, d)
    u, v = rng.normal(size=(2, d + 1, k)) * scale
    x = np.hstack([queries(rng, box), np.ones((120, 1))])
    shown = np.abs(log_softmax(x @ u, axis=1) - log_softmax(x @ v, axis=1)).max()
    bound = dtp_bound(logistic_constant(box), u, v[None])
    assert shown <= bound[0] * ROUNDING
    odds = np.abs(np.logaddexp(0, x @ u[:, 0]) - np.logaddexp(0, x @ v[:, 0])).max()
    assert odds <= dtp_bound(logistic_odds_constant(box), u[:, 0], v[None, :, 0])[0] * ROUNDING


def test_the_constants_of_logistic_regression_are_reached_where_the_other_class_is_sure():
    box = Box(np.array([-3.0, 0.0]), np.array([2.0, 1.0]))
    step = 1e-3
    corner = np.array([-3.0, 1.0, 1.0])
    u = np.array([[0.0, -20.0], [0.0, 20.0], [0.0, 20.0]])
    v = u + step * np.sign(corner)[:, None] * np.array([1.0, -1.0])
    moved = np.abs(log_softmax(corner @ u) - log_softmax(corner @ v)).max()
    np.testing.assert_allclose(moved, dtp_bound(logistic_constant(box), u, v[None]), rtol=1e-6)
    w = u[:, 1]
    other = u[:, 1] + step * np.sign(corner)
    moved = np.logaddexp(0, corner @ other) - np.logaddexp(0, corner @ w)
    bound = dtp_bound(logistic_odds_constant(box), w, other[None])
    np.testing.assert_allclose(moved, bound, rtol=1e-6)


def test_the_direct_bound_of_a_network_is_reached_when_one_path_moves():
    # 1 -> relu -> scores (0, h): the likelier class is sure at x = 1, and both layers move.
    one = [(np.array([[30.0]]), np.zeros(1)), (np.array([[0.0], [1.0]]), np.zeros(2))]
    two = [(np.array([[30.1]]), np.zeros(1)), (np.array([[0.0], [1.01]]), np.zeros(2))]
    box = Box(np.zeros(1), np.ones(1))
    shown = log_probabilities(one, RELU, np.ones((1, 1))) - log_probabilities(
        two, RELU, np.ones((1, 1))
    )
    bound = network_bound(one, two, RELU, box).value
    np.testing.assert_allclose(np.abs(shown).max(), bound, rtol=1e-9)
    np.testing.assert_allclose(bound, 30.1 * 1.01 - 30, rtol=1e-9)


def test_a_network_of_one_layer_has_the_constant_of_logistic_regression():
    rng = np.random.default_rng(0)
    box = a_box(rng, 4)
    found = network_constant([a_network(rng, (4, 3), 1.0)], TANH, box)
    assert found.value == pytest.approx(logistic_constant(box).value, rel=1e-12)


def test_a_bound_of_values_keeps_the_constant_from_growing_with_the_weights_before():
    rng = np.random.default_rng(0)
    box = a_box(rng, 4)
    layers = a_network(rng, (4, 3), 100.0) + a_network(rng, (3, 2), 0.0)
    tanh, relu = (network_constant([layers], v, box).value for v in (TANH, RELU))
    assert tanh == 2 * (1 + 3)
    assert relu > 50 * tanh


def test_equal_networks_differ_nowhere():
    rng = np.random.default_rng(0)
    layers = a_network(rng, (4, 5, 3), 2.0)
    box = a_box(rng, 4)
    assert all(network_bound(layers, layers, v, box).value == 0 for v in ACTIVATIONS)


def test_bounds_say_what_they_bound():
    box = Box(np.zeros(2), np.ones(2))
    layers = a_network(np.random.default_rng(0), (2, 2), 1.0)
    assert "any log probability" in logistic_constant(box).what
    assert "theorem 6.9" in logistic_constant(box).source
    assert "relu networks" in network_constant([layers], RELU, box).what
    assert "DTP of one record" in network_bound(layers, layers, RELU, box).what


def test_what_does_not_fit_is_refused():
    rng = np.random.default_rng(0)
    box = Box(np.zeros(2), np.ones(2))
    layers = a_network(rng, (2, 3, 2), 1.0)
    with pytest.raises(InputError, match=r"layer 0 must have weights of the shape \(3, 1\)"):
        network_bound(layers, layers, TANH, Box(np.zeros(1), np.ones(1)))
    with pytest.raises(InputError, match="both networks must have one shape"):
        network_constant([layers, layers[1:]], TANH, box)
    with pytest.raises(InputError, match="must hold at least one, got none"):
        network_constant([], TANH, box)
    with pytest.raises(InputError, match="at least one layer, got none"):
        network_bound([], [], TANH, box)
    with pytest.raises(InputError, match="without must have the shape"):
        dtp_bound(logistic_constant(box), np.zeros(3), np.zeros((1, 2)))
    with pytest.raises(InputError, match="value must be at least 0, got nan"):
        Bound(np.nan, "", "")
