"""Exposure by rank: the definition, its ends, and its mean where nothing was memorised."""

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.evaluate.canaries import exposures
from tests.thorough import times


def test_it_is_the_definition_by_rank():
    rng = np.random.default_rng(0)
    for _ in range(20):
        inside = rng.normal(size=7)
        outside = rng.normal(size=rng.integers(1, 40))
        naive = [
            np.log2(len(outside) + 1) - np.log2(sorted([*outside, x]).index(x) + 1) for x in inside
        ]
        np.testing.assert_allclose(exposures(inside, outside), naive, atol=1e-12)


def test_its_ends_and_ties():
    assert exposures([-1.0], np.arange(7)).tolist() == [3.0]
    assert exposures([9.0], np.arange(7)).tolist() == [0.0]
    assert exposures([1.0], [1.0]).tolist() == [1 - np.log2(1.5)]


def test_a_rising_map_of_losses_changes_nothing():
    rng = np.random.default_rng(1)
    inside = rng.normal(size=30)
    outside = rng.normal(size=50)
    assert (
        exposures(np.exp(inside), np.exp(outside)).tolist() == exposures(inside, outside).tolist()
    )


def test_its_mean_where_nothing_was_memorised():
    rng = np.random.default_rng(2)
    n = times(4000)
    found = [exposures(rng.normal(size=1), rng.normal(size=63))[0] for _ in range(n)]
    expected = 6 - np.mean(np.log2(np.arange(1, 65)))  # every rank is as likely
    assert abs(np.mean(found) - expected) < 4 * np.std(found) / np.sqrt(n)
    assert 1.3 < expected < 1.4427


def test_nothing_to_compare_with():
    with pytest.raises(InputError, match="at least one canary"):
        exposures([1.0], [])
    with pytest.raises(InputError, match="must be finite"):
        exposures([np.nan], [1.0])
