"""What a table's columns are: inferred, written, edited, and held to."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.tables.frames import read_schema, read_table
from privacygauge.tables.table import Column, Schema, Table, column_advice
from tests.thorough import times


def frame():
    return pd.DataFrame(
        {
            "age": [18, 40, 33],
            "weight": [60.5, np.nan, 71.0],
            "town": ["B", "A", None],
            "smokes": [True, False, True],
        }
    )


def test_numbers_are_numbers_and_texts_are_categories():
    assert read_table(frame()).schema.columns == (
        Column("age", "integer", 18, 40),
        Column("weight", "continuous", 60.5, 71.0, missing=True),
        Column("town", "categorical", categories=("A", "B"), missing=True),
        Column("smokes", "categorical", categories=("False", "True")),
    )


def test_kinds_can_be_said():
    table = read_table(
        pd.DataFrame({"a": [10, 2, 2], "b": ["1.5", "2", None]}), categorical="a", continuous="b"
    )
    assert table.schema.columns == (
        Column("a", "categorical", categories=("2", "10")),
        Column("b", "continuous", 1.5, 2.0, missing=True),
    )


def test_values_are_numbers_and_codes():
    table = read_table(frame())
    expected = [[18, 60.5, 1, 1], [40, np.nan, 0, 0], [33, 71, 2, 1]]
    np.testing.assert_array_equal(table.values, expected)
    assert table.sizes == (3, 2)
    assert not table.values.flags.writeable
    shown = table.to_frame()
    assert shown["town"].tolist()[:2] == ["B", "A"]
    assert shown["town"].isna().tolist() == [False, False, True]
    assert shown["age"].tolist() == [18, 40, 33]
    np.testing.assert_array_equal(read_table(shown, schema=table.schema).values, expected)


class OtherFrame:
    """A frame of another library, which can become one of pandas."""

    def to_pandas(self):
        return frame()


def test_a_file_gives_the_same_table(tmp_path):
    table = read_table(frame())
    frame().to_csv(tmp_path / "t.csv", index=False)
    frame().to_parquet(tmp_path / "t.parquet")
    for again in (tmp_path / "t.csv", tmp_path / "t.parquet", OtherFrame()):
        found = read_table(again)
        assert found.schema == table.schema
        np.testing.assert_array_equal(found.values, table.values)


def test_a_whole_number_is_the_same_category_with_gaps_and_without():
    whole = read_table(pd.DataFrame({"a": [1, 2]}), categorical=["a"])
    gaps = read_table(pd.DataFrame({"a": [1.0, 2.0, None]}), categorical=["a"])
    assert whole.schema.columns[0].categories == gaps.schema.columns[0].categories == ("1", "2")


def test_odd_columns():
    odd = pd.DataFrame({"none": [None, None], "lists": [[1], [2]], "when": pd.to_datetime([0, 1])})
    kinds = ["categorical", "categorical", "integer"]
    assert [column.kind for column in read_table(odd).schema.columns] == kinds
    assert read_table(odd[["none"]]).values.tolist() == [[0], [0]]


numbers = st.floats(-1e9, 1e9)
texts = st.text(st.characters(codec="utf-8"), max_size=5)
kinds = st.one_of(
    st.tuples(st.just("continuous"), numbers, numbers, st.booleans()),
    st.tuples(st.just("categorical"), st.lists(texts, unique=True), st.booleans()),
)


@settings(max_examples=times(25))
@given(st.dictionaries(texts, kinds, min_size=1, max_size=3))
def test_a_schema_survives_its_file(columns):
    schema = Schema(
        tuple(
            Column(name, kind[0], *sorted(kind[1:3]), missing=kind[3])
            if kind[0] == "continuous"
            else Column(name, kind[0], categories=tuple(kind[1]), missing=kind[2])
            for name, kind in columns.items()
        )
    )
    assert Schema.from_json(schema.to_json()) == schema


def test_a_schema_is_read_from_a_file(tmp_path):
    schema = read_table(frame()).schema
    (tmp_path / "s.json").write_text(schema.to_json(), encoding="utf-8")
    assert read_schema(tmp_path / "s.json") == schema
    with pytest.raises(InputError, match=r"absent\.json does not exist"):
        read_schema(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "ordinal"}, "kind must be continuous, integer, categorical, got 'ordinal'"),
        ({"low": 41}, "low and high must be numbers, low at most high, got 41 and 40"),
        ({"low": "1"}, "low must be a number, got '1'"),
        ({"low": float("nan")}, "low and high must be numbers"),
        ({"high": True}, "high must be a number, got True"),
        ({"missing": 1}, "missing must be true or false, got 1"),
        ({"kind": "categorical", "categories": [1]}, r"categories must be a list of texts, got \["),
        ({"kind": "categorical", "categories": ["a", "a"]}, "category 'a' is listed twice"),
        ({"colour": "red"}, "unknown entry 'colour'"),
        ({"name": "town"}, "names must differ, got 'town' twice"),
    ],
    ids=str,
)
def test_an_edit_that_breaks_a_rule_is_named(change, message):
    found = json.loads(read_table(frame()).schema.to_json())
    found["columns"][0] |= change
    with pytest.raises(InputError, match=message) as caught:
        Schema.from_json(json.dumps(found))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema": "privacygauge-schema/1"}'])
def test_what_is_no_schema(text):
    with pytest.raises(InputError, match="write it again"):
        Schema.from_json(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": [18, 40, 41]}, "column 'age' must be in .18.0, 40.0., .* got 41.0 in row 2"),
        ({"age": [18, 40, 20.5]}, "column 'age' must hold whole numbers, got 20.5 in row 2"),
        ({"age": [18, None, 40]}, "column 'age' must not be missing, .* got nan in row 1"),
        ({"age": [18, "old", 40]}, "column 'age' must hold finite numbers, got 'old' in row 1"),
        ({"weight": [60.5, np.inf, 61]}, "column 'weight' must hold finite numbers, got inf"),
        ({"town": ["A", "B", "C"]}, "column 'town' must hold a category .* got 'C' in row 2"),
        ({"smokes": [True, None, True]}, "column 'smokes' has no value in row 1"),
        ({"new": [1, 2, 3]}, "column 'new' is not in the schema"),
    ],
    ids=str,
)
def test_what_does_not_match_a_schema_is_named(change, message):
    with pytest.raises(InputError, match=message) as caught:
        read_table(frame().assign(**change), schema=read_table(frame()).schema)
    assert "\n" not in str(caught.value)


def test_a_column_that_is_not_there():
    with pytest.raises(InputError, match="the table has no column 'age', which the schema names"):
        read_table(frame(), schema=read_table(frame()).schema, drop=["age"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": ["x"]}, "drop names 'x', which is not a column; the columns are age, weight"),
        ({"continuous": ["x"]}, "continuous names 'x'"),
        ({"categorical": ["x"]}, "categorical names 'x'"),
        ({"continuous": ["age"], "categorical": ["age"]}, "named both"),
        ({"continuous": ["town"]}, "must hold finite numbers, got 'B' in row 0"),
        ({"drop": list(frame())}, r"must have records and columns, got \(3, 0\)"),
        ({"schema": read_table(frame()).schema, "categorical": ["age"]}, "not both"),
    ],
    ids=str,
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(InputError, match=message):
        read_table(frame(), **options)


def test_frames_that_are_no_tables():
    with pytest.raises(InputError, match="column 'a' mixes texts and numbers"):
        read_table(pd.DataFrame({"a": [1, "x"]}))
    assert read_table(pd.DataFrame({"a": [1, "1"]}), categorical=["a"]).sizes == (1,)
    with pytest.raises(InputError, match="column names must differ, got 'a' twice"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match="must be a pandas or polars frame or a path, got list"):
        read_table([[1, 2]])
    with pytest.raises(InputError, match="column 'a' holds no number"):
        read_table(pd.DataFrame({"a": [None, None]}), continuous=["a"])
    with pytest.raises(InputError, match="a Table has a schema"):
        read_table(read_table(frame()), drop=["age"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2\n1,2,3\n", "line 3: 3 fields, but the header has 2"),
        (b"a,b\n1,2\n1\n", "line 3: 1 fields, but the header has 2"),
        (b"a,b\n1,2,3\n4,5,6\n", "line 2: 3 fields, but the header has 2"),
        (b"a,a\n1,2\n", "two columns are named 'a'"),
        (b",a\n1,2\n", "column 1 has no name in the header"),
        ("a\nZürich\n".encode("latin-1"), "is not in UTF-8"),
        (b"a,b\n", "must have records and columns"),
        (b"", "is empty"),
    ],
    ids=str,
)
def test_files_that_are_no_tables(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_and_quoted_lines_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbfa,b\n"x, y\nz",1\n\nw,2\n')
    table = read_table(path)
    assert table.schema.columns[0].categories == ("w", "x, y\nz")
    assert len(table) == 2


def test_archives_are_no_tables(tmp_path):
    np.savez(tmp_path / "t.npz", x=np.ones(3))
    with pytest.raises(InputError, match="holds arrays, not a table"):
        read_table(tmp_path / "t.npz")


def test_columns_of_names_and_of_nearly_numbers_are_named():
    n = 60
    people = pd.DataFrame(
        {
            "id": np.arange(n),
            "name": [f"p{i}" for i in range(n)],
            "weight": np.linspace(50, 80.5, n),
            "age": ["?", *map(str, np.arange(n - 1) % 30)],
            "town": ["A", "B"] * (n // 2),
        }
    )
    first, second, third = column_advice(read_table(people))
    assert first.startswith("column 'id' has another value in every record")
    assert "--drop name" in second
    assert third.startswith("column 'age' holds numbers but for a few texts")
    assert column_advice(read_table(people[:40][["id", "town"]])) == ()


def may_hold(column, value):
    if column.kind == "categorical":
        return value in range(column.n_codes)
    if np.isnan(value):
        return column.missing
    return column.low <= value <= column.high and (
        column.kind == "continuous" or float(value).is_integer()
    )


@pytest.mark.slow
@settings(max_examples=times(200))
@given(st.data())
def test_a_table_holds_what_its_schema_allows_and_nothing_else(data):
    some = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, np.nan, np.inf])
    columns = (
        Column("a", "categorical", categories=("x", "y"), missing=data.draw(st.booleans())),
        Column("b", "integer", 0, data.draw(st.integers(0, 3)), missing=data.draw(st.booleans())),
        Column("c", "continuous", -0.5, 2.5, missing=data.draw(st.booleans())),
    )
    allowed = [[v for v in (0.0, 0.5, 1.0, 2.0, np.nan) if may_hold(c, v)] for c in columns]
    values = np.array([[data.draw(st.sampled_from(a)) for a in allowed] for _ in range(4)])
    place = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 2))
    values[place] = data.draw(some)
    if may_hold(columns[place[1]], values[place]):
        assert len(Table(Schema(columns), values)) == 4
    else:
        with pytest.raises(InputError, match=f"{columns[place[1]].name!r}.* in row {place[0]}"):
            Table(Schema(columns), values)


def test_values_that_are_no_codes():
    schema = Schema((Column("a", "categorical", categories=("x",)),))
    with pytest.raises(InputError, match=r"column 'a' must hold codes in 0\.\.0, got 1.0 in row 1"):
        Table(schema, [[0], [1]])
    with pytest.raises(InputError, match=r"values must have the shape \(n, 1\), got \(1, 2\)"):
        Table(schema, [[0, 0]])
    with pytest.raises(InputError, match="at least one column"):
        Schema(())
