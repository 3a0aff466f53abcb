"""Attacks judged record by record."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm, t

from privacygauge.core.checks import frozen
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.by_target import TargetScores, evaluate_targets, mean_auc_of_records
from privacygauge.evaluate.rates import clopper_pearson
from privacygauge.evaluate.roc import auc
from tests.thorough import times


def scores_of(rng, n_own, n, shift, release=None, blocks=1):
    inside = rng.random((blocks, n_own)) < 0.5
    secret = np.arange(n) % 2 == 0
    return TargetScores(
        rng.normal(size=inside.shape) + shift * inside,
        inside,
        rng.normal(size=n) + shift * secret,
        secret,
        np.arange(n) if release is None else release,
        np.arange(n) % blocks,
    )


def test_one_record_alone_is_judged_as_a_transcript_is():
    found = scores_of(np.random.default_rng(0), 200, 100, 1.0)
    judged = evaluate_targets("a", [found])
    (target,) = judged.targets
    expected = auc(Transcript(found.score, found.secret))
    assert target.auc == expected
    assert judged.auc.value == pytest.approx(expected.value, abs=1e-15)
    # Two ways to an interval from one variance: on the logit scale and on the plain one.
    width = judged.auc.high - judged.auc.low
    assert width == pytest.approx(expected.high - expected.low, rel=0.1)
    assert judged.true_positives + judged.false_positives <= judged.n_in + judged.n_out == 100
    assert target.accuracy.value == judged.accuracy.value


@pytest.mark.parametrize("n_attacks", [1, 4])
@pytest.mark.parametrize("n", [1, 3])
def test_an_inverted_attack_is_looked_for_in_the_mean_and_in_one_of_several_records(n, n_attacks):
    found = [scores_of(np.random.default_rng(i), 200, 300, -1.0) for i in range(n)]
    told = evaluate_targets("a", found, n_attacks=n_attacks).inverted
    each = 1 - 0.05 / (n_attacks * min(n, 2))
    worst = min((auc(x.transcript(), each) for x in found), key=lambda area: area.value)
    assert told[0].auc == mean_auc_of_records(found, each)
    assert [x.auc for x in told[1:]] == ([] if n == 1 else [worst])


def test_thresholds_come_from_the_adversarys_own_releases():
    rng = np.random.default_rng(1)
    found = scores_of(rng, 100, 60, 2.0, blocks=2)
    cuts = found.best_cuts()
    for block in range(2):
        own = found.own[block]
        inside = found.inside[block]
        accuracy = [
            ((own >= c) == inside)[inside].mean() + ((own >= c) == inside)[~inside].mean()
            for c in own
        ]
        best = own[np.isclose(accuracy, max(accuracy), rtol=0, atol=1e-12)]
        assert cuts[block] == best.max()
    guesses = found.guesses(cuts)
    np.testing.assert_array_equal(guesses.guess, found.score >= np.array(cuts)[found.block])
    other = TargetScores(found.own, found.inside, -found.score, found.secret, found.release)
    assert other.best_cuts() == cuts
    assert other.epsilon_cuts(0.95) == found.epsilon_cuts(0.95)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["own releases", "shared releases"])
def test_the_interval_of_a_mean_covers_it(shared):
    # Two scores of one release about two records agree; of five records each has a shift.
    shifts = np.array([0.0, 0.3, 0.6, 0.9, 1.5])
    n = 60
    truth = norm.cdf(shifts / np.sqrt(2)).mean()
    rng = np.random.default_rng(2)
    games = times(400)
    inside = 0
    for _ in range(games):
        noise = rng.normal(size=n)
        every = []
        for i, shift in enumerate(shifts):
            release = np.arange(n) + (0 if shared else i * n)
            plain = scores_of(rng, 10, n, shift, release)
            score = noise + shift * plain.secret if shared else plain.score
            every.append(TargetScores(plain.own, plain.inside, score, plain.secret, release))
        found = mean_auc_of_records(every)
        assert found.n == (n if shared else 5 * n)
        inside += found.low <= truth <= found.high
    # 95% of 400 (200) games, five deviations: .054 (.077).
    assert inside / games > 0.95 - 5 * np.sqrt(0.95 * 0.05 / games)


def test_on_noise_nothing_is_found():
    rng = np.random.default_rng(3)
    found = [scores_of(rng, 300, 200, 0.0, np.arange(200) + 200 * i) for i in range(20)]
    judged = evaluate_targets("noise", found, variant="x", notes=("n",))
    assert not judged.auc.excludes(0.5)
    assert not judged.accuracy.excludes(0.5)
    assert sum(t.epsilon.low > 0 for t in judged.targets) <= 4  # 5% each: P(5 or more) = 0.3%
    assert judged.title == "noise (x)"
    assert judged.notes == ("n",)
    assert abs(judged.own_auc.mean() - 0.5) < 0.04  # se .0067 each over 20


def test_a_perfect_attack_reaches_what_can_be_certified():
    secret = np.arange(40) % 2 == 0
    own = np.repeat([[0.0, 1.0]], 20, axis=0).reshape(1, -1)
    found = TargetScores(own, own > 0.5, secret * 1.0, secret, np.arange(40))
    judged = evaluate_targets("all", [found, found])
    for target in judged.targets:
        assert target.auc.value == 1.0
        assert target.epsilon.low == pytest.approx(target.epsilon_limit)
    assert judged.auc.value == judged.auc.high == 1.0
    assert judged.auc.low == pytest.approx(0.8316, abs=1e-4)  # 20 of 20, Clopper-Pearson
    assert judged.own_auc.tolist() == [1.0, 1.0]
    assert judged.tpr_at_fpr == ((0.1, 1.0), (0.01, 1.0))


def test_what_does_not_fit_is_refused():
    ones = frozen(np.ones((1, 4)))
    with pytest.raises(InputError, match=r"own and inside must have the shape \(b, s\)"):
        TargetScores(ones, ones[0] > 0, np.ones(2), np.array([True, False]), np.arange(2))
    with pytest.raises(InputError, match="at least one record"):
        evaluate_targets("none", [])


@pytest.mark.slow
def test_records_are_told_beyond_luck_whatever_their_number():
    rng = np.random.default_rng(5)
    games = times(100)
    false = 0
    for _ in range(games):
        every = [scores_of(rng, 30, 40, 0.0, np.arange(40) + 40 * i) for i in range(10)]
        false += evaluate_targets("noise", every).told.any()
    # 2.5% of 100 (50) games with a false one: at most 8 (5) in all but one run of a thousand.
    assert false <= (8 if games == 100 else 5)
    shifted = [scores_of(rng, 30, 200, 1.0 * (i < 5), np.arange(200)) for i in range(10)]
    assert evaluate_targets("half", shifted).told.tolist() == [True] * 5 + [False] * 5


def naive_auc(score, secret):
    """Each row's share of the other side beyond it, ties as halves, and the mean of them."""
    share = np.array([
        np.mean([(a > b) + (a == b) / 2 if inside else (b > a) + (a == b) / 2
                 for b in score[secret != inside]])
        for a, inside in zip(score, secret, strict=True)
    ])  # fmt: skip
    return share[secret].mean(), share


