"""Attackers who learn from the synthetic table: what they must do, and the look-up by a loop."""

import numpy as np
import pandas as pd
import pytest

from privacygauge.tables.frames import read_table
from privacygauge.tables.generators.generator import Silence, SynthPop
from privacygauge.tables.released import inference
from privacygauge.tables.released.inference import (
    Encoded,
    agrees,
    best_guesses,
    most_often_right,
)
from tests.tables.released.made_released import people, released
from tests.thorough import THOROUGH

N = 400


def guessed(made, j, asked, off=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return best_guesses(Encoded(made, asked, [j], rng), j, off, rng)


def right(made, j, asked, off=0.0, seed=0):
    found = guessed(made, j, [asked], off, seed)
    return agrees(found.values[0], asked.values[:, j], off).mean()


@pytest.fixture(scope="module")
def tables():
    return released(np.random.default_rng(0), N)


@pytest.mark.slow
@pytest.mark.parametrize("j", range(6) if THOROUGH else [2, 3])
def test_a_table_of_the_records_tells_their_values(tables, j):
    assert right(tables.real, j, tables.real) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("j", range(6) if THOROUGH else [2, 5])
def test_no_attacker_does_clearly_worse_than_a_constant(tables, j):
    """Not even where a column depends on no other."""
    made = tables.synthetic
    others = tables.holdout
    off = 300.0 if j == 2 else 0.0
    constant = np.full(N, most_often_right(made.values[:, j], off))
    naive = agrees(constant, others.values[:, j], off).mean()
    assert right(made, j, others, off) >= naive - 3 * np.sqrt(0.25 / N)


def test_what_others_tell_is_learnt():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 9, (2, 900))
    frame = pd.DataFrame({"a": a, "b": b, "c": np.where((a > 4) ^ (b > 4), "x", "y")})
    table = read_table(frame)
    taught = table[np.arange(600)]
    asked = table[np.arange(600, 900)]
    noise = read_table(frame.assign(d=rng.normal(size=900), e=rng.normal(size=900)))
    assert right(taught, 2, asked) == 1.0
    assert right(noise[np.arange(600)], 2, noise[np.arange(600, 900)]) > 0.9


def test_where_little_can_be_told_the_forest_that_repeats_copies_is_chosen():
    """Exact comparison would choose a constant for half of such columns, which repeats nothing."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({name: rng.integers(0, 50, 300) for name in "abcdef"})
    copied = frame.copy()
    for name in frame:
        lost = rng.random(300) < 0.2
        copied.loc[lost, name] = rng.integers(0, 50, lost.sum())
    real = read_table(frame)
    made = read_table(copied)
    assert min(right(made, j, real) for j in range(6)) > 0.3


@pytest.mark.parametrize("fewest", [1, 3, 10, np.inf])
def test_leaves_are_cut_back_to_enough_records_as_by_a_loop(fewest):
    from sklearn.tree import ExtraTreeClassifier

    rng = np.random.default_rng(8)
    tree = ExtraTreeClassifier(random_state=0).fit(rng.random((200, 3)), rng.integers(4, size=200))
    node = inference._cut_back(tree.tree_, fewest)
    parent = {}
    for one in range(tree.tree_.node_count):
        parent[tree.tree_.children_left[one]] = parent[tree.tree_.children_right[one]] = one
    for start in range(tree.tree_.node_count):
        one = start
        while one and tree.tree_.n_node_samples[one] < fewest:
            one = parent[one]
        assert node[start] == one
    of_leaves = node[tree.tree_.children_left < 0]
    assert (tree.tree_.n_node_samples[of_leaves] >= min(fewest, 200)).all()


@pytest.mark.slow
def test_a_number_is_guessed_where_most_lie_within_the_tolerance():
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.uniform(0, 100, 300), np.full(100, 50.0), rng.normal(80, 1, 200)])
    made = read_table(pd.DataFrame({"x": values, "y": rng.normal(size=600)}))
    far = read_table(pd.DataFrame({"x": values, "y": rng.normal(size=600)}))
    known, told = guessed(made, 0, [made, far], 2.0).values
    assert agrees(told, far.values[:, 0], 2.0).mean() > 0.2
    assert np.isfinite(known).all()


@pytest.mark.slow
def test_a_value_that_many_have_is_guessed_itself():
    """A grid would put 40 on the edge of a cell, and guess what is right about nobody else."""
    rng = np.random.default_rng(5)
    hours = np.where(rng.random(900) < 0.5, 40, rng.integers(1, 99, 900)).astype(float)
    made = read_table(pd.DataFrame({"x": hours, "y": rng.normal(size=900)}))
    fresh = np.where(rng.random(900) < 0.5, 40, rng.integers(1, 99, 900)).astype(float)
    fresh = read_table(pd.DataFrame({"x": fresh, "y": rng.normal(size=900)}))
    assert right(made, 0, fresh, 2.1) > 0.4


def test_a_value_that_one_record_has_stops_no_attacker():
    frame = people(np.random.default_rng(6), 60).assign(rare=["x"] * 59 + ["y"])
    table = read_table(frame)
    assert right(table, 6, table) == 1.0


def test_equals_are_looked_up_as_by_a_loop():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.choice(list("abc"), 80) for name in "uvw"})
    made = read_table(frame)
    asked = made[np.arange(30)]
    task = inference._Task(Encoded(made, [asked], [2], rng), 2, 0.0)
    rows = np.arange(40, 80)
    there, values = task.looked_up(rows, task.asked_keys[0])
    for i in range(30):
        equal = [r for r in rows if (made.values[r, :2] == asked.values[i, :2]).all()]
        assert there[i] == bool(equal)
        if equal:
            seen = np.bincount(made.values[equal, 2].astype(int), minlength=3)
            assert seen[int(values[i])] == seen.max()


@pytest.mark.slow
def test_missing_numbers_and_columns_of_one_value_are_guessed():
    frame = people(np.random.default_rng(4), 80).assign(one="x")
    table = read_table(frame)
    for j in (4, 6):
        assert right(table, j, table) == 1.0
    silent = Silence().generate(table, 80, np.random.default_rng(0))
    assert 0 <= right(silent, 0, table, 2.0) <= 1


@pytest.mark.slow
def test_columns_that_are_asked_about_are_not_looked_at(tables):
    made = SynthPop().generate(tables.real, N, np.random.default_rng(0))
    hidden = people(np.random.default_rng(9), N)["pay"].to_numpy()
    blinded = tables.real.values.copy()
    blinded[:, 2] = np.clip(hidden, *(getattr(made.schema.columns[2], e) for e in ("low", "high")))
    sides = tables.real, type(tables.real)(made.schema, blinded)
    one, other = guessed(made, 2, sides, 300.0).values
    assert np.array_equal(one, other)
