"""`privacygauge dp-audit`: its options, its JSON, its exit codes, one line for bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from privacygauge.cli.main import app, run
from privacygauge.errors import InputError
from privacygauge.runs.results import LIST


@pytest.fixture(scope="module")
def canaries(tmp_path_factory):
    rng = np.random.default_rng(0)
    member = rng.random(400) < 0.5
    path = tmp_path_factory.mktemp("canaries") / "canaries.npz"
    np.savez(path, score=rng.normal(size=400) + 3 * member, member=member)
    return path


def done(*arguments):
    return CliRunner().invoke(app, ["dp-audit", *map(str, arguments)])


@pytest.mark.slow
def test_the_json_that_others_read(canaries):
    result = done(canaries, "--epsilon", "1", "--delta", "1e-5", "--json", "-", "--seed", "1")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["schema"], found["command"]) == ("privacygauge/2", "dp-audit")
    assert found["claim"] == {"epsilon": 1.0, "delta": 1e-5, "accountant": None}
    assert found["verdict"]["grade"] == "refuted"
    assert [bound["name"] for bound in found["bounds"]] == ["one-run", "one-run-gaussian"]
    for bound in found["bounds"]:
        assert 1 < bound["epsilon"]["low"] <= bound["largest"]
        assert bound["refutes"]
    assert found["provenance"]["canaries"].startswith("canaries.npz sha256:")
    assert found["curve"]["descriptive"] is True


def test_many_runs_and_a_number_of_guesses(canaries):
    many = done(canaries, "--epsilon", "9", "--runs", "many", "--json", "-")
    assert json.loads(many.stdout)["design"] == "many-runs"
    fixed = done(canaries, "--epsilon", "9", "--guesses", "40,80", "--json", "-")
    assert [x["n_guesses"] for x in json.loads(fixed.stdout)["guesses"]] == [40, 80]
    numbers = {}
    for asked in ("all", "split", "auto"):
        found = done(canaries, "--epsilon", "9", "--guesses", asked, "--json", "-")
        numbers[asked] = json.loads(found.stdout)["guesses"]
    assert len(numbers["all"]) == 5
    assert len(numbers["split"]) == 1
    assert numbers["all"] == numbers["auto"]
    sequential = done(canaries, "--epsilon", "9", "--runs", "sequential", "--json", "-")
    assert json.loads(sequential.stdout)["design"] == "sequential"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("score,member\n,0\n,1\n", "column score is empty"),
        ("score,member\n1,0\nabc,1\n", "score must hold numbers, got 'abc' in row 1"),
        ("score,member\n1,no\n2,yes\n", "got 'no' in row 0"),
    ],
)
def test_empty_and_text_columns_give_one_line_and_2(text, message, tmp_path, monkeypatch, capsys):
    path = tmp_path / "a.csv"
    path.write_text(text)
    monkeypatch.setattr("sys.argv", ["privacygauge", "dp-audit", str(path), "--epsilon", "1"])
    assert run() == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1


def test_a_limit_that_is_exceeded_gives_3(canaries):
    limited = done(
        canaries, "--epsilon", "1", "--delta", "1e-5", "--json", "-", "--quiet",
        "--fail-above", "epsilon=1", "--fail-above", "epsilon-gaussian=100",
    )  # fmt: skip
    assert limited.exit_code == 3
    assert "epsilon is " in limited.stderr
    assert "above the limit of 1" in limited.stderr
    assert "gaussian" not in limited.stderr
    unknown = done(canaries, "--epsilon", "1", "--json", "-", "--fail-above", "epsilon-gaussian=1")
    assert unknown.exit_code == 3
    assert "epsilon-gaussian was not computed" in unknown.stderr


@pytest.mark.slow
def test_a_report_is_written_and_the_table_is_printed(canaries, tmp_path):
    result = done(canaries, "--epsilon", "1", "--out", tmp_path / "report")
    assert result.exit_code == 0
    assert "The claim is refuted" in result.stdout
    names = sorted(path.name for path in (tmp_path / "report").iterdir())
    assert names == [LIST, "curve.csv", "records.parquet", "report.html", "report.json"]
    assert "The claim is refuted" in (tmp_path / "report" / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "-1"), "epsilon must be at least 0 and finite, got -1.0"),
        (("--epsilon", "1", "--runs", "two"), "--runs must be one, many or sequential, got 'two'"),
        (
            ("--epsilon", "1", "--guesses", "few"),
            "--guesses must be auto, split, all or",
        ),
        (("--epsilon", "1", "--guesses", "0"), "n_guesses must be at least 1, got 0"),
        (("--epsilon", "1", "--guesses", "9", "--runs", "many"), "--guesses goes with --runs one"),
        (("--epsilon", "1", "--steps", "9"), "--steps goes with --runs many"),
        (("--epsilon", "1", "--sampling-rate", "0.5"), "--sampling-rate goes with --steps"),
        (("--epsilon", "1", "--fail-above", "auc=1"), "no metric 'auc'; there are epsilon"),
    ],
)
def test_bad_options_are_refused_in_one_line(canaries, options, message):
    result = done(canaries, *options, "--json", "-")
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_column_names_the_people_behind_canaries(tmp_path):
    rng = np.random.default_rng(0)
    member = np.repeat(rng.random(100) < 0.5, 3)
    path = tmp_path / "canaries.npz"
    np.savez(path, score=rng.normal(size=300), member=member, who=np.arange(300) // 3)
    found = json.loads(done(path, "--epsilon", 1, "--unit", "who", "--json", "-", "--quiet").stdout)
    assert found["n_in"] + found["n_out"] == 100
    refused = done(path, "--epsilon", 1, "--unit", "whose")
    assert isinstance(refused.exception, InputError)
