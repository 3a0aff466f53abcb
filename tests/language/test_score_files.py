"""Energies from files: three formats, one result."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from privacygauge.errors import InputError
from privacygauge.language.scores import (
    TextScores,
    as_text_scores,
    load_text_scores,
    write_energies,
)
from tests.language.made_scores import made_scores

HOSTILE = [
    "007",
    "7",
    "NA",
    "null",
    "1e5",
    "100000.0",
    'say "hi", twice',
    "=1+1",
    "<script>",
    "ü\u2028",
]


def frame_of(scores: TextScores) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sample": scores.sample,
            "group": scores.group,
            "energy_target": scores.energy_target,
            "energy_reference": scores.energy_reference,
            "length": scores.length,
            "member": scores.member.astype(int),
            "population": scores.population.astype(int),
            "something else": "the same for all",
        }
    )


@pytest.fixture(scope="module")
def frame():
    scores = made_scores(np.random.default_rng(0), patients=(5, 5, 5))
    frame = frame_of(scores)
    frame["sample"] = [*HOSTILE, *scores.sample[len(HOSTILE) :]]
    frame["group"] = [name.replace("p0-", "00") for name in scores.group]
    frame["text"] = [f"NA {name}\nsecond, line" for name in scores.sample]
    return frame


def write(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))
        data = lines.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def same(first: TextScores, second: TextScores) -> bool:
    names = ("sample", "group", "text", "notes")
    arrays = ("energy_target", "energy_reference", "length", "member", "population")
    return all(getattr(first, x) == getattr(second, x) for x in names) and all(
        np.array_equal(getattr(first, x), getattr(second, x)) for x in arrays
    )


@pytest.mark.parametrize("name", ["s.csv", "s.parquet", "s.jsonl", "s.ndjson", "s.jsonl.gz"])
def test_every_format_gives_the_same(frame, tmp_path, name):
    # CSV and JSON write doubles so that they read back to the digit.
    loaded = load_text_scores(write(frame, tmp_path / name))
    assert loaded.sample[: len(HOSTILE)] == tuple(HOSTILE)
    assert same(loaded, as_text_scores(frame))
    assert same(loaded, as_text_scores(frame.to_dict("list")))
    assert as_text_scores(loaded) is loaded


def test_only_what_is_needed(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("sample,energy_target,member\na,1.5,1\nb,2,0\n")
    scores = load_text_scores(path)
    assert (scores.energy_reference, scores.group, scores.length, scores.text) == (None,) * 4
    assert scores.population.tolist() == [False, False]


def test_ids_of_digits_keep_their_zeros(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("sample,energy_target,member,group\n007,1.5,1,00\n7,2,0,0\n")
    assert load_text_scores(path).sample == ("007", "7")
    assert load_text_scores(path).group == ("00", "0")


def test_a_byte_order_mark_and_windows_lines_are_no_error(tmp_path):
    path = tmp_path / "s.jsonl"
    rows = [{"sample": i, "energy_target": i, "member": i} for i in (0, 1)]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(map(json.dumps, rows)).encode())
    assert load_text_scores(path).sample == ("0", "1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="member"), "missing member; it has sample, group, .*"),
        (
            lambda f: f.drop(columns=["sample", "energy_target"]),
            "missing sample, energy_target; .*",
        ),
        (
            lambda f: f.assign(energy_target=np.nan),
            "energy_target must be finite, got nan in row 0",
        ),
        (
            lambda f: f.assign(energy_target="high"),
            "energy_target must hold numbers, got 'high' in row 0",
        ),
        (lambda f: f.assign(member="dev"), "member must say 1 or 0, .* got 'dev' in row 0"),
        (lambda f: f[:0], "there are no samples in it|is empty"),
        (lambda f: f.assign(member=3), r"member must be true or false .*, got 3.* in row 0"),
        (lambda f: f.assign(sample="x"), "sample must hold different ids, got 'x' twice .*"),
        (lambda f: f.assign(group=""), "group has no value in row 0: .*"),
        (lambda f: f.assign(length=1.5), "length must be integers, got 1.5 in row 0"),
        (lambda f: f.assign(population=1), "population must be 0 for members, .*"),
    ],
)
@pytest.mark.parametrize("name", ["s.csv", "s.parquet", "s.jsonl"])
def test_what_is_wrong_is_said_in_one_line(frame, tmp_path, change, message, name):
    path = write(change(frame), tmp_path / name)
    with pytest.raises(InputError, match=message) as caught:
        load_text_scores(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_gap_among_numbers(frame, tmp_path):
    gap = frame.astype({"energy_reference": object, "member": object})
    gap.loc[2, ["energy_reference", "member"]] = None
    for name in ("s.csv", "s.parquet", "s.jsonl"):
        path = write(gap.drop(columns="member").assign(member=frame.member), tmp_path / name)
        with pytest.raises(InputError, match="energy_reference must be finite, got nan in row 2"):
            load_text_scores(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"[1, 2]", "line 1 is not a JSON object, got list"),
        (b'{"sample": 1', r"line 1 is not a JSON object \(.*"),
        (b"[" * 100_000, r"line 1 is not a JSON object \(.*"),
        (b'{"sample": ' + b"9" * 5000 + b"}", r"line 1 is not a JSON object \(.*"),
        (b'{"sample": "\xe4"}', r"is not UTF-8 \(.*\): save it as UTF-8"),
        (b'{"sample": 1, "member": 1}\n{"sample": 2}', "line 2 has no member, unlike the first .*"),
        (b'{"sample": 1}\n{"sample": 2, "group": 3}', "line 2 has group besides, unlike the .*"),
        (
            b'{"sample": "\\ud800", "member": 1, "energy_target": 1}',
            r"line 1 holds \\ud800 alone, .*",
        ),
        (b'{"sample": {}, "member": 1, "energy_target": 1}', "sample must be texts or .* row 0"),
        (
            b'{"sample": 1, "member": 1, "energy_target": [1]}',
            r"energy_target must hold numbers, got \[1\] .*",
        ),
        (b'{"sample": 1, "member": 1, "energy_target": 1e999}', "energy_target must be finite, .*"),
        (b'{"sample": 1, "member": 1, "energy_target": 1' + b"0" * 400 + b"}", "energy_target .*"),
    ],
)
def test_damaged_lines(tmp_path, content, message):
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{message}$") as caught:
        load_text_scores(path)
    assert "\n" not in str(caught.value)


def test_other_files(tmp_path):
    latin = tmp_path / "s.csv"
    latin.write_bytes(b"sample,energy_target,member\n\xe4,1,1\nb,1,0\n")
    for path, message in (
        (latin, "is not UTF-8"),
        (tmp_path / "absent.jsonl", "does not exist"),
        (tmp_path / "absent.csv", "does not exist"),
        (tmp_path / "s.npz", r"must end in \.parquet, \.csv, \.tsv"),
    ):
        with pytest.raises(InputError, match=message):
            load_text_scores(path)
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        load_text_scores(tmp_path / "folder.jsonl")
    (tmp_path / "s.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(InputError, match="is damaged"):
        load_text_scores(tmp_path / "s.jsonl.gz")
    with pytest.raises(InputError, match=r"must be TextScores, a path, .*, got int"):
        as_text_scores(3)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_further_signals_are_columns(frame, tmp_path, name):
    own = np.random.default_rng(0).normal(size=len(frame))
    wide = frame.assign(**{"signal_min-k++": own, "signal_zlib": -own})
    write(wide, tmp_path / name)
    found = load_text_scores(tmp_path / name)
    assert list(found.further) == ["min-k++", "zlib"]
    assert found.further["min-k++"].tolist() == own.tolist()
    write_energies(found, tmp_path / "again.csv")
    again = load_text_scores(tmp_path / "again.csv")
    assert again.further["zlib"].tolist() == (-own).tolist()


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("signal_loss", 1.0, "a further signal must have a name of its own, got 'loss'"),
        ("signal_", 1.0, "a further signal must have a name of its own, got ''"),
        ("signal_own", "high", "signal_own must hold numbers, got 'high' in row 0"),
    ],
)
def test_a_column_that_is_no_signal(frame, tmp_path, column, values, told):
    write(frame.assign(**{column: values}), tmp_path / "a.csv")
    with pytest.raises(InputError, match=told):
        load_text_scores(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ("Y", "N"),
        ("yes", "no"),
        ("train", "test"),
        (" True", "False "),
        ("1.0", "0"),
        ("in", "out"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_members_may_be_written_in_words(tmp_path, inside, outside, ending):
    frame = pd.DataFrame(
        {
            "sample": ["a", "b", "c"],
            "energy_target": [1.0, 2.0, 3.0],
            "member": [inside, outside, inside],
        }
    )
    path = tmp_path / f"scores.{ending}"
    if ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        getattr(frame, f"to_{ending}")(path, index=False)
    assert load_text_scores(path).member.tolist() == [True, False, True]
