"""Columns of times and places count as differences of the records, however they are written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import privacygauge as pg
from privacygauge.report.values import Severity
from tests.thorough import times

WRITTEN = {
    "years": lambda days: days.dt.year,
    "dates": lambda days: days,
    "iso": lambda days: days.dt.strftime("%Y-%m-%dT08:%M:00Z"),
    "german": lambda days: days.dt.strftime("%d.%m.%Y"),
    "american": lambda days: days.dt.strftime("%m/%d/%Y"),
    "months": lambda days: days.dt.strftime("%Y-%m"),
    "names of months": lambda days: days.dt.strftime("%b %Y"),
    "seconds": lambda days: days.astype("datetime64[s]").astype("int64"),
    "places": lambda days: days.dt.year.map({2023: "St. Mary", 2024: "Northwood"}),
}


def frame(seed: int, written: str, exchanged: float, *, leak: bool = False) -> pd.DataFrame:
    """Return answers of a model whose later records, the non-members, have noisier classes."""
    rng = np.random.default_rng(seed)
    n = 2400
    member = np.arange(n) < n // 2
    late = ~member ^ (rng.random(n) < exchanged)
    x = rng.normal(size=(n, 5))
    noise = np.where(late, 2.0, 0.5) * rng.logistic(size=n)
    label = (x @ [2.0, -2.0, 1.0, 0, 0] + noise > 0).astype(int)
    model = RandomForestClassifier(60, random_state=0) if leak else LogisticRegression()
    answers = model.fit(x[member], label[member]).predict_proba(x)
    day = rng.integers(0, 365, n) + 365 * late
    days = pd.Series(pd.Timestamp("2023-01-01") + pd.to_timedelta(day, unit="D"))
    columns = {"p_0": answers[:, 0], "p_1": answers[:, 1], "label": label, "member": member}
    return pd.DataFrame({**columns, "time": WRITTEN[written](days)})


@pytest.mark.parametrize("written", list(WRITTEN))
def test_records_of_another_time_or_place_are_no_leak(written: str) -> None:
    for seed in range(times(2)):
        report = pg.audit_classifier(frame(seed, written, 0.0)).report()
        assert report.verdict.grade.severity is Severity.UNTOLD
        assert "differ in 'time'" in report.verdict.headline


@pytest.mark.slow
@pytest.mark.parametrize("written", list(WRITTEN))
def test_times_that_overlap_are_matched_and_a_leak_is_still_found(written: str) -> None:
    grades = []
    for seed in range(times(5)):
        null, leaky = (frame(seed, written, 0.15, leak=leak) for leak in (False, True))
        grades.append(pg.audit_classifier(null).report().verdict.grade.severity)
        found = pg.audit_classifier(leaky).report().verdict.grade.severity
        assert found not in (Severity.NOTHING, Severity.UNTOLD)
    alarms = [grade not in (Severity.NOTHING, Severity.UNTOLD) for grade in grades]
    assert np.mean(alarms) <= 0.2


@pytest.mark.parametrize(
    "sides",
    [("train", "test"), ("in", "out"), ("1", "0"), ("data/train.csv", "data/test.csv"), (3, 4)],
)
def test_words_for_membership_are_no_place(sides: tuple[object, object]) -> None:
    data = frame(0, "years", 0.15, leak=True).drop(columns="time")
    data["origin"] = np.where(data.member, *sides)
    verdict = pg.audit_classifier(data).report().verdict
    assert verdict.grade.severity not in (Severity.NOTHING, Severity.UNTOLD)


@pytest.mark.parametrize("dealt", ["machines", "records"])
def test_whole_groups_on_one_side_are_named_as_the_units_they_may_be(dealt: str) -> None:
    rng = np.random.default_rng(3)
    n = 1200
    machine = np.arange(n) % 40
    member = rng.permutation(40)[machine] < 20 if dealt == "machines" else rng.random(n) < 0.5
    label = rng.integers(0, 3, n)
    logits = rng.normal(size=(n, 3)) + rng.normal(0, 0.5, (40, 3))[machine]
    logits[np.arange(n), label] += 1.5
    columns = {f"z_{i}": logits[:, i] for i in range(3)}
    names = np.char.add("M", machine.astype(str))
    table = pd.DataFrame({**columns, "label": label, "member": member, "machine": names})
    verdict = pg.audit_classifier(table).report().verdict
    said = any("audit with --unit machine" in line for line in verdict.advice)
    assert said == (dealt == "machines")
    if said:
        assert "differ in 'machine'" in verdict.headline
        named = pg.audit_classifier(table, unit="machine").report().verdict
        assert "differ in" not in named.headline
