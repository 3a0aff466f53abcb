"""Bounds beside a claim, and their curves: each against a plain program of the same bound."""

from __future__ import annotations

from functools import lru_cache
from math import inf

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import (
    CHOOSE_FROM,
    CHOOSING,
    GuessCounts,
    PrivacyClaim,
    bonferroni_level,
    default_guesses,
    stepwise_bound,
)
from privacygauge.evaluate.claim_bounds import (
    best_mu_cut,
    held_out,
    log_spaced_counts,
    one_run_bounds,
    one_run_curve,
    rates_bounds,
    rates_curve,
    sequential_bounds,
)
from privacygauge.evaluate.claim_designs import ManyRuns, OneRun, Sequential, bounds_by, inverted_by
from privacygauge.evaluate.one_run import largest_one_run_epsilon, one_run_epsilon, one_run_mu
from privacygauge.evaluate.rates import clopper_pearson
from privacygauge.evaluate.roc import auc
from privacygauge.evaluate.sampled_steps import gaussian_epsilon
from privacygauge.evaluate.two_rates import (
    Counts,
    bounds_at_all_times,
    epsilon_cut,
    exact_epsilon,
    exact_mu,
    guesses_in_order,
)


def normal(n: int, shift: float, seed: int = 0) -> Transcript:
    rng = np.random.default_rng(seed)
    secret = np.arange(n) % 2 == 0
    return Transcript(rng.normal(size=n) + shift * secret, secret)


def left_out_shows(n: int) -> Transcript:
    """Who is in never scores -9, who is out does so in a third of the cases."""
    rng = np.random.default_rng(0)
    secret = np.arange(n) < n // 2
    score = rng.normal(size=n)
    score[(rng.random(n) < 0.3) & ~secret] = -9.0
    return Transcript(score, secret)


@pytest.mark.parametrize(
    ("n", "design", "n_choosing"),
    [
        (CHOOSE_FROM - 1, OneRun(), 0),
        (CHOOSE_FROM, OneRun(), CHOOSE_FROM * CHOOSING),
        (CHOOSE_FROM, OneRun(n_guesses=(9,)), 0),
        (CHOOSE_FROM, OneRun(choosing=0.0), 0),
        (100, OneRun(choosing=0.5), 50),
    ],
)
def test_canaries_choose_the_number_of_guesses_where_there_are_enough(n, design, n_choosing):
    found = bounds_by(design, normal(n, 1.0), PrivacyClaim(1.0, 0.0), 0, 0.95).guessed
    assert (found.n_choosing, found.n_canaries) == (n_choosing, n - n_choosing)


@pytest.mark.parametrize("design", [OneRun(n_guesses=(60,)), OneRun(), ManyRuns(), Sequential()])
def test_reversed_scores_that_refute_the_claim_are_inverted_though_their_area_says_nothing(design):
    rng = np.random.default_rng(0)
    secret = rng.random(4000) < 0.5
    score = rng.random(4000)
    claim = PrivacyClaim(0.0, 0.0)
    assert not inverted_by(design, Transcript(score, secret), claim, 0, 0.95)
    score[np.flatnonzero(secret)[:50]] -= 1.0
    told = Transcript(score, secret)
    assert auc(told, 0.975).high > 0.5
    assert not any(bound.refutes(claim) for bound in bounds_by(design, told, claim, 0, 0.95).bounds)
    assert [x.attack for x in inverted_by(design, told, claim, 0, 0.95)] == ["score"]


def test_without_a_delta_one_run_has_no_gaussian_bound():
    found = GuessCounts(100, [50, 80], [48, 70])
    (bound,), (skipped,) = one_run_bounds(found, 0.0, 0.9)

    def alone(right, level):
        return one_run_epsilon(100, [50, 80], right, 0.0, level)

    assert bound.estimate.low == bound.estimate.value == stepwise_bound(alone, found, 0.9)
    assert skipped.name == "Gaussian bound"


@pytest.mark.parametrize(("r", "v"), [(50, 48), (80, 70), (10, 10)])
def test_one_fixed_number_of_guesses_is_corrected_for_nothing(r, v):
    m = 100
    delta = 1e-3
    level = 0.9
    (free, gaussian), skipped = one_run_bounds(GuessCounts(m, [r], [v]), delta, level)
    assert skipped == ()
    assert free.estimate.low == one_run_epsilon(m, r, v, delta, level)
    assert free.largest == largest_one_run_epsilon(m, r, delta, level)
    by_mu = gaussian_epsilon(one_run_mu(m, r, v, level), delta)
    assert gaussian.estimate.low == max(by_mu, free.estimate.low)
    estimate = gaussian.estimate
    assert (estimate.high, estimate.level, estimate.n) == (inf, level, m)
    assert estimate.method == "one run, number of guesses fixed"


