"""Rows that carry a real person's number over are joined to them; numbers drawn again are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.report.grades import NONE, UNTOLD
from privacygauge.tables.released.order import same_names
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.made_released import people
from tests.thorough import times

WRITTEN = {"numbers": int, "codes": "P{:05d}".format, "short codes": "P{}".format}


def near_by_age(rng, real):
    """Return other people, each at the place of a real one of about the same age."""
    others = people(rng, len(real)).sort_values("age", ignore_index=True)
    place = (real["age"] + rng.normal(0, 4, len(real))).rank(method="first").astype(int) - 1
    return others.iloc[place].reset_index(drop=True)


def numbered(frame, written, first=1):
    numbers = [written(i) for i in range(first, first + len(frame))]
    return frame.assign(record_no=numbers)


@pytest.mark.parametrize("kind", list(WRITTEN))
def test_numbers_of_people_join_rows_to_them(kind):
    rng = np.random.default_rng(0)
    real = people(rng, 300)
    made = numbered(near_by_age(rng, real), WRITTEN[kind]).sample(frac=1.0, random_state=1)
    found = read_together(numbered(real, WRITTEN[kind]), made)
    (joined,) = found.joined
    assert found.schema.names == tuple(real)
    assert same_names(found, joined, rng).beyond(0.99).low > 0
    assert any("300 of 300 synthetic rows have a name or number" in said for said in found.read)


@pytest.mark.parametrize("kind", ["after shuffling", "drawn again", "sorted alike"])
def test_numbers_given_anew_join_nobody(kind):
    games = times(40)
    wrong = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, 37])
        real = people(rng, 150)
        # These people were made near the real ones, but for the numbers.
        made = near_by_age(rng, real).sample(frac=1.0, random_state=seed, ignore_index=True)
        if kind == "sorted alike":
            real, made = (one.sort_values("age", ignore_index=True) for one in (real, made))
        real, made = (numbered(one, int) for one in (real, made))
        if kind == "drawn again":
            made = made.assign(record_no=1 + rng.permutation(200)[:150])
        found = read_together(real, made)
        (joined,) = found.joined
        beyond = same_names(found, joined, rng).beyond(0.95)
        wrong += beyond is not None and beyond.low > 0
    assert wrong <= max(1, 0.05 * games)


def test_few_equal_numbers_join_nothing():
    rng = np.random.default_rng(0)
    real, made = (numbered(people(rng, 200), int) for _ in range(2))
    assert read_together(real, made.assign(record_no=made["record_no"] + 170)).joined == ()


@pytest.mark.parametrize("with_holdout", [True, False])
def test_the_page_says_that_a_column_joins_rows_to_people(with_holdout):
    rng = np.random.default_rng(1)
    real = people(rng, 300)
    made = numbered(near_by_age(rng, real), int).sample(frac=1.0, random_state=1)
    holdout = numbered(people(rng, 300), int, first=301) if with_holdout else None
    audit = audit_released(
        numbered(real, int), made, holdout, attempts=50, secrets=["sex"], label="sex"
    )
    page = audit.report()
    assert page.verdict.grade not in (NONE, UNTOLD)
    assert "column 'record_no' join" in page.verdict.headline
    assert any("number the rows again" in advice for advice in page.verdict.advice)
    assert page.data["joined"]["record_no"]["low"] > 0
    new = made.assign(record_no=np.arange(1, 301))
    mixed = audit_released(numbered(real, int), new, holdout, attempts=50, secrets=["sex"])
    assert "record_no" not in mixed.report().verdict.headline
    assert pd.isna(mixed.report().data["joined"]["record_no"]) or (
        mixed.report().data["joined"]["record_no"]["low"] <= 0
    )
