from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score, roc_curve

from privacygauge.core.estimate import Estimate
from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import evaluate
from privacygauge.evaluate.rate_at_fpr import FPRS, tpr_at_fpr, tprs_at_fprs
from privacygauge.evaluate.rates import clopper_pearson
from privacygauge.evaluate.roc import Roc, auc, placements, roc, supported_accuracy
from tests.laws.draws import SEEDS, few_values, transcripts
from tests.thorough import crossed, times

LEVELS = st.sampled_from([0.5, 0.95, 0.999])
RATES = st.sampled_from([0.5, 0.25, 0.1, 0.01, 0.0001])


@given(transcripts())
def test_the_curve_is_that_of_sklearn(transcript: Transcript) -> None:
    fpr, tpr, cuts = roc_curve(transcript.secret, transcript.score, drop_intermediate=False)
    curve = roc(transcript)
    assert curve.thresholds.tolist() == cuts.tolist()
    assert curve.tpr.tolist() == tpr.tolist()
    assert curve.fpr.tolist() == fpr.tolist()


@given(transcripts())
def test_the_area_is_that_of_sklearn_and_lies_in_its_interval(transcript: Transcript) -> None:
    estimate = auc(transcript)
    assert estimate.value == pytest.approx(roc_auc_score(transcript.secret, transcript.score))
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.n == len(transcript)


@given(transcripts())
def test_no_ranking_has_a_best_threshold_worse_than_its_area_promises(t: Transcript) -> None:
    curve = roc(t)
    best = max(0.5, float(np.max(curve.tpr - curve.fpr)) / 2 + 0.5)
    promised = supported_accuracy(auc(t, curve=curve))
    assert 0.5 <= promised.low <= promised.value <= promised.high <= 1
    assert promised.value <= best + 1e-12


@pytest.mark.parametrize("advantage", [0.0, 0.2, 0.5, 1.0])
def test_there_is_a_ranking_that_does_no_better_than_its_area_promises(advantage: float) -> None:
    # Members lie above the share `advantage` of the non-members, and otherwise among them.
    steps = np.arange(1000)
    curve = Roc(steps + 0.5 + 1000 * advantage, steps.astype(np.float64))
    found = supported_accuracy(Estimate(auc_of(curve), 0.0, 1.0, 0.95, 2000, "exact"))
    assert found.value == pytest.approx((1 + advantage) / 2, abs=0.002)


def auc_of(curve: Roc) -> float:
    return float(placements(curve)[0].mean())


def kernel(transcript: Transcript) -> np.ndarray:
    """Return for every pair whether the member is above the non-member, ties one half."""
    inside = transcript.score[transcript.secret]
    outside = transcript.score[~transcript.secret]
    return np.array([[(a > b) + (a == b) / 2 for b in outside] for a in inside])


@given(transcripts(), LEVELS)
def test_the_areas_interval_is_delongs_on_the_logit_scale(
    transcript: Transcript, level: float
) -> None:
    pairs = kernel(transcript)
    # A side of one row shows no variance of its own.
    a, b = (
        np.var(pairs.mean(axis=i), ddof=1) / pairs.shape[1 - i] if pairs.shape[1 - i] > 1 else 0.0
        for i in (1, 0)
    )
    estimate = auc(transcript, level)
    value = pairs.mean()
    if a + b < 1e-12 or value in (0, 1):
        n = min(pairs.shape)
        low, high = clopper_pearson(value * n, n, level)
    else:
        apart = [x**2 / (n - 1) for x, n in zip((a, b), pairs.shape, strict=True) if n > 1]
        welch = (a + b) ** 2 / sum(apart)
        half = stats.t.ppf(0.5 + level / 2, welch) * np.sqrt(a + b) / (value * (1 - value))
        low = expit(logit(value) - half)
        high = expit(logit(value) + half)
    assert (estimate.low, estimate.high) == pytest.approx((low, high))


