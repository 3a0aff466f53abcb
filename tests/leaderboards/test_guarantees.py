"""What a guard guarantees holds for every attack: a bias above it is as rare as promised."""

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.leaderboards.analysts import ATTACKS, trials, uniform_holdout
from privacygauge.leaderboards.bounds import guarantee, kl_bias, transcript_nats
from privacygauge.leaderboards.guards import guard_named
from tests.thorough import THOROUGH, crossed, times

GUARDS = (
    "exact",
    "round:1",
    "noise:0.05",
    "laplace:0.05",
    "ladder",
    "ladder:0.05",
    "ladder:1.3se",
    "thresholdout:0.1",
)
DELTA = 0.05
SIZES = ((30, 2, 3), (60, 4, 2))
"""Points, classes and queries: few answers to few points, where the guarantee says something."""


class Told:
    """Not an attack: it has the labels, which no guarantee allows for."""

    name = "told"
    needs_points = True

    def __init__(self, labels):
        self.labels = labels

    def unaided(self):
        return None

    def answer(self, oracle, rng):
        return self.labels


def most(guard, n, m, k):
    found = 1 / m + guarantee(guard, n, m, k, delta=DELTA)
    # No labels are all right by chance: below it, the guarantee forbids something.
    assert found < 1
    return found


def above(attack, guard, n, m, k, games, seed):
    """How many of so many games end above what is guaranteed for all but one in twenty."""
    analyst = ATTACKS[attack].make(None)
    rngs = np.random.default_rng(seed).spawn(games)
    ends = trials(analyst, lambda rng: uniform_holdout(n, m, rng), k, rngs, guard=guard)
    return np.count_nonzero(ends.accuracies >= most(guard, n, m, k))


def allowed(games):
    """Return how many games may end above it; more are seen once in 10,000 tests."""
    return binom.isf(1e-4, games, DELTA)


def needed(attack):
    if attack == "reconstruction":
        pytest.importorskip("ortools")


@pytest.mark.parametrize("name", GUARDS)
def test_a_guarantee_is_of_transcripts(name):
    guard = guard_named(name)
    for n, m, k in SIZES:
        found = kl_bias(transcript_nats(guard, k, n, m), n, m, delta=DELTA)
        assert found == guarantee(guard, n, m, k, delta=DELTA)


@pytest.mark.parametrize("name", GUARDS)
def test_who_has_the_labels_exceeds_every_guarantee(name):
    for n, m, k in SIZES:
        holdout = uniform_holdout(n, m, np.random.default_rng(0))
        ends = trials(
            Told(holdout.labels), lambda rng, h=holdout: h, k, np.random.default_rng(1).spawn(2)
        )
        assert ends.accuracies.min() >= most(guard_named(name), n, m, k)


def test_without_a_query_the_guarantee_is_close_to_chance():
    # Otherwise it would hold for being far too large: the binomial's own limit is .633.
    n = 30
    games = times(20_000)
    ends = np.random.default_rng(2).binomial(n, 0.5, games) / n
    limit = 0.5 + guarantee(guard_named("exact"), n, 2, 0, delta=DELTA)
    assert np.mean(ends >= limit) < DELTA < np.mean(ends >= limit - 0.1)


@pytest.mark.parametrize("attack", [name for name in ATTACKS if name != "reconstruction"])
def test_some_attacks_stay_within_some_guarantees(attack):
    for name, (n, m, k) in zip(("exact", "ladder"), SIZES, strict=True):
        assert above(attack, guard_named(name), n, m, k, games=10, seed=3) <= allowed(10)


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "name"), crossed(list(ATTACKS), GUARDS))
def test_guarantees_hold_for_every_attack(attack, name):
    needed(attack)
    games = 500 if THOROUGH else 60
    for n, m, k in SIZES:
        assert above(attack, guard_named(name), n, m, k, games, seed=4) <= allowed(games)
