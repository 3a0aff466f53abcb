"""Codes of another time in the holdout are no leak, and are noticed where they are few."""

from __future__ import annotations

import numpy as np
import pandas as pd

from privacygauge.report.grades import NONE, UNTOLD
from privacygauge.tables.released.drift import drifted_columns
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.thorough import times


def seen(rng, n, codes):
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["m", "f"], n),
            "score": rng.normal(50, 10, n).round(1),
            "fee": rng.gamma(2, 300, n).round(),
        }
    )
    return frame.assign(physician=[f"P{code:03d}" for code in rng.choice(codes, n)])


def release(rng, n, new):
    """Return a release of other people, and a holdout in which some of 300 physicians are new."""
    then = np.arange(300)
    later = np.concatenate([then[new:], 300 + np.arange(new)])
    return seen(rng, n, then), seen(rng, n, then), seen(rng, n, later)


def test_new_codes_are_noticed_and_no_leak():
    for seed in range(times(3)):
        real, made, holdout = release(np.random.default_rng(seed), 2000, 10)
        tables = read_together(real, made, holdout)
        assert drifted_columns(tables, np.random.default_rng(0)) == ("physician",)
        audit = audit_released(real, made, holdout, attempts=50, secrets=["sex"])
        assert audit.drifted == ("physician",)
        assert audit.report().data["drifted"] == ["physician"]
        assert audit.report().verdict.grade in (NONE, UNTOLD)


def test_other_people_have_no_drift():
    for seed in range(times(60)):
        rng = np.random.default_rng(seed)
        tables = read_together(*release(rng, 300, 0))
        assert drifted_columns(tables, np.random.default_rng(0)) == ()


def test_rows_of_one_person_count_once():
    rng = np.random.default_rng(0)
    sides = [frame.loc[frame.index.repeat(20)] for frame in release(rng, 60, 0)]
    tables = read_together(*(side.reset_index(drop=True) for side in sides))
    person = np.repeat(np.arange(60), 20)
    named = type(tables)(
        tables.real, tables.synthetic, tables.holdout, unit=person, holdout_unit=60 + person
    )
    assert drifted_columns(tables, np.random.default_rng(0)) != ()
    assert drifted_columns(named, np.random.default_rng(0)) == ()
