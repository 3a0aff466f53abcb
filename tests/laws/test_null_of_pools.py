"""A pool of models that learnt nothing gives no attack of the suite anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from privacygauge.classifiers.learned import Learned
from privacygauge.classifiers.neural import Network, NeuralNasr, NeuralShokri, Untargeted
from privacygauge.classifiers.suite import pool_attacks, single_record_attacks
from privacygauge.core.attacks import groups
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.estimate import Estimate
from privacygauge.core.game import Attack, Observation
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.evaluation import title
from privacygauge.evaluate.roc import auc
from tests.classifiers.made import made_pool_game
from tests.laws.catalogue import label
from tests.laws.numbers import of_scores
from tests.thorough import crossed, only_thorough, quarter

SHADOWS = (4, 8, 16, 64)
SLOW = (Learned, NeuralShokri, NeuralNasr, Untargeted)
TINY = Network(hidden=4, epochs=1)


def areas(
    attacks: Sequence[Attack], k: int, n: int, games: int, *, own: bool = False
) -> np.ndarray:
    """Return the area of every attack in games without leakage, (games, attacks)."""
    found = np.empty((games, len(attacks)))
    for game, row in enumerate(found):
        seed = 1000 * k + game
        made = made_pool_game(n=n, k=k, features=2, logits=True, per_target=own, seed=seed)
        dealt = made.round()
        for a, attack in enumerate(attacks):
            scores = of_scores(attack.score(dealt.observation, np.random.default_rng(game)))
            row[a] = auc(Transcript(scores.value, dealt.secret)).value
    return found


def check(attacks: Sequence[Attack], found: np.ndarray, n: int) -> None:
    """Fail where a mean area is further from 1/2 than chance explains.

    Bits that know nothing of n scores give an area with variance 1 / (3 n), less where scores tie.
    """
    error = 1 / np.sqrt(3 * n * len(found))
    off = {
        title(attack.name, attack.variant, attack.thresholds): mean
        for attack, mean in zip(attacks, found.mean(axis=0), strict=True)
        if not abs(mean - 0.5) < 4.5 * error
    }
    assert off == {}


@pytest.fixture(autouse=True)
def no_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    # Areas need none, and learning one takes most of the time.
    monkeypatch.setattr(groups, "MOST_PLAYED", 0)


def plain(attacks: Sequence[Attack]) -> list[Attack]:
    return [attack for attack in attacks if not isinstance(attack, SLOW)]


@pytest.mark.slow
@pytest.mark.parametrize("k", SHADOWS)
def test_a_pool_without_leakage_gives_every_attack_one_half(k: int) -> None:
    attacks = plain(pool_attacks(logits=True))
    check(attacks, areas(attacks, k, 200, 20), 200)


@pytest.mark.slow
def test_a_pool_without_leakage_gives_attacks_that_train_one_half() -> None:
    networks = (attack(network=TINY) for attack in (NeuralShokri, NeuralNasr, Untargeted))
    attacks: list[Attack] = [Learned(), *networks]
    check(attacks, areas(attacks, 4, 40, 10), 40)


@pytest.mark.slow
@pytest.mark.parametrize("k", [4, 16])
def test_models_of_each_targets_own_give_one_half_without_leakage(k: int) -> None:
    attacks = single_record_attacks("per-target")
    check(attacks, areas(attacks, k, 200, 20, own=True), 200)


@only_thorough
@pytest.mark.slow
@pytest.mark.parametrize("k", SHADOWS)
def test_a_pool_without_leakage_gives_every_attack_one_half_in_many_games(k: int) -> None:
    attacks = pool_attacks(logits=True)
    check(attacks, areas(attacks, k, 200, 100), 200)


def area_over_all_targets(attack: Attack, m: int, n: int, seed: int) -> Estimate:
    """Return the area where each of m models, which learnt nothing, is the target once."""
    rng = np.random.default_rng(seed)
    inside = coin_flips(m, n, rng)
    signal = rng.normal(size=n) + 0.3 * rng.normal(size=(m, 1)) + rng.normal(size=(m, n))
    worlds = Worlds(signal[0], signal, inside)
    seen = (Observation({}, np.zeros(n), worlds=worlds.without(j)) for j in range(m))
    scores = np.array([of_scores(attack.score(x, rng)).value for x in seen])
    target = np.tile(np.arange(n), m)
    model = np.repeat(np.arange(m), n)
    return auc(Transcript(scores.ravel(), inside.ravel(), target, model, target))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "m", "n"),
    [
        pytest.param(attack, *size, id=f"{label(attack)}-{size}")
        for attack, size in crossed(
            [Bavaria(), LiraOnline(), CalibratedOnline()], [(8, 80), (8, 200), (16, 200), (32, 80)]
        )
    ],
)
def test_where_every_model_is_a_target_the_areas_interval_holds_one_half(
    attack: Attack, m: int, n: int
) -> None:
    games = quarter(800)
    found = [area_over_all_targets(attack, m, n, seed) for seed in range(games)]
    below = sum(x.high < 0.5 for x in found)
    above = sum(x.low > 0.5 for x in found)
    assert below + above <= stats.binom.ppf(0.999, games, 0.05)
    assert max(below, above) <= stats.binom.ppf(0.999, games, 0.025)
