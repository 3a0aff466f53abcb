"""Coordinates that were moved a little are found where all else is made up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from privacygauge.evaluate.tail import tail
from privacygauge.tables.released.disguised import measured_pairs, nearest_side_by_side
from privacygauge.tables.released.shared_rare_values import ranked_in_common
from privacygauge.tables.released.tables import read_together, stack_tables
from tests.thorough import times


def homes(draw, n):
    """Return people of a town, its coordinates in degrees."""
    return pd.DataFrame(
        {
            "age": draw.integers(18, 95, n),
            "job": draw.choice(list("abcdefgh"), n),
            "lat": (48.1 + 0.1 * draw.normal(size=n)).round(5),
            "lon": (11.5 + 0.15 * draw.normal(size=n)).round(5),
            "rooms": draw.integers(1, 9, n),
            "rent": draw.gamma(4, 200, n).round(2),
            "size": draw.gamma(6, 12, n).round(1),
        }
    )


def release(draw, n, copied):
    """Return a release whose first rows live within some 50 m of a real person."""
    real, holdout, made = (homes(draw, n) for _ in range(3))
    for name, metres in (("lat", 111_000), ("lon", 74_000)):
        near = real[name][:copied] + draw.normal(0, 35 / metres, copied)
        made.loc[made.index[:copied], name] = near.round(5)
    return read_together(real, made, holdout)


def exposed(tables):
    rankings = ranked_in_common(tables, np.random.default_rng(0)).rankings
    return tail(rankings, np.random.default_rng(0), 0.99).exposed


@pytest.mark.parametrize("copied", [60, 600])
def test_homes_moved_by_fifty_metres_are_found(copied):
    assert exposed(release(np.random.default_rng(1), 600, copied)) >= 15


@pytest.mark.slow
def test_nothing_is_found_in_tables_of_other_people():
    n = times(60)
    wrong = sum(exposed(release(np.random.default_rng([seed, 2]), 200, 0)) > 0 for seed in range(n))
    assert wrong <= binom.ppf(0.999, n, 0.01)


def test_pairs_are_measured_columns_side_by_side():
    tables = release(np.random.default_rng(1), 60, 0)
    names = tables.schema.names
    assert [tuple(names[j] for j in pair) for pair in measured_pairs(tables.schema)] == [
        ("lat", "lon"),
        ("rent", "size"),
    ]


@pytest.mark.parametrize("made_there", [-1, 19])
def test_missing_and_equal_numbers_are_near_to_nobody(made_there):
    draw = np.random.default_rng(1)
    real, holdout, made = (homes(draw, 200) for _ in range(3))
    real.loc[:9, "lat"] = np.nan
    real.loc[10:39, ["lat", "lon"]] = [48.1, 11.5]
    made.loc[:made_there, ["lat", "lon"]] = [48.1, 11.5]
    tables = read_together(real, made, holdout)
    records = stack_tables(tables.real, tables.holdout)
    score = nearest_side_by_side(records, tables.synthetic, ((2, 3),))
    assert np.isfinite(score).all()
    assert score[:40].max() <= np.median(score)
