"""What an audit of a given size would see: held against simulated audits of other draws."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.detectable import (
    GAMES,
    POWER,
    fewest_nonmembers,
    smallest_accuracy,
    smallest_auc,
    smallest_average,
)
from privacygauge.evaluate.rates import lower_limit
from privacygauge.evaluate.roc import auc
from tests.thorough import times


@pytest.mark.slow
@pytest.mark.parametrize(("n_in", "n_out", "level"), [(8, 8, 0.95), (32, 32, 0.9), (100, 30, 0.95)])
def test_the_smallest_auc_is_seen_as_often_as_said(n_in, n_out, level):
    shift = np.sqrt(2) * ndtri(smallest_auc(n_in, n_out, level))
    rng = np.random.default_rng(1)
    games = times(800)
    secret = np.arange(n_in + n_out) < n_in
    seen = 0
    for _ in range(games):
        scores = rng.normal(size=n_in + n_out) + shift * secret
        # A rising map of the scores changes nothing.
        seen += auc(Transcript(np.exp(3 * scores), secret), level).low > 0.5
    # Some games fix where it lies, others judge it.
    error = np.sqrt(POWER * (1 - POWER) * (1 / GAMES + 1 / games))
    assert seen / games == pytest.approx(POWER, abs=4 * error)


def test_more_tables_see_less_and_few_see_nothing():
    found = [smallest_auc(n, n) for n in (6, 8, 16)]
    assert found == sorted(found, reverse=True)
    assert smallest_auc(5, 5) is None  # five pairs that are told apart: 2.5% ** (1 / 5) < 1 / 2
    assert smallest_auc(8, 8, 0.99) > smallest_auc(8, 8)
    assert smallest_auc(8, 8) > smallest_auc(8, 8, power=0.5)


@pytest.mark.parametrize("n", [20, 57, 200])
def test_the_smallest_accuracy_is_that_of_exact_tails(n):
    least = min(k for k in range(n + 1) if lower_limit(k, n, 0.025) > 0.5)
    share = smallest_accuracy(n)
    assert binom.sf(least - 1, n, share) == pytest.approx(POWER, abs=4 * np.sqrt(0.16 / GAMES))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: smallest_auc(0, 5), "n_in must be at least 1, got 0"),
        (lambda: smallest_auc(5, 5, power=1.0), r"power must be in \(0, 1\), got 1.0"),
        (lambda: smallest_accuracy(0), "n_coins must be at least 1, got 0"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("n_in", [250, 300, 500, 2000])
def test_the_fewest_nonmembers_are_enough_and_one_less_is_not(n_in):
    wanted = fewest_nonmembers(n_in, 0.99, 0.55)
    assert smallest_average(n_in, wanted, 0.99) <= 0.55 < smallest_average(n_in, wanted - 1, 0.99)


def test_no_nonmembers_make_up_for_too_few_members():
    assert fewest_nonmembers(100, 0.99, 0.55) is None
