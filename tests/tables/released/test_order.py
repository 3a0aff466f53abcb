"""Rows in the order of the real ones are found; tables that are sorted alike are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.report.grades import NONE, UNTOLD
from privacygauge.tables.released.order import same_place
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.made_released import people
from tests.thorough import times


def sorted_alike(rng, n):
    return people(rng, n).sort_values("age", kind="stable", ignore_index=True)


def in_a_rhythm(rng, n):
    day = np.arange(n) % 7
    return people(rng, n).assign(day=day, shift=np.array(list("abc"))[np.arange(n) % 3])


def in_blocks(rng, n):
    return people(rng, n).iloc[np.arange(n) // 3 * 3].assign(visit=np.arange(n) % 3)


NULLS = {"random": people, "sorted": sorted_alike, "rhythm": in_a_rhythm, "blocks": in_blocks}


def kept_in_part(rng, real, share):
    """Return rows at the places of the real ones, of which a share of the values is kept."""
    others = people(rng, len(real))
    kept = rng.random(real.shape) < share
    return real.where(kept, others).astype(real.dtypes)


@pytest.mark.parametrize("kind", list(NULLS))
def test_tables_of_other_people_agree_as_much_at_other_distances(kind):
    games = times(40)
    wrong = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, 4])
        found = same_place(read_together(*(NULLS[kind](rng, 150) for _ in range(2))), rng)
        beyond = found.beyond(0.95)
        wrong += beyond is not None and beyond.low > 0
    assert wrong <= max(1, 0.05 * games)


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("kind", ["random", "sorted"])
def test_rows_in_the_order_of_the_real_ones_are_found(kind, share):
    rng = np.random.default_rng(0)
    real = NULLS[kind](rng, 200)
    found = same_place(read_together(real, kept_in_part(rng, real, share)), rng).beyond(0.99)
    assert found.low > (0.2 if share < 1 else 0.9)
    assert found.n == 200


def test_noise_hides_no_order():
    rng = np.random.default_rng(0)
    real = people(rng, 200)[["age", "pay", "size"]]
    made = real + rng.normal(0, 0.5, real.shape) * real.std().to_numpy()
    assert same_place(read_together(real, made), rng).beyond(0.99).low > 0.1


def test_the_share_beyond_chance_is_that_of_a_line():
    rng = np.random.default_rng(0)
    real = people(rng, 100)
    found = same_place(read_together(real, real), rng)
    assert found.hit.all()
    assert found.beyond(0.95).value == pytest.approx(1.0)
    assert same_place(read_together(real[:30], real), rng) is None


@pytest.mark.slow
@pytest.mark.parametrize("with_holdout", [True, False])
def test_the_page_says_that_rows_are_in_the_order_of_the_people(with_holdout):
    rng = np.random.default_rng(0)
    real = people(rng, 300)
    holdout = people(rng, 300)
    made = kept_in_part(rng, real, 0.3)
    options = {"attempts": 50, "secrets": ["sex"], "label": "sex"}
    others = holdout if with_holdout else None
    ordered = audit_released(real, made, others, **options).report()
    assert ordered.verdict.grade not in (NONE, UNTOLD)
    assert "order of the real records" in ordered.verdict.headline
    assert any("Shuffle the rows" in advice for advice in ordered.verdict.advice)
    shuffled = made.sample(frac=1.0, random_state=1)
    mixed = audit_released(real, shuffled, others, **options).report()
    assert "order" not in mixed.verdict.headline
    assert not any("Shuffle" in advice for advice in mixed.verdict.advice)
    assert pd.notna(ordered.data["order"]["low"])
    assert mixed.data["order"] is None or mixed.data["order"]["low"] <= 0


def days(rng, weather):
    """Return a shop's sales by day, with the weather that all shops had."""
    n = len(weather)
    return pd.DataFrame(
        {
            "day": np.arange(n),
            "weekday": [f"d{i % 7}" for i in range(n)],
            "warm": weather,
            "sales": np.exp(7 + 0.02 * weather + rng.normal(0, 0.2, n)).round(2),
            "visitors": (300 + 4 * weather + rng.normal(0, 30, n)).round(),
            "staff": rng.integers(3, 8, n),
        }
    )


@pytest.mark.parametrize("fewer", [0, 100])
def test_the_order_of_days_is_no_leak_where_the_holdout_has_it_too(fewer):
    games = times(20)
    wrong = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, 5])
        weather = (12 + 10 * np.sin(np.arange(300) / 58) + rng.normal(0, 2, 300)).round(1)
        real, made, holdout = (days(rng, weather) for _ in range(3))
        tables = read_together(real, made, holdout[: 300 - fewer], compared=["day"])
        found = same_place(tables, rng)
        beyond = None if found is None else found.beyond(0.95)
        wrong += beyond is not None and beyond.low > 0
        # A shop's own numbers, moved a little, still stand in its order.
        own = real.assign(
            sales=(real["sales"] * np.exp(rng.normal(0, 0.02, 300))).round(2),
            visitors=real["visitors"] + rng.integers(-3, 4, 300),
        )
        tables = read_together(real, own, holdout[: 300 - fewer], compared=["day"])
        assert same_place(tables, rng).beyond(0.99).low > 0.3
    assert wrong <= max(1, 0.05 * games)
