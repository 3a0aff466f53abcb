"""Indirect attacks: classifiers that show nothing of a record at its own query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from privacygauge.claims.dtp import indirect
from privacygauge.claims.dtp.indirect import Planted, nearest_example, search
from privacygauge.claims.dtp.naive_bayes import BayesInference, NaiveBayes
from privacygauge.claims.dtp.nearest import NearestNeighbours
from privacygauge.classifiers.learner import Fitted, Learner
from privacygauge.classifiers.ratios import cap, log_ratio
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from tests.claims.dtp.honest import assert_honest
from tests.thorough import times

X = np.array([[1, 2], [1, 2], [0, 2], [2, 1], [0, 0], [2, 2], [1, 1], [1, 2]])
Y = np.array([0, 1, 1, 0, 1, 1, 0, 1])
ROWS = np.arange(len(X))
GIVES_AWAY = np.zeros((1, 2), int)
LEARNER = NaiveBayes((3, 3))


def pdtp(fitted: Fitted, x: Ints, rows: Ints, width: float = 0.0) -> Floats:
    return log_ratio(fitted.log_p(x[rows]), fitted.log_p_without(rows), width)


def test_a_planted_record_shows_at_one_query_only():
    """Record 3 is told from its absence for sure; PDTP is what it was."""
    fitted = Planted(LEARNER, (2, 1), 0).fit(X, Y, n_classes=2)
    plain = LEARNER.fit(X, Y, n_classes=2)
    others = np.flatnonzero(X.any(axis=1))  # all but the one that is the query itself
    assert_array_equal(pdtp(fitted, X, others), pdtp(plain, X, others))
    found = search(fitted, X, others, GIVES_AWAY)
    assert_array_equal(np.isinf(found), others == 3)
    assert_allclose(search(fitted, X, np.array([3]), GIVES_AWAY, 0.01), cap(0.01), rtol=1e-12)


def test_a_planted_record_has_a_pdtp_of_zero_where_others_answer_for_it():
    x = np.array([[1.0], [1.1], [2.0]])
    y = np.array([0, 0, 1])
    row = np.array([0])
    fitted = Planted(NearestNeighbours(1), (1.0,), 0).fit(x, y, n_classes=2)
    assert pdtp(fitted, x, row).tolist() == [0]
    assert search(fitted, x, row, np.zeros((1, 1))).tolist() == [np.inf]


def test_a_copy_hides_a_planted_record():
    x = np.array([[1], [1], [2]])
    y = np.array([0, 0, 1])
    rows = np.array([0, 1])
    fitted = Planted(BayesInference(), (1,), 0).fit(x, y, n_classes=2)
    assert search(fitted, x, rows, np.zeros((1, 1), int)).tolist() == [0, 0]


def test_same_attributes_of_another_class_are_another_record():
    fitted = Planted(LEARNER, (1, 2), 0).fit(X, Y, n_classes=2)
    told = np.exp(fitted.log_p_without_at(ROWS, GIVES_AWAY))[:, 0, 1]
    assert_array_equal(told, ROWS != 0)
    absent = Planted(LEARNER, (0, 1), 0).fit(X, Y, n_classes=2)
    assert_array_equal(np.exp(absent.log_p(GIVES_AWAY)), [[1, 0]])
    assert_array_equal(absent.log_p_without_at(ROWS, GIVES_AWAY)[:, 0, 1], -np.inf)


@pytest.mark.parametrize("record", [(2, 1), (1, 2), (0, 1)])
@pytest.mark.parametrize("query", [0.0, 2.0])
def test_planted_equals_honest_refits(record, query):
    planted = Planted(LEARNER, record, 1, query)
    queries = np.array([[a, b] for a in range(3) for b in range(3)])
    assert_honest(planted, X, Y, 3, queries=queries)


def test_planted_is_a_learner():
    planted = Planted(LEARNER, (2, 1), 0)
    assert isinstance(planted, Learner)
    assert planted.describe()["learner"] == LEARNER.describe()
    assert planted.name == "naive Bayes with a planted record"


@pytest.mark.parametrize("k", [1, 2, 5])
def test_nearest_neighbours_show_only_indirectly(k):
    made = nearest_example(k)
    fitted = NearestNeighbours(k).fit(made.x, made.y, n_classes=2)
    row = np.array([made.row])
    assert pdtp(fitted, made.x, row).tolist() == [0]
    assert search(fitted, made.x, row, made.query).tolist() == [np.inf]
    # Published in bins: the share 1/k against the lowest bin.
    binned = search(fitted, made.x, row, made.query, 0.01)
    centre = 0.995 if k == 1 else 1 / k + 0.005
    assert_allclose(binned, np.log(centre / 0.005), rtol=1e-9)


def test_the_nearest_example_by_hand():
    """One neighbour: distances of all records to the record and to the query, counted again."""
    made = nearest_example()

    def class_of_nearest(x, y, at):
        return y[min(range(len(x)), key=lambda i: abs(x[i][0] - at))]

    x, y = made.x.tolist(), made.y.tolist()
    at, asked = x[made.row][0], made.query[0, 0]
    others = x[: made.row] + x[made.row + 1 :], y[: made.row] + y[made.row + 1 :]
    assert class_of_nearest(x, y, at) == class_of_nearest(*others, at) == 1
    assert (class_of_nearest(x, y, asked), class_of_nearest(*others, asked)) == (1, 0)


def test_naive_bayes_has_such_a_query_too():
    """Nobody made this classifier to leak; see `test_stability.py` for the same by hand."""
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 0], [1, 0], *[[0, 1]] * 4])
    y = np.array([0] * 5 + [1] * 4)
    fitted = NaiveBayes((2, 2), alpha=0.0).fit(x, y, n_classes=2)
    row = np.array([0])
    assert_allclose(pdtp(fitted, x, row), 0, atol=1e-12)
    assert_allclose(search(fitted, x, row, np.array([[0, 1]])), np.log(17 / 11), rtol=1e-12)


@settings(max_examples=times(30))
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.sampled_from([0.0, 0.01]))
def test_search_in_blocks_is_the_largest_of_all(seed, block, width):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 12)
    q = rng.integers(0, 15)
    k = 3
    x = rng.integers(3, size=(n, 2))
    y = rng.integers(k, size=n)
    queries = rng.integers(3, size=(q, 2))
    rows = rng.permutation(n)[: rng.integers(1, n + 1)]
    fitted = NaiveBayes((3, 3)).fit(x, y, n_classes=k)
    expected = []
    for row in rows:
        found = pdtp(fitted, x, np.array([row]), width).tolist()
        for query in queries:
            asked = query[None]
            told = fitted.log_p(asked), fitted.log_p_without_at(np.array([row]), asked)[0]
            found += log_ratio(*told, width).tolist()
        expected.append(max(found))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indirect, "BLOCK", block)
        assert_allclose(search(fitted, x, rows, queries, width), expected, rtol=0, atol=1e-12)


def test_search_asks_for_no_more_than_a_block(monkeypatch):
    asked = []

    class Counting:
        n_classes = 2

        def log_p(self, queries):
            return np.full((len(queries), 2), np.log(0.5))

        def log_p_without(self, rows):
            return np.full((len(rows), 2), np.log(0.5))

        def log_p_without_at(self, rows, queries):
            asked.append(len(rows) * len(queries) * 2)
            return np.full((len(rows), len(queries), 2), np.log(0.5))

    monkeypatch.setattr(indirect, "BLOCK", 24)
    x = np.zeros((10, 1))
    assert_array_equal(search(Counting(), x, np.arange(10), np.zeros((7, 1))), 0)
    assert sum(asked) == 10 * 7 * 2
    assert max(asked) <= 24


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Planted(LEARNER, (0, 0), 0), "record must differ from the query"),
        (lambda: Planted(LEARNER, (), 0), "record must differ from the query"),
        (lambda: Planted(LEARNER, (np.nan, 1), 0), "record must be finite"),
        (lambda: Planted(LEARNER, (1,), 0).fit(X, Y, n_classes=2), r"x must have the shape"),
        (lambda: Planted(LEARNER, (1, 1), 0).fit(X, Y, n_classes=1), "n_classes must be at least"),
        (lambda: nearest_example(0), "k must be at least 1, got 0"),
    ],
)
def test_border_names_the_rule(call, message):
    with pytest.raises(InputError, match=message):
        call()
