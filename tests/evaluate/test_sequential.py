"""Bounds that hold at all times: by enumeration, by a plain program, and by who may choose what."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.two_rates import bounds_at_all_times, guesses_in_order


def naive_capital(outcome, epsilon, delta):
    """The mean capital of ten who each bet the same share again and again."""
    stakes = (0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95)
    capital = np.ones(len(stakes))
    for x in outcome:
        gain = {1: (1 - delta) / (np.exp(epsilon) + delta), -1: -1.0, 0: -delta / (1 + delta)}[x]
        capital *= [1 + stake * gain for stake in stakes]
    return capital.mean()


@pytest.mark.parametrize("delta", [0.0, 0.03])
def test_the_bound_is_where_the_capital_is_one_over_the_error(delta):
    rng = np.random.default_rng(0)
    outcome = rng.choice([1, 1, 1, 1, 1, -1, 0], 60)
    found = bounds_at_all_times(outcome, delta, 0.9)
    assert np.all(np.diff(found) >= 0)
    for n in (20, 40, 60):
        if found[n - 1] > found[n - 2]:
            capital = naive_capital(outcome[:n], found[n - 1], delta)
            assert capital == pytest.approx(10, rel=1e-6)
        assert naive_capital(outcome[:n], found[n - 1] + 0.01, delta) < 10


@pytest.mark.parametrize("level", [0.5, 0.8])
def test_whoever_stops_at_the_best_time_is_wrong_no_more_often_than_the_level(level):
    """All ways in which 6 guesses come out, each right as often as the truth allows."""
    every = np.array(list(product([1, -1], repeat=6)))
    low = np.array([bounds_at_all_times(outcome, level=level)[-1] for outcome in every])
    assert low.max() > 0.4
    for truth in (0.0, 0.3, 0.7, 2.0):
        q = 1 / (1 + np.exp(-truth))
        chance = np.where(every == 1, q, 1 - q).prod(axis=1)
        assert chance[low > truth + 1e-9].sum() <= 1 - level


def test_many_right_guesses_come_near_the_truth():
    rng = np.random.default_rng(0)
    outcome = np.where(rng.random(5_000) < 1 / (1 + np.exp(-1.0)), 1, -1)
    assert 0.8 < bounds_at_all_times(outcome)[-1] < 1.0


def test_no_guess_depends_on_its_own_row_or_on_later_ones():
    rng = np.random.default_rng(0)
    secret = rng.random(300) < 0.5
    score = rng.normal(size=300) + secret
    first = guesses_in_order(Transcript(score, secret))
    assert set(first[32:].tolist()) == {-1, 0, 1}
    assert not first[:32].any()
    for row in (40, 100, 250):
        turned = secret.copy()
        turned[row] = ~turned[row]
        found = guesses_in_order(Transcript(score, turned))
        np.testing.assert_array_equal(found[:row], first[:row])
        # The same guess about the row, which now is as right as it was wrong.
        assert found[row] == -first[row]


def test_where_being_left_out_shows_that_is_what_is_guessed():
    rng = np.random.default_rng(1)
    secret = rng.random(600) < 0.5
    score = np.where(~secret & (rng.random(600) < 0.5), -9.0, rng.normal(size=600))
    found = guesses_in_order(Transcript(score, secret))
    last = found[512:]
    assert np.all(last[score[512:] == -9.0] == 1)
    assert np.mean(last[last != 0]) > 0.9
    assert bounds_at_all_times(found)[-1] > 0.9


@pytest.mark.parametrize("first", [True, False])
def test_without_both_kinds_among_the_first_rows_nothing_is_guessed(first):
    secret = np.where(np.arange(64) < 60, first, not first)
    assert not guesses_in_order(Transcript(np.arange(64.0), secret)).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds_at_all_times([2]), "outcome must be -1, 0 or 1, got 2"),
        (lambda: bounds_at_all_times([1], 1.0), r"delta must be in \[0, 1\), got 1"),
        (lambda: bounds_at_all_times([1], level=1.0), r"level must be in \(0, 1\), got 1"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
