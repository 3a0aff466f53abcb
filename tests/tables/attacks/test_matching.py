"""Counting queries over many tables against counting row by row."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.tables.attacks.query_based import (
    answers_on,
    asked_once,
    check_comparisons,
    conditions_of,
    same_bin,
    subsets_up_to,
)
from privacygauge.tables.generators.binning import Binning
from privacygauge.tables.table import Column, Schema, Table
from tests.tables.attacks.made_views import view_of

COMPARISONS = ("at most", "equal", "same bin")


def agrees(view, compare, j, value, codes):
    target = view.target[j]
    column = view.schema.columns[j]
    if np.isnan(target):
        return np.isnan(value)
    if not column.is_number or compare == "equal":
        return value == target
    return value <= target if compare == "at most" else codes[0] == codes[1]


def counted(view, table, compare, subset):
    """Return how many rows meet all conditions, by looking at each."""
    codes = Binning(view.schema).codes(Table(view.schema, np.vstack([table, view.target])))
    return sum(
        all(agrees(view, compare, j, row[j], (own[j], codes[-1, j])) for j in set(subset))
        for row, own in zip(table, codes[:-1], strict=True)
    )


@pytest.mark.slow
@given(
    seed=st.integers(0, 1000),
    compare=st.sampled_from(COMPARISONS),
    levels=st.sampled_from([None, 15]),
)
def test_answers_are_counts_of_rows(seed, compare, levels):
    rng = np.random.default_rng(seed)
    view, _ = view_of(rng, n_cat=2, n_cont=2, shadows=4, n=8, missing=0.3, levels=levels)
    subsets = subsets_up_to(4, 100, 4, rng)
    kinds = conditions_of(view.schema, view.target, (compare,))
    found = answers_on(view.shadows, kinds, (subsets,))
    few = answers_on(view.shadows, kinds, (subsets[:1],))  # by bitmaps, as they are so few
    wanted = [[counted(view, table, compare, s) for s in subsets] for table in view.shadows]
    assert np.array_equal(found, wanted)
    assert np.array_equal(few[:, 0], np.array(wanted)[:, 0])


@pytest.mark.parametrize("width", [5, 22, 40])
def test_wide_tables_are_counted_alike(width):
    rng = np.random.default_rng(width)
    tables = rng.integers(2, size=(3, 60, width)) * 1.0
    schema = Schema(
        tuple(Column(f"c{j}", "categorical", categories=("a", "b")) for j in range(width))
    )
    target = np.ones(width)
    subsets = subsets_up_to(width, 500, 6, rng)
    found = answers_on(tables, conditions_of(schema, target, ("equal",)), (subsets,))
    wanted = [[(t[:, s] == 1).all(axis=1).sum() for s in subsets] for t in tables]
    assert np.array_equal(found, wanted)


def test_single_precision_finds_the_targets_own_value():
    schema = Schema((Column("x", "continuous", 0.0, 1.0),))
    tables = np.array([[[0.1], [0.3]]], np.float32)
    kinds = conditions_of(schema, np.array([0.1]), COMPARISONS)
    found = answers_on(tables, kinds, (np.zeros((1, 1), np.int64),) * 3)
    assert found.tolist() == [[1, 1, 1]]


@given(
    low=st.integers(-50, 50),
    width=st.integers(0, 60),
    bins=st.integers(1, 12),
    kind=st.sampled_from(["integer", "continuous"]),
)
def test_bins_are_those_of_the_generators(low, width, bins, kind):
    schema = Schema((Column("x", kind, low, low + width, missing=True),))
    values = np.arange(low, low + width + 1) * 1.0
    if kind == "continuous":
        values = low + width * (np.arange(200) + 0.37) / 200
    codes = Binning(schema, bins).codes(Table(schema, values[:, None]))[:, 0]
    for value, code in zip(values[::7], codes[::7], strict=True):
        met = same_bin(schema, np.array([value]), bins).met(values[None, :, None])[0, :, 0]
        assert np.array_equal(met, codes == code)


@given(width=st.integers(1, 9), n=st.integers(1, 200), most=st.integers(1, 12))
def test_subsets_are_different_and_few_enough(width, n, most):
    subsets = subsets_up_to(width, n, most, np.random.default_rng(n))
    different = {frozenset(s) for s in subsets.tolist()}
    total = sum(comb(width, size) for size in range(1, min(most, width) + 1))
    assert len(different) == len(subsets) <= min(n, total)
    assert all(1 <= len(s) <= most for s in different)
    if n >= total:
        assert len(subsets) == total


def test_low_orders_are_whole_and_high_ones_sampled():
    subsets = subsets_up_to(40, 20_000, 8, np.random.default_rng(0))
    sizes = np.bincount([len(set(s)) for s in subsets.tolist()])
    assert sizes[1:3].tolist() == [40, 780]
    assert all(sizes[3:] > 2_500)
    assert 19_900 <= len(subsets) <= 20_000


def test_what_needs_no_number_is_asked_once():
    schema = Schema((Column("x", "integer", 0, 9), Column("c", "categorical", categories=("a",))))
    first, second = asked_once(schema, np.array([[0, 0], [1, 1], [0, 1]]), 2)
    assert first.tolist() == [[0, 0], [1, 1], [0, 1]]
    assert second.tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize("compare", [(), ("equal", "equal"), ("less",)])
def test_unknown_comparisons_are_refused(compare):
    with pytest.raises(InputError, match=r"^compare must name some of at most, equal, same bin"):
        check_comparisons(compare)
