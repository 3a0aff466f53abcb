"""The audit of unlearning: its verdicts, and classifiers that were made to forget."""

import numpy as np
import pandas as pd
import pytest

import privacygauge as pg
from privacygauge.report.values import Severity
from tests.audits.example_unlearning import example
from tests.evaluate.test_unlearning import COLUMNS, N, descended


@pytest.mark.parametrize(
    ("made", "state", "severity", "headline"),
    [
        ({"left": 1.0}, "still known", Severity.GRAVE, "Large leak: the model still knows"),
        (
            {"left": 0.1, "n": 1000},
            "still known",
            Severity.SMALL,
            "Small leak: the model still knows",
        ),
        (
            {"left": -1.0},
            "known to be forgotten",
            Severity.GRAVE,
            "Large leak: the model gives away records that it was made to forget, since it avoids",
        ),
        ({"few": 12}, "still known", Severity.MODERATE, "the model still knows at least"),
        ({}, "nothing found", Severity.NOTHING, "Nothing left was found"),
        ({"known": 0.0}, "cannot be told", Severity.UNTOLD, "does not show that it knew them"),
        ({"unlike": 0.5, "left": 1.0}, "cannot be told", Severity.UNTOLD, "differ in more than"),
        ({"n": 25}, "cannot be told", Severity.UNTOLD, "too few records"),
        (
            {"left": 1.0, "retrained": False, "controlled": False},
            "cannot be told",
            Severity.UNTOLD,
            "no control says whether both kinds are alike",
        ),
        ({"left": 2.0, "retrained": False}, "still known", Severity.GRAVE, "Large leak"),
        ({"left": 1.0, "apart": ("words",)}, "cannot be told", Severity.UNTOLD, "differ in more"),
    ],
)
def test_each_outcome_has_its_verdict(made, state, severity, headline):
    audit = example(seed=4, **made)
    report = audit.report()
    assert audit.state == state, audit.found
    assert report.verdict.grade.severity == severity
    assert headline in report.verdict.headline
    assert bool(report.worst.ids) == (severity not in (Severity.NOTHING, Severity.UNTOLD))
    assert all(int(name.split("-")[1]) < len(audit.records.forgotten) // 2 for name in
               report.worst.ids)  # fmt: skip


def test_a_limit_holds_for_what_is_known_and_for_what_is_avoided():
    known = example(left=1.0).report().numbers
    avoided = example(left=-1.0).report().numbers
    quiet = example().report().numbers
    assert known["forgotten-auc.low"] > 0.9
    assert avoided["forgotten-auc.low"] > 0.9
    assert quiet["forgotten-auc.low"] < 0.5 < quiet["forgotten-auc"] < 0.55


def test_who_stands_out_comes_first_in_the_table_and_in_the_register():
    audit = example(few=12)
    assert {int(name.split("-")[1]) for name in audit.report().worst.ids} <= set(range(12))
    frame = audit.to_frame()
    assert len(frame) == 800
    assert set(frame.nlargest(12, "score")["sample"]) == {f"record-{row}" for row in range(12)}


def predictions_of(weights, x, y, member):
    p = 1 / (1 + np.exp(-x @ weights))
    ids = [f"r{row}" for row in range(len(y))]
    return pd.DataFrame(
        {"id": ids, "p_0": 1 - p, "p_1": p, "label": y.astype(int), "member": member}
    )


@pytest.fixture(scope="module")
def classifiers():
    """Return the predictions of logistic regressions before and after forgetting, for 500 rows."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3 * N, COLUMNS))
    y = (rng.random(3 * N) < 1 / (1 + np.exp(-x[:, :5].sum(1)))).astype(float)
    start = np.zeros(COLUMNS)
    before = descended(start, x[: 2 * N], y[: 2 * N], 400)
    models = {
        "before": before,
        "ascent": descended(before, x[N : 2 * N], y[N : 2 * N], 40, sign=1.0),
        "further": descended(before, x[:N], y[:N], 5),
        "retrained": descended(start, x[:N], y[:N], 400),
        "again": descended(0.05 * rng.normal(size=COLUMNS), x[:N], y[:N], 400),
    }
    forgotten = np.arange(2 * N) < N
    return {
        name: predictions_of(weights, x[N:], y[N:], forgotten) for name, weights in models.items()
    }


@pytest.mark.parametrize(
    ("name", "state"),
    [("ascent", "known to be forgotten"), ("further", "still known"), ("again", "nothing found")],
)
def test_classifiers_are_asked_by_their_predictions(classifiers, name, state):
    audit = pg.audit_unlearning(
        classifiers["before"], classifiers[name], retrained=classifiers["retrained"]
    )
    assert audit.state == state, audit.summary()
    assert audit.report().data["n_forgotten"] == N


def test_a_classifier_without_a_retrained_one_has_no_control(classifiers):
    audit = pg.audit_unlearning(classifiers["before"], classifiers["before"])
    assert audit.state == "cannot be told"
    assert any("trained without the forgotten records" in x for x in audit.warnings)


def test_rows_of_one_person_count_once(classifiers):
    unit = np.arange(2 * N) // 5
    files = {name: frame.assign(person=unit) for name, frame in classifiers.items()}
    audit = pg.audit_unlearning(
        files["before"], files["further"], retrained=files["retrained"], unit="person"
    )
    assert audit.found.after.n == 2 * N // 5


def test_predictions_of_other_records_are_refused(classifiers):
    with pytest.raises(pg.InputError, match="same records in the same order, but their ids"):
        pg.audit_unlearning(classifiers["before"], classifiers["ascent"].iloc[::-1])
    with pytest.raises(pg.InputError, match="give both the forgotten and the fresh texts"):
        pg.audit_unlearning("before", "after", ["a text"])
    with pytest.raises(pg.InputError, match="before must be predictions of a classifier, got \\."):
        pg.audit_unlearning(".", ".")
    with pytest.raises(pg.InputError, match="leave the texts out for predictions"):
        pg.audit_unlearning(
            classifiers["before"], classifiers["ascent"], ["one text", "more"], ["other", "fresh"]
        )
