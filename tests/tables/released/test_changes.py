"""Columns that are left out or made coarser, in all tables alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge import audit_released
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import STEPS, possible_changes
from tests.tables.released.made_released import people, released


@pytest.mark.parametrize("seed", range(3))
def test_all_tables_change_alike(seed):
    tables = released(np.random.default_rng(seed), 100, of="others")
    names = tables.schema.names
    found = possible_changes(tables, len(names))
    assert {name for change in found for name in change.without} == set(names)
    for change in found:
        left = change.tables
        assert left.schema.names == tuple(name for name in names if name not in change.without)
        before = np.concatenate([table.values for table in tables.tables().values()])
        after = np.concatenate([table.values for table in left.tables().values()])
        for j, name in enumerate(left.schema.names):
            was = before[:, names.index(name)]
            now = after[:, j]
            assert np.array_equal(np.isnan(was), np.isnan(now))
            if np.array_equal(was, now, equal_nan=True):
                continue
            known = ~np.isnan(was)
            # One function for all tables: equal values stay equal, and numbers keep their order.
            assert pd.Series(now[known]).groupby(was[known]).nunique().max() == 1
            assert len(np.unique(now[known])) <= STEPS + 1
            if left.schema.columns[j].is_number:
                assert (np.diff(now[known][np.argsort(was[known])]) >= 0).all()


def test_columns_that_tell_people_apart_come_first_and_kept_ones_stay():
    tables = released(np.random.default_rng(0), 100)
    first = possible_changes(tables, 1)
    assert [change.name for change in first] == ["without 'pay'", "'pay' in 10 steps"]
    kept = possible_changes(tables, 6, kept=["pay"])
    assert not any("pay" in change.name for change in kept)
    assert possible_changes(tables, 0) == ()


def test_free_text_is_left_out_alone():
    rng = np.random.default_rng(0)
    frames = [
        people(rng, 60).assign(
            note=[f"seen for {rng.integers(10**9)} days, {i}" for i in range(60)]
        )
        for _ in range(3)
    ]
    tables = read_together(*frames)
    first = possible_changes(tables, 1)
    assert [change.name for change in first] == ["without 'note'"]
    assert first[0].tables.texts == ()
    assert first[0].tables.schema == tables.schema


@pytest.mark.slow
def test_leaving_out_the_column_that_leaks_ends_the_leak():
    rng = np.random.default_rng(1)
    real, holdout, others = (people(rng, 300) for _ in range(3))
    made = others.assign(pay=real["pay"])
    found = audit_released(real, made, holdout, attempts=100, what_if=2)
    assert found.report().verdict.grade.word == "large"
    by_name = {change.change: change for change in found.changes}
    assert by_name["without 'pay'"].grade in ("no leak found", "cannot be told")  # 300 are few
    assert by_name["without 'pay'"].beyond.low <= 0
    (other,) = {name for name in by_name if name.startswith("without")} - {"without 'pay'"}
    assert by_name[other].grade == "large"
    for change in found.changes:
        assert 0 <= change.auc <= 1
    assert "What changes would do" in found.to_html()
    assert len(found.report().data["changes"]) == len(found.changes)
    alone = audit_released(real, made, holdout, attempts=100)
    assert alone.changes == ()
    assert alone.report().verdict.headline == found.report().verdict.headline
