"""A holdout of the same people a year later is no control; one of other people stays one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.datasets.local_copies import own_file
from privacygauge.datasets.public import adult
from privacygauge.report.grades import LARGE, MODERATE, NONE, SMALL, UNTOLD
from privacygauge.tables.released.returning import without_returning
from privacygauge.tables.released.tables import tables_of
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.planted import population
from tests.thorough import quarter, times

LEAKS = (SMALL, MODERATE, LARGE)
N = 500


def payroll(rng, n):
    """Return employees: four columns stay as they are for life, three change from year to year."""
    grade = rng.integers(1, 12, n)
    return pd.DataFrame(
        {
            "born": pd.Timestamp("1955-01-01") + pd.to_timedelta(rng.integers(0, 16_000, n), "D"),
            "sex": rng.choice(["f", "m"], n),
            "town": rng.choice([f"town {i}" for i in range(40)], n),
            "start": pd.Timestamp("1990-01-01")
            + pd.to_timedelta(rng.integers(0, 400, n) * 30, "D"),
            "grade": grade,
            "team": rng.choice([f"team {i}" for i in range(25)], n),
            "salary": (28_000 + 3_000 * grade + rng.gamma(2.0, 2_000.0, n)).round(-1),
        }
    )


def hospital(rng, n):
    """Return patients, none of whom comes twice."""
    age = rng.integers(18, 95, n)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "code": rng.choice([f"D{i}" for i in range(50)], n),
            "post": rng.choice([f"P{i}" for i in range(100)], n),
            "stay": rng.geometric(0.2, n) + age // 30,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D"),
            "cost": rng.gamma(2.0, 1500.0, n).round(2),
        }
    )


def shop(rng, n):
    """Return purchases; many are of the everyday kind, and equal in every column."""
    article = np.minimum(rng.geometric(0.02, n), 200)
    return pd.DataFrame(
        {
            "article": [f"A{i:03}" for i in article],
            "kind": [f"kind {i}" for i in article % 12],
            "price": (article * 37 % 91) + 0.99,
            "pieces": np.minimum(rng.geometric(0.7, n), 5),
            "paid": rng.choice(["card", "cash", "invoice"], n, p=[0.7, 0.25, 0.05]),
            "shop": rng.choice([f"shop {i}" for i in range(8)], n),
        }
    )


def twinned(made):
    """Return a population one in twenty of whose rows repeats another one."""

    def rows(rng, n):
        frame = made(rng, n)
        twin = np.flatnonzero(rng.random(n) < 0.05)
        frame.iloc[twin] = frame.iloc[(twin + 1) % n].to_numpy()
        return frame

    return rows


def sample_of_adult(rng, n):
    if own_file("adult.data") is None:
        pytest.skip("PRIVACYGAUGE_DATA holds no adult.data")
    return adult().sample(n, random_state=rng).reset_index(drop=True)


WORLDS = {
    "Adult": sample_of_adult,
    "payroll": payroll,
    "hospital": hospital,
    "shop": shop,
    "payroll with twins": twinned(payroll),
    "planted": population,
}


def a_year_later(rng, frame, newcomers, share=0.8):
    """Return the table of the next year: most people again, some of them changed."""
    n = len(frame)
    kept = rng.permutation(n) < round(share * n)
    later = frame.copy()
    moved = rng.random(n) < 0.05
    later.loc[moved, "town"] = rng.choice(frame["town"], int(moved.sum()))
    raised = rng.random(n) < 0.7
    later.loc[raised, "salary"] = (later.loc[raised, "salary"] * 1.03).round(-1)
    later.loc[rng.random(n) < 0.1, "grade"] += 1
    changed = rng.random(n) < 0.1
    later.loc[changed, "team"] = rng.choice(frame["team"], int(changed.sum()))
    later = pd.concat([later[kept], newcomers[~kept]])
    return later.sample(frac=1, random_state=rng).reset_index(drop=True)


def payrolls(seed, n=N, share=0.8):
    """Return a real table, other people, and the table of the same people a year later."""
    rng = np.random.default_rng(seed)
    everybody = payroll(rng, 3 * n)
    real, others, newcomers = (
        everybody[i * n : (i + 1) * n].reset_index(drop=True) for i in range(3)
    )
    later = a_year_later(rng, real, newcomers, share)
    return rng, real, others, later


def found_in(real, holdout):
    return without_returning(tables_of(real, real, holdout, None, ((), (), ()), ()))[1]


@pytest.mark.parametrize("n", [150, 500, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("share", [0.3, 0.8, 1.0])
def test_people_of_another_year_are_recognised(n, share):
    for seed in range(times(4)):
        _, real, _, later = payrolls(seed, n, share)
        found = found_in(real, later)
        assert found is not None
        assert 0.9 * share * n <= found.shared <= (0.03 + 1.02 * share) * n
        assert {"born", "start"} <= set(found.columns)
        assert "salary" not in found.columns


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("n", "m"), [(500, 500), (1000, 250)])
def test_other_people_stay_a_control(world, n, m):
    for seed in range(quarter(40)):
        everybody = WORLDS[world](np.random.default_rng(seed), n + m)
        assert found_in(everybody[:n], everybody[n:].reset_index(drop=True)) is None


@pytest.mark.parametrize("by", ["born", "salary", "start"])
def test_a_file_dealt_out_in_turn_holds_other_people(by):
    """Every second row of a sorted file: those of nearly equal values are on both sides."""
    for seed in range(times(4)):
        everybody = payroll(np.random.default_rng(seed), 4000).sort_values(by)
        real, holdout = (everybody[i::2].reset_index(drop=True) for i in (0, 1))
        assert found_in(real, holdout) is None


@pytest.mark.parametrize("world", ["shop", "planted", "Adult"])
def test_files_without_repeated_rows_hold_other_people(world):
    """Rows that repeat one of their own side were dropped, and no others."""
    for seed in range(times(4)):
        everybody = WORLDS[world](np.random.default_rng(seed), 2000)
        sides = (everybody[:1000], everybody[1000:])
        assert found_in(*(side.drop_duplicates(ignore_index=True) for side in sides)) is None


def copies_of(rng, real, others, share, *, noisy):
    n = round(share * len(real))
    copies = real[:n].copy()
    if noisy:
        for name in ("salary", "grade"):
            moved = copies[name] + rng.normal(0, 0.1 * real[name].std(), n)
            copies[name] = moved.round(-1 if name == "salary" else 0).astype(real[name].dtype)
        for name in ("born", "start"):
            copies[name] += pd.to_timedelta(rng.integers(-20, 21, n), "D")
    made = pd.concat([copies, others[n:]], ignore_index=True)
    return made.sample(frac=1, random_state=rng).reset_index(drop=True)


def test_where_nobody_else_is_left_the_number_of_changed_copies_is_said_to_be_a_lower_limit():
    rng, real, others, later = payrolls(0, share=1.0)
    for noisy in (True, False):
        made = copies_of(rng, real, others, 0.3, noisy=noisy)
        verdict = audit_released(real, made, later, attempts=50, secrets=["sex"]).report().verdict
        assert verdict.grade in LEAKS
        assert "leak at least" in verdict.headline
        assert any("is a lower limit" in text for text in verdict.sentences) == noisy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "noisy"), [(0.1, False), (1.0, False), (1.0, True), (0.0, False)]
)
def test_copies_of_people_are_found_beside_the_same_people(share, noisy):
    for seed in range(times(4)):
        rng, real, others, later = payrolls(seed)
        audit = audit_released(real, copies_of(rng, real, others, share, noisy=noisy), later)
        verdict = audit.report().verdict
        assert audit.returning is not None
        assert any("are real people again" in text for text in audit.origin.warnings)
        assert verdict.grade in (LEAKS if share else (NONE, UNTOLD)), verdict.headline
