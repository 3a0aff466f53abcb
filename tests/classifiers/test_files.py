import contextlib
import gzip
import io
import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

import privacygauge as pg
from privacygauge.attacks import Threshold
from privacygauge.classifiers.files import (
    as_pool,
    as_predictions,
    load_predictions,
    save_predictions,
)
from privacygauge.classifiers.predictions import predictions
from privacygauge.errors import InputError
from tests.classifiers.made import logits_labels_member, made_up, softmax

LOGITS, LABELS, MEMBER = logits_labels_member(n=40, k=3)
PROBS = softmax(LOGITS)


def table(prefix="p", values=PROBS):
    frame = pd.DataFrame({f"{prefix}_{i}": values[:, i] for i in range(values.shape[1])})
    return frame.assign(label=LABELS, member=MEMBER, id=[f"r{i}" for i in range(len(LABELS))])


@pytest.mark.parametrize("kind", ["probs", "logits"])
@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_every_format_holds_the_same(tmp_path, kind, suffix):
    values = PROBS if kind == "probs" else LOGITS
    path = tmp_path / f"given{suffix}"
    if suffix == ".npz":
        np.savez(path, **{kind: values}, labels=LABELS, member=MEMBER, ward=LABELS % 2)
    else:
        frame = table("p" if kind == "probs" else "z", values).assign(ward=LABELS % 2)
        frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    found = load_predictions(path)
    assert found.logits == (kind == "logits")
    assert found.values == pytest.approx(values)
    assert np.array_equal(found.labels, LABELS)
    assert np.array_equal(found.member, MEMBER)
    assert np.array_equal(found.columns["ward"], LABELS % 2)


SPELLED = {
    "capitals": lambda name: name.upper(),
    "spaces": lambda name: f" {name} ",
    "tidymodels": lambda name: name.replace("p_", ".pred_").replace("label", "truth"),
    "probability of": lambda name: re.sub(r"p_(\d)", r"Probability (\1)", name),
    "of class": lambda name: name.replace("p_", "proba_class_").replace("member", "in_training"),
}


@pytest.mark.parametrize("spelled", SPELLED.values(), ids=SPELLED)
def test_names_of_columns_may_be_spelled_otherwise(tmp_path, spelled):
    path = tmp_path / "given.csv"
    frame = table().assign(Ward=LABELS % 2).rename(columns=spelled)
    frame.to_csv(path, index=False)
    usual, found = predictions(probs=PROBS, labels=LABELS, member=MEMBER), load_predictions(path)
    assert np.allclose(found.values, usual.values)
    assert np.array_equal(found.labels, LABELS)
    assert np.array_equal(found.member, MEMBER)
    assert found.ids[0] == "r0"
    assert [name.strip().lower() for name in found.columns] == ["ward"]
    # Names that the user gives are the file's.
    unit = spelled("Ward").strip() if "Ward" not in frame else "Ward"
    assert np.array_equal(as_predictions(path, unit=unit).units, LABELS % 2)


def test_a_name_that_another_column_has_is_not_read_for_it():
    frame = table().assign(LABEL="x", P_0=0.5)
    found = as_predictions(frame)
    assert np.array_equal(found.labels, LABELS)
    assert np.allclose(found.values, PROBS)
    assert set(found.columns) == {"LABEL", "P_0"}


WRITTEN = {
    ".csv": lambda frame: frame.to_csv(index=False).encode(),
    ".tsv": lambda frame: frame.to_csv(index=False, sep="\t").encode(),
    ".jsonl": lambda frame: frame.to_json(
        orient="records", lines=True, double_precision=15
    ).encode(),
}
WRITTEN |= {
    f"{suffix}.gz": lambda frame, write=write: gzip.compress(write(frame))
    for suffix, write in WRITTEN.items()
}
WRITTEN[".CSV.GZ"] = WRITTEN[".csv.gz"]


