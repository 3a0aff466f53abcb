from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score

from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate import decision
from privacygauge.evaluate.rates import clopper_pearson, less, wilson
from tests.laws.draws import decisions

LEVELS = st.sampled_from([0.5, 0.95, 0.999])


def of_counts(tp: int, fn: int, fp: int, tn: int) -> Decisions:
    guess = np.repeat([True, False, True, False], [tp, fn, fp, tn])
    return Decisions(guess, np.repeat([True, True, False, False], [tp, fn, fp, tn]))


@given(decisions(), LEVELS)
def test_balanced_accuracy_is_the_mean_of_both_sides(guesses: Decisions, level: float) -> None:
    found = decision.balanced_accuracy(guesses, level)
    tp = guesses.true_positives
    fp = guesses.false_positives
    exact = (Fraction(tp, guesses.n_in) + 1 - Fraction(fp, guesses.n_out)) / 2
    assert found.value == float(exact)
    assert found.value == pytest.approx(balanced_accuracy_score(guesses.secret, guesses.guess))
    a = tp / guesses.n_in
    b = 1 - fp / guesses.n_out
    al, ah = wilson(tp, guesses.n_in, level)
    bl, bh = wilson(guesses.n_out - fp, guesses.n_out, level)
    low = (a + b) / 2 - np.hypot(a - al, b - bl) / 2
    high = (a + b) / 2 + np.hypot(ah - a, bh - b) / 2
    assert (found.low, found.high) == pytest.approx((max(0, low), min(1, high)))
    assert (found.n, found.level) == (len(guesses), level)


@given(decisions(), LEVELS)
def test_the_advantage_is_tpr_minus_fpr(guesses: Decisions, level: float) -> None:
    found = decision.advantage(guesses, level)
    accuracy = decision.balanced_accuracy(guesses, level)
    tpr = decision.recall(guesses).value
    fpr = decision.false_positive_rate(guesses).value
    assert found.value == pytest.approx(tpr - fpr)
    assert (found.low, found.high) == pytest.approx((2 * accuracy.low - 1, 2 * accuracy.high - 1))
    assert (found.n, found.level) == (len(guesses), level)


@given(decisions(), LEVELS)
def test_rates_are_counts_with_clopper_pearsons_interval(guesses: Decisions, level: float) -> None:
    tp = guesses.true_positives
    fp = guesses.false_positives
    for found, k, n in (
        (decision.recall(guesses, level), tp, guesses.n_in),
        (decision.false_positive_rate(guesses, level), fp, guesses.n_out),
        (decision.sample_precision(guesses, level), tp, tp + fp),
    ):
        if n == 0:
            assert isinstance(found, Skipped)
        else:
            assert (found.value, found.n) == (k / n, n)
            # The last bit of a quantile depends on how many are asked for at once.
            exact = clopper_pearson(k, n, level)
            assert (found.low, found.high) == pytest.approx(exact, rel=1e-14, abs=0)
    assert decision.recall(guesses).value == recall_score(guesses.secret, guesses.guess)
    if tp + fp:
        found = decision.sample_precision(guesses)
        assert found.value == precision_score(guesses.secret, guesses.guess)


@given(decisions(), LEVELS)
def test_precision_is_that_of_a_balanced_pool(guesses: Decisions, level: float) -> None:
    found = decision.precision(guesses, level)
    sample = decision.sample_precision(guesses, level)
    if not guesses.guess.any():
        assert found == sample == Skipped("precision", "no record was guessed to be a member")
        return
    tpr = decision.recall(guesses).value
    fpr = decision.false_positive_rate(guesses).value
    assert found.value == pytest.approx(tpr / (tpr + fpr))
    ppv = decision.positive_predictive_value(guesses, 0.5, level)
    assert found.value == pytest.approx(ppv.value)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.n, found.level) == (sample.n, level)
    assert ("equal sides" in found.method) == (guesses.n_in != guesses.n_out)
    if guesses.n_in == guesses.n_out:
        assert found == sample


@given(st.integers(1, 6), st.integers(1, 6))
def test_precision_does_not_hang_on_how_many_the_file_holds(inside: int, outside: int) -> None:
    found = decision.precision(of_counts(3 * inside, 7 * inside, outside, 9 * outside))
    assert found.value == pytest.approx(0.3 / (0.3 + 0.1))


