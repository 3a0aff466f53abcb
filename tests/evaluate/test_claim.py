"""A claimed epsilon beside what one run rules out: each number against a plain program."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf

import numpy as np
import pytest

from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import (
    GuessCounts,
    PrivacyBound,
    PrivacyClaim,
    bonferroni_level,
    chosen_guesses,
    coins_p_value,
    count_right_guesses,
    default_guesses,
    stepwise_bound,
)
from privacygauge.evaluate.one_run import largest_one_run_epsilon, one_run_epsilon, right_guesses
from tests.thorough import crossed


def test_the_coins_p_value_counts_the_outcomes_that_are_as_uneven():
    for n in (1, 2, 3, 9, 20):
        for n_in in range(n + 1):
            fewer = sum(comb(n, k) for k in range(n_in + 1))
            more = sum(comb(n, k) for k in range(n_in, n + 1))
            expected = min(Fraction(1), 2 * Fraction(min(fewer, more), 2**n))
            assert coins_p_value(n_in, n) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("looks", [1, 2, 7])
def test_several_looks_share_the_error(looks):
    assert 1 - bonferroni_level(0.9, looks) == pytest.approx(0.1 / looks)


def test_no_looks_at_all_are_refused():
    with pytest.raises(InputError, match="looks must be at least 1, got 0"):
        bonferroni_level(0.9, 0)


@pytest.mark.parametrize("n", [1, 2, 5, 40, 1000])
def test_the_default_numbers_of_guesses_are_shares_of_the_canaries(n):
    wanted = {max(1, round(share * n)) for share in (0.03, 0.1, 0.25, 0.5, 0.9)}
    assert default_guesses(n).tolist() == sorted(wanted)


def bounds_of(m, numbers, delta=0.0):
    return lambda right, level: one_run_epsilon(m, numbers, right, delta, level)


def naive_stepped(m, numbers, right, delta, level):
    """The first epsilon of a fine grid that is not refuted, by the definition."""
    looks = range(1, len(numbers) + 1)
    each = [1 - (1 - level) / k for k in looks]
    reach = [largest_one_run_epsilon(m, numbers, delta, x) for x in each]
    bounds = [one_run_epsilon(m, numbers, right, delta, x) for x in each]
    for epsilon in np.arange(0, 12, 1e-3):
        fewest = next(k for k in looks if np.sum(reach[k - 1] > epsilon) <= k)
        if not np.any(bounds[fewest - 1] > epsilon):
            return epsilon
    raise AssertionError


RIGHT = [[10, 38, 78], [5, 20, 40], [10, 40, 80], [6, 38, 40]]


@pytest.mark.parametrize(("right", "delta"), crossed(RIGHT, [0.002, 0.0]))
def test_a_stepped_bound_is_the_first_epsilon_that_is_not_refuted(right, delta):
    numbers = np.array([10, 40, 80])
    m = 90
    level = 0.9
    found = stepwise_bound(bounds_of(m, numbers, delta), GuessCounts(m, numbers, right), level)
    # The grid steps by 0.001.
    expected = naive_stepped(m, numbers, right, delta, level)
    assert expected - 1.1e-3 <= found <= expected + 1e-9


def paths(n):
    """Every way in which n guesses may be right."""
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


@pytest.mark.parametrize(
    ("numbers", "level"), crossed([[1, 4, 12], [3, 5, 9, 12], [2, 12]], [0.6, 0.8, 0.95])
)
def test_a_stepped_bound_fails_no_more_often_than_its_level_by_enumeration(numbers, level):
    """Each guess is right with the largest probability that the true epsilon allows."""
    numbers = np.array(numbers)
    every = paths(12)
    counts = np.cumsum(every, axis=1)[:, numbers - 1]
    seen = {tuple(c): stepwise_bound(bounds_of(12, numbers), GuessCounts(12, numbers, c), level)
            for c in np.unique(counts, axis=0)}  # fmt: skip
    low = np.array([seen[tuple(c)] for c in counts])
    for truth in (0.0, 0.2, 0.5, 1.0, 2.0, 3.0):
        q = 1 / (1 + np.exp(-truth))
        chance = np.where(every, q, 1 - q).prod(axis=1)
        assert chance[low > truth].sum() <= 1 - level


@pytest.mark.parametrize("right", [[3, 10, 25, 50, 90], [3, 9, 20, 38, 60], [1, 5, 12, 25, 45]])
def test_a_stepped_bound_is_never_below_that_of_bonferroni(right):
    numbers = default_guesses(100)
    found = stepwise_bound(bounds_of(100, numbers, 1e-5), GuessCounts(100, numbers, right), 0.95)
    plain = one_run_epsilon(100, numbers, right, 1e-5, bonferroni_level(0.95, 5)).max()
    assert found >= plain
    if right[-1] == 90:
        # Nobody but the largest number could reach so far: nothing is paid for the others.
        assert found == one_run_epsilon(100, 90, 90, 1e-5, 0.95) > plain


def test_the_judged_canaries_do_not_choose_the_number_of_guesses():
    rng = np.random.default_rng(0)
    member = rng.random(200) < 0.5
    score = rng.normal(size=200) + 2 * member

    def found(member):
        game = np.random.default_rng(1)
        return chosen_guesses(Transcript(score, member), 1e-5, 0.95, 0.2, game)

    first = found(member)
    assert (first.n_canaries, first.n_choosing) == (160, 40)
    order = np.random.default_rng(1).permutation(200)
    for rows, same in ((order[40:], True), (order[:40], False)):
        turned = member.copy()
        turned[rows] = ~turned[rows]
        assert (found(turned).n_guesses == first.n_guesses) == same


def test_a_perfect_attack_chooses_to_guess_nearly_all():
    member = np.random.default_rng(0).random(1000) < 0.5
    transcript = Transcript(member * 1.0, member)
    found = chosen_guesses(transcript, 0.0, 0.95, 0.2, np.random.default_rng(0))
    assert found.n_guesses == found.n_right >= 0.7 * 800


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_some_canaries_choose_and_some_are_judged(share):
    transcript = Transcript(np.arange(4.0), np.arange(4) > 1)
    with pytest.raises(InputError, match=r"choosing must be in \[0, 1\), got"):
        chosen_guesses(transcript, 0.0, 0.95, share, np.random.default_rng(0))


def test_guesses_are_counted_on_the_rows_of_the_transcript():
    rng = np.random.default_rng(0)
    transcript = Transcript(rng.normal(size=30), np.arange(30) % 3 == 0)
    numbers = np.array([1, 4, 15])
    found = count_right_guesses(transcript, numbers, np.random.default_rng(1))
    expected = right_guesses(transcript.score, transcript.secret, numbers, np.random.default_rng(1))
    assert found.n_right.tolist() == expected.tolist()
    assert (found.n_canaries, found.n_guesses.tolist()) == (30, [1, 4, 15])


@pytest.mark.parametrize(
    ("claimed", "refuted", "refutable"),
    [(0.9, True, True), (1.0, False, True), (1.5, False, True), (2.0, False, False)],
)
def test_a_claim_is_refuted_by_a_bound_above_it(claimed, refuted, refutable):
    bound = PrivacyBound("rates", "", Estimate(1.2, 1.0, inf, 0.95, 10, "exact"), 2.0)
    claim = PrivacyClaim(claimed, 0.0)
    assert (bound.refutes(claim), bound.could_refute(claim)) == (refuted, refutable)


def test_the_smallest_claim_can_be_made():
    assert PrivacyClaim(0.0, 0.0).epsilon == 0.0
    assert GuessCounts(5, [1, 5], [0, 5]).n_guesses.tolist() == [1, 5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PrivacyClaim(-0.1, 0.0), "epsilon must be at least 0 and finite"),
        (lambda: PrivacyClaim(inf, 0.0), "epsilon must be at least 0 and finite"),
        (lambda: PrivacyClaim(1.0, 1.0), r"delta must be in \[0, 1\)"),
        (lambda: PrivacyClaim(1.0, -0.1), r"delta must be in \[0, 1\)"),
        (lambda: GuessCounts(9, [], []), "n_guesses must be ascending and at least 1"),
        (lambda: GuessCounts(9, [0, 3], [0, 1]), "n_guesses must be ascending and at least 1"),
        (lambda: GuessCounts(9, [3, 3], [1, 1]), "n_guesses must be ascending and at least 1"),
        (
            lambda: GuessCounts(9, [3, 10], [1, 1]),
            r"n_guesses must be at most 9 \(the canaries\), got 10",
        ),
        (lambda: GuessCounts(9, [3, 5, 12], [1, 1, 1]), "n_guesses must be at most 9 .*, got 12"),
        (lambda: GuessCounts(9, [10], [1]), "n_guesses must be at most 9 .*, got 10"),
        (lambda: GuessCounts(9, [3], [1, 1]), "n_right must have 1 rows, got 2"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
