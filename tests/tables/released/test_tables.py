"""Tables read together, with one schema."""

import numpy as np
import pandas as pd
import pytest

from privacygauge.errors import InputError
from privacygauge.tables.frames import read_table
from privacygauge.tables.released.tables import (
    NO_CONTROL,
    ReleasedTables,
    draw_rows,
    joined_schema,
    number_equal_records,
    occurs,
    read_together,
    recode_table,
    select_columns,
)
from privacygauge.tables.table import Column, Schema
from tests.tables.made_tables import table_of
from tests.tables.released.made_released import people, released


def frame(n=12, **columns):
    return pd.DataFrame({"a": np.arange(n), "b": list("xyz") * (n // 3), **columns})


def test_the_schema_covers_what_only_the_synthetic_table_has():
    made = frame().assign(a=np.arange(12) * 1.5 - 2, b=["w", None, *"xyzxyzxyzx"])
    found = read_together(frame(), made[["b", "a"]])
    a, b = found.schema.columns
    assert (a.kind, a.low, a.high) == ("continuous", -2.0, 14.5)
    assert (b.categories, b.missing) == (("w", "x", "y", "z"), True)
    assert found.holdout is None
    for table, before in ((found.real, frame()), (found.synthetic, made)):
        shown = table.to_frame()
        assert shown["a"].tolist() == before["a"].tolist()
        assert shown["b"].tolist() == before["b"].tolist()


def test_the_real_table_says_what_a_column_is():
    real = frame(code=[*"0123456789", "A", "B"])
    made = frame(code=range(12))
    found = read_together(real, made, real)
    assert not found.schema.columns[2].is_number
    assert found.synthetic.to_frame()["code"].tolist() == [str(i) for i in range(12)]
    with pytest.raises(InputError, match=r"^synthetic: column 'code' must hold finite numbers"):
        read_together(made, real)
    assert read_together(made, real, categorical=["code"]).schema.columns[2].categories[-1] == "B"


def test_files_and_frames_read_alike(tmp_path):
    rng = np.random.default_rng(0)
    frames = [people(rng, 30) for _ in range(3)]
    paths = [tmp_path / f"{i}.csv" for i in range(3)]
    for one, path in zip(frames, paths, strict=True):
        one.to_csv(path, index=False)
    one = read_together(*frames)
    other = read_together(*paths)
    assert one.schema == other.schema
    for name, table in one.tables().items():
        np.testing.assert_array_equal(table.values, other.tables()[name].values)


def test_options_that_no_column_has():
    with pytest.raises(
        InputError, match="drop names 'no', which is not a column; the columns are a"
    ):
        read_together(frame(), frame(), drop=["no"])
    with pytest.raises(InputError, match="real: continuous names 'no', which is not a column"):
        read_together(frame(), frame(), continuous=["no"])


def test_a_schema_that_is_known_stays_as_wide():
    wide = Schema(
        (Column("a", "continuous", -5, 50), Column("b", "categorical", categories=tuple("vwxyz")))
    )
    found = read_together(frame(), frame(), schema=wide)
    assert found.schema == wide
    assert read_together(found.real, frame()[["b", "a"]], found.real).schema == wide


def test_dropped_columns_need_not_be_in_every_table():
    found = read_together(frame(id=range(12)), frame(), frame(id=range(12)), drop=["id"])
    assert found.schema.names == ("a", "b")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (frame().drop(columns="b"), r"^synthetic: the table has no column 'b', which the real"),
        (frame(c=range(12)), r"^synthetic: the table has a column 'c', which the real one has not"),
        (frame().rename(columns={"a": "A"}), r"has no column 'a'.*its columns are A, b"),
        (frame(9), r"^synthetic must have at least 10 records, got 9: give more$"),
        (frame()[:0], r"^synthetic: a table must have records"),
        (3, r"^synthetic: a table must be a pandas or polars frame or a path, got int$"),
    ],
    ids=["missing", "extra", "renamed", "few", "none", "no table"],
)
def test_what_does_not_fit_is_refused(made, message):
    with pytest.raises(InputError, match=message):
        read_together(frame(), made)


def test_tables_of_two_schemas_are_refused():
    one = read_table(frame())
    other = read_table(frame(15))
    with pytest.raises(InputError, match=r"^synthetic must have the schema of real.*read_together"):
        ReleasedTables(one, other)
    joined = joined_schema(one.schema, other.schema)
    assert ReleasedTables(recode_table(one, joined), recode_table(other, joined)).schema == joined


def test_schemas_that_cannot_be_joined():
    number = Column("a", "integer", 0, 3)
    texts = Column("a", "categorical", categories=("x",))
    with pytest.raises(InputError, match="'a' holds numbers in one table and categories in anoth"):
        joined_schema(Schema((number,)), Schema((texts,)))
    with pytest.raises(InputError, match="at least one, got none"):
        joined_schema()


def test_joining_a_schema_with_itself_changes_nothing():
    schema = table_of(np.random.default_rng(0), 30, 3, 2, missing=0.1).schema
    assert joined_schema(schema, schema) == joined_schema(schema) == schema


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_as_a_loop_finds_them(seed):
    table = table_of(np.random.default_rng(seed), 90, 2, 1, levels=3, missing=0.1)
    one = table[np.arange(50)]
    other = table[np.arange(50, 90)]
    texts = [[repr(row.tolist()) for row in part.values] for part in (one, other)]
    assert occurs(one, other).tolist() == [text in texts[1] for text in texts[0]]
    keys = np.concatenate(number_equal_records((one, other)))
    everything = texts[0] + texts[1]
    same = [[a == b for b in everything] for a in everything]
    assert np.array_equal(keys[:, None] == keys, same)


def test_some_columns_keep_their_values():
    table = table_of(np.random.default_rng(0), 20, 2, 2, missing=0.1)
    found = select_columns(table, (3, 0))
    assert found.schema.names == ("num1", "cat0")
    np.testing.assert_array_equal(found.values, table.values[:, [3, 0]])


def test_drawn_rows():
    rng = np.random.default_rng(0)
    rows = draw_rows(100, 30, rng)
    assert len(np.unique(rows)) == 30
    assert (np.diff(rows) > 0).all()
    assert draw_rows(5, 30, rng).tolist() == [0, 1, 2, 3, 4]


def test_notes_say_what_a_reader_must_know():
    found = released(np.random.default_rng(0))
    assert found.notes == ()
    assert ReleasedTables(found.real, found.synthetic).notes == (NO_CONTROL,)
    (note,) = ReleasedTables(found.real, found.synthetic, found.real).notes
    assert note.startswith("200 of the 200 holdout records equal a real one")


def test_dates_of_two_forms_are_the_same_and_are_no_numbers():
    days = pd.date_range("2024-01-01", periods=40)
    real = pd.DataFrame({"when": days.strftime("%Y-%m-%d"), "x": range(40)})
    made = real.assign(when=days.strftime("%d.%m.%Y"))
    found = read_together(real, made)
    np.testing.assert_array_equal(found.real.values, found.synthetic.values)
    assert found.schema.columns[0].date
    with pytest.raises(InputError, match="'when' holds dates in one table and numbers in another"):
        read_together(real, made.assign(when=range(40)))
