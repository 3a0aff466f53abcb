"""CSV files as programs in many countries write them: separators, decimal marks, dates."""

import datetime
import gzip
import itertools
import json
import tempfile
import tracemalloc
import uuid
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.classifiers.audit.predictions import audit_classifier
from privacygauge.classifiers.files import as_predictions, load_predictions, save_predictions
from privacygauge.classifiers.tables import load_categories, load_records
from privacygauge.datasets.canary_scores import as_canaries
from privacygauge.datasets.parsing import dates_of, days_of
from privacygauge.datasets.reading import ABSENT, SEPARATORS, csv_texts, read_content, separator_of
from privacygauge.errors import InputError
from privacygauge.language.scores import load_text_scores
from privacygauge.language.text_files import load_texts
from privacygauge.leaderboards.history.reading import read_history
from privacygauge.leaderboards.server.request_parsing import read_hidden
from privacygauge.tables.frames import read_beside, read_frame, read_table
from privacygauge.tables.generator_audit.audit import audit_synthetic
from privacygauge.tables.related import per_person
from privacygauge.tables.released_audit.audit import audit_released
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
    file = tmp_path / "t.csv"
    plain = tmp_path / "plain.csv"
    frame.to_csv(file, sep=separator, decimal=decimal, index=False)
    frame.to_csv(plain, index=False)
    expected = read_table(plain)
    for said in (None, separator):
        found = read_table(file, separator=said)
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


def test_tabs_separate_where_the_name_says_so(tmp_path):
    lines = "text\nhello, world\none, two\n"
    (tmp_path / "t.tsv").write_text(lines)
    (tmp_path / "t.TSV.gz").write_bytes(gzip.compress(lines.encode()))
    for name in ("t.tsv", "t.TSV.gz"):
        assert read_content(tmp_path / name, "text")["text"].tolist() == [
            "hello, world",
            "one, two",
        ]
        assert load_texts(tmp_path / name).text == ("hello, world", "one, two")
        assert separator_of(tmp_path / name, ";") == ";"


@pytest.mark.parametrize("seed", range(times(3)))
@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_packed_table_is_the_same(tmp_path, separator, seed):
    frame = people(seed)
    plain = tmp_path / "t.csv"
    frame.to_csv(plain, sep=separator, index=False, encoding="utf-8-sig")
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert separator_of(packed) == separator_of(plain) == separator
    pd.testing.assert_frame_equal(read_content(packed, "table"), read_content(plain, "table"))
    pd.testing.assert_frame_equal(csv_texts(packed, ["age"]), csv_texts(plain, ["age"]))
    one = read_table(packed)
    other = read_table(plain)
    assert one.schema == other.schema
    np.testing.assert_array_equal(one.values, other.values)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_files_as_excel_writes_them_are_the_same(tmp_path, separator, encoding, packed):
    frame = people(5)
    plain = tmp_path / "plain.csv"
    frame.to_csv(plain, index=False)
    lines = frame.to_csv(sep=separator, index=False, lineterminator="\r\n")
    # Excel's own line about the separator stands in files in UTF-8 alone.
    told = "" if encoding == "utf-16" else f"sep={separator}\r\n"
    content = (told + lines).encode(encoding)
    file = tmp_path / ("t.csv.gz" if packed else "t.csv")
    file.write_bytes(gzip.compress(content) if packed else content)
    pd.testing.assert_frame_equal(read_content(file, "table"), read_content(plain, "table"))
    pd.testing.assert_frame_equal(csv_texts(file, ["age"]), csv_texts(plain, ["age"]))
    np.testing.assert_array_equal(read_table(file).values, read_table(plain).values)


