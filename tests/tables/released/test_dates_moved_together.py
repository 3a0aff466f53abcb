"""Records whose dates were all moved alike are found by the days between them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.tables.released.hits import risk_beyond_control
from privacygauge.tables.released.linkability import nearly_copied
from privacygauge.tables.released.shared_rare_values import (
    DATED,
    most_in_common,
    ranked_in_common,
)
from privacygauge.tables.released.suite import TableOptions, tries
from privacygauge.tables.released.tables import read_together
from tests.thorough import times

DATES = ["born", "admitted", "discharged"]


def patients(rng, n):
    admitted = np.datetime64("2020-01-01") + rng.integers(0, 1000, n)
    return pd.DataFrame(
        {
            "discharged": admitted + rng.poisson(6, n),
            "sex": rng.choice(["f", "m"], n),
            "born": admitted - rng.integers(7000, 33000, n),
            "code": rng.choice(list("abcdefghij"), n),
            "admitted": admitted,
            "town": rng.choice(list("pqrstuvw"), n),
        }
    )


def moved(rng, frame):
    """Return records whose dates are moved by up to a year each, and whose towns are shuffled."""
    days = pd.to_timedelta(rng.integers(-365, 366, len(frame)), unit="D")
    found = frame.assign(town=rng.permutation(frame["town"]))
    return found.assign(**{name: frame[name] + days for name in DATES})


def written(frame):
    return frame.assign(**{name: frame[name].dt.strftime("%Y-%m-%d") for name in DATES})


def release(rng, n, copied):
    real, holdout, others = (patients(rng, n) for _ in range(3))
    made = pd.concat([moved(rng, real[:copied]), others[copied:]]).sample(frac=1.0, random_state=0)
    return read_together(*map(written, (real, made, holdout)))


def test_days_between_dates_stand_in_their_place():
    rng = np.random.default_rng(0)
    found = release(rng, 50, 50)
    days = found.between_dates
    names = (
        "sex",
        "code",
        "town",
        "days from born to admitted",
        "days from admitted to discharged",
    )
    assert days.schema.names == names
    assert days is found.between_dates
    stay = days.real.values[:, -1]
    assert sorted(stay) == sorted(days.synthetic.values[:, -1])
    assert 0 <= stay.min() < stay.max() < 30
    assert read_together(*(patients(rng, 50)[["sex", "born"]] for _ in "ab")).between_dates is None


def test_missing_dates_leave_the_days_out():
    rng = np.random.default_rng(0)
    real, made = (patients(rng, 60) for _ in range(2))
    real.loc[3, "admitted"] = pd.NaT
    made.loc[30:, "discharged"] = pd.NaT
    days = read_together(real, made).between_dates
    assert np.isnan(days.real.values[3]).sum() == 2
    assert np.isnan(days.synthetic.values).any(axis=1).tolist() == [False] * 30 + [True] * 30


def test_a_fifth_whose_dates_were_moved_is_found():
    rng = np.random.default_rng(1)
    found = release(rng, 400, 80)
    days = nearly_copied(found.between_dates, rng)
    assert risk_beyond_control(days, 0.99).low > 0.1
    (ranked,) = (
        hits
        for hits in most_in_common(ranked_in_common(found, rng), (), rng)
        if hits.variant == DATED
    )
    assert risk_beyond_control(ranked, 0.99).low > 0.05


def test_each_form_is_a_look():
    found = release(np.random.default_rng(0), 60, 0)
    options = TableOptions(["sex"], attempts=10, half_width=0.1, level=0.95, n_parts=0)
    tried = tries(found, ["sex"], attempts=options.tried(found).attempts, seed=0)
    variants = [hits.variant for hits in tried.hits]
    assert DATED in variants
    assert "copied but for one value, days between dates" in variants


@pytest.mark.parametrize("form", ["copied", "ranked"])
def test_dates_of_other_people_show_nothing(form):
    games = times(40)
    wrong = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, 5])
        found = release(rng, 120, 0)
        if form == "copied":
            hits = nearly_copied(found.between_dates, rng)
        else:
            hits = most_in_common(ranked_in_common(found, rng), (), rng)[-1]
        wrong += risk_beyond_control(hits, 0.95).low > 0
    assert wrong <= max(1, 0.05 * games)
