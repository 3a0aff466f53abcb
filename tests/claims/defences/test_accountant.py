import math
import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from privacygauge.claims.defences import dp_sgd
from privacygauge.claims.defences.dp_sgd import (
    EXACT,
    RDP,
    SubsampledGaussian,
    noise_for,
    pld_accountant,
)
from privacygauge.errors import InputError
from privacygauge.evaluate.sampled_steps import gaussian_epsilon
from tests.thorough import crossed, times

SETTINGS = [(0.01, 1.0), (0.2, 0.8), (0.9, 3.0), (1e-4, 0.6)]


def moment(q, noise, order, *, reverse=False):
    """The integral that defines the divergence of one step, between the mixture and the normal."""

    def density(x):
        ratio = (1 - q) + q * math.exp((2 * x - 1) / (2 * noise**2))
        normal = math.exp(-((x / noise) ** 2) / 2) / (noise * math.sqrt(2 * math.pi))
        return normal * ratio ** (1 - order if reverse else order)

    # The mass moves as far as the order, and lies between.
    edges = np.linspace(-40 * noise - order, order + 40 * noise, 30)
    return sum(quad(density, a, b)[0] for a, b in pairwise(edges))


@pytest.mark.parametrize(("q", "noise"), SETTINGS)
@pytest.mark.parametrize("order", [1.05, 2, 3.7, 8])
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
    orders = np.array([1.5, 2.0, 64.0])
    np.testing.assert_allclose(found.renyi(orders), 7 * orders / (2 * 2.0**2))
    exact = gaussian_epsilon(np.sqrt(7) / 2.0, 1e-5)
    assert (found.epsilon(1e-5), found.accountant(1e-5)) == (exact, EXACT)
    assert exact <= found.renyi_epsilon(1e-5) <= 1.1 * exact


ORDERS = 1 + np.geomspace(0.01, 400, 160)


@cache
def of_one_step(q, noise):
    return SubsampledGaussian(noise, q, 1).renyi(ORDERS)


def by_orders(q, noise, steps, delta):
    """The bound of a fine grid of orders."""
    orders = ORDERS
    renyi = steps * of_one_step(q, noise)
    proven = renyi + np.log1p(-1 / orders) - (np.log(delta) + np.log(orders)) / (orders - 1)
    return float(proven.min())


@pytest.mark.parametrize(
    ("q", "noise", "steps", "delta"),
    crossed([1e-4, 0.01, 0.3], [0.4, 1.0, 5.0], [1, 1000], [1e-3, 1e-7]),
)
def test_no_order_of_a_fine_grid_proves_less(q, noise, steps, delta):
    expected = max(0.0, by_orders(q, noise, steps, delta))
    assert SubsampledGaussian(noise, q, steps).renyi_epsilon(delta) <= expected * 1.001 + 1e-4


@pytest.mark.slow
def test_fractional_orders_give_what_dp_accounting_gives_by_its_own_series():
    rdp = pytest.importorskip("dp_accounting.rdp")
    events = pytest.importorskip("dp_accounting")
    settings = [(0.01, 0.6, 100, 1e-5), (0.2, 3.0, 300, 1e-3), (1e-3, 1.0, 50, 1e-6)]
    for q, noise, steps, delta in settings:
        theirs = rdp.RdpAccountant(
            orders=[*(1 + np.geomspace(0.05, 12, 60)), *range(13, 60), *range(60, 257, 4)]
        )
        step = events.PoissonSampledDpEvent(q, events.GaussianDpEvent(noise))
        expected = theirs.compose(step, steps).get_epsilon(delta)
        found = SubsampledGaussian(noise, q, steps).renyi_epsilon(delta)
        assert found == pytest.approx(expected, rel=0.01)


