"""The linear program: against all labelings of tiny sets, and message passing on larger ones."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.leaderboards.analysts import play, uniform_holdout
from privacygauge.leaderboards.decoding import (
    LinearProgramming,
    MessagePassing,
    answer_shares,
    ask_random_queries,
    decode_by_program,
)
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.naive_bayes import NaiveBayes
from privacygauge.leaderboards.oracle import Budget, Holdout
from privacygauge.leaderboards.priors import Knowledge
from tests.thorough import times

RNG = np.random.default_rng


def data_of(holdout, k, seed, knowledge=None, guard=None):
    oracle = holdout.open(RNG(seed), budget=Budget(k), guard=guard)
    return ask_random_queries(oracle, knowledge, RNG(seed))


@pytest.mark.slow
@settings(max_examples=times(60))
@given(st.integers(1, 6), st.integers(2, 3), st.integers(1, 9), st.integers(0, 2**32))
def test_a_whole_solution_is_a_labeling_that_gives_all_answers(n, m, k, seed):
    holdout = uniform_holdout(n, m, RNG(seed))
    data = data_of(holdout, k, seed)
    found = decode_by_program(data, RNG(0))
    matrix = data.queries.points(0, n)
    every = np.array(list(itertools.product(range(m), repeat=n)))
    counts = (matrix[None] == every[:, :, None]).sum(axis=1)
    right = every[(counts == data.counts).all(axis=1)]
    assert found.method == "linear-programming"
    if not found.note:
        assert found.explained
        assert (right == found.labels).all(axis=1).any()


@pytest.mark.parametrize(("n", "m", "k"), [(120, 2, 84), (40, 5, 64), (30, 10, 66)])
def test_labels_are_recovered_where_message_passing_recovers_them(n, m, k):
    holdout = uniform_holdout(n, m, RNG(0))
    data = data_of(holdout, k, 1)
    found = decode_by_program(data, RNG(0))
    assert found.explained
    assert np.array_equal(found.labels, holdout.labels)
    assert np.array_equal(message_passing_labels(data), holdout.labels)


def message_passing_labels(data):
    from privacygauge.leaderboards.decoding import decode_by_messages as by_messages

    return by_messages(data, RNG(0)).labels


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [0.4, 0.8])
def test_the_threshold_is_message_passings(ratio):
    holdout = uniform_holdout(200, 2, RNG(2))
    k = int(200 * ratio)
    accuracies = [
        play(a, holdout, k, RNG(3)).accuracy for a in (LinearProgramming(), MessagePassing())
    ]
    assert [a == 1.0 for a in accuracies] == [ratio == 0.8] * 2


def test_neither_of_two_candidates_and_an_unknown_constant():
    rng = RNG(4)
    labels = rng.integers(0, 4, 60)
    points = np.arange(20, 60)
    pairs = np.stack([labels[points], (labels[points] + 1) % 4], axis=1)[:, ::-1]
    pairs[:5] = (labels[points[:5], None] + [1, 2]) % 4
    knowledge = Knowledge(
        (labels + rng.integers(0, 2, 60)) % 4, points, pairs, np.log(np.full((40, 2), 0.45)), 4
    )
    found = decode_by_program(data_of(Holdout(labels, 4), 60, 5, knowledge), RNG(0))
    assert found.explained
    right = found.labels == labels
    assert right[25:].all()
    assert not right[20:25].any()
    assert np.array_equal(found.labels[:20], knowledge.base[:20])


def test_noise_is_paid_for():
    holdout = uniform_holdout(80, 2, RNG(6))
    found = decode_by_program(data_of(holdout, 160, 7, guard=guard_named("noise:0.02")), RNG(0))
    assert holdout.score(found.labels) > 0.95
    assert not found.explained


def test_it_says_when_it_is_naive_bayes():
    holdout = uniform_holdout(2_000, 2, RNG(0))
    mine = LinearProgramming().decode(holdout.open(RNG(0), budget=Budget(1_001)), RNG(1))
    theirs = NaiveBayes().answer(holdout.open(RNG(0), budget=Budget(1_001)), RNG(1))
    assert mine.method == "nb"
    assert np.array_equal(mine.labels, theirs)
    entries = "a linear program takes 1 to 4,000,000 entries, k p r, this would have 4,004,000"
    assert mine.note == entries
    small = data_of(uniform_holdout(10, 2, RNG(0)), 9, 0)
    # More right labels than there are points.
    impossible = decode_by_program(replace(small, answers=small.answers + 2.0), RNG(0))
    assert impossible.method == "nb"
    assert impossible.note.startswith("no solution: The problem is infeasible")
    nothing = LinearProgramming().decode(holdout.open(RNG(0), budget=Budget(0)), RNG(1))
    assert nothing.method == "nb"


def test_shares_that_are_left_are_rounded():
    found = decode_by_program(data_of(uniform_holdout(60, 2, RNG(1)), 12, 2), RNG(0))
    assert found.note == "the answers leave shares of labels, which were rounded"
    assert not found.explained


def test_rows_count_what_a_query_gives():
    data = data_of(uniform_holdout(7, 3, RNG(0)), 5, 1)
    labels = RNG(2).integers(0, 3, 7)
    rows = answer_shares(data.queries)
    matrix = data.queries.points(0, 7)
    assert rows.shape == (5, 7 * 4)
    shares = np.eye(4)[labels].reshape(-1)
    assert np.array_equal(rows @ shares, (matrix == labels[:, None]).sum(axis=0))


def test_what_it_refuses_and_needs():
    with pytest.raises(InputError, match=r"^seconds must be above 0, got 0$"):
        LinearProgramming(seconds=0)
    assert LinearProgramming().needs_points
    assert LinearProgramming().unaided() is None
