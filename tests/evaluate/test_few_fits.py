"""Canaries in a few fits: nothing is found where nothing is, and intervals cover."""

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.core.release import coin_flips
from privacygauge.errors import InputError
from privacygauge.evaluate.few_fits import accuracy_of_fits, guessed_in_fits
from privacygauge.evaluate.rates import share
from tests.thorough import crossed, times


@pytest.mark.parametrize("fits", [1, 2])
def test_scores_that_tell_nothing_are_guesses(fits):
    rng = np.random.default_rng(fits)
    games = times(400)
    n = 40
    above = np.zeros(2)
    for game in range(games):
        secret = coin_flips(fits, n, rng)
        # What canaries are alike in from fit to fit says nothing of their coins.
        alike = 3 * rng.normal(size=n)
        scores = {name: alike + rng.normal(size=(fits, n)) for name in "abc"}
        found = guessed_in_fits(scores, secret, seed=game)
        above += found.accuracy.low > 0.5, found.auc.low > 0.5
    assert (above <= binom.ppf(0.999, games, 0.025)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("fits", "spread"), crossed([2, 4, 16], [0.0, 0.04, 0.08]))
def test_the_interval_of_several_fits_covers_where_fits_differ(fits, spread):
    """Each fit leaks by an amount of its own: the fit is the independent unit."""
    rng = np.random.default_rng(fits)
    games = times(2000)
    n = 160
    covered = alone = 0
    for _ in range(games):
        right = rng.binomial(n, 0.7 + spread * rng.uniform(-1, 1, fits) * np.sqrt(3))
        found = accuracy_of_fits(right, n)
        covered += found.low <= 0.7 <= found.high
        pooled = share(int(right.sum()), fits * n)
        alone += pooled.low <= 0.7 <= pooled.high
    if spread:  # fits that are taken for one fall short
        assert alone / games < 0.9
    assert covered / games >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / games)


def test_a_single_fit_has_the_interval_of_its_coins_and_equal_fits_that_of_all():
    assert accuracy_of_fits(np.array([30]), 40) == share(30, 40)
    both = accuracy_of_fits(np.array([30, 30]), 40)
    assert (both.low, both.high, both.n) == (share(60, 80).low, share(60, 80).high, 80)
    perfect = accuracy_of_fits(np.array([40, 40]), 40)
    assert (perfect.value, perfect.low) == (1.0, share(80, 80).low)


def test_others_choose_the_attack_and_are_not_judged():
    rng = np.random.default_rng(0)
    secret = coin_flips(2, 100, rng)
    noise = rng.normal(size=(2, 2, 100))
    scores = {"noise": noise[0], "tells": noise[1] + 6 * secret, "reversed": 1.0 - secret}
    found = guessed_in_fits(scores, secret)
    assert found.attack == "tells"
    assert len(found.canary) == 80
    np.testing.assert_array_equal(found.score, scores["tells"][:, found.canary])
    np.testing.assert_array_equal(found.secret, secret[:, found.canary])
    # Coins seldom put exactly half in, and half are called so.
    most = np.mean([1 - abs(fit.sum() - 40) / 80 for fit in found.secret])
    assert most - 0.02 <= found.accuracy.value <= most + 1e-9
    only = guessed_in_fits({"tells": scores["tells"]}, secret)
    assert len(only.canary) == 100


def test_a_rising_map_and_another_order_change_nothing():
    rng = np.random.default_rng(3)
    secret = coin_flips(3, 60, rng)
    score = rng.normal(size=(3, 60)) + secret
    found = guessed_in_fits({"a": score}, secret)
    assert guessed_in_fits({"a": np.exp(score)}, secret).accuracy == found.accuracy
    order = rng.permutation(60)
    turned = guessed_in_fits({"a": score[:, order]}, secret[:, order])
    assert (turned.accuracy, turned.auc.value) == (found.accuracy, pytest.approx(found.auc.value))


def test_bad_input_is_one_line():
    with pytest.raises(InputError, match="at least one attack, got none"):
        guessed_in_fits({}, np.zeros((1, 4), bool))
    with pytest.raises(InputError, match=r"scores of a and secret must have one shape \(t, n\)"):
        guessed_in_fits({"a": np.zeros(4)}, np.zeros((1, 4), bool))
