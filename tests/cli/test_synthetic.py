"""`privacygauge synthetic`: the options and the JSON that others rely on; bad input is one line."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

from tests.cli.test_main import one_line, run_inside
from tests.tables.made_tables import frame_of

SMALL = ("--shadows", "16", "--tests", "12", "--size", "30", "--jobs", "1")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    frame = frame_of(np.random.default_rng(4), 300, 3, 2)
    frame.loc[[10, 20], "cat0"] = ["lone", "wolf"]
    frame["name"] = [f"person {i}" for i in range(300)]
    path = tmp_path_factory.mktemp("synthetic") / "people.csv"
    frame.to_csv(path, index=False)
    return path


def asked(table, *arguments):
    return ("synthetic", table, "--drop", "name", *SMALL, *arguments)


@pytest.mark.slow
def test_the_json_that_others_read(table, capsys):
    done = run_inside(
        asked(table, "--generator", "baynet", "--targets", "20,10", "--json", "-", "--quiet"),
        capsys,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["schema"], found["command"], found["seed"]) == ("privacygauge/2", "synthetic", 0)
    assert [target["row"] for target in found["targets"]] == [10, 20]
    names = [attack["name"] for attack in found["attacks"]]
    assert "query-based" in names
    for attack in found["attacks"]:
        assert set(attack["auc"]) == {"value", "low", "high", "level", "n", "method"}
    assert found["provenance"]["data"].startswith("people.csv sha256:")


@pytest.mark.slow
def test_files_names_and_going_on(table, capsys, tmp_path):
    out = tmp_path / "report"
    arguments = ("--generator", "independent", "--targets", "2", "--select", "distance,random")
    done = run_inside(
        ("synthetic", table, "--id", "name", *SMALL, *arguments, "--out", out, "--seed", "1"),
        capsys,
    )
    assert done.returncode == 0
    assert re.search(
        r"Making synthetic tables: \d+ fits, .* s each, 1 at a time: about", done.stderr
    )
    said = re.search(r"a record's AUC of 0.\d\d or more would be seen in 80% of such", done.stderr)
    first = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert said[0] in first["provenance"]["cost, as foreseen"]
    assert said[0] in (out / "report.html").read_text(encoding="utf-8").replace("&#39;", "'")
    assert set(first["groups"]) == {"distance", "random"}
    assert all(target["id"].startswith("person") for target in first["targets"])
    assert (out / "report.html").stat().st_size > 10_000
    assert len(pd.read_parquet(out / "records.parquet")) == len(first["targets"])
    # A part of both runs is lost; the same command, and resume, make it again.
    (out / "run/observations.zarr/digest/c/1/0").unlink()
    (out / "run/scores/observations.zarr/digest/c/0/0").unlink()
    refused = run_inside(("report", out), capsys)
    one_line(refused, "is not finished, 2 task(s) are missing")
    done = run_inside(("resume", out, "--jobs", "1", "--quiet"), capsys)
    assert done.returncode == 0
    again = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert first == again
    done = run_inside(("report", out, "--json", "-", "--quiet"), capsys)
    assert json.loads(done.stdout) == first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "code"), [("auc=0.9", 0), ("worst=0.0", 3), ("epsilon=5", 0), ("auc.low=0", 3)]
)
def test_a_pipeline_may_stop_a_release(table, capsys, limit, code):
    arguments = ("--generator", "silence", "--targets", "10,", "--json", "-", "--quiet")
    limited = (*arguments, "--fail-above", limit)
    done = run_inside(asked(table, *limited, "--tests", "300"), capsys)
    assert done.returncode == code
    assert ("above the limit" in done.stderr) == (code == 3)
    # So few tables cannot tell, and keep within no limit.
    few = run_inside(asked(table, *limited), capsys)
    assert few.returncode == 3
    assert "too few synthetic tables" in few.stderr


MINE = """
import pandas as pd

class Sampler:
    def fit(self, frame):
        self.frame = frame

    def sample(self, n, seed=0):
        return self.frame.sample(n, replace=True, random_state=seed)

def short(frame, n, seed):
    return frame.head(n - 3)
