"""Training stability: counter-examples by hand, the smallest by search, and what survives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from privacygauge.claims.dtp.indirect import nearest_example
from privacygauge.claims.dtp.naive_bayes import NaiveBayes, naive_bayes_of
from privacygauge.claims.dtp.nearest import NearestNeighbours
from privacygauge.claims.dtp.stability import (
    StabilityBound,
    bayes_inference_delta,
    bound_over_queries,
    laplace_delta,
    lsq_delta,
    naive_bayes_bound,
    naive_bayes_delta,
    random_trees_delta,
)
from privacygauge.classifiers.learner import Box
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from tests.claims.dtp.honest import adult_codes
from tests.thorough import THOROUGH, times

ROUNDING = 1e-10
"""Of logs of products of a few shares."""

F = Fraction
Record = tuple[int, ...]
Joint = list[Fraction]


# By hand: exact fractions, and the training set counted again for every classifier.


def naive_bayes(
    x: list[Record], y: list[int], query: Record, sizes: Sequence[int], alpha: int = 0
) -> Joint:
    """p(x | y) p(y) of both classes."""
    found = []
    for label in (0, 1):
        own = [row for row, other in zip(x, y, strict=True) if other == label]
        joint = F(len(own), len(x))
        for j, v in enumerate(sizes):
            if own:
                same = sum(row[j] == query[j] for row in own)
                joint *= F(same + alpha, len(own) + alpha * v)
        found.append(joint)
    return found


def posterior(joint: Joint) -> Joint:
    return [part / sum(joint) for part in joint] if sum(joint) else joint


def apart(one: Joint, other: Joint) -> list[Fraction]:
    """The ratio of every label, the larger over the smaller; 1 where both are 0."""
    return [max(a / b, b / a) if a and b else F(1) for a, b in zip(one, other, strict=True)]


@dataclass(frozen=True)
class Case:
    """Naive Bayes on two classes and attributes of two values; the record in question is first."""

    classes: tuple[list[Record], list[Record]]
    alpha: int = 0

    @property
    def data(self) -> tuple[list[Record], list[int]]:
        own, others = self.classes
        return own + others, [0] * len(own) + [1] * len(others)

    def both(self, query: Record) -> tuple[Joint, Joint]:
        """The joints with and without the first record."""
        x, y = self.data
        sizes = [2] * len(x[0])
        with_it = naive_bayes(x, y, query, sizes, self.alpha)
        return with_it, naive_bayes(x[1:], y[1:], query, sizes, self.alpha)

    def joint_ratios(self, query: Record) -> list[Fraction]:
        return apart(*self.both(query))

    def ratios(self, query: Record) -> list[Fraction]:
        return apart(*(posterior(joint) for joint in self.both(query)))

    @property
    def queries(self) -> list[Record]:
        return list(product((0, 1), repeat=len(self.data[0][0])))

    @property
    def dtp(self) -> Fraction:
        return max(max(self.ratios(query)) for query in self.queries)

    @property
    def bound(self) -> StabilityBound:
        x, _ = self.data
        n_min = min(len(part) for part in self.classes if part)
        if self.alpha:
            return laplace_delta(len(x), n_min, [2] * len(x[0]))
        return naive_bayes_delta(len(x), n_min, len(x[0]))

    def assert_joint_holds(self) -> None:
        gamma = max(self.bound.delta, self.joint_ratios(self.data[0][0])[0])
        largest = max(max(self.joint_ratios(query)) for query in self.queries)
        assert float(largest) <= gamma * (1 + ROUNDING)
        own = self.classes[0]
        shared = [[sum(row[j] == own[0][j] for row in own) for j in range(len(own[0]))]]
        certified = naive_bayes_bound([len(own)], shared, [2] * len(own[0]), alpha=self.alpha)
        assert log(self.dtp) <= certified[0] + ROUNDING


SMALLEST_UNSMOOTHED = Case(([(0,), (0,), (1,)], [(0,)]))
SMALLEST_SMOOTHED = Case(([(0,), (1,)], [(1,)]), alpha=1)
INDIRECT_UNSMOOTHED = Case(([(0, 0), (0, 1), (1, 0), (1, 0), (1, 0)], [(0, 1)] * 4))
INDIRECT_SMOOTHED = Case(([(0, 0), (1, 0), (1, 0), (1, 0)], [(0, 1)] * 4), alpha=1)


def test_bayes_inference_is_not_four_thirds_stable():
    # two of the class and one other
    with_it = [F(2, 3), F(1, 3)]
    without = [F(1, 2), F(1, 2)]
    own, other = apart(with_it, without)
    bound = bayes_inference_delta()
    assert (own, other) == (F(4, 3), F(3, 2))
    assert other > max(F(4, 3), own)
    assert bound.printed == pytest.approx(4 / 3)
    assert not bound.holds_as_printed
    assert other == bound.delta


def test_bayes_inference_fails_nowhere_else():
    """Cells of up to 60 records, by which the answers for the record's query are given."""
    found = []
    for n in range(2, 61):
        for same in range(2, n + 1):
            own = F(same * (n - 1), (same - 1) * n)
            other = F(n, n - 1) if same < n else F(1)
            assert other <= max(F(3, 2), own)
            found += [(n, same)] if other > max(F(4, 3), own) else []
    assert found == [(3, 2)]


