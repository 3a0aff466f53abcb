"""What the page asks: answers are chosen at first only where the files say them plainly."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.classifiers import load_predictions
from privacygauge.datasets.columns import MEMBERSHIP, NON_MEMBER
from privacygauge.errors import InputError
from privacygauge.kinds.dropped import DroppedFile, all_numbers, member_column
from privacygauge.local_page.recognition import (
    add_residuals,
    fitting_audits,
    join_files,
    look_at,
    rename_columns,
)
from privacygauge.scores.table import Roles, as_scores
from tests.local_page.everyday import (
    MEMBER,
    PEOPLE,
    PROBS,
    TRUTH,
    N,
    csv,
    history,
    npz,
    parquet,
    predictions,
)

rng = np.random.default_rng(1)


def audits_of(folder, files):
    """Return the audits of files by their command, the best fit first."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    found = {}
    for command, audit in fitting_audits([look_at(folder / name) for name in files]):
        found.setdefault(command, audit)
    return found


def chosen(audit):
    """Return what is chosen at first, by the name of the question."""
    return {question.name: question.usual for question in audit.questions}


PREDICTIONS = npz(probs=PROBS, labels=TRUTH, member=MEMBER)
LOSSES = csv(pd.DataFrame({"loss": rng.random(N), "member": MEMBER.astype(int)}))
LOSSES_ALONE = pd.DataFrame({"loss": rng.random(N)})
TABLE = csv(PEOPLE)


@pytest.mark.parametrize(
    ("names", "target"),
    [
        (("shadow", "target"), "target"),
        (("target", "zz"), "target"),
        (("a_reference", "b"), "b"),
        (("model", "shadow-model"), "model"),
        (("ShadowModel", "VictimModel"), "VictimModel"),
        (("released", "surrogate"), "released"),
        (("a", "b"), None),
        (("model1", "model2"), None),
        (("shadow1", "shadow2"), None),
        (("shadowy", "targeted"), None),
        (("predictions", "predictions (2)"), None),
    ],
)
def test_the_audited_model_is_told_by_names_alone(tmp_path, names, target):
    for given_names in (names, names[::-1]):
        for command, ending, content in (
            ("classifier", ".npz", PREDICTIONS),
            ("scores", ".csv", LOSSES),
        ):
            audits = audits_of(tmp_path, {f"{name}{ending}": content for name in given_names})
            expected = () if target is None else (f"{target}{ending}",)
            assert chosen(audits[command])["target"] == expected


@pytest.mark.parametrize(
    ("names", "roles"),
    [
        (("holdout", "real", "synthetic"), "holdout real made"),
        (("synth", "test", "train"), "made holdout real"),
        (("a_test", "b_syn", "b_train"), "holdout made real"),
        (("people_synth", "train", "validation"), "made real holdout"),
        (("control", "fake_people", "original"), "holdout made real"),
        (("a", "b", "synthetic"), "- - made"),
        (("a", "b", "c"), "- - -"),
        (("others", "people", "real"), "- - real"),
        (("synthea_cohort", "zz_synthetic"), "real made"),
        (("generator_output", "patients"), "made real"),
        (("patients", "real_patients"), "made real"),
        (("train", "train_synthetic"), "real made"),
        (("maderas", "fakeer"), "- -"),
        (("synthea_cohort", "patients"), "- -"),
        (("test", "train"), "- -"),
        (("synthetic_1", "synthetic_2"), "- -"),
        (("a", "b"), "- -"),
    ],
)
def test_the_roles_of_tables_are_told_by_names_alone(tmp_path, names, roles):
    said = dict(zip(names, roles.split(), strict=True))
    for given_names in (names, names[::-1]):
        audits = audits_of(tmp_path, {f"{name}.csv": TABLE for name in given_names})
        shown = chosen(audits["synthetic"])
        asked = ("real", "made", "holdout")[: len(names)]
        expected = {
            role: next(((f"{name}.csv",) for name in names if said[name] == role), ())
            for role in asked
        }
        assert {role: shown[role] for role in asked} == expected


def test_each_of_three_tables_has_one_role(tmp_path):
    audit = audits_of(tmp_path, {f"{x}.csv": TABLE for x in "abc"})["synthetic"]
    answers = {"real": ("b.csv",), "made": ("c.csv",), "holdout": ("a.csv",)}
    assert audit.arguments(answers) == ["b.csv", "--synthetic=c.csv", "--holdout=a.csv"]
    with pytest.raises(InputError, match="three files"):
        audit.arguments({**answers, "holdout": ("b.csv",)})


