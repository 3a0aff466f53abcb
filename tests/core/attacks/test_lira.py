from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from privacygauge.core.attacks.groups import world_groups
from privacygauge.core.attacks.lira import (
    AutoVariance,
    LiraOffline,
    LiraOnline,
    OneSided,
    PerRecordVariance,
    PooledVariance,
    Tail,
    TwoSided,
    Variance,
)
from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import OffsetGame
from privacygauge.core.game import Observation, Scores
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.errors import InputError
from tests.laws import naive
from tests.laws.draws import worlds

ANY = np.random.default_rng(0)


def seen(shown: Worlds) -> Observation:
    return Observation({}, np.zeros(len(shown.signal)), worlds=shown)


def naive_variances(
    group: list[list[float]], other: list[list[float]], variance: Variance
) -> list[float]:
    own = naive.pooled(group) or naive.pooled(other) or 1.0
    if variance == PooledVariance():
        return [own] * len(group)
    single = [naive.squares(v) / (len(v) - 1) if len(v) > 1 else 0.0 for v in group]
    return [s if s > 1e-9 * own else own for s in single]


@pytest.mark.parametrize("variance", [PooledVariance(), PerRecordVariance()], ids=str)
@given(shown=worlds())
def test_online_it_is_the_log_ratio_of_two_normal_densities(
    variance: Variance, shown: Worlds
) -> None:
    result = LiraOnline(variance).score(seen(shown), ANY)
    enough = [max(map(len, g)) > 1 for g in naive.sides(shown, 0)[1]]
    if isinstance(result, Skipped):
        assert shown.inside.all() or not shown.inside.any() or not any(enough)
        return

    def score(query: int) -> list[float]:
        signal, (inside, outside) = naive.sides(shown, query)
        near, far = naive.filled((inside, outside), naive.mean)
        v_in = naive_variances(inside, outside, variance)
        v_out = naive_variances(outside, inside, variance)
        return [
            stats.norm.logpdf(x, a, v**0.5) - stats.norm.logpdf(x, b, w**0.5)
            for x, a, v, b, w in zip(signal, near, v_in, far, v_out, strict=True)
        ]

    expected = naive.over_queries(shown, score)
    np.testing.assert_allclose(result.value, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("tail", [OneSided(), TwoSided()], ids=str)
@pytest.mark.parametrize("variance", [PooledVariance(), PerRecordVariance()], ids=str)
@given(shown=worlds())
def test_offline_it_is_the_law_of_worlds_without_the_record(
    tail: Tail, variance: Variance, shown: Worlds
) -> None:
    result = LiraOffline(tail, variance).score(seen(shown), ANY)
    _, (_, without) = naive.sides(shown, 0)
    if isinstance(result, Skipped):
        assert max(map(len, without)) < 2
        return

    def score(query: int) -> list[float]:
        signal, (inside, outside) = naive.sides(shown, query)
        _, far = naive.filled((inside, outside), naive.mean)
        spread = naive_variances(outside, outside, variance)
        law = stats.norm.logcdf if tail == OneSided() else stats.norm.logpdf
        sign = 1 if tail == OneSided() else -1
        return [sign * law(x, b, w**0.5) for x, b, w in zip(signal, far, spread, strict=True)]

    expected = naive.over_queries(shown, score)
    np.testing.assert_allclose(result.value, expected, rtol=1e-10, atol=1e-10)


def test_the_pooled_variance_is_that_of_the_noise_and_not_of_the_records() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    k = 6
    inside = coin_flips(k, n, rng)
    # Members' noise has three times the deviation; records differ by far more.
    noise = rng.normal(size=(k, n)) * np.where(inside, 3.0, 1.0)
    shown = Worlds(np.zeros(n), 50 * rng.normal(size=n) + noise, inside)
    with_it, without_it = world_groups(shown)
    for group, other, truth in ((with_it, without_it, 9.0), (without_it, with_it, 1.0)):
        error = truth * np.sqrt(2 / group.freedom.sum())
        assert abs(PooledVariance().of(group, other)[0] - truth) < 4.5 * error


def test_auto_takes_a_variance_per_record_from_64_worlds_on_and_says_so() -> None:
    rng = np.random.default_rng(0)
    for k, same in ((63, PooledVariance()), (64, PerRecordVariance())):
        observation = OffsetGame(50, 1.0, k).deal(1, rng)[0].observation
        for attack, chosen in (
            (LiraOnline(), LiraOnline(same)),
            (LiraOffline(), LiraOffline(variance=same)),
        ):
            auto = attack.score(observation, ANY)
            plain = chosen.score(observation, ANY)
            assert isinstance(auto, Scores)
            assert isinstance(plain, Scores)
            assert auto.value.tolist() == plain.value.tolist()
            # The threshold too, though one world fewer is left when one is played.
            assert auto.rule == plain.rule
            assert auto.notes == (f"{same.name}, as there are {k} worlds",)
            assert plain.notes == ()


def test_they_are_named_by_what_they_use() -> None:
    assert [(a.name, a.variant, a.thresholds) for a in (LiraOnline(), LiraOffline())] == [
        ("lira-online", "auto", "global"),
        ("lira-offline", "one-sided, auto", "global"),
    ]
    assert LiraOnline(PooledVariance()).variant == "pooled variance"
    assert LiraOnline(AutoVariance(8)).variant == "auto, per record from 8 worlds"
    two = LiraOffline(TwoSided(), PerRecordVariance())
    assert two.variant == "two-sided, per-record variance"
    with pytest.raises(InputError, match="least must be at least 1, got 0"):
        AutoVariance(0)


def test_far_from_all_worlds_the_scores_stay_finite_and_in_order() -> None:
    rng = np.random.default_rng(0)
    signal = np.array([-1e4, -50.0, 0.0, 30.0])
    inside = np.tile([[True], [False], [True], [False]], 4)
    shown = Worlds(signal, rng.normal(size=(4, 1)) + np.zeros(4), inside)
    result = LiraOffline().score(seen(shown), ANY)
    assert isinstance(result, Scores)
    assert (np.diff(result.value) > 0).all()


def test_a_reason_is_given_where_the_worlds_tell_nothing() -> None:
    online = LiraOnline()
    offline = LiraOffline()
    one = Worlds(np.zeros(2), np.zeros((1, 2)), np.array([[True, False]]))
    reason = "needs a target with two worlds on the same side, to see how much models differ"
    assert online.score(seen(one), ANY) == Skipped("lira-online", reason)
    reason = "needs a target with two worlds that were trained without it"
    assert offline.score(seen(one), ANY) == Skipped("lira-offline", reason)
