"""Which positions of a text are masked."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from privacygauge.errors import InputError
from privacygauge.language.energies import MaskPlan
from tests.thorough import times

lengths = st.integers(1, 60)
shares = st.sampled_from([0.05, 0.15, 0.5, 1.0])
keys = st.text("aZ 0\n\u00e9\U0001f9b4", max_size=9)


@given(lengths, st.integers(1, 25), shares, st.sampled_from(["balanced", "random"]), keys)
def test_every_mask_has_l_different_positions(n, k, fraction, pattern, key):
    masks = MaskPlan(pattern, k, fraction).masks(key, n)
    size = math.ceil(round(fraction * n, 9))
    assert masks.shape[1] == size
    assert len(masks) == (min(k, math.comb(n, size)) if pattern == "balanced" else k)
    assert masks.min() >= 0
    assert masks.max() < n
    assert (np.diff(masks, axis=1) > 0).all()
    assert not masks.flags.writeable


@given(lengths, st.integers(1, 25), shares)
def test_balanced_masks_cover_all_equally_often(n, k, fraction):
    masks = MaskPlan("balanced", k, fraction).masks("a", n)
    counts = np.bincount(masks.ravel(), minlength=n)
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("pattern", ["balanced", "random"])
def test_every_subset_is_equally_likely(pattern):
    plan = MaskPlan(pattern, 5, 0.5)
    subsets = list(itertools.combinations(range(4), 2))
    tally = dict.fromkeys(subsets, 0)
    for text in range(times(800)):
        # One mask a text: those of one text depend on each other.
        tally[tuple(plan.masks(str(text), 4)[text % 5])] += 1
    assert chisquare(list(tally.values())).pvalue > 0.001


@given(st.integers(1, 8), shares)
def test_exhaustive_is_every_subset_once(n, fraction):
    masks = MaskPlan("exhaustive", 100, fraction).masks("a", n)
    expected = list(itertools.combinations(range(n), masks.shape[1]))
    assert [tuple(mask) for mask in masks] == expected


def test_few_subsets_are_all_taken_by_balanced():
    for n in range(1, 7):
        assert np.array_equal(MaskPlan().masks("a", n), MaskPlan("single").masks("a", n))
    assert len(MaskPlan().masks("a", 7)) == 10


def test_masks_depend_on_what_they_should():
    first = MaskPlan().masks("a", 40)
    assert np.array_equal(first, MaskPlan().masks("a", 40))
    for other in (
        MaskPlan().masks("b", 40),
        MaskPlan(seed=1).masks("a", 40),
        MaskPlan("random").masks("a", 40),
    ):
        assert not np.array_equal(first, other)


def test_masks_are_the_same_in_another_process():
    code = (
        "from privacygauge.language.energies import MaskPlan;"
        "print(MaskPlan(seed=3).masks('a', 30).tolist())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(MaskPlan(seed=3).masks("a", 30).tolist())


def test_masks_stay_what_they_were():
    # Stored runs are found by the plan: another draw under the same plan would mix two of them.
    assert MaskPlan(n_masks=2).masks("a", 20).tolist() == [[2, 7, 19], [5, 9, 10]]


@pytest.mark.parametrize(("n", "fraction", "size"), [(100, 0.07, 7), (48, 0.15, 8), (20, 0.15, 3)])
def test_rounding_up_is_of_the_number_that_was_meant(n, fraction, size):
    assert MaskPlan(fraction=fraction).n_masked(n) == size


def test_bad_plans():
    for options, message in (
        ({"pattern": "all"}, "pattern must be one of balanced, random, single, exhaustive, got"),
        ({"unit": "letter"}, "unit must be one of token, word, got 'letter'"),
        ({"n_masks": 0}, "n_masks must be an integer of at least 1, got 0"),
        ({"fraction": 0.0}, r"fraction must be in \(0, 1\], got 0.0"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
    ):
        with pytest.raises(InputError, match=message):
            MaskPlan(**options)
    with pytest.raises(InputError, match="got 10 for the 190 ways to mask 2 of 20 units: use"):
        MaskPlan("exhaustive", fraction=0.1).masks("a", 20)
    with pytest.raises(InputError, match="a text must have at least one unit to mask, got 0"):
        MaskPlan().masks("a", 0)
