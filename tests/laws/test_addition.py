"""A further attack changes no other's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.attacks.threshold import Coin, Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import SIGNAL, GaussianGame
from privacygauge.evaluate.playing import audit
from tests.laws.catalogue import ATTACKS, deal, label
from tests.laws.numbers import numbers


@pytest.fixture(scope="module")
def rounds():
    rng = np.random.default_rng(0)
    return [deal(60, rng, effect=1.0) for _ in range(2)]


@pytest.fixture(scope="module")
def all_together(rounds):
    return audit(rounds, ATTACKS, seed=5)


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=lambda i: label(ATTACKS[i]))
def test_alone_an_attack_has_the_numbers_that_it_has_in_company(
    number: int, rounds, all_together
) -> None:
    (alone,) = audit(rounds, [ATTACKS[number]], seed=5)
    assert numbers(alone) == numbers(all_together[number])
    assert len(numbers(alone)) > 100


def test_in_another_order_all_have_the_same_numbers(rounds, all_together) -> None:
    backwards = audit(rounds, ATTACKS[::-1], seed=5)
    assert numbers(backwards[::-1]) == numbers(all_together)


def test_the_seed_is_the_only_chance(rounds) -> None:
    coins = [audit(rounds, [Coin()], seed=seed)[0] for seed in (5, 5, 6)]
    assert numbers(coins[0]) == numbers(coins[1])
    assert numbers(coins[0]) != numbers(coins[2])


def test_attacks_and_rounds_have_coins_of_their_own(rounds) -> None:
    one, other = audit(rounds, [Coin(), Coin(name="another coin")], seed=5)
    scores = [played.transcript.score[part] for played, _ in (one, other)
              for part in (slice(0, 60), slice(60, 120))]  # fmt: skip
    for i, a in enumerate(scores):
        for b in scores[:i]:
            assert abs(np.corrcoef(a, b)[0, 1]) < 0.6


def test_an_attack_that_is_skipped_keeps_its_place() -> None:
    bare = GaussianGame(30).deal(1, np.random.default_rng(0))
    skipped, (_, evaluation) = audit(bare, [Threshold(SIGNAL), Coin()], seed=0)
    assert skipped == Skipped(SIGNAL, "needs shadow records with known membership")
    assert evaluation.name == "coin"