def delta_of(q, noise, steps, epsilon, *, removed):
    """The smallest delta, from the distribution of the privacy loss on a grid, both directions."""
    edges = np.linspace(-30 * noise, 1 + 30 * noise, 100_001)
    x = (edges[1:] + edges[:-1]) / 2
    loss = np.log1p(q * np.expm1((2 * x - 1) / (2 * noise**2)))
    mixed = (1 - q) * np.diff(norm.cdf(edges, 0, noise)) + q * np.diff(norm.cdf(edges, 1, noise))
    mass = mixed if removed else np.diff(norm.cdf(edges, 0, noise))
    loss = loss if removed else -loss
    width = 2e-3
    cells = 2**15
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
    pytest.importorskip("dp_accounting")
    delta = 1e-5
    spent = SubsampledGaussian(noise, q, steps)
    assert spent.accountant(delta) == pld_accountant() != ""
    # The grid of the reference is coarse: it may be off by a thousandth of epsilon.
    for found, least in ((spent.epsilon(delta), 0.99), (spent.renyi_epsilon(delta), 0.8)):
        for removed in (True, False):
            assert delta_of(q, noise, steps, found * 1.001, removed=removed) <= delta
        worst = max(delta_of(q, noise, steps, least * found, removed=x) for x in (True, False))
        assert worst > delta


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "noise", "steps", "published"),
    [
        (0.01, 4.0, 10_000, 1.26),  # Abadi et al. (2016), section 3.1 and figure 2
        (256 / 60_000, 1.3, 4_687, 1.34),  # Bu et al. (2020), figure 4, 20 epochs
    ],
)
def test_the_moments_accountants_published_values(q, noise, steps, published):
    """By the older conversion that they were published with, at delta = 1e-5."""
    orders = np.concatenate([1 + np.geomspace(0.1, 5, 60), np.arange(6, 65)])
    spent = SubsampledGaussian(noise, q, steps)
    older = float(np.min(spent.renyi(orders) + np.log(1e5) / (orders - 1)))
    assert published - 0.005 <= older <= published + 0.015
    assert spent.epsilon(1e-5) <= spent.renyi_epsilon(1e-5) < older


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
    q = 1e-9
    noise = 1.0
    expected = np.log1p(q**2 * np.expm1(1 / noise**2))
    assert SubsampledGaussian(noise, q, 1).renyi([2])[0] == pytest.approx(expected, rel=1e-12)


def test_without_noise_nothing_is_private():
    assert SubsampledGaussian(0.0, 0.5, 3).epsilon(1e-5) == np.inf


@pytest.fixture
def without_extra(monkeypatch):
    monkeypatch.setattr(dp_sgd, "pld_accountant", lambda: "")


def test_without_the_extra_renyi_divergences_are_the_accountant(without_extra):
    spent = SubsampledGaussian(1.0, 0.1, 50)
    assert spent.accountant(1e-5) == RDP
    assert spent.epsilon(1e-5) == spent.renyi_epsilon(1e-5)
    noise = noise_for(2.0, 1e-5, 0.1, 50)
    assert 0.999 * 2 < SubsampledGaussian(noise, 0.1, 50).epsilon(1e-5) <= 2


def test_a_delta_that_rounding_reaches_is_left_to_renyi_divergences():
    assert SubsampledGaussian(1.0, 0.1, 5).accountant(1e-13) == RDP


@pytest.mark.slow
def test_the_accountant_of_losses_says_no_more_than_renyi_divergences():
    pytest.importorskip("dp_accounting")
    for q, noise, steps in [(0.01, 0.7, 1000), (0.3, 5.0, 100), (1e-5, 0.7, 10), (0.9, 0.5, 3)]:
        spent = SubsampledGaussian(noise, q, steps)
        assert 0 <= spent.epsilon(1e-6) <= spent.renyi_epsilon(1e-6)
        assert spent.accountant(1e-6) == pld_accountant()


@pytest.mark.slow
def test_nothing_of_the_accountant_reaches_the_user():
    """Its import is late, and neither logs nor warns; the root logger stays as it was."""
    pytest.importorskip("dp_accounting")
    program = (
        "import logging, sys\n"
        "from privacygauge.claims.defences.dp_sgd import SubsampledGaussian\n"
        "assert not any(name.startswith(('dp_accounting', 'absl')) for name in sys.modules)\n"
        "SubsampledGaussian(0.02, 0.5, 40).epsilon(1e-9)\n"
        "assert 'dp_accounting' in sys.modules\n"
        "assert not logging.getLogger().handlers\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [32.0, 100.0])
def test_large_epsilons_are_spent_too(epsilon):
    """By the losses on a grid of a tenth of the width: whole orders left a third to two thirds."""
    fine = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    q = 0.05
    steps = 400
    delta = 1e-3
    noise = noise_for(epsilon, delta, q, steps)
    one = fine.from_gaussian_mechanism(
        noise, value_discretization_interval=5e-5 * epsilon, sampling_prob=q
    )
    spent = one.self_compose(steps).get_epsilon_for_delta(delta)
    assert 0.99 * epsilon < spent <= epsilon


@pytest.mark.slow
@settings(max_examples=times(6), deadline=None)
@given(
    epsilon=st.floats(0.1, 100), q=st.sampled_from([0.01, 0.2, 1.0]), steps=st.integers(1, 2_000)
)
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
        (lambda: SubsampledGaussian(1.0, 0.1, 1).renyi([1]), "orders must be above 1, got 1"),
        (lambda: SubsampledGaussian(1.0, 0.1, 1).epsilon(0.0), r"delta must be in \(0, 1\), got"),
        (lambda: noise_for(0.0, 1e-5, 0.1, 1), "epsilon must be finite and above 0, got 0"),
        (lambda: noise_for(1e-9, 1e-12, 1.0, 10**9), "take a larger epsilon or delta"),
    ],
)
def test_errors_say_the_rule_and_the_value(make, message):
    with pytest.raises(InputError, match=message):
        make()
