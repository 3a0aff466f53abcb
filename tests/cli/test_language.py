"""`privacygauge language`: the options and the JSON that others rely on, one line for bad input."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from privacygauge.runs.results import LIST
from tests.cli.test_main import one_line, run_inside
from tests.language.made_scores import made_scores, sized_scores

COLUMNS = ["sample", "group", "energy_target", "energy_reference", "member", "population"]


def frame_of(scores):
    return pd.DataFrame(
        {
            "sample": scores.sample,
            "group": scores.group,
            "energy_target": scores.energy_target,
            "energy_reference": scores.energy_reference,
            "member": scores.member.astype(int),
            "population": scores.population.astype(int),
        }
    )


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(2)
    return frame_of(made_scores(rng, patients=(30, 30, 30), sizes=(1, 6), leak=1.0))


@pytest.fixture(scope="module")
def file(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("language") / "energies.jsonl"
    made.to_json(path, orient="records", lines=True, double_precision=15)
    return path


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    path = tmp_path_factory.mktemp("shifted") / "energies.csv"
    rng = np.random.default_rng(2)
    frame_of(made_scores(rng, patients=(30, 30, 30), shift=1.0)).to_csv(path, index=False)
    return path


def report(done):
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_the_json_that_others_read(made, file, capsys):
    assert list(made.columns) == COLUMNS
    arguments = ("--threshold", "population", "--fpr", "0.1", "--json", "-")
    found = report(run_inside(("language", "--scores", file, *arguments), capsys))
    assert (found["schema"], found["command"], found["seed"]) == ("privacygauge/2", "language", 0)
    assert [(a["name"], a["variant"]) for a in found["attacks"]] == [
        ("likelihood-ratio", "population, FPR 10%"),
        ("loss", "population, FPR 10%"),
    ]
    member = made["member"] == 1
    apart = made["population"] == 1
    score = made["energy_reference"] - made["energy_target"]
    # The smallest value that at most a tenth of the population reaches.
    population = np.sort(score[apart])[::-1]
    cut = population[int(0.1 * len(population)) - 1]
    attack = found["attacks"][0]
    assert attack["true_positives"] == (score[member] >= cut).sum()
    assert attack["false_positives"] == (score[~member & ~apart] >= cut).sum()
    assert found["thresholds"][0]["asked_fpr"] == 0.1
    assert found["controls"]["honest"] is True
    assert found["patients"]["n_in"] == 30
    assert found["provenance"]["scores"].startswith("energies.jsonl sha256:")


@pytest.mark.slow
def test_files_of_all_kinds_give_the_same(made, file, capsys, tmp_path):
    made.to_csv(tmp_path / "energies.csv", index=False)
    made.to_parquet(tmp_path / "energies.parquet")
    found = []
    for path in (file, tmp_path / "energies.csv", tmp_path / "energies.parquet"):
        told = report(run_inside(("language", "--scores", path, "--json", "-"), capsys))
        del told["provenance"]
        found.append(json.dumps(told["attacks"][0]["auc"]))
    assert len(set(found)) == 1


def test_the_report_is_written_and_printed(shifted, capsys, tmp_path):
    out = tmp_path / "out"
    done = run_inside(("language", "--scores", shifted, "--out", out), capsys)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("The test is not honest")
    assert f"Report: {out / 'report.html'}" in done.stdout
    names = sorted(path.name for path in out.iterdir())
    assert names == [LIST, "records.parquet", "report.html", "report.json", "roc.csv"]
    frame = pd.read_parquet(out / "records.parquet")
    assert list(frame.columns)[:6] == [
        "sample", "group", "energy_target", "energy_reference", "score", "member",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "code"),
    [("auc=0.99", 0), ("auc=0.6", 3), ("patient-auc.low=0.6", 3), ("epsilon=9", 0)],
)
def test_a_pipeline_may_stop_a_release(file, capsys, limit, code):
    given = ("language", "--scores", file, "--json", "-", "--fail-above", limit)
    done = run_inside(given, capsys)
    assert done.returncode == code
    assert ("above the limit" in done.stderr) == (code == 3)


def test_no_limit_holds_where_the_test_is_not_honest(shifted, capsys):
    given = ("language", "--scores", shifted, "--json", "-", "--fail-above", "auc=1")
    done = run_inside(given, capsys)
    assert done.returncode == 3
    assert "The test is not honest (fired: reference" in done.stderr
    assert "no limit can be checked" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_limits_are_checked_where_only_the_numbers_of_texts_differ(tmp_path, capsys):
    path = tmp_path / "unequal.csv"
    unequal = sized_scores(np.random.default_rng(0), (2, 20, 5), patients=(450, 450, 40))
    frame_of(unequal).to_csv(path, index=False)
    given = ("language", "--scores", path, "--json", "-", "--fail-above", "auc=0.99")
    done = run_inside(given, capsys)
    assert done.returncode == 0
    assert report(done)["controls"]["fired"] == ["sizes"]


def test_a_limit_on_patients_needs_patients(made, capsys, tmp_path):
    path = tmp_path / "bare.csv"
    made.drop(columns="group").to_csv(path, index=False)
    given = ("language", "--scores", path, "--json", "-", "--fail-above", "patient-auc=1")
    done = run_inside(given, capsys)
    assert done.returncode == 3
    assert "patient-auc was not computed" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--threshold", "best"), "threshold must be some of population, oracle, mean-train"),
        (("--fpr", "few"), "--fpr must be rates such as 0.1 or 0.1,0.01, got 'few'"),
        (("--fpr", "0"), "fpr must be in (0, 1), got 0.0"),
        (("--fpr", "nan"), "fpr must be in (0, 1), got nan"),
        (("--level", "2"), "level must be in (0, 1), got 2.0"),
        (("--show", "text"), "show must name columns that there are"),
        (("--fail-above", "risk=1"), "no metric 'risk'"),
        (("--seed", "-3"), "seed must be an integer of at least 0"),
    ],
)
def test_bad_options_are_one_line(file, capsys, arguments, message):
    one_line(run_inside(("language", "--scores", file, *arguments, "--json", "-"), capsys), message)


GOOD = "sample,energy_target,member\n1,2.0,1\n2,2.5,0\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("few.csv", GOOD, "at least two samples among the members"),
        ("empty.csv", "", "is empty"),
        ("nan.csv", GOOD.replace("2.5", ""), "energy_target must be finite, got nan in row 1"),
        ("member.csv", GOOD.replace("2.5,0", "2.5,2"), "member must be true or false"),
        ("column.csv", GOOD.replace("energy_target", "energy"), "missing energy_target"),
        ("text.jsonl", '{"sample": 1,\n', "line 1 is not a JSON object"),
        ("scores.txt", GOOD, "must end in .parquet, .csv, .tsv, .csv.gz"),
    ],
)
def test_a_wrong_file_is_one_line(capsys, tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    one_line(run_inside(("language", "--scores", path, "--json", "-"), capsys), message)


def test_a_file_is_needed(capsys, tmp_path):
    one_line(run_inside(("language",), capsys), "--scores")
    absent = ("language", "--scores", tmp_path / "absent.csv", "--json", "-")
    one_line(run_inside(absent, capsys), "does not exist")