@pytest.mark.parametrize("form", ["columns", "lists", "arrays"])
@pytest.mark.parametrize("suffix", WRITTEN)
def test_the_same_table_in_every_format_is_the_same(tmp_path, suffix, form):
    frame = table(values=PROBS.round(6)).assign(ward=LABELS % 2)
    if form != "columns":
        own = PROBS.round(6) if form == "lists" else PROBS.round(6).astype(object)
        frame = frame.drop(columns=["p_0", "p_1", "p_2"]).assign(probs=own.tolist())
    if form == "arrays" and "js" not in suffix:
        frame["probs"] = [np.array(row) for row in frame["probs"]]
    path = tmp_path / f"given{suffix}"
    path.write_bytes(WRITTEN[suffix](frame))
    expected = as_predictions(table(values=PROBS.round(6)).assign(ward=LABELS % 2))
    found = load_predictions(path)
    np.testing.assert_array_equal(found.values, expected.values)
    for name in ("labels", "member", "ids"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert np.array_equal(found.columns["ward"], expected.columns["ward"])


@pytest.mark.slow
def test_the_same_table_in_every_format_gives_the_same_audit(tmp_path):
    frame = table(values=PROBS.round(6))
    audits = []
    for suffix in WRITTEN:
        path = tmp_path / f"given{suffix}"
        path.write_bytes(WRITTEN[suffix](frame))
        audits.append(pg.audit_classifier(path, attacks=[Threshold("modified-entropy")]))
    first, *others = (json.loads(audit.to_json())["attacks"] for audit in audits)
    assert all(other == first for other in others)


LISTS_AS_TEXT = {
    "python": lambda row: str(row.tolist()),
    "numpy": lambda row: str(list(row)),
    "numpy 2": lambda row: "[" + ", ".join(f"np.float64({x!r})" for x in row.tolist()) + "]",
    "tuple": lambda row: str(tuple(row.tolist())),
    "array": lambda row: np.array2string(row, precision=17, floatmode="unique"),
    "in lines": lambda row: np.array2string(row, max_line_width=20, floatmode="unique"),
}


@pytest.mark.parametrize("form", LISTS_AS_TEXT)
@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_lists_that_are_written_as_texts_are_lists(tmp_path, kind, form):
    values = PROBS if kind == "probs" else LOGITS.astype(np.float64)
    frame = pd.DataFrame({"label": LABELS, "member": MEMBER})
    frame[kind] = [LISTS_AS_TEXT[form](row) for row in values]
    for sep in ",;\t":
        frame.to_csv(tmp_path / "given.csv", index=False, sep=sep)
        found = load_predictions(tmp_path / "given.csv")
        assert found.logits == (kind == "logits")
        np.testing.assert_array_equal(found.values, as_predictions({**frame, kind: values}).values)


def test_one_hot_labels_and_lists_of_classes_are_read_from_texts():
    names = np.array(["cat", "dog", "eel", "[0, 10]"])
    one_hot = pd.DataFrame({"probs": PROBS.tolist(), "member": MEMBER}).astype({"probs": str})
    one_hot["label"] = [str(row) for row in np.eye(3, dtype=int)[LABELS].tolist()]
    assert np.array_equal(as_predictions(one_hot).labels, LABELS)
    order = np.argsort(-PROBS, axis=1)[:, :2]
    top = {
        "classes": names[order].tolist(),
        "probs": np.take_along_axis(PROBS, order, axis=1).tolist(),
        "label": names[LABELS],
        "member": MEMBER,
    }
    frame = pd.DataFrame(top)
    as_texts = frame.astype({"classes": str, "probs": str})
    found = as_predictions(as_texts)
    expected = as_predictions(frame)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.classes == expected.classes
    intervals = np.array(["[0, 10]", "[10, 20]", "[20, 30]"])
    called = as_predictions(table().assign(label=intervals[LABELS]), classes=intervals.tolist())
    assert called.classes == tuple(intervals)
    assert np.array_equal(called.labels, LABELS)


@pytest.mark.parametrize("wrong", ["[0.1, 0.9", "[0.1 0.2 ... 0.3]", "", None, "0.5", "[open(1)]"])
def test_a_row_that_is_no_list_is_named(tmp_path, wrong):
    texts = [str(row) for row in PROBS.tolist()]
    texts[7] = wrong
    frame = pd.DataFrame({"label": LABELS, "member": MEMBER, "probs": texts})
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(InputError, match=r"probs must hold a list in every row.* in row 7$"):
        load_predictions(tmp_path / "bad.csv")


def pool_beside(target_classes, order, seed=0):
    """Return a target whose classes are named, and a pool whose columns are in another order."""
    rng = np.random.default_rng(seed)
    n = 90
    k = len(target_classes)
    y = rng.integers(k, size=n)
    inside = rng.random((6, n)) < 0.5
    logits = rng.normal(size=(6, n, k)) + 2.5 * np.eye(k)[y]
    values = softmax(logits.reshape(6 * n, k)).reshape(6, n, k)
    names = np.array(target_classes)
    columns = {f"p_{text}": values[0][:, i] for i, text in enumerate(names)}
    target = as_predictions(pd.DataFrame(columns).assign(label=names[y], member=inside[0]))
    pool = {"probs": values[1:][..., order], "member": inside[1:]}
    return target, pool, names[y], names[order], np.argsort(order)[y]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 0, 2]])
