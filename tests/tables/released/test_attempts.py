"""How many attempts the wanted precision needs: enough whatever comes out, and no more."""

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.tables.released.hits import Attempts, Hits, enough_attempts, points_of, widest


def half_widths(attempts, level, shares):
    """Return half of the width of attack minus control where both have a share of successes."""
    for share in shares:
        real, others = (np.arange(n) < round(share * n) for n in (attempts.real, attempts.holdout))
        found = points_of(Hits("x", "", real, others, real, "a try"), level)
        yield (found.high - found.low) / 2


@pytest.mark.parametrize("level", [0.9, 0.95, 0.9975])
@pytest.mark.parametrize("half_width", [0.01, 0.02, 0.05, 0.2])
@pytest.mark.parametrize("sizes", [(100_000, 100_000), (100_000, 40_000), (30_000, 100_000)])
def test_no_interval_is_wider_than_was_wanted_whatever_the_share(level, half_width, sizes):
    attempts = enough_attempts(half_width, level, *sizes)
    assert attempts.real <= sizes[0]
    assert attempts.holdout <= sizes[1]
    if widest(attempts, level) > half_width:
        assert (attempts.real, attempts.holdout) == sizes
        return
    widths = list(half_widths(attempts, level, [0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.95, 1]))
    assert max(widths) <= half_width
    fewer = Attempts(max(1, int(0.9 * attempts.real)), max(1, int(0.9 * attempts.holdout)))
    assert max(half_widths(fewer, level, [0.5])) > half_width


@pytest.mark.parametrize("sizes", [(39_032, 9_758), (9_758, 39_032)])
def test_the_smaller_table_gives_all_and_the_other_what_is_missing(sizes):
    attempts = enough_attempts(0.02, 1 - 0.05 / 20, *sizes)
    assert sorted((attempts.real, attempts.holdout)) == [9_758, 13_991]
    assert widest(attempts, 1 - 0.05 / 20) <= 0.02


def test_what_two_small_tables_cannot_give_is_all_of_both():
    assert enough_attempts(0.02, 0.95, 300, 200) == Attempts(300, 200)


@pytest.mark.parametrize("half_width", [0, 0.5, -1])
def test_a_width_must_be_between_nothing_and_everything(half_width):
    with pytest.raises(InputError, match=r"half_width must be in \(0, 0.5\), got"):
        enough_attempts(half_width, 0.95, 100, 100)
