"""Tails of runs and counts, and groups that are looked for."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from privacygauge.leaderboards.history.evidence import (
    best_group,
    log_excess,
    log_run_tail,
    longest_run,
)


@given(st.lists(st.booleans(), max_size=30))
def test_the_longest_run_against_every_stretch(flags):
    start, stop = longest_run(np.array(flags, np.bool_))
    assert all(flags[start:stop])
    stretches = itertools.combinations(range(len(flags) + 1), 2)
    longest = max((j - i for i, j in stretches if all(flags[i:j])), default=0)
    assert stop - start == longest


@pytest.mark.parametrize("rate", [0.25, 0.5, 0.8])
def test_the_bound_on_runs_holds_for_every_sequence(rate):
    trials = 10
    exact = np.zeros(trials + 2)
    for flags in itertools.product((False, True), repeat=trials):
        start, stop = longest_run(np.array(flags))
        exact[stop - start] += rate ** sum(flags) * (1 - rate) ** (trials - sum(flags))
    for run in range(1, trials + 1):
        tail = exact[run:].sum()
        bound = math.exp(log_run_tail(run, trials, rate))
        assert tail <= bound + 1e-12
    # Tight where it matters: a run of all trials is their product.
    assert math.exp(log_run_tail(trials, trials, rate)) == pytest.approx(rate**trials, rel=1e-9)


def test_an_excess_is_seen_spread_out_and_in_a_stretch():
    spread = np.tile([True, True, True, False], 25)
    stretch = np.arange(300) < 40
    assert log_excess(spread, 0.5) == pytest.approx(
        math.log(2) + binom.logsf(74, 100, 0.5), rel=1e-9
    )
    assert binom.sf(39, 300, 0.5) > 0.99
    assert log_excess(stretch, 0.5) < math.log(1e-9)
    assert log_excess(np.zeros(9, np.bool_), 0.5) == 0.0


def test_excess_p_values_are_valid():
    rng = np.random.default_rng(0)
    p = [math.exp(log_excess(rng.random(40) < 0.5, 0.5)) for _ in range(1000)]
    # 3.3 standard errors above the level.
    for level in (0.2, 0.05, 0.01):
        assert np.mean(np.array(p) <= level) <= level + 3.3 * math.sqrt(level / len(p))


def test_the_best_group_pays_for_the_choice_and_drops_who_does_not_belong():
    strength = {0: -30.0, 1: -30.0, 2: 0.0, 3: -30.0, 4: 0.0}
    log_p = lambda group: sum(strength[i] for i in group)  # noqa: E731
    group, found = best_group([0, 1, 2, 3, 4], log_p, 5)
    assert sorted(group) == [0, 1, 3]
    assert found == pytest.approx(-90 + math.log(5) + math.log(math.comb(5, 3)))
    assert best_group([0], log_p, 5) == ((), 0.0)
    # However large the group, nothing is found in nothing.
    assert best_group([2, 4], lambda group: 0.0, 5)[1] == 0.0
