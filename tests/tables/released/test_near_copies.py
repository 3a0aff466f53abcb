"""Near copies of single records are found and named; rows that chance brings near name nobody."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from privacygauge.report.grades import NONE
from privacygauge.tables.generators.generator import BayNet, Marginals
from privacygauge.tables.released.near_copies import LIMIT, near_copies
from privacygauge.tables.released.tables import occurs, read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.test_unlikely import stays
from tests.thorough import times

DATES = ["day", "left"]
NUMBERS = ["age", "stay", "cost", "pressure", "creatinine"]


def ward(rng, n, outliers=0):
    """Return patients with two dates, of whom the first few lie far from all others."""
    frame = stays(rng, n)
    severe = rng.normal(size=n)
    frame["pressure"] = (130 + 8 * severe + rng.normal(0, 15, n)).round()
    frame["creatinine"] = rng.lognormal(0.1 * severe, 0.4).round(2)
    for row in range(outliers):
        frame.loc[row, "age"] = rng.integers(96, 108)
        frame.loc[row, "code"] = f"D{900 + row + 10 * rng.integers(1000)}"
        frame.loc[row, "cost"] = round(rng.uniform(2e5, 2e6), 2)
        frame.loc[row, "pressure"] = float(rng.integers(215, 260))
        frame.loc[row, "creatinine"] = round(rng.uniform(8, 20), 2)
    return frame


def moved_a_little(rows, real, noise, rng, days=0):
    """Return records whose numbers and dates are moved; all dates of one by the same days, too."""
    found = rows.copy()
    n = len(rows)
    for name in NUMBERS:
        decimals = 2 if name in ("cost", "creatinine") else 0
        moved = rows[name] + rng.normal(0, noise * real[name].std(), n)
        found[name] = moved.round(decimals).astype(real[name].dtype)
    alike = rng.integers(-days, days + 1, n)
    for name in DATES:
        found[name] = rows[name] + pd.to_timedelta(alike + rng.integers(-3, 4, n), "D")
    return found


def released(rng, outliers, noise, n=400, days=0):
    """Return tables with outliers on every side, those of the real one nearly copied."""
    real, holdout, made = (ward(rng, n, outliers) for _ in range(3))
    if noise is not None:
        copies = moved_a_little(real[:outliers], real, noise, rng, days)
        made = pd.concat([copies, made[outliers:]], ignore_index=True)
    return real, made, holdout


def found(real, made, holdout=None):
    tables = read_together(real, made, holdout)
    rows = np.flatnonzero(~occurs(tables.synthetic, tables.everyone))
    return near_copies(tables, rows, np.random.default_rng(0))


@pytest.mark.parametrize("control", [True, False], ids=["holdout", "no holdout"])
@pytest.mark.parametrize("days", [0, 180], ids=["dates near", "dates moved alike"])
@pytest.mark.parametrize("noise", [0.01, 0.05])
@pytest.mark.parametrize("copied", [1, 3, 6])
def test_near_copies_of_isolated_people_are_named(copied, noise, days, control):
    named = 0
    for seed in range(times(4)):
        real, made, holdout = released(np.random.default_rng(seed), copied, noise, days=days)
        near = found(real, made, holdout if control else None)
        if near is not None:
            assert set(near.real) <= set(range(copied))
            assert set(near.made) <= set(range(copied))
            assert len(near.holdout) == 0
            named += len(near.real)
    assert named >= 0.9 * copied * times(4)


def of_others(rng, table, n):
    """Return rows between two near people of a table (SMOTE)."""
    numbers = table[NUMBERS].to_numpy(np.float64)
    scaled = (numbers - numbers.mean(0)) / numbers.std(0)
    first = rng.integers(len(table), size=n)
    away = np.square(scaled[first][:, None] - scaled).sum(axis=2)
    second = np.argsort(away, axis=1)[np.arange(n), rng.integers(1, 6, n)]
    share = rng.random(n)
    made = table.iloc[first].reset_index(drop=True)
    other = table.iloc[second].reset_index(drop=True)
    between = made.where(np.tile(share[:, None] < 0.5, (1, made.shape[1])), other)
    for name in NUMBERS:
        values = made[name] + share * (other[name] - made[name])
        between[name] = values.round(2).astype(table[name].dtype)
    return between.astype(table.dtypes)


def of_copula(rng, table):
    """Return rows of a Gaussian copula: the table's own values, tied by rank correlations."""
    codes = np.column_stack([pd.factorize(table[name], sort=True)[0] for name in table])
    n = len(table)
    places = np.argsort(np.argsort(codes + 1e-6 * rng.random(codes.shape), axis=0), axis=0)
    correlation = np.corrcoef(norm.ppf((places + 0.5) / n), rowvar=False)
    drawn = norm.cdf(rng.multivariate_normal(np.zeros(len(correlation)), correlation, n))
    return pd.DataFrame(
        {
            name: np.sort(table[name].to_numpy())[(share * n).astype(int)]
            for name, share in zip(table, drawn.T, strict=True)
        }
    )