def clustered(transcript: Transcript) -> tuple[float, float, float]:
    """Return the interval of the area by units, in loops, and its degrees of freedom."""
    pairs = kernel(transcript)
    units = np.unique(transcript.unit)
    value = pairs.mean()
    n = len(units)
    inside, outside = (transcript.unit[s] for s in (transcript.secret, ~transcript.secret))

    def pull(part: np.ndarray) -> float:
        # What a unit adds, given how much of its side it holds.
        return float(np.sqrt(1 - part.mean())) if not part.all() else 1.0

    sums = np.array(
        [
            (pairs[inside == u] - value).sum() / pairs.size / pull(inside == u)
            + (pairs[:, outside == u] - value).sum() / pairs.size / pull(outside == u)
            for u in units
        ]
    )
    variance = float((sums**2).sum())
    if variance < 1e-12:
        return np.nan, np.nan, np.nan
    df = min(max(3 * variance**2 / float((sums**4).sum()), 1.0), n - 1.0)
    half = stats.t.ppf(0.975, df) * np.sqrt(variance) / (value * (1 - value))
    return expit(logit(value) - half), expit(logit(value) + half), df


@given(transcripts(repeated=True))
def test_rows_of_one_target_are_summed_before_the_variance_is_taken(transcript: Transcript) -> None:
    estimate = auc(transcript)
    n = len(np.unique(transcript.unit))
    if not transcript.repeated or n < 2 or estimate.value in (0, 1):
        return
    low, high, df = clustered(transcript)
    assert estimate.n == n
    if df > 0:
        assert (estimate.low, estimate.high) == pytest.approx((low, high))


def test_a_few_large_units_leave_few_degrees_of_freedom() -> None:
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(40), [30, 20, 10] + 37 * [1])
    secret = unit % 2 == 0
    score = rng.normal(size=40)[unit] + secret
    found = auc(Transcript(score, secret, unit=unit))
    low, high, df = clustered(Transcript(score, secret, unit=unit))
    assert 1 < df < 20 < len(np.unique(unit)) - 1
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.slow
@pytest.mark.parametrize(("intra", "shift"), crossed([0.0, 0.5], [0.0, 1.0]))
def test_the_interval_covers_where_sizes_are_heavy_tailed(intra: float, shift: float) -> None:
    rng = np.random.default_rng([int(10 * intra), int(shift)])
    missed = 0
    games = times(2000)
    n = 60
    truth = stats.norm.cdf(shift / np.sqrt(2))
    for _ in range(games):
        size = np.minimum(30, np.ceil(1 / rng.random(n))).astype(int)
        unit = np.repeat(np.arange(n), size)
        secret = np.repeat(rng.permutation(np.arange(n) % 2 == 0), size)
        own = np.sqrt(intra) * np.repeat(rng.normal(size=n), size)
        score = own + np.sqrt(1 - intra) * rng.normal(size=len(unit)) + shift * secret
        found = auc(Transcript(score, secret, unit=unit))
        missed += not found.low <= truth <= found.high
    # Nominal 5%; 7.9% before a unit's pull and the few degrees of freedom were allowed for.
    assert missed <= stats.binom.ppf(0.999, games, 0.065)


def test_the_clustered_interval_of_single_rows_is_delongs() -> None:
    rng = np.random.default_rng(0)
    secret = rng.random(4000) < 0.4
    score = rng.normal(size=4000) + secret
    plain = auc(Transcript(score, secret))
    # Two rows of one target that cancel nothing: two more rows among 4,000.
    clustered = auc(Transcript(score, secret, np.maximum(np.arange(4000), 1)))
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), abs=2e-5)
    repeated = auc(Transcript(np.tile(score, 9), np.tile(secret, 9), np.tile(np.arange(4000), 9)))
    assert (repeated.low, repeated.high) == pytest.approx((plain.low, plain.high), abs=2e-5)


def test_an_area_without_visible_variance_still_has_doubt() -> None:
    for score, value in (([3, 4, 5, 0, 1, 2], 1.0), ([0, 1, 2, 3, 4, 5], 0.0), ([1] * 6, 0.5)):
        estimate = auc(Transcript(np.array(score, float), np.arange(6) < 3))
        assert estimate.value == value
        assert (estimate.low, estimate.high) == clopper_pearson(3 * value, 3)
        assert estimate.method == "Clopper-Pearson on pairs"