def test_naive_bayes_breaks_definition_without_smoothing():
    case = SMALLEST_UNSMOOTHED
    assert F(case.bound.printed).limit_denominator(100) == F(4, 3)
    assert case.ratios((0,)) == [F(4, 3), F(3, 2)]
    case.assert_joint_holds()


def test_naive_bayes_breaks_definition_with_smoothing():
    case = SMALLEST_SMOOTHED
    assert F(case.bound.printed).limit_denominator(100) == F(3, 2)
    assert case.ratios((0,)) == [F(3, 2), F(2)]
    case.assert_joint_holds()


def test_naive_bayes_shows_indirectly_what_the_record_hides():
    """PDTP is 0, and another query shows more than the theorem allows."""
    case = INDIRECT_UNSMOOTHED
    assert max(case.ratios((0, 0))) == 1
    assert case.ratios((0, 1)) == [F(17, 11), F(88, 85)]
    assert F(17, 11) > F(case.bound.printed).limit_denominator(100) == F(3, 2)
    case.assert_joint_holds()


def test_naive_bayes_shows_indirectly_with_smoothing():
    case = INDIRECT_SMOOTHED
    pdtp = max(case.ratios((0, 0)))
    assert (pdtp, case.dtp) == (F(375, 233), F(1304, 729))
    assert case.dtp == max(case.ratios((0, 1)))
    assert case.dtp > F(case.bound.printed).limit_denominator(100) == F(12, 7) > pdtp
    case.assert_joint_holds()


def test_queries_of_features_break_four_thirds_already_in_the_joint():
    case = Case(([(0, 0, 0), (0, 0, 0), (1, 1, 1)], []))
    assert case.joint_ratios((0, 0, 0))[0] == F(64, 27)
    assert case.joint_ratios((1, 1, 1))[0] == F(27, 8) > F(4, 3) ** 4


def test_queries_of_features_break_four_thirds_in_the_answers():
    case = Case(([(0, 0), (0, 1), (1, 0), (1, 1)], [(0, 1), (1, 0)] + [(1, 1)] * 5))
    assert case.ratios((0, 0)) == [F(5, 4), F(12, 5)]
    assert F(12, 5) > F(4, 3) ** 3
    case.assert_joint_holds()


def test_a_tree_of_attributes_breaks_four_thirds():
    """Two attributes that depend on the class and on a third one, which is always 0."""

    def joint(n_own: int, first: int, second: int, n: int) -> Fraction:
        return F(n_own, n) * F(n_own, n_own) * F(first, n_own) * F(second, n_own)

    with_it = [joint(9, 2, 2, 53), joint(44, 1, 1, 53)]
    without = [joint(8, 1, 1, 52), joint(44, 1, 1, 52)]
    own, other = apart(posterior(with_it), posterior(without))
    assert other > F(4, 3) ** 4 > own
    assert other <= lsq_delta(4).delta


