from __future__ import annotations

import numpy as np
import pytest

from leakscope.core.release import Worlds, coin_flips
from leakscope.errors import InputError


def test_coins_are_fair_and_independent_and_no_exact_halves() -> None:
    k, n = 64, 4000
    coins = coin_flips(k, n, np.random.default_rng(0))
    assert abs(coins.mean() - 0.5) < 5 * 0.5 / np.sqrt(k * n)
    # Worlds that hold a record: binomial, so the count of the others tells nothing of one.
    counts = coins.sum(axis=0)
    assert counts.var() == pytest.approx(k / 4, rel=5 * np.sqrt(2 / n))
    assert abs(np.corrcoef(coins[0], coins[1:].sum(axis=0))[0, 1]) < 5 / np.sqrt(n)
    # The same inside a world.
    assert coins.sum(axis=1).var() == pytest.approx(n / 4, rel=5 * np.sqrt(2 / k))


def test_coins_come_from_the_generator_alone() -> None:
    one, other = (coin_flips(3, 50, np.random.default_rng(5)) for _ in range(2))
    assert (one == other).all()
    assert one.shape == (3, 50)


@pytest.mark.parametrize("sizes", [(0, 1), (1, 0)])
def test_at_least_one_world_and_one_record(sizes: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="at least one world and one record, got"):
        coin_flips(*sizes, np.random.default_rng(0))


def test_worlds_keep_read_only_copies() -> None:
    signal, worlds, inside = np.zeros(3), np.zeros((2, 3)), np.zeros((2, 3), bool)
    kept = Worlds(signal, worlds, inside)
    signal[0], worlds[0, 0], inside[0, 0] = 1, 1, True
    for array in (kept.signal, kept.worlds, kept.inside):
        assert not array.any()
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("worlds", "inside"),
    [
        (np.zeros((2, 4)), np.zeros((2, 4), bool)),
        (np.zeros((2, 3)), np.zeros((3, 3), bool)),
        (np.zeros(3), np.zeros(3, bool)),
    ],
)
def test_worlds_of_another_shape_are_refused(worlds, inside) -> None:
    with pytest.raises(InputError, match=r"worlds and inside must have the shape \(k, n\)"):
        Worlds(np.zeros(3), worlds, inside)


def test_worlds_are_finite() -> None:
    with pytest.raises(InputError, match="worlds must be finite"):
        Worlds(np.zeros(1), np.array([[np.nan]]), np.array([[True]]))