@pytest.mark.parametrize(("n_in", "n_out"), [(200, 50), (50, 200), (400, 20), (30, 30)])
def test_precision_at_equal_sides_covers(n_in: int, n_out: int) -> None:
    rng = np.random.default_rng(0)
    games = 2_000
    drawn = rng.binomial([n_in, n_out], [0.4, 0.2], (games, 2))
    counts, often = np.unique(drawn, axis=0, return_counts=True)
    held = [
        not decision.precision(of_counts(h, n_in - h, a, n_out - a)).excludes(2 / 3)
        for h, a in counts
    ]
    assert often @ held >= stats.binom.ppf(1e-4, games, 0.95)


@given(decisions(), st.floats(0.001, 0.999), LEVELS)
def test_the_predictive_value_is_bayes_theorem(
    guesses: Decisions, prior: float, level: float
) -> None:
    found = decision.positive_predictive_value(guesses, prior, level)
    if not guesses.guess.any():
        assert found == Skipped(f"PPV at prior {prior}", "no record was guessed to be a member")
        return
    each = 1 - (1 - level) / 2
    tp = guesses.true_positives
    fp = guesses.false_positives
    n_in = guesses.n_in
    n_out = guesses.n_out
    tl, th = clopper_pearson(tp, n_in, each)
    fl, fh = clopper_pearson(fp, n_out, each)

    def ppv(tpr: float, fpr: float) -> float:
        return 0.0 if tpr == 0 else 1 / (1 + (1 - prior) / prior * fpr / tpr)

    expected = ppv(tp / n_in, fp / n_out), ppv(tl, fh), ppv(th, fl)
    assert (found.value, found.low, found.high) == pytest.approx(expected)
    assert (found.n, found.level) == (n_in + n_out, level)


def test_for_as_many_members_as_at_hand_the_predictive_value_is_the_precision() -> None:
    guesses = of_counts(30, 10, 20, 100)
    ppv = decision.positive_predictive_value(guesses, 40 / 160)
    assert ppv.value == pytest.approx(decision.sample_precision(guesses).value) == 0.6
    assert decision.precision(guesses).value == pytest.approx(0.75 / (0.75 + 20 / 120))


def test_predictive_values_come_at_three_priors() -> None:
    guesses = of_counts(30, 10, 20, 100)
    assert decision.predictive_values(guesses, level=0.9) == tuple(
        (p, decision.positive_predictive_value(guesses, p, 0.9)) for p in (0.01, 0.1, 0.5)
    )


@pytest.mark.parametrize("prior", [0.0, 1.0, float("nan")])
def test_a_prior_lies_strictly_between_0_and_1(prior: float) -> None:
    with pytest.raises(InputError, match=r"prior must be in \(0, 1\), got"):
        decision.positive_predictive_value(of_counts(1, 1, 1, 1), prior)


def test_guesses_that_ignore_membership_have_accuracy_one_half_whatever_the_counts() -> None:
    for tp, fn, fp, tn in ((90, 0, 7, 0), (0, 90, 0, 7), (30, 60, 3, 6)):
        found = decision.balanced_accuracy(of_counts(tp, fn, fp, tn))
        assert found.value == 0.5
        assert not found.excludes(0.5)


def repeated_games(n_targets: int, rounds: int, games: int) -> list[Decisions]:
    """Return guesses on targets that differ in risk, in several rounds with fresh coins."""
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(n_targets), rounds)
    found = []
    for _ in range(games):
        risk = rng.choice([0.3, 1.0], n_targets)
        secret = rng.random(len(target)) < 0.5
        right = rng.random(len(target)) < risk[target]
        found.append(Decisions(right == secret, secret, target))
    return found


def test_rates_of_repeated_targets_cover() -> None:
    held = [
        [not f(g).excludes(0.65) for f in (decision.recall, decision.precision)]
        for g in repeated_games(60, 10, 400)
    ]
    assert np.sum(held, axis=0).min() >= stats.binom.ppf(1e-4, 400, 0.95)


