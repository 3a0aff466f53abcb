"""Files as pandas and spreadsheets export them are read, with notes on what was left out."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.tables.frames import ROW_NUMBERS, read_frame
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.made_released import people


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return [people(rng, 120) for _ in range(3)]


def test_row_numbers_of_pandas_are_left_out_and_join(tables, tmp_path):
    real, made, holdout = tables
    files = [tmp_path / f"{name}.csv" for name in ("real", "made", "holdout")]
    for path, frame in zip(
        files, (real, made.sample(frac=1.0, random_state=0), holdout), strict=True
    ):
        frame.to_csv(path)
    found = read_together(*files)
    assert found.schema.names == tuple(real)
    assert found.apart == (ROW_NUMBERS,)
    assert len(found.joined[0].real) == 120
    assert sum("taken for row numbers" in note for note in found.read) == 3


@pytest.mark.parametrize("numbered", [0, 1])
def test_row_numbers_in_one_table_alone_are_compared_with_places(tables, tmp_path, numbered):
    real, made, _ = tables
    path = tmp_path / "one.csv"
    shuffled = tables[numbered].sample(frac=1.0, random_state=0)
    shuffled.to_csv(path)
    found = read_together(*((path, made) if numbered == 0 else (real, path)))
    (joined,) = found.joined
    rows = (joined.real, joined.synthetic)
    assert shuffled.index[rows[numbered]].tolist() == rows[1 - numbered].tolist()


def test_empty_ends_of_a_spreadsheet_are_left_out(tables, tmp_path):
    real, made, _ = tables
    path = tmp_path / "real.csv"
    text = real.assign(empty=None).rename(columns={"empty": ""}).to_csv(index=False)
    path.write_text(text + "," * len(real.columns) + "\n")
    found = read_together(path, made)
    plain = read_together(real, made)
    np.testing.assert_array_equal(found.real.values, plain.real.values)
    assert found.schema == plain.schema
    assert sum("left out" in note and "real.csv" in note for note in found.read) == 2


@pytest.mark.parametrize("text", ["a,,b\n1,2,3\n", ",a\nx,1\n", ",a\n1.5,1\n", "a,\n1,2\n"])
def test_other_columns_without_a_name_are_refused(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"column \d has no name in the header"):
        read_frame(path, as_exported=True)


def test_a_text_with_tabs_is_to_be_named_tsv(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("a\tb\n1\t2\n", encoding="utf-16")
    with pytest.raises(InputError, match=r"rename a text with tabs.* to \.tsv"):
        read_frame(path)


@pytest.mark.parametrize("name", ["ids", "unit", "holdout_unit"])
def test_the_name_of_a_column_is_no_array(tables, name):
    with pytest.raises(InputError, match=f"{name} must be an array .* table\\['pid'\\]"):
        audit_released(*tables, **{name: "pid"})
