import math

import numpy as np
import pytest

from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.signals import SIGNALS, resolution, signals
from tests.classifiers.made import softmax


def probs(p, labels=None):
    labels = np.zeros(len(p), int) if labels is None else labels
    return predictions(probs=p, labels=labels, member=np.arange(len(p)) % 2 == 0)


def confident(n=3000, k=4, seed=0):
    """Return float64 probabilities of logits up to 30 above the others."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k))
    z[:, 0] += rng.uniform(0, 30, n)
    return softmax(z)


def voted(trees):
    """Return what a forest of so many trees would say."""

    def of(p):
        votes = np.floor(trees * p)
        votes[:, 0] += trees - votes.sum(axis=1)
        return votes / trees

    return of


@pytest.mark.parametrize(
    ("coarse", "least"),
    [
        (lambda p: p.astype(np.float16), 2.0**-25),
        (lambda p: p.astype(np.float16).astype(np.float32), 2.0**-25),
        (lambda p: np.round(p, 6), 0.5e-6),
        (lambda p: np.round(p, 6).astype(np.float32), 0.5e-6),
        (lambda p: np.round(p, 4), 0.5e-4),
        (voted(30), 1 / 60),
        (voted(40), 1 / 80),
        (voted(64), 1 / 128),
        (lambda p: voted(100)(p).astype(np.float32), 1 / 200),
    ],
)
def test_a_zero_is_half_of_the_smallest_that_is_resolved(coarse, least):
    assert resolution(probs(coarse(confident()))).least == pytest.approx([least], rel=1e-6)


def test_nothing_is_cut_off_where_nothing_was_rounded_away():
    p = confident()
    assert resolution(probs(p)).least == p.min() / 2
    for order in ("C", "F"):
        again = resolution(probs(np.array(p, ">f8", order=order)))
        assert again.least == p.min() / 2


def test_the_coarsest_set_counts_for_all_and_the_finest_value_of_equally_coarse_ones():
    p = confident()
    fine = probs(p)
    coarse = probs(p.astype(np.float16))
    for sets in ((fine, coarse), (coarse, fine)):
        assert resolution(*sets).least == [2.0**-25]
    few = probs(p[p.min(axis=1) > 1e-6])
    assert resolution(few, fine).least == resolution(fine).least


def test_of_two_classes_one_may_be_less_resolved():
    p = np.random.default_rng(0).permuted(confident(k=2), axis=1)[:, 0].astype(np.float32)
    both = np.column_stack([p, 1 - p])
    assert (both[:, 1] == 0).any()
    for given in (both, both.astype(np.float64)):
        first, second = resolution(probs(given)).least
        assert second == 2.0**-25
        assert first == p.min() / 2
    turned = probs(both[:, ::-1])
    assert np.array_equal(resolution(turned).least, resolution(probs(both)).least[::-1])


def test_without_anything_between_0_and_1_the_type_is_all_that_is_known():
    for dtype in (np.float64, np.float32, np.float16, np.longdouble, bool, int):
        one_hot = np.eye(3, dtype=dtype)[[0, 1, 2, 0]]
        spacing = np.finfo(dtype if dtype in (np.float32, np.float16) else np.float64).epsneg
        assert resolution(probs(one_hot)).least == [spacing / 2]


def test_a_rest_is_what_the_others_sum_to():
    p = np.array([[0.0, 3e-9, 2e-9], [0.5, 0.3, 0.2]], np.float32)
    p[0, 0] = 1.0
    found = signals(probs(p))
    assert found["scaled-logit"][0] == pytest.approx(-math.log(5e-9), rel=1e-6)
    assert found["loss"][0] == pytest.approx(-5e-9, rel=1e-6)
    assert found["confidence"][0] == 1 - found["loss"][0] * -1
    assert found["modified-entropy"][0] < 0


def test_decimals_know_the_rest_better_than_the_sum_of_what_was_rounded():
    # 40 classes of 1e-7 each: all are 0 in 6 digits, but 1 - p is 4e-6.
    p = np.full((3, 41), 1e-7)
    p[:, 0] = 1 - 40e-7
    p[1] = 1 / 41
    p = np.round(p, 6)
    assert signals(probs(p))["scaled-logit"][0] == pytest.approx(-math.log(4e-6), rel=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_the_unresolved_are_those_at_the_bounds(dtype):
    p = confident(k=3).astype(dtype)
    labels = np.random.default_rng(1).integers(3, size=len(p))
    given = probs(p, labels)
    found = resolution(given)
    own = p[np.arange(len(p)), labels]
    wanted = (own == 0) | (np.sort(p, axis=1)[:, -2] == 0) & (p.argmax(axis=1) == labels)
    assert np.array_equal(found.unresolved(signals(given)["scaled-logit"], labels), wanted)
    assert wanted.any() == (dtype is np.float16)


def test_relabelling_two_classes_changes_no_signal():
    p = confident(k=2)[:, 0].astype(np.float32)
    labels = np.random.default_rng(1).integers(2, size=len(p))
    both = np.column_stack([p, 1 - p])
    first = signals(probs(both, labels))
    second = signals(probs(both[:, ::-1], 1 - labels))
    for name in SIGNALS:
        np.testing.assert_allclose(second[name], first[name], rtol=1e-12, err_msg=name)


def test_probabilities_below_the_smallest_normal_number_have_finite_signals():
    probs = np.array([[1.0, 5e-324], [5e-324, 1.0], [0.3, 0.7], [0.6, 0.4]])
    made = predictions(probs=probs, labels=[0, 0, 1, 1], member=[True, False, True, False])
    for name, values in signals(made).items():
        assert np.isfinite(values).all(), name
