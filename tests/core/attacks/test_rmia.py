from __future__ import annotations

from math import exp, log, log1p

import numpy as np
import pytest
from hypothesis import given
from scipy.special import log_expit

from privacygauge.core.attacks.rmia import (
    SLOPES,
    RmiaOffline,
    RmiaOnline,
    chosen_slope,
    group_log_mean,
)
from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import OffsetGame
from privacygauge.core.game import Attack, Observation, Scores
from privacygauge.core.release import Worlds
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import auc
from tests.laws import naive
from tests.laws.draws import worlds
from tests.thorough import crossed, times

ANY = np.random.default_rng(0)


def seen(shown: Worlds) -> Observation:
    return Observation({}, np.zeros(len(shown.signal)), worlds=shown)


def log_p(logit: float) -> float:
    return -log1p(exp(-logit))


def log_of_mean(logits: list[float]) -> float:
    return log(sum(1 / (1 + exp(-x)) for x in logits) / len(logits))


@pytest.mark.parametrize(
    "attack",
    [RmiaOnline(), RmiaOffline(), RmiaOffline(0.0), RmiaOffline(1.0), RmiaOffline(None)],
    ids=str,
)
@given(shown=worlds())
def test_it_is_the_log_of_the_ratio(attack: Attack, shown: Worlds) -> None:
    result = attack.score(seen(shown), ANY)
    online = isinstance(attack, RmiaOnline)
    if isinstance(result, Skipped):
        assert shown.inside.all() or (online and not shown.inside.any())
        return
    if isinstance(attack, RmiaOffline):
        a = attack.a if attack.a is not None else float(result.notes[0].split()[2].strip(","))

    def score(query: int) -> list[float]:
        signal, both = naive.sides(shown, query)
        inside, outside = (
            [exp(min(x, 0.0)) for x in side] for side in naive.filled(both, log_of_mean)
        )
        if isinstance(attack, RmiaOffline):
            inside = [a * p + 1 - a for p in outside]
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


def test_the_slope_is_the_one_whose_areas_are_largest_with_worlds_as_targets() -> None:
    rng = np.random.default_rng(0)
    found = set()
    for game in range(times(12)):
        spread = rng.uniform(0.1, 3.0)
        effect = rng.uniform(0.5, 2.0)
        dealt = OffsetGame(120, effect, 6, spread).deal(1, np.random.default_rng(game))[0]
        shown = dealt.observation.worlds
        assert shown is not None
        means = [float(np.mean(world)) for world in shown.worlds]
        four = [sorted(range(6), key=means.__getitem__)[place] for place in (0, 2, 3, 5)]
        areas = []
        for a in SLOPES:
            plays = [(shown.without(j), shown.inside[j]) for j in four]
            each = [(RmiaOffline(a).score(seen(other), ANY), bits) for other, bits in plays]
            targets = np.arange(120)
            areas.append(sum(auc(Transcript(s.value, m, targets)).value for s, m in each))
        chosen = chosen_slope(shown)
        assert chosen is not None
        assert areas[SLOPES.index(chosen)] == pytest.approx(max(areas), abs=1e-12)
        found.add(chosen)
        by_choice = RmiaOffline(None).score(seen(shown), ANY)
        by_hand = RmiaOffline(chosen)
        assert np.array_equal(by_choice.value, by_hand.score(seen(shown), ANY).value)
        assert by_choice.notes == (f"a = {chosen:g}, chosen on shadow models played as targets",)
    assert len(found) > 2


def test_the_judged_target_has_no_part_in_the_slope() -> None:
    dealt = OffsetGame(200, 1.0, 8).deal(1, np.random.default_rng(1))[0]
    shown = dealt.observation.worlds
    assert shown is not None
    others = Worlds(10 * np.random.default_rng(2).normal(size=200), shown.worlds, shown.inside)
    assert chosen_slope(others) == chosen_slope(shown)


def test_without_worlds_to_play_the_slope_is_the_published_one() -> None:
    inside = np.array([[False, True, False]])
    shown = Worlds(np.zeros(3), np.array([[1.0, 2.0, 0.0]]), inside)
    assert chosen_slope(shown) is None
    result = RmiaOffline(None).score(seen(shown), ANY)
    assert isinstance(result, Scores)
    assert result.notes == ("a = 0.3, as published",)
    assert np.array_equal(result.value, RmiaOffline().score(seen(shown), ANY).value)


# Areas by the published slope, and with one chosen, must not fall behind: the mean difference over
# eight targets, and two of its standard errors.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_worlds", "offsets"), crossed([4, 16], [(1.0, 3.0), (1.0, 0.3), (2.0, 3.0), (0.5, 1.0)])
)
def test_a_chosen_slope_is_at_least_as_strong_as_the_published_one(
    n_worlds: int, offsets: tuple[float, float]
) -> None:
    effect, spread = offsets
    game = OffsetGame(1_000, effect, n_worlds, spread)
    gains = []
    for dealt in game.deal(8, np.random.default_rng(n_worlds)):
        areas = [
            auc(Transcript(attack.score(dealt.observation, ANY).value, dealt.secret)).value
            for attack in (RmiaOffline(None), RmiaOffline())
        ]
        gains.append(areas[0] - areas[1])
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) > -0.003 - 2 * error
    if (effect, spread) == (1.0, 3.0):
        assert np.mean(gains) > 0.02
