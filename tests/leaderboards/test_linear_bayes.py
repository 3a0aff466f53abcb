"""Naive Bayes for every metric: score differences, formulas, and the bounds behind guards."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from privacygauge.leaderboards.bounds import nb_bias, transcript_nats
from privacygauge.leaderboards.guards import Exact, guard_for, guard_named, root_ladder
from privacygauge.leaderboards.metrics import metric_bias, metric_named
from privacygauge.leaderboards.naive_bayes import LinearBayes, NaiveBayes
from privacygauge.leaderboards.oracle import Budget, Holdout
from tests.leaderboards.test_metrics import NAMES, drawn_truth
from tests.thorough import crossed, times

RNG = np.random.default_rng
GUARDS = ("exact", "round:2", "calibrated", "noise:0.02", "laplace:0.02", "thresholdout:0.1")
CURVED = ("f1", "macro-f1", "qwk", "rmse:-1:3")
every_metric = pytest.mark.parametrize("name", NAMES)


def drawn_holdout(name, n, rng):
    metric = metric_named(name)
    truth = drawn_truth(name, n, rng)
    return Holdout(truth, metric.truth(truth, None)[1], metric)


@cache
def ends_of(name, k, guard=None, n=200):
    """Return what an attack ends with above chance, on test sets of its own."""
    gains = []
    for seed in range(times(4)):
        rng = RNG(seed)
        holdout = drawn_holdout(name, n, rng)
        oracle = holdout.open(rng, guard=guard, budget=Budget(total=k))
        answer = LinearBayes.told(holdout).answer(oracle, rng)
        assert oracle.used == k
        gains.append(holdout.score(answer) - holdout.metric.chance(holdout.labels))
    return np.array(gains)


class Shuffled:
    """An oracle whose answers are about other submissions."""

    def __init__(self, oracle):
        self.oracle = oracle

    def __getattr__(self, name):
        return getattr(self.oracle, name)

    def submit_all(self, rows):
        return RNG(0).permutation(self.oracle.submit_all(rows))


@every_metric
@given(seed=st.integers(0, 10**6))
@settings(max_examples=times(20), deadline=None)
def test_effects_are_differences_of_scores(name, seed):
    rng = RNG(seed)
    holdout = drawn_holdout(name, 400, rng)
    told = LinearBayes.told(holdout)
    metric = told.metric
    if metric.numbers:  # They are known in groups: here exactly.
        told = LinearBayes(metric, *np.unique(holdout.labels, return_counts=True))
    moves = metric.moves(told.values, told.counts)
    effects = metric.effects(told.values, told.counts)
    codes = rng.integers(0, len(moves), 400)
    i = rng.integers(400)
    old = codes
    new = codes.copy()
    new[i] = rng.integers(len(moves))
    row = effects[np.searchsorted(told.values, holdout.labels[i])]
    after, before = (metric.score(moves[codes], holdout.labels) for codes in (new, old))
    assume(not metric.clipped or min(after, before) > 0)
    change = after - before
    off = 5 / math.sqrt(400) * np.ptp(effects) if name in CURVED else 1e-12
    assert change == pytest.approx(row[new[i]] - row[old[i]], abs=off)


@every_metric
def test_without_a_query_it_has_chance(name):
    for seed in range(times(10)):
        holdout = drawn_holdout(name, 500, RNG(seed))
        alone = LinearBayes.told(holdout)
        chance = holdout.metric.chance(holdout.labels)
        asked = alone.answer(holdout.open(RNG(0), budget=Budget(total=0)), RNG(1))
        assert np.array_equal(asked, alone.unaided())
        # A median is known to a fifteenth of the range, and of the examples.
        off = 1 / 15**2 if name.startswith(("mae", "crps")) else 1e-9
        # Classes in the right proportion, which no constant has, have it on average.
        luck = 2 / math.sqrt(holdout.metric.tail(holdout.labels)) if name == "macro-f1" else 0
        assert chance - off - luck <= holdout.score(asked) <= chance + 1e-9 + luck


@every_metric
def test_no_other_submission_is_expected_to_score_more(name):
    rng = RNG(2)
    metric = metric_named(name)
    numbers = metric.numbers
    m = 2 if name in ("f1", "auc") else 3
    values = np.linspace(-1, 3, 3) if numbers else np.arange(m)
    belief = rng.dirichlet(np.full(m, 0.5), 400)
    best = metric.best(belief, values)
    rivals = [metric.best(rng.dirichlet(np.ones(m), 400) ** 0.3 * belief, values) for _ in "abc"]
    rivals = [r / r.sum(axis=1, keepdims=True) if r.shape == belief.shape else r for r in rivals]
    gaps = np.empty((times(60), len(rivals)))
    for row in gaps:
        truth = values[(belief.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)]
        row[:] = [metric.score(best, truth) - metric.score(rival, truth) for rival in rivals]
    assert (gaps.mean(axis=0) > 0).all()


@pytest.mark.parametrize(("name", "guard"), crossed(NAMES, ["exact", "noise:0.02"]))
def test_simulations_meet_the_normal_approximation(name, guard):
    n = 300
    k = 120
    apart = []
    for seed in range(times(16)):
        rng = RNG([seed, 1])
        holdout = drawn_holdout(name, n, rng)
        told = LinearBayes.told(holdout)
        fit = guard_for(guard_named(guard), holdout.metric, holdout.labels)
        oracle = holdout.open(rng, guard=fit, budget=Budget(total=k))
        expected = np.mean([told.expected(holdout.labels, k, fit.error(n), rng) for _ in range(2)])
        apart.append(holdout.score(told.answer(oracle, rng)) - expected)
    assert abs(np.mean(apart)) < 4 * np.std(apart) / math.sqrt(len(apart)) + 0.004


def test_the_normal_approximation_has_the_closed_forms():
    """Two classes: of accuracies, and of statistics in which each class has its own weight."""
    n = 40_000
    k = 8_000
    rng = RNG(3)
    even = np.arange(n) % 2
    uneven = (np.arange(n) < 0.3 * n).astype(int)
    apart = math.sqrt(k * n / (0.3 * n * 0.7 * n))

    def expected(name, truth):
        told = LinearBayes.told(Holdout(truth, 2, metric_named(name)))
        return told.expected(truth, k, 0.0, rng)

    assert expected("accuracy", even) == pytest.approx(0.5 + nb_bias(n, 2, k), abs=0.01)
    assert expected("balanced-accuracy", uneven) == pytest.approx(norm.cdf(apart / 2), abs=0.01)
    assert expected("auc", uneven) == pytest.approx(norm.cdf(apart / math.sqrt(2)), abs=0.01)


@every_metric
def test_more_submissions_gain_more(name):
    few, more, most = (ends_of(name, k).mean() for k in (20, 100, 500))
    assert few < more < most


@every_metric
def test_answers_about_other_submissions_gain_nothing(name):
    gains = []
    for seed in range(times(12)):
        rng = RNG(seed)
        holdout = drawn_holdout(name, 300, rng)
        oracle = Shuffled(holdout.open(rng, budget=Budget(total=100)))
        answer = LinearBayes.told(holdout).answer(oracle, rng)
        gains.append(holdout.score(answer) - holdout.metric.chance(holdout.labels))
    assert np.mean(gains) <= 3 * np.std(gains) / math.sqrt(len(gains))


@pytest.mark.parametrize(("name", "guard"), crossed(NAMES, (*GUARDS, "default")))
def test_no_guard_lets_more_pass_than_its_bound(name, guard):
    n = 120
    k = 6
    over = 0
    for seed in range(times(12)):
        rng = RNG([seed, 2])
        holdout = drawn_holdout(name, n, rng)
        metric = holdout.metric
        truth = holdout.labels
        named = root_ladder(metric.points(truth)) if guard == "default" else guard_named(guard)
        fit = guard_for(named, metric, truth)
        bound = metric_bias(metric, truth, transcript_nats(fit, k, n, max(holdout.n_classes, 2)))
        oracle = holdout.open(rng, guard=fit, budget=Budget(total=k))
        answer = LinearBayes.told(holdout).answer(oracle, rng)
        over += holdout.score(answer) > metric.chance(truth) + bound
    assert over <= times(12) * 0.05 + 1


@every_metric
def test_the_default_guard_lets_hardly_anything_pass(name):
    holdout = drawn_holdout(name, 200, RNG(0))
    guard = root_ladder(holdout.metric.points(holdout.labels))
    assert ends_of(name, 500, guard).mean() < 0.25 * ends_of(name, 500).mean() + 0.01


def test_of_accuracies_it_is_naive_bayes():
    n = 2_000
    k = 400
    holdout = Holdout(np.arange(n) % 2, 2)
    found = [
        attack.answer(holdout.open(RNG(0), guard=Exact(), budget=Budget(total=k)), RNG(1))
        for attack in (NaiveBayes(), LinearBayes.told(holdout))
    ]
    assert np.mean(found[0] == found[1]) > 0.95


def test_beliefs_are_right_on_average():
    """What is believed of numbers that are seldom large is neither too large nor too small."""
    apart = []
    for seed in range(times(8)):
        rng = RNG(seed)
        holdout = Holdout(rng.beta(1, 6, 600), 0, metric_named("mse:0:1"))
        oracle = holdout.open(rng, budget=Budget(total=900))
        apart.extend(holdout.labels - LinearBayes.told(holdout).answer(oracle, rng))
    assert abs(np.mean(apart)) < 4 * np.std(apart) / math.sqrt(len(apart))
