"""CSV files as programs in many countries write them: separators, decimal marks, dates."""

import datetime
import itertools

import numpy as np
import pandas as pd
import pytest

from privacygauge.audits.generator.play import audit_synthetic
from privacygauge.audits.released_table.play import audit_released
from privacygauge.classifier.tables import load_categories, load_records
from privacygauge.datasets.dates import dates_of, days_of
from privacygauge.datasets.reading import SEPARATORS, separator_of
from privacygauge.errors import InputError
from privacygauge.synthetic.frames import read_table
from tests.thorough import times

ROWS = 60


def people(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(8, 2, ROWS), int(rng.integers(1, 6)))
    texts = np.array(["a", "b; c", "d, e", 'say "f"', "g\th", "i|j", "1,2;3,4", "k\nl"])
    return pd.DataFrame(
        {
            "age": rng.integers(0, 99, ROWS),
            "income": np.where(rng.random(ROWS) < 0.1, np.nan, income),
            "town, or none": rng.choice(texts, ROWS),
            "label": rng.choice(["no", "yes"], ROWS),
        }
    )


# A comma cannot be both without quotes, which pandas then sets: these stay texts.
PAIRS = [(s, d) for s, d in itertools.product(SEPARATORS, ".,") if (s, d) != (",", ",")]


@pytest.mark.parametrize("seed", range(times(5)))
@pytest.mark.parametrize(("separator", "decimal"), PAIRS)
def test_separators_and_decimal_marks_change_no_value(tmp_path, separator, decimal, seed):
    frame = people(seed)
    file, plain = tmp_path / "t.csv", tmp_path / "plain.csv"
    frame.to_csv(file, sep=separator, decimal=decimal, index=False)
    frame.to_csv(plain, index=False)
    expected = read_table(plain)
    for given in (None, separator):
        found = read_table(file, separator=given)
        assert found.schema == expected.schema
        np.testing.assert_array_equal(found.values, expected.values)
    options = {"label": "label", "drop": ["income"]}
    np.testing.assert_array_equal(load_records(file, **options).x, load_records(plain, **options).x)


@pytest.mark.parametrize("seed", range(times(20)))
def test_a_table_of_decimal_commas_alone_is_cut_at_the_separator(tmp_path, seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(2, 6))
    frame = pd.DataFrame(np.round(rng.normal(0, 1e4, (30, width)), 2), columns=[*"abcdef"[:width]])
    file = tmp_path / "t.csv"
    lines = [
        ";".join(f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in row)
        for row in frame.to_numpy()
    ]
    file.write_text("\n".join([";".join(frame), *lines]))
    np.testing.assert_array_equal(read_table(file).values, frame.to_numpy())