def test_half_a_character_of_utf_16_is_named(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes("a,b\n1,2\n".encode("utf-16") + b"\x00")
    with pytest.raises(InputError, match=r"is not UTF-16 \(.*\): save it as UTF-8"):
        read_content(file, "table")


@pytest.mark.parametrize("read", [read_table, load_records])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a,a,label\n1,2,x\n", "column 'a' occurs twice|two columns are named 'a'"),
        ("a,label\n1,2,x\n", "more values than the header|3 fields, but the header has 2"),
        ("é,label\n1,x\n", "not (in )?UTF-8"),
    ],
)
def test_what_is_refused_is_refused_packed(tmp_path, read, content, message):
    data = content.encode("latin-1")
    (tmp_path / "t.csv").write_bytes(data)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(data))
    for name in ("t.csv", "t.csv.gz"):
        with pytest.raises(InputError, match=message) as found:
            read(tmp_path / name)
        assert "\n" not in str(found.value)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,label\n" + b"1,x\n" * 99)[:-9])
    with pytest.raises(InputError, match="is damaged"):
        read(tmp_path / "t.csv.gz")


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


NAMES = ["007", "7", "1E1", "10E0", "None", "NA", "nan", "true"]
"""Of eight people; as numbers they would be five, or none."""
CLASSES = ["None", "NA", "well", "None", "NA", "well", "None", "well"]
LONG = 1_000_000
FORMATS = ("csv", "tsv", "csv.gz", "parquet", "jsonl")


def saved(columns: dict[str, object], folder, form: str):
    frame = pd.DataFrame(columns)
    path = folder / f"t.{form}"
    if form == "parquet":
        frame.to_parquet(path)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
    return path


ANSWERS = {"p_0": [0.9, 0.1] * 4, "p_1": [0.1, 0.9] * 4, "label": [0, 1] * 4}
ANSWERS["member"] = [0, 0, 1, 1] * 2


def of_predictions(folder, form):
    path = saved(ANSWERS | {"id": NAMES, "who": NAMES}, folder, form)
    found = as_predictions(path, unit="who")
    assert found.ids.tolist() == NAMES
    alike = as_predictions(saved(ANSWERS | {"unit": ["7", "07"] * 4}, folder, form))
    assert alike.units.tolist() == [0, 1] * 4
    return found.units


def of_records(folder, form):
    table = {"age": range(8), "label": ["a", "b"] * 4, "name": NAMES, "who": NAMES}
    path = saved(table, folder, form)
    for found in (load_records(path, ids="name", unit="who"), load_categories(path, ids="name")):
        assert found.ids.tolist() == NAMES
    return np.unique(load_records(path, unit="who").unit, return_inverse=True)[1]


def of_canaries(folder, form):
    path = saved(
        {"id": NAMES, "unit": NAMES, "score": range(8), "member": [0, 1] * 4}, folder, form
    )
    assert as_canaries(path).ids.tolist() == NAMES
    return as_canaries(path).unit


def of_scores(folder, form):
    columns = {"sample": NAMES, "group": NAMES, "energy_target": range(8), "member": [0, 1] * 4}
    found = load_text_scores(saved(columns, folder, form))
    assert found.sample == tuple(NAMES)
    return np.unique(found.group, return_inverse=True)[1]


def of_texts(folder, form):
    found = load_texts(saved({"id": NAMES, "patient": NAMES, "text": NAMES}, folder, form))
    assert found.sample == found.text == tuple(NAMES)
    return np.unique(found.group, return_inverse=True)[1]


def of_history(folder, form):
    path = saved({"time": range(8), "account": NAMES, "score": [0.5] * 8}, folder, form)
    return np.unique(read_history(path, n=100).accounts, return_inverse=True)[1]


def of_labels(folder, form):
    path = saved({"id": NAMES, "label": [0, 1] * 4}, folder, form)
    return np.unique(read_hidden(path).ids, return_inverse=True)[1]


def of_related(folder, form):
    people = read_frame(saved({"key": NAMES, "age": range(8)}, folder, form), names=("key",))
    visits = {"key": [NAMES[0], *NAMES], "cost": range(9)}
    rows = read_frame(saved(visits, folder, form), names=("key",))
    found, _ = per_person(people, rows, "key")
    assert found["rows"].tolist() == [2] + [1] * 7
    return np.unique(found["key"], return_inverse=True)[1]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "read",
    [
        *(of_predictions, of_records, of_canaries, of_scores, of_texts, of_history, of_labels),
        of_related,
    ],
)
def test_names_stay_as_they_stand(tmp_path, read, form):
    assert len(set(read(tmp_path, form).tolist())) == len(NAMES)


