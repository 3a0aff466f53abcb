"""The ladders, beyond what every guard is tested for: steps that do not divide 1, and ties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.leaderboards.guards import Ladder, ParameterFreeLadder, Thresholdout
from privacygauge.leaderboards.naive_bayes import NaiveBayes
from privacygauge.leaderboards.oracle import Budget, Holdout
from privacygauge.leaderboards.sequential import HillClimbing, LinearScan

RNG = np.random.default_rng


def by_the_paper(losses, step):
    """Algorithm 1 of Blum and Hardt, on losses; what is printed is no accuracy below 0."""
    best = math.inf
    shown = []
    for loss in losses:
        if loss < best - step - 1e-12:
            best = step * math.floor(loss / step + 0.5)
        shown.append(max(0.0, 1 - best))
    return shown


@given(
    st.sampled_from([0.03, 0.3, 0.4, 0.6, 0.7, 1.0]),
    st.lists(st.integers(0, 40), min_size=1, max_size=20),
)
def test_any_step_is_the_papers(step, counts):
    rows = np.array([[0] * c + [1] * (40 - c) for c in counts])
    answers = Holdout(np.zeros(40, int), 2).open(RNG(0), guard=Ladder(step)).submit_all(rows)
    assert answers == pytest.approx(by_the_paper(1 - np.array(counts) / 40, step), abs=1e-12)


def test_a_loss_that_is_rounded_above_one_is_the_one_to_beat():
    # A loss of 1 is 1.2 in steps of .6; .55 beats that by more than the step, though not 1.
    rows = np.array([[1] * 20, [0] * 9 + [1] * 11])
    answers = Holdout(np.zeros(20, int), 2).open(RNG(0), guard=Ladder(0.6)).submit_all(rows)
    assert answers == pytest.approx([0.0, 0.4])


def shown_with(rows, truth, ddof):
    """Algorithm 2 with 1/n or 1/(n - 1) in the standard deviation, in whole numbers."""
    best = None
    before = np.zeros(len(truth))
    shown = []
    n = len(truth)
    for row in rows:
        losses = (row != truth).astype(int)
        change = losses - before
        # (n gain/n)^2 / n^2 > s^2 / n, multiplied out.
        squares = n * (change**2).sum() - change.sum() ** 2
        enough = change.sum() < 0 and change.sum() ** 2 * (n - ddof) > squares
        if best is None or enough:
            best = losses.sum()
            before = losses
        shown.append(1 - best / n)
    return shown


@given(st.integers(0, 2**32), st.integers(4, 20))
def test_both_standard_deviations_show_the_same_but_for_ties(seed, n):
    rng = RNG(seed)
    truth = rng.integers(0, 2, n)
    rows = rng.integers(0, 2, (2, n))
    d = np.count_nonzero(rows[0] != rows[1])
    gain = int(np.sum(rows[1] == truth) - np.sum(rows[0] == truth))
    answers = Holdout(truth, 2).open(rng, guard=ParameterFreeLadder()).submit_all(rows)
    assert answers == pytest.approx(shown_with(rows, truth, 1))
    if gain <= 0 or gain**2 != d:
        assert answers == pytest.approx(shown_with(rows, truth, 0))


def test_the_noise_of_thresholdout_is_the_papers():
    # Laplace: threshold 2 sigma, comparison 4 sigma, answer sigma. Close to the threshold, the
    # share of answers from the test set is that of Lap(4) + Lap(2) above what is missing.
    n = 2_000
    scale = 0.01
    holdout = Holdout(np.zeros(n, int), 2)
    guard = Thresholdout(0.3, scale, 10**6)
    guess = np.zeros(n, int)
    guess[: n // 2] = 1
    games = 700
    rng = RNG(0)
    far = np.array(
        [holdout.open(rng, guard=guard).submit(guess, claimed=0.15) for _ in range(games)]
    )
    released = far != 0.15
    draws = RNG(1)
    noise = draws.laplace(0, 4 * scale, 200_000) + draws.laplace(0, 2 * scale, 200_000)
    expected = np.mean(noise < 0.05)
    assert released.mean() == pytest.approx(expected, abs=4 * math.sqrt(0.25 / games))
    # A Laplace value has the mean absolute size of its scale, and that as standard deviation.
    assert np.abs(far[released] - 0.5).mean() == pytest.approx(
        scale, abs=4 * scale / math.sqrt(released.sum())
    )


@pytest.mark.slow
@pytest.mark.parametrize("guard", [Ladder(0.02), Ladder(0.05), ParameterFreeLadder()])
def test_of_the_attacks_only_hill_climbing_gains_behind_a_ladder(guard):
    """Means of six games, whose standard deviation is about .01; a larger step leaves less."""
    gains = {}
    for analyst in (HillClimbing(), NaiveBayes(), LinearScan()):
        right = []
        for game in range(6):
            truth = RNG([game, 1]).integers(0, 2, 300)
            oracle = Holdout(truth, 2).open(RNG(game), guard=guard, budget=Budget(total=300))
            right.append(np.mean(analyst.answer(oracle, RNG([game, 2])) == truth))
        gains[analyst.name] = np.mean(right) - 0.5
    assert gains["hill-climbing"] > (0.1 if guard != Ladder(0.05) else 0.03)
    assert abs(gains["nb"]) < 0.04
    assert abs(gains["scan"]) < 0.04