@pytest.mark.parametrize("right", [[48, 70], [50, 80], [25, 40], [40, 75]])
def test_the_gaussian_bound_refutes_whatever_the_other_does(right):
    (free, gaussian), _ = one_run_bounds(GuessCounts(100, [50, 80], right), 1e-3, 0.9)
    assert free.estimate.low <= gaussian.estimate.low
    assert free.largest <= gaussian.largest
    assert gaussian.estimate.method == "one run, 2 numbers of guesses corrected for (Tarone)"


@pytest.mark.slow
@pytest.mark.parametrize("right", [[1, 4, 8, 17, 32], [2, 5, 12, 25, 43]])
def test_both_bounds_are_corrected_for_the_numbers_that_either_could_refute_by(right):
    m = 50
    delta = 0.01
    level = 0.95
    found = GuessCounts(m, default_guesses(m), right)

    alone = lru_cache(one_run_epsilon)

    def free(right, level):
        pairs = zip(found.n_guesses, right, strict=True)
        return np.array([alone(m, int(r), int(v), delta, level) for r, v in pairs])

    def gaussian(right, level):
        pairs = zip(found.n_guesses, right, strict=True)
        mu = [one_run_mu(m, int(r), int(v), level) for r, v in pairs]
        return np.maximum(free(right, level), [gaussian_epsilon(x, delta) for x in mu])

    told = [bound.estimate.low for bound in one_run_bounds(found, delta, level)[0]]
    expected = [stepwise_bound(kind, found, level, gaussian) for kind in (free, gaussian)]
    assert told == pytest.approx(expected, abs=1e-9)
    assert stepwise_bound(gaussian, found, level, free) > expected[1] + 0.01


def test_a_perfect_attack_on_100_canaries_is_not_paid_for_by_looks_that_cannot_win():
    numbers = default_guesses(100)
    _, gaussian = one_run_bounds(GuessCounts(100, numbers, numbers), 1e-5)[0]
    # Bonferroni over five numbers and two bounds gave 5.23 here.
    assert gaussian.estimate.low == gaussian_epsilon(one_run_mu(100, 90, 90), 1e-5) > 7.8


def test_what_is_certifiable_does_not_depend_on_what_was_chosen():
    few, many = (GuessCounts(80, [r], [r], n_choosing=20) for r in (8, 72))
    for a, b in zip(one_run_bounds(few, 1e-5)[0], one_run_bounds(many, 1e-5)[0], strict=True):
        assert a.largest == b.largest >= b.estimate.low
        assert a.estimate.method == "one run, number of guesses chosen by 20 other canaries"


def test_the_bound_at_all_times_comes_with_its_growth():
    transcript = normal(400, 3.0)
    bound, curve = sequential_bounds(transcript, 0.0, 0.9)
    low = bounds_at_all_times(guesses_in_order(transcript), level=0.9)
    assert bound.estimate.low == bound.estimate.value == low[-1] > 0.5
    np.testing.assert_array_equal(curve.low, low[curve.n_guesses - 1])
    assert np.all(curve.low <= curve.largest)
    assert bound.largest == curve.largest[-1]


@pytest.mark.parametrize("make", [lambda: normal(60, 2.0), lambda: left_out_shows(800)])
def test_the_bounds_of_many_runs_are_those_of_the_judged_rows(make):
    delta = 1e-3
    level = 0.9
    found = held_out(make(), delta, level)
    (rates, gaussian), skipped = rates_bounds(found, delta, level)
    (alone,), (left_out,) = rates_bounds(found, 0.0, level)
    assert skipped == ()
    assert left_out.name == "Gaussian bound"
    secret = found.for_epsilon.secret
    n = len(found.for_epsilon)
    for bound, d, error in ((rates, delta, 0.05), (alone, 0.0, 0.1)):
        for decisions, number in (
            (found.for_epsilon, bound.estimate.low),
            (Decisions(secret, secret), bound.largest),
        ):
            counts = Counts.of(decisions)
            if found.epsilon_choice.turned:
                counts = counts.turned
            expected = exact_epsilon(counts, found.epsilon_choice.line, d, 1 - error)
            assert number == pytest.approx(expected)
        assert bound.estimate.value == bound.estimate.low
        assert (bound.estimate.n, bound.estimate.level) == (n, level)
    assert rates.estimate.method.endswith("over 2")
    assert alone.estimate.method.endswith("over 1")
    for decisions, number in (
        (found.for_mu, gaussian.estimate.low),
        (Decisions(secret, secret), gaussian.largest),
    ):
        mu = exact_mu(Counts.of(decisions), found.mu_choice.line, 0.95)
        assert number == pytest.approx(gaussian_epsilon(mu, delta))
    assert gaussian.estimate.value == gaussian.estimate.low
    assert found.epsilon_choice.turned == (found.score.min() == -9)


