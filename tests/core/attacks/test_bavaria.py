from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import integrate, stats

from privacygauge.core.attacks.bavaria import (
    Bavaria,
    InverseGamma,
    _log_predictive,
    are_alike,
    means_prior,
    variance_priors,
)
from privacygauge.core.attacks.groups import WorldGroup, world_groups
from privacygauge.core.attacks.lira import LiraOnline, PooledVariance
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.release import Worlds, coin_flips
from tests.laws import naive
from tests.laws.draws import worlds
from tests.thorough import times

ANY = np.random.default_rng(0)


def seen(shown: Worlds) -> Observation:
    return Observation({}, np.zeros(len(shown.signal)), worlds=shown)


def naive_shape(group: list[list[float]]) -> float:
    above = sum(naive.squares(v) ** 2 for v in group if v)
    below = sum((len(v) - 1) * (len(v) + 1) for v in group if v)
    excess = above / below / naive.pooled(group) ** 2 - 1
    return 1000.0 if excess <= 1 / 998 else 2 + 1 / excess


def naive_alike(sides: naive.Sides, gaps: list[float]) -> bool:
    """Return whether neither means nor variances differ by three standard errors."""
    n = len(gaps)
    moved = fmean(gaps) ** 2 > 9 * sum((x - fmean(gaps)) ** 2 for x in gaps) / (n * (n - 1))
    freedom = [max(sum(len(x) - 1 for x in side if x), 1) for side in sides]
    v = [naive.pooled(side) for side in sides]
    errors = [
        sum(
            sign * (naive.squares(x) - v[g] * (len(x) - 1)) / freedom[g] if x else 0.0
            for g, (x, sign) in enumerate(zip(record, (1, -1), strict=True))
        )
        for record in zip(*sides, strict=True)
    ]
    return not moved and not (v[0] - v[1]) ** 2 > 9 * sum(x * x for x in errors)


def naive_scores(signal: list[float], sides: naive.Sides) -> list[float]:
    """Return the log ratios of one query, as the docstring of `Bavaria` gives them."""
    n = [[len(v) for v in group] for group in sides]
    m = naive.filled(sides, naive.mean)
    both = [r for r in range(len(signal)) if n[0][r] and n[1][r]]
    shared = naive_alike(sides, [m[0][r] - m[1][r] for r in both])
    together = [*sides[0], *sides[1]]
    source = [sides[g] if naive.pooled(sides[g]) > 0 else sides[1 - g] for g in (0, 1)]
    alpha = [naive_shape(together if shared else s) for s in source]
    v = [naive.pooled(together if shared else s) for s in source]
    beta = [(alpha[g] - 1) * v[g] for g in (0, 1)]
    S = [[naive.squares(x) if x else 0.0 for x in group] for group in sides]
    u = [
        [
            (beta[g] + s / 2) / (alpha[g] + max(c - 1, 0) / 2 - 1)
            for s, c in zip(S[g], n[g], strict=True)
        ]
        for g in (0, 1)
    ]
    M = [fmean(m[g][r] for r in both) for g in (0, 1)]

    def covariance(g: int, h: int) -> float:
        return sum((m[g][r] - M[g]) * (m[h][r] - M[h]) for r in both) / (len(both) - 1)

    V = [max(covariance(g, g) - fmean(u[g][r] / n[g][r] for r in both), 0.0) for g in (0, 1)]
    across = float(np.clip(covariance(0, 1), -((V[0] * V[1]) ** 0.5), (V[0] * V[1]) ** 0.5))
    gaps = [m[0][r] - M[0] - (m[1][r] - M[1]) for r in both]
    beyond = [
        x * x - u[0][r] / n[0][r] - u[1][r] / n[1][r] for r, x in zip(both, gaps, strict=True)
    ]
    least = 3 * float(np.std(beyond)) / len(both) ** 0.5
    lacking = max(least - (V[0] + V[1] - 2 * across), 0.0) / 2
    if shared:
        M, V = [fmean(M)] * 2, [fmean(V) + lacking] * 2

    def log_density(r: int, g: int) -> float:
        h = 1 - g
        count = n[g][r]
        b = across / (V[h] + u[h][r] / n[h][r]) if n[h][r] else 0.0
        p = M[g] + b * (m[h][r] - M[h])
        w = max(V[g] - b * across, 1e-6 * v[g])
        kappa0 = v[g] / w
        kappa = kappa0 + count
        own = m[g][r] if count else p
        mu = (kappa0 * p + count * own) / kappa
        a = alpha[g] + count / 2
        B = beta[g] + S[g][r] / 2 + kappa0 * count * (own - p) ** 2 / (2 * kappa)
        scale = (B * (1 + 1 / kappa) / a) ** 0.5
        return float(stats.t.logpdf(signal[r], 2 * a, mu, scale))

    return [log_density(r, 0) - log_density(r, 1) for r in range(len(signal))]