def test_random_trees_show_indirectly_more_than_four_thirds():
    """Of four trees three ask nothing, and one for the only attribute: aa with 0, b with 1."""

    def power(of_root: Fraction) -> float:
        return float(of_root) ** (3 / 4)

    at_record = power(F(2, 3)) / power(F(1, 2))  # the last tree is sure of a, with and without
    at_other = power(F(1, 2)) / power(F(1, 3))  # the last tree is sure of b
    assert at_record < 4 / 3 < at_other < random_trees_delta().delta


def test_nearest_neighbours_are_stable_for_no_delta():
    for k in (1, 2, 7):
        made = nearest_example(k)
        fitted = NearestNeighbours(k).fit(made.x, made.y, n_classes=2)
        own = fitted.log_p(made.x[[made.row]]), fitted.log_p_without(np.array([made.row]))
        rows = np.array([made.row])
        shown = fitted.log_p(made.query), fitted.log_p_without_at(rows, made.query)[0]
        assert own[0][0, 1] == own[1][0, 1] == 0
        for delta in (1.1, 4 / 3, 1e6):
            assert shown[0][0, 1] > np.log(delta) + shown[1][0, 1]


# By search: counts of training sets (b, cells, k), and what a classifier makes of each.

Classifier = Callable[[Floats], Floats]


def cells(v: int, m: int) -> Ints:
    return np.array(list(product(range(v), repeat=m)))


def network(v: int, m: int, alpha: float = 0.0, parents: Sequence[int | None] = ()) -> Classifier:
    """The joint (b, cells, k) of naive Bayes, or of a network where attributes have a parent."""
    domain = cells(v, m)
    above = parents or (None,) * m

    def same(columns: list[int]) -> Floats:
        part = domain[:, columns]
        return (part[:, None] == part[None]).all(axis=2).astype(float)

    families = [[j] if p is None else [j, p] for j, p in enumerate(above)]
    pairs = [(same(family), same(family[1:])) for family in families]

    def joint(counts: Floats) -> Floats:
        found = counts.sum(axis=1, keepdims=True) / counts.sum(axis=(1, 2), keepdims=True)
        for family, condition in pairs:
            below = condition @ counts + alpha * v
            with np.errstate(invalid="ignore"):
                found = found * np.where(below > 0, (family @ counts + alpha) / below, 0.0)
        return found

    return joint


def normalised(classifier: Classifier) -> Classifier:
    def answers(counts: Floats) -> Floats:
        joint = classifier(counts)
        with np.errstate(invalid="ignore"):
            return joint / joint.sum(axis=2, keepdims=True)

    return answers


def bayes_inference(counts: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return counts / counts.sum(axis=2, keepdims=True)


@dataclass(frozen=True)
class Left:
    """What leaving a record of one cell and class 0 out does to many training sets."""

    counts: Floats
    """(s, cells, k) The training sets."""
    own: Floats
    """(s,) Log ratio of the record's class at the record, infinite where it is emptied."""
    pdtp: Floats
    """(s,) The largest at the record."""
    dtp: Floats
    """(s,) The largest over all queries."""

    def __getitem__(self, which: Bools) -> Left:
        return Left(self.counts[which], self.own[which], self.pdtp[which], self.dtp[which])


def leave_out(counts: Floats, cell: int, classifier: Classifier) -> Left:
    counts = counts[counts[:, cell, 0] > 0]
    less = counts.copy()
    less[:, cell, 0] -= 1
    kept = less.sum(axis=(1, 2)) > 0
    counts = counts[kept]
    less = less[kept]
    one = classifier(counts)
    other = classifier(less)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(np.log(one) - np.log(other))
    silent = np.isnan(one) & np.isnan(other) | (one == 0) & (other == 0)
    ratio = np.where(silent, 0.0, np.where(np.isnan(ratio), np.inf, ratio))
    return Left(counts, ratio[:, cell, 0], ratio[:, cell].max(axis=1), ratio.max(axis=(1, 2)))


def training_sets(n: int, n_cells: int) -> Floats:
    """All training sets of n records, as counts of two classes; (b, n_cells, 2)."""
    bars = np.array(list(combinations(range(n + 2 * n_cells - 1), 2 * n_cells - 1)))
    ends = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, n + 2 * n_cells - 1)))
    return (np.diff(ends, axis=1) - 1).reshape(-1, n_cells, 2).astype(float)


