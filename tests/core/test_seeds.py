from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from privacygauge.core.seeds import stream
from privacygauge.errors import InputError


def first(*arguments: int | str) -> int:
    return int(stream(*arguments).bit_generator.random_raw())


def test_other_roles_and_their_draws_change_nothing() -> None:
    alone = first(0, "attack", "loss")
    stream(0, "attack", "further").random(100)
    stream(0, "attack", "loss", 1).random(100)
    assert first(0, "attack", "loss") == alone


def test_different_roles_have_different_generators() -> None:
    roles = [
        (0, "ab"), (0, "a", "b"), (0, "b", "a"), (0, "a", "", "b"), (0, ""), (0,), (1,), (1, "ab"),
        (0, 1), (0, "1"), (0, 11), (0, 1, 1), (0, "str:1:a"), (0, "a"), (2**40,), (0, "int:1:1"),
    ]  # fmt: skip
    for one, other in combinations(roles, 2):
        assert first(*one) != first(*other), (one, other)


def test_generators_of_different_roles_are_uncorrelated() -> None:
    draws = np.array([stream(0, "attack", i).normal(size=2000) for i in range(20)])
    correlations = np.corrcoef(draws)[np.triu_indices(20, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


def test_a_role_gives_the_same_numbers_on_every_machine_and_in_every_version() -> None:
    assert first(0, "demo", "shadow", 3) == 11532405758814406443
    assert first(np.int64(7), "coins") == first(7, "coins")


@pytest.mark.parametrize("seed", [-1, 1.0, True, "0", None])
def test_a_seed_is_a_whole_number_of_at_least_0(seed) -> None:
    with pytest.raises(InputError, match=r"^seed must be an integer of at least 0, got"):
        stream(seed, "a")
