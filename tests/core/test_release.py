from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.release import Worlds, coin_flips
from privacygauge.errors import InputError


def test_coins_are_fair_and_independent_and_no_exact_halves() -> None:
    k = 64
    n = 4000
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
    signal = np.zeros(3)
    worlds = np.zeros((2, 3))
    inside = np.zeros((2, 3), bool)
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
        (np.zeros((4, 3)), np.zeros((3, 3), bool)),
        (np.zeros(3), np.zeros(3, bool)),
    ],
)
def test_worlds_of_another_shape_are_refused(worlds, inside) -> None:
    with pytest.raises(InputError, match=r"worlds and inside must have the shape \(k, n\)"):
        Worlds(np.zeros(3), worlds, inside)


def test_worlds_of_several_queries_keep_them_on_the_last_axis() -> None:
    kept = Worlds(np.zeros((3, 5)), np.zeros((2, 3, 5)), np.zeros((2, 3), bool))
    assert (kept.signal.shape, kept.worlds.shape, len(kept)) == ((3, 5), (2, 3, 5), 2)
    assert not any(a.flags.writeable for a in (kept.signal, kept.worlds, kept.inside))
    # One query, said or not said.
    one = Worlds(np.zeros((3, 1)), np.zeros((2, 3, 1)), np.zeros((2, 3), bool))
    assert one.signal.shape == (3, 1)
    assert Worlds(np.zeros((3, 1)), np.zeros((2, 3)), np.zeros((2, 3), bool)).signal.shape == (3,)


@pytest.mark.parametrize(
    ("signal", "worlds", "inside", "message"),
    [
        ((3, 5), (2, 3, 4), (2, 3), r"got \(2, 3, 4\) and \(2, 3\) for 3 targets and 5 queries"),
        ((3, 5), (2, 3, 5), (2, 3, 5), r"worlds and inside must have the shape \(k, n\)"),
        ((3,), (2, 3, 5), (2, 3), r"signal must have the shape \(n, q\) beside worlds \(k, n, q\)"),
        ((3, 5), (2, 3), (2, 3), r"signal must have the shape \(n,\), got \(3, 5\)"),
        ((3, 0), (2, 3, 0), (2, 3), r"signal must have the shape \(n, q\)"),
    ],
)
def test_queries_that_do_not_fit_are_refused(signal, worlds, inside, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Worlds(np.zeros(signal), np.zeros(worlds), np.zeros(inside, bool))


def test_arrays_that_nobody_can_change_are_not_copied() -> None:
    arrays = np.zeros(3), np.zeros((2, 3)), np.zeros((2, 3), bool)
    for array in arrays:
        array.flags.writeable = False
    kept = Worlds(*arrays)
    assert (kept.signal is arrays[0], kept.worlds is arrays[1], kept.inside is arrays[2]) == (
        True,
        True,
        True,
    )
    narrow = np.zeros((2, 3), np.float32)
    assert Worlds(arrays[0], narrow, arrays[2]).worlds.dtype == np.float64
    assert narrow.flags.writeable


@pytest.mark.parametrize("queries", [(), (2,)])
def test_a_world_is_played_as_the_target_of_the_others(queries: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    kept = Worlds(
        rng.normal(size=(4, *queries)),
        rng.normal(size=(3, 4, *queries)),
        coin_flips(3, 4, rng),
    )
    played = kept.without(1)
    assert played.signal.tolist() == kept.worlds[1].tolist()
    assert played.worlds.tolist() == kept.worlds[[0, 2]].tolist()
    assert played.inside.tolist() == kept.inside[[0, 2]].tolist()
    assert not any(a.flags.writeable for a in (played.signal, played.worlds, played.inside))


def test_there_must_be_other_worlds_and_the_one_that_is_played() -> None:
    one = Worlds(np.zeros(1), np.zeros((1, 1)), np.ones((1, 1), bool))
    with pytest.raises(InputError, match="without needs at least two worlds, got 1"):
        one.without(0)
    two = Worlds(np.zeros(1), np.zeros((2, 1)), np.ones((2, 1), bool))
    for number in (-1, 2, 3):
        with pytest.raises(InputError, match=rf"number must be in 0\.\.1, got {number}"):
            two.without(number)


def test_signals_of_several_queries_are_finite() -> None:
    with pytest.raises(InputError, match="signal must be finite"):
        Worlds(np.full((1, 2), np.inf), np.zeros((1, 1, 2)), np.array([[True]]))


@pytest.mark.parametrize("queries", [(), (2,)])
def test_lists_will_do(queries: tuple[int, ...]) -> None:
    arrays = np.ones((3, *queries)), np.ones((2, 3, *queries)), np.ones((2, 3), bool)
    kept = Worlds(*(x.tolist() for x in arrays))
    for mine, given in zip((kept.signal, kept.worlds, kept.inside), arrays, strict=True):
        assert mine.tolist() == given.tolist()
        assert mine.dtype == given.dtype
        assert not mine.flags.writeable


def test_worlds_are_finite() -> None:
    with pytest.raises(InputError, match="worlds must be finite"):
        Worlds(np.zeros(1), np.array([[np.nan]]), np.array([[True]]))
