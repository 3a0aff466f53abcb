import io

import numpy as np
import pandas as pd
import pytest

from privacygauge.classifiers import tables
from privacygauge.classifiers.tables import load_categories, load_records
from privacygauge.errors import InputError

FRAME = pd.DataFrame(
    {
        "age": [30, 40, 50, 60],
        "ward": ["a", "b", "a", "c"],
        "sick": ["yes", "no", "no", "yes"],
        "name": ["p", "q", "r", "s"],
        "trained": [True, False, True, False],
        "old": [False, False, True, True],
    }
)


def saved(tmp_path, frame, name="t.csv"):
    path = tmp_path / name
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_becomes_numbers_and_classes(tmp_path, name):
    path = saved(tmp_path, FRAME, name)
    found = load_records(path, "sick", member="trained", ids="name")
    # Numbers and truth values as they are, then a column for every text.
    assert found.x.tolist() == [
        [30, 0, 1, 0, 0],
        [40, 0, 0, 1, 0],
        [50, 1, 1, 0, 0],
        [60, 1, 0, 0, 1],
    ]
    assert found.x.dtype == np.float64
    assert found.y.tolist() == [1, 0, 0, 1]
    assert found.names == ("no", "yes")
    assert found.ids.tolist() == ["p", "q", "r", "s"]
    assert found.member.tolist() == [True, False, True, False]
    assert set(found.columns) == {"age", "ward", "old"}
    assert found.columns["ward"].tolist() == ["a", "b", "a", "c"]
    assert len(found) == 4


def test_some_rows_are_the_same_rows_of_everything(tmp_path):
    path = saved(tmp_path, FRAME)
    for member in (None, "trained"):
        whole = load_records(path, "sick", member=member)
        part = whole[np.array([3, 0])]
        assert part.ids.tolist() == [3, 0]
        assert np.array_equal(part.x, whole.x[[3, 0]])
        assert part.y.tolist() == [1, 1]
        assert part.names == whole.names
        assert part.columns["age"].tolist() == [60, 30]
        assert (part.member is None) == (member is None)


def test_a_column_that_is_dropped_may_be_anything(tmp_path):
    frame = FRAME.assign(notes=[None, "x", "y", "z"])
    path = saved(tmp_path, frame)
    found = load_records(path, "sick", drop=["notes", "name", "trained"])
    assert set(found.columns) == {"age", "ward", "old"}


def test_an_npz_holds_arrays(tmp_path):
    x = np.arange(8).reshape(4, 2)
    y = np.array([5, 7, 5, 7])
    np.savez(tmp_path / "t.npz", x=x, y=y, member=[1, 0, 1, 0])
    found = load_records(tmp_path / "t.npz", member="member")
    assert np.array_equal(found.x, x)
    assert found.y.tolist() == [0, 1, 0, 1]
    assert found.names == ("5", "7")
    assert found.member.tolist() == [True, False, True, False]
    assert found.ids.tolist() == [0, 1, 2, 3]
    np.savez(tmp_path / "bare.npz", x=x, y=y)
    assert load_records(tmp_path / "bare.npz").member is None


def fails(path, message, **options):
    with pytest.raises(InputError, match=message) as raised:
        load_records(path, options.pop("label", "sick"), **options)
    assert "\n" not in str(raised.value)


def test_bad_tables_are_named(tmp_path):
    def table(name="t.csv", **columns):
        return saved(tmp_path, FRAME.assign(**columns), name)

    good = table()
    fails(tmp_path / "absent.csv", "absent.csv does not exist")
    fails(tmp_path, "holds no images in a folder for each class")
    for option in ("label", "member", "ids"):
        fails(good, "no column 'wrd'; its columns are age, ward, sick", **{option: "wrd"})
    fails(good, "no column 'wrd'", drop=["wrd"])
    fails(good, "column 'sick' is needed and cannot be dropped", drop=["sick"])
    fails(table(age=[1, None, 3, None]), "2 values are missing in column 'age': fill them")
    fails(table(age=[1, np.inf, 3, 4]), "values must be finite, got inf in row 1")
    fails(good, "column 'age' has 4 different values in 4 records, which", label="age")
    fails(table(sick=["no"] * 4), "at least two classes are needed, got no")
    fails(good, "ward must say true or false", member="ward")
    fails(saved(tmp_path, FRAME[["sick"]]), "holds no features")
    fails(saved(tmp_path, FRAME.iloc[:0]), "holds no records")


def test_texts_that_are_no_categories_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_TEXTS", 3)
    fails(saved(tmp_path, FRAME), "'name' has 4 different texts, which are no categories: --drop")
    load_records(saved(tmp_path, FRAME), "sick", ids="name")


