"""Samples on both sides are left out, and counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.language.scores import text_scores
from privacygauge.language.texts import find_overlap


def test_by_id():
    scores = text_scores(
        ["a", "b", "a", "c", "b", "d"],
        np.arange(6),
        [1, 1, 0, 0, 0, 0],
        population=[0, 0, 0, 0, 1, 1],
        group=list("uvwxyz"),
    )
    # a is on both sides; b is a member in the population.
    assert scores.sample == ("b", "c", "d")
    assert scores.energy_target.tolist() == [1, 3, 5]
    assert scores.group == ("v", "x", "z")
    assert scores.notes == (
        "1 member(s) and 1 non-member(s) with the same id were left out: what was trained on is no "
        "non-member.",
        "1 population sample(s) with the same id as a judged sample were left out: the "
        "threshold must not see what is judged.",
    )


def test_by_text_but_for_case_and_white_space():
    texts = ["The patient is well.", "B", "the  patient is\nWELL.", "C", "b", "C"]
    scores = text_scores(list("abcdef"), np.arange(6), [1, 1, 0, 0, 1, 0], text=texts)
    # Copies inside one side stay: training data may well hold a text twice.
    assert scores.sample == ("b", "d", "e", "f")
    assert "1 member(s) and 1 non-member(s) with the same text" in scores.notes[0]


def test_nothing_left():
    with pytest.raises(InputError, match=r"^every non-member is on both sides, by its id or its"):
        text_scores(["a", "b", "a"], [1, 2, 3], [1, 1, 0])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=30))
def test_what_stays_is_on_one_side(rows):
    keys = [str(key) for key, _ in rows]
    parts = np.array([part for _, part in rows], int)
    ids = [str(row) for row in range(len(rows))]
    kept = find_overlap(ids, parts == 0, parts == 2, keys).kept
    for row, (key, part) in enumerate(rows):
        there = {other for other_key, other in rows if other_key == key}
        # Naively: judged on both sides goes; population goes where anybody judged has the text.
        goes = {0, 1} <= there or (part == 2 and bool(there & {0, 1}))
        assert kept[row] == (not goes)