def test_the_older_report_is_told_by_names_alone():
    def reports(*names):
        files = [DroppedFile(name, report="classifier") for name in names]
        return chosen(dict(fitting_audits(files))["compare"])["old"]

    assert reports("report.json", "report (2).json") == ()
    assert reports("after.json", "before.json") == ("before.json",)
    assert reports("new.json", "old.json") == ("old.json",)


@pytest.mark.parametrize(
    ("columns", "usual"),
    [
        ({"id": range(N), "energy_kwh": rng.random(N), "value": rng.random(N)}, ()),
        ({"id": range(N), "value": rng.random(N)}, ("value",)),
        ({"id": range(N), "age": range(N)}, ()),
        ({"id": range(N), "loss": rng.random(N), "value": rng.random(N)}, ("loss",)),
        ({"id": range(N), "test_loss": rng.random(N), "value": rng.random(N)}, ("test_loss",)),
        ({"id": range(N), "NLL": rng.random(N), "value": rng.random(N)}, ("NLL",)),
    ],
)
def test_a_score_is_chosen_only_if_it_is_called_so_or_alone(tmp_path, columns, usual):
    frame = pd.DataFrame({**columns, "member": MEMBER.astype(int)})
    audit = audits_of(tmp_path, {"t.csv": csv(frame)})["scores"]
    (score,) = [question for question in audit.questions if question.name == "score"]
    assert score.usual == usual
    assert "id" in score.choices
    with pytest.raises(InputError, match="An answer is missing"):
        score.checked([])


def classes(scale=1.0, digits=4, **names):
    frame = pd.DataFrame((PROBS * scale).round(digits), columns=["cat", "dog", "emu"])
    word = np.array(["cat", "dog", "emu"])[TRUTH]
    return frame.assign(label=word, member=MEMBER.astype(int), age=rng.random(N)).rename(
        columns=names
    )


@pytest.mark.parametrize(
    ("frame", "prefix"),
    [
        (classes(), ""),
        (classes(scale=100, digits=1), ""),
        (classes(label="Tier"), ""),
        (classes(cat="confidence_cat", dog="confidence_dog", emu="confidence_emu"), "confidence_"),
    ],
)
def test_columns_that_sum_to_one_are_predictions_of_classes(tmp_path, frame, prefix):
    audits = audits_of(tmp_path, {"t.csv": csv(frame)})
    assert next(iter(audits)) == "classifier"
    assert "scores" in audits
    audit = audits["classifier"]
    answers = {"label": ("Tier",)} if "Tier" in frame else {}
    assert set(answers) <= set(chosen(audit))
    renamed = audit.renamed(answers)
    assert renamed[f"{prefix}cat"] == "p_cat"
    rename_columns(tmp_path / "t.csv", renamed)
    read = load_predictions(tmp_path / "t.csv")
    assert read.classes == ("cat", "dog", "emu")
    np.testing.assert_allclose(read.values, PROBS, atol=0.002)
    np.testing.assert_array_equal(read.labels, TRUTH)


@pytest.mark.parametrize("label", ["label", "Tier"])
@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_classes_are_theirs_only_if_the_owner_says_so(tmp_path, label, first):
    frame = classes().drop(columns="label").assign(**{label: TRUTH + first})
    audits = audits_of(tmp_path, {"t.csv": csv(frame)})
    assert next(iter(audits)) == "classifier"
    audit = audits["classifier"]
    (order,) = [question for question in audit.questions if question.name == "order"]
    assert order.choices == ("yes: cat, dog, emu",)
    assert order.usual == ()
    assert order.needed == (label == "label")
    truth = {} if label == "label" else {"label": (label,)}
    rename_columns(tmp_path / "t.csv", audit.renamed({**truth, "order": order.choices}))
    read = load_predictions(tmp_path / "t.csv")
    np.testing.assert_array_equal(read.labels, TRUTH)
    np.testing.assert_allclose(read.values, PROBS, atol=1e-4)


def test_columns_called_as_numbers_have_an_order(tmp_path):
    frame = classes(cat="0", dog="1", emu="2").assign(label=TRUTH)
    audit = audits_of(tmp_path, {"t.csv": csv(frame)})["classifier"]
    assert "order" not in chosen(audit)
    rename_columns(tmp_path / "t.csv", audit.renamed({}))
    np.testing.assert_array_equal(load_predictions(tmp_path / "t.csv").labels, TRUTH)


