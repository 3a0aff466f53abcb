"""The network on score vectors: its gradient, what it learns, and that order means nothing."""

from itertools import pairwise

import numpy as np
import pytest

from privacygauge.claims.defences.memguard import AttackClassifier, LearntClassifier, NeuralJia
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation
from privacygauge.errors import InputError
from tests.claims.defences.catalogue import TINY, owners_rows


def drawn(k=5, hidden=(7, 4), ordered=False, seed=0):
    """Return a network of double precision with weights that mean nothing."""
    rng = np.random.default_rng(seed)
    sizes = (k, *hidden, 1)
    return LearntClassifier(
        tuple(rng.normal(size=(a, b)) for a, b in pairwise(sizes)),
        tuple(rng.normal(size=b) for b in sizes[1:]),
        ordered,
    )


@pytest.mark.parametrize("hidden", [(6,), (7, 4), (5, 4, 3)])
@pytest.mark.parametrize("ordered", [False, True])
def test_the_gradient_is_that_of_finite_differences(hidden, ordered):
    network = drawn(5, hidden, ordered)
    k = 5
    h = 1e-6
    p = np.random.default_rng(1).dirichlet(np.ones(k), 20)
    value, gradient = network.log_odds_and_gradient(p)
    assert np.array_equal(value, network.log_odds(p))
    for j in range(k):
        up = p.copy()
        down = p.copy()
        up[:, j] += h
        down[:, j] -= h
        slope = (network.log_odds(up) - network.log_odds(down)) / (2 * h)
        # Piecewise linear: exact but for the rounding of the difference.
        assert gradient[:, j] == pytest.approx(slope, abs=1e-7)


def test_the_output_is_the_trained_networks():
    """Against scikit-learn's own forward pass, with one layer by hand."""
    p, member = owners_rows(4)
    network = AttackClassifier(sorted=False, hidden=(8,), epochs=3).learn(
        p.astype(np.float32), member, np.random.default_rng(0)
    )
    first, last = network.weights
    bias, shift = network.biases
    expected = [float(np.maximum(row @ first + bias, 0) @ last[:, 0] + shift[0]) for row in p]
    assert network.log_odds(p) == pytest.approx(expected)


def test_it_learns_who_is_surer_and_sorted_vectors_have_no_order():
    p, member = owners_rows(4)
    network = AttackClassifier(hidden=(16,), epochs=60, learning_rate=0.01).learn(
        p.astype(np.float32), member, np.random.default_rng(0)
    )
    odds = network.log_odds(p)
    assert ((odds > 0) == member).mean() > 0.8
    assert network.log_odds(p[:, [2, 0, 3, 1]]) == pytest.approx(odds, abs=1e-6)


def test_equal_generators_give_equal_networks():
    p, member = owners_rows(4)
    one, two = (
        TINY.learn(p.astype(np.float32), member, np.random.default_rng(3)) for _ in range(2)
    )
    assert np.array_equal(one.log_odds(p), two.log_odds(p))


def test_the_attack_needs_vectors_and_shadow_records():
    seen = Observation({"confidence": np.ones(3)}, np.zeros(3, int))
    skipped = NeuralJia().score(seen, np.random.default_rng(0))
    assert isinstance(skipped, Skipped)
    assert (NeuralJia().variant, NeuralJia(AttackClassifier(sorted=False)).variant) == (
        "sorted",
        "raw",
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AttackClassifier(hidden=()), "hidden must name layers"),
        (lambda: AttackClassifier(epochs=0), "epochs must be at least 1, got 0"),
        (lambda: AttackClassifier(learning_rate=0.0), "learning_rate must be finite and above 0"),
        (lambda: AttackClassifier(penalty=-1.0), "penalty must be finite and at least 0"),
        (lambda: NeuralJia(most=0), "most must be at least 1"),
        (
            lambda: TINY.learn(np.ones((2, 2)), np.ones(2, bool), np.random.default_rng(0)),
            "needs members and non-members",
        ),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
