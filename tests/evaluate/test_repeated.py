"""Rates at a false-positive rate where the same targets come back: their intervals cover."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm, t

from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.rate_at_fpr import tpr_at_fpr, tprs_at_fprs
from privacygauge.evaluate.rates import effective_size
from privacygauge.evaluate.roc import roc
from privacygauge.evaluate.worst_case import tprs_of_repeated
from tests.thorough import times

MU = 1.5


def played(n_targets, rounds, spread, rng):
    """Scores of targets that differ from each other by a normal of this spread."""
    secret = rng.random((rounds, n_targets)) < 0.5
    own = spread * rng.normal(size=n_targets)
    score = own + MU * secret + rng.normal(size=secret.shape)
    target = np.tile(np.arange(n_targets), rounds)
    return Transcript(score.ravel(), secret.ravel(), target)


def truth(fpr, spread):
    sd = np.hypot(1.0, spread)
    return norm.sf(norm.isf(fpr) - MU / sd)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.parametrize("fpr", [0.1, 0.01])
def test_intervals_hold_the_rate_of_all_targets_that_there_could_be(fpr, spread):
    rng = np.random.default_rng(0)
    games = times(120)
    found = [tprs_of_repeated(played(60, 12, spread, rng), (fpr,))[0] for _ in range(games)]
    missed = sum(f.estimate.excludes(truth(fpr, spread)) for f in found)
    # Fails where intervals that miss in 5% of games would do so with a probability below 1%.
    assert binomtest(missed, games, 0.05, alternative="greater").pvalue > 0.01, missed


def test_they_are_narrower_than_if_each_target_counted_once():
    transcript = played(60, 20, 0.2, np.random.default_rng(1))
    own = tprs_of_repeated(transcript, (0.1,))[0].estimate
    once = tprs_at_fprs(roc(transcript), (0.1,), independent=transcript.independent)[0].estimate
    assert own.value == once.value
    assert own.high - own.low < 0.6 * (once.high - once.low)
    assert own.n > 2 * once.n


def test_rows_of_different_targets_are_those_of_the_plain_rate():
    transcript = played(500, 1, 0.0, np.random.default_rng(2))
    assert tprs_of_repeated(transcript, (0.1, 0.01)) == tprs_at_fprs(roc(transcript), (0.1, 0.01))


def test_rows_that_only_repeat_their_target_count_once():
    rng = np.random.default_rng(3)
    secret = rng.random(80) < 0.5
    score = rng.normal(size=80) + 2 * secret
    once = Transcript(score, secret)
    often = Transcript(np.tile(score, 9), np.tile(secret, 9), np.tile(np.arange(80), 9))
    (alone,), (repeated,) = (tprs_of_repeated(t, (0.2,)) for t in (once, often))
    assert repeated.estimate.value == alone.estimate.value
    # Student's quantile may make it a little wider, never much narrower.
    assert repeated.estimate.n <= 1.02 * alone.estimate.n


@pytest.mark.parametrize("fpr", [0.0, 1.0])
def test_the_rate_is_checked(fpr):
    with pytest.raises(InputError, match=r"fpr must be in \(0, 1\)"):
        tprs_of_repeated(played(10, 2, 0.0, np.random.default_rng(4)), (fpr,))


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("n_targets", "rounds"), [(2, 6), (3, 10), (40, 5)])
def test_rows_count_by_their_design_effect_and_students_quantile(n_targets, rounds, level):
    rng = np.random.default_rng(n_targets)
    target = np.tile(np.arange(n_targets), rounds)
    secret = rng.permutation(len(target)) % 2 == 0
    score = rng.normal(size=n_targets)[target] + 0.5 * rng.normal(size=len(target)) + secret
    transcript = Transcript(score, secret, target)
    fpr = 0.3
    (found,) = tprs_of_repeated(transcript, [fpr], level)
    worth = []
    cut = np.sort(score[~secret])[::-1][int(fpr * np.sum(~secret))]
    for side in (secret, ~secret):
        hit = score[side] > cut
        unit = target[side]
        n = len(hit)
        units = len(set(unit.tolist()))
        student = t.ppf((1 + level) / 2, n - 1) / t.ppf((1 + level) / 2, units - 1)
        worth.append(n if n == units else max(1, int(effective_size(hit, unit) * student**2)))
    assert found == tpr_at_fpr(roc(transcript), fpr, level, independent=tuple(worth))
