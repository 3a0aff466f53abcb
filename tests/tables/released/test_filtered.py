"""Tables filtered by the real records are told from honest ones and from swapped files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from privacygauge.report.grades import NONE, UNTOLD
from privacygauge.tables.released.filtered import _exclusion_p_value, filtered_against
from privacygauge.tables.released.tables import tables_of
from privacygauge.tables.released_audit.audit import audit_released


def coarse(rng, n):
    """Return people of six columns with few values, which depend on each other."""
    kind = rng.integers(0, 4, n)

    def column(k, share):
        return np.where(rng.random(n) < share, kind % k, rng.integers(0, k, n))

    sizes = {"region": (6, 0.3), "band": (7, 0.5), "sex": (2, 0.2), "tenure": (4, 0.5),
             "health": (4, 0.6), "job": (8, 0.6)}  # fmt: skip
    return pd.DataFrame(
        {name: name + pd.Series(column(*s)).astype(str) for name, s in sizes.items()}
    )


def fine(rng, n):
    """Return people whom numbers tell apart: no two are equal."""
    age = rng.normal(55, 18, n)
    stay = rng.gamma(1.5, 3, n)
    return pd.DataFrame(
        {
            "age": age.round(1),
            "stay": stay.round(2),
            "cost": (stay * rng.gamma(5, 90, n) + age).round(),
            "bmi": rng.normal(27, 5, n).round(1),
            "sex": rng.choice(["f", "m"], n),
            "ward": rng.choice(list("abcdefgh"), n),
        }
    )


def unequal(made, real):
    """Return the rows that equal no real record."""
    keys = [frame.astype(str).agg("|".join, axis=1) for frame in (made, real)]
    return made[~keys[0].isin(set(keys[1]))].reset_index(drop=True)


def distant(made, real, share=0.5):
    """Return the rows furthest from all real records, in standard deviations."""
    numbers = [c for c in real if real[c].dtype.kind in "iuf"]
    parts = []
    for frame in (made, real):
        scaled = (frame[numbers] - real[numbers].mean()) / real[numbers].std()
        texts = pd.get_dummies(frame.drop(columns=numbers)).astype(float) / np.sqrt(2)
        parts.append(np.hstack([scaled, texts]))
    away = cdist(*parts).min(axis=1)
    return made[away >= np.quantile(away, share)].reset_index(drop=True)


def sides(draw, seed, n, m=None):
    rng = np.random.default_rng(seed)
    m = n if m is None else m
    people = draw(rng, n + m + 5 * n)
    parts = people[:n], people[n : n + m], people[n + m :]
    return rng, *(part.reset_index(drop=True) for part in parts)


def filtered(real, made, holdout):
    tables = tables_of(real, made, holdout, None, ((), (), ()), ())
    return filtered_against(tables, np.random.default_rng(0), 0.998)


@pytest.mark.parametrize("seed", range(3))
def test_rows_equal_to_real_ones_are_missed(seed):
    _, real, holdout, made = sides(coarse, seed, 400)
    found = filtered(real, unequal(made, real)[:400], holdout)
    assert found is not None
    assert found.equal
    assert found.real == 0
    assert found.auc.low > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_rows_near_to_real_ones_are_missed(seed):
    _, real, holdout, made = sides(fine, seed, 800)
    found = filtered(real, distant(made, real)[:800], holdout)
    assert found is not None
    assert not found.equal
    assert found.auc.low > 0.53


@pytest.mark.parametrize(("m", "rows"), [(150, 600), (600, 200)])
def test_a_small_holdout_and_a_small_release_suffice(m, rows):
    _, real, holdout, made = sides(coarse, 1, 600, m)
    assert filtered(real, unequal(made, real)[:rows], holdout) is not None


def noisy(frame, rng, spread):
    moved = frame.copy()
    for name in frame.select_dtypes("number"):
        moved[name] = frame[name] + rng.normal(0, spread * frame[name].std(), len(frame))
    return moved


def partly_shuffled(frame, rng):
    """Return half of the rows as they are, and half with independent columns."""
    other = frame.apply(lambda column: rng.permutation(column.to_numpy()))
    return frame.where(pd.Series(rng.random(len(frame)) < 0.5), other)


MADE = {
    "others": lambda real, holdout, others, rng: others,
    "few others": lambda real, holdout, others, rng: others[:60],
    "independent": lambda real, holdout, others, rng: others.apply(rng.permutation),
    "blurred": lambda real, holdout, others, rng: noisy(others, rng, 0.3),
    "real records": lambda real, holdout, others, rng: real,
    "blurred real records": lambda real, holdout, others, rng: noisy(real, rng, 0.1),
    "swapped": lambda real, holdout, others, rng: holdout,
    "swapped, in part": lambda real, holdout, others, rng: partly_shuffled(holdout, rng),
    "swapped, blurred": lambda real, holdout, others, rng: noisy(holdout, rng, 0.1),
    "swapped, much blurred": lambda real, holdout, others, rng: noisy(holdout, rng, 0.5),
    "swapped, few": lambda real, holdout, others, rng: pd.concat([holdout[:30], others[30:]]),
}


@pytest.mark.parametrize("how", MADE)
@pytest.mark.parametrize("draw", [coarse, fine])
def test_tables_that_nobody_filtered_are_not_taken_for_filtered(draw, how):
    for seed in range(6):
        n = (60, 200, 400)[seed % 3]
        rng, real, holdout, others = sides(draw, 100 + seed, n, (None, 60)[seed % 2])
        made = MADE[how](real, holdout, others[:n], rng).reset_index(drop=True)
        assert filtered(real, made, holdout) is None


def test_the_test_of_exclusion_is_exact():
    """Independent properties fall below each level no more often than it says."""
    rng = np.random.default_rng(0)
    strata = np.repeat([0, 1], [60, 140])
    p = []
    for _ in range(2_000):
        one, other = (rng.random(200) < np.where(strata, 0.1, 0.5) for _ in range(2))
        p.append(_exclusion_p_value(one, other, strata))
    for level in (0.01, 0.05, 0.2):
        assert np.mean(np.array(p) <= level) <= level + 3 * np.sqrt(level / 2_000)


@pytest.mark.slow
def test_a_filtered_table_is_a_leak_with_a_reason_and_a_way_out():
    _, real, holdout, made = sides(coarse, 5, 800)
    found = audit_released(real, unequal(made, real)[:800], holdout)
    told = found.report().verdict
    assert told.grade not in (NONE, UNTOLD)
    assert "filtered" in told.headline
    assert "no real record equals" in " ".join(told.sentences)
    assert "swapped" not in " ".join(found.origin.warnings)
    assert any("filter" in advice for advice in told.advice)
    assert found.report().data["filtered"]["equal"]


@pytest.mark.slow
def test_swapped_files_cannot_be_told_still():
    rng, real, holdout, _ = sides(coarse, 6, 400)
    made = partly_shuffled(holdout, rng)
    told = audit_released(real, made, holdout).report().verdict
    assert told.grade == UNTOLD
