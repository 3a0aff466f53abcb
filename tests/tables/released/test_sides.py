"""No encoding says from which side a record is: other sides, the same numbers for each record."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.core import seeds
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.tables.distance import Cosine, Minkowski, space_of
from privacygauge.tables.generators.binning import QuantileBins
from privacygauge.tables.released.membership import blind, played_alone
from privacygauge.tables.released.release import told_apart
from privacygauge.tables.released.tables import (
    ReleasedTables,
    fill_missing,
    read_together,
    stack_tables,
)
from tests.thorough import times

N = 40


def coded(rng, n, codes):
    """Return records with codes of many levels, numbers of two decimals, dates and gaps."""
    frame = pd.DataFrame(
        {
            "code": [f"D{code:03}" for code in rng.integers(codes, size=n)],
            "town": rng.integers(codes, size=n).astype(str),
            "age": rng.integers(18, 90, n),
            "cost": rng.gamma(2.0, 800.0, n).round(2),
            "day": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(400, size=n), "D"),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.05)


ENCODERS = {
    "codes and numbers": lambda table: table.values,
    "filled": fill_missing,
    "bins": lambda table: QuantileBins.of(table, 20, 200).codes(table),
    "few bins": lambda table: QuantileBins.of(table, 4, 5).codes(table),
    "cosine": lambda table: np.hstack(_points(table, Cosine())),
    "minkowski": lambda table: np.hstack(_points(table, Minkowski(1))),
}
"""From a table of both sides, one after the other, to what is learnt from."""


def _points(table, distance):
    space = space_of(table, distance)
    return space.codes, space.numbers


def both(tables: ReleasedTables):
    assert tables.holdout is not None
    return stack_tables(tables.real, tables.holdout)


@pytest.mark.parametrize("encoder", ENCODERS)
@given(seed=st.integers(0, 2**20), codes=st.integers(2, 60))
@settings(max_examples=times(5), deadline=None)
def test_shuffling_the_sides_changes_no_encoding(encoder, seed, codes):
    rng = np.random.default_rng(seed)
    pool = coded(rng, 2 * N, codes)
    made = coded(rng, N, codes)
    order = rng.permutation(2 * N)
    halves = [pool.iloc[rows].reset_index(drop=True) for rows in (order[:N], order[N:])]
    encode = ENCODERS[encoder]
    first = encode(both(read_together(pool[:N], made, pool[N:])))
    other = encode(both(read_together(halves[0], made, halves[1])))
    np.testing.assert_array_equal(other, first[order])


def test_decimals_of_either_side_are_rounded_alike():
    ten = pd.DataFrame({"x": np.arange(10) / 10, "y": list("ababababab")})
    fine = ten.assign(x=np.arange(10) / 1000)
    for pair in ((ten, fine), (fine, ten)):
        tables = both(read_together(pair[0], ten, pair[1]))
        np.testing.assert_array_equal(tables.values[:, 0], np.round(tables.values[:, 0], 1))


def unseen(rng, n, codes) -> Evaluation:
    frames = [coded(rng, n, codes) for _ in range(3)]
    tables = read_together(*frames)
    signals = blind(tables, rng)
    unit = np.arange(len(signals.members) + len(signals.nonmembers))
    return played_alone(signals, unit, 0, 0.95)[1]


@pytest.mark.slow
@pytest.mark.parametrize("codes", [50, 2000])
def test_the_blind_attack_reads_nothing_in_the_order_of_codes(codes):
    games = times(20)
    found = [unseen(seeds.stream(seed, "sides"), 300, codes) for seed in range(games)]
    apart = sum(told_apart(each) for each in found)
    assert apart <= 0.05 * games + 3 * np.sqrt(0.05 * 0.95 * games)
