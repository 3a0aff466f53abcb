"""A claimed epsilon beside what one run rules out: each number against a plain program."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf, log

import numpy as np
import pytest

from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import (
    Guessed,
    PrivacyBound,
    PrivacyClaim,
    coins_p_value,
    default_guesses,
    divided,
    guessed,
    one_run_bound,
)
from privacygauge.evaluate.one_run import largest_one_run_epsilon, one_run_epsilon, right_guesses


def test_the_coins_p_value_counts_the_outcomes_that_are_as_uneven():
    for n in (1, 2, 3, 9, 20):
        for n_in in range(n + 1):
            fewer = sum(comb(n, k) for k in range(n_in + 1))
            more = sum(comb(n, k) for k in range(n_in, n + 1))
            expected = min(Fraction(1), 2 * Fraction(min(fewer, more), 2**n))
            assert coins_p_value(n_in, n) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("looks", [1, 2, 7])
def test_several_looks_share_the_error(looks):
    assert 1 - divided(0.9, looks) == pytest.approx(0.1 / looks)


def test_no_looks_at_all_are_refused():
    with pytest.raises(InputError, match="looks must be at least 1, got 0"):
        divided(0.9, 0)


@pytest.mark.parametrize("n", [1, 2, 5, 40, 1000])
def test_the_default_numbers_of_guesses_are_shares_of_the_canaries(n):
    wanted = {max(1, round(share * n)) for share in (0.03, 0.1, 0.25, 0.5, 0.9)}
    assert default_guesses(n).tolist() == sorted(wanted)


def naive_bound(m, numbers, right, delta, level, methods):
    """The largest over the numbers of guesses, each alone at its part of the error."""
    each = 1 - (1 - level) / (methods * len(numbers))
    low = max(
        float(one_run_epsilon(m, r, v, delta, each)) for r, v in zip(numbers, right, strict=True)
    )
    shares = [(v - 2 * m * delta) / r for r, v in zip(numbers, right, strict=True)]
    value = max(inf if q >= 1 else log(max(q, 0.5) / (1 - max(q, 0.5))) for q in shares)
    largest = max(float(largest_one_run_epsilon(m, r, delta, each)) for r in numbers)
    return max(low, value), low, largest


@pytest.mark.parametrize("methods", [1, 2])
@pytest.mark.parametrize("delta", [0.0, 0.02])
@pytest.mark.parametrize("right", [[10, 38, 78], [5, 20, 40], [6, 38, 40]])
def test_the_bound_of_one_run_is_the_largest_of_corrected_ones(right, delta, methods):
    numbers, m, level = [10, 40, 80], 90, 0.9
    found = one_run_bound(Guessed(m, numbers, right), delta, level, methods=methods)
    estimate = found.estimate
    assert (estimate.value, estimate.low, found.largest) == pytest.approx(
        naive_bound(m, numbers, right, delta, level, methods), abs=1e-9
    )
    assert (estimate.high, estimate.level, estimate.n) == (inf, level, m)
    assert estimate.method.endswith(f"over {methods * len(numbers)}")


def test_guesses_are_counted_on_the_rows_of_the_transcript():
    rng = np.random.default_rng(0)
    transcript = Transcript(rng.normal(size=30), np.arange(30) % 3 == 0)
    numbers = np.array([1, 4, 15])
    found = guessed(transcript, numbers, np.random.default_rng(1))
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
    assert Guessed(5, [1, 5], [0, 5]).n_guesses.tolist() == [1, 5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PrivacyClaim(-0.1, 0.0), "epsilon must be at least 0 and finite"),
        (lambda: PrivacyClaim(inf, 0.0), "epsilon must be at least 0 and finite"),
        (lambda: PrivacyClaim(1.0, 1.0), r"delta must be in \[0, 1\)"),
        (lambda: PrivacyClaim(1.0, -0.1), r"delta must be in \[0, 1\)"),
        (lambda: Guessed(9, [], []), "n_guesses must be ascending and at least 1"),
        (lambda: Guessed(9, [0, 3], [0, 1]), "n_guesses must be ascending and at least 1"),
        (lambda: Guessed(9, [3, 3], [1, 1]), "n_guesses must be ascending and at least 1"),
        (lambda: Guessed(9, [3, 10], [1, 1]), r"n_guesses must be at most 9 \(the canaries\)"),
        (lambda: Guessed(9, [3], [1, 1]), "n_right must have 1 rows, got 2"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
