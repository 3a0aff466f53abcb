"""Data at a URL gives the report of the same file here, or one line that names the URL."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privacygauge.classifiers.files import save_predictions
from privacygauge.cli.commands import COMMANDS
from privacygauge.errors import InputError
from privacygauge.runs.folder import Folder, url_of
from privacygauge.runs.store import read_run
from tests.classifiers.made import made_up
from tests.cli.test_main import one_line, run_inside
from tests.runs.s3 import BUCKET, serving
from tests.runs.sample import contents

MEMORY = "memory://inputs"
BAYES = ("--label", "sick", "--model", "naive-bayes", "--jobs", 1)
ASKED = {
    "npz": ("classifier", "{}/target.npz", "--shadow", "{}/shadow.npz"),
    "csv": ("dtp", "--data", "{}/t.csv", "--label", "sick"),
    "parquet": ("synthetic", "{}/t.parquet", "--synthetic", "{}/t.csv", "--attempts", 20),
    "jsonl": ("classifier", "{}/target.jsonl"),
    "npy": (
        *("holdout", "attack", "--labels", "{}/labels.npy", "--queries", 20, "--attack", "nb"),
        *("--trials", 2, "--jobs", 1),
    ),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder of files, which lie in memory too."""
    folder = tmp_path_factory.mktemp("here")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(5, size=80), "b": rng.integers(3, size=80)})
    frame["sick"] = np.array(["no", "yes"])[np.arange(80) % 2]
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    np.save(folder / "labels.npy", rng.integers(0, 3, 60))
    for name, seed in (("target", 1), ("shadow", 2)):
        save_predictions(made_up(leak=2.0, seed=seed), folder / f"{name}.npz")
    rows = [
        {"p_0": p, "p_1": 1 - p, "label": i % 2, "member": i % 3 == 0}
        for i, p in enumerate(rng.random(90).tolist())
    ]
    (folder / "target.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name, content in contents(folder).items():
        Folder(MEMORY).set(name, content)
    return folder


def at(root, name):
    return tuple(x.format(root) if isinstance(x, str) else x for x in ASKED[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_the_report_is_that_of_the_same_file_here(name, place, tmp_path, scratch, capsys):
    reports = []
    for root in (place, MEMORY):
        out = tmp_path / root.name if isinstance(root, Path) else tmp_path / "there"
        done = run_inside((*at(root, name), "--out", out, "--quiet"), capsys)
        assert (done.returncode, done.stderr) == (0, "")
        reports.append((out / "report.json").read_bytes())
    assert reports[0] == reports[1]
    assert b"sha256:" in reports[0]


@pytest.mark.slow
def test_a_run_keeps_the_url_and_is_resumed_from_it(place, tmp_path, scratch, capsys):
    out = tmp_path / "out"
    asked = ("classifier", "--data", f"{MEMORY}/t.csv", *BAYES, "--shadows", 3, "--out", out)
    assert run_inside((*asked, "--plan-only"), capsys).returncode == 0
    assert read_run(out / "run").invocation["options"]["data"] == f"{MEMORY}/t.csv"
    assert "urls" not in read_run(out / "run").invocation["options"]
    for command in ("worker", "resume"):
        assert run_inside((command, out, "--jobs", 1, "--quiet"), capsys).returncode == 0
    first = (out / "report.json").read_bytes()
    assert run_inside((*asked, "--quiet"), capsys).returncode == 0
    assert run_inside(("report", out, "--quiet"), capsys).returncode == 0
    assert (out / "report.json").read_bytes() == first
    Folder(MEMORY).set("t.csv", b"a,b,sick\n1,1,no\n2,2,yes\n3,3,no\n4,4,yes\n")
    try:
        one_line(run_inside(("resume", out, "--jobs", 1), capsys), "holds another run")
    finally:
        Folder(MEMORY).set("t.csv", (place / "t.csv").read_bytes())


def test_what_is_wrong_names_the_url(place, scratch, capsys, tmp_path):
    Folder(MEMORY).set("empty.csv", b"")
    for name, message in (
        ("none.csv", "/none.csv does not exist"),
        ("empty.csv", "/empty.csv is empty"),
        ("t.csv", "/t.csv has no column 'label'"),
        ("t.xlsx", "/t.xlsx is a URL, and files are read of this machine"),
        ("images", "/images is a URL, and files are read of this machine"),
    ):
        given = ("dtp", "--data", f"{MEMORY}/{name}", "--out", tmp_path / "out")
        one_line(run_inside(given, capsys), f"{MEMORY}{message}")


@pytest.mark.slow
def test_a_policy_at_a_url_holds(place, scratch, capsys, tmp_path):
    asked = (*at(place, "jsonl"), "--out", tmp_path / "out", "--quiet", "--policy")
    Folder(MEMORY).set("strict.toml", b"[classifier]\nauc = 0.1\n")
    assert run_inside((*asked, f"{MEMORY}/strict.toml"), capsys).returncode == 3
    Folder(MEMORY).set("other.toml", b"[dtp]\ndtp = 0.1\n")
    told = f"{MEMORY}/other.toml sets no limit for classifier"
    one_line(run_inside((*asked, f"{MEMORY}/other.toml"), capsys), told)
    one_line(run_inside((*asked, f"{MEMORY}/none.toml"), capsys), "/none.toml does not exist")


def test_a_request_does_not_ask_for_its_copies():
    for command in COMMANDS:
        assert "urls" not in {f.name for f, _ in command.request.asked()}


@pytest.mark.slow
def test_data_lie_in_a_bucket(place, tmp_path, scratch, capsys, monkeypatch):
    for name, value in serving().items():
        monkeypatch.setenv(name, value)
    root = f"s3://{BUCKET}/data"
    for name, content in contents(place).items():
        Folder(root).set(name, content)
    reports = []
    for at_root, out in ((root, tmp_path / "there"), (str(place), tmp_path / "here")):
        done = run_inside((*at(at_root, "npz"), "--out", out, "--quiet"), capsys)
        assert (done.returncode, done.stderr) == (0, "")
        reports.append((out / "report.json").read_bytes())
    assert reports[0] == reports[1]
    missing = ("classifier", f"{root}/none.npz", "--out", tmp_path / "no")
    one_line(run_inside(missing, capsys), f"{root}/none.npz does not exist")
    elsewhere = ("classifier", "s3://no-such-bucket/x.npz", "--out", tmp_path / "no")
    one_line(run_inside(elsewhere, capsys), "s3://no-such-bucket/x.npz ")


SECRET = "AKIAEXAMPLE:sec/ret+word"


@pytest.mark.parametrize(
    "arguments",
    [
        ("classifier", "{}/target.npz"),
        ("classifier", "t.npz", "--out", "{}/report"),
        ("classifier", "--data", "{}/t.csv", "--model", "logistic"),
        ("synthetic", "{}/t.csv", "--generator", "privbayes"),
        ("resume", "{}/run"),
        ("report", "{}/run", "--out", "again"),
        ("runs", "{}/run"),
        ("language", "--model", "{}/model"),
        ("dp-audit", "{}/canaries.csv", "--epsilon", 1),
        ("holdout", "log", "{}/history.csv", "--n", 100),
    ],
)
@pytest.mark.parametrize(
    "url",
    [
        f"s3://{SECRET}@bucket",
        "s3://AKIAEXAMPLE@bucket",
        "abfs://account:sec@container",
        "https://me:sec@host",
        "https://sec@host",
    ],
)
def test_no_secret_of_a_url_is_used_shown_or_kept(tmp_path, monkeypatch, capsys, url, arguments):
    monkeypatch.chdir(tmp_path)
    save_predictions(made_up(n=40), tmp_path / "t.npz")
    before = contents(tmp_path)
    done = run_inside([str(text).format(url) for text in arguments], capsys)
    said = done.stdout + done.stderr
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "sec" not in said.replace("secret", "").replace("SECRET", "")
    assert "AKIA" not in said
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "query",
    [
        *("aws_secret=sec", "X-Amz-Signature=sec", "sv=1&sig=sec", "a=1&access_token=sec"),
        *("apiKey=sec", "APIKEY=sec", "X-Goog-Credential=sec", "AWSAccessKeyId=sec", "pwd=sec"),
        *("key=sec", "a=1;token=sec", "a=1#access_token=sec", "%74oken=sec"),
    ],
)
def test_a_secret_in_a_query_is_refused_and_not_shown(query):
    with pytest.raises(InputError) as refused:
        url_of(f"https://host/t.csv?{query}")
    assert "sec" not in str(refused.value).replace("SECRET", "")
    assert url_of("https://host/t.csv?version=3") == "https://host/t.csv?version=3"


@pytest.mark.parametrize(
    "query", ["keyword=heart", "tokenizer=t5", "monkey=1", "keywords=a", "design=2", "version=3"]
)
def test_a_query_without_a_secret_is_taken(query):
    assert url_of(f"https://host/t.csv?{query}") == f"https://host/t.csv?{query}"


@pytest.mark.parametrize(
    "url", ["s3://bucket/a@b:c", "hdfs://me@host:9000/x", "abfs://container@account.dfs/x"]
)
def test_names_are_no_secrets(url):
    assert url_of(url) == url_of(Path(url)) == url
