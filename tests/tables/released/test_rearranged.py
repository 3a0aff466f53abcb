"""Copies whose columns were rearranged are found, and nothing is where there are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from privacygauge.evaluate.tail import tail
from privacygauge.report.grades import NONE
from privacygauge.tables.released.disguised import nearest_when_rotated, pairs_of, series_of
from privacygauge.tables.released.hits import risk_beyond_control
from privacygauge.tables.released.shared_rare_values import (
    PAIRED,
    ROTATED,
    most_in_common,
    ranked_in_common,
)
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.test_shared_rare_values import hours, rng
from tests.thorough import times

EYES = [f"{what} {side}" for what in ("pressure", "axis", "sphere") for side in ("left", "right")]


def eyes(draw, n):
    """Return people with two eyes that are alike but not equal."""
    person = draw.normal(size=(n, 3)).repeat(2, axis=1)
    values = (10 + 2 * person + draw.normal(size=(n, 6))).round(2)
    frame = pd.DataFrame(values, columns=EYES)
    return frame.assign(age=draw.integers(18, 90, n), sex=draw.choice(["f", "m"], n))


def exchanged(draw, frame):
    """Return records whose eyes changed places, of people drawn again."""
    others = [name.replace("left", "RIGHT").replace("right", "left").lower() for name in EYES]
    found = frame.assign(**dict(zip(EYES, frame[others].to_numpy().T, strict=True)))
    return found.assign(age=draw.permutation(frame["age"]), sex=draw.permutation(frame["sex"]))


def rotated(frame, step):
    return pd.DataFrame(np.roll(frame.to_numpy(), step, axis=1), columns=frame.columns)


def release(people, changed, n, copied):
    real, holdout, others = (people(rng(seed), n) for seed in (1, 2, 3))
    made = pd.concat([changed(real[:copied]), others[copied:]], ignore_index=True)
    return real, made, holdout


def lowest_and_exposed(tables, variant):
    """Return what surely goes beyond the holdout in a variant, and how many people stand out."""
    common = ranked_in_common(read_together(*tables), rng())
    (hits,) = (x for x in most_in_common(common, (), rng()) if x.variant == variant)
    rankings = [one for one in common.rankings if variant in one[0]]
    return risk_beyond_control(hits, 0.99).low, tail(rankings, rng(), 0.99).exposed


@pytest.mark.parametrize("step", [1, 5, 12, -7])
def test_series_rotated_by_any_number_of_steps_are_found(step):
    tables = release(hours, lambda frame: rotated(frame, step), 300, 60)
    low, exposed = lowest_and_exposed(tables, ROTATED)
    assert low > 0
    assert exposed >= 20


def test_eyes_that_changed_places_are_found():
    draw = rng(7)
    tables = release(eyes, lambda frame: exchanged(draw, frame), 300, 60)
    low, exposed = lowest_and_exposed(tables, PAIRED)
    assert low > 0
    assert exposed >= 20


@pytest.mark.slow
@pytest.mark.parametrize(("people", "variant"), [(hours, ROTATED), (eyes, PAIRED)])
def test_nothing_is_found_in_tables_of_other_people(people, variant):
    n = times(40)
    wrong = 0
    for seed in range(n):
        tables = [people(rng([seed, side]), 200) for side in range(3)]
        low, exposed = lowest_and_exposed(tables, variant)
        wrong += low > 0 or exposed > 0
    assert wrong <= binom.ppf(0.999, n, 0.02)


def test_the_rotation_is_the_best_of_all():
    real, made, _ = release(hours, lambda frame: rotated(frame, 3), 30, 5)
    tables = read_together(real, made)
    series = series_of(tables.schema)
    own = np.sort(tables.synthetic.values.ravel())
    asked, there = (
        np.searchsorted(own, table.values) / len(own) for table in (tables.real, tables.synthetic)
    )
    away = [
        min(np.linalg.norm(one - np.roll(other, step)) for other in there for step in range(24))
        for one in asked
    ]
    score = nearest_when_rotated(tables.real, tables.synthetic, series)
    np.testing.assert_allclose(score, np.sqrt(24) - away, atol=1e-6)


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        (EYES, ((0, 1), (2, 3), (4, 5))),
        (["L1", "L2", "x", "R1", "R2"], ((0, 3), (1, 4))),
        (["pression_gauche", "pression_droite"], ((0, 1),)),
        (["all", "arr", "left", "lefty"], ()),
    ],
)
def test_pairs_are_columns_whose_names_differ_in_a_side(names, pairs):
    made = pd.DataFrame(rng().random((20, len(names))), columns=names)
    assert pairs_of(read_together(made, made).schema) == pairs


@pytest.mark.slow
def test_an_audit_finds_what_was_rearranged():
    draw = rng(7)
    for people, changed in (
        (hours, lambda frame: rotated(frame, 5)),
        (eyes, lambda frame: exchanged(draw, frame)),
    ):
        tables = release(people, changed, 300, 300)
        audit = audit_released(*tables, secrets=[tables[0].columns[0]], attempts=100)
        assert audit.report().verdict.grade.word in ("moderate", "large")
        assert audit.report().verdict.grade != NONE
