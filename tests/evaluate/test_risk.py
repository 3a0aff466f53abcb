from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import decision
from privacygauge.evaluate.rates import clopper_pearson
from privacygauge.evaluate.risk import CUTS, PRIORS, Risk, _bin, assess_risk, at_prior, reliability
from tests.laws.draws import SEEDS, both_kinds
from tests.thorough import times


def calibrated(n: int, rng: np.random.Generator, prior: float = 0.5):
    """Return scores that are P(member) at even odds, and who is a member at `prior`."""
    secret = rng.random(n) < prior
    # The densities of Beta(3, 2) and Beta(2, 3) are in the ratio score to 1 - score.
    return np.where(secret, rng.beta(3, 2, n), rng.beta(2, 3, n)), secret


@given(SEEDS, st.integers(1, 12))
def test_reliability_compares_scores_with_shares_at_even_odds(seed: int, n_bins: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    score = rng.random(n)
    secret = both_kinds(n, rng, rng.random())
    found = reliability(score, secret, rng, n_bins=n_bins)
    weight = np.where(secret, 0.5 / secret.sum(), 0.5 / (~secret).sum())
    squares = []
    counts = []
    for low, high in zip(
        np.arange(n_bins) / n_bins, np.arange(1, n_bins + 1) / n_bins, strict=True
    ):
        inside = (score >= low) & (score < high)
        if not inside.any():
            continue
        row = found.bins[len(counts)]
        share = weight[inside & secret].sum() / weight[inside].sum()
        assert (row.low, row.high, row.n) == (pytest.approx(low), pytest.approx(high), inside.sum())
        assert row.mean_score == pytest.approx(score[inside].mean())
        assert row.fraction.value == pytest.approx(share)
        squares.append((share - score[inside].mean()) ** 2)
        counts.append(inside.sum())
    assert len(found.bins) == len(counts)
    assert found.rmse.value == pytest.approx(np.sqrt(np.average(squares, weights=counts)))
    assert found.rmse_of_bins == pytest.approx(np.sqrt(np.mean(squares)))
    assert found.rmse.n == n


def test_a_bins_interval_is_clopper_pearsons_at_even_odds() -> None:
    # 30 members and 10 others in the bin; of all, 40 members and 20 others.
    score = np.repeat([0.65, 0.1], [40, 20])
    secret = np.concatenate([np.arange(40) < 30, np.arange(20) < 10])
    row = reliability(score, secret, np.random.default_rng(0)).bins[1]
    # Odds are halved, since members are twice as many.
    expected = [p / 2 / (p / 2 + 1 - p) for p in (0.75, *clopper_pearson(30, 40))]
    assert [row.fraction.value, row.fraction.low, row.fraction.high] == pytest.approx(expected)


@pytest.mark.parametrize("prior", [0.5, 0.9])
def test_a_perfectly_calibrated_score_is_off_by_noise_only(prior: float) -> None:
    rng = np.random.default_rng(0)
    found = [reliability(*calibrated(1500, rng, prior), rng) for _ in range(60)]
    rmse, noise = np.array([(r.rmse.value, r.noise) for r in found]).T
    assert rmse.mean() == pytest.approx(noise.mean(), rel=0.1)
    smaller = [reliability(*calibrated(150, rng, prior), rng).noise for _ in range(10)]
    assert np.mean(smaller) == pytest.approx(np.sqrt(10) * noise.mean(), rel=0.3)


def test_a_score_that_exaggerates_is_found_out() -> None:
    rng = np.random.default_rng(0)
    truth, secret = calibrated(5000, rng)
    found = reliability(np.clip(2 * truth - 0.5, 0, 1), secret, rng)
    assert found.rmse.low > 3 * found.noise
    assert found.rmse.value > 0.1


def test_the_interval_of_the_distance_holds_what_the_bins_would_draw() -> None:
    score, secret = calibrated(400, np.random.default_rng(1))
    found = [
        reliability(score, secret, np.random.default_rng(0), level=level).rmse
        for level in (0.5, 0.9, 0.99)
    ]
    lows = [x.low for x in found]
    highs = [x.high for x in found]
    assert lows == sorted(lows, reverse=True)
    assert found[0].value < highs[0] < highs[1] < highs[2] < 1
    # Drawn again from the shares seen: as far off again, on top of what is seen.
    odds = np.sum(~secret) / np.sum(secret)
    rng = np.random.default_rng(5)
    drawn = []
    index = np.minimum((score * 10).astype(int), 9)
    for _ in range(300):
        squares = []
        for b in set(index.tolist()):
            rows = index == b
            share = rng.binomial(rows.sum(), secret[rows].mean()) / rows.sum()
            even = share * odds / (share * odds + 1 - share)
            squares += [(even - score[rows].mean()) ** 2] * rows.sum()
        drawn.append(np.sqrt(np.mean(squares)))
    assert highs[1] == pytest.approx(np.quantile(drawn, 0.95), rel=0.15)
    assert lows[1] == pytest.approx(min(found[0].value, np.quantile(drawn, 0.05)), rel=0.15)


def test_scores_of_0_and_1_fall_in_the_outer_bins() -> None:
    found = reliability(np.array([0.0, 1.0]), np.array([False, True]), np.random.default_rng(0))
    assert [(b.low, b.high) for b in found.bins] == [(0.0, 0.1), (0.9, 1.0)]
    assert found.rmse.value == 0.0


@given(st.floats(0, 1), st.floats(0.001, 0.999))
def test_another_prior_is_bayes_theorem(score: float, prior: float) -> None:
    # P(signal | member) is in the ratio score to 1 - score.
    expected = prior * score / (prior * score + (1 - prior) * (1 - score))
    found = at_prior(np.array([score]), prior)[0]
    assert found == pytest.approx(expected)
    assert at_prior(np.array([score]), 0.5)[0] == pytest.approx(score)
    if 1e-6 < score < 1 - 1e-6:
        odds = score / (1 - score) * prior / (1 - prior)
        assert found / (1 - found) == pytest.approx(odds)


def risk_of(n: int, seed: int, *, leak: float = 0.0, k: int = 6) -> tuple[Risk, dict]:
    """Return the risk of a score that is a posterior where leak is 1, and noise where it is 0."""
    rng = np.random.default_rng(seed)
    score = rng.beta(2, 2, n)
    secret = rng.random(n) < 0.5 + leak * (score - 0.5)
    secret[:2] = [True, False]
    parts = {
        "score": score, "secret": secret, "stratum": rng.integers(k, size=n),
        "correct": rng.random(n) < 0.5 + 0.3 * score,
    }  # fmt: skip
    transcript = Transcript(score, secret)
    risk = assess_risk(transcript, "made", parts["stratum"], parts["correct"], rng, notes=["x"])
    return risk, parts


def test_the_assessment_holds_what_the_paper_reports() -> None:
    risk, parts = risk_of(300, 0, leak=1.0)
    score = parts["score"]
    secret = parts["secret"]
    inside = score[secret]
    assert (risk.estimator, risk.notes) == ("made", ("x",))
    assert risk.member_scores.tolist() == sorted(inside)
    assert not risk.member_scores.flags.writeable
    assert risk.mean.value == pytest.approx(inside.mean())
    assert [p for p, _ in risk.excess] == [0.1, 0.3, 0.5, 0.7, 0.9] == list(PRIORS)
    for prior, found in risk.excess:
        assert found.value == pytest.approx(np.mean(at_prior(inside, prior)) - prior)
        assert found.low <= found.value <= found.high
    assert [row.cut for row in risk.cuts] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5] == list(CUTS)
    for row in risk.cuts[1:]:
        guesses = Decisions(score >= row.cut, secret)
        assert row.precision == decision.precision(guesses)
        assert row.recall == decision.recall(guesses)
    assert isinstance(risk.cuts[0].precision, Skipped)
    assert risk.cuts[0].recall.value == 0.0