def test_a_pool_of_named_classes_is_brought_into_the_order_of_the_target(tmp_path, order):
    target, pool, texts, names, numbers = pool_beside(["low", "mid", "high"], order)
    assert target.classes == ("high", "low", "mid")
    place = [names.tolist().index(text) for text in target.classes]
    for given in (
        {"labels": texts},
        {"labels": texts, "classes": names},
        {"labels": numbers, "classes": names},
    ):
        np.savez(tmp_path / "pool.npz", **pool, **given)
        read = as_pool(tmp_path / "pool.npz", target_classes=target.classes)
        np.testing.assert_array_equal(read.values, pool["probs"][..., place])
        np.testing.assert_array_equal(read.labels, target.labels)
    by_name = as_pool({**pool, "labels": numbers}, classes=names, target_classes=target.classes)
    np.testing.assert_array_equal(by_name.values, read.values)
    assert pg.audit_pool(target, tmp_path / "pool.npz", attacks=[Threshold("modified-entropy")])


def test_a_pool_of_numbers_beside_names_has_a_way_out():
    target, pool, texts, names, numbers = pool_beside(["low", "mid", "high"], [0, 1, 2])
    with pytest.raises(InputError) as caught:
        pg.audit_pool(target, {**pool, "labels": numbers})
    assert "0 = high, 1 = low, 2 = mid" in str(caught.value)
    assert "an array classes in the pool's file" in str(caught.value)
    for labels in (texts[::-1], numbers[::-1]):  # other records: no names make them the same
        with pytest.raises(InputError, match="keep one order of records"):
            pg.audit_pool(target, {**pool, "labels": labels, "classes": names})


def test_columns_are_in_the_order_of_their_numbers(tmp_path):
    values = softmax(np.random.default_rng(0).normal(size=(40, 12)))
    frame = table("p", values)
    frame[frame.columns[::-1]].to_csv(tmp_path / "given.csv", index=False)
    assert load_predictions(tmp_path / "given.csv").values == pytest.approx(values)


def test_what_is_saved_is_loaded(tmp_path):
    given = made_up(ids=np.arange(400) * 3)
    save_predictions(given, tmp_path / "saved.npz")
    found = load_predictions(tmp_path / "saved.npz")
    assert np.array_equal(found.values, given.values)
    assert np.array_equal(found.ids, given.ids)


@pytest.mark.parametrize("kind", ["probs", "logits"])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet", ".jsonl"])
def test_what_is_saved_by_its_suffix_is_loaded(tmp_path, suffix, named, kind):
    names = ("low", "mid", "high") if named else ()
    given = predictions(
        **{kind: PROBS if kind == "probs" else LOGITS},
        labels=LABELS,
        member=MEMBER,
        ids=np.arange(40) * 3,
        unit=np.arange(40) // 2,
        classes=names,
        columns={"ward": LABELS % 2},
    )
    save_predictions(given, tmp_path / f"saved{suffix}")
    found = load_predictions(tmp_path / f"saved{suffix}")
    own = [found.classes.index(name) for name in names] if named else range(3)
    assert found.values[:, own] == pytest.approx(given.values, rel=1e-12, abs=1e-12)
    assert found.logits == given.logits
    called = np.array(found.classes)[found.labels] if named else found.labels
    assert np.array_equal(called, np.array(names)[LABELS] if named else LABELS)
    for name in ("member", "ids", "units"):
        assert np.array_equal(getattr(found, name), getattr(given, name))
    assert np.array_equal(found.columns["ward"], LABELS % 2)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
@pytest.mark.parametrize("seen", [[0, 1, 2], [1, 2], [0, 1]])
def test_classes_that_are_counted_from_1_are_saved_and_loaded(tmp_path, seen, suffix):
    rows = np.isin(LABELS, seen)
    given = predictions(
        probs=PROBS[rows], labels=LABELS[rows], member=MEMBER[rows], classes=("1", "2", "3")
    )
    save_predictions(given, tmp_path / f"saved{suffix}")
    found = load_predictions(tmp_path / f"saved{suffix}")
    assert found.classes in (("1", "2", "3"), ())
    np.testing.assert_array_equal(found.labels, given.labels)
    np.testing.assert_allclose(found.values, given.values, rtol=1e-15)


def test_a_suffix_that_says_no_format_is_refused(tmp_path):
    for name in ("saved", "saved.xlsx", "saved.npz.bak"):
        with pytest.raises(InputError, match=r"path must end in \.npz, \.parquet, \.csv, \.jsonl"):
            save_predictions(made_up(), tmp_path / name)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="'label' has the name of one"):
        save_predictions(
            predictions(probs=PROBS, labels=LABELS, member=MEMBER, columns={"label": LABELS}),
            tmp_path / "saved.csv",
        )