def smallest_class(counts: Floats) -> Floats:
    n = counts.sum(axis=1)
    return np.where(n > 0, n, np.inf).min(axis=1)


def printed(counts: Floats, m: int, alpha: float, proposition: str, v: int = 2) -> Floats:
    """The log of the printed delta of every training set, (s,), for attributes of v values."""
    n = counts.sum(axis=(1, 2))
    n_min = smallest_class(counts)
    if proposition == "6.7":
        return np.full(len(n), (m + 1) * log(4 / 3))
    if m == 1:
        return np.log(n / (n - 1))
    with np.errstate(divide="ignore"):
        growth = (n_min + v) / n_min if alpha else n_min / (n_min - 1)
    return (m - 1) * np.log(growth) + np.log(n / (n - 1))


SEARCHES = {
    "6.4": ("6.4", 1, 0.0, "own", 4, SMALLEST_UNSMOOTHED),
    "6.5": ("6.5", 1, 1.0, "own", 3, SMALLEST_SMOOTHED),
    "6.4 and 6.2": ("6.4", 2, 0.0, "pdtp", 9, INDIRECT_UNSMOOTHED),
    "6.5 and 6.2": ("6.5", 2, 1.0, "pdtp", 8, INDIRECT_SMOOTHED),
    "6.7": ("6.7", 2, 0.0, "own", 11, None),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_no_counter_example_is_smaller(name):
    """Two classes, attributes of two values: fewest attributes, then fewest records.

    The record in question is of class 0 and has the value 0 throughout: values and classes may be
    named so. "own" is definition 6.1, "pdtp" the conclusion of theorem 6.2.
    """
    proposition, attributes, alpha, known, smallest, case = SEARCHES[name]
    broken = {}
    for m in range(1, attributes + 1):
        for n in range(2, smallest + 1 if m == attributes else 13):
            answers = normalised(network(2, m, alpha))
            left = leave_out(training_sets(n, 2**m), 0, answers)
            left = left[np.isfinite(left.own)]
            allowed = np.maximum(printed(left.counts, m, alpha, proposition), getattr(left, known))
            bad = left.dtp > allowed + ROUNDING
            if bad.any():
                broken[m, n] = left.counts[bad]
    assert list(broken) == [(attributes, smallest)]
    if case is not None:
        shown = [[part.count(cell) for part in case.classes] for cell in case.queries]
        assert any((counts == shown).all() for counts in broken[attributes, smallest])


def test_the_joint_breaks_four_thirds_with_three_attributes_at_first():
    for m, least in ((1, None), (2, None), (3, 3)):
        for n in range(2, 4 if m == 3 else 10):
            left = leave_out(training_sets(n, 2**m), 0, network(2, m))
            left = left[np.isfinite(left.own)]
            bad = left.dtp > np.maximum((m + 1) * log(4 / 3), left.own) + ROUNDING
            assert bad.any() == (n == least)


def random_sets(rng: np.random.Generator, number: int, n_cells: int, k: int) -> Floats:
    """Training sets of 2 to 41 records, in few or in many of the cells; one to leave out."""
    spread = rng.choice([0.05, 0.3, 2.0], size=(number, 1))
    weights = rng.gamma(spread, size=(number, n_cells * k)) + 1e-9
    chances = weights / weights.sum(axis=1, keepdims=True)
    n = rng.integers(1, 41, size=number)
    counts = rng.multinomial(n, chances).reshape(number, n_cells, k)
    counts[:, 0, 0] += 1
    return counts.astype(float)


FAST = pytest.param(1_000, id="few")
SLOW = pytest.param(100_000 if THOROUGH else 20_000, id="many", marks=pytest.mark.slow)
numbers = pytest.mark.parametrize("number", [FAST, SLOW])
SHAPES = ((2, 1, 2), (2, 2, 2), (2, 3, 2), (3, 2, 2), (2, 2, 3), (2, 4, 2), (4, 1, 3), (3, 2, 3))
"""Values, attributes, classes."""


@numbers
@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_certified_bound_of_naive_bayes_survives(number, alpha):
    """And the joint's, and what it implies; smoothed, the bound is never twice what is shown."""
    rng = np.random.default_rng(6)
    tight = []
    for v, m, k in SHAPES:
        counts = random_sets(rng, number // len(SHAPES), v**m, k)
        joint = network(v, m, alpha)
        same = cells(v, m) == 0
        left, joints = (leave_out(counts, 0, c) for c in (normalised(joint), joint))
        shared = np.array([left.counts[:, same[:, j], 0].sum(axis=1) for j in range(m)]).T
        of_class = left.counts[:, :, 0].sum(axis=1)
        bound = naive_bayes_bound(of_class, shared, [v] * m, alpha=alpha)
        assert (left.dtp <= bound + ROUNDING).all()
        known = np.isfinite(bound)
        tight.append(left.dtp[known] / bound[known])
        if alpha:
            known &= left.counts[:, :, 1:].any(axis=(1, 2))
            assert (left.dtp[known] >= bound[known] / 2 - ROUNDING).all()
        else:
            assert (bound[known] <= m * log(2) + ROUNDING).all()
        assert_joint_holds(left, joints, v, m, alpha)
    assert max(part.max() for part in tight) > 0.99


def assert_joint_holds(left: Left, joints: Left, v: int, m: int, alpha: float) -> None:
    n = joints.counts.sum(axis=(1, 2))
    n_min = smallest_class(joints.counts)
    pairs, which = np.unique(np.stack([n, n_min]), axis=1, return_inverse=True)
    for number, (size, least) in enumerate(pairs.T.astype(int)):
        bound = (
            laplace_delta(size, least, [v] * m, alpha=alpha)
            if alpha
            else naive_bayes_delta(size, least, m)
        )
        own = which.ravel() == number
        gamma = np.maximum(joints.own[own], log(bound.delta))
        assert (joints.dtp[own] <= gamma + ROUNDING).all()
        implied = bound_over_queries(np.exp(joints.own[own]), bound)
        assert (left.dtp[own] <= implied + ROUNDING).all()


@numbers
def test_bayes_inference_survives(number):
    counts = random_sets(np.random.default_rng(3), number, 2, 3)
    left = leave_out(counts, 0, bayes_inference)
    bound = bound_over_queries(np.exp(left.own), bayes_inference_delta())
    assert (left.dtp <= bound + ROUNDING).all()
    asked = left[np.isfinite(left.own)]
    assert (asked.dtp == asked.pdtp).all()  # no other query changes
    above = asked.dtp > np.maximum(asked.own, log(4 / 3)) + ROUNDING
    cell = asked.counts[:, 0]
    assert above.any()
    assert (cell[above] == [2, 1, 0]).all(axis=1).any()
    assert (cell[above].sum(axis=1) == 3).all()
    assert (cell[above, 0] == 2).all()


@numbers
@pytest.mark.parametrize(
    "parents", [(None, 0), (None, 0, 0), (None, 0, 1), (None, None, 1)], ids=str
)
def test_networks_survive(number, parents):
    """In every network the answers stay even below 2 to the number of attributes."""
    m = len(parents)
    counts = random_sets(np.random.default_rng(7), number, 2**m, 2)
    joint = network(2, m, 0.0, parents)
    for classifier, delta in ((normalised(joint), 2.0**m), (joint, 1.5 ** (m + 1))):
        left = leave_out(counts, 0, classifier)
        left = left[np.isfinite(left.own)]
        bound = bound_over_queries(np.exp(left.own), lsq_delta(m + 1))
        assert (left.dtp <= bound + ROUNDING).all()
        assert (left.dtp <= np.maximum(left.own, log(delta)) + ROUNDING).all()


@numbers
def test_queries_of_any_features_survive(number):
    """Random features, each a set of cells within the set that is its condition."""
    rng = np.random.default_rng(8)
    largest = 0.0
    for _ in range(20):
        features = int(rng.integers(1, 5))
        n_cells = 5
        condition = (rng.random((features, n_cells)) < 0.7).astype(float)
        condition[rng.random(features) < 0.3] = 1.0  # by which n_y divides
        inside = condition * (rng.random((features, n_cells)) < 0.6)
        shares_of_all = rng.random(features) < 0.2

        def joint(
            counts: Floats,
            inside: Floats = inside,
            condition: Floats = condition,
            of_all: Bools = shares_of_all,
        ) -> Floats:
            above = inside @ counts
            below = condition @ counts
            below[:, of_all] = counts.sum(axis=(1, 2))[:, None, None]
            with np.errstate(invalid="ignore"):
                share = np.where(below > 0, above / below, 0.0)
            active = inside.T[None, :, :, None] > 0
            return np.where(active, share[:, None], 1.0).prod(axis=2)

        counts = random_sets(rng, number // 20, n_cells, 2)
        for classifier in (joint, normalised(joint)):
            left = leave_out(counts, 0, classifier)
            left = left[np.isfinite(left.own)]
            bound = bound_over_queries(np.exp(left.own), lsq_delta(features))
            assert (left.dtp <= bound + ROUNDING).all()
            largest = max(largest, float((left.dtp / bound).max(initial=0)))
    assert largest > 0.9


@numbers
@pytest.mark.parametrize("n_trees", [1, 2, 4, 12])
def test_random_trees_survive(number, n_trees):
    rng = np.random.default_rng(n_trees)
    for _ in range(5):
        leaf = rng.integers(3, size=(n_trees, 6))
        same = (leaf[:, :, None] == leaf[:, None]).astype(float)

        def forest(counts: Floats, same: Floats = same) -> Floats:
            found = same[:, None] @ counts
            total = found.sum(axis=3, keepdims=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = found / total  # no answer in a leaf without records
                return np.asarray(np.exp(np.log(shares).mean(axis=0)), np.float64)

        counts = random_sets(rng, number // 20, 6, 2)
        for answers, classifier in (("geometric-mean", forest), ("normalised", normalised(forest))):
            left = leave_out(counts, 0, classifier)
            left = left[np.isfinite(left.own)]
            bound = bound_over_queries(np.exp(left.own), random_trees_delta(answers))
            assert (left.dtp <= bound + ROUNDING).all()


@pytest.mark.parametrize(("n_trees", "large", "least"), [(3, 1e3, 1.5), (40, 1e70, 1.9)])
def test_normalised_trees_need_up_to_two(n_trees, large, least):
    """Leaves of two of the record's class and one other; in one tree one other among very many."""
    before = np.array([(2.0 ** (n_trees - 1) * large) ** (1 / n_trees), 1.0])
    after = np.array([(large - 1) ** (1 / n_trees), 1.0])
    own, other = np.abs(np.log(before / before.sum()) - np.log(after / after.sum()))
    assert max(log(least), own) < other < log(random_trees_delta("normalised").delta)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "n_asked", "broken", "indirect", "median"),
    [(0.0, 54_559, 0.21, 0.049, 0.64), (1.0, 87_072, 0.16, 0.037, 0.72)],
)
def test_the_page_says_how_often_it_happens(alpha, n_asked, broken, indirect, median):
    """The numbers in docs/propositions.md."""
    rng = np.random.default_rng(11)
    above = []
    tight = []
    for v, m, k in SHAPES:
        counts = random_sets(rng, 100_000 // len(SHAPES), v**m, k)
        joint, same = network(v, m, alpha), cells(v, m) == 0
        left, joints = (leave_out(counts, 0, c) for c in (normalised(joint), joint))
        asked = np.isfinite(left.own)
        left = left[asked]
        joints = joints[asked]
        known = printed(left.counts, m, alpha, "6.5" if alpha else "6.4", v)
        assert (joints.dtp <= np.maximum(known, joints.own) + ROUNDING).all()
        excess = left.dtp - np.maximum(known, [left.own, left.pdtp])
        above.append((excess > ROUNDING).T)
        shared = np.array([left.counts[:, same[:, j], 0].sum(axis=1) for j in range(m)]).T
        of_class = left.counts[:, :, 0].sum(axis=1)
        tight.append(left.dtp / naive_bayes_bound(of_class, shared, [v] * m, alpha=alpha))
    shares = np.concatenate(above).mean(axis=0)
    assert len(np.concatenate(above)) == n_asked
    assert shares[0] == pytest.approx(broken, abs=0.005)
    assert shares[1] == pytest.approx(indirect, abs=0.0005)
    assert_allclose(np.median(np.concatenate(tight)), median, rtol=0, atol=0.005)


@pytest.mark.slow
def test_the_page_says_how_it_is_on_adult():
    """The numbers in docs/propositions.md: eight categories of 5,000 people."""
    x, y = adult_codes(5000)
    fitted = naive_bayes_of(x).fit(x, y, n_classes=2)
    rows = np.arange(1000)
    exact = fitted.dtp(rows, 0.0, Box(np.zeros(0), np.zeros(0)))
    assert_array_equal(exact.low, exact.high)
    shared = np.array([(x[y == y[row]] == x[row]).sum(axis=0) for row in rows])
    sizes = x.max(axis=0) + 1
    close = exact.low / naive_bayes_bound(np.bincount(y)[y[rows]], shared, sizes)
    assert_allclose([np.median(close), close.min()], [0.98, 0.82], rtol=0, atol=0.005)
    assert close.max() <= 1 + ROUNDING
    delta = laplace_delta(5000, int(np.bincount(y).min()), sizes).printed
    pdtp = log_ratio(fitted.log_p(x[rows]), fitted.log_p_without(rows))
    assert np.mean(exact.low > np.maximum(pdtp, log(delta)) + ROUNDING) == pytest.approx(0.019)


# By property: attributes of different sizes.


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Record], list[int], list[int], int]:
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    row = st.tuples(*(st.integers(0, v - 1) for v in sizes), st.integers(0, 1))
    rows = draw(st.lists(row, min_size=2, max_size=9))
    return [r[:-1] for r in rows], [r[-1] for r in rows], sizes, draw(st.integers(0, 2))


def shared_by_class(x: list[Record], y: list[int]) -> list[list[int]]:
    """How many of the first record's class have its values."""
    own = [row for row, label in zip(x, y, strict=True) if label == y[0]]
    return [[sum(row[j] == x[0][j] for row in own) for j in range(len(x[0]))]]


@settings(max_examples=times(60))
@given(tables())
def test_answers_change_no_further_than_the_joint(made):
    """The exact change of both labels' answers, and the certified bound, by exact refits."""
    x, y, sizes, alpha = made
    shown = F(1)
    own = y[0]
    emptied = y.count(own) == 1 or (not alpha and 1 in shared_by_class(x, y)[0])
    for query in product(*(range(v) for v in sizes)):
        before = naive_bayes(x, y, query, sizes, alpha)
        after = naive_bayes(x[1:], y[1:], query, sizes, alpha)
        if emptied or not sum(before):
            continue
        n = len(x)
        # Both 0 or neither; the other class, where there is one, loses n / (n - 1) of its joint.
        rho = F(after[own], 1) / before[own] * F(n - 1, n) if before[own] else F(1)
        p = posterior(before)
        q = posterior(after)
        assert q[own] == p[own] * rho / (1 + p[own] * (rho - 1))
        assert q[1 - own] == p[1 - own] / (1 + p[own] * (rho - 1))
        shown = max(shown, *apart(p, q))
    counted = shared_by_class(x, y)
    bound = naive_bayes_bound([y.count(own)], counted, sizes, alpha=alpha)[0]
    assert np.isinf(bound) == emptied
    assert log(shown) <= bound + ROUNDING


@settings(max_examples=times(100))
@given(
    st.integers(2, 60).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(2, n), min_size=1, max_size=6))
    ),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
