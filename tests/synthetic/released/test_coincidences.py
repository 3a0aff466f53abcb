"""A handful of copied addresses, timestamps or phrases is a leak, whatever share of the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.synthetic.released.coincidences import shared_values
from privacygauge.synthetic.released.shared_runs import shared_runs
from privacygauge.synthetic.released.tables import read_together

WORDS = np.array([f"{a}{b}" for a in "bdfgklmnprst" for b in ("an", "el", "or", "ist", "um", "ay")])


def people(rng, n):
    """Return people with an address, a phone, a moment, an amount that is often round, a note."""
    rank = np.arange(1, len(WORDS) + 1)
    lengths = rng.integers(15, 40, n)
    notes = [" ".join(rng.choice(WORDS, k, p=(1 / rank) / (1 / rank).sum())) for k in lengths]
    moment = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(365 * 86_400, size=n), "s")
    round_pay = rng.random(n) < 0.05
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(["Paris", "Rome", "Oslo"], n),
            "pay": np.where(round_pay, rng.integers(9, 99, n) * 100, rng.gamma(2, 2e3, n)).round(2),
            "mail": [f"{rng.choice(WORDS)}{rng.integers(10**6)}@mail.com" for _ in range(n)],
            "phone": [f"+1-{a}-{b}" for a, b in rng.integers(100_000, 999_999, (n, 2))],
            "seen": moment.strftime("%Y-%m-%d %H:%M:%S"),
            "note": notes,
        }
    )


def found(real, made, holdout):
    tables = read_together(real, made, holdout)
    return [
        *shared_values(tables, 0.95),
        *shared_runs(tables, np.random.default_rng(0), 0.95),
    ]


PLANTS = {
    "mail": ("mail", lambda x: x.str.upper(), 9),
    "phone": ("phone", lambda x: x.str.replace("+1-", "").str.replace("-", ""), 9),
    "seen": ("seen", lambda x: x, 10),
    "note in a frame": ("note", lambda x: "Patient note: " + x + " Thank you.", 10),
    "first half of a note": ("note", lambda x: x.str[: 2 * 30], 10),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_few_copied_values_are_found_and_no_others(name):
    column, written, k = PLANTS[name]
    rng = np.random.default_rng(1)
    real, made, holdout = (people(rng, 500) for _ in range(3))
    made.loc[: k - 1, column] = written(real[column].iloc[:k]).to_numpy()
    if name == "phone":  # the others are written alike
        made["phone"] = written(made["phone"])
    shown = found(real, made.sample(frac=1, random_state=0), holdout)
    assert [one.column for one in shown] == [column]
    assert set(shown[0].rows) >= set(range(k - 1))
    assert len(shown[0].rows) <= k + 1


@pytest.mark.parametrize("rounder", [False, True])
def test_tables_of_other_people_share_nothing_beyond_chance(rounder):
    alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        real, made, holdout = (people(rng, 150) for _ in range(3))
        if rounder:  # amounts of a generator that likes round numbers
            made["pay"] = (made["pay"] / 100).round() * 100
        alarms += bool(found(real, made, holdout))
    assert alarms <= 1


def test_names_need_no_holdout_where_many_are_copied():
    rng = np.random.default_rng(2)
    real, made = people(rng, 500), people(rng, 500)
    made.loc[:49, "mail"] = real["mail"].iloc[:50].to_numpy()
    [shown] = found(real, made, None)
    assert shown.column == "mail"
    assert len(shown.rows) == 50
    assert not found(real, people(rng, 500), None)
