"""A rare kind of record, of which each table holds one, is no copy; copies of others still are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released.unlikely import unlikely_copies
from tests.thorough import times

N = 400
CHANNELS = ["temperature", "humidity", "voltage", "carbon", "pressure"]


def channels(rng):
    """Return readings of sensors."""
    warm, strong = rng.normal(size=(2, N))
    return pd.DataFrame(
        {
            "device": rng.choice([f"device {i}" for i in range(12)], N),
            "temperature": (21 + 2 * warm + rng.normal(0, 0.2, N)).round(2),
            "humidity": (45 - 5 * warm + rng.normal(0, 3, N)).round(1),
            "voltage": (3.3 + 0.02 * strong).round(3),
            "carbon": np.exp(6.3 + 0.3 * strong + rng.normal(0, 0.1, N)).round(),
            "pressure": rng.normal(1013, 8, N).round(1),
            "status": rng.choice(["OK", "WARN"], N, p=[0.99, 0.01]),
        }
    )


def answers(rng):
    """Return marks of sixteen scales from 0 to 100."""
    common = rng.normal(size=(N, 2))
    marks = [
        np.clip(50 + 20 * common[:, i % 2] + rng.normal(0, 15, N), 0, 100).round()
        for i in range(16)
    ]
    frame = pd.DataFrame({f"item {i}": one for i, one in enumerate(marks)})
    return frame.assign(sex=rng.choice(["f", "m"], N), age=rng.integers(18, 80, N))


def results(rng):
    """Return results of twelve tests, which are low or high."""
    side = np.where(rng.random(N) < 0.5, 4, -4)
    values = (rng.normal(size=(N, 12)) + side[:, None]).round(2)
    frame = pd.DataFrame(values, columns=[f"test {i}" for i in range(12)])
    return frame.assign(sex=rng.choice(["f", "m"], N))


def failed(frame, row, rng):
    frame.loc[row, CHANNELS] = 0.0
    frame.loc[row, "status"] = "FAULT"


def failed_by_channel(frame, row, rng):
    frame.loc[row, CHANNELS] = [-40.0, 0.0, 5.0, 65535.0, 850.0]
    frame.loc[row, "status"] = "FAULT"


def in_the_middle(frame, row, rng):
    frame.loc[row, frame.columns[:16]] = 50.0


def left_out(frame, row, rng):
    frame.loc[row, frame.columns[:16]] = np.nan


def between(frame, row, rng):
    frame.loc[row, frame.columns[:12]] = rng.normal(0, 0.15, 12).round(2)


KINDS = {
    "channels that read 0": (channels, failed),
    "channels that read what a failure gives": (channels, failed_by_channel),
    "the middle of all scales": (answers, in_the_middle),
    "no answer at all": (answers, left_out),
    "results in the middle": (results, between),
}


def named(real, made, holdout):
    """Return the real records that are named as copied, in whole, in part or nearly."""
    tables = read_together(real, made, holdout)
    alone = np.zeros(len(tables.real), bool)
    found = unlikely_copies(tables, alone, 0.99, np.random.default_rng(0))
    rows = set(found.real.tolist())
    if found.together is not None:
        rows |= set(found.together.rows.tolist())
    if found.partly is not None:
        rows |= set(found.partly.rows.tolist())
    if found.nearly is not None:
        rows |= set(found.nearly.real.tolist())
    return rows


@pytest.mark.parametrize("control", [True, False], ids=["holdout", "no holdout"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_record_of_a_rare_kind_on_each_side_names_nobody(kind, control):
    draw, change = KINDS[kind]
    for seed in range(times(6)):
        rng = np.random.default_rng(seed)
        real, made, holdout = (draw(rng) for _ in range(3))
        for frame in (real, made):
            change(frame, 7, rng)
        # One device, one sex: they stand there in whole where all else is equal.
        made.loc[7, ["device", "sex"]] = real.loc[7].reindex(["device", "sex"])
        made = made[real.columns].astype(real.dtypes)
        assert named(real, made, holdout if control else None) == set()


@pytest.mark.parametrize("draw", [channels, answers, results])
def test_a_copy_of_an_ordinary_record_is_named(draw):
    for seed in range(times(4)):
        rng = np.random.default_rng(seed)
        real, made = (draw(rng) for _ in range(2))
        made.loc[3] = real.loc[5]
        made.iloc[4] = real.iloc[6].where(np.arange(real.shape[1]) != 1, made.iloc[4])
        assert named(real, made.astype(real.dtypes), None) == {5, 6}
