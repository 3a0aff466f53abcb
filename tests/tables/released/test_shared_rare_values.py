"""Copies of which some values were drawn again are found, and nothing is where there are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.tail import tail
from privacygauge.report.grades import MODERATE, NONE, UNTOLD
from privacygauge.tables.released import disguised, shared_rare_values
from privacygauge.tables.released.hits import risk_beyond_control
from privacygauge.tables.released.shared_rare_values import (
    most_in_common,
    nearest_in_common,
    ranked_in_common,
    rarest_in_common,
    wanted_first,
)
from privacygauge.tables.released.tables import read_together, select_columns
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.made_released import released, without_holdout
from tests.tables.released.planted import SMALL, WIDE, planted, population
from tests.tables.released.test_unlikely import patients
from tests.thorough import THOROUGH, times

TOGETHER = 1 - 0.05 / 18
"""The level of each look of an audit of seven columns."""


def found(tables, level=TOGETHER):
    """Return the largest lower end of what goes beyond the holdout."""
    return max(risk_beyond_control(hits, level).low for hits in hits_of(tables))


def hits_of(tables):
    return most_in_common(ranked_in_common(tables, rng()), tables.notes, rng())


def rng(seed=0):
    return np.random.default_rng(seed)


def tabled(rows):
    return read_together(*rows)


@pytest.mark.parametrize(
    ("columns", "share", "again"),
    [
        *((WIDE, 0.2, again) for again in (1, 2, 3)),
        *((WIDE, 0.05, again) for again in (1, 2)),
        *((SMALL, 0.2, again) for again in (1, 2)),
        *((columns, 1.0, 3) for columns in (WIDE, SMALL)),
    ],
)
def test_copies_with_values_drawn_again_are_found(columns, share, again):
    for seed in range(3 if THOROUGH else 1):
        assert found(tabled(planted(rng(seed), columns, share, again))) > 0


def test_one_copy_in_a_hundred_is_found_in_a_larger_table():
    assert found(tabled(planted(rng(1), WIDE, 0.01, 2, n=5_000))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3 if THOROUGH else 1))
def test_an_audit_grades_a_fifth_of_copies_with_three_of_seven_values_drawn_again(seed):
    tables = planted(rng(seed), WIDE, 0.2, 3)
    audit = audit_released(*tables, secrets=["sex"], label="sex", seed=seed)
    verdict = audit.report().verdict
    assert verdict.grade == MODERATE
    assert any("(rare values in common) goes furthest" in text for text in verdict.sentences)


def test_copies_of_the_holdout_are_found_there():
    real, made, holdout = planted(rng(), WIDE, 0.2, 2)
    for hits in hits_of(tabled((holdout, made, real))):
        assert risk_beyond_control(hits, TOGETHER).high < 0


@pytest.mark.slow
@pytest.mark.parametrize("columns", [WIDE, SMALL], ids=["wide", "small"])
@pytest.mark.parametrize("rows", [1, 3], ids=["a row each", "three rows each"])
def test_nothing_is_found_in_tables_of_other_people(columns, rows):
    n = 200 if THOROUGH else 20
    wrong = 0
    for seed in range(n):
        draw = rng([seed, 5])
        sides = [persons(draw, columns, 300 // rows, rows) for _ in range(3)]
        tables = tabled(sides)
        unit = np.repeat(np.arange(300 // rows), rows)
        tables = replace(tables, unit=unit, holdout_unit=unit + len(unit))
        wrong += found(tables, 0.975) > 0  # two looks
    assert wrong <= binom.ppf(0.999, n, 0.05)


def persons(draw, columns, n, rows):
    """Return several rows of each of some people, which differ in a column or two."""
    frame = population(draw, n)[columns]
    frame = frame.loc[frame.index.repeat(rows)].reset_index(drop=True)
    changed = columns[-1:] if rows > 1 else []
    return frame.assign(**{x: population(draw, len(frame))[x] for x in changed})


def test_the_score_is_that_of_a_comparison_of_pairs(monkeypatch):
    tables = released(rng(4), 60, of="others")
    asked = tables.real
    made = tables.synthetic
    total = np.zeros((len(asked), len(made)))
    for x, y in zip(asked.values.T, made.values.T, strict=True):
        equal = (x[:, None] == y) | (np.isnan(x)[:, None] & np.isnan(y))
        share = np.array([np.mean((y == v) | (np.isnan(v) & np.isnan(y))) for v in x])
        total += np.where(equal, -np.log(np.maximum(share, 1e-9))[:, None], 0.0)
    scores = rarest_in_common(asked, made)
    width = asked.values.shape[1]
    unit = (2**16 - 1) // width / np.log(len(made))
    np.testing.assert_allclose(scores / unit, total.max(axis=1), atol=(width + 0.5) / unit)
    monkeypatch.setattr(shared_rare_values, "_BLOCK", 7)
    np.testing.assert_array_equal(scores, rarest_in_common(asked, made))
    monkeypatch.setattr(shared_rare_values, "_FREQUENT", 1.0)
    np.testing.assert_array_equal(scores, rarest_in_common(asked, made))


def test_what_is_near_is_that_of_a_comparison_of_pairs(monkeypatch):
    tables = released(rng(4), 60, of="others")
    asked = tables.real
    made = tables.synthetic
    n = len(asked) + len(made)
    total = np.zeros((len(asked), len(made)))
    for column, x, y in zip(asked.schema.columns, asked.values.T, made.values.T, strict=True):
        every = np.concatenate([x, y])
        for i, j in np.ndindex(total.shape):
            if np.isnan(x[i]) or np.isnan(y[j]):
                between = np.isnan(every).sum() if np.isnan(x[i]) and np.isnan(y[j]) else n
            elif column.is_number or x[i] == y[j]:
                low, high = sorted((x[i], y[j]))
                between = np.count_nonzero((every >= low) & (every <= high))
            else:
                between = n
            total[i, j] += 1 - np.log(between) / np.log(n)
    scores = nearest_in_common(asked, made)
    np.testing.assert_allclose(scores, total.max(axis=1), rtol=1e-5)
    monkeypatch.setattr(shared_rare_values, "_CELLS", 100)
    np.testing.assert_array_equal(scores, nearest_in_common(asked, made))


def near_copies(seed, share, n=600):
    """Return real records, a release with copies whose numbers moved by up to 5%, and a holdout."""
    draws = rng(seed)
    real, made, holdout = (patients(draws, n) for _ in range(3))
    kept = real[: round(share * n)].copy()
    for name in ("age", "stay", "cost"):
        moved = kept[name] * draws.uniform(0.95, 1.05, len(kept))
        kept[name] = moved.round(2 if name == "cost" else 0).astype(real[name].dtype)
    kept["day"] += pd.to_timedelta(draws.integers(-14, 15, len(kept)), "D")
    return real, pd.concat([kept, made[len(kept) :]], ignore_index=True), holdout


@pytest.mark.slow
def test_two_near_copies_in_a_hundred_are_found():
    games = 8 if THOROUGH else 2
    options = {"attempts": 50, "secrets": ["sex"], "label": "sex"}
    for seed in range(games):
        found = audit_released(*near_copies(seed, 0.02), **options).report()
        assert found.verdict.grade not in (NONE, UNTOLD)
        assert any(word in found.verdict.headline for word in ("stand out", "have a near copy"))


@pytest.mark.slow
@pytest.mark.parametrize("draw", [patients, population])
def test_few_stand_out_no_more_often_than_the_level_allows(draw):
    games = times(40)
    shown = 0
    for seed in range(games):
        draws = rng(seed)
        tables = tabled([draw(draws, 150) for _ in range(3)])
        rankings = ranked_in_common(tables, draws).rankings
        top = tail(rankings, draws, 0.9)
        shown += top is not None and top.shown
    assert shown <= binom.ppf(0.999, games, 0.1)


def test_neither_the_order_of_rows_nor_of_columns_matters():
    tables = released(rng(2), 80)
    rows = rng().permutation(80)
    columns = rng().permutation(6).tolist()
    scores = rarest_in_common(tables.real, tables.synthetic)
    turned = (select_columns(x, columns) for x in (tables.real[rows], tables.synthetic[rows]))
    np.testing.assert_array_equal(scores[rows], rarest_in_common(*turned))


def test_records_that_nobody_could_tell_apart_are_all_found():
    alike = pd.DataFrame({"a": ["x", "y"] * 10, "b": ["p"] * 20, "c": ["q"] * 20})
    for hits in hits_of(tabled((alike, alike, alike))):
        assert hits.attack.all()
        assert hits.control.all()


def test_as_many_as_wanted_are_found_and_those_that_tie_with_the_last():
    tables = released(rng(3), 400, n_holdout=100, of="others")
    for hits, first in zip(hits_of(tables), wanted_first(500), strict=True):
        many = hits.attack.sum() + hits.control.sum()
        assert first <= many <= first + 3
        assert 0 < hits.baseline.sum() <= many


@pytest.mark.parametrize(
    ("n", "wanted"),
    [(20, (1, 4)), (2_000, (50, 400)), (8_000, (50, 1_600)), (40_000, (200, 8_000))],
)
def test_how_many_are_wanted(n, wanted):
    assert wanted_first(n) == wanted


def test_of_too_many_records_equal_shares_are_drawn(monkeypatch):
    tables = released(rng(3), 400, n_holdout=100)
    monkeypatch.setattr(shared_rare_values, "_PAIRS", 400 * 250)
    for hits in hits_of(tables):
        assert (len(hits.attack), len(hits.control)) == (200, 50)


def test_without_a_holdout_there_is_nothing_to_rank_with():
    skipped = ranked_in_common(without_holdout(released(rng(), 40)), rng())
    assert isinstance(skipped, Skipped)
    assert "no holdout" in skipped.reason


def hours(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Consumption of households by the hour, most of it around an hour of their own."""
    peak = rng.integers(6, 22, (n, 1))
    usual = rng.gamma(3, 0.2, (n, 1)) * (1 + 2 * np.exp(-((np.arange(24) - peak) ** 2) / 8))
    used = (usual * rng.gamma(8, 1 / 8, (n, 24))).round(3)
    return pd.DataFrame(used, columns=[f"h{hour:02}" for hour in range(24)])