"""


@pytest.mark.slow
def test_generators_of_the_users_own(table, capsys, tmp_path):
    (tmp_path / "mine_of_a_user.py").write_text(MINE, encoding="utf-8")
    own = f"{tmp_path / 'mine_of_a_user.py'}"
    arguments = ("--targets", "10,", "--json", "-", "--quiet")
    done = run_inside(asked(table, "--generator", f"{own}:Sampler", *arguments), capsys)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["headline"]["auc"]["value"] > 0.6
    short = run_inside(asked(table, "--generator", f"{own}:short", *arguments), capsys)
    one_line(short, "generator 'short' must return as many records as it is asked for, 30, got 27")
    program = f"command: {sys.executable} -c 'import sys; sys.exit(3)'"
    one_line(run_inside(asked(table, "--generator", program, *arguments), capsys), "code 3")


@pytest.mark.slow
def test_a_value_in_place_of_membership(table, capsys, tmp_path):
    out = tmp_path / "report"
    given = asked(table, "--generator", "identity", "--attribute", "cat0", "--targets", "20,10")
    values = ("--values", "lone,wolf", "--fail-above", "recognition.low=0.3", "--out", out)
    done = run_inside((*given, *values), capsys)
    assert done.returncode == 3
    assert re.search(r"right guesses about a record of \d+% or more .* 80% of such", done.stderr)
    found = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert found["kind"] == "generator-attribute"
    assert [value["value"] for value in found["attribute"]["values"]] == ["lone", "wolf"]
    assert found["measures"]["accuracy"] > 0.9
    (out / "run/observations.zarr/digest/c/1/0").unlink()
    (out / "run/scores/observations.zarr/digest/c/0/0").unlink()
    assert run_inside(("resume", out, "--jobs", "1", "--quiet"), capsys).returncode == 0
    again = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert again == {**found, "limits": []}


@pytest.mark.slow
def test_a_generator_whose_fits_take_long(table, capsys, tmp_path):
    out = tmp_path / "report"
    given = ("synthetic", table, "--id", "name", "--generator", "identity", "--targets", "60")
    options = ("--fits", "2", "--jobs", "1", "--fail-above", "epsilon.low=0.5", "--out", out)
    done = run_inside((*given, *options), capsys)
    assert done.returncode == 3
    assert "60 canaries, fits: 2. A share of right guesses of" in done.stderr
    found = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert found["measures"]["accuracy"] > 0.7
    assert run_inside(("report", out, "--quiet"), capsys).returncode == 0
    again = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert again == {**found, "limits": []}


def test_a_released_table(table, capsys, tmp_path):
    frame = pd.read_csv(table)[["cat0", "num0"]]  # each column is a secret to guess
    real = frame.iloc[:150]
    others = frame.iloc[150:]
    real.to_csv(tmp_path / "real.csv", index=False)
    others.to_csv(tmp_path / "others.csv", index=False)
    real.sample(150, replace=True, random_state=0).to_csv(tmp_path / "made.csv", index=False)
    given = ("synthetic", tmp_path / "real.csv", "--synthetic", tmp_path / "made.csv")
    given = (*given, "--attempts", "30")
    out = tmp_path / "out"
    limits = ("--holdout", tmp_path / "others.csv", "--fail-above", "auc.low=0.55")
    done = run_inside((*given, *limits, "--out", out), capsys)
    assert done.returncode == 3, done.stderr
    assert "auc.low is" in done.stderr
    found = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert max(attack["auc"]["value"] for attack in found["attacks"]) > 0.7
    assert (out / "report.html").exists()
    unchecked = run_inside((*given, "--json", "-", "--quiet", "--fail-above", "auc=1"), capsys)
    assert unchecked.returncode == 3
    assert "was not computed" in unchecked.stderr
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    wrong = (*given[:3], tmp_path / "other.csv")
    one_line(run_inside(wrong, capsys), "synthetic")


@pytest.mark.slow
def test_a_leak_that_only_the_visits_of_people_show(capsys, tmp_path):
    """The released people are drawn again; their visits are those of the real people."""
    rng = np.random.default_rng(0)
    files = {}
    for name in ("real", "made", "others"):
        people = pd.DataFrame({"id": np.arange(80), "age": rng.integers(18, 90, 80)})
        visits = pd.DataFrame({"id": rng.integers(0, 80, 240), "cost": rng.gamma(2.0, size=240)})
        files[name] = people, files["real"][1] if name == "made" else visits
    for name, frames in files.items():
        for kind, frame in zip(("people", "visits"), frames, strict=True):
            frame.to_csv(tmp_path / f"{name}-{kind}.csv", index=False)

    def audited(*options):
        real, made, others = (tmp_path / f"{name}-people.csv" for name in files)
        given = ("synthetic", real, "--synthetic", made, "--holdout", others, "--attempts", "25")
        done = run_inside((*given, "--json", "-", "--quiet", *options), capsys)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    tables = ",".join(str(tmp_path / f"{name}-visits.csv") for name in files)
    found = audited("--related", tables, "--key", "id")
    assert found["verdict"]["grade"] == "large"
    variants = {risk["variant"] for risk in found["risk"]}
    assert {"cost mean", "rows"} <= variants
    assert {"copied part: the people's table", "copied part: related rows"} <= variants
    assert "related" in " ".join(found["provenance"])
    assert audited("--drop", "id")["verdict"]["grade"] != "large"


TWO_TABLES = """
def copied(tables, n, seed):
    people = tables["people"].sample(n, replace=True, random_state=seed)
    return {"people": people.assign(id=range(n)), "rows": tables["rows"].assign(id=0)}