def test_labels_among_the_names_of_columns_say_that_these_are_classes(tmp_path):
    frame = classes(label="Tier", member="seen")
    audits = audits_of(tmp_path, {"t.csv": csv(frame)})
    assert next(iter(audits)) == "classifier"
    assert {"label", "member"} <= set(chosen(audits["classifier"]))


def test_a_word_written_apart_is_no_prediction(tmp_path):
    sex = pd.DataFrame({"woman": MEMBER.astype(int), "man": 1 - MEMBER, "age": range(N)})
    audits = audits_of(tmp_path, {"t.csv": csv(sex.assign(member=MEMBER.astype(int)))})
    assert next(iter(audits)) == "scores"


def test_shares_of_a_table_are_no_predictions(tmp_path):
    shares = pd.DataFrame(PROBS.round(4), columns=["rent", "food", "rest"]).assign(age=30)
    assert next(iter(audits_of(tmp_path, {"t.csv": csv(shares)}))) != "classifier"
    two = audits_of(tmp_path, {"a.csv": csv(shares), "synthetic.csv": csv(shares)})
    assert next(iter(two)) == "synthetic"


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_numbers_as_the_reader_reads_them(tmp_path, separator):
    frame = pd.DataFrame({"Verlust": rng.random(N), "member": MEMBER.astype(int)})
    text = csv(frame.assign(Alter=range(N)), sep=separator, decimal=",")
    audit = audits_of(tmp_path, {"t.csv": text})["scores"]
    assert chosen(audit)["score"] == ("Verlust",)
    audit = audits_of(tmp_path, {"t.csv": text.replace(b"member", b"in_training")})["scores"]
    assert chosen(audit)["score"] == ("Verlust",)
    german = predictions(p_0="a", p_1="b", p_2="c").assign(label=np.array([*"abc"])[TRUTH])
    audits = audits_of(tmp_path, {"p.csv": csv(german, sep=separator, decimal=",")})
    assert next(iter(audits)) == "classifier"


def test_commas_between_other_things_are_no_decimals(tmp_path):
    (tmp_path / "t.csv").write_text("code;loss\n1,2;0,5\nx;1,5\n;NA\n")
    seen = look_at(tmp_path / "t.csv")
    assert not all_numbers(seen.columns["code"])
    assert all_numbers(seen.columns["loss"])


@given(
    st.sampled_from(["cp1252", "latin-1", "cp850", "mac-roman"]),
    st.sampled_from(["Größe", "naïve", "Île"]),
    st.booleans(),
)
def test_another_encoding_is_refused_at_once_in_one_line(tmp_path_factory, encoding, word, packed):
    folder = tmp_path_factory.mktemp("given")
    text = csv(predictions().assign(note="x"))
    # Far behind the first rows, too.
    broken = text + f"0.1,0.1,0.8,1,1,{word}\n".encode(encoding)
    path = folder / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(broken) if packed else broken)
    with pytest.raises(InputError, match=r"^t\.csv.* is not UTF-8 \(.*\): save it as UTF-8$"):
        look_at(path)


def test_no_message_names_the_folder_of_the_copy(tmp_path):
    (tmp_path / "t.csv").write_bytes(csv(predictions()))
    with pytest.raises(InputError, match=r"^t\.csv has another column called member"):
        rename_columns(tmp_path / "t.csv", {"label": "member"})
    (tmp_path / "t.jsonl").write_bytes('{"a": "Größe"}\n'.encode("cp1252"))
    with pytest.raises(InputError, match=r"^t\.jsonl is not UTF-8"):
        look_at(tmp_path / "t.jsonl")