CODES = {
    "leading zeros": ["007", "7", "012", "7"] * 2,
    "one code": ["007"] * 8,
    "exponents": ["1E1", "10E0", "10", "2E3"] * 2,
    "beyond floats": ["1E400", "1E401"] * 4,
    "telephones": ["+491", "491"] * 4,
    "with NA": ["NA", "007", "7", "012"] * 2,
    "NA": ["NA"] * 8,
    "None": ["None"] * 8,
    "long": ["9007199254740992", "9007199254740993", "", "5"] * 2,
    "uuids": [str(uuid.UUID(int=7919 * i)) for i in range(8)],
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("values", CODES.values(), ids=CODES)
def test_codes_are_no_numbers_in_any_column(tmp_path, values, form):
    given = [value or None for value in values]
    there = {value for value in values if value}
    path = saved(ANSWERS | {"ward": given, "score": range(8)}, tmp_path, form)
    assert {*as_predictions(path).columns["ward"].tolist()} - {ABSENT} == there
    assert read_frame(path)["ward"].dropna().tolist() == [value for value in values if value]
    assert read_table(path).to_frame()["ward"].nunique() == len(there)
    if "" not in values:  # gaps are refused among features
        records = {"age": range(8), "ward": values, "label": ["a", "b"] * 4}
        found = load_records(saved(records, tmp_path, form))
        assert {*found.columns["ward"].tolist()} == there
    scores = {"sample": range(8), "energy_target": range(8), "member": [0, 1] * 4, "ward": given}
    texts = load_text_scores(saved(scores, tmp_path, form)).columns["ward"]
    assert {*texts.tolist()} - {"missing"} == there


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_whole_numbers_beyond_floats_stay_apart_beside_a_gap(tmp_path, form):
    numbers = [2**53, 2**53 + 1, None, 5]
    path = tmp_path / f"t.{form}"
    if form == "parquet":
        pq.write_table(pa.table({"a": pa.array(numbers, pa.int64())}), path)
    else:
        path.write_text("".join(json.dumps({"a": number}) + "\n" for number in numbers))
    assert read_content(path, "table")["a"].dropna().tolist() == [str(x) for x in numbers if x]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("one", "other"), [("007", "7"), ("1E1", "10E0"), ("+491", "491")])
def test_codes_name_classes(tmp_path, one, other, form):
    label = [one, other] * 4
    columns = {f"p_{one}": [0.9, 0.1] * 4, f"p_{other}": [0.1, 0.9] * 4, "member": [0, 0, 1, 1] * 2}
    found = as_predictions(saved(columns | {"label": label}, tmp_path, form))
    assert [found.classes[i] for i in found.labels] == label
    file = saved({"age": range(8), "label": label}, tmp_path, form)
    for records in (load_records(file), load_categories(file)):
        assert set(records.names) == {one, other}


USUAL = st.integers(-(10**6), 10**6).map(str)
CODE = st.from_regex(r"(0\d{1,4}|\+\d{1,4}|\d{1,3}E\d{1,3})", fullmatch=True)
WORD = st.sampled_from(["None", "NA", "nan", "null", "x", "2024-01-05", "12:30"])


