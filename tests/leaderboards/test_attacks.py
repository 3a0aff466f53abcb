"""Naive Bayes, majorities and the linear scan: against their definitions, laws and formulas."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from privacygauge.errors import BudgetError, InputError
from privacygauge.leaderboards import bounds
from privacygauge.leaderboards.analysts import Trials, play, trials, uniform_holdout
from privacygauge.leaderboards.bounds import guarantee
from privacygauge.leaderboards.guards import Ladder, ParameterFreeLadder, Rounded, guard_named
from privacygauge.leaderboards.naive_bayes import (
    BlumHardt,
    LabelSums,
    Majority,
    NaiveBayes,
    argmax_random_ties,
    label_sums,
    log_odds,
    simulate_point,
)
from privacygauge.leaderboards.oracle import Budget, Holdout
from privacygauge.leaderboards.priors import Knowledge, from_logits
from privacygauge.leaderboards.sequential import HillClimbing, LinearScan
from tests.thorough import crossed, times

RNG = np.random.default_rng
ANALYSTS = (NaiveBayes(), Majority(), BlumHardt(), LinearScan())
LADDERS = Ladder(0.01), ParameterFreeLadder()
every_analyst = pytest.mark.parametrize("analyst", ANALYSTS, ids=lambda a: a.name)


class Recorder:
    """An oracle that keeps what it was asked."""

    def __init__(self, oracle):
        self.oracle = oracle
        self.rows = []
        self.answers = []

    def __getattr__(self, name):
        return getattr(self.oracle, name)

    def submit_all(self, labels):
        self.rows.extend(np.array(labels))
        self.answers.extend(self.oracle.submit_all(labels))
        return np.array(self.answers[-len(labels) :])

    def asked(self):
        return np.array(self.rows), np.array(self.answers)


def algorithm_1(queries, accuracies, prior):
    """Algorithm 1 as it is written, with a stored matrix: the confidence of every label."""
    n, m = prior.shape
    found = np.empty((n, m))
    for i, label in itertools.product(range(n), range(m)):
        says = queries[:, i] == label
        found[i, label] = prior[i, label] * np.prod(accuracies[says])
        found[i, label] *= np.prod((1 - accuracies[~says]) / (m - 1))
    return found


def is_most_confident(answer, confidence):
    """Whether every label has the largest confidence, up to rounding in products of k factors."""
    chosen = np.take_along_axis(confidence, answer[:, None], axis=1)[:, 0]
    return bool(np.all(chosen >= confidence.max(axis=1) * (1 - 1e-9)))


@given(st.integers(1, 60), st.integers(2, 6), st.integers(1, 25), st.integers(0, 2**32))
def test_naive_bayes_is_algorithm_1(n, m, k, seed):
    rng = RNG(seed)
    oracle = Recorder(uniform_holdout(n, m, rng).open(rng, budget=Budget(total=k)))
    answer = NaiveBayes(block=7).answer(oracle, rng)
    queries, accuracies = oracle.asked()
    assert len(queries) == k
    assert is_most_confident(answer, algorithm_1(queries, accuracies, np.full((n, m), 1 / m)))


@given(st.integers(2, 40), st.integers(2, 5), st.integers(1, 15), st.integers(0, 2**32))
def test_naive_bayes_with_a_prior_is_algorithm_1(n, m, k, seed):
    rng = RNG(seed)
    logits = rng.normal(size=(n, m))
    prior = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    oracle = Recorder(uniform_holdout(n, m, rng).open(rng, budget=Budget(total=k)))
    answer = NaiveBayes(from_logits(logits)).answer(oracle, rng)
    assert is_most_confident(answer, algorithm_1(*oracle.asked(), prior))


@every_analyst
def test_neither_blocks_nor_threads_change_the_answer(analyst):
    if isinstance(analyst, LinearScan):
        return
    holdout = uniform_holdout(1_200, 5, RNG(0))
    made = type(analyst)
    found = [
        made(block=block, threads=threads).answer(holdout.open(RNG(1), budget=Budget(300)), RNG(2))
        for block, threads in ((256, 1), (40, 2), (130, 3), (1_000, 1))
    ]
    for other in found[1:]:
        assert np.array_equal(found[0], other)


@every_analyst
def test_each_attack_spends_a_full_budget_of_its_own(analyst):
    holdout = uniform_holdout(50, 3, RNG(0))
    for _ in "ab":
        assert play(analyst, holdout, 40, RNG(1)).queries_used == 40
    unlimited = holdout.open(RNG(0))
    with pytest.raises(BudgetError, match=r"^the oracle has no budget to spend: open it with"):
        analyst.answer(unlimited, RNG(0))


@every_analyst
def test_without_a_query_it_guesses(analyst):
    holdout = uniform_holdout(4_000, 4, RNG(0))
    found = play(analyst, holdout, 0, RNG(1))
    assert found.queries_used == 0
    assert abs(found.bias) < 5 * math.sqrt(3 / 16 / 4_000)


@every_analyst
def test_renamed_labels_change_no_accuracy_on_average(analyst):
    # All labels equal, or uniform: random queries see no difference.
    constant = trials(analyst, lambda rng: Holdout(np.full(200, 2), 3), 60, RNG(0).spawn(times(20)))
    uniform = trials(analyst, lambda rng: uniform_holdout(200, 3, rng), 60, RNG(1).spawn(times(20)))
    apart = constant.bias().value - uniform.bias().value
    assert abs(apart) < 5 * math.sqrt(2 * 0.25 / 200 / times(20))


def test_accuracies_of_none_and_all_are_certain():
    # One point: the first right query settles it, wrong ones exclude their labels.
    for seed in range(30):
        holdout = Holdout([3], 5)
        assert play(NaiveBayes(), holdout, 60, RNG(seed)).accuracy == 1.0
    assert log_odds(np.array([0.0, 1.0, 0.2]), 5).tolist() == [
        -math.inf,
        math.inf,
        pytest.approx(0),
    ]


def test_ties_are_broken_uniformly():
    picks = argmax_random_ties(np.tile([1.0, 0.0, 1.0, 1.0], (6_000, 1)), RNG(0))
    counts = np.bincount(picks, minlength=4)
    assert counts[1] == 0
    assert np.abs(counts[[0, 2, 3]] - 2_000).max() < 5 * math.sqrt(6_000 * 2 / 9)


@given(st.integers(1, 9), st.integers(0, 30), st.integers(2, 7), st.integers(0, 2**32))
def test_label_sums_are_sums(p, k, m, seed):
    rng = RNG(seed)
    labels = rng.integers(0, m, (p, k))
    weights = rng.normal(size=k)
    found = label_sums(labels, np.tile(weights, (p, 1)), m)
    for i, label in itertools.product(range(p), range(m)):
        assert found[i, label] == pytest.approx(weights[labels[i] == label].sum(), abs=1e-12)
    assert np.array_equal(LabelSums(weights, m)(labels), found)


@pytest.mark.parametrize(
    ("analyst", "formula"),
    [
        (NaiveBayes(), bounds.nb_bias),
        (Majority(), bounds.majority_bias),
        (BlumHardt(), bounds.blum_hardt_bias),
    ],
    ids=lambda a: getattr(a, "name", ""),
)
@pytest.mark.parametrize(("n", "m", "k"), [(1_000, 2, 200), (1_000, 5, 300)])
def test_simulations_meet_the_closed_form(analyst, formula, n, m, k):
    found = trials(analyst, lambda rng: uniform_holdout(n, m, rng), k, RNG(8).spawn(times(20)))
    assert not found.bias(0.999).excludes(formula(n, m, k))


def test_one_exact_point_meets_a_whole_test_set_where_counts_are_small():
    n = 300
    m = 60
    k = 100
    whole = trials(
        NaiveBayes(), lambda rng: uniform_holdout(n, m, rng), k, RNG(3).spawn(times(100))
    )
    point = simulate_point(n, m, k, times(10_000), RNG(4), level=0.999)
    assert not bounds.is_normal_enough(n, m, k)
    mine = whole.bias(0.999)
    assert point.low <= mine.high
    assert mine.low <= point.high


@pytest.mark.parametrize(("n", "m", "k"), [(10_000, 2, 100), (10_000, 10, 500)])
def test_one_exact_point_meets_the_closed_form(n, m, k):
    point = simulate_point(n, m, k, times(4_000), RNG(5), level=0.999)
    assert not point.excludes(bounds.nb_bias(n, m, k))


@pytest.mark.parametrize("m", [2, 3, 4, 7])
def test_the_scan_follows_its_formula(m):
    for k in (1, 2, 5, 40, 100):
        found = trials(
            LinearScan(), lambda rng: uniform_holdout(40, m, rng), k, RNG(k).spawn(times(30))
        )
        interval = found.bias(0.9999)
        formula = bounds.scan_bias(40, m, k)
        # 24 checks at a level of 0.9999; where all trials end alike only rounding is left.
        assert interval.low - 1e-12 < formula < interval.high + 1e-12, k


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_scan_that_ends_within_a_point_guesses_among_what_is_left(k):
    deal = lambda rng: uniform_holdout(1, 6, rng)  # noqa: E731
    found = trials(LinearScan(), deal, k, RNG(k).spawn(times(400)))
    assert not found.bias(0.999).excludes(bounds.scan_bias(1, 6, k))


@pytest.mark.parametrize("m", [2, 3, 6])
def test_a_scan_with_enough_queries_knows_everything(m):
    found = play(LinearScan(), uniform_holdout(60, m, RNG(0)), 60 * m, RNG(1))
    assert found.accuracy == 1.0
    assert found.queries_used <= 1 + 60 * max(1, m - 2)
    logits = RNG(2).normal(size=(60, m))
    known = play(LinearScan(from_logits(logits)), uniform_holdout(60, m, RNG(0)), 60 * m, RNG(1))
    assert known.accuracy == 1.0
    # The top two labels of some points: as good as they allow, and no point outside is touched.
    best = from_logits(logits, top=2, least_confident=20)
    truth = uniform_holdout(60, m, RNG(0))
    some = LinearScan(best).answer(truth.open(RNG(0), budget=Budget(200)), RNG(1))
    reachable = (best.candidates == truth.labels[best.points, None]).any(axis=1)
    assert np.array_equal(some[best.points] == truth.labels[best.points], reachable)
    assert np.array_equal(np.delete(some, best.points), np.delete(best.base, best.points))


def test_naive_bayes_beats_the_majority_beats_dropping():
    def bias(analyst):
        deal = lambda rng: uniform_holdout(2_000, 2, rng)  # noqa: E731
        return trials(analyst, deal, 400, RNG(0).spawn(times(14))).bias().value

    assert bias(NaiveBayes()) > bias(Majority()) > bias(BlumHardt()) + 0.01


@pytest.mark.parametrize(("analyst", "guard"), crossed(ANALYSTS, LADDERS), ids=lambda x: x.name)
def test_the_ladder_holds_attacks_that_do_not_climb_below_two_points(analyst, guard):
    n = 2_000
    k = 300
    found = trials(analyst, lambda rng: uniform_holdout(n, 2, rng), k, RNG(1).spawn(4), guard=guard)
    # Exact answers would give .15 to .075 here. Three standard errors of four trials are .017.
    assert found.bias().value < 0.02 + 3 * math.sqrt(0.25 / n / 4)


@every_analyst
@pytest.mark.slow
@pytest.mark.parametrize("guard", LADDERS, ids=lambda g: g.name)
def test_the_ladder_at_full_size(analyst, guard):
    deal = lambda rng: uniform_holdout(10_000, 2, rng)  # noqa: E731
    assert trials(analyst, deal, 2_000, RNG(1).spawn(times(6)), guard=guard).bias().value < 0.02


GUARDS = (
    "exact",
    "round:1",
    "noise:0.05",
    "laplace:0.05",
    "ladder",
    "ladder:0.05",
    "ladder:1.3se",
    "thresholdout:0.1",
)


def excess(name, games, seed):
    """How many games end above the guarantee for a tenth, and how many may, once in 10,000."""
    n = 30
    m = 2
    k = 3
    guard = guard_named(name)
    most = 1 / m + guarantee(guard, n, m, k, delta=0.1)
    rngs = RNG(seed).spawn(games)
    ends = trials(NaiveBayes(), lambda rng: uniform_holdout(n, m, rng), k, rngs, guard=guard)
    return np.count_nonzero(ends.accuracies >= most), binom.isf(1e-4, games, 0.1)


@pytest.mark.parametrize("name", GUARDS)
def test_guarantees_hold(name):
    above, allowed = excess(name, times(100), seed=3)
    assert above <= allowed


def test_rounded_answers_cost_what_the_formula_says():
    n = 2_000
    guard = Rounded(2)
    found = trials(
        NaiveBayes(),
        lambda rng: uniform_holdout(n, 2, rng),
        400,
        RNG(2).spawn(times(20)),
        guard=guard,
    )
    assert not found.bias(0.999).excludes(bounds.nb_bias(n, 2, 400, error=guard.error(n)))


def test_one_trial_has_no_interval():
    one = Trials([0.5], [0.25], [3])
    assert (one.bias().value, one.bias().low, one.bias().high) == (0.25, -math.inf, math.inf)
    assert Trials([0.5, 0.5], [0.25, 0.25], [3, 3]).accuracy().low == 0.5
    with pytest.raises(InputError, match=r"^trials must be at least 1, got 0$"):
        Trials([], [], [])


@pytest.mark.parametrize("made", [NaiveBayes, Majority, BlumHardt])
def test_sizes_are_positive(made):
    with pytest.raises(InputError, match=r"^block must be at least 1, got 0$"):
        made(block=0)
    with pytest.raises(InputError, match=r"^threads must be at least 1, got 0$"):
        made(threads=0)


def test_knowledge_must_be_about_this_test_set():
    knowledge = from_logits(np.zeros((9, 3)))
    oracle = uniform_holdout(10, 3, RNG(0)).open(RNG(0), budget=Budget(1))
    with pytest.raises(
        InputError, match=r"^knowledge must be about 10 points and 3 classes, got 9"
    ):
        NaiveBayes(knowledge).answer(oracle, RNG(0))
    assert isinstance(knowledge, Knowledge)


@pytest.mark.parametrize(
    ("guard", "least"), [("ladder", 0.05), ("ladder:1.3se", 0.015), ("ladder:0.01", 0.03)]
)
def test_hill_climbing_gains_behind_ladders(guard, least):
    rngs = [RNG(seed) for seed in range(6)]
    found = trials(
        HillClimbing(),
        lambda rng: uniform_holdout(1_000, 2, rng),
        200,
        rngs,
        guard=guard_named(guard),
    )
    assert found.bias().low > least


def test_hill_climbing_changes_only_attacked_points_of_a_model():
    rng = RNG(5)
    labels = rng.integers(0, 3, 300)
    logits = rng.normal(size=(300, 3))
    logits[np.arange(300), labels] += 1.0
    known = from_logits(logits, top=2, least_confident=100)
    holdout = Holdout(labels, 3)
    found = HillClimbing(known).answer(holdout.open(rng, budget=Budget(total=200)), rng)
    others = np.setdiff1d(np.arange(300), known.points)
    assert np.array_equal(found[others], known.base[others])
    assert all(found[p] in row for p, row in zip(known.points, known.candidates, strict=True))
    assert holdout.score(found) > holdout.score(known.base)