def test_other_separators_are_named(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("a^label\n1^x\n2^y\n3^x\n4^y\n")
    assert load_records(file, separator="^").x.tolist() == [[1], [2], [3], [4]]
    with pytest.raises(InputError, match=r"columns are a\^label: is its .* \(--separator\)\?$"):
        load_records(file)
    for wrong in ("", "ab", "a", "1", '"', "\n", "."):
        with pytest.raises(InputError, match="separator must be one character such as ; or tab"):
            separator_of(file, wrong)
    assert separator_of(file, "tab") == separator_of(file, "\\t") == "\t"


def test_texts_with_commas_stay_texts(tmp_path):
    file = tmp_path / "t.csv"
    for lines, kind in (
        ('a,b\n"1,5",2\n"2,5",3\n', "categorical"),
        ("a;b\n1,5;2\n2,5;x\n", "continuous"),
        ("a;b\n1,5;2\nx;3\n", "categorical"),
        ("a;b\n1,5,2;2\n1,5;3\n", "categorical"),
        ("a;b\n1.5,2;2\n1,5;3\n", "categorical"),
        ("a;b\n,;2\n1,5;3\n", "categorical"),
    ):
        file.write_text(lines)
        assert read_table(file).schema.columns[0].kind == kind, lines


FORMS = {
    "%Y-%m-%d": 1,
    "%Y/%m/%d": 1,
    "%d.%m.%Y": 1,
    "%d/%m/%Y": 1,
    "%m/%d/%Y": 1,
    "%Y-%m-%d %H:%M": 1440,
    "%Y-%m-%dT%H:%M:%S": 86_400,
    "%d.%m.%Y %H:%M:%S": 86_400,
}


@pytest.mark.parametrize(("form", "a_day"), FORMS.items())
@pytest.mark.parametrize("seed", range(times(3)))
def test_dates_are_days_and_come_back(tmp_path, form, a_day, seed):
    rng = np.random.default_rng(seed)
    days = rng.integers(-30_000 * a_day, 60_000 * a_day, 50) / a_day
    epoch = datetime.datetime(1970, 1, 1)
    dates = [epoch + datetime.timedelta(seconds=round(day * 86_400)) for day in days]
    frame = pd.DataFrame({"when": [d.strftime(form) for d in dates], "label": ["a", "b"] * 25})
    frame.loc[3, "when"] = None
    days[3] = np.nan
    file = tmp_path / "t.csv"
    frame.to_csv(file, index=False)
    table = read_table(file)
    np.testing.assert_allclose(table.values[:, 0], days, rtol=0, atol=1e-9)
    column = table.schema.columns[0]
    assert (column.kind, column.date) == ("integer" if a_day == 1 else "continuous", True)
    shown = table.to_frame()["when"]
    assert [None if pd.isna(d) else d.to_pydatetime() for d in shown] == [
        None if j == 3 else d for j, d in enumerate(dates)
    ]
    again = read_table(table.to_frame(), schema=table.schema)
    np.testing.assert_array_equal(again.values, table.values)
    frame.dropna().to_csv(file, index=False)
    there = np.delete(days, 3)
    np.testing.assert_allclose(load_records(file).x[:, 0], there, rtol=0, atol=1e-9)
    coded = load_categories(file, continuous=["when"])
    np.testing.assert_allclose(coded.x[:, 0], there, rtol=0, atol=1e-9)
    texts = read_table(file, categorical=["when"]).schema.columns[0]
    assert set(texts.categories) == set(frame["when"].dropna())


@pytest.mark.parametrize(
    "texts",
    [
        ["1/2/2024", "3/4/2024"],  # of which month?
        ["2024-01-31", "soon"],
        ["2024-02-30"],
        ["2024-01-31", "31.01.2024"],
        ["31.01.24"],
        ["2024-01/31"],
        ["20240131"],
    ],
)
def test_what_may_be_another_date_or_none_is_none(texts):
    assert days_of(pd.Series(texts)) is None


def test_zones_are_those_of_utc():
    zoned = pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("Europe/Berlin"))
    (day,) = days_of(zoned)
    assert str(dates_of(np.array([day]))[0]) == "2019-12-31T23:00:00"


@pytest.mark.parametrize("value", ["1e308", "-1e308", "1e37", str(2**70), str(-(2**63)), "inf"])
def test_extreme_numbers_are_named_in_one_line(tmp_path, value):
    file = tmp_path / "t.csv"
    rows = "".join(f"{i},{i % 7},{'xy'[i % 2]}\n" for i in range(100))
    file.write_text(f"a,b,label\n1,{value},x\n{rows}")

    def named(call, rule):
        with pytest.raises(InputError, match=rule) as found:
            call()
        assert "\n" not in str(found.value)

    rule = "'b' must hold .*(numbers|finite).*, got"
    named(lambda: audit_synthetic("baynet", file, targets=1, shadows=4, tests=4), rule)
    named(lambda: audit_released(file, file), rule)
    if "e" not in value:
        named(lambda: read_table(file), rule + ".* in row 0")
    if abs(float(value)) > 1e36 or value == "inf":
        named(lambda: load_records(file), r"t\.csv: .*(at most|finite).* in row 0")
    assert "3" in read_table(file, categorical=["b"]).schema.columns[1].categories


def test_large_floats_are_no_whole_numbers():
    table = read_table(pd.DataFrame({"a": [1e20, 2e20]}))
    assert table.schema.columns[0].kind == "continuous"
    assert table.to_frame()["a"].tolist() == [1e20, 2e20]