def naive_accuracy(guess, secret):
    """Each row's right guess, and the mean of both sides' shares of them."""
    right = (guess == secret).astype(float)
    return (right[secret].mean() + right[~secret].mean()) / 2, right


def naive_mean(values, shares, scores, level, weight):
    """A mean over records, with Student's interval over the sums of what a release adds."""
    sums: dict[int, float] = {}
    for share, found in zip(shares, scores, strict=True):
        for side in (found.secret, ~found.secret):
            part = weight * (share[side] - share[side].mean()) / side.sum() / len(scores)
            for release, x in zip(found.release[side], part, strict=True):
                sums[release] = sums.get(release, 0.0) + x
    n = len(sums)
    value = float(np.mean(values))
    variance = sum(x**2 for x in sums.values()) * n / (n - 1)
    half = t.ppf((1 + level) / 2, n - 1) * np.sqrt(variance)
    return value, max(0.0, value - half), min(1.0, value + half), n


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize(("n", "shift"), [(6, 0.3), (6, 2.0), (40, 1.0)])
def test_means_over_records_have_students_interval_over_releases(n, shift, level):
    rng = np.random.default_rng(6)
    scores = [scores_of(rng, 50, n, shift, np.arange(n) + 2 * i, blocks=2) for i in range(3)]
    judged = evaluate_targets("a", scores, level)
    areas = [naive_auc(s.score, s.secret) for s in scores]
    guesses = [s.score >= np.array(s.best_cuts())[s.block] for s in scores]
    rights = [naive_accuracy(g, s.secret) for g, s in zip(guesses, scores, strict=True)]
    for found, each, weight in ((judged.auc, areas, 1.0), (judged.accuracy, rights, 0.5)):
        values, shares = zip(*each, strict=True)
        expected = naive_mean(values, shares, scores, level, weight)
        assert (found.value, found.low, found.high, found.n) == pytest.approx(expected)
        assert found.level == level
    assert mean_auc_of_records(scores, level) == judged.auc