def write_npz(path, **change):
    arrays = {"probs": PROBS, "labels": LABELS, "member": MEMBER, **change}
    np.savez(path, **{key: array for key, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": None}, "missing labels; it has probs, member"),
        ({"member": None}, "missing member"),
        ({"probs": None}, "no key probs or logits; it has labels, member"),
        ({"labels": LABELS.astype(object)}, "'labels' is an object array.*never unpickled"),
        ({"probs": PROBS.astype(object)}, "'probs' is an object array"),
        ({"extra": np.array([{"a": 1}], object)}, "'extra' is an object array"),
        ({"probs": np.float64(3.0)}, "shape"),
    ],
)
def test_bad_npz(tmp_path, change, message):
    write_npz(tmp_path / "bad.npz", **change)
    with pytest.raises(InputError, match=message) as caught:
        load_predictions(tmp_path / "bad.npz")
    assert "\n" not in str(caught.value)
    assert "bad.npz" in str(caught.value)


def test_a_pickle_is_never_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "exploded"), "w"))

    write_npz(tmp_path / "bomb.npz", labels=np.array([Bomb()], object))
    with pytest.raises(InputError, match="never unpickled"):
        load_predictions(tmp_path / "bomb.npz")
    assert not (tmp_path / "exploded").exists()


def test_every_truncation_is_noticed(tmp_path):
    write_npz(tmp_path / "whole.npz")
    whole = (tmp_path / "whole.npz").read_bytes()
    for share in (0.1, 0.5, 0.9, 0.999):
        (tmp_path / "cut.npz").write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(InputError, match=r"cut\.npz is damaged"):
            load_predictions(tmp_path / "cut.npz")


def test_flipped_bytes_are_noticed_or_harmless(tmp_path):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, probs=PROBS, labels=LABELS, member=MEMBER)
    whole = buffer.getvalue()
    for position in np.random.default_rng(0).integers(len(whole), size=60):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        (tmp_path / "flipped.npz").write_bytes(bytes(damaged))
        with contextlib.suppress(InputError):
            assert np.array_equal(load_predictions(tmp_path / "flipped.npz").values, PROBS)


def test_not_a_file_of_predictions(tmp_path):
    (tmp_path / "empty.npz").touch()
    (tmp_path / "empty.csv").touch()
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "text.parquet").write_text("hello")
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 4)
    np.save(tmp_path / "single.npy", PROBS)
    (tmp_path / "single.npz").write_bytes((tmp_path / "single.npy").read_bytes())
    with zipfile.ZipFile(tmp_path / "other.npz", "w") as archive:
        archive.writestr("notes.txt", "hello")
    for name, message in {
        "": "is a directory",
        "absent.npz": "does not exist",
        "single.npy": r"must end in \.npz, \.parquet, \.csv, \.tsv, \.csv\.gz",
        "empty.npz": "is empty",
        "empty.csv": "is empty",
        "text.npz": "is damaged or no npz file",
        "text.parquet": "is damaged or no parquet file",
        "binary.csv": "binary.csv",
        "single.npz": "single array",
        "other.npz": "missing labels",
    }.items():
        with pytest.raises(InputError, match=message) as caught:
            load_predictions(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert "unsafely" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (table().drop(columns="label"), "missing label"),
        (table().drop(columns=["p_0", "p_1", "p_2"]), "no columns p_0, p_1"),
        (table().drop(columns="p_1"), "missing p_1"),
        (table().assign(p_1="x"), "column p_1 must hold numbers"),
        (
            table().assign(label="cat"),
            r"the labels are 1 different texts \(cat\), but there are predictions of 3 classes",
        ),
        (
            table().assign(member=[None] + [1.0] * 39),
            "column member must have a value in every row, got none in row 0",
        ),
        (table().assign(p_0=[None] + [0.5] * 39), "must be finite, got nan in row 0"),
    ],
)
def test_bad_tables(tmp_path, frame, message):
    frame.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(InputError, match=message):
        load_predictions(tmp_path / "bad.csv")