@pytest.mark.parametrize("name", ["membership", "in_training", "in_train", "is_train"])
def test_scores_and_predictions_know_the_same_columns_of_members(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_bytes(csv(pd.DataFrame({"loss": rng.random(N), name: MEMBER.astype(int)})))
    np.testing.assert_array_equal(as_scores(path, "t", Roles()).member, MEMBER)


@pytest.mark.parametrize(
    "name",
    [
        *("is_test", "holdout", "is_holdout", "in_test", "non_member", "is_val", "is_validation"),
        *("is_oos", "out_of_sample", "unseen"),
    ],
)
@pytest.mark.parametrize(
    "values",
    [(1, 0), (True, False), ("yes", "no"), ("TRUE", "FALSE"), ("test", "train")],
    ids=str,
)
def test_columns_of_non_members_are_read_the_other_way_and_said(tmp_path, name, values):
    written = np.where(MEMBER, values[1], values[0])
    for frame, read in (
        (predictions(), lambda path: load_predictions(path)),
        (pd.DataFrame({"loss": rng.random(N), "member": 0}), lambda p: as_scores(p, "t", Roles())),
    ):
        path = tmp_path / "t.csv"
        path.write_bytes(csv(frame.drop(columns="member").assign(**{name: written})))
        table = read(path)
        np.testing.assert_array_equal(table.member, MEMBER)
        assert any("was not trained on" in note for note in table.notes) == (values[0] != "test")


def test_a_split_may_say_in_or_out(tmp_path):
    (tmp_path / "t.csv").write_bytes(
        csv(predictions(member="split").assign(split=np.where(MEMBER, "in", "out")))
    )
    np.testing.assert_array_equal(load_predictions(tmp_path / "t.csv").member, MEMBER)


@pytest.mark.parametrize("values", [(1, 0), (0, 1), ("yes", "no")])
def test_a_split_must_say_train_or_test(tmp_path, values):
    path = tmp_path / "t.csv"
    frame = predictions().drop(columns="member").assign(split=np.where(MEMBER, *values))
    path.write_bytes(csv(frame))
    with pytest.raises(InputError, match="column split must say train or test"):
        load_predictions(path)


@pytest.mark.parametrize(
    ("column", "ours"),
    [
        ("im Training", "member"),
        ("seen", "member"),
        ("test", "non_member"),
        ("In the test set", "non_member"),
        ("held-out?", "non_member"),
        ("train/test", "split"),
        ("isTest", "non_member"),
        ("not in the training data", "split"),
        ("out of training", "split"),
        ("in/out", "split"),
        ("not member", "non_member"),
        ("tested_positive", "member"),
        ("validation", "non_member"),
        ("val", "non_member"),
        ("valid", "non_member"),
        ("eval", "non_member"),
        ("dev", "non_member"),
        ("OOS flag", "non_member"),
        ("in the validation set", "non_member"),
        ("in_sample", "member"),
        ("isVal", "non_member"),
        ("dev_set", "non_member"),
        ("valset", "non_member"),
        ("out of sample", "non_member"),
        ("isUnseen", "non_member"),
        ("control", "non_member"),
        ("train_val", "split"),
        ("not_test", "split"),
        ("not in validation", "split"),
        ("valued", "member"),
        ("validated", "member"),
        ("evaluated_by", "member"),
        ("device", "member"),
    ],
)
def test_a_chosen_column_of_non_members_is_called_so(tmp_path, column, ours):
    losses = pd.DataFrame({"loss": rng.random(N), column: MEMBER.astype(int)})
    for command, frame in (("classifier", predictions(member=column)), ("scores", losses)):
        audit = audits_of(tmp_path, {"t.csv": csv(frame)})[command]
        assert "member" in chosen(audit)
        assert audit.renamed({"member": (column,)}) == {column: ours}


@pytest.mark.parametrize("name", NON_MEMBER)
def test_readers_and_the_page_read_a_name_alike(name):
    assert member_column({"member": (name,)}) == {name: "non_member"}


@pytest.mark.parametrize("name", [x for x in MEMBERSHIP if x not in NON_MEMBER and x != "split"])
def test_readers_and_the_page_read_a_member_alike(name):
    assert member_column({"member": (name,)}) == {name: "member"}


def test_two_columns_that_each_hold_out_a_part_are_refused_by_name(tmp_path):
    parts = np.arange(N) % 3
    held_out = {"is_val": (parts == 1).astype(int), "is_test": (parts == 2).astype(int)}
    path = tmp_path / "t.csv"
    for frame, read in (
        (predictions(), lambda: load_predictions(path)),
        (pd.DataFrame({"loss": rng.random(N), "member": 0}), lambda: as_scores(path, "t", Roles())),
    ):
        path.write_bytes(csv(frame.drop(columns="member").assign(**held_out)))
        with pytest.raises(InputError, match="is_test and is_val each hold out a part"):
            read()
        path.write_bytes(csv(frame.assign(member=MEMBER.astype(int), **held_out)))
        np.testing.assert_array_equal(read().member, MEMBER)


@pytest.mark.parametrize("word", ["val", "Validation", "dev", "eval", "oos", "held-out", "unseen"])
def test_words_of_a_part_held_out_are_no_members(tmp_path, word):
    path = tmp_path / "t.csv"
    for name in ("split", "member"):
        frame = predictions(member=name).assign(**{name: np.where(MEMBER, "train", word)})
        path.write_bytes(csv(frame))
        np.testing.assert_array_equal(load_predictions(path).member, MEMBER)


BINARY = (rng.random(N) < 0.5).astype(int)
P_OF_ONE = np.clip(rng.beta(2, 2, N) * 0.6 + 0.4 * BINARY, 0.001, 0.999).round(4)


def binary(column, label="y_true", **more):
    return pd.DataFrame({label: BINARY, column: P_OF_ONE}).assign(
        split=np.where(MEMBER, "train", "test"), **more
    )


@pytest.mark.parametrize(
    "column",
    [
        *("y_pred_proba", "pred_proba", "y_hat", "yhat", "y_pred", "predicted_probability"),
        *("y_score", "Y_Pred_Proba", "Probability", "PROB", "P", "Score", "y_pred_prob"),
        *("y_pred_proba_1", "pred_proba_1", "risk", "output"),
    ],
)
def test_one_probability_beside_a_true_class_is_a_prediction(tmp_path, column):
    for text in (BINARY, np.array(["bad", "good"])[BINARY]):
        if text.dtype.kind == "U" and column.endswith("_1"):
            continue
        frame = binary(column).assign(y_true=text, id=range(N))
        audits = audits_of(tmp_path, {"t.csv": csv(frame)})
        assert next(iter(audits)) == "classifier"
        assert not any(x.needed and not x.usual for x in audits["classifier"].questions)
        rename_columns(tmp_path / "t.csv", audits["classifier"].renamed({}))
        read = load_predictions(tmp_path / "t.csv")
        np.testing.assert_allclose(read.answers[:, 1], P_OF_ONE, atol=1e-6)
        np.testing.assert_array_equal(read.member, MEMBER)


@pytest.mark.parametrize(
    "column",
    ["y_pred_proba", "pred_proba", "y_hat", "Y_Pred_Proba", "Probability", "PROB", "P", "Score"],
)
def test_names_that_are_recognised_are_read_as_they_stand(tmp_path, column):
    (tmp_path / "t.csv").write_bytes(csv(binary(column)))
    read = load_predictions(tmp_path / "t.csv")
    np.testing.assert_allclose(read.answers[:, 1], P_OF_ONE, atol=1e-6)


@pytest.mark.parametrize("feature", ["Z", "P", "Score", "Prediction"])
def test_capitals_beside_scores_of_classes_stay_a_further_column(tmp_path, feature):
    frame = classes(cat="p_cat", dog="p_dog", emu="p_emu").assign(**{feature: range(N)})
    (tmp_path / "t.csv").write_bytes(csv(frame))
    read = load_predictions(tmp_path / "t.csv")
    np.testing.assert_allclose(read.values, PROBS, atol=1e-4)
    assert feature in read.columns


@pytest.mark.parametrize(
    "frame",
    [
        binary("loss"),
        binary("distance"),
        binary("entropy"),
        binary("x").assign(x=np.maximum(P_OF_ONE, 1 - P_OF_ONE)),
        binary("x").assign(x=P_OF_ONE * 3),
        binary("x").assign(y_true=rng.integers(0, 3, N)),
        binary("x").assign(y_true=rng.random(N)),
        binary("x", other=rng.random(N)),
        binary("x").drop(columns="y_true"),
    ],
    ids=range(9),
)
def test_other_numbers_beside_a_true_class_are_scores(tmp_path, frame):
    assert next(iter(audits_of(tmp_path, {"t.csv": csv(frame)}))) == "scores"


def test_a_split_in_three_words_may_be_chosen(tmp_path):
    split = np.array(["train", "val", "test"])[rng.integers(0, 3, N)]
    frame = predictions().drop(columns="member").assign(part=split, sex=BINARY)
    for table in (frame, LOSSES_ALONE.assign(part=split, sex=BINARY)):
        audits = audits_of(tmp_path, {"t.csv": csv(table)})
        (asked,) = [x for x in next(iter(audits.values())).questions if x.name == "member"]
        assert asked.choices == ("part", "sex")


def halved(frame, ending="csv", **more):
    """Return the files of members and of others, without the column that tells them apart."""
    write = {"csv": csv, "parquet": parquet, "tsv": lambda x: csv(x, sep="\t")}[ending]
    return [
        write(frame[side == MEMBER].drop(columns="member").reset_index(drop=True).assign(**columns))
        for side, columns in (
            (1, {name: x[0] for name, x in more.items()}),
            (0, {name: x[1] for name, x in more.items()}),
        )
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("train_predictions", "test_predictions"),
        ("training", "validation"),
        ("TrainSet", "HoldoutSet"),
        ("members", "nonmembers"),
        ("members", "non-members"),
        ("p_train", "p_oos"),
        ("in", "out"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_files_called_train_and_test_are_two_sides_of_one_audit(tmp_path, names, ending):
    parts = halved(predictions(), ending)
    for order in (1, -1):
        files = dict(zip((f"{x}.{ending}" for x in names), parts, strict=True))
        audits = audits_of(tmp_path, dict([*files.items()][::order]))
        assert next(iter(audits)) == "classifier"
        audit = audits["classifier"]
        assert not any(x.needed for x in audit.questions)
        join_files(tmp_path, audit.joined)
        assert audit.arguments({})[0] == audit.joined.name
        read = load_predictions(tmp_path / audit.joined.name)
        assert read.member.sum() == MEMBER.sum()
        rows = np.argsort(MEMBER if order < 0 else ~MEMBER, kind="stable")
        np.testing.assert_array_equal(read.member, MEMBER[rows])
        np.testing.assert_allclose(read.values, PROBS[rows], atol=1e-4)
        (tmp_path / audit.joined.name).unlink()


def test_losses_in_two_files_are_two_sides(tmp_path):
    loss = pd.DataFrame({"loss": rng.random(N), "member": MEMBER})
    members, others = halved(loss)
    audit = audits_of(tmp_path, {"loss_train.csv": members, "loss_test.csv": others})["scores"]
    join_files(tmp_path, audit.joined)
    read = as_scores(tmp_path / audit.joined.name, "t", Roles())
    np.testing.assert_array_equal(read.member, np.sort(MEMBER)[::-1])


def test_sides_that_each_file_says_itself_are_kept(tmp_path):
    members, others = halved(predictions(), split=("train", "test"))
    audit = audits_of(tmp_path, {"p_train.csv": members, "p_test.csv": others})["classifier"]
    join_files(tmp_path, audit.joined)
    read = load_predictions(tmp_path / audit.joined.name)
    np.testing.assert_array_equal(read.member, np.sort(MEMBER)[::-1])


@pytest.mark.parametrize(
    ("first", "joined"), [(0, True), (1, True), (7, False)], ids=["from 0", "from 1", "from 7"]
)
def test_the_rows_of_two_files_are_not_the_same_people(tmp_path, first, joined):
    parts = [predictions()[side == MEMBER].drop(columns="member") for side in (1, 0)]
    members, others = (csv(x.assign(id=range(first, first + len(x)))) for x in parts)
    audit = audits_of(tmp_path, {"train.csv": members, "test.csv": others})["classifier"]
    join_files(tmp_path, audit.joined)
    read = load_predictions(tmp_path / audit.joined.name)
    assert (len(set(read.ids.tolist())) == N) == joined


@pytest.mark.parametrize(
    "names", [("a", "b"), ("train", "train2"), ("test", "val"), ("train_test", "test")]
)
def test_other_names_are_no_two_sides(tmp_path, names):
    files = dict(zip((f"{x}.csv" for x in names), halved(predictions()), strict=True))
    audits = audits_of(tmp_path, files)
    assert all(audit.joined is None for audit in audits.values())
    assert "add a column member" in audits["classifier"].lacks


def test_tables_of_people_called_train_and_test_are_not_predictions(tmp_path):
    members, others = halved(PEOPLE.assign(member=MEMBER))
    audits = audits_of(tmp_path, {"people_train.csv": members, "people_test.csv": others})
    assert next(iter(audits)) == "synthetic"


@pytest.mark.parametrize("frame", [predictions(), pd.DataFrame({"loss": rng.random(N)})])
def test_no_question_about_members_is_without_answers(tmp_path, frame):
    alone = frame.drop(columns="member", errors="ignore").assign(id=range(N))
    for files in ({"t.csv": csv(alone)}, {"a.csv": csv(alone), "b.csv": csv(alone)}):
        for audit in audits_of(tmp_path, files).values():
            assert audit.lacks or all(x.choices for x in audit.questions if x.name == "member")


def regression(**names):
    truth = rng.normal(size=N)
    frame = pd.DataFrame({"id": range(N), "y_true": truth, "y_pred": truth + rng.normal(size=N)})
    return frame.assign(member=MEMBER.astype(int)).rename(columns=names)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl", "csv.gz"])
def test_the_score_of_a_regression_is_its_error(tmp_path, ending):
    frame = regression().assign(id=[f"0{i}" for i in range(N)])
    content = {
        "csv": csv(frame),
        "tsv": csv(frame, sep="\t"),
        "parquet": parquet(frame),
        "jsonl": frame.to_json(orient="records", lines=True).encode(),
        "csv.gz": gzip.compress(csv(frame)),
    }[ending]
    path = tmp_path / f"t.{ending}"
    (command, audit), *_ = audits_of(tmp_path, {path.name: content}).items()
    assert command == "scores"
    (score,) = [x for x in audit.questions if x.name == "score"]
    assert score.usual == ("|y_true - y_pred|",)
    assert not {"y_true", "y_pred"} & {*score.choices}
    answers = {"score": score.usual, "side": ("lower",)}
    added = audit.residuals(answers)
    (name,) = added
    assert audit.arguments(answers) == [path.name, f"--score={name}", f"--lower={name}"]
    add_residuals(path, added)
    read = as_scores(path, "t", Roles(scores=(name,)))
    error = np.abs(frame["y_true"] - frame["y_pred"])
    np.testing.assert_allclose(read.values[:, 0], error, rtol=1e-6)
    # Nobody knows an answer of the model without asking it.
    assert "y_pred" not in read.columns
    assert read.ids.tolist() == frame["id"].tolist()


def test_a_regression_of_counts_and_capitals_is_one(tmp_path):
    frame = regression(y_true="Target", y_pred="Prediction").round({"Target": 0})
    audit = audits_of(tmp_path, {"t.csv": csv(frame)})["scores"]
    assert chosen(audit)["score"] == ("|Target - Prediction|",)


@pytest.mark.parametrize("column", ["loss", "score", "distance"])
@pytest.mark.parametrize("names", [("people_real", "people_synthetic"), ("kunden", "kunden_neu")])
def test_a_pair_of_tables_is_not_a_pair_of_scores(tmp_path, column, names):
    table = PEOPLE.assign(**{column: rng.random(N)})
    audits = audits_of(tmp_path, {f"{name}.csv": csv(table) for name in names})
    assert next(iter(audits)) == "synthetic"


def test_a_history_in_plain_words_is_one(tmp_path):
    text = b"team,submitted,public,private\na,2026-01-01 09:00:00,0.61,0.6\n"
    assert next(iter(audits_of(tmp_path, {"lb.csv": text}))) == "holdout log"
    # A table of people may have such columns, too.
    text = b"team,submitted,private,age\na,2026-01-01 09:00:00,1,30\n"
    assert "holdout log" not in audits_of(tmp_path, {"lb.csv": text})


@pytest.mark.parametrize(
    ("arrays", "lacking"),
    [
        ({}, "the true class, and who is a member"),
        ({"labels": TRUTH}, "who is a member"),
        ({"member": MEMBER}, "the true class"),
        ({"seen": MEMBER}, "the true class, and who is a member"),
        ({"seen": MEMBER, "kind": TRUTH}, ""),
        ({"labels": TRUTH, "seen": MEMBER}, ""),
        ({"labels": TRUTH, "member": MEMBER}, ""),
    ],
)
def test_arrays_that_are_missing_are_named(tmp_path, arrays, lacking):
    audit = audits_of(tmp_path, {"p.npz": npz(probs=PROBS, **arrays)})["classifier"]
    assert audit.lacks.startswith(f"Nothing here says {lacking}: add" if lacking else "")
    assert bool(audit.lacks) == bool(lacking)


@pytest.mark.parametrize(
    ("written", "n"),
    [
        ("2 000", "2000"),
        ("2\u202f000", "2000"),
        ("12,000", "12000"),
        ("2000", "2000"),
        ("2 00", "2 00"),
    ],
)
def test_a_number_may_have_its_thousands_apart(tmp_path, written, n):
    audit = audits_of(tmp_path, {"h.csv": history()})["holdout log"]
    assert f"--n={n}" in audit.arguments({"n": (written,)})
