"""Detecting matrices: against sets as sets, all labelings of tiny sets, and through the oracle."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.leaderboards.analysts import play, uniform_holdout
from privacygauge.leaderboards.designed import (
    DesignedQueries,
    DetectingMatrix,
    points_for,
    queries_for,
)
from privacygauge.leaderboards.guards import Exact, guard_named
from privacygauge.leaderboards.naive_bayes import NaiveBayes
from privacygauge.leaderboards.oracle import Budget, BudgetError, Holdout
from privacygauge.leaderboards.priors import Knowledge, from_logits
from tests.thorough import crossed, times

RNG = np.random.default_rng


def as_set(number):
    return frozenset(i for i in range(number.bit_length()) if number >> i & 1)


def columns_by_definition(n_queries, kinds):
    """One query-by-column table, sets as sets, straight from the definition."""
    columns = []
    sets = sorted((as_set(x) for x in range(1, n_queries)), key=lambda x: (len(x), sorted(x)))
    for x in sets:
        own = sorted(x)
        j = 0
        while kinds**j <= 2 ** (len(x) - 1):
            alike = [
                frozenset(y)
                for size in range(len(x) % 2, len(x) + 1, 2)
                for y in itertools.combinations(own, size)
            ]
            # Ordered by all digits but the lowest one of x.
            alike.sort(key=lambda y: sum(2 ** (own.index(e) - 1) for e in y if e != own[0]))
            chosen = set(alike[: kinds**j])
            columns.append([as_set(y) & x in chosen for y in range(n_queries)])
            j += 1
    return np.array(columns)


@pytest.mark.parametrize("kinds", [2, 3])
@pytest.mark.parametrize("n_queries", [2, 3, 8, 13, 32])
def test_the_matrix_is_its_definition(n_queries, kinds):
    expected = columns_by_definition(n_queries, kinds)
    matrix = DetectingMatrix(len(expected), kinds)
    assert len(expected) == points_for(n_queries, kinds)
    assert np.array_equal(matrix.codes(0, matrix.n_queries), expected[:, : matrix.n_queries])
    assert np.array_equal(matrix.codes(1, 3)[:, : matrix.n_queries - 1], expected[:, 1:3])


def test_how_many_labels_queries_find():
    for r in range(1, 12):
        assert points_for(2**r) == r * 2 ** (r - 1)
    assert (points_for(0), points_for(1), points_for(2, 3), points_for(1_026)) == (0, 0, 1, 5_123)
    assert [queries_for(p) for p in (0, 1, 2, 4, 5_120, 10_000)] == [0, 2, 3, 4, 1_024, 1_880]
    for p, kinds in itertools.product(range(1, 200), (2, 3)):
        fewest = queries_for(p, kinds)
        assert points_for(fewest, kinds) >= p > points_for(fewest - 1, kinds)


@settings(max_examples=times(100))
@given(st.integers(1, 300), st.sampled_from([2, 3]), st.integers(-50, 50), st.integers(0, 2**32))
def test_every_labeling_is_found_from_shifted_counts(n, kinds, shift, seed):
    matrix = DetectingMatrix(n, kinds)
    values = RNG(seed).integers(-1, 2, n) if kinds == 3 else RNG(seed).integers(0, 2, n) * 2 - 1
    codes = matrix.codes(0, matrix.n_queries).astype(int)
    found, consistent = matrix.decode(values @ codes + shift)
    assert np.array_equal(found, values)
    assert consistent


@pytest.mark.parametrize("kinds", [2, 3])
def test_no_two_labelings_give_counts_that_differ_by_a_constant(kinds):
    n = 7 if kinds == 3 else 12
    matrix = DetectingMatrix(n, kinds)
    values = np.array(list(itertools.product((-1, 0, 1) if kinds == 3 else (-1, 1), repeat=n)))
    counts = values @ matrix.codes(0, matrix.n_queries).astype(int)
    assert len(np.unique(counts - counts[:, :1], axis=0)) == len(values)


def test_wrong_counts_are_noticed():
    matrix = DetectingMatrix(400)
    rng = RNG(0)
    counts = (rng.integers(0, 2, 400) * 2 - 1) @ matrix.codes(0, matrix.n_queries).astype(int)
    for place in rng.integers(0, matrix.n_queries, 20):
        spoilt = counts.copy()
        spoilt[place] += 1
        assert not matrix.decode(spoilt)[1]


def test_5120_labels_from_1026_queries():
    holdout = uniform_holdout(5_120, 2, RNG(0))
    oracle = holdout.open(RNG(1), budget=Budget(1_026))
    found = DesignedQueries().decode(oracle, RNG(2))
    assert np.array_equal(found.labels, holdout.labels)
    assert (found.method, found.explained, found.iterations) == ("designed", True, 1)
    assert oracle.used == 1_024


def test_a_part_of_a_larger_test_set():
    mine = play(DesignedQueries(), uniform_holdout(10_000, 2, RNG(3)), 1_026, RNG(4))
    # 5,123 labels are known and the others guessed, with a standard deviation of .0035.
    assert mine.bias == pytest.approx(5_123 / 10_000 / 2, abs=4 * 0.0035)


@pytest.mark.slow
def test_a_fifth_of_a_query_for_each_of_ten_thousand_labels():
    whole = play(DesignedQueries(), uniform_holdout(10_000, 2, RNG(3)), 1_880, RNG(4))
    assert whole.accuracy == 1.0


@pytest.mark.parametrize(("m", "k"), [(3, 340), (4, 500), (5, 640), (9, 1_000)])
def test_more_classes_take_several_rounds(m, k):
    holdout = uniform_holdout(800, m, RNG(5))
    found = DesignedQueries().decode(holdout.open(RNG(6), budget=Budget(k)), RNG(7))
    assert np.array_equal(found.labels, holdout.labels)
    assert found.iterations == m // 2
    assert found.note == ""


def test_it_says_what_it_has_not_settled():
    holdout = uniform_holdout(800, 9, RNG(5))
    found = DesignedQueries().decode(holdout.open(RNG(6), budget=Budget(950)), RNG(7))
    right = np.count_nonzero(found.labels == holdout.labels)
    words = found.note.split()
    assert (words[0], words[2:]) == ("settled", ["of", "800", "points"])
    assert 700 < int(words[1]) <= right < 800


@pytest.mark.parametrize(("m", "k"), crossed([2, 3, 6], [0, 1, 2, 3, 50]))
def test_any_budget_will_do(m, k):
    # Over 30 games on 60 points, three standard deviations of the mean accuracy are .035.
    found = [play(DesignedQueries(), uniform_holdout(60, m, RNG(s)), k, RNG(s)) for s in range(30)]
    assert np.mean([p.bias for p in found]) > -0.035
    assert max(p.queries_used for p in found) <= k


def test_order_does_not_matter():
    # Neither the order of points nor the names of labels change how much is found.
    labels = RNG(0).integers(0, 2, 300)
    for truth in (np.sort(labels), 1 - labels, labels):
        assert play(DesignedQueries(), Holdout(truth, 2), queries_for(300), RNG(1)).accuracy == 1.0


def test_a_point_with_neither_candidate_harms_no_other():
    rng = RNG(8)
    labels = rng.integers(0, 5, 900)
    points = np.arange(100, 900)
    pairs = (labels[points, None] + rng.permuted(np.tile([0, 1], (800, 1)), axis=1)) % 5
    neither = rng.random(800) < 0.3
    pairs[neither] = (labels[points[neither], None] + [1, 2]) % 5
    prior = np.log(np.stack([rng.uniform(0.4, 0.6, 800), np.full(800, 0.3)], axis=1))
    knowledge = Knowledge(np.zeros(900, int), points, pairs, prior, 5)
    holdout = Holdout(labels, 5)
    found = DesignedQueries(knowledge).decode(holdout.open(rng, budget=Budget(400)), rng)
    right = found.labels[points] == labels[points]
    assert right[~neither].all()
    # One of the three labels that are left is drawn: 240 points, four standard deviations.
    assert right[neither].mean() == pytest.approx(1 / 3, abs=4 * math.sqrt(2 / 9 / 240))
    assert not (found.labels[points[neither], None] == pairs[neither]).any()
    assert np.array_equal(found.labels[:100], knowledge.base[:100])


def test_the_least_confident_points_come_first():
    logits = RNG(9).normal(size=(500, 4)) * RNG(10).uniform(0.1, 4, (500, 1))
    knowledge = from_logits(logits, top=2)
    holdout = uniform_holdout(500, 4, RNG(11))
    found = DesignedQueries(knowledge).decode(holdout.open(RNG(0), budget=Budget(64)), RNG(1))
    p = points_for(64, 3)
    order = np.argsort(knowledge.log_prior[:, 0], kind="stable")
    first = knowledge.points[order[:p]]
    inside = (knowledge.candidates[first] == holdout.labels[first, None]).any(axis=1)
    assert (found.labels[first] == holdout.labels[first])[inside].all()
    rest = knowledge.points[order[p:]]
    assert np.array_equal(found.labels[rest], knowledge.base[rest])
    assert found.note == f"settled {p} of 500 points"


@pytest.mark.slow
def test_real_logits_give_several_times_what_naive_bayes_gets(data_folder):
    with np.load(data_folder / "logits_cifar100_resnet-20.npz", allow_pickle=False) as file:
        logits = file["logits"]
        labels = file["labels"].astype(np.int64)
    holdout = Holdout(labels, 100)
    knowledge = from_logits(logits, top=4)
    mine, theirs = (
        play(attack(knowledge), holdout, 1_000, RNG(0)).bias
        for attack in (DesignedQueries, NaiveBayes)
    )
    assert mine > 0.06
    assert mine > 4 * theirs


@pytest.mark.parametrize("guard", ["round:2", "noise:0.005", "ladder", "thresholdout:0.04"])
def test_it_says_that_it_needs_exact_answers(guard):
    holdout = uniform_holdout(400, 2, RNG(0))
    oracle = holdout.open(RNG(1), guard=guard_named(guard), budget=Budget(100))
    found = DesignedQueries().decode(oracle, RNG(2))
    assert found.method in ("message-passing", "nb")
    assert found.note.startswith("designed queries need exact answers, these are off by 0.0")
    assert oracle.left() == 0


@dataclass(frozen=True)
class Liar(Exact):
    """A guard that changes answers and says that it does not."""

    def answer(self, marked, state):
        return round(marked.accuracy, 1), state


def test_it_notices_answers_that_contradict_themselves():
    holdout = uniform_holdout(300, 2, RNG(0))
    oracle = holdout.open(RNG(1), guard=Liar(), budget=Budget(200))
    found = DesignedQueries().decode(oracle, RNG(2))
    assert found.method in ("message-passing", "nb")
    assert found.note.startswith("designed queries got answers that no labels give")


def test_blocks_do_not_change_the_answer():
    holdout = uniform_holdout(500, 3, RNG(0))
    found = [
        DesignedQueries(block=b).answer(holdout.open(RNG(1), budget=Budget(150)), RNG(2))
        for b in (7, 256)
    ]
    assert np.array_equal(found[0], found[1])


def test_what_it_refuses_and_needs():
    with pytest.raises(InputError, match=r"^kinds must be 2 or 3, got 4$"):
        DetectingMatrix(3, 4)
    with pytest.raises(InputError, match=r"^n_points must be at least 1, got 0$"):
        DetectingMatrix(0)
    oracle = uniform_holdout(10, 3, RNG(0)).open(RNG(0), budget=Budget(1))
    with pytest.raises(InputError, match=r"^knowledge must be about 10 points and 3 classes, got"):
        DesignedQueries(from_logits(np.eye(3))).answer(oracle, RNG(0))
    with pytest.raises(BudgetError, match=r"^the oracle has no budget to spend"):
        DesignedQueries().answer(uniform_holdout(5, 2, RNG(0)).open(RNG(0)), RNG(0))
    assert DesignedQueries().needs_points
    assert DesignedQueries().unaided() is None
