"""`privacygauge vulnerable`: the options and the JSON others rely on; bad input is one line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import privacygauge as pg
from privacygauge.runs.results import LIST
from tests.cli.test_main import one_line, run_inside
from tests.tables.made_tables import frame_of


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    frame = frame_of(np.random.default_rng(2), 120, 4, 2)
    frame["sick"] = np.random.default_rng(3).integers(0, 2, 120)
    path = tmp_path_factory.mktemp("vulnerable") / "people.csv"
    frame.to_csv(path, index=False)
    return path, frame


def found_by(capsys, *arguments):
    done = run_inside(("vulnerable", *arguments, "--json", "-"), capsys)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_the_json_that_others_read(table, capsys):
    path, frame = table
    found = found_by(capsys, path, "-k", "5", "--top", "10")
    expected = pg.vulnerable_records(frame, k=5)
    assert (found["schema"], found["command"]) == ("privacygauge/2", "vulnerable")
    assert (found["n"], found["k"], found["distance"]) == (120, 5, "cosine")
    assert [entry["row"] for entry in found["top"]] == expected.top(10).tolist()
    assert [entry["score"] for entry in found["top"]] == pytest.approx(
        expected.scores[expected.top(10)], abs=1e-12
    )
    assert found["columns"]["sick"] == "integer"
    assert found["provenance"]["data"].startswith("people.csv sha256:")


def test_kinds_and_distances_can_be_chosen(table, capsys):
    path, frame = table
    named = ("--categorical", "sick,cat0", "--continuous", "num0,num1")
    found = found_by(capsys, path, *named, "--distance", "minkowski", "--p", "3", "--drop", "cat1")
    expected = pg.vulnerable_records(
        frame.drop(columns="cat1"), distance=pg.distances.Minkowski(3), categorical=["sick"]
    )
    assert (found["distance"], found["p"]) == ("minkowski", 3)
    assert found["columns"] == {
        **dict.fromkeys(["cat0", "cat2", "cat3"], "categorical"),
        **dict.fromkeys(["num0", "num1"], "continuous"),
        "sick": "categorical",
    }
    assert [entry["row"] for entry in found["top"]] == expected.top(10).tolist()


def test_the_files_of_a_report(table, capsys, tmp_path):
    path, _ = table
    out = tmp_path / "deep" / "out"
    done = run_inside(("vulnerable", path, "--top", "3", "--out", out), capsys)
    assert done.returncode == 0
    assert "120 records" in done.stdout
    assert str(out / "report.html") in done.stdout.replace("\n", "")
    assert sorted(p.name for p in out.iterdir()) == [
        LIST, "records.parquet", "report.html", "report.json",
    ]  # fmt: skip
    records = pd.read_parquet(out / "records.parquet")
    assert list(records) == ["row", "score", "rank"]
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    best = records.sort_values("rank").head(3)
    assert [entry["row"] for entry in report["top"]] == best["row"].tolist()
    assert report["worst"]["ids"] == [str(row) for row in best["row"]]
    quiet = run_inside(("vulnerable", path, "--json", tmp_path / "r.json", "--quiet"), capsys)
    assert (quiet.returncode, quiet.stdout) == (0, "")
    assert len(json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["top"]) == 10


@pytest.mark.slow
def test_a_schema_is_written_edited_and_read(table, capsys, tmp_path):
    path, frame = table
    file = tmp_path / "schema.json"
    run_inside(("vulnerable", path, "--categorical", "sick", "--write-schema", file), capsys)
    first = found_by(capsys, path, "--schema", file)
    assert first["columns"]["sick"] == "categorical"
    edited = json.loads(file.read_text(encoding="utf-8"))
    edited["columns"][-1] = {"name": "sick", "kind": "integer", "low": 0, "high": 0}
    file.write_text(json.dumps(edited), encoding="utf-8")
    row = int(np.flatnonzero(frame["sick"])[0])
    message = f"column 'sick' must be in [0, 0], the range of the schema, got 1.0 in row {row}"
    one_line(run_inside(("vulnerable", path, "--schema", file), capsys), message)


def test_a_reference_gives_the_ranges(table, capsys, tmp_path):
    path, frame = table
    part = tmp_path / "part.csv"
    frame[:40].to_csv(part, index=False)
    found = found_by(capsys, part, "--against", path)
    expected = pg.vulnerable_records(frame[:40], reference=frame)
    assert [entry["row"] for entry in found["top"]] == expected.top(10).tolist()
    assert (found["n"], found["n_reference"]) == (40, 120)
    assert found["provenance"]["reference"].startswith("people.csv sha256:")
    assert [e["score"] for e in found["top"]] != [e["score"] for e in found_by(capsys, part)["top"]]


@pytest.mark.parametrize(("value", "code"), [(0.0, 3), (9.0, 0)])
def test_a_table_may_be_held_to_a_limit(table, capsys, value, code):
    limit = f"--fail-above=vulnerability={value}"
    done = run_inside(("vulnerable", table[0], "--json", "-", limit), capsys)
    assert done.returncode == code
    assert done.stderr.startswith("privacygauge: vulnerability is 0.") == (code == 3)


def test_columns_of_names_are_pointed_out(tmp_path, capsys):
    path = tmp_path / "t.csv"
    pd.DataFrame({"[b]": ["x", "y", "z"], "a": [1, 1, 2]}).to_csv(path, index=False)
    done = run_inside(("vulnerable", path, "-k", "1"), capsys)
    assert "! column '[b]' has another value in every record" in done.stdout
    assert len(found_by(capsys, path, "-k", "2")["warnings"]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", "120"), "k must be in 1..119, the number of other records, got 120"),
        (("--fail-above", "auc=1"), "no metric 'auc'; there are vulnerability"),
        (("--write-schema", "/dev/null/schema.json"), "/dev/null"),
        (("--top", "0"), "--top must be at least 1, got 0"),
        (("--distance", "euclid"), "--distance must be cosine or minkowski, got 'euclid'"),
        (("--p", "2"), "--p 2 goes with --distance minkowski only"),
        (("--distance", "minkowski", "--p", "7"), "p must be 1, 2, 3 or 4, got 7"),
        (("--continuous", "cat0"), "column 'cat0' must hold finite numbers"),
        (("--drop", "x"), "drop names 'x', which is not a column"),
        (("--schema", "absent.json"), "absent.json does not exist"),
    ],
    ids=str,
)
def test_bad_input_gets_one_line_and_code_2(table, capsys, options, message):
    one_line(run_inside(("vulnerable", table[0], *options), capsys), message)


def test_a_file_that_is_not_there(capsys, tmp_path):
    one_line(run_inside(("vulnerable", tmp_path / "no.csv"), capsys), "no.csv does not exist")


def test_a_person_s_visits_are_no_neighbours(table, tmp_path, capsys):
    _, frame = table
    visits = pd.concat([frame.assign(who=np.arange(len(frame)))] * 3)
    visits.to_csv(tmp_path / "visits.csv", index=False)
    found = found_by(capsys, tmp_path / "visits.csv", "--unit", "who", "-k", "1", "--top", "5")
    expected = pg.vulnerable_records(frame, k=1)
    assert [x["row"] for x in found["top"]] == expected.top(5).tolist()
    assert found["mean_score"] == pytest.approx(expected.scores.mean())
    one_line(run_inside(("vulnerable", tmp_path / "visits.csv", "--unit", "x"), capsys), "--unit")