@settings(max_examples=times(100), deadline=None)
@given(
    st.lists(USUAL, max_size=5),
    st.lists(CODE, min_size=1, max_size=5),
    st.lists(WORD, max_size=2),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_a_column_with_one_code_stays_as_written(numbers, codes, words, separator):
    values = [*numbers, *codes, *words]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        pd.DataFrame({"a": values, "b": 0.5}).to_csv(path, index=False, sep=separator)
        assert read_content(path, "table")["a"].tolist() == values


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("codes", [["007", "7", "01234"], ["1E1", "10E0", "5"], ["+49", "49", "1"]])
def test_codes_stay_as_written_in_every_encoding(tmp_path, codes, encoding):
    text = "ward\tage\r\n" + "".join(f"{code}\t{40 + i}\r\n" for i, code in enumerate(codes * 4))
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    (tmp_path / "t.tsv").write_bytes((mark + text).encode(encoding))
    assert read_content(tmp_path / "t.tsv", "table")["ward"].tolist() == codes * 4


@pytest.mark.parametrize("codes", [["01.1", "1.1", "2.5"], ["00.50", "0.50", "1.25"]])
def test_codes_with_a_point_and_a_leading_zero_stay_as_written(tmp_path, codes):
    (tmp_path / "t.csv").write_text("code,age\n" + "".join(f"{code},40\n" for code in codes * 4))
    assert read_content(tmp_path / "t.csv", "table")["code"].tolist() == codes * 4


@pytest.mark.parametrize("separator", [",", ";"])
def test_codes_of_a_column_that_is_not_asked_for_are_not_read(tmp_path, separator):
    table = pd.DataFrame({"ward": ["007", "7", "012"] * 4, "bed": ["01", "1", "2"] * 4, "age": 40})
    table.to_csv(tmp_path / "t.csv", index=False, sep=separator)
    found = read_content(tmp_path / "t.csv", "table", without=["ward"])
    assert found["ward"].isna().all()
    assert found["bed"].tolist() == table["bed"].tolist()


# What one parser takes for a row and the other does not.
@pytest.mark.parametrize("odd", [" ", "\t", '""', ""])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_codes_stand_in_their_rows_beside_blank_lines(tmp_path, odd, columns, end):
    rows = ["7", "8", odd, "9", "007", "", "5", odd, "6"]
    lines = ["code,n"[: 2 * columns + 2]] + [
        f"{row},{n}" if columns == 2 and row.isdigit() else row for n, row in enumerate(rows)
    ]
    (tmp_path / "t.csv").write_bytes(end.join(lines).encode())
    found = read_content(tmp_path / "t.csv", "table")
    codes = found["code"].dropna().tolist()
    assert [code for code in codes if code.strip()] == ["7", "8", "9", "007", "5", "6"]
    if columns == 2:
        there = found.dropna()
        assert there["n"].tolist() == [0, 1, 3, 4, 6, 8]
        assert there["code"].tolist() == codes


def test_a_note_with_quotes_and_lines_leaves_codes_in_their_rows(tmp_path):
    notes = ["a\nb", 'c"d', "e,f", "", '5" pipe', "g\r\nh"] * 5
    codes = [f"{n:03d}" for n in range(len(notes))]
    pd.DataFrame({"note": notes, "code": codes}).to_csv(tmp_path / "t.csv", index=False)
    assert read_content(tmp_path / "t.csv", "table")["code"].tolist() == codes


def test_a_rare_code_far_behind_the_first_rows_is_seen(tmp_path):
    values = [str(n) for n in range(1_000, 40_000)]
    values[-1] = "007"
    pd.DataFrame({"a": values, "b": 1}).to_csv(tmp_path / "t.csv", index=False)
    assert read_content(tmp_path / "t.csv", "table")["a"].tolist() == values


def german(value: int) -> str:
    return f"{value:,}".replace(",", ".")


@pytest.mark.parametrize("beside", ["a decimal comma", "nothing", "millions"])
@pytest.mark.parametrize("seed", range(times(5)))
def test_points_between_thousands_are_no_decimal_points(tmp_path, seed, beside):
    """Whoever writes 12.500 for twelve thousand writes 950 below one thousand."""
    rng = np.random.default_rng(seed)
    income = rng.gamma(2, 9000, 200).round().astype(int) + 5
    income[:3] = [950, 12_500, 7]
    if seed == 1 and beside == "a decimal comma":
        income += 1000  # no number without a point
    if beside == "millions":
        income[3] = 1_250_000
    rate = rng.gamma(2, 3, 200).round(2)
    rates = [f"{x}".replace(".", ",") for x in rate] if beside == "a decimal comma" else ["x"] * 200
    rows = [f"{german(x)};{y}" for x, y in zip(income, rates, strict=True)]
    (tmp_path / "t.csv").write_text("income;rate\n" + "\n".join(rows) + "\n")
    found = read_content(tmp_path / "t.csv", "table")
    assert found["income"].tolist() == income.tolist()
    if beside == "a decimal comma":
        assert found["rate"].tolist() == rate.tolist()


@pytest.mark.parametrize(
    "texts",
    [
        ["1.250", "2.375", "3.125"] * 20,  # three decimals, every one with a point
        ["12.5", "950", "1.019"] * 20,
        ["0.950", "12.500", "7"] * 20,
        ["12.500", "950", "7"],  # too few to tell
        ["1e308", "inf", "950"] * 20,
    ],
)
def test_decimal_points_stay_decimal_points_between_semicolons(tmp_path, texts):
    (tmp_path / "t.csv").write_text("a;b\n" + "".join(f"{text};x\n" for text in texts))
    found = read_content(tmp_path / "t.csv", "table")
    assert found["a"].tolist() == [float(text) for text in texts]


@pytest.mark.parametrize("zone", ["+01:00", "-05:30", "+0200", "Z", "+00"])
def test_times_with_a_zone_are_those_of_utc(zone):
    texts = pd.Series([f"2020-01-01 00:30:00{zone}", None, f"2020-07-01T12:00:00.5{zone}"])
    zoned = pd.to_datetime(texts, format="ISO8601", utc=True)
    np.testing.assert_allclose(days_of(texts), days_of(zoned), rtol=0, atol=1e-9)


@settings(max_examples=times(100), deadline=None)
@given(
    st.lists(
        st.one_of(USUAL, st.floats(allow_nan=False, allow_infinity=False).map(repr)), min_size=1
    )
)
def test_a_column_of_usual_numbers_is_numbers(values):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        pd.DataFrame({"a": values, "b": "x"}).to_csv(path, index=False)
        found = read_content(path, "table")["a"]
        assert found.dtype.kind in "if"
        assert np.allclose(found, [float(value) for value in values], rtol=1e-15)


@pytest.mark.parametrize("form", ["npz", "parquet", "csv", "jsonl"])
def test_names_are_saved_as_they_stand(tmp_path, form):
    given = as_predictions(saved(ANSWERS | {"id": NAMES, "region": CLASSES}, tmp_path, "csv"))
    save_predictions(given, tmp_path / f"again.{form}")
    found = as_predictions(tmp_path / f"again.{form}")
    assert found.ids.tolist() == NAMES
    assert found.columns["region"].tolist() == CLASSES
    notes = np.array(["x" * LONG, *["short"] * 99], object)
    rows = {"probs": np.full((100, 2), 0.5), "labels": [0, 1] * 50, "member": [0, 1] * 50}
    long = as_predictions(rows | {"note": notes})
    if form == "npz":
        with pytest.raises(InputError, match=r"would take .* in an \.npz file, .* in \.parquet"):
            save_predictions(long, tmp_path / "long.npz")
    else:
        save_predictions(long, tmp_path / f"long.{form}")


@pytest.mark.parametrize("form", FORMATS)
def test_classes_and_regions_may_be_called_none(tmp_path, form):
    p = [0.2, 0.5, 0.3]
    file = saved(ANSWERS | {"region": CLASSES}, tmp_path, form)
    assert as_predictions(file).columns["region"].tolist() == CLASSES
    columns = {
        f"p_{name}": [part] * 8 for name, part in zip(["None", "NA", "well"], p, strict=True)
    }
    found = as_predictions(
        saved(columns | {"label": CLASSES, "member": [0, 1] * 4}, tmp_path, form)
    )
    assert [found.classes[i] for i in found.labels] == CLASSES
    file = saved({"age": range(8), "region": CLASSES, "label": CLASSES}, tmp_path, form)
    for records in (load_records(file), load_categories(file)):
        assert records.names == ("NA", "None", "well")
    assert load_records(file).columns["region"].tolist() == CLASSES
    region = read_table(file).schema.columns[1]
    assert region.categories == ("NA", "None", "well")
    assert not region.missing


@pytest.mark.parametrize("form", FORMATS)
def test_words_for_a_missing_value_can_be_set(tmp_path, form):
    ages = ["-9", "20", "30", "40", "-9", "50", "60", "70"]
    table = {"name": ["-9", "?", *"cdefgh"], "job": ["?", "a", "b", "NA", "a", "b", "?", "a"]}
    path = saved(table | {"age": [int(age) for age in ages]}, tmp_path, form)
    found = read_frame(path, names=("name",), missing=("?", "-9"))
    assert found["name"].tolist() == table["name"]
    assert found["job"].isna().tolist() == [job == "?" for job in table["job"]]
    assert found["age"].isna().tolist() == [age == "-9" for age in ages]
    assert found["age"].dropna().tolist() == [20, 30, 40, 50, 60, 70]
    plain = read_frame(path, names=("name",))
    assert not plain["age"].isna().any()
    assert not plain["job"].isna().any()
    answers = saved(ANSWERS | {"region": table["job"]}, tmp_path, form)
    known = load_predictions(answers, missing=("?",)).columns["region"]
    assert known.tolist() == [ABSENT if job == "?" else job for job in table["job"]]
    people = saved(table | {"age": range(8), "label": [0, 1] * 4}, tmp_path, form)
    assert len(load_categories(people, ids="name", missing=("?",))) == 8
    with pytest.raises(InputError, match="2 values are missing in column 'job'"):
        load_records(people, ids="name", missing=("?",))


@pytest.mark.parametrize("form", FORMATS)
def test_a_missing_region_is_not_one_that_is_called_so(tmp_path, form):
    region = ["nan", None, "None", "north"] * 2
    found = as_predictions(saved(ANSWERS | {"region": region}, tmp_path, form))
    assert len(set(found.columns["region"].tolist())) == 4


def test_words_are_missing_values_among_numbers_and_dates(tmp_path):
    file = tmp_path / "t.csv"
    words = ["NA", "None", "nan", "", "null", "N/A", "2", "1e-05"]
    days = ["NA", "2024-01-31", "", "2024-02-29", "null", "2024-03-01", "None", "nan"]
    file.write_text(
        "\n".join(["x,day,code", *(f"{a},{b},C{a}" for a, b in zip(words, days, strict=True))])
    )
    found = read_table(file)
    assert [column.kind for column in found.schema.columns][:2] == ["continuous", "integer"]
    np.testing.assert_array_equal(found.values[:, 0], [np.nan] * 6 + [2, 1e-05])
    assert np.isnan(found.values[:, 1]).tolist() == [
        True,
        False,
        True,
        False,
        True,
        False,
        True,
        True,
    ]
    assert not np.isnan(found.values[:, 2]).any()
    beside = tmp_path / "b.csv"
    beside.write_text("x,day,code\nNA,NA,C2\n2,2024-01-31,C2\nnull,NA,\n")
    assert np.isnan(read_beside(beside, found.schema).values[:, 0]).tolist() == [True, False, True]
    file.write_text("x\n$5.00\nNA\n$7.50\n")
    np.testing.assert_array_equal(read_table(file).values[:, 0], [5, np.nan, 7.5])
    file.write_text("x;y\n1,5;a\nNA;b\n2,5;c\n")
    assert read_frame(file)["x"].tolist()[::2] == [1.5, 2.5]


def test_names_of_whole_numbers_are_numbers(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("id,unit\n 1,1\n22,2.0\n-3,3\n0,4\n")
    found = read_frame(file, names=("id", "unit"))
    assert found["id"].tolist() == [1, 22, -3, 0]
    assert found["unit"].tolist() == ["1", "2.0", "3", "4"]


BYTES = [uuid.uuid5(uuid.NAMESPACE_URL, str(i)).bytes for i in range(8)]
BINARY = {
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array(BYTES, pa.binary(16))),
    "of one width": pa.array(BYTES, pa.binary(16)),
    "of any width": pa.array(BYTES, pa.binary()),
    "large": pa.array(BYTES, pa.large_binary()),
}


@pytest.mark.parametrize("kind", BINARY)
def test_binary_uuids_are_texts(tmp_path, kind):
    file = tmp_path / "t.parquet"
    names = [str(uuid.UUID(bytes=x)) for x in BYTES]
    pq.write_table(pa.table(ANSWERS | {"id": BINARY[kind], "region": BINARY[kind]}), file)
    found = as_predictions(file)
    assert found.ids.tolist() == found.columns["region"].tolist() == names
    assert load_records(file, ids="id").ids.tolist() == names
    assert read_frame(file)["id"].tolist() == names
    pq.write_table(pa.table({"text": names, "id": BINARY[kind]}), file)
    assert load_texts(file).sample == tuple(names)


def test_bytes_are_the_texts_that_they_are(tmp_path):
    file = tmp_path / "t.parquet"
    texts = ["Zürich", "007", "None", "a\nb"]
    columns = {
        "text": pa.array([text.encode() for text in texts], pa.binary()),
        "hex": pa.array([b"\xff\x00", b"\x01", None, b""], pa.binary()),
        "number": pa.array([Decimal("1.50"), None, Decimal("2.25"), Decimal("3.00")]),
        "whole": pa.array([Decimal(1), Decimal(2), Decimal(3), Decimal(4)], pa.decimal128(38, 0)),
        "long": pa.array([Decimal(10**30 + i) for i in range(4)], pa.decimal128(38, 0)),
    }
    pq.write_table(pa.table(columns), file)
    found = read_frame(file)
    assert found["text"].tolist() == texts
    assert found["hex"].fillna("gone").tolist() == ["ff00", "01", "gone", ""]
    assert found["number"].fillna(0).tolist() == [1.5, 0, 2.25, 3]
    assert found["whole"].tolist() == [1, 2, 3, 4]
    assert found["long"].tolist() == [str(10**30 + i) for i in range(4)]


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}])
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_lists_are_no_names_and_no_features(tmp_path, form, value):
    file = saved({"x": range(8), "label": ["a", "b"] * 4, "v": [value] * 8}, tmp_path, form)
    for read in (load_records, load_categories):
        with pytest.raises(InputError, match="'v' must have one value in every row, got several"):
            read(file)
        assert len(read(file, drop=["v"])) == 8
    for name in ("id", "unit"):
        file = saved(ANSWERS | {"score": range(8), name: [value] * 8}, tmp_path, form)
        for read in (as_predictions, as_canaries):
            with pytest.raises(InputError, match=r"have one value in every row|the shape \(n,\)"):
                read(file)
    file = saved(ANSWERS | {"v": [[1, 2]] * 8, "w": range(8)}, tmp_path, form)
    found = as_predictions(file)
    assert list(found.columns) == ["w"]
    assert found.notes == (f"{file}: column v holds lists, and was left out",)