def test_files_that_cannot_be_read_are_named(tmp_path):
    def file(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    fails(
        file("t.xlsx", b"x"),
        "must end in .npz, .parquet, .csv, .tsv, .csv.gz, .tsv.gz, .jsonl or .jsonl.gz",
    )
    fails(file("empty.csv", b""), "empty.csv is empty")
    fails(file("ragged.csv", b"a,sick\n1,2\n1,2,3\n"), "no csv file .Error tokenizing")
    fails(file("latin.csv", "a,sick\nä,1\n".encode("latin-1")), "is not UTF-8")
    fails(file("t.parquet", b"none"), "is damaged or no parquet file")
    fails(file("t.npz", b"none"), "is damaged or no npz file")
    fails(file("none.npz", b""), "none.npz is empty")


def test_bad_archives_are_named(tmp_path):
    x = np.zeros((4, 2))
    y = np.array([0, 1, 0, 1])

    def archive(**arrays):
        kept = {key: a for key, a in {"x": x, "y": y, **arrays}.items() if a is not None}
        np.savez(tmp_path / "t.npz", **kept)
        return tmp_path / "t.npz"

    fails(archive(y=None), "has no array 'y'; it holds x")
    fails(archive(), "has no array 'member'; it holds x, y", member="member")
    fails(archive(), "no column 'age': an .npz file has no columns", drop=["age"])
    fails(archive(), "no column 'name'", ids="name")
    fails(archive(x=x[0]), r"x must be numbers of the shape \(n, d\), got float64 \(2,\)")
    fails(archive(x=x.astype(str)), "x must be numbers of the shape")
    fails(archive(x=np.full((4, 2), np.nan)), "values must be finite, got nan in row 0")
    fails(archive(y=y[:3]), "y must have 4 rows, got 3")
    fails(archive(y=y - 1), "y must be at least 0, got -1 in row 0")
    fails(archive(y=y + 0.5), "y must be integers")
    fails(archive(y=np.zeros(4, int)), "at least two classes are needed, got 0")
    fails(archive(member=[2, 0, 1, 0]), "member must be true or false")
    fails(archive(y=y.astype(object)), "is an object array, which could run code when loaded")
    whole = archive().read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    fails(tmp_path / "cut.npz", "is damaged or no npz file")
    lone = io.BytesIO()
    np.save(lone, x)
    (tmp_path / "lone.npz").write_bytes(lone.getvalue())
    fails(tmp_path / "lone.npz", "holds a single array")


def test_categories_are_coded_over_the_whole_file(tmp_path):
    path = saved(tmp_path, FRAME.assign(ward=["a", None, "a", "c"], old=[1, 2, 2, 1]))
    found = load_categories(path, "sick", continuous=["age"], ids="name", drop=["trained"])
    assert found.columns == ("age", "ward", "old")
    # What is missing is a category of its own.
    assert found.categories == (None, 3, 2)
    assert found.x[:, 0].tolist() == [30, 40, 50, 60]
    assert found.x[:, 1].tolist() == [0, 1, 0, 2]
    assert found.x[:, 2].tolist() == [0, 1, 1, 0]
    assert found.y.tolist() == [1, 0, 0, 1]
    assert found.names == ("no", "yes")
    assert found.ids.tolist() == ["p", "q", "r", "s"]
    assert len(found) == 4


def test_categories_of_an_npz_are_its_values(tmp_path):
    np.savez(tmp_path / "t.npz", x=[[5, 0.5], [7, 0.5], [5, 1.5]], y=[0, 1, 1])
    found = load_categories(tmp_path / "t.npz", continuous=["1"])
    assert found.categories == (2, None)
    assert found.x.tolist() == [[0, 0.5], [1, 0.5], [0, 1.5]]


def test_a_single_record_may_be_a_class(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 1], "label": ["x", "x", "y"]})
    assert load_categories(saved(tmp_path, frame)).y.tolist() == [0, 0, 1]


def test_bad_categories_are_named(tmp_path):
    path = saved(tmp_path, FRAME.assign(age=[1.0, None, 2.0, 3.0]))
    for options, message in (
        ({"continuous": ["age"]}, "'age' must hold finite numbers, got nan in row 1: fill them"),
        ({"continuous": ["ward"]}, "column 'ward' holds texts: it is not continuous"),
        ({"continuous": ["wrd"]}, "no attribute 'wrd'; the attributes are age, ward"),
        ({"drop": ["wrd"]}, "no column 'wrd'"),
    ):
        with pytest.raises(InputError, match=message) as raised:
            load_categories(path, "sick", **options)
        assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match="1 values are missing in column 'sick'"):
        load_categories(saved(tmp_path, FRAME.assign(sick=["y", None, "n", "n"])), "sick")


def test_rows_longer_than_the_header_are_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("age,label\n1,2,x\n3,4,y\n")
    fails(tmp_path / "t.csv", "rows have more values than the header has names", label="label")


@pytest.mark.parametrize(
    ("inside", "outside"), [("Y", "N"), ("yes", "no"), ("train", "test"), ("In", "Out"), ("t", "f")]
)
def test_members_are_said_in_everyday_words(tmp_path, inside, outside):
    path = tmp_path / "t.csv"
    path.write_text(f"x,sick,m\n1,0,{inside}\n2,1,{outside}\n3,1,{inside}\n4,0,{outside}\n")
    found = load_records(path, "sick", member="m")
    assert found.member.tolist() == [True, False, True, False]
    assert found.notes == ()


def test_rows_of_a_validation_set_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,sick,m\n1,0,train\n2,1,val\n3,1,train\n4,0,test\n")
    found = load_records(path, "sick", member="m")
    assert found.member.tolist() == [True, False, True, False]
    assert "val count as non-members" in found.notes[0]
