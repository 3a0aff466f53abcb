"""Canaries in a few fits: nothing is found where nothing is, and intervals cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from privacygauge.core.release import coin_flips
from privacygauge.errors import InputError
from privacygauge.evaluate.canaries import guessed_in_fits
from privacygauge.evaluate.rates import share
from tests.thorough import crossed, times


@pytest.mark.parametrize("fits", [1, 2, 5])
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


def fits_with_signal(shift, n, rng):
    """Return scores and coins of n canaries in fits that shift members by different amounts."""
    secret = coin_flips(len(shift), n, rng)
    # What canaries are alike in from fit to fit says nothing of their coins.
    alike = rng.normal(size=n)
    noise = np.sqrt(0.5) * (alike + rng.normal(size=secret.shape))
    return noise + shift[:, None] * secret, secret


@pytest.mark.slow
@pytest.mark.parametrize(("fits", "spread"), crossed([1, 2, 4, 16], [0.0, 0.4]))
def test_intervals_cover_the_mean_of_these_fits(fits, spread):
    """Each fit leaks by an amount of its own, and the interval is about their mean."""
    rng = np.random.default_rng(fits)
    games = times(600)
    n = 160
    covered = {"auc": 0, "accuracy": 0}
    for game in range(games):
        shift = 0.7 + spread * rng.uniform(-1, 1, fits) * np.sqrt(3)
        score, secret = fits_with_signal(shift, n, rng)
        found = guessed_in_fits({"a": score}, secret, seed=game)
        area = norm.cdf(shift / np.sqrt(2)).mean()
        covered["auc"] += found.auc.low <= area <= found.auc.high
        # Half are called "in", and about half are: right where the score is beyond the middle.
        right = norm.cdf(shift / 2).mean()
        covered["accuracy"] += found.accuracy.low <= right <= found.accuracy.high
    for hits in covered.values():
        assert hits / games >= 0.95 - 4 * np.sqrt(0.05 * 0.95 / games)


def test_one_fit_more_never_makes_it_worse():
    rng = np.random.default_rng(7)
    games = times(40)
    widths = np.zeros((2, 5))
    for _ in range(games):
        shift = 0.6 + 0.5 * rng.uniform(-1, 1, 5)
        score, secret = fits_with_signal(shift, 80, rng)
        for t in range(1, 6):
            found = guessed_in_fits({"a": score[:t]}, secret[:t])
            widths[:, t - 1] += [x.high - x.low for x in (found.accuracy, found.auc)]
    assert (np.diff(widths, axis=1) < 0).all()


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), min_size=1, max_size=6))
    )
)
def test_the_accuracy_is_the_mean_of_that_of_each_fit(made):
    """Exactly: the scores are the coins, turned round for as many canaries as are wrong."""
    n, wrong = made
    secret = np.tile(np.arange(2 * n) < n, (len(wrong), 1))
    score = secret.astype(float)
    for row, k in zip(score, wrong, strict=True):
        row[:k], row[n : n + k] = 0.0, 1.0
    found = guessed_in_fits({"a": score}, secret)
    np.testing.assert_allclose(found.accuracy_of_each, 1 - np.array(wrong) / n)
    assert found.accuracy == share(2 * (n * len(wrong) - sum(wrong)), 2 * n * len(wrong))


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
