"""Coins that are drawn when they are asked for are those that are drawn all at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.core import seeds
from privacygauge.core.release import Coins, Worlds, coin_flips, counts_of
from privacygauge.errors import InputError


def parts(length: int) -> st.SearchStrategy:
    """Return what may be asked for along a dimension: slices, arrays and numbers."""
    numbers = st.integers(-length, length - 1)
    return st.one_of(numbers, st.slices(length), st.lists(numbers, max_size=9).map(np.array))


@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 99), st.data())
def test_every_part_is_that_of_all_coins(k: int, n: int, seed: int, data: st.DataObject) -> None:
    rng = seeds.stream(seed, "coins")
    drawn = Coins.of(k, n, rng)
    whole = coin_flips(k, n, rng)
    np.testing.assert_array_equal(np.asarray(drawn), whole)
    np.testing.assert_array_equal(counts_of(drawn), whole.sum(axis=0))
    assert (drawn.shape, drawn.dtype, len(drawn)) == (whole.shape, whole.dtype, k)
    first = data.draw(parts(k))
    second = data.draw(parts(n))
    rows = first.astype(int) if isinstance(first, np.ndarray) else first
    columns = second.astype(int) if isinstance(second, np.ndarray) else second
    np.testing.assert_array_equal(drawn[rows], whole[rows])
    np.testing.assert_array_equal(drawn[rows, columns], whole[rows][..., columns])
    chosen = data.draw(st.lists(st.integers(0, k - 1), min_size=1).map(np.array))
    np.testing.assert_array_equal(drawn.some(chosen)[:], whole[chosen])
    other = coin_flips(2, n, seeds.stream(seed, "others"))
    both = Coins.of(2, n, seeds.stream(seed, "others")).above(drawn)
    np.testing.assert_array_equal(both[:], np.vstack([other, whole]))


def test_coins_far_on_take_no_time_and_no_memory() -> None:
    n = 10**14
    coins = Coins.of(10_000, n, seeds.stream(0, "coins"))
    assert coins[9_999, n - 5 :].shape == (5,)
    near = coins[:3, n - 5 :]
    bits = seeds.stream(0, "coins").bit_generator
    bits.advance(2 * n + n - 5)
    np.testing.assert_array_equal(near[2], np.random.Generator(bits).random(5) < 0.5)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InputError, match="coins are drawn with PCG64, got MT19937"):
        Coins.of(2, 3, np.random.Generator(np.random.MT19937(0)))
    with pytest.raises(InputError, match="at least one world and one record, got 0 and 3"):
        Coins.of(0, 3, np.random.default_rng(0))
    with pytest.raises(InputError, match="worlds and inside must have the shape"):
        Worlds(np.zeros(3), np.zeros((2, 3)), Coins.of(2, 4, np.random.default_rng(0)))
