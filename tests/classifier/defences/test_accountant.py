from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from privacygauge.classifier.defences.accountant import (
    ORDERS,
    SubsampledGaussian,
    epsilon_of,
    noise_for,
)
from privacygauge.errors import InputError
from privacygauge.evaluate.gaussian_privacy import gaussian_epsilon
from tests.thorough import times

SETTINGS = [(0.01, 1.0), (0.2, 0.8), (0.9, 3.0), (1e-4, 0.6)]


def moment(q, noise, order, *, reverse=False):
    """The integral that defines the divergence of one step, between the mixture and the normal."""

    def density(x):
        ratio = (1 - q) + q * np.exp((2 * x - 1) / (2 * noise**2))
        return norm.pdf(x, scale=noise) * ratio ** (1 - order if reverse else order)

    # The mass moves as far as the order, and lies between.
    edges = np.linspace(-40 * noise - order, order + 40 * noise, 30)
    return sum(quad(density, a, b)[0] for a, b in pairwise(edges))


@pytest.mark.parametrize(("q", "noise"), SETTINGS)
@pytest.mark.parametrize("order", [2, 8])
def test_the_divergence_is_the_integral(q, noise, order):
    expected = np.log(moment(q, noise, order)) / (order - 1)
    # Where the divergence is tiny, the integral is what is rounded: 1e-12 absolute.
    found = SubsampledGaussian(noise, q, 1).renyi([order])[0]
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("q", "noise"), SETTINGS)
def test_the_other_direction_is_never_larger(q, noise):
    one, other = (moment(q, noise, 4, reverse=side) for side in (False, True))
    assert other <= one * (1 + 1e-9)


def test_without_sampling_it_is_the_gaussian_mechanism():
    found = SubsampledGaussian(2.0, 1.0, 7)
    np.testing.assert_allclose(found.renyi(), 7 * np.array(ORDERS) / (2 * 2.0**2))
    exact = gaussian_epsilon(np.sqrt(7) / 2.0, 1e-5)
    assert exact <= found.epsilon(1e-5) <= 1.1 * exact


def delta_of(q, noise, steps, epsilon, *, removed):
    """The smallest delta, from the distribution of the privacy loss on a grid, both directions."""
    edges = np.linspace(-30 * noise, 1 + 30 * noise, 100_001)
    x = (edges[1:] + edges[:-1]) / 2
    loss = np.log1p(q * np.expm1((2 * x - 1) / (2 * noise**2)))
    mixed = (1 - q) * np.diff(norm.cdf(edges, 0, noise)) + q * np.diff(norm.cdf(edges, 1, noise))
    mass = mixed if removed else np.diff(norm.cdf(edges, 0, noise))
    loss, width, cells = (loss if removed else -loss), 2e-3, 2**15
    kept = np.abs(loss) < cells * width / 4
    # Losses are rounded to the nearest cell: over the steps that costs far less than it shows.
    place = np.round(loss[kept] / width).astype(int) % cells
    one = np.bincount(place, mass[kept], cells)
    many = np.fft.irfft(np.fft.rfft(one) ** steps, cells)
    value = np.fft.fftfreq(cells, 1 / cells) * width
    return float(np.sum(many * np.clip(-np.expm1(epsilon - value), 0, None)))


@pytest.mark.parametrize(
    ("q", "noise", "steps"), [(0.1, 2.0, 100), pytest.param(0.02, 1.0, 300, marks=pytest.mark.slow)]
)
def test_epsilon_is_sound_and_close_to_the_exact_loss(q, noise, steps):
    """Against the composed privacy loss itself, which no Renyi order enters."""
    delta = 1e-5
    found = SubsampledGaussian(noise, q, steps).epsilon(delta)
    for removed in (True, False):
        assert delta_of(q, noise, steps, found, removed=removed) <= delta
    # What Renyi orders cost: less than a fifth of epsilon.
    worst = max(delta_of(q, noise, steps, 0.8 * found, removed=side) for side in (True, False))
    assert worst > delta


@pytest.mark.parametrize(
    ("q", "noise", "steps", "published"),
    [
        (0.01, 4.0, 10_000, 1.26),  # Abadi et al. (2016), section 3.1 and figure 2
        (256 / 60_000, 1.3, 4_687, 1.34),  # Bu et al. (2020), figure 4, 20 epochs
    ],
)
def test_the_moments_accountants_published_values(q, noise, steps, published):
    """By the older conversion that they were published with, at delta = 1e-5."""
    orders = np.array(ORDERS)
    renyi = SubsampledGaussian(noise, q, steps).renyi()
    older = float(np.min(renyi + np.log(1e5) / (orders - 1)))
    # Theirs has fractional orders too, which can only be smaller.
    assert published - 0.005 <= older <= published + 0.015
    assert epsilon_of(renyi, orders, 1e-5) < older


@pytest.mark.slow
@settings(max_examples=times(12))
@given(
    q=st.floats(1e-4, 1.0),
    noise=st.floats(0.5, 20),
    steps=st.integers(1, 5_000),
    delta=st.floats(1e-9, 1e-2),
)
def test_more_of_anything_but_noise_and_delta_spends_more(q, noise, steps, delta):
    def spent(noise=noise, q=q, steps=steps, delta=delta):
        return SubsampledGaussian(noise, q, steps).epsilon(delta)

    here = spent()
    assert here >= 0
    for more in (spent(noise=noise / 1.3), spent(q=min(1, q * 1.3)), spent(steps=2 * steps)):
        assert more >= here * (1 - 1e-9)
    assert spent(delta=delta / 10) >= here


def test_nothing_cancels_where_records_are_sampled_seldom():
    q, noise = 1e-9, 1.0
    expected = np.log1p(q**2 * np.expm1(1 / noise**2))
    assert SubsampledGaussian(noise, q, 1).renyi([2])[0] == pytest.approx(expected, rel=1e-12)


def test_without_noise_nothing_is_private():
    assert SubsampledGaussian(0.0, 0.5, 3).epsilon(1e-5) == np.inf


@pytest.mark.slow
@settings(max_examples=times(6))
@given(epsilon=st.floats(0.1, 20), q=st.sampled_from([0.01, 0.2, 1.0]), steps=st.integers(1, 2_000))
def test_noise_for_an_epsilon_spends_it(epsilon, q, steps):
    noise = noise_for(epsilon, 1e-5, q, steps)
    assert SubsampledGaussian(noise, q, steps).epsilon(1e-5) <= epsilon
    if noise > 0.011:
        less = SubsampledGaussian(noise * (1 - 2e-4), q, steps)
        assert less.epsilon(1e-5) > epsilon


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SubsampledGaussian(-1.0, 0.1, 1), "noise_multiplier must be finite and at least"),
        (lambda: SubsampledGaussian(1.0, 0.0, 1), r"sampling_rate must be in \(0, 1\], got 0.0"),
        (lambda: SubsampledGaussian(1.0, 0.1, 0), "steps must be at least 1, got 0"),
        (lambda: SubsampledGaussian(1.0, 0.1, 1).renyi([1]), "orders must be at least 2, got 1"),
        (lambda: SubsampledGaussian(1.0, 0.1, 1).epsilon(0.0), r"delta must be in \(0, 1\), got"),
        (lambda: noise_for(0.0, 1e-5, 0.1, 1), "epsilon must be finite and above 0, got 0"),
        (lambda: noise_for(1e-9, 1e-12, 1.0, 10**9), "take a larger epsilon or delta"),
    ],
)
def test_errors_say_the_rule_and_the_value(make, message):
    with pytest.raises(InputError, match=message):
        make()