def test_arrays_and_data_frames_are_taken_where_a_file_is():
    frame = table()
    arrays = {"probs": PROBS.tolist(), "labels": LABELS, "member": MEMBER}
    for given in (arrays, frame, made_up(n=40, k=3)):
        found = as_predictions(given, "mine")
        assert found.values.shape == (40, 3)
    assert as_predictions(frame).ids[0] == "r0"

    class Polars:
        columns = frame.columns

        def to_pandas(self):
            return frame

    assert np.array_equal(as_predictions(Polars()).labels, LABELS)
    with pytest.raises(InputError, match=r"mine must be Predictions, a path, .* got list"):
        as_predictions([1, 2], "mine")
    with pytest.raises(InputError, match="mine: missing labels"):
        as_predictions({"probs": PROBS, "member": MEMBER}, "mine")


def test_units_are_read_and_written(tmp_path):
    given = made_up(n=8, unit=list("aabbccdd"))
    save_predictions(given, tmp_path / "p.npz")
    found = load_predictions(tmp_path / "p.npz")
    assert found.units.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert "unit" not in found.columns
    assert made_up(n=8).unit is None
    assert made_up(n=8, ids=np.arange(8)).unit is None
    assert made_up(n=8, ids=np.arange(8) // 4).units.tolist() == [0] * 4 + [1] * 4


def test_a_column_may_name_the_units():
    given = made_up(n=8, columns={"who": list("aabbccdd"), "town": list("xyxyxyxy")})
    found = given.by_unit("who")
    assert found.units.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert list(found.columns) == ["town"]
    with pytest.raises(InputError, match="no column 'whose' that names the units; the columns"):
        given.by_unit("whose")
    with pytest.raises(InputError, match="unit must have 8 rows, got 2"):
        given.by_unit([1, 2])


def with_notes(n, length):
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), n)
    note = [f'{i}, "quoted"\nand {"x" * length}' for i in range(n)]
    frame = pd.DataFrame(
        {
            "id": [f"{i:04}" for i in range(n)],
            **{f"p_{j}": probs[:, j] for j in range(3)},
            "label": rng.integers(0, 3, n),
            "member": rng.integers(0, 2, n),
            "note": note,
            "region": rng.choice(["None", "NA", "north"], n),
        }
    )
    return frame


def write_as(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False, row_group_size=100)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".jsonl"])
def test_long_texts_that_nobody_asks_for_are_left_out_with_a_note(tmp_path, suffix):
    frame = with_notes(200, 2_000)
    path = write_as(frame, tmp_path / f"a{suffix}")
    plain = load_predictions(write_as(frame.drop(columns="note"), tmp_path / f"b{suffix}"))
    found = load_predictions(path)
    assert list(found.columns) == ["region"]
    assert set(found.columns["region"]) == {"None", "NA", "north"}
    assert any("note holds long texts" in note for note in found.notes)
    for mine, theirs in zip(found.__dict__.values(), plain.__dict__.values(), strict=True):
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, theirs)
    asked = load_predictions(path, columns=("note",))
    assert asked.columns["note"].tolist() == frame["note"].tolist()
    assert not any("long texts" in note for note in asked.notes)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_one_long_text_makes_no_column_of_long_texts(tmp_path, suffix):
    frame = with_notes(200, 0)
    frame.loc[7, "note"] = "x" * 100_000
    found = load_predictions(write_as(frame, tmp_path / f"a{suffix}"))
    assert len(found.columns["note"][7]) == 100_000
    assert not found.notes


def test_lists_of_many_probabilities_are_not_long_texts(tmp_path):
    probs = np.random.default_rng(0).dirichlet(np.ones(100), 40)
    frame = pd.DataFrame({"probs": [str(row.tolist()) for row in probs], "member": [0, 1] * 20})
    frame["label"] = np.arange(40)
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert load_predictions(tmp_path / "a.csv").answers.shape == (40, 100)


@pytest.mark.parametrize("damage", ["too many", "open quote", "not utf-8"])
def test_damage_beside_long_texts_is_one_line(tmp_path, damage):
    path = write_as(with_notes(200, 2_000), tmp_path / "a.csv")
    content = path.read_bytes()
    if damage == "too many":
        content = content.rstrip(b"\n") + b",1,2\n"
    elif damage == "open quote":
        content += b'0,"0'
    else:
        content += b"\xff\xfe,1\n"
    path.write_bytes(content)
    with pytest.raises(InputError) as found:
        load_predictions(path)
    assert "\n" not in str(found.value)


PEAK = """
import resource, sys
from privacygauge.classifiers.files import load_predictions
load_predictions(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_long_texts_that_nobody_asks_for_take_no_memory(tmp_path, suffix):
    frame = with_notes(20_000, 10_000)
    peaks = []
    for name, table in (("with", frame), ("without", frame.drop(columns="note"))):
        path = write_as(table, tmp_path / f"{name}{suffix}")
        done = subprocess.run(
            [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))
    assert peaks[0] < 1.2 * peaks[1]
