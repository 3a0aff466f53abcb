from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.core.rules import halves
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.epsilon import (
    audit_epsilon,
    best_cut,
    epsilon_lower_bound,
    largest_certifiable_epsilon,
)
from privacygauge.evaluate.rates import lower_limit, upper_limit
from tests.laws.draws import SEEDS, decisions, few_values
from tests.thorough import crossed

LEVELS = st.sampled_from([0.5, 0.95, 0.999])
DELTAS = st.sampled_from([0.0, 1e-5, 0.1, 0.9])


def log_ratio(above: float, below: float) -> float:
    return -np.inf if above <= 0 else np.inf if below == 0 else np.log(above / below)


@given(decisions(), DELTAS, LEVELS)
def test_the_bound_is_the_larger_of_two_ratios_of_limits(
    guesses: Decisions, delta: float, level: float
) -> None:
    tail = (1 - level) / 2
    tp = guesses.true_positives
    fp = guesses.false_positives
    n_in = guesses.n_in
    n_out = guesses.n_out
    tpr = lower_limit(tp, n_in, tail)
    fpr = upper_limit(fp, n_out, tail)
    fnr = upper_limit(n_in - tp, n_in, tail)
    tnr = lower_limit(n_out - fp, n_out, tail)
    found = epsilon_lower_bound(guesses, delta, level)
    bound = max(0.0, log_ratio(tpr - delta, fpr), log_ratio(tnr - delta, fnr))
    assert found.low == pytest.approx(bound, abs=1e-9)
    assert (found.value, found.high) == (found.low, np.inf)


@given(decisions())
def test_members_and_others_may_change_places(guesses: Decisions) -> None:
    turned = Decisions(~guesses.guess, ~guesses.secret)
    one = epsilon_lower_bound(guesses)
    other = epsilon_lower_bound(turned)
    assert one.low == pytest.approx(other.low, abs=1e-9)


def test_guesses_at_chance_level_give_exactly_0() -> None:
    secret = np.arange(2000) < 1000
    for guess in (np.arange(2000) % 2 == 0, np.ones(2000, bool), np.zeros(2000, bool), ~secret):
        assert epsilon_lower_bound(Decisions(guess, secret)).low == 0.0


def test_more_confidence_and_more_delta_certify_less() -> None:
    secret = np.arange(2000) < 1000
    guess = secret ^ (np.arange(2000) % 10 == 0)
    levels = [epsilon_lower_bound(Decisions(guess, secret), level=x).low for x in (0.5, 0.9, 0.99)]
    deltas = [epsilon_lower_bound(Decisions(guess, secret), delta=x).low for x in (0, 1e-3, 0.5)]
    for bounds in (levels, deltas):
        assert bounds[0] > bounds[1] > bounds[2] > 0


@pytest.mark.parametrize(("n_in", "n_out"), [(1, 1), (10, 1000), (1000, 10), (5000, 5000)])
def test_the_largest_certifiable_epsilon_is_the_bound_of_perfect_guesses(
    n_in: int, n_out: int
) -> None:
    secret = np.arange(n_in + n_out) < n_in
    for level in (0.8, 0.95):
        perfect = epsilon_lower_bound(Decisions(secret, secret), level=level).low
        assert largest_certifiable_epsilon(n_in, n_out, level) == pytest.approx(perfect)


def test_without_targets_of_a_kind_nothing_can_be_certified() -> None:
    # Half of a single target is none.
    assert largest_certifiable_epsilon(0, 5) == largest_certifiable_epsilon(5, 0) == 0.0


def suite(seed: int, n_attacks: int = 3) -> list[Transcript]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 60))
    secret = rng.permutation(np.arange(n) < rng.integers(3, n - 2))
    target = rng.permutation(n)
    effects = rng.choice([0.0, 1.0, 5.0], n_attacks)
    return [Transcript(few_values(n, rng) + e * secret, secret, target) for e in effects]


