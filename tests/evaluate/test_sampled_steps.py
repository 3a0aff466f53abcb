"""Bounds on the noise of sampled steps, against drawn steps and another accountant."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.claims.defences.dp_sgd import SubsampledGaussian, pld_accountant
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import auc
from privacygauge.evaluate.sampled_steps import SampledSteps, _area, gaussian_epsilon
from tests.thorough import crossed, times

SETTINGS = [(0.2, 20, 1.5), (0.2, 20, 40.0), (0.01, 1000, 0.8), (0.9, 1, 0.5)]
MANY_STEPS = pytest.param((0.001, 10_000, 1.0), 1e-5, marks=pytest.mark.slow)


@pytest.mark.parametrize(("setting", "delta"), [*crossed(SETTINGS, [1e-3, 1e-5, 1e-8]), MANY_STEPS])
def test_epsilon_is_that_of_privacy_loss_distributions(setting, delta) -> None:
    rate, steps, noise = setting
    if not pld_accountant():
        pytest.skip("dp-accounting is not installed")
    above = SubsampledGaussian(noise, rate, steps).epsilon(delta)
    # The other one is rounded up, by half a percent at most.
    assert SampledSteps(rate, steps).epsilon(noise, delta) == pytest.approx(above, rel=5e-3)


@pytest.mark.parametrize("steps", [1, 7, 400])
def test_without_sampling_it_is_a_gaussian_mechanism(steps: int) -> None:
    noise = 1.3 * math.sqrt(steps)
    found = SampledSteps(1.0, steps)
    assert found.epsilon(noise, 1e-5) == pytest.approx(gaussian_epsilon(1 / 1.3, 1e-5), rel=1e-4)


def drawn(rate: float, steps: int, noise: float, n: int, seed: int) -> Transcript:
    rng = np.random.default_rng(seed)
    secret = rng.permutation(n) < n // 2
    taken = (rng.random((steps, n)) < rate) & secret
    seen = rng.normal(size=taken.shape) * noise + taken
    score = np.log1p(rate * np.expm1((2 * seen - 1) / (2 * noise**2))).sum(axis=0)
    return Transcript(score, secret)


@pytest.mark.parametrize(("rate", "steps", "noise"), [(0.2, 20, 1.5), (0.5, 3, 0.6), (1.0, 4, 3.0)])
def test_the_area_is_that_of_the_likelihood_ratio(rate, steps, noise) -> None:
    known = _area(SampledSteps(rate, steps), noise)
    draws = times(400)
    areas = [auc(drawn(rate, steps, noise, 400, seed)).value for seed in range(draws)]
    spread = known.quantile(200, 200, 1.0) - known.mean
    assert abs(np.mean(areas) - known.mean) < 4 * spread / math.sqrt(draws)
    # The spread of 400 draws is itself known to 3.5%.
    assert np.std(areas) == pytest.approx(spread, rel=4 / math.sqrt(2 * draws))


def test_noise_that_is_ruled_out_is_above_the_truth_and_near_it() -> None:
    steps = SampledSteps(0.2, 20)
    draws = times(40)
    found = [steps.noise_ruled_out(drawn(0.2, 20, 1.5, 2000, seed)) for seed in range(draws)]
    assert sum(noise < 1.5 for noise in found) <= binom.ppf(0.995, draws, 0.05)
    assert 1.5 < np.median(found) < 2.0


def test_scores_that_say_nothing_rule_out_nothing() -> None:
    rng = np.random.default_rng(0)
    transcript = Transcript(-np.arange(100.0), rng.permutation(100) < 50)
    noise = SampledSteps(0.2, 20).noise_ruled_out(transcript, 0.999)
    assert noise == math.inf
    assert SampledSteps(0.2, 20).epsilon(noise, 1e-5) == 0.0


def test_a_delta_that_exceeds_the_whole_leak_leaves_no_epsilon() -> None:
    steps = SampledSteps(0.2, 20)
    assert steps.epsilon(1.5, 1e-5) > 1
    assert steps.epsilon(1.5, 0.9) == 0.0


@pytest.mark.parametrize(
    ("rate", "steps", "told"),
    [(0.0, 1, "sampling_rate must be in"), (1.1, 1, "sampling_rate"), (0.5, 0, "steps must be")],
)
def test_impossible_steps_are_refused(rate: float, steps: int, told: str) -> None:
    with pytest.raises(InputError, match=told):
        SampledSteps(rate, steps)
