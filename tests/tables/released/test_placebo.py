"""With other real records in place of the table, attacks show what the holdout alone explains."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from privacygauge.report.grades import LARGE, MODERATE, NONE, UNTOLD
from privacygauge.tables.released import release
from privacygauge.tables.released.hits import Attempts
from privacygauge.tables.released.people import with_people
from privacygauge.tables.released.placebo import placebo_of
from privacygauge.tables.released.suite import tries
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.test_drift import orders
from tests.thorough import times

ATTEMPTS = Attempts(100, 100)


def placebo(tables):
    tried = tries(tables, ["channel"], ATTEMPTS, 0).hits
    return placebo_of(tables, tried, ["channel"], attempts=ATTEMPTS, seed=0, level=0.99)


def some_prices_changed(frame, seed):
    """Return orders of which three in ten have another price than the list says."""
    changed = np.random.default_rng(seed).random(len(frame)) < 0.3
    price = np.where(changed, (1.03 * frame["price"]).round(2), frame["price"])
    return frame.assign(price=price)


def test_the_synthetic_table_has_no_part_in_the_placebo():
    real, made, holdout = (orders(i, 160) for i in range(3))
    tables = read_together(real, made, holdout)
    copied = replace(tables, synthetic=tables.real)
    tried = tries(tables, ["channel"], ATTEMPTS, 0).hits
    one, other = (
        placebo_of(each, tried, ["channel"], attempts=ATTEMPTS, seed=0, level=0.99)
        for each in (tables, copied)
    )
    assert one == other
    assert len(one.risks) == len(tried)


@pytest.mark.slow
def test_a_price_list_that_changed_in_part_shows_without_the_table():
    by_chance = 0
    for seed in range(times(8)):
        real, made, holdout = (orders(3 * seed + i, 500) for i in range(3))
        later = some_prices_changed(holdout, seed)
        seen = placebo(read_together(real, made, later))
        assert seen.columns == ("price",)
        assert seen.shown > 0.05
        by_chance += placebo(read_together(real, made, holdout)).shown > 0
    assert by_chance <= times(8) // 4


@pytest.mark.slow
def test_an_honest_table_beside_other_prices_is_no_leak():
    for seed in range(times(8)):
        real, made, holdout = (orders(3 * seed + i, 500) for i in range(3))
        later = some_prices_changed(holdout, seed)
        audit = audit_released(real, made, later, attempts=200, secrets=["price", "channel"])
        assert audit.report().verdict.grade in (NONE, UNTOLD)


@pytest.mark.slow
def test_a_large_honest_table_beside_other_prices_is_no_leak():
    """It has nearly all prices of the list, which no table of the real records has."""
    n_fewer = 0
    for seed in range(times(6)):
        real, holdout = (orders(3 * seed + i, 500) for i in range(2))
        made = orders(3 * seed + 2, 3000)
        later = some_prices_changed(holdout, seed)
        audit = audit_released(real, made, later, attempts=200, secrets=["price", "channel"])
        verdict = audit.report().verdict
        assert verdict.grade in (NONE, UNTOLD)
        if audit.n_compared is not None:
            n_fewer += 1
            assert audit.n_compared == 375
            assert verdict.grade == UNTOLD
        copied = pd.concat([real] * 6).sample(frac=1, random_state=seed)
        copied["age"] += np.random.default_rng(seed).integers(-1, 2, len(copied))
        audit = audit_released(real, copied, later, attempts=200, secrets=["price", "channel"])
        assert audit.report().verdict.grade in (MODERATE, LARGE)
    assert n_fewer > 0


def test_what_does_not_depend_on_the_rows_that_are_left_out_is_measured_once(monkeypatch):
    measured = []
    for name in ("placebo_of", "unlikely_copies", "utility"):
        one = getattr(release, name)
        counted = partial(lambda one, name, *a, **b: measured.append(name) or one(*a, **b), one)
        monkeypatch.setattr(release, name, partial(counted, name))
    real, holdout = (orders(3 + i, 500) for i in range(2))
    later = some_prices_changed(holdout, 1)
    audit = audit_released(real, orders(5, 3000), later, attempts=50, secrets=["price"])
    assert audit.n_compared == 375
    assert measured.count("placebo_of") == measured.count("unlikely_copies") == 1
    assert measured.count("utility") == 1
    assert len(audit.placebo.risks) == len(audit.risks)


def test_too_few_people_have_no_placebo():
    real, made, holdout = (orders(i, 60) for i in range(3))
    tables = read_together(real, made, holdout)
    assert placebo(tables) is not None
    assert placebo(replace(tables, holdout=None, holdout_unit=None)) is None
    named, _ = with_people(tables, np.arange(60) // 2, np.arange(60) // 2)
    assert placebo(named) is None