@given(SEEDS, DELTAS)
def test_attack_and_cut_are_the_best_of_one_half_and_judged_on_the_other(
    seed: int, delta: float
) -> None:
    transcripts = suite(seed)
    secret = transcripts[0].secret
    chosen = halves(transcripts[0].target, secret, 0.5, 0)
    tail = 0.05 / 2
    best = -np.inf
    index = 0
    cut = 0.0
    tiny = np.finfo(float).tiny
    for i, t in enumerate(transcripts):
        inside = t.score[chosen & secret]
        outside = t.score[chosen & ~secret]
        for c in sorted(set(inside)):
            hit = lower_limit(int(np.sum(inside >= c)), len(inside), tail)
            false = upper_limit(int(np.sum(outside >= c)), len(outside), tail)
            found = max(
                np.log(max(hit - delta, tiny) / false),
                np.log(max(1 - false - delta, tiny) / (1 - hit)),
            )
            if found > best + 1e-9:
                best = found
                index = i
                cut = c
    guess = transcripts[index].score[~chosen] >= cut
    expected = epsilon_lower_bound(Decisions(guess, secret[~chosen]), delta)
    bound, position = audit_epsilon(transcripts, delta)
    assert position == index
    assert bound.low == expected.low
    assert bound.n == np.count_nonzero(~chosen)


def test_what_the_judged_half_shows_has_no_say_in_the_choice() -> None:
    rng = np.random.default_rng(0)
    secret = np.arange(400) < 200
    target = np.arange(400)
    chosen = halves(target, secret, 0.5, 3)
    noise = rng.normal(size=400)
    # Leaks on the half that chooses alone, and on the other half alone.
    here, there = (noise + 10 * secret * half for half in (chosen, ~chosen))
    attacks = [Transcript(s, secret, target) for s in (there, here)]
    bound, index = audit_epsilon(attacks, seed=3)
    assert (index, bound.low) == (1, 0.0)


def test_of_equal_attacks_the_first_is_named() -> None:
    transcript = Transcript(np.arange(40.0), np.arange(40) >= 20)
    assert audit_epsilon([transcript, transcript])[1] == 0


def test_hundreds_of_thousands_of_scores_cost_no_accuracy() -> None:
    # Only 512 cuts are tried, spread over the members' ranks.
    rng = np.random.default_rng(0)
    secret = np.arange(200_000) < 100_000
    answer = secret ^ (rng.random(200_000) < 1 / (1 + np.exp(2)))
    bound, _ = audit_epsilon([Transcript(answer + 0.0, secret)])
    assert 1.9 < bound.low < 2
    assert audit_epsilon([Transcript(rng.normal(size=200_000) + 3 * secret, secret)])[0].low > 3


def test_where_every_non_member_is_above_all_members_the_best_cut_shows_nothing() -> None:
    score = np.array([1.0, 0.0, 2.0, 3.0, 4.0])
    secret = np.arange(5) < 2
    bound, cut = best_cut(score, secret)
    # All are called members: nothing is left of the limit of the false-positive rate but 1.
    assert cut == 0.0
    assert bound == pytest.approx(np.log(lower_limit(2, 2, 0.025)))


@pytest.mark.parametrize(("n_in", "worst"), crossed([512, 511, 513, 1500], [False, True]))
def test_of_many_cuts_evenly_spread_ones_are_tried_the_ends_among_them(
    n_in: int, worst: bool
) -> None:
    # Above one end no non-member, below the other no member: one member is all that shows.
    inside = np.arange(float(n_in))
    outside = np.full(900, n_in / 2)
    if worst:
        outside = np.concatenate([outside, np.full(90, n_in - 1.5)])
    score = np.concatenate([inside, outside])
    secret = np.arange(len(score)) < n_in
    bound, cut = best_cut(score, secret)
    grid = np.unique(np.linspace(0, n_in - 1, min(n_in, 512)).astype(int))
    bounds = {c: epsilon_lower_bound(Decisions(score >= c, secret)).low for c in grid}
    assert cut in grid
    assert bound == pytest.approx(max(bounds.values()))
    assert bounds[cut] == pytest.approx(bound)
    assert bound > 1


def test_a_single_member_is_refused_with_the_reason() -> None:
    # It cannot be on both halves.
    with pytest.raises(InputError, match="too few targets"):
        audit_epsilon([Transcript(np.arange(5.0), np.arange(5) == 4)])


def test_impossible_arguments_are_refused() -> None:
    guesses = Decisions([1, 0], [1, 0])
    for delta in (-0.1, 1.0):
        with pytest.raises(InputError, match=r"delta must be in \[0, 1\), got"):
            epsilon_lower_bound(guesses, delta)
    with pytest.raises(InputError, match=r"level must be in \(0, 1\), got 2"):
        epsilon_lower_bound(guesses, level=2)
    with pytest.raises(InputError, match="at least one transcript is needed"):
        audit_epsilon([])