def test_the_assessment_holds_a_row_for_every_class_with_both_kinds() -> None:
    risk, parts = risk_of(60, 1, k=9)
    score, secret, stratum, correct = parts.values()
    stratum[secret & (stratum == 4)] = 5
    risk = assess_risk(
        Transcript(score, secret), "made", stratum, correct, np.random.default_rng(0)
    )
    expected = [c for c in range(9) if {True, False} <= set(secret[stratum == c].tolist())]
    assert 4 not in expected
    assert [row.label for row in risk.classes] == expected
    for row in risk.classes:
        inside, outside = (side & (stratum == row.label) for side in (secret, ~secret))
        assert (row.n_in, row.n_out) == (inside.sum(), outside.sum())
        assert row.mean_risk == pytest.approx(score[inside].mean())
        gap = correct[inside].mean() - correct[outside].mean()
        assert row.generalisation_error == pytest.approx(gap)
    published = stats.pearsonr(
        [row.mean_risk for row in risk.classes],
        [row.generalisation_error for row in risk.classes],
    )
    assert risk.correlation.value == pytest.approx(published.statistic)


def naive_mean_risk(inside, outside, prior: float, level: float, above: float):
    """The members' mean, and the interval that also holds what no constant moves."""
    a, b = (prior * x / (prior * x + (1 - prior) * (1 - x)) for x in (inside, outside))
    z = stats.norm.ppf((1 + level) / 2)
    error = [np.std(x, ddof=1) / np.sqrt(len(x)) if len(x) > 1 else 1.0 for x in (a, b)]
    value = a.mean() - above
    other = prior + (1 - prior) * (a.mean() - b.mean()) - above
    wide = (1 - prior) * np.sqrt(error[0] ** 2 + error[1] ** 2)
    low = min(value - z * error[0], other - z * wide)
    return value, low, max(value + z * error[0], other + z * wide), len(a) + len(b)


