"""A few scores far above all others are shown, whatever the tail of the others looks like."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.tail import ParetoTail, standing_apart, tail


def rows_of_another_kind(rng, size):
    """Return scores of which one in 200 is far above the others, on either side alike."""
    return rng.normal(size=size) + 20 * (rng.random(size) < 0.005)


SCORES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "Student's with 3 degrees": lambda rng, size: rng.standard_t(3, size=size),
    "Cauchy's": lambda rng, size: rng.standard_cauchy(size=size),
    "log-normal": lambda rng, size: rng.lognormal(0, 1.5, size=size),
    "bounded": lambda rng, size: rng.beta(5, 1, size=size),
    "in steps": lambda rng, size: rng.poisson(2, size=size).astype(float),
    "of another kind": rows_of_another_kind,
}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("sides", [(700, 700), (300, 900)])
def test_values_of_one_kind_hardly_ever_stand_apart(name, sides):
    games = 200
    shown = 0
    apart = 0
    for seed in range(games):
        rng = np.random.default_rng(seed)
        values = SCORES[name](rng, sides[0])
        others = SCORES[name](rng, sides[1])
        apart += standing_apart(values, others)[0] > 0
        if seed < 120:
            scored = Transcript(np.concatenate([values, others]), np.arange(sum(sides)) < sides[0])
            found = tail([("made up", scored)], rng, 0.9875)
            shown += found is not None and found.exposed > 0
    # Of a few rows of another kind all may be members: ranks rule most of that out.
    assert apart <= (0.1 if name == "of another kind" else 0.01) * games
    assert shown <= 6


@pytest.mark.parametrize("n", [400, 1500])
def test_a_few_scores_far_above_all_others_are_shown(n):
    """Four texts learnt by heart: ranks alone show eight."""
    shown = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.normal(0, 0.3, size=n)
        others = rng.normal(0, 0.3, size=2 * n)
        values[:4] = rng.uniform(1.6, 2.9, size=4)
        scored = Transcript(np.concatenate([values, others]), np.arange(3 * n) < n)
        found = tail([("made up", scored)], rng, 0.9875)
        shown += found is not None and found.exposed > 0
        assert found is None or not found.far_beyond or 1 <= found.exposed <= found.top
    assert shown >= 36


def test_six_scores_far_above_all_others_are_shown_and_as_many_of_a_kind_hardly_ever():
    """All six are members of equal sides by chance once in 64 times."""
    shown = 0
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 6])
        score = rng.normal(size=1200)
        score[:6] += 20
        inside = np.arange(1200) < 600
        if seed < 40:
            found = tail([("planted", Transcript(score, inside))], rng, 0.9875)
            shown += found is not None and found.exposed > 0
        found = tail([("null", Transcript(score, rng.permutation(inside)))], rng, 0.9875)
        alarms += found is not None and found.exposed > 0
    assert shown == 40
    assert alarms <= binom.ppf(0.999, 200, 0.0125 + 1 / 64)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize(("name", "fewest"), [("normal", 36), ("Student's with 3 degrees", 10)])
def test_two_or_three_scores_that_ranks_cannot_show_are_called_apart(name, fewest, k):
    """Ranks of three members alone are theirs by chance once in eight times."""
    planted = 0
    null = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = SCORES[name](rng, 500)
        others = SCORES[name](rng, 500)
        inside = np.arange(1000) < 500
        found = tail([("null", Transcript(np.r_[values, others], inside))], rng, 0.9875)
        null += found.apart > 0
        beyond = np.array([8.0, 9.0, 10.0])[:k] * (10 if name != "normal" else 1)
        values[:k] = others.max() + beyond
        found = tail([("planted", Transcript(np.r_[values, others], inside))], rng, 0.9875)
        planted += found.apart == k or found.shown
    assert planted >= fewest - (6 if k == 2 else 0)  # two need to be further away
    assert null <= 1


def test_the_tail_of_exponential_values_is_exponential():
    rng = np.random.default_rng(0)
    found = ParetoTail.of(rng.exponential(size=20_000))
    assert found is not None
    assert 0.05 <= found.shape <= 0.3  # two standard errors above 0
    for value in (5.0, 6.0):
        assert 0.9 * np.exp(-value) <= found.beyond(value) <= 4 * np.exp(-value)


@pytest.mark.parametrize("tied", [0.0, 0.005, 0.02, 0.15, 0.6, 0.9, 1.0])
def test_ties_at_the_top_of_the_others_hide_nobody(tied):
    """Most texts share one short run of words with others, or none; copies share thirty."""
    rng = np.random.default_rng(0)
    others = np.where(rng.random(2000) < tied, 6.9, 0.0)
    values = np.where(rng.random(1000) < tied, 6.9, 0.0)
    assert standing_apart(values, others, step=6.9)[0] == 0
    values[:8] = 186.0
    assert standing_apart(values, others, step=6.9)[0] == 8
    # Two or three runs in place of one are no surprise.
    values[:4] = 13.8
    values[4:8] = 0.0
    assert standing_apart(values, others, step=6.9)[0] == 0
    assert standing_apart(values, np.zeros(2000)) == (0, 0.0)