def test_a_fifth_of_each_side_chooses_and_the_others_are_judged():
    transcript = normal(200, 1.5)
    found = held_out(transcript, 1e-5, 0.9, seed=3)
    assert (found.for_epsilon.n_in, found.for_epsilon.n_out) == (80, 80)
    judged = np.isin(transcript.score, found.score)
    chooses = transcript.score[~judged], transcript.secret[~judged]
    assert found.epsilon_choice == epsilon_cut(*chooses, 1e-5)
    cut, mu = best_mu_cut(*chooses, bonferroni_level(0.9, 512))
    assert found.mu_choice.cut == cut
    assert not found.mu_choice.turned
    # A tangent of the Gaussian curve touches it, and lies above it elsewhere.
    line = found.mu_choice.line
    rates = np.linspace(0.001, 0.999, 999)
    above = line.offset + line.slope * rates
    from_mu = [(a - t) for a, t in zip(above, gaussian_curve(mu, rates), strict=True)]
    assert min(from_mu) == pytest.approx(0.0, abs=1e-3)
    for choice, decisions in ((found.epsilon_choice, found.for_epsilon),
                              (found.mu_choice, found.for_mu)):  # fmt: skip
        np.testing.assert_array_equal(decisions.guess, found.score >= choice.cut)
        np.testing.assert_array_equal(decisions.secret, transcript.secret[judged])


def gaussian_curve(mu, rates):
    return ndtr(ndtri(rates) + mu)


@pytest.mark.parametrize("n_in", [1, 2])
def test_either_part_needs_both_kinds(n_in):
    secret = np.arange(30) < n_in
    if n_in == 1:
        with pytest.raises(InputError, match="too few rows: both parts need members and non-mem"):
            held_out(Transcript(np.arange(30.0), secret), 0.0)
    else:
        assert held_out(Transcript(np.arange(30.0), secret), 0.0).for_epsilon.n_in == 1


def naive_mu(score, secret, cut, level):
    k = int((score[secret] >= cut).sum())
    n = int(secret.sum())
    false = int((score[~secret] >= cut).sum())
    others = int((~secret).sum())
    low = clopper_pearson(k, n, level)[0]
    high = clopper_pearson(false, others, level)[1]
    return float(ndtri(low) - ndtri(high))


@pytest.mark.parametrize(("n", "shift"), [(12, 4.0), (40, 1.0), (41, 0.0), (300, 2.0)])
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_the_best_cut_for_mu_is_the_best_of_all_members_scores(n, shift, level):
    transcript = normal(n, shift)
    score = np.round(transcript.score, 1)
    secret = transcript.secret
    cut, mu = best_mu_cut(score, secret, level)
    bounds = {float(c): naive_mu(score, secret, c, level) for c in np.unique(score[secret])}
    assert mu == pytest.approx(max(0.0, *bounds.values()))
    assert bounds[cut] == pytest.approx(max(bounds.values()))


def test_a_curve_of_one_run_has_a_bound_for_every_number_of_guesses():
    found = GuessCounts(100, [5, 50, 80], [5, 45, 60])
    curve = one_run_curve(100, found, 1e-3, 0.9)
    assert curve.n_guesses.tolist() == [5, 50, 80]
    np.testing.assert_array_equal(
        curve.low, one_run_epsilon(100, [5, 50, 80], [5, 45, 60], 1e-3, 0.9)
    )
    np.testing.assert_array_equal(
        curve.largest, largest_one_run_epsilon(100, [5, 50, 80], 1e-3, 0.9)
    )


@pytest.mark.parametrize("largest", [1, 2, 7, 16, 100, 5000])
def test_steps_go_from_one_to_the_largest_at_nearly_equal_ratios(largest):
    found = log_spaced_counts(largest)
    assert (found[0], found[-1]) == (1, largest)
    assert np.all(np.diff(found) > 0)
    assert len(found) <= 16
    if largest >= 100:
        even = largest ** (np.arange(16) / 15)
        assert {round(x) for x in even} == set(found.tolist())


def test_no_steps_lead_below_one():
    with pytest.raises(InputError, match="largest must be at least 1, got 0"):
        log_spaced_counts(0)


def test_a_curve_of_many_runs_has_the_bound_of_the_highest_rows():
    transcript = normal(60, 2.0)
    # Ties: a number of guesses that would cut through one is moved up to its end.
    found = held_out(Transcript(np.round(transcript.score, 1), transcript.secret), 0.0)
    secret = found.for_epsilon.secret
    score = found.score
    curve = rates_curve(found, 0.0, 0.9)
    ranked = np.sort(score)[::-1]
    wanted = {int((score >= ranked[k - 1]).sum()) for k in log_spaced_counts(len(score))} - {
        len(score)
    }
    assert curve.n_guesses.tolist() == sorted(wanted)
    for k, low, largest in zip(curve.n_guesses, curve.low, curve.largest, strict=True):
        guesses = Decisions(score >= ranked[k - 1], secret)
        assert low == found.epsilon(guesses, 0.0, 0.9)
        assert largest == found.epsilon(Decisions(secret, secret), 0.0, 0.9)
