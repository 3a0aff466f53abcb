"""An attack that sees everything but the signal does not beat chance.

The classes differ much in their share of members, among the shadow records and the targets
alike: an attack that let these counts into its score would win without any signal. Where the
signal is constant, the worlds too hold the records of each class in these shares, with some
records in all worlds and some in none.
"""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.attacks.posterior import Isotonic, RiskScore
from privacygauge.core.exact import SIGNAL
from privacygauge.core.game import Attack, Observation, Round, Shadow, play
from privacygauge.core.release import Worlds
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.roc import auc
from tests.laws.catalogue import ATTACKS, LEARNT, label
from tests.laws.numbers import of_play
from tests.thorough import quarter

SHARES = np.array([0.9, 0.1, 0.7, 0.3])


def unbalanced(n: int, rng: np.random.Generator, noise: float) -> Round:
    def records() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        stratum = rng.integers(4, size=n)
        return -np.exp(noise * rng.normal(size=n)), rng.random(n) < SHARES[stratum], stratum

    signal, member, stratum = records()
    shadow = Shadow({SIGNAL: signal}, member, stratum)
    signal, member, stratum = records()
    # With noise the worlds' coins must be fair, as in every game: for a likelihood ratio the
    # larger group's mean is the surer, which is right, and tells of the shares.
    inside = rng.random((8, n)) < (0.5 if noise else SHARES[stratum])
    logits = 1.7 + noise * rng.normal(size=(9, n))
    seen = Observation({SIGNAL: signal}, stratum, shadow, Worlds(logits[0], logits[1:], inside))
    return Round(seen, member, np.arange(n))


@pytest.mark.parametrize("attack", LEARNT, ids=label)
def test_with_a_constant_signal_nothing_tells_members_apart(attack: Attack) -> None:
    rng = np.random.default_rng(0)
    for n in (50, 300):
        played = of_play(play(attack, [unbalanced(n, rng, noise=0.0)], [rng]))
        assert auc(played.transcript).value == 0.5
        assert balanced_accuracy(played.decisions).value == 0.5


@pytest.mark.slow
# With few records of one kind in a class, a histogram and a fit of the class alone are off on
# noise, by an amount that depends on the counts. The default must know when not to trust them.
@pytest.mark.parametrize(
    "attack",
    [a for a in ATTACKS if not isinstance(a, RiskScore) or a.chosen == Isotonic()],
    ids=label,
)
def test_with_noise_for_a_signal_chance_is_the_mean(attack: Attack) -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(quarter(160)):
        played = of_play(play(attack, [unbalanced(200, rng, noise=1.0)], [rng]))
        found.append((auc(played.transcript).value, balanced_accuracy(played.decisions).value))
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (abs(np.mean(found, axis=0) - 0.5) < 4.5 * error).all()
