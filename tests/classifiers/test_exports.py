"""However people export predictions, the same are read, and what was read into them is said."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.attacks import Threshold
from privacygauge.classifiers.files import (
    as_pool,
    as_predictions,
    load_predictions,
    save_predictions,
)
from privacygauge.errors import InputError
from tests.classifiers.made import logits_labels_member, softmax

Z2, Y2, MEMBER = logits_labels_member(n=60, k=2)
Z2 = Z2 - Z2[:, :1]  # of two classes, only the difference counts
P2 = softmax(Z2)
Z3, Y3, MEMBER3 = logits_labels_member(n=60, k=3)
P3 = softmax(Z3)
TWO = np.array(["benign", "malignant"])
THREE = np.array(["cat", "dog", "eel"])


def table(columns, labels, member=MEMBER):
    return pd.DataFrame(columns).assign(label=labels, member=member, ward=np.arange(60) % 3)


def numbered(values, stem="p", start=0):
    return {f"{stem}_{i + start}": column for i, column in enumerate(values.T)}


def named(values, names, stem="p"):
    return {f"{stem}_{name}": column for name, column in zip(names, values.T, strict=True)}


SAME_OF_TWO = {
    "both columns": (table(numbered(P2), Y2), ""),
    "p": (table({"p": P2[:, 1]}, Y2), "p was read as the probabilities of class 1"),
    "p_1": (table({"p_1": P2[:, 1]}, Y2), "p_1 was read as the probabilities of class 1"),
    "probability": (table({"probability": P2[:, 1]}, Y2), "of class 1"),
    "score": (
        table({"pred": P2[:, 1] > 0.5, "score": P2[:, 1]}, Y2),
        "score was read as the probabilities of class 1",
    ),
    "predictions": (table({"predictions": P2[:, 1]}, Y2), "predictions was read as the prob"),
    "a column of y_pred": (
        {"y_pred": P2[:, 1:], "y_true": Y2, "member": MEMBER, "ward": np.arange(60) % 3},
        "y_pred was read as the probabilities of class 1",
    ),
    "p0 and p1": (table({f"p{i}": P2[:, i] for i in range(2)}, Y2), ""),
    "log-odds": (table({"z": Z2[:, 1]}, Y2), "z was read as the log-odds of class 1"),
    "percentages": (table({"p": 100 * P2[:, 1]}, Y2), "percentages and were divided by 100"),
    "per cent": (table({"p": [f"{100 * p!r}%" for p in P2[:, 1].tolist()]}, Y2), "percentages"),
    "-1 and 1": (table(numbered(P2), 2 * Y2 - 1), "-1 and 1 were read as classes 0 and 1"),
    "from 1": (table(numbered(P2), Y2 + 1), "labels are counted from 1"),
    "true and false": (table(numbered(P2), Y2 == 1), ""),
    "texts": (table(numbered(P2), TWO[Y2]), "0 = benign, 1 = malignant"),
    "texts and p": (table({"p": P2[:, 1]}, TWO[Y2]), "probabilities of class malignant"),
    "named": (table(named(P2, TWO), TWO[Y2]), ""),
    "one named": (table({"p_malignant": P2[:, 1]}, TWO[Y2]), "of class malignant"),
    "the other named": (table({"p_benign": P2[:, 0]}, TWO[Y2]), "of class benign"),
    "0.0 and 1.0": (table(numbered(P2), Y2.astype(float)), ""),
    "booleans": (table(named(P2, ["False", "True"]), Y2 == 1), ""),
    "bare booleans": (
        table({"True": P2[:, 1], "False": P2[:, 0]}, Y2 == 1),
        "False, True were read as the probabilities",
    ),
    "one boolean": (table({"p_True": P2[:, 1]}, Y2 == 1), "p_True was read as"),
    "floats": (table(named(P2, ["1.0", "2.0"]), Y2 + 1.0), ""),
    "named -1 and 1": (table(named(P2, ["-1", "1"]), 2 * Y2 - 1), ""),
    "numbers with gaps": (table(named(P2, ["3", "5"]), 2 * Y2 + 3), ""),
    "one number": (table({"p_5": P2[:, 1]}, 2 * Y2 + 3), "p_5 was read as"),
    "other case": (
        table(named(P2, ["No", "Yes"]), np.where(Y2, "YES", "NO")),
        "labels NO, YES were read as the classes of p_No, p_Yes",
    ),
}
SAME_OF_THREE = {
    "columns": (table(numbered(P3), Y3, MEMBER3), ""),
    "prob_": (table(numbered(P3, "prob"), Y3, MEMBER3), ""),
    "columns from 1": (table(numbered(P3, start=1), Y3 + 1, MEMBER3), ""),
    "columns from 9": (table(numbered(P3, start=9), Y3 + 9, MEMBER3), ""),
    "columns from 3": (table(numbered(P3, start=3), Y3 + 3, MEMBER3), ""),
    "logits from 3": (table(numbered(Z3, "z", start=3), Y3 + 3.0, MEMBER3), ""),
    "labels from 1": (table(numbered(P3), Y3 + 1, MEMBER3), "labels are counted from 1"),
    "percentages": (table(numbered(100 * P3), Y3, MEMBER3), "divided by 100"),
    "texts": (table(numbered(P3), THREE[Y3], MEMBER3), "0 = cat, 1 = dog, 2 = eel"),
    "named": (table(named(P3, THREE), THREE[Y3], MEMBER3), ""),
    "in another order": (table(named(P3[:, ::-1], THREE[::-1]), THREE[Y3], MEMBER3), ""),
    "bare names": (
        table(dict(zip(THREE, P3.T, strict=True)), THREE[Y3], MEMBER3),
        "cat, dog, eel were read as the probabilities",
    ),
    "bare numbers": (
        table({str(i): P3[:, i] for i in range(3)}, Y3, MEMBER3),
        "0, 1, 2 were read as the probabilities",
    ),
    "logits by name": (table(named(Z3, THREE, "logit"), THREE[Y3], MEMBER3), ""),
    "logits": (table(numbered(Z3, "logit"), Y3, MEMBER3), ""),
    "lists": (table({"probs": P3.tolist()}, Y3, MEMBER3), ""),
    "lists of predictions": (
        table({"predictions": P3.tolist()}, Y3, MEMBER3),
        "predictions was read as the probabilities of all classes",
    ),
    "predictions": (
        {"predictions": P3, "labels": Y3, "member": MEMBER3},
        "predictions was read as the probabilities of all classes",
    ),
    "scores": (
        {"scores": 100 * P3, "labels": Y3 + 1, "member": MEMBER3},
        "scores was read as the probabilities of all classes",
    ),
    "log-probabilities of y_pred": (
        {"y_pred": np.log(P3), "labels": Y3, "member": MEMBER3},
        "y_pred was read as the logits of all classes",
    ),
    "lists of logits": (table({"logits": Z3.tolist()}, THREE[Y3], MEMBER3), "0 = cat"),
    "one-hot": ({"probs": P3, "labels": np.eye(3)[Y3], "member": MEMBER3}, ""),
    "with classes": (
        {"probs": P3, "labels": THREE[Y3], "member": MEMBER3, "classes": THREE},
        "",
    ),
}


def same(found, values, labels, member):
    expected = softmax(found.values) if found.logits else found.values
    assert expected == pytest.approx(values, abs=1e-12)
    assert np.array_equal(found.labels, labels)
    assert np.array_equal(found.member, member)


@pytest.mark.parametrize("form", SAME_OF_TWO)
def test_forms_of_two_classes(form):
    given, said = SAME_OF_TWO[form]
    found = as_predictions(given, "mine")
    same(found, P2, Y2, MEMBER)
    assert said in " ".join(found.notes)
    assert bool(said) == bool(found.notes)
    assert list(found.columns) == ["ward"]


@pytest.mark.parametrize("form", SAME_OF_THREE)
def test_forms_of_three_classes(form):
    given, said = SAME_OF_THREE[form]
    found = as_predictions(given, "mine")
    same(found, P3, Y3, MEMBER3)
    assert said in " ".join(found.notes)
    assert bool(said) == bool(found.notes)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (np.where(MEMBER, "in", "out"), "member"),
        (np.where(MEMBER, "Train", "Test"), "split"),
        (np.where(MEMBER, "train", "holdout"), "member"),
        (np.where(MEMBER, "yes", "no"), "is_member"),
        (np.where(MEMBER, "ja", "nein"), "is_member"),
        (np.where(MEMBER, "Oui", "Non"), "member"),
        (np.where(MEMBER, 1.0, 0.0), "membership"),
        (np.where(MEMBER, True, False).astype(object), "member"),
    ],
)
def test_members_in_words(values, name):
    frame = table(numbered(P2), Y2).drop(columns="member").assign(**{name: values})
    same(as_predictions(frame), P2, Y2, MEMBER)


def test_a_validation_split_counts_as_outside_and_is_said():
    split = np.where(MEMBER, "train", np.where(np.arange(60) % 2, "val", "test"))
    frame = table(numbered(P2), Y2).drop(columns="member").assign(split=split)
    found = as_predictions(frame, "mine")
    same(found, P2, Y2, MEMBER)
    assert "mine: rows of val count as non-members" in found.notes[0]


@pytest.mark.parametrize(
    ("form", "suffix"),
    [
        *product(["named", "texts", "percentages"], [".csv", ".parquet", ".jsonl"]),
        *product(["lists"], [".parquet", ".jsonl"]),  # a CSV file has none
        *product(["logits from 3", "columns from 9"], [".csv", ".parquet", ".jsonl"]),
    ],
)
def test_files_hold_the_same_forms(tmp_path, suffix, form):
    frame, _ = SAME_OF_THREE[form]
    path = tmp_path / f"given{suffix}"
    if suffix == ".jsonl":
        rows = json.loads(frame.to_json(orient="records", double_precision=15))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    same(load_predictions(path), P3, Y3, MEMBER3)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("form", ["booleans", "floats", "numbers with gaps", "other case"])
def test_files_name_two_classes_as_models_do(tmp_path, suffix, form):
    frame, _ = SAME_OF_TWO[form]
    path = tmp_path / f"given{suffix}"
    if suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    same(load_predictions(path), P2, Y2, MEMBER)


@pytest.mark.parametrize("classes", [["3", "4", "5"], ["3"]])
def test_classes_named_twice_agree(classes):
    frame, _ = SAME_OF_THREE["columns from 3"]
    same(as_predictions(frame, classes=classes), P3, Y3, MEMBER3)


@pytest.mark.parametrize("form", ["named -1 and 1", "numbers with gaps"])
@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_numbers_of_classes_are_saved(tmp_path, suffix, form):
    given = as_predictions(SAME_OF_TWO[form][0])
    save_predictions(given, tmp_path / f"saved{suffix}")
    same(load_predictions(tmp_path / f"saved{suffix}"), P2, Y2, MEMBER)


def test_names_of_classes_are_saved(tmp_path):
    given = as_predictions(SAME_OF_THREE["texts"][0])
    save_predictions(given, tmp_path / "saved.npz")
    found = load_predictions(tmp_path / "saved.npz")
    assert found.classes == given.classes == ("cat", "dog", "eel")
    same(found, P3, Y3, MEMBER3)


def test_one_column_keeps_its_precision():
    exact = table({"p": P2[:, 1].astype(np.float32)}, Y2)
    assert as_predictions(exact).values.dtype == np.float32


def test_the_other_class_is_suspected():
    (note,) = as_predictions(table({"p": P2[:, 0]}, Y2), "mine").notes
    assert "is it that of the other class?" in note


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (table({"y_pred": Y2}, Y2), "y_pred alone is not enough: save the probability of every"),
        (
            # The confidence in what was predicted says nothing of the class.
            table({"pred": P2.argmax(axis=1), "score": P2.max(axis=1)}, Y2),
            "pred alone is not enough: save the probability of every",
        ),
        *(
            # Predicted classes, labels of their own, numbers that do not follow the classes.
            ({"predictions": x, "labels": Y3, "member": MEMBER3}, "predictions alone is not enough")
            for x in (np.eye(3)[Y3], np.full((60, 3), 0.9), np.roll(Z3, 1, axis=1))
        ),
        (table({"p": P2[:, 1]}, P2[:, 0]), r"must be classes, got .* \(regression\)"),
        (
            {"probs": P2, "labels": np.ones((60, 2), int), "member": MEMBER},
            "several classes of a record: a multi-label model",
        ),
        (table(numbered(np.full((60, 3), 0.9)), Y2), r"\(multi-label\), audit each label"),
        (table({"p": 3 * Z2[:, 1]}, Y2), "if these are log-odds, name the column z"),
        (table({"p": P2[:, 1]}, Y3), "labels must be in 0..1 for 2 classes, got 2"),
        (table(numbered(P3), TWO[Y2]), "the labels are 2 different texts .* of 3 classes: name"),
        (table(named(P3, THREE), np.where(Y3 == 0, "ape", "dog")), "no columns p_0, p_1"),
        (table(named(P3, THREE), np.where(Y3 == 0, "ape", "dog")), "no column p_ape for label"),
        (table(named(P2, ["no", "No"]), np.where(Y2, "NO", "nO")), "are like several of the col"),
        (table(numbered(P2, start=3), Y2 + 2), "missing p_1, p_2"),
        (table(numbered(P3, start=1), Y3), "label '0' has no column of predictions"),
        (table(numbered(P2), Y2, np.where(MEMBER, "a", "b")), "true or false, yes or no, in"),
        (table({"probs": [[0.5, 0.5]] * 59 + [[1.0]]}, Y2), "must all have the same length"),
        (table({"probs": [["x", "y"]] * 60}, Y2), "the lists in probs must hold numbers"),
        (table(numbered(P2), [None, *Y2[1:]]), "label must have a value in every row"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(given, message):
    with pytest.raises(InputError, match=message) as caught:
        as_predictions(given, "mine")
    assert "\n" not in str(caught.value)


def test_columns_that_are_called_as_classes_are_and_sum_to_nothing_are_none():
    given = table({"cat": Z3[:, 0], "dog": Z3[:, 1], "eel": Z3[:, 2]}, THREE[Y3], MEMBER3)
    with pytest.raises(InputError, match="no columns p_0"):
        as_predictions(given, "mine")


def test_pools_take_the_same_labels():
    values = np.stack([P3, P3])
    member = np.stack([MEMBER3, ~MEMBER3])
    for labels in (THREE[Y3], Y3 + 1, np.eye(3)[Y3]):
        pool = as_pool({"probs": values, "labels": labels, "member": member})
        assert np.array_equal(pool.labels, Y3)


def test_an_audit_names_classes_and_says_what_was_read():
    audit = pg.audit_classifier(SAME_OF_THREE["texts"][0])
    assert any("0 = cat" in warning for warning in audit.origin.warnings)
    names = {found.group for found in audit.slices.slices if found.column == "class"}
    assert names
    assert names <= {"cat", "dog", "eel"}


def test_target_and_shadow_are_of_the_same_classes():
    target = SAME_OF_THREE["texts"][0]
    shadow = table(numbered(P3), np.array(["ape", "bee", "cow"])[Y3], ~MEMBER3)
    with pytest.raises(InputError, match=r"classes are cat, dog, eel, the shadow's ape, bee, cow"):
        pg.audit_classifier(target, shadow)


def test_a_model_of_text_classes_is_audited_as_it_is():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    y = np.where(x[:, 0] + rng.normal(size=200) > 0, "malignant", "benign")
    member = np.arange(200) % 2 == 0
    model = DecisionTreeClassifier(random_state=0).fit(x[member], y[member])

    def audit(fitted, labels):
        return pg.audit_model(
            DecisionTreeClassifier(),
            x,
            labels,
            fitted=pg.Fitted(fitted, member),
            n_shadows=4,
            attacks=[Threshold("modified-entropy", per_class=True)],
        )

    codes = (y == "malignant").astype(int)
    numbered = DecisionTreeClassifier(random_state=0).fit(x[member], codes[member])
    by_name = audit(model, y)
    by_number = audit(numbered, codes)
    assert by_name.headline.accuracy == by_number.headline.accuracy
    assert by_name.headline.accuracy.low > 0.5