@given(worlds(smallest=2))
@settings(max_examples=times(16))
def test_it_is_the_log_ratio_of_two_student_densities(shown: Worlds) -> None:
    require_student_densities(shown)


@pytest.mark.slow
@given(worlds(smallest=2))
@settings(max_examples=times(200))
def test_so_it_is_in_many_games(shown: Worlds) -> None:
    require_student_densities(shown)


def require_student_densities(shown: Worlds) -> None:
    result = Bavaria().score(seen(shown), ANY)
    if isinstance(result, Skipped):
        return
    plain = LiraOnline(PooledVariance()).score(seen(shown), ANY)
    assert isinstance(plain, Scores)

    def score(query: int) -> list[float]:
        signal, both = naive.sides(shown, query)
        if naive.pooled(both[0]) == naive.pooled(both[1]) == 0:
            one = shown if shown.signal.ndim == 1 else only(shown, query)
            quiet = LiraOnline(PooledVariance()).score(seen(one), ANY)
            assert isinstance(quiet, Scores)
            return quiet.value.tolist()
        return naive_scores(signal, both)

    expected = naive.over_queries(shown, score)
    np.testing.assert_allclose(result.value, expected, rtol=1e-10, atol=1e-10)


def only(shown: Worlds, query: int) -> Worlds:
    return Worlds(shown.signal[:, query], shown.worlds[:, :, query], shown.inside)


@pytest.mark.parametrize("values", [[], [0.3], [0.3, -1.1, 2.0]], ids=len)
def test_the_predictive_density_is_bayes_theorem_by_quadrature(values: list[float]) -> None:
    # Given sigma^2, worlds and target are jointly normal about p; sigma^2 is integrated out.
    shape = 3.5
    mean = 2.0
    expected = 0.7
    spread = 0.8
    worth = mean / spread
    prior = stats.invgamma(shape, scale=(shape - 1) * mean)

    def evidence(seen_values: list[float]) -> float:
        size = len(seen_values)
        if size == 0:
            return 1.0
        form = np.eye(size) + 1 / worth

        def at(log_variance: float) -> float:
            s = np.exp(log_variance)
            density = stats.multivariate_normal.pdf(seen_values, np.full(size, expected), s * form)
            return float(density * prior.pdf(s) * s)

        return integrate.quad(at, -6, 8, epsabs=0, epsrel=1e-10, limit=200)[0]

    group = WorldGroup(
        np.array([[float(len(values))]]),
        np.array([[naive.mean(values) if values else 0.0]]),
        np.array([[naive.squares(values) if values else 0.0]]),
    )
    found = _log_predictive(
        np.array([[1.9]]),
        group,
        InverseGamma(np.array([shape]), np.array([mean])),
        np.array([[expected]]),
        np.array([[spread]]),
    )
    truth = np.log(evidence([*values, 1.9]) / evidence(values))
    assert found[0, 0] == pytest.approx(truth, abs=1e-7)


