"""Exact copies and distances to the closest record."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privacygauge.tables.distance import Cosine, space_of
from privacygauge.tables.generators.generator import Silence, SynthPop
from privacygauge.tables.released.copies import (
    NO_EVIDENCE,
    ClosestRecords,
    as_many,
    closest_records,
    copied_beyond,
    find_copies,
)
from privacygauge.tables.released.tables import ReleasedTables, read_together, stack_tables
from tests.tables.released.made_released import released, without_holdout
from tests.thorough import times


def test_all_copies_are_found():
    found = find_copies(released(np.random.default_rng(0), 100), np.random.default_rng(0))
    assert found.real.all()
    assert found.of_real.all()
    assert found.of_as_many_real.all()
    assert not found.holdout.any()


def test_half_a_table_of_copies():
    rng = np.random.default_rng(0)
    whole = released(rng, 100)
    made = stack_tables(whole.real[np.arange(50)], Silence().generate(whole.real, 50, rng))
    found = find_copies(ReleasedTables(whole.real, made, whole.holdout), rng)
    assert found.real.tolist() == found.of_real.tolist() == [True] * 50 + [False] * 50


def test_a_smaller_holdout_is_compared_with_as_many_real_records():
    found = find_copies(
        released(np.random.default_rng(0), 100, n_holdout=40), np.random.default_rng(0)
    )
    assert (len(found.real), len(found.holdout)) == (100, 40)
    assert (found.of_real.sum(), found.of_as_many_real.sum()) == (100, 40)


def test_equally_many_rows_of_both():
    table = released(np.random.default_rng(0), 50, n_holdout=20)
    real, holdout = as_many(table.real, table.holdout, np.random.default_rng(0))
    assert (len(real), holdout) == (20, holdout)
    np.testing.assert_array_equal(holdout.values, table.holdout.values)


@pytest.mark.parametrize("n_holdout", [30, 20])
def test_closest_records_as_all_pairs_say(n_holdout):
    table = released(np.random.default_rng(0), 30, SynthPop(), n_holdout=n_holdout)
    found = closest_records(table, np.random.default_rng(5))
    sides = as_many(table.real, table.holdout, np.random.default_rng(5))
    space = space_of(stack_tables(table.synthetic, *sides), Cosine())
    n = found.n
    pairs = space.between(np.arange(30)[:, None], np.arange(30, 30 + 2 * n)[None, :])
    assert n == n_holdout
    np.testing.assert_allclose(found.to_real, pairs[:, :n].min(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.to_holdout, pairs[:, n:].min(axis=1), atol=1e-12)


def test_copies_are_nearest_and_others_are_as_near():
    found = closest_records(released(np.random.default_rng(0), 100), np.random.default_rng(0))
    assert found.nearer_real == 1.0
    assert found.to_real.max() == 0.0
    shares = []
    for seed in range(times(20)):
        rng = np.random.default_rng(seed)
        table = released(rng, 80, SynthPop(), of="others")
        shares.append(closest_records(table, rng).nearer_real)
    # The rows share their neighbours, so the spread is measured: five standard errors.
    assert abs(np.mean(shares) - 0.5) < 5 * np.std(shares, ddof=1) / np.sqrt(len(shares))


def test_ties_count_half():
    found = ClosestRecords(np.array([0.0, 1.0]), np.array([0.0, 2.0]), 5)
    assert found.nearer_real == 0.75


def test_the_closest_without_a_holdout():
    found = closest_records(
        without_holdout(released(np.random.default_rng(0), 30)), np.random.default_rng(0)
    )
    assert "no evidence of safety" in NO_EVIDENCE
    assert (found.to_holdout, found.nearer_real) == (None, None)


def test_without_a_holdout():
    found = find_copies(
        without_holdout(released(np.random.default_rng(0), 30)), np.random.default_rng(0)
    )
    assert found.real.all()
    assert (found.holdout, found.of_holdout, found.of_as_many_real) == (None, None, None)


def test_equal_records_are_no_independent_evidence_of_copying():
    """Twenty equal records that were copied stand for one, not for twenty."""
    n = 500
    unique = np.arange(n)
    real = pd.DataFrame({"age": unique, "town": np.tile(list("pq"), n // 2)})
    twins = real.copy()
    twins.loc[: 20 - 1, ["age", "town"]] = real.loc[0].to_list()
    others = real.assign(age=real["age"] + n)
    rng = np.random.default_rng(0)
    made = pd.concat([others.assign(age=others["age"] + n), real[:1]], ignore_index=True)
    beyond = copied_beyond(find_copies(read_together(twins, made, others), rng), 0.99)
    assert beyond.low <= 0 < beyond.value
    made = pd.concat([others.assign(age=others["age"] + n), real[:20]], ignore_index=True)
    beyond = copied_beyond(find_copies(read_together(real, made, others), rng), 0.99)
    assert beyond.low > 0


def test_rows_of_a_person_and_their_twins_are_one_unit():
    frame = pd.DataFrame({"age": [1, 2, 2, 3, *range(4, 20)], "town": "p"})
    table = read_together(frame, frame, frame)
    people = replace(table, unit=np.array([0, 0, 1, 2, *range(3, 19)]))
    found = find_copies(people, np.random.default_rng(0))
    # Rows 0 and 1 are one person's, rows 1 and 2 are equal.
    assert len(set(found.unit[:3])) == 1
    assert len(set(found.unit)) == 18
    assert len(set(found.holdout_unit)) == 19