def test_of_a_repeated_target_pairs_are_no_more_than_targets() -> None:
    secret = np.arange(40) < 20
    estimate = auc(Transcript(secret + 0.0, secret, np.arange(40) % 5))
    assert (estimate.low, estimate.high) == clopper_pearson(5, 5)


@given(transcripts(), RATES, LEVELS)
def test_the_rate_at_an_fpr_is_the_best_of_all_thresholds_within_it(
    transcript: Transcript, fpr: float, level: float
) -> None:
    curve = roc(transcript)
    found = tpr_at_fpr(curve, fpr, level)
    inside = transcript.score[transcript.secret]
    outside = transcript.score[~transcript.secret]
    best = -1
    realised = 0
    for cut in [np.inf, *sorted(set(transcript.score), reverse=True)]:
        hits = int(np.sum(inside >= cut))
        false = int(np.sum(outside >= cut))
        if false / len(outside) <= fpr and hits >= best:
            best = hits
            realised = false
    n_in = len(inside)
    n_out = len(outside)
    assert found.estimate.value == found.at_threshold.value == best / n_in
    assert found.realised_fpr.value == realised / n_out
    at = found.at_threshold
    assert (at.low, at.high) == clopper_pearson(best, n_in, level)
    assert (found.realised_fpr.low, found.realised_fpr.high) == clopper_pearson(
        realised, n_out, level
    )
    assert found.resolved == (n_out * fpr >= 10)


def hits_above(curve: Roc, count: int) -> float:
    """Return the members above the count-th largest non-member, ties broken by chance."""
    if count == 0:
        return 0.0
    if count > curve.n_out:
        return float(curve.n_in)
    barrier = sorted(curve.nonmembers, reverse=True)[count - 1]
    tied = np.sum(curve.nonmembers == barrier)
    share = (count - np.sum(curve.nonmembers > barrier)) / tied
    return np.sum(curve.members > barrier) + share * np.sum(curve.members == barrier)


def mixed_limits(n_in: int, weight: np.ndarray, least: np.ndarray, most: np.ndarray, tail: float):
    def below(p: float) -> float:
        limit = stats.beta.cdf(p, np.maximum(least, 1e-300), n_in - least + 1)
        return weight @ np.where(least == 0, 1.0, limit) - tail

    def above(p: float) -> float:
        limit = stats.beta.sf(p, most + 1, np.maximum(n_in - most, 1e-300))
        return weight @ np.where(most == n_in, 1.0, limit) - tail

    low = brentq(below, 0, 1) if below(0) < 0 else 0.0
    high = brentq(above, 0, 1) if above(1) < 0 else 1.0
    return low, high


@given(transcripts(), RATES, LEVELS)
def test_its_interval_mixes_clopper_pearson_over_the_thresholds_rank(
    transcript: Transcript, fpr: float, level: float
) -> None:
    curve = roc(transcript)
    counts = range(curve.n_out + 1)
    # With c non-members above it, the threshold lies between the c-th and the next largest.
    low, high = mixed_limits(
        curve.n_in,
        stats.binom.pmf(counts, curve.n_out, fpr),
        np.array([hits_above(curve, c) for c in counts]),
        np.array([hits_above(curve, c + 1) for c in counts]),
        (1 - level) / 2,
    )
    found = tpr_at_fpr(curve, fpr, level).estimate
    expected = min(low, found.value), max(high, found.value)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-6)


def test_of_many_records_the_interval_is_hardly_wider_than_the_full_mixture() -> None:
    rng = np.random.default_rng(0)
    members = np.sort(rng.normal(1, 1, 3000))
    nonmembers = np.sort(rng.normal(size=20_000))
    counts = np.arange(1500, 2500)
    above = 3000 - np.searchsorted(members, nonmembers[::-1])
    weight = stats.binom.pmf(counts, 20_000, 0.1)
    assert weight.sum() == pytest.approx(1, abs=1e-12)
    low, high = mixed_limits(3000, weight, above[counts - 1], above[counts], 0.025)
    found = tpr_at_fpr(Roc(members, nonmembers), 0.1).estimate
    assert low - 1e-3 < found.low <= low + 1e-7
    assert high - 1e-7 <= found.high < high + 1e-3


