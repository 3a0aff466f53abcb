"""`privacygauge inspect`: its main job, its limits, and bad input in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privacygauge.cli.main import app

FILES = Path(__file__).parents[1] / "inspection" / "files"
TABLE = ("--data", str(FILES / "people.csv"), "--label", "sick")


def run(*arguments: object):
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def test_rows_in_a_file_are_counted_and_held_to_a_limit(tmp_path):
    done = run(
        FILES / "neighbours.skops", *TABLE, "--out", tmp_path, "--fail-above", "stored-rows=0"
    )
    assert done.exit_code == 3
    assert "stored-rows is 60" in done.stderr
    found = json.loads((tmp_path / "report.json").read_text())
    assert (found["kind"], found["verdict"]["severity"]) == ("inspection", "grave")
    assert found["measures"]["stored-rows"] == 60
    assert set(found["measures"]) == {
        "stored-rows", "stored-values", "smallest-group", "small-groups", "disclosed",
    }  # fmt: skip
    assert len(found["worst"]["ids"]) == 50
    assert (tmp_path / "records.parquet").is_file()


def test_a_model_without_rows_passes(tmp_path):
    done = run(FILES / "logistic.skops", *TABLE, "--json", "-", "--fail-above", "stored-rows=0")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["verdict"]["severity"] == "nothing found"


def test_an_untold_model_does_not_pass():
    done = run(FILES / "logistic.skops", "--json", "-", "--fail-above", "stored-rows=0")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["measures"]["stored-rows"] is None


def test_code_of_the_user_is_run_if_it_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inspected_model.py").write_text(
        "import pandas as pd\nfrom sklearn.tree import DecisionTreeClassifier\n"
        f"people = pd.read_csv({str(FILES / 'people.csv')!r})\n"
        "model = DecisionTreeClassifier().fit(people[['age', 'income']], people['sick'])\n"
    )
    done = run("inspected_model.py:model", *TABLE, "--refit", "--json", "-")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["measures"]["smallest-group"] == 1
    assert [x["smallest"] >= 10 for x in found["refits"]] == [False, True]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("nowhere.skops",), "nowhere.skops does not exist"),
        ((FILES / "tree.skops", "--label", "sick"), "--label goes with --data"),
        ((FILES / "tree.skops", "--refit"), "--refit goes with --data and --label"),
        ((FILES / "tree.skops", *TABLE[:2], "--label", "ill"), "no column 'ill'"),
        ((FILES / "people.csv",), "not in a format that is read here"),
        ((FILES, *TABLE), "is a directory"),
    ],
)
def test_bad_input_is_named_in_one_line(asked, told):
    done = run(*asked, "--json", "-")
    assert done.exception is not None
    assert told in str(done.exception)
    assert "\n" not in str(done.exception)