def test_half_a_character_is_refused_in_one_line(tmp_path):
    file = tmp_path / "t.jsonl"
    rows = [{"a": i, "text": f"x{i}"} for i in range(4)]
    for half in ({"text": "\udc00"}, {"a\ud800": 1}, {"a": ["\udfff"]}):
        file.write_text("\n".join(json.dumps(row) for row in [*rows, half]))
        for read in (as_predictions, load_records, read_frame, as_canaries, load_texts):
            with pytest.raises(InputError, match=r"line 5 holds \\ud\w+ alone, .* half of a char"):
                read(file)
    (listed := tmp_path / "t.json").write_text(json.dumps([{"text": "\udc00"}]))
    with pytest.raises(InputError, match=r"holds \\udc00 alone, .* half of a char"):
        load_texts(listed)
    rows[0]["text"] = "\U0001f600"  # two halves in JSON, one character
    file.write_text("\n".join(json.dumps(row) for row in rows))
    assert load_texts(file).text[0] == "\U0001f600"
    answers = {"probs": np.full((8, 2), 0.5), "labels": [0, 1] * 4, "member": [0, 1] * 4}
    for half in ({"ids": [*"abcdefg", "\ud800"]}, {"region": [*"abcdefg", "\ud800"]}):
        with pytest.raises(InputError, match="holds half of a character in row 7"):
            as_predictions(answers | half)