@pytest.mark.parametrize(("step", "copied", "least"), [(1, 60, 0.0), (-2, 60, 0.0), (1, 300, 0.3)])
def test_series_moved_in_time_are_found(step: int, copied: int, least: float) -> None:
    real, holdout, others = (hours(rng(seed), 300) for seed in (1, 2, 3))
    moved = pd.DataFrame(np.roll(real[:copied].to_numpy(), step, axis=1), columns=real.columns)
    tables = read_together(real, pd.concat([moved, others[copied:]], ignore_index=True), holdout)
    common = ranked_in_common(tables, rng())
    assert found(tables) > least
    assert tail(common.rankings, rng(), 0.99).exposed >= 20
    assert common.moved[:copied].min() > np.median(common.moved[300:])


@pytest.mark.parametrize(
    ("names", "blocks"),
    [
        (["age", *(f"h{hour:02}" for hour in range(8)), "sex"], [8]),
        ([f"{hour:02}:{minute:02}" for hour in range(4) for minute in (0, 30)], [8]),
        ([*(f"a{i}" for i in range(6)), *(f"b{i}" for i in range(7))], [6, 7]),
        ([f"lab {i}" for i in range(5)], []),
        (list("abcdefgh"), []),
    ],
)
def test_a_series_is_a_block_of_columns_whose_names_differ_in_digits(names, blocks):
    made = pd.DataFrame(rng().random((20, len(names))), columns=names)
    schema = read_together(made, made).schema
    assert disguised.series_of(read_together(made.round(), made.round()).schema) == ()
    assert [len(block) for block in disguised.series_of(schema)] == blocks
