"""A model's folder at a URL gives the report of the same folder here; code is never read there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privacygauge.errors import InputError
from privacygauge.runs.folder import Folder, copied_folder
from privacygauge.runs.store import read_run
from tests.cli.test_main import one_line, run_inside
from tests.language.tiny_models import made_texts, saved
from tests.runs.s3 import BUCKET, serving
from tests.runs.sample import contents

MEMORY = "memory://models"


def sent(folder: Path, root: str) -> None:
    for name, content in contents(folder).items():
        Folder(root).set(name, content)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two models of random weights and their texts."""
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("place")
    texts = made_texts(20, 2)
    for name, some in (("members", texts[:10]), ("nonmembers", texts[10:])):
        rows = "".join(json.dumps({"text": text}) + "\n" for text in some)
        (folder / f"{name}.jsonl").write_text(rows)
    saved(folder / "a")
    saved(folder / "b", seed=1)
    return folder


def asked(root, place, out):
    files = (
        x for name in ("members", "nonmembers") for x in (f"--{name}", place / f"{name}.jsonl")
    )
    models = ("--target", f"{root}/a", "--reference", f"{root}/b/")
    return ("language", *models, *files, "--masks", 2, "--out", out, "--quiet")


def reports_are_equal(root, place, tmp_path, capsys):
    reports = []
    for at, out in ((place, tmp_path / "here"), (root, tmp_path / "there")):
        done = run_inside(asked(at, place, out), capsys)
        assert (done.returncode, done.stderr) == (0, "")
        reports.append((out / "report.json").read_bytes())
    assert reports[0] == reports[1]
    options = read_run(tmp_path / "there" / "run").invocation["options"]
    assert (options["target"], options["reference"]) == (f"{root}/a", f"{root}/b/")
    assert run_inside(("resume", tmp_path / "there", "--quiet"), capsys).returncode == 0
    assert (tmp_path / "there" / "report.json").read_bytes() == reports[0]


@pytest.mark.slow
@pytest.mark.torch
def test_the_report_is_that_of_the_same_models_here(place, tmp_path, scratch, capsys):
    sent(place, MEMORY)
    reports_are_equal(MEMORY, place, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.torch
def test_models_lie_in_a_bucket(place, tmp_path, scratch, capsys, monkeypatch):
    for name, value in serving().items():
        monkeypatch.setenv(name, value)
    sent(place, f"s3://{BUCKET}/models")
    reports_are_equal(f"s3://{BUCKET}/models", place, tmp_path, capsys)
    gone = f"s3://{BUCKET}/nowhere"
    one_line(run_inside(asked(gone, place, tmp_path / "x"), capsys), f"{gone}/a does not exist")


def test_code_is_never_run_from_a_url(tmp_path, scratch, capsys):
    (tmp_path / "t.csv").write_text("a,label\n1,0\n2,1\n")
    for option in ("--model", "--fitted"):
        code = f"{MEMORY}/train.py:make"
        given = ("classifier", "--data", tmp_path / "t.csv", "--member", "a", option, code)
        more = ("--model", "logistic") if option == "--fitted" else ()
        message = (
            f"{MEMORY}/train.py:make is a URL, and code is run from files of this machine: copy"
        )
        one_line(run_inside((*given, *more, "--out", tmp_path / "out"), capsys), message)


def test_a_folder_is_copied_whole_or_refused(tmp_path):
    Folder(f"{MEMORY}/whole").set("config.json", b"{}")
    Folder(f"{MEMORY}/whole").set("inner/weights", b"1" * 100_000)
    found = copied_folder(f"{MEMORY}/whole/", tmp_path / "whole")
    assert contents(found) == {"config.json": b"{}", "inner/weights": b"1" * 100_000}
    with pytest.raises(InputError, match=f"{MEMORY}/none does not exist"):
        copied_folder(f"{MEMORY}/none", tmp_path / "none")
