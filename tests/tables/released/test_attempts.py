"""How many attempts the wanted precision needs: enough whatever comes out, and no more."""

import re

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.tables.released.hits import Attempts, Hits, enough_attempts, points_of, widest
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.made_released import people


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


@pytest.mark.slow
def test_too_few_records_are_told_how_many_are_enough():
    """The advice is followed, and then nothing is said of too few."""
    everybody = people(np.random.default_rng(5), 8_000)
    real, made = everybody[:300], everybody[300:600]
    few = audit_released(real, made, everybody[600:900], attempts=60, secrets=["sex"])
    (larger,) = (text for text in few.report().verdict.advice if "larger holdout" in text)
    wanted = int(re.search(r"about ([\d,]+) of the same source", larger)[1].replace(",", ""))
    enough = audit_released(real, made, everybody[600 : 600 + wanted], attempts=60, secrets=["sex"])
    assert few.questions.detectable.average > 0.55 >= enough.questions.detectable.average