READERS = [as_predictions, load_records, load_categories, read_frame, as_canaries, load_texts]
READERS += [load_text_scores, read_history, read_hidden]


@pytest.mark.parametrize("read", READERS)
def test_what_occurs_twice_is_refused(tmp_path, read):
    file = tmp_path / "t.csv"
    file.write_text("a,text,a\n1,x,2\n")
    with pytest.raises(InputError, match=r"'a' occurs twice|two columns are named 'a'"):
        read(file)
    file = tmp_path / "t.jsonl"
    for row in ('{"a": 1, "a": 2}', '{"b": {"a": 1, "a": 2}}'):
        file.write_text(row)
        with pytest.raises(InputError, match="line 1 has the key 'a' twice"):
            read(file)
    if read is load_texts:
        (listed := tmp_path / "t.json").write_text('[{"text": "x", "a": 1, "a": 2}]')
        with pytest.raises(InputError, match="has the key 'a' twice"):
            read(listed)
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), file)
    with pytest.raises(InputError, match="'a' occurs twice"):
        read(file)


def peak(read, path) -> int:
    tracemalloc.start()
    try:
        read(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ROWS_OF = {
    "predictions": (as_predictions, {"p_0": [0.25] * 999, "p_1": [0.75] * 999, "label": [0] * 999}),
    "records": (load_records, {"x": range(999), "label": [0, 1, 0] * 333}),
    "categories": (load_categories, {"x": range(999), "label": [0, 1, 0] * 333}),
    "table": (read_table, {"x": range(999)}),
    "canaries": (as_canaries, {"score": range(999)}),
    "scores": (load_text_scores, {"sample": range(999), "energy_target": range(999)}),
    "history": (
        lambda path: read_history(path, n=100),
        {"time": range(999), "account": [*"abc"] * 333, "score": [0.5] * 999},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("kind", ROWS_OF)
def test_a_long_text_takes_its_own_room_alone(tmp_path, kind, form):
    read, columns = ROWS_OF[kind]
    columns = {"member": [0, 1, 1] * 333, **columns}
    usual = peak(read, saved(columns | {"note": ["short"] * 999}, tmp_path, form))
    found = peak(read, saved(columns | {"note": ["x" * LONG, *["short"] * 998]}, tmp_path, form))
    assert found < usual + 20 * LONG  # 999 times as much, were each row as wide as the longest


@pytest.mark.slow
def test_an_audit_makes_no_room_for_a_long_text_in_every_row(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1], 600)
    columns = {"p_0": p[:, 0], "p_1": p[:, 1], "label": rng.integers(0, 2, 600)}
    columns |= {"member": rng.integers(0, 2, 600), "id": range(600)}
    notes = ["short", "other"] * 300
    usual = peak(audit_classifier, saved(columns | {"note": notes}, tmp_path, "parquet"))
    notes[0] = "x" * LONG
    found = peak(audit_classifier, saved(columns | {"note": notes}, tmp_path, "parquet"))
    assert found < 1.2 * usual + 10 * LONG


@pytest.mark.parametrize(("member", "missing"), [(0, "put in"), (1, "left out")])
def test_canaries_of_one_kind_are_refused_by_the_kind_that_is_missing(tmp_path, member, missing):
    path = saved({"score": [0.1, 0.2, 0.3], "member": [member] * 3}, tmp_path, "csv")
    with pytest.raises(InputError, match=f"of both kinds are needed, got none that was {missing}$"):
        as_canaries(path)