@given(transcripts(), SEEDS)
def test_a_strictly_rising_map_of_the_scores_changes_nothing(
    transcript: Transcript, seed: int
) -> None:
    values, place = np.unique(transcript.score, return_inverse=True)
    steps = np.random.default_rng(seed).exponential(size=len(values)) + 1e-6
    other = Transcript(np.cumsum(steps)[place] - 5, transcript.secret, transcript.target)
    assert auc(transcript) == auc(other)
    assert tprs_at_fprs(roc(transcript)) == tprs_at_fprs(roc(other))


@given(SEEDS)
def test_with_negated_scores_members_and_others_change_places(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score = few_values(30, rng)
    secret = rng.permutation(30) < rng.integers(1, 30)
    one = auc(Transcript(score, secret))
    other = auc(Transcript(-score, ~secret))
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))


def test_a_rate_that_the_floating_point_hides_counts() -> None:
    # 0.29 * 100 is 28.999999999999996.
    curve = Roc(np.full(10, 70.5), np.arange(100.0))
    assert tpr_at_fpr(curve, 0.29).estimate.value == 1.0
    assert tpr_at_fpr(curve, 0.28).estimate.value == 0.0


def test_all_four_rates_are_reported() -> None:
    curve = Roc(np.arange(10.0), np.arange(1000.0))
    found = tprs_at_fprs(curve)
    assert tuple(r.fpr for r in found) == FPRS == (0.1, 0.01, 0.001, 0.0001)
    assert [r.resolved for r in found] == [True, True, False, False]
    assert found == tuple(tpr_at_fpr(curve, fpr) for fpr in FPRS)


def test_a_million_records_are_no_obstacle() -> None:
    rng = np.random.default_rng(0)
    secret = rng.random(1_000_000) < 0.5
    transcript = Transcript(rng.normal(size=1_000_000) + secret, secret)
    curve = roc(transcript)
    found = [auc(transcript, curve=curve).value, *(r.estimate.value for r in tprs_at_fprs(curve))]
    truth = [stats.norm.cdf(1 / np.sqrt(2)), *stats.norm.sf(stats.norm.isf(FPRS) - 1)]
    assert found == pytest.approx(truth, abs=0.004)


@pytest.mark.parametrize("fpr", [0.0, 1.0, -0.1, 1.1, float("nan")])
def test_a_false_positive_rate_lies_strictly_between_0_and_1(fpr: float) -> None:
    with pytest.raises(InputError, match=r"fpr must be in \(0, 1\), got"):
        tpr_at_fpr(Roc(np.zeros(1), np.zeros(1)), fpr)


@pytest.mark.slow
def test_of_repeated_targets_the_rates_cover_and_the_hindsight_holds_chance() -> None:
    # Ten rounds on the same 60 targets, each with a luck of its own: nothing leaks.
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(60), 10)
    held = []
    games = times(300)
    for _ in range(games):
        luck = rng.normal(size=60)
        score = luck[target] + 0.3 * rng.normal(size=600)
        transcript = Transcript(score, rng.random(600) < 0.5, target)
        found = evaluate("x", transcript, Cut(0.0).decide(transcript))
        held.append(
            [not r.estimate.excludes(r.fpr) for r in found.tpr_at_fpr]
            + [not found.best_accuracy.excludes(0.5), not found.accuracy.excludes(0.5)]
        )
    assert np.sum(held, axis=0).min() >= stats.binom.ppf(1e-4, games, 0.95)


def test_once_each_the_independent_targets_are_the_rows() -> None:
    rng = np.random.default_rng(0)
    transcript = Transcript(rng.normal(size=200), rng.random(200) < 0.5)
    curve = roc(transcript)
    assert transcript.independent == (curve.n_in, curve.n_out)
    assert tpr_at_fpr(curve, 0.1, independent=transcript.independent) == tpr_at_fpr(curve, 0.1)