def test_the_priors_are_those_that_the_records_were_drawn_from() -> None:
    rng = np.random.default_rng(0)
    n = 60_000
    k = 8
    covariance = np.array([[2.0, 1.2], [1.2, 1.5]])
    means = rng.multivariate_normal([3.0, 1.0], covariance, size=n)
    variances = 7.0 / rng.gamma(8.0, size=n)  # of mean 1 and shape 8
    inside = coin_flips(k, n, rng)
    centre = np.where(inside, means[:, 0], means[:, 1])
    shown = Worlds(np.zeros(n), centre + np.sqrt(variances) * rng.normal(size=(k, n)), inside)
    both = world_groups(shown)
    everyone = ((both[0].count > 0) & (both[1].count > 0))[:, 0]
    shared = are_alike(*both, everyone)
    assert not shared.any()
    priors = variance_priors(*both, shared)
    for prior in priors:
        assert prior.mean[0] == pytest.approx(1.0, abs=0.02)
        assert prior.shape[0] == pytest.approx(8.0, abs=1.0)
    noise = tuple(p.posterior_mean(g) for p, g in zip(priors, both, strict=True))
    found = means_prior(*both, noise, both=everyone, shared=shared)
    assert [float(c[0]) for c in found.centre] == pytest.approx([3.0, 1.0], abs=0.03)
    assert [float(v[0]) for v in found.spread] == pytest.approx([2.0, 1.5], abs=0.06)
    assert found.together[0] == pytest.approx(1.2, abs=0.04)
    # What it expects of the means with the record, given the worlds without it, is unbiased and
    # as far off as it says.
    expected, spread = found.given(both[1], noise[1])
    off = means[:, :1] - expected
    assert np.mean(off) == pytest.approx(0.0, abs=0.03)
    assert np.mean(off**2 / spread) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("shift", "scale", "expected"), [(0, 1, 1), (0, 0.7, 0), (0, 1.4, 0), (0.3, 1, 0), (-0.3, 1, 0)]
)
def test_groups_are_alike_unless_means_or_variances_differ(shift, scale, expected) -> None:
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        member = coin_flips(16, 200, rng)
        signals = np.where(member, shift + scale * rng.normal(size=(16, 200)), 0.0)
        signals = 0.05 * np.where(member, signals, rng.normal(size=(16, 200)))
        inside, outside = world_groups(Worlds(np.zeros(200), signals, member))
        both = ((inside.count > 0) & (outside.count > 0))[:, 0]
        found.append(bool(are_alike(inside, outside, both)[0]))
    # Two looks at three standard errors: noise is beyond them in half a percent of the games.
    assert np.mean(found) == pytest.approx(expected, abs=0.1)


def test_it_is_skipped_with_too_little_to_learn_from() -> None:
    name = "bavaria"
    one = Worlds(np.zeros(2), np.zeros((1, 2)), np.array([[True, False]]))
    reason = "needs a target with two worlds on the same side, to see how much models differ"
    assert Bavaria().score(seen(one), ANY) == Skipped(name, reason)
    few = Worlds(np.zeros(2), np.zeros((3, 2)), np.array([[True] * 2, [False] * 2, [True] * 2]))
    reason = "needs at least 3 targets with worlds with and without them"
    assert Bavaria().score(seen(few), ANY) == Skipped(name, reason)


def test_three_targets_with_one_world_on_a_side_are_enough() -> None:
    rng = np.random.default_rng(2)
    for alone in (True, False):
        inside = np.full((3, 3), not alone)
        inside[0] = alone
        shown = Worlds(rng.normal(size=3), rng.normal(size=(3, 3)), inside)
        assert isinstance(Bavaria().score(seen(shown), ANY), Scores)


def test_it_is_named() -> None:
    assert (Bavaria().name, Bavaria().variant, Bavaria().thresholds) == ("bavaria", "", "global")