@given(SEEDS, st.integers(2, 12), st.sampled_from([0.5, 0.95]))
@settings(max_examples=times(20))
def test_the_mean_risk_has_a_normal_interval_with_and_without_calibration(
    seed: int, n: int, level: float
) -> None:
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    secret = both_kinds(n, rng, rng.choice([0.0, 0.5, 1.0]))
    zeros = np.zeros(n, int)
    risk = assess_risk(Transcript(score, secret), "made", zeros, zeros > 0, rng, level)
    inside = score[secret]
    outside = score[~secret]
    for prior, above, found in [(0.5, 0.0, risk.mean), *((p, p, x) for p, x in risk.excess)]:
        expected = naive_mean_risk(inside, outside, prior, level, above)
        assert (found.value, found.low, found.high, found.n) == pytest.approx(expected)
        assert found.level == level
    assert risk.reliability.rmse.level == level


@pytest.mark.slow
def test_on_noise_the_intervals_hold_chance() -> None:
    # Risk and correctness go together in every record, membership with neither.
    found = [risk_of(400, seed)[0] for seed in range(times(200))]
    least = stats.binom.ppf(1e-5, len(found), 0.95)
    for i in range(len(PRIORS)):
        assert sum(not risk.excess[i][1].excludes(0.0) for risk in found) >= least
    assert sum(not risk.mean.excludes(0.5) for risk in found) >= least
    assert sum(not risk.correlation.excludes(0.0) for risk in found) >= least


@pytest.mark.slow
def test_of_a_calibrated_score_the_mean_risk_is_covered() -> None:
    # E[score | member] = E[score^2] / E[score] = 0.3 / 0.5 for Beta(2, 2).
    found = [risk_of(400, seed, leak=1.0)[0] for seed in range(times(200))]
    least = stats.binom.ppf(1e-5, len(found), 0.95)
    assert sum(not risk.mean.excludes(0.6) for risk in found) >= least
    assert sum(risk.mean.low > 0.5 for risk in found) > 0.9 * len(found)


def test_what_is_no_probability_is_refused() -> None:
    rng = np.random.default_rng(0)
    for score in ([-0.1, 0.5], [0.5, 1.1]):
        with pytest.raises(InputError, match=r"risk scores must be in \[0, 1\]"):
            assess_risk(Transcript(score, [1, 0]), "made", np.zeros(2, int), np.ones(2, bool), rng)
    with pytest.raises(InputError, match="n_bins must be at least 1, got 0"):
        reliability(np.zeros(2), np.array([True, False]), rng, n_bins=0)
    for secret in (np.ones(2, bool), np.zeros(2, bool)):
        with pytest.raises(InputError, match="calibration needs members and non-members"):
            reliability(np.zeros(2), secret, rng)
    for prior in (0.0, 1.0):
        with pytest.raises(InputError, match=r"prior must be in \(0, 1\), got"):
            at_prior(np.zeros(2), prior)


def test_a_bin_is_worth_one_trial_at_least():
    # Three of a person's hundred rows.
    found = _bin(4, 10, 3, 0.5, 0.5, 1.0, 0.95, 0.01).fraction
    assert (found.low, found.high) == pytest.approx(clopper_pearson(0.5, 1.0, 0.95))
