"""Rows are equal by chance, as leaves of a tree give them, or because they are copies."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.equal_rows import Equal


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
