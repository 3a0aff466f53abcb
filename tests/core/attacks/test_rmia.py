from __future__ import annotations

from math import exp, log, log1p

import numpy as np
import pytest
from hypothesis import given
from scipy.special import log_expit

from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline, group_log_mean
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Scores
from privacygauge.core.release import Worlds
from privacygauge.errors import InputError
from tests.laws import naive
from tests.laws.draws import worlds

ANY = np.random.default_rng(0)


def seen(shown: Worlds) -> Observation:
    return Observation({}, np.zeros(len(shown.signal)), worlds=shown)


def log_p(logit: float) -> float:
    return -log1p(exp(-logit))


def log_of_mean(logits: list[float]) -> float:
    return log(sum(1 / (1 + exp(-x)) for x in logits) / len(logits))


@pytest.mark.parametrize(
    "attack", [RmiaOnline(), RmiaOffline(), RmiaOffline(0.0), RmiaOffline(1.0)], ids=str
)
@given(shown=worlds())
def test_it_is_the_log_of_the_ratio(attack: Attack, shown: Worlds) -> None:
    result = attack.score(seen(shown), ANY)
    online = isinstance(attack, RmiaOnline)
    if isinstance(result, Skipped):
        assert shown.inside.all() or (online and not shown.inside.any())
        return

    def score(query: int) -> list[float]:
        signal, both = naive.sides(shown, query)
        inside, outside = (
            [exp(min(x, 0.0)) for x in side] for side in naive.filled(both, log_of_mean)
        )
        if isinstance(attack, RmiaOffline):
            inside = [attack.a * p + 1 - attack.a for p in outside]
        mixture = [(p + q) / 2 for p, q in zip(inside, outside, strict=True)]
        return [log_p(x) - log(p) for x, p in zip(signal, mixture, strict=True)]

    expected = naive.over_queries(shown, score)
    np.testing.assert_allclose(result.value, expected, rtol=1e-10, atol=1e-10)


def test_it_is_finite_where_probabilities_are_no_numbers_of_the_machine() -> None:
    values = np.array([[-2000.0, 900.0, 0.0]] * 3 + [[900.0, -2000.0, 0.0]])
    inside = np.array([[True] * 3, [False] * 3, [False] * 3])
    shown = Worlds(values[0], values[1:], inside)
    for attack in (RmiaOnline(), RmiaOffline(), RmiaOffline(a=1.0)):
        result = attack.score(seen(shown), ANY)
        assert isinstance(result, Scores)
        assert np.isfinite(result.value).all()
    online = RmiaOnline().score(seen(shown), ANY)
    # p0 = e^-2000 against a mixture of e^-2000 and, half of the worlds without, about 1.
    assert online.value[0] == pytest.approx(-2000 - log(0.25))


def test_one_world_is_enough() -> None:
    shown = Worlds(np.array([3.0, 3.0]), np.array([[2.0, 0.0]]), np.array([[True, False]]))
    assert isinstance(RmiaOnline().score(seen(shown), ANY), Scores)


def test_a_probability_that_is_filled_in_is_at_most_one() -> None:
    # Members of the first record are e^5 times likelier; the second has no world with it.
    inside = np.array([[True, False], [False, False]])
    shown = Worlds(np.zeros(2), np.array([[5.0, 3.0], [-5.0, 3.0]]), inside)
    result = RmiaOnline().score(seen(shown), ANY)
    assert isinstance(result, Scores)
    assert result.value[1] == pytest.approx(log(0.5) - log((1 + exp(log_p(3.0))) / 2))


def test_it_ranks_as_the_share_of_a_population_that_it_beats() -> None:
    # The step function of the paper, for one target model: no order is turned round.
    rng = np.random.default_rng(0)
    shown = Worlds(rng.normal(size=50), rng.normal(size=(6, 50)), rng.random((6, 50)) < 0.5)
    result = RmiaOnline().score(seen(shown), ANY)
    assert isinstance(result, Scores)
    ratio = np.exp(result.value)
    population = np.exp(log_expit(rng.normal(size=40)) - log(0.5))
    share = (ratio[:, None] / population > 1.2).mean(axis=1)
    assert (np.diff(share[np.argsort(ratio)]) >= 0).all()


def test_it_is_named_and_its_slope_is_checked() -> None:
    assert (RmiaOnline().name, RmiaOnline().variant) == ("rmia", "online")
    assert (RmiaOffline().name, RmiaOffline().variant) == ("rmia", "offline, a = 0.3")
    assert RmiaOnline().thresholds == RmiaOffline().thresholds == "global"
    for a in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match=r"a must be in \[0, 1\], got"):
            RmiaOffline(a)


@given(worlds())
def test_the_log_mean_of_a_group_is_that_of_its_values_and_0_without_any(shown: Worlds) -> None:
    values = shown.worlds.reshape(*shown.inside.shape, -1)
    found = group_log_mean(values, shown.inside[..., None])
    for r, q in np.ndindex(found.shape):
        own = values[shown.inside[:, r], r, q]
        expected = 0.0 if len(own) == 0 else own.max() + log(np.mean(np.exp(own - own.max())))
        assert found[r, q] == pytest.approx(expected)