def test_certified_bound_is_the_largest_over_all_sets(counted, v, alpha):
    """Every set of attributes in which a query may agree, one by one."""
    n, shared = counted
    found = 0.0
    for agrees in product((False, True), repeat=len(shared)):
        forced = not alpha and any(
            s == n and not same for s, same in zip(shared, agrees, strict=True)
        )
        if forced:
            continue
        rho = (n - 1) / n
        for same, count in zip(agrees, shared, strict=True):
            before = (count if same else n - count) + alpha
            after = (count - 1 if same else n - count) + alpha
            rho *= (after / (n - 1 + v * alpha)) / (before / (n + v * alpha)) if before else 1.0
        found = max(found, abs(log(rho)))
    bound = naive_bayes_bound([n], [shared], [v] * len(shared), alpha=alpha)[0]
    assert_allclose(bound, found, rtol=0, atol=1e-12)


@given(st.integers(2, 40), st.integers(1, 40), st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_printed_deltas_of_the_joint_are_no_smaller_than_needed(n, n_min, sizes):
    bound = laplace_delta(max(n, n_min), n_min, sizes)
    assert bound.of == "joint"
    assert not bound.holds_as_printed
    assert 1 < bound.delta <= bound.printed * (1 + ROUNDING)
    assert laplace_delta(max(n, n_min), n_min, sizes, alpha=0.5).printed is None


@pytest.mark.slow
def test_certified_bound_is_close_on_larger_tables():
    """Ten binary attributes; the exact DTP of two classes needs every set of agreements."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=300)
    x = (rng.random((300, 10)) < 0.3 + 0.2 * y[:, None]).astype(np.int64)
    fitted = NaiveBayes((2,) * 10).fit(x, y, n_classes=2)
    rows = np.arange(8)
    exact = fitted.dtp(rows, 0.0, Box(np.zeros(0), np.zeros(0))).low
    shared = np.array([(x[y == y[row]] == x[row]).sum(axis=0) for row in rows])
    bound = naive_bayes_bound(np.bincount(y)[y[rows]], shared, [2] * 10)
    assert (exact <= bound + ROUNDING).all()
    assert (exact >= bound / 2 - ROUNDING).all()
    assert np.median(exact / bound) > 0.7


def test_theorem_keeps_the_larger_of_both():
    bound = StabilityBound(1.5, "posterior", "here", None, holds_as_printed=False)
    found = bound_over_queries([1.0, 1.6, 1 / 1.6, 0.0, np.inf], bound)
    assert_allclose(found, [log(1.5), log(1.6), log(1.6), np.inf, np.inf])
    joint = StabilityBound(1.5, "joint", "here", None, holds_as_printed=False)
    assert_allclose(bound_over_queries([1.0, 1.6], joint), [2 * log(1.5), 2 * log(1.6)])


def test_deltas_too_large_for_a_number_are_infinite():
    assert lsq_delta(5000).delta == np.inf
    assert naive_bayes_delta(10, 1, 2).delta == np.inf
    assert naive_bayes_delta(10, 1, 1).delta == pytest.approx(10 / 9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: naive_bayes_delta(1, 1, 1), "n must be at least 2, got 1"),
        (lambda: naive_bayes_delta(5, 6, 1), "n_min must be at most n, got 6 of 5"),
        (lambda: naive_bayes_delta(5, 2, 0), "n_attributes must be at least 1, got 0"),
        (lambda: laplace_delta(5, 2, [2], alpha=0), "alpha must be above 0, got 0"),
        (lambda: laplace_delta(5, 2, []), "sizes must be numbers of values of at least 1"),
        (lambda: lsq_delta(0), "n_features must be at least 1, got 0"),
        (lambda: random_trees_delta("mean"), "answers must be .* got 'mean'"),
        (lambda: bound_over_queries(-1.0, lsq_delta(2)), "own_ratio must be at least 0, got -1.0"),
        (lambda: StabilityBound(0.5, "joint", "", None, False), "delta must be at least 1"),
        (lambda: StabilityBound(2.0, "prior", "", None, False), "of must be 'joint' or"),
        (lambda: naive_bayes_bound([2], [[3]], [2]), "shared must lie between 1 and n, got 3"),
        (lambda: naive_bayes_bound([2], [[1, 1]], [2]), "shared must have the shape"),
        (lambda: naive_bayes_bound([0], [[1]], [2]), "n must be at least 1, got 0"),
        (lambda: naive_bayes_bound([2], [[1]], [2], alpha=-1), "alpha must be at least 0, got -1"),
    ],
)
def test_border_names_the_rule(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_log_ratio_and_fractions_agree():
    """What the toolkit measures is what the tables by hand show."""
    x, y = INDIRECT_UNSMOOTHED.data
    fitted = NaiveBayes((2, 2), alpha=0.0).fit(np.array(x), np.array(y), n_classes=2)
    query = np.array([[0, 1]])
    shown = log_ratio(fitted.log_p(query), fitted.log_p_without_at(np.array([0]), query)[0])
    assert_allclose(shown, log(17 / 11), rtol=1e-12)
