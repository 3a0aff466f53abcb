"""MemGuard against its own mathematics: the loss, the search, the budget, the coin."""

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.claims.defences.memguard import FittedMemGuard, MemGuard
from privacygauge.errors import InputError
from tests.claims.defences.catalogue import TINY, owners_rows
from tests.claims.defences.test_attack_classifier import drawn
from tests.classifiers.made import softmax

K = 5


def ready(seed=0, **parameters):
    """Return MemGuard with a network of double precision that cuts the answers somewhere."""
    network = drawn(K, seed=seed)
    odds = network.log_odds(asked())
    shifted = (*network.biases[:-1], network.biases[-1] - np.median(odds))
    return FittedMemGuard(MemGuard(**parameters), replace(network, biases=shifted))


def asked(n=60, seed=1):
    return softmax(2 * np.random.default_rng(seed).normal(size=(n, K)))


def loss(network, z, e, predicted, c2, c3):
    """Return phase I's loss of one record, term by term."""
    p = softmax(z[None])[0]
    noisy = softmax((z + e)[None])[0]
    rival = np.delete(z + e, predicted).max()
    return (
        abs(float(network.log_odds(noisy[None])[0]))
        + c2 * max(rival - z[predicted] - e[predicted], 0.0)
        + c3 * np.abs(noisy - p).sum()
    )


@pytest.mark.parametrize("c3", [0.1, 10.0])
def test_a_step_goes_down_the_gradient_of_the_loss(c3):
    guard = ready()
    h = 1e-5
    p = asked()
    z = np.log(p)
    rng = np.random.default_rng(2)
    e = rng.normal(size=p.shape)  # so far off that some rows have lost their class
    predicted = p.argmax(axis=1)
    noisy = softmax(z + e)
    odds, towards = guard.classifier.log_odds_and_gradient(noisy)
    told = np.sign(odds)[:, None] * towards + c3 * np.sign(noisy - p)
    slope = guard._slope(z + e, noisy, predicted, told)
    assert ((z + e).argmax(axis=1) != predicted).any()
    assert np.linalg.norm(slope, axis=1) == pytest.approx(1)
    for row in range(len(p)):
        gradient = np.array(
            [
                loss(guard.classifier, z[row], e[row] + d, predicted[row], 10.0, c3)
                - loss(guard.classifier, z[row], e[row] - d, predicted[row], 10.0, c3)
                for d in h * np.eye(K)
            ]
        )
        # The network sees single precision; the direction is that of the gradient all the same.
        assert slope[row] @ gradient / np.linalg.norm(gradient) > 1 - 1e-4


def naive(guard, p):
    """Return phase I's answer to one record, as the paper tells it."""
    m = guard.defence
    network = guard.classifier
    z = np.log(p)
    predicted = int(p.argmax())

    def h(x):
        return float(network.log_odds(x.astype(np.float32)[None])[0])

    kept = p
    c3 = m.c3
    for _ in range(12):
        e = np.zeros(K)
        tries = 0
        noisy = p
        while (h(noisy) * h(p) > 0 or noisy.argmax() != predicted) and tries < m.steps:
            _, slopes = network.log_odds_and_gradient(noisy.astype(np.float32)[None])
            jacobian = np.diag(noisy) - np.outer(noisy, noisy)
            u = np.sign(h(noisy)) * jacobian @ slopes[0]
            u += c3 * jacobian @ np.sign(noisy - p)
            s = z + e
            rival = max((j for j in range(K) if j != predicted), key=lambda j: s[j])
            if s[rival] >= s[predicted]:
                u[rival] += m.c2
                u[predicted] -= m.c2
            e = e - m.step * u / np.linalg.norm(u)
            noisy = softmax((z + e)[None])[0]
            tries = tries + 1
        if h(noisy) * h(p) > 0 or noisy.argmax() != predicted:
            break
        kept = noisy
        c3 = 10 * c3
    return kept


def test_all_records_at_once_are_each_by_itself():
    guard = ready(steps=40)
    p = asked(25)
    found = guard.noisy(p).p
    assert found == pytest.approx(np.array([naive(guard, row) for row in p]), abs=1e-9)
    assert (found != p).any()


@pytest.mark.parametrize("budget", [0.0, 0.05, 0.3, 2.0])
def test_the_expected_distance_is_within_the_budget(budget):
    guard = ready(budget=budget, steps=60)
    p = asked(30)
    noisy = guard.noisy(p)
    assert noisy.distance == pytest.approx(np.abs(noisy.p - p).sum(axis=1))
    assert (noisy.distance * noisy.probability <= budget + 1e-12).all()
    # Where the budget binds it is used up.
    bound = (noisy.distance > budget) & (noisy.probability > 0)
    assert (noisy.distance * noisy.probability)[bound] == pytest.approx(budget)
    assert budget == 2.0 or budget == 0.0 or bound.any()
    rng = np.random.default_rng(3)
    n = 400
    rows = np.flatnonzero(noisy.probability > 0)[:1]
    if len(rows):
        drawn_p = guard.answer(np.repeat(p[rows], n, axis=0), rng)
        released = (drawn_p == noisy.p[rows]).all(axis=1)
        assert (released | (drawn_p == p[rows]).all(axis=1)).all()
        # Five standard errors of a share of 400.
        assert released.mean() == pytest.approx(noisy.probability[rows[0]], abs=5 * 0.5 / n**0.5)


def test_the_noise_brings_the_network_nearer_to_even_odds_or_is_not_released():
    guard = ready(budget=2.0)
    p = asked()
    noisy = guard.noisy(p)
    before, after = (np.abs(guard.classifier.log_odds(x)) for x in (p, noisy.p))
    released = noisy.probability > 0
    assert released.mean() > 0.5
    assert (after < before + 1e-6)[released].all()
    # The sign has changed wherever something was found.
    signs = guard.classifier.log_odds(p) * guard.classifier.log_odds(noisy.p)
    assert (signs[released] <= 1e-6).all()


def test_without_a_slope_there_is_no_noise():
    flat = drawn(K)
    flat = replace(flat, weights=(*flat.weights[:-1], 0 * flat.weights[-1]))
    guard = FittedMemGuard(MemGuard(steps=5), flat)
    p = asked(10)
    assert np.array_equal(guard.answer(p, np.random.default_rng(0)), p)


def test_certain_answers_are_defended_too():
    p, member = owners_rows(K)
    guard = MemGuard(network=TINY, steps=5).fit(p, member, np.random.default_rng(0))
    sure = np.eye(K)
    noisy = guard.noisy(sure)
    assert np.isfinite(noisy.p).all()
    assert np.array_equal(noisy.p.argmax(axis=1), np.arange(K))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MemGuard(budget=2.5), r"budget must be in \[0, 2\]"),
        (lambda: MemGuard(c2=0.0), "c2 must be finite and above 0, got 0"),
        (lambda: MemGuard(step=float("inf")), "step must be finite and above 0, got inf"),
        (lambda: MemGuard(steps=0), "steps must be at least 1, got 0"),
        (lambda: ready().noisy(np.ones((3, 4)) / 4), r"answers must have the shape \(n, 5\)"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