def test_balanced_accuracy_of_repeated_targets_covers() -> None:
    # A target that leaks is guessed rightly both as a member and as a non-member, so the two
    # sides are not independent.
    held = [not decision.balanced_accuracy(g).excludes(0.65) for g in repeated_games(60, 10, 400)]
    assert np.sum(held) >= stats.binom.ppf(1e-4, 400, 0.95)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize(("n_targets", "rounds", "seed"), [(2, 2, 0), (3, 4, 1), (20, 5, 2)])
def test_of_repeated_targets_the_accuracy_has_wilsons_interval_of_what_the_rows_are_worth(
    n_targets: int, rounds: int, seed: int, level: float
) -> None:
    rng = np.random.default_rng(seed)
    target = rng.integers(n_targets, size=n_targets * rounds)
    secret = np.arange(len(target)) % 2 == 0
    guesses = Decisions(secret ^ (rng.random(len(target)) < rng.random(n_targets)[target]), secret,
                        target)  # fmt: skip
    right = (guesses.guess == secret).astype(float)
    sides = {True: right[secret].mean(), False: right[~secret].mean()}
    value = sum(sides.values()) / 2

    def part(i: int) -> float:
        side = secret == secret[i]
        share = np.mean(target[side] == target[i])
        mended = float(np.sqrt(1 - share)) if share < 1 else 1.0
        return float((right[i] - sides[bool(secret[i])]) / (2 * np.sum(side)) / mended)

    sums = [sum(map(part, np.flatnonzero(target == t))) for t in set(target.tolist())]
    n = len(sums)
    variance = sum(x**2 for x in sums)
    worth = float(n)
    if variance > 0:
        # Student's quantile for the few units that carry the variance.
        df = max(min(3 * variance**2 / sum(x**4 for x in sums), n - 1), 1)
        student = stats.norm.ppf(0.5 + level / 2) / stats.t.ppf(0.5 + level / 2, df)
        worth = min(max(value * (1 - value) / variance * student**2, 1), len(target))
    found = decision.balanced_accuracy(guesses, level)
    assert (found.low, found.high) == pytest.approx(wilson(value * worth, worth, level))
    assert (found.value, found.n, found.level) == (pytest.approx(value), n, level)


def test_where_no_guess_is_wrong_repeated_rows_are_worth_their_targets() -> None:
    secret = np.arange(24) % 2 == 0
    found = decision.balanced_accuracy(Decisions(secret, secret, np.arange(24) % 3))
    assert (found.low, found.high) == wilson(3, 3)


def test_of_repeated_targets_n_is_their_number() -> None:
    guesses = repeated_games(60, 10, 1)[0]
    for found in (decision.balanced_accuracy, decision.advantage, decision.recall):
        assert found(guesses).n == 60


@pytest.mark.parametrize("right", [0, 3, 4, 5])
def test_two_people_make_nothing_sure(right: int) -> None:
    # 400 members of whom 60% are guessed, and five rows of two others, of which so many are right.
    row = np.arange(405)
    secret = row < 400
    guess = np.where(secret, row % 5 < 3, row >= 400 + right)
    unit = np.where(secret, row // 2, 1000 + row % 2)
    found = decision.balanced_accuracy(Decisions(guess, secret, unit=unit))
    assert found.low < 0.5
    assert found.high - found.low > 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(400, 0.05), (200, 0.1), (200, 0.25), (60, 0.15)])
def test_differences_between_other_people_of_unequal_numbers_of_rows_cover(
    n: int, share: float
) -> None:
    """Most people have 1 to 6 rows, three in a hundred 15 to 39, and few are members."""
    games = 600
    held = 0
    for i in range(games):
        rng = np.random.default_rng([i, n])
        found = []
        for _ in range(2):
            rows = np.minimum(rng.geometric(0.35, n), 15)
            heavy = rng.random(n) < 0.03
            rows[heavy] = rng.integers(15, 40, heavy.sum())
            member = rng.random(n) < share
            member[:3] = True
            unit = np.repeat(np.arange(n), rows)
            score = rng.normal(0, 0.8, n)[unit] + rng.normal(0, 0.8, len(unit))
            guesses = Decisions(score + 0.4 * member[unit] > 0.5, member[unit], unit)
            found.append(decision.balanced_accuracy(guesses))
        held += not less(found[1], found[0]).excludes(0.0)
    assert held >= stats.binom.ppf(1e-3, games, 0.945)