"""


@pytest.mark.slow
def test_a_generator_of_people_and_their_visits(capsys, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"id": np.arange(100), "age": rng.integers(18, 90, 100)})
    visits = {"id": rng.integers(0, 100, 200), "cost": rng.gamma(2.0, size=200)}
    people.to_csv(tmp_path / "people.csv", index=False)
    pd.DataFrame(visits).to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "mine.py").write_text(TWO_TABLES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    given = ("synthetic", "people.csv", "--generator", "mine.py:copied", *SMALL, "--quiet")
    given = (*given, "--targets", "1", "--shadows", "4", "--tests", "4")
    related = ("--related", "visits.csv", "--key", "id")
    one_line(run_inside(given, capsys), "mine.py:copied learns from several tables")
    done = run_inside((*given, *related, "--out", "out"), capsys)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert "related" in " ".join(found["provenance"])
    # From another folder, and with other visits.
    monkeypatch.chdir(tmp_path.parent)
    again = ("report", tmp_path / "out", "--quiet")
    assert run_inside(again, capsys).returncode == 0
    visits["cost"][0] += 1
    pd.DataFrame(visits).to_csv(tmp_path / "visits.csv", index=False)
    code = ("--generator", tmp_path / "mine.py:copied")
    one_line(
        run_inside(("resume", tmp_path / "out", *code, "--quiet"), capsys), "holds another run"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either --generator"),
        (("--generator", "baynet", "--synthetic", "x.csv"), "give either --generator"),
        (("--generator", "baynet", "--holdout", "x.csv"), "--holdout goes with --synthetic"),
        (("--generator", "bayesnet"), "--generator must be one of baynet"),
        (("--generator", "privbayes"), "epsilon"),
        (("--generator", "baynet:degree=x"), "degree"),
        (("--generator", "nothing.py:f"), "does not exist"),
        (("--generator", "command:"), "command"),
        (("--generator", "baynet", "--targets", "few"), "--targets must be a number, all, or rows"),
        (("--generator", "baynet", "--targets", "300,"), "targets must lie in 0..299"),
        (("--generator", "baynet", "--select", "best"), "select must name some of"),
        (("--generator", "baynet", "--game", "solo"), "the game must be one of"),
        (("--generator", "baynet", "--knowledge", "exact"), "knowledge must be one of"),
        (("--generator", "baynet", "--size", "200"), "the game needs 200 records"),
        (("--generator", "baynet", "--fail-above", "pdtp=1"), "no metric 'pdtp'"),
        (("--generator", "baynet", "--id", "nobody"), "--id names 'nobody'"),
        (("--generator", "baynet", "--schema", "nope.json"), "nope.json"),
        (("--generator", "baynet", "--fits", "1"), "--fits goes without --tests"),
        (("--synthetic", "nope.csv", "--fits", "1"), "--fits goes without --tests"),
        (("--synthetic", "nope.csv", "--attribute", "cat0"), "--attribute goes with --generator"),
        (("--generator", "baynet", "--attribute", "none"), "attribute names 'none', which is not"),
        (("--generator", "baynet", "--attribute", "name"), "--attribute and --drop name the same"),
        (("--generator", "baynet", "--values", "a,b"), "--values are those of an attribute"),
        (
            ("--generator", "baynet", "--attribute", "cat0", "--fail-above", "auc=1"),
            "no metric 'auc'; there are accuracy, worst, advantage, recognition, epsilon",
        ),
        (("--synthetic", "nope.csv"), "nope.csv does not exist"),
        (("--synthetic", "a.csv", "--related", "b.csv,c.csv"), "--related and --key go together"),
        (("--synthetic", "a.csv", "--related", "b", "--key", "id"), "in this order, got 1"),
        (("--generator", "baynet", "--related", "b,c", "--key", "id"), "in this order, got 2"),
        (
            *(
                (
                    "--generator",
                    "baynet",
                    "--related",
                    "b",
                    "--key",
                    "id",
                    "--knowledge",
                    "synthetic",
                ),
            ),
            "--related goes with auxiliary or exact --knowledge",
        ),
    ],
)
def test_bad_input_is_one_line(table, capsys, arguments, message):
    given = ("synthetic", table, "--drop", "name", *SMALL[:4], "--json", "-")
    one_line(run_inside((*given, *arguments), capsys), message)


@pytest.mark.slow
def test_a_wrong_file_is_one_line(capsys, tmp_path):
    for name, content, message in (
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "line 3"),
        ("latin.csv", "a,b\n\xe9,2\n".encode("latin-1"), "latin.csv"),
        ("empty.csv", b"", "is empty"),
        ("lone.csv", b"a,b\n1,2\n", "n must be in 1..1"),
    ):
        (tmp_path / name).write_bytes(content)
        given = ("synthetic", tmp_path / name, "--generator", "baynet", "--json", "-")
        one_line(run_inside(given, capsys), message)