def test_of_an_attack_on_several_records_every_number_is_theirs():
    rng = np.random.default_rng(7)
    scores = [scores_of(rng, 50, 30 + 10 * i, 0.7 * i, blocks=2) for i in range(4)]
    judged = evaluate_targets("a", scores, 0.8)
    assert judged.aucs.tolist() == pytest.approx([naive_auc(s.score, s.secret)[0] for s in scores])
    own = [np.mean([naive_auc(*block)[0] for block in zip(s.own, s.inside, strict=True)])
           for s in scores]  # fmt: skip
    assert judged.own_auc.tolist() == pytest.approx(own)
    guesses = [s.score >= np.array(s.best_cuts())[s.block] for s in scores]
    pairs = list(zip(guesses, scores, strict=True))
    assert judged.true_positives == sum((g & s.secret).sum() for g, s in pairs)
    assert judged.false_positives == sum((g & ~s.secret).sum() for g, s in pairs)
    assert judged.n_in == sum(s.secret.sum() for s in scores)
    assert judged.n_out == sum((~s.secret).sum() for s in scores)
    for i, fpr in enumerate((0.1, 0.01)):
        each = [target.tpr_at_fpr[i].estimate.value for target in judged.targets]
        assert judged.tpr_at_fpr[i] == (fpr, pytest.approx(np.mean(each)))


def test_records_are_told_by_holms_rule_at_half_of_the_error():
    rng = np.random.default_rng(8)
    flat = scores_of(rng, 10, 30, 0.0)
    flat = TargetScores(flat.own, flat.inside, np.zeros(30), flat.secret, flat.release)
    scores = [*(scores_of(rng, 10, 30, 0.25 * i) for i in range(8)), flat]
    p = [mannwhitneyu(s.score[s.secret], s.score[~s.secret], alternative="greater",
                      method="asymptotic").pvalue for s in scores[:-1]]  # fmt: skip
    p.append(1.0)
    several = set()
    for level in (0.3, 0.8, 0.95):
        told = [False] * 9
        alive = True
        for rank, i in enumerate(np.argsort(p)):
            alive = alive and p[i] * (9 - rank) <= (1 - level) / 2
            told[i] = alive
        assert evaluate_targets("a", scores, level).told.tolist() == told
        several.add(sum(told))
    assert len(several) == 3


@pytest.mark.parametrize("n", [2, 3, 12])
def test_where_nothing_varies_the_interval_is_that_of_the_pairs_of_one_record(n):
    scores = []
    for size in (n, 40):
        secret = np.arange(size) < (size + 1) // 2
        own = np.array([[0.0, 1.0]])
        scores.append(TargetScores(own, own > 0, secret * 1.0, secret, np.arange(size)))
    found = mean_auc_of_records(scores, 0.9)
    assert (found.low, found.high) == clopper_pearson(n // 2, n // 2, 0.9)
    assert (found.value, found.n, found.level) == (1.0, 40, 0.9)


def test_one_release_alone_is_no_ground_for_an_interval_of_its_own():
    own = np.array([[0.0, 1.0]])
    secret = np.array([True, False])
    found = TargetScores(own, own > 0, np.array([1.0, 0.0]), secret, np.zeros(2, np.int64))
    assert (mean_auc_of_records([found], 0.9).low, mean_auc_of_records([found], 0.9).n) == (
        clopper_pearson(1, 1, 0.9)[0], 1,
    )  # fmt: skip


def test_own_and_inside_have_one_shape_of_two_dimensions():
    good = np.ones((1, 4))
    for own, inside in ((good, good[:, 1:] > 0), (good[0], good[0] > 0)):
        with pytest.raises(InputError, match=r"own and inside must have the shape \(b, s\)"):
            TargetScores(own, inside, np.ones(2), np.array([True, False]), np.arange(2))
