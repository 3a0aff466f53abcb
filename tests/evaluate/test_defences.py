"""Paired differences and quantiles: exact on small cases, and as sure as they say."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.defences import JudgedDefence, accuracy_lost, quantile, risk_quantiles
from privacygauge.evaluate.risk import assess_risk
from tests.laws.draws import SEEDS, both_kinds, few_values
from tests.thorough import times


def guesses(rng, n, change):
    """Return guesses before and after: right with .8, and turned over with `change` or half."""
    secret = np.arange(n) < n // 2
    right = rng.random(n) < 0.8
    after = right ^ (rng.random(n) < np.where(right, change, change / 2))
    return [Decisions(np.where(x, secret, ~secret), secret) for x in (right, after)]


def test_the_value_is_the_difference_of_the_accuracies():
    before, after = guesses(np.random.default_rng(0), 50, 0.3)
    lost = accuracy_lost(before, after)
    expected = balanced_accuracy(before).value - balanced_accuracy(after).value
    assert lost.value == expected
    turned = accuracy_lost(after, before)
    assert (turned.low, turned.high) == pytest.approx((-lost.high, -lost.low))


def test_by_hand():
    secret = np.array([True] * 4 + [False] * 4)
    before = Decisions(secret, secret)
    after = Decisions(np.array([1, 1, 1, 0, 0, 0, 0, 0], bool), secret)
    lost = accuracy_lost(before, after, 0.95)
    assert lost.value == pytest.approx(0.125)
    # One member became worse: (2 - 1) / 6; of the non-members none changed: (1 - 1) / 6.
    centre = (1 / 6) / 2
    variance = ((3 / 6 - 1 / 36) / 6 + (2 / 6) / 6) / 4
    assert lost.high == pytest.approx(centre + 1.959963984540054 * np.sqrt(variance))
    assert lost.n == 8


@settings(max_examples=times(60))
@given(SEEDS, st.integers(2, 30), st.sampled_from([0.5, 0.95, 0.9999]))
def test_each_side_takes_one_record_more_of_each_kind_of_change(seed, n, level):
    rng = np.random.default_rng(seed)
    secret = both_kinds(n, rng)
    share = rng.choice([0.0, 0.5, 1.0])
    before = Decisions(np.where(rng.random(n) < share, secret, ~secret), secret)
    after = Decisions(np.where(rng.random(n) < rng.choice([0.0, 0.5]), secret, ~secret), secret)
    centre = 0.0
    variance = 0.0
    for side in (secret, ~secret):
        changes = [1, -1]
        for i in np.flatnonzero(side):
            right = [int(x.guess[i] == secret[i]) for x in (before, after)]
            changes.append(right[0] - right[1])
        centre += np.mean(changes) / 2
        variance += np.var(changes) / len(changes) / 4
    half = norm.ppf((1 + level) / 2) * np.sqrt(variance)
    found = accuracy_lost(before, after, level)
    low = max(-1.0, centre - half)
    high = min(1.0, centre + half)
    assert found.low == pytest.approx(min(found.value, low))
    assert found.high == pytest.approx(max(found.value, high))


@pytest.mark.parametrize("change", [0.0, 0.02, 0.3])
def test_the_interval_holds_the_truth_as_often_as_it_says(change):
    rng = np.random.default_rng(1)
    games = times(400)
    truth = 0.8 * change - 0.2 * change / 2
    held = [not accuracy_lost(*guesses(rng, 200, change)).excludes(truth) for _ in range(games)]
    # Four standard errors below the level.
    assert np.mean(held) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / games)


def test_other_rows_are_refused():
    secret = np.array([True, False])
    one = Decisions(secret, secret, np.array([0, 1]))
    two = Decisions(secret, secret, [1, 0])
    with pytest.raises(InputError, match="same targets"):
        accuracy_lost(one, two)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [1, 7, 100])
def test_quantiles_are_numpys(share, n):
    values = np.random.default_rng(n).random(n)
    found = quantile(values, share)
    assert found.value == np.quantile(values, share, method="inverted_cdf")
    assert found.n == n


@given(SEEDS, st.integers(1, 60), st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from([0.5, 0.95]))
def test_the_interval_of_a_quantile_ends_at_ranks_that_coins_would_give(seed, n, share, level):
    values = few_values(n, np.random.default_rng(seed))
    found = quantile(values, share, level)
    ordered = np.sort(values)
    # The least rank that so many values below are not too few for, and its mirror image.
    tail = (1 - level) / 2
    ranks = np.arange(n + 1)
    least = int(ranks[binom.cdf(ranks, n, share) >= tail - 1e-12].min())
    most = int(ranks[binom.cdf(ranks, n, share) >= 1 - tail - 1e-12].min())
    assert found.low == min(found.value, ordered[max(least - 1, 0)])
    assert found.high == max(found.value, ordered[min(most, n - 1)])
    assert found.value == np.quantile(values, share, method="inverted_cdf")


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_interval_of_a_quantile_holds_the_truth_as_often_as_it_says(share):
    rng = np.random.default_rng(2)
    games = times(400)
    held = [not quantile(rng.random(120), share).excludes(share) for _ in range(games)]
    assert np.mean(held) > 0.95 - 4 * np.sqrt(0.95 * 0.05 / games)


def test_a_quantile_of_nothing_is_refused():
    with pytest.raises(InputError, match="needs values and a share in"):
        quantile(np.empty(0), 0.5)
    with pytest.raises(InputError, match="got 1"):
        quantile(np.ones(3), 1.0)


def test_quantiles_of_the_risk_are_those_of_the_members_scores():
    rng = np.random.default_rng(3)
    secret = np.arange(80) < 50
    zeros = np.zeros(80, int)
    before, after = (
        assess_risk(Transcript(rng.random(80), secret), "made", zeros, zeros > 0, rng)
        for _ in range(2)
    )
    found = risk_quantiles(before, after, 0.9)
    assert [q.share for q in found] == [0.5, 0.9, 0.99]
    for q in found:
        assert q.undefended == quantile(before.member_scores, q.share, 0.9)
        assert q.defended == quantile(after.member_scores, q.share, 0.9)


@pytest.mark.parametrize(("variant", "title"), [("", "memguard"), ("k = 3", "memguard (k = 3)")])
def test_a_title_has_the_parameters_if_there_are_any(variant, title):
    assert JudgedDefence.title.fget(SimpleNamespace(name="memguard", variant=variant)) == title
