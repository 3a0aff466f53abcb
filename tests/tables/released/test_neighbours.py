"""The nearest record of another table, against all pairs."""

from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.tables.distance import Cosine, Minkowski, rough_of, space_of
from privacygauge.tables.frames import read_table
from privacygauge.tables.released import neighbours
from privacygauge.tables.released.neighbours import nearest_points
from tests.tables.made_tables import table_of


def naive(space, asked, among):
    """Return the least distances and those of every pair."""
    found = space.between(asked[:, None], among[None, :])
    return found.min(axis=1), found


@given(
    st.integers(0, 10**6),
    st.sampled_from([(3, 2), (3, 0), (0, 2), (0, 1), (2, 4)]),
    st.sampled_from([Cosine(), Minkowski(1), Minkowski(2), Minkowski(3)]),
    st.sampled_from([None, 2]),
    st.sampled_from([(0, 2**12), (0, 4), (30, 2**12)]),
)
def test_as_all_pairs_say(seed, widths, distance, levels, effort):
    # Level by level to the end, until there are more candidates than four, or all at once.
    with patch.multiple(neighbours, _PASS=effort[0], _MOST=effort[1]):
        all_pairs_say(seed, widths, distance, levels)


def all_pairs_say(seed, widths, distance, levels):
    rng = np.random.default_rng(seed)
    space = space_of(table_of(rng, 40, *widths, missing=0.1, levels=levels), distance)
    order = rng.permutation(40)
    asked = order[:15]
    among = order[10:]
    found = nearest_points(space, asked, among)
    least, pairs = naive(space, asked, among)
    np.testing.assert_allclose(found.distance, least, atol=1e-12)
    place = {row: i for i, row in enumerate(among)}
    chosen = np.array([place[row] for row in found.row])
    np.testing.assert_allclose(pairs[np.arange(15), chosen], least, atol=1e-12)
    # None before it in the order given is as near, but for rounding.
    for i, j in enumerate(chosen):
        assert (pairs[i, :j] >= least[i] - 1e-12).all()
        assert not (pairs[i, :j] < pairs[i, j]).any()


@pytest.mark.parametrize("distance", [Cosine(), Minkowski(1)], ids=lambda d: d.name)
@pytest.mark.parametrize("widths", [(3, 2), (3, 0)])
def test_of_equal_points_the_first_in_the_order_given(distance, widths):
    rng = np.random.default_rng(0)
    space = space_of(table_of(rng, 60, *widths, levels=3), distance)
    among = rng.permutation(60)
    found = nearest_points(space, np.arange(60), among)
    keys = [tuple(row) for row in np.hstack([space.codes, space.numbers])]
    first = [next(j for j in among if keys[j] == keys[i]) for i in range(60)]
    assert found.row.tolist() == first
    np.testing.assert_allclose(found.distance, 0.0, atol=1e-15)


def test_names_are_compared_though_there_are_many():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"name": rng.integers(0, 300, 400).astype(str), "age": rng.random(400)})
    space = space_of(read_table(frame, categorical=["name"]), Minkowski(1))
    asked = np.arange(100)
    among = np.arange(100, 400)
    compact = neighbours._compact(space[np.concatenate([among, asked])], 300)
    assert compact.sizes[0] < space.sizes[0]
    for distinct in (Minkowski(1), Cosine()):
        space = space_of(read_table(frame, categorical=["name"]), distinct)
        found = nearest_points(space, asked, among)
        np.testing.assert_allclose(found.distance, naive(space, asked, among)[0], atol=1e-12)


@pytest.mark.parametrize(
    ("widths", "expected"), [((2, 0), Cosine()), ((2, 1), Minkowski(1)), ((0, 2), Cosine())]
)
def test_one_column_of_numbers_has_no_direction(widths, expected):
    schema = table_of(np.random.default_rng(0), 20, *widths).schema
    assert neighbours.usual_distance(schema) == expected


@pytest.mark.parametrize("distance", [Cosine(), Minkowski(1)], ids=lambda d: d.name)
def test_what_single_precision_cannot_tell_apart(distance):
    # Points so close together that rounding to single precision orders them again.
    again = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        near = 0.5 + 1e-7 * rng.random((50, 4))
        points = np.vstack([np.zeros(4), np.ones(4), [1.0, 0.3, 0.1, 0.2], near])
        space = space_of(read_table(pd.DataFrame(points)), distance)
        among = np.arange(3, 53)
        exact = space.between(np.array(2), among)
        assert nearest_points(space, np.array([2]), among).row.tolist() == [among[exact.argmin()]]
        rough = rough_of(space, 1).distances(np.array([2]))[0, 3:]
        again += rough[exact.argmin()] > rough.min()
    assert again > 0


def test_levels_change_nothing(monkeypatch):
    space = space_of(table_of(np.random.default_rng(0), 1500, 3, 2, missing=0.05), Cosine())
    asked = np.arange(1000)
    among = np.arange(1000, 1500)
    by_level = nearest_points(space, asked, among)
    monkeypatch.setattr(neighbours, "_PASS", 10**9)
    at_once = nearest_points(space, asked, among)
    assert np.array_equal(by_level.distance, at_once.distance)
    assert np.array_equal(by_level.row, at_once.row)


def test_blocks_and_parts_change_nothing(monkeypatch):
    monkeypatch.setattr(neighbours, "_PASS", 10**9)
    space = space_of(table_of(np.random.default_rng(0), 1500, 3, 2, missing=0.05), Cosine())
    asked = np.arange(1000)
    among = np.arange(1000, 1500)
    whole = nearest_points(space, asked, among)
    monkeypatch.setattr(neighbours, "_BLOCK", 2**14)
    monkeypatch.setattr(neighbours, "_PAIRS", 50)
    parts = nearest_points(space, asked, among)
    assert np.array_equal(whole.distance, parts.distance)
    assert np.array_equal(whole.row, parts.row)
