"""The groups behind a model's answers: SACRO-ML's definitions, people, and what is no finding."""

from __future__ import annotations

import json
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.inspection.findings import Structure, TrainingTable, structure_of
from privacygauge.report.values import Severity
from tests.inspection import holders
from tests.inspection import sacroml_peer as peer

KEPT = json.loads(peer.FILE.read_text("utf-8"))


@cache
def structure(name: str) -> Structure:
    x, _, y, _ = peer.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the network is not trained to the end
        model = peer.models()[name].fit(x, y)
    table = TrainingTable(pd.DataFrame(x), y, None, as_array=True)
    found = structure_of(model, table, peer.THRESHOLD)
    assert isinstance(found, Structure)
    return found


@pytest.mark.slow
@pytest.mark.skipif(
    sklearn.__version__ != KEPT["scikit-learn"], reason="other trees than those that were asked"
)
@pytest.mark.parametrize("name", KEPT["answers"])
def test_the_answers_are_those_of_sacroml(name):
    theirs = KEPT["answers"][name]
    ours = structure(name)
    freedom = ours.degrees_of_freedom
    found = {
        "few degrees of freedom": freedom is not None and freedom < peer.THRESHOLD,
        "small groups": ours.smallest < peer.THRESHOLD,
        "rules out a class": bool(ours.disclosing.any()),
        "small counts": bool(ours.small_counts.any()),
        "memorises": bool(ours.memorises),
        "sizes": ours.sizes[ours.group].tolist(),
        "records whose class is ruled out": int(ours.disclosing[ours.group].sum()),
        "records of small counts": int(ours.small_counts[ours.group].sum()),
    }
    # SACRO-ML counts no parameters of other kinds of model; a linear model has some here.
    if theirs["parameters"]:
        found["parameters"] = ours.parameters
    assert found == {key: x for key, x in theirs.items() if key in found}


def table() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(240, 3)), columns=["a", "b", "c"])
    return frame, (frame["a"] + rng.normal(size=240) > 0).to_numpy().astype(int)


def test_people_and_not_rows_are_counted_in_a_group():
    frame, y = table()
    # Twelve rows per person.
    frame = frame.iloc[np.arange(240) // 12 * 12].reset_index(drop=True)
    model = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(frame, y)
    rows = pg.inspect_model(model, frame, y)
    people = pg.inspect_model(model, frame, y, unit=np.arange(240) // 12)
    assert rows.smallest >= 12 > people.smallest
    assert people.smallest == rows.smallest // 12
    assert (rows.small_groups, people.small_groups > 0) == (0.0, True)


def test_leaves_behind_the_steps_of_a_pipeline_are_the_same():
    frame, y = table()
    tree = DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(frame, y)
    steps = make_pipeline(
        StandardScaler(), DecisionTreeClassifier(min_samples_leaf=3, random_state=0)
    )
    found = [pg.inspect_model(model, frame, y) for model in (tree, steps.fit(frame, y))]
    assert found[0].structure.by_leaf
    assert found[1].structure.by_leaf
    assert found[0].smallest == found[1].smallest == 3


def test_a_group_of_one_is_no_finding_where_answers_are_smooth():
    frame, y = table()
    found = pg.inspect_model(LogisticRegression().fit(frame, y), frame, y)
    assert found.smallest == 1
    assert found.small_groups is None
    assert found.report().verdict.grade.severity is Severity.NOTHING


@pytest.mark.slow
def test_a_small_leaf_that_rules_out_a_class_is_moderate_and_a_pruned_tree_is_not():
    frame, y = table()
    full = DecisionTreeClassifier(random_state=0).fit(frame, y)
    found = pg.inspect_model(full, frame, y, refit=True)
    assert found.report().verdict.grade.severity is Severity.MODERATE
    as_it_is, pruned = found.refits
    assert "min_samples_leaf=10" in pruned.what
    assert (as_it_is.smallest, pruned.smallest >= 10) == (found.smallest, True)
    assert pruned.small_groups == 0.0
    assert pruned.accuracy.n == 240
    alone = DecisionTreeClassifier(min_samples_leaf=30, random_state=0).fit(frame, y)
    assert pg.inspect_model(alone, frame, y).report().verdict.grade.severity is Severity.NOTHING


@pytest.mark.slow
def test_a_model_that_learns_from_its_predictions_holds_no_rows():
    frame, y = table()
    found = pg.inspect_model(KNeighborsClassifier().fit(frame, y), frame, y, refit=True)
    as_it_is, distilled = found.refits
    assert (as_it_is.stored_rows, distilled.stored_rows) == (240, 0)
    assert distilled.accuracy.low > 0.5


def test_a_model_of_another_table_says_so():
    frame, y = table()
    model = LogisticRegression().fit(frame, y)
    found = pg.inspect_model(model, frame[["a", "b"]], y)
    assert isinstance(found.structure, pg.Skipped)
    assert "does not take the table" in found.structure.reason


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"label": "d"}, "no column 'd'"),
        ({"unit": [1, 2]}, "unit"),
        ({"drop": ["x"]}, "drop names 'x'"),
        ({"minimum": 1}, "minimum"),
    ],
)
def test_bad_arguments_are_named(given, told):
    frame, y = table()
    model = LogisticRegression().fit(frame, y)
    with pytest.raises(pg.InputError, match=told):
        pg.inspect_model(model, frame, **given)
    with pytest.raises(pg.InputError, match="go with data"):
        pg.inspect_model(model, None, "y")


@pytest.mark.slow
def test_errors_of_a_model_do_not_show_the_table():
    frame = holders.people()[["town", "age", "sick"]]
    encoder = make_column_transformer((OneHotEncoder(), ["town"]))
    model = make_pipeline(encoder, DecisionTreeClassifier()).fit(frame[["town"]], frame["sick"])
    frame.loc[3, "town"] = "Ada Lovelace"
    found = pg.inspect_model(model, frame, "sick", refit=True)
    assert isinstance(found.structure, pg.Skipped)
    assert isinstance(found.refits[0].accuracy, pg.Skipped)
    assert "Lovelace" not in found.to_html() + found.to_json()


def test_answers_that_are_texts_are_grouped_as_their_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 10, 200), "pay": rng.normal(0, 1, 200)})
    label = np.where(frame["pay"] + rng.normal(0, 0.5, 200) > 0, "high", "low")
    numbers = (label == "low").astype(int)
    one, other = (
        structure_of(SVC().fit(frame, y), TrainingTable(frame, y, None, as_array=False), 10)
        for y in (label, numbers)
    )
    assert isinstance(one, Structure)
    assert isinstance(other, Structure)
    np.testing.assert_array_equal(one.group, other.group)
    assert one.constant == other.constant
