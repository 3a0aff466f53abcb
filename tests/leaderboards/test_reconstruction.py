"""Exact reconstruction: against all labelings of small sets, and through the oracle."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.leaderboards.analysts import uniform_holdout
from privacygauge.leaderboards.bounds import reconstruction_queries
from privacygauge.leaderboards.designed import Reconstruction, reconstruct_labels
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.oracle import Budget
from tests.thorough import times

RNG = np.random.default_rng


def all_labelings(queries, counts, m):
    """Every labeling that gives the counts up to a shift, by trying all."""
    every = np.array(list(itertools.product(range(m), repeat=queries.shape[1])))
    right = (queries[None] == every[:, None]).sum(axis=2) - counts
    return every[(right == right[:, :1]).all(axis=1)]


@settings(max_examples=times(16))
@given(
    st.integers(1, 6), st.integers(2, 3), st.integers(1, 9), st.integers(-5, 40), st.integers(0, 99)
)
def test_it_finds_what_trying_all_finds(t, m, k, shift, seed):
    pytest.importorskip("ortools")
    rng = RNG(seed)
    truth = rng.integers(0, m, t)
    queries = rng.integers(0, m, (k, t))
    counts = (queries == truth).sum(axis=1) + shift
    found = reconstruct_labels(queries, counts, m)
    expected = all_labelings(queries, counts, m)
    assert found.unique == (len(expected) == 1)
    assert len(found.labelings) == min(len(expected), 2)
    for labeling in found.labelings:
        assert (expected == labeling).all(axis=1).any()
    if found.unique:
        assert np.array_equal(found.labelings[0], truth)


def test_counts_of_no_labeling():
    pytest.importorskip("ortools")
    found = reconstruct_labels([[0, 1], [0, 1]], [1, 2], 2)
    assert (found.complete, found.unique, found.labelings.shape) == (True, False, (0, 2))


@pytest.mark.parametrize(("m", "t", "k"), [(2, 30, 24), (3, 20, 22), (5, 15, 28)])
def test_labels_are_found_through_the_oracle(m, t, k):
    pytest.importorskip("ortools")
    holdout = uniform_holdout(200, m, RNG(0))
    oracle = holdout.open(RNG(1), budget=Budget(k))
    found = Reconstruction(t).decode(oracle, RNG(2))
    assert (found.method, found.converged, found.explained) == ("reconstruction", True, True)
    # The t points are right, the others guessed.
    draws = RNG(2)
    guesses = draws.integers(0, m, 200)
    points = draws.permutation(200)[:t]
    assert np.array_equal(found.labels[points], holdout.labels[points])
    outside = np.setdiff1d(np.arange(200), points)
    assert np.array_equal(found.labels[outside], guesses[outside])
    assert oracle.left() == 0


@pytest.mark.slow
def test_the_theorems_queries_suffice():
    pytest.importorskip("ortools")
    # With probability 1/2 by the theorem; all of six in practice.
    k = reconstruction_queries(33, 3)
    for seed in range(times(6)):
        holdout = uniform_holdout(50, 3, RNG(seed))
        oracle = holdout.open(RNG(seed), budget=Budget(k))
        assert Reconstruction(33).decode(oracle, RNG(seed)).converged


def test_it_says_when_several_labelings_remain():
    pytest.importorskip("ortools")
    holdout = uniform_holdout(30, 3, RNG(0))
    found = Reconstruction(30).decode(holdout.open(RNG(1), budget=Budget(3)), RNG(2))
    assert not found.converged
    assert found.explained
    assert found.note == (
        "several labelings give these answers: ask more, or reconstruct fewer points"
    )


def test_another_attack_stands_in_where_answers_are_not_exact():
    holdout = uniform_holdout(300, 2, RNG(0))
    oracle = holdout.open(RNG(1), guard=guard_named("round:2"), budget=Budget(100))
    found = Reconstruction().decode(oracle, RNG(2))
    assert found.method in ("message-passing", "nb")
    assert found.note.startswith("a reconstruction needs exact answers, these are off by 0.0029")


def test_the_solver_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(
        InputError, match=r"needs OR-Tools, .* pip install 'privacygauge\[solver\]'$"
    ):
        reconstruct_labels([[0, 1]], [1], 2)


@pytest.mark.parametrize(
    ("queries", "counts", "m", "message"),
    [
        ([0, 1], [1, 1], 2, r"queries must be integers of the shape \(2, t\)$"),
        ([[0.5]], [1], 2, r"queries must be integers of the shape \(1, t\)$"),
        ([[0, 2]], [1], 2, r"queries must hold labels in 0\.\.m-1, with m at least 2, got m 2$"),
        ([[0]], [0.5], 2, r"counts must be integers, got 0\.5 in row 0$"),
        (np.zeros((500, 500), int), np.zeros(500), 2, "a full search takes at most 200,000 labels"),
    ],
)
def test_what_is_no_question(queries, counts, m, message):
    with pytest.raises(InputError, match=f"^{message}"):
        reconstruct_labels(queries, counts, m)


def test_what_it_refuses_and_needs():
    with pytest.raises(InputError, match=r"^size must be at least 1, got 0$"):
        Reconstruction(0)
    with pytest.raises(InputError, match=r"^seconds must be above 0, got inf$"):
        Reconstruction(seconds=float("inf"))
    assert Reconstruction().needs_points
    assert Reconstruction().unaided() is None