NULLS = {
    "other people": lambda real, other, rng: other,
    "marginals of the real table": lambda real, other, rng: pd.DataFrame(
        {name: rng.permutation(real[name]) for name in real}
    ),
    "copula of the real table": lambda real, other, rng: of_copula(rng, real),
    "between others": lambda real, other, rng: of_others(rng, other, len(real)),
}


@pytest.mark.parametrize("control", [True, False], ids=["holdout", "no holdout"])
@pytest.mark.parametrize("outliers", [0, 1, 3, 10])
@pytest.mark.parametrize("kind", NULLS)
def test_nobody_is_named_by_chance(kind, outliers, control):
    for seed in range(times(3)):
        rng = np.random.default_rng(seed)
        real, made, holdout = released(rng, outliers, None)
        near = found(real, NULLS[kind](real, made, rng), holdout if control else None)
        assert near is None


@pytest.mark.parametrize("generator", [Marginals(), BayNet(degree=2)], ids=repr)
def test_generators_that_never_saw_the_real_table_name_nobody(generator):
    for seed in range(times(2)):
        rng = np.random.default_rng(seed)
        real, made, holdout = ward(rng, 400, 3), ward(rng, 400, 3), ward(rng, 400, 3)
        tables = read_together(real, made, holdout)
        generated = generator.generate(tables.synthetic, 400, rng)
        assert found(tables.real, generated, tables.holdout) is None


def test_a_family_on_both_sides_shows_that_chance_makes_near_records():
    """Members of one household agree nearly, on the real side as across."""
    rng = np.random.default_rng(0)
    real = ward(rng, 400)
    both = pd.concat([real, moved_a_little(real, real, 0.02, rng)], ignore_index=True)
    both = both.sample(frac=1, random_state=0).reset_index(drop=True)
    assert found(both[:400], both[400:].reset_index(drop=True)) is None


def test_the_page_names_near_copies_and_a_bad_holdout_hides_none():
    rng = np.random.default_rng(1)
    real, made, holdout = released(rng, 3, 0.02)
    later = holdout.assign(age=holdout["age"] + 9, cost=holdout["cost"] * 1.3)
    for other in (holdout, later, None):
        audit = audit_released(real, made, other, ids=[f"patient {row}" for row in range(400)])
        assert {one.name for one in audit.nearly} == {f"patient {row}" for row in range(3)}
        assert max(one.expected for one in audit.nearly) <= LIMIT
        report = audit.report()
        assert report.verdict.grade != NONE
        told = "3 real records have a near copy in the synthetic table"
        assert report.verdict.headline.endswith(told)
        assert sorted(report.data["copies"]["nearly"]) == [0, 1, 2]


def test_a_generator_that_nearly_copies_the_holdout_makes_it_no_control():
    rng = np.random.default_rng(2)
    holdout, made, real = released(rng, 3, 0.02)
    audit = audit_released(real, made, holdout)
    assert audit.learnt is not None
    assert audit.learnt.nearly
    assert audit.learnt.copied == 3
