"""Rows are equal by chance, as leaves of a tree give them, or because they are copies."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.units import Equal


def sides(share: float, seed: int) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.random(1000) < share, rng


@pytest.mark.parametrize("share", [0.5, 0.1, 0.9])
def test_answers_that_are_often_equal_are_no_copies_however_unlike_the_sides_are_in_size(share):
    found = 0
    for seed in range(50):
        member, rng = sides(share, seed)
        # Most answers are certain, and count as different; the others share leaves.
        sure = rng.random(1000) < 0.78
        rows = np.where(sure, 1000 + np.arange(1000), rng.integers(70, size=1000))
        found += Equal(rows, np.zeros(1000, np.int64)).copied(member)
    assert not found


@pytest.mark.parametrize("share", [0.5, 0.1, 0.9])
def test_copies_on_the_other_side_are_copies(share):
    member, rng = sides(share, 0)
    rows = np.arange(1000)
    taken = rng.permutation(np.flatnonzero(~member))[:40]
    rows[taken] = rng.choice(np.flatnonzero(member), len(taken))
    assert Equal(rows, np.zeros(1000, np.int64)).copied(member)


@pytest.mark.parametrize("copies", [2, 3, 5])
@pytest.mark.parametrize("answers", [30, 10**6])
def test_rows_that_are_all_written_equally_often_make_a_unit_each_time(copies, answers):
    """Also where a model has so few answers that rows of several people are equal."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        person = np.repeat(np.arange(200), copies)
        order = rng.permutation(len(person))
        answer = rng.integers(answers, size=200)[person][order]
        member = (rng.random(200) < 0.5)[person][order]
        unit = Equal(answer, np.zeros(len(answer), np.int64)).copies_of_each(member)
        assert unit is not None
        assert (np.bincount(unit) == copies).all()
        for rows in (answer, member):  # of one answer and one side
            assert len(np.unique(np.column_stack([unit, rows]), axis=0)) == 200


@pytest.mark.parametrize("answers", [30, 400, 10**6])
def test_answers_of_one_row_each_are_no_copies_of_each(answers):
    for seed in range(20):
        member, rng = sides(0.5, seed)
        rows = rng.integers(answers, size=1000)
        assert Equal(rows, np.zeros(1000, np.int64)).copies_of_each(member) is None


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_members_copied_several_times_are_copies(share: float, seed: int) -> None:
    """The copies of one member equal each other as often as they equal the member."""
    member, rng = sides(0.5, seed)
    rows = np.arange(1000)
    outside = np.flatnonzero(~member)
    taken = outside[rng.random(len(outside)) < share]
    rows[taken] = rng.choice(np.flatnonzero(member), len(taken))
    assert Equal(rows, np.zeros(1000, np.int64)).copied(member)


@pytest.mark.parametrize("known", [0.2, 0.9, 1.0])
@pytest.mark.parametrize("others", [0.02, 0.2, 0.8])
def test_members_known_by_heart_are_no_copies(known: float, others: float) -> None:
    """A tree has one answer for the members that it knows, and for a few others by chance."""
    found = 0
    for seed in range(30):
        member, rng = sides(0.5, seed)
        sure = rng.random(1000) < np.where(member, known, others)
        rows = np.where(sure, rng.integers(4, size=1000), 10 + rng.integers(60, size=1000))
        found += Equal(rows, np.zeros(1000, np.int64)).copied(member)
    assert not found
