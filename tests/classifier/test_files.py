import contextlib
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from privacygauge.classifier.files import as_predictions, load_predictions, save_predictions
from privacygauge.errors import InputError
from tests.classifier.made import logits_labels_member, made_up, softmax

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
        "single.npy": r"must end in \.npz",
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
