"""The command that audits what a causal language model can be made to write."""

import json

import pandas as pd
import pytest

from privacygauge.language import extraction
from tests.cli.test_main import one_line, run_inside
from tests.language.tiny_models import made_texts, read_once, saved

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module", autouse=True)
def _models_are_read_once():
    with read_once():
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("extract")
    texts = made_texts(16, 4, least=9)
    for name, some in (("in", texts[:8]), ("out", texts[8:])):
        people = [f"{name}{row // 2}" for row in range(8)]
        frame = pd.DataFrame({"note": some, "who": people})
        frame.to_json(place / f"{name}.jsonl", orient="records", lines=True)
    models = saved(place / "a", "gpt2"), saved(place / "b", "gpt2", seed=1), saved(place / "m")
    return place, (*models, saved(place / "n", seed=1))


def asked(files, *more, target=0, reference=1):
    place, models = files
    given = {
        "target": models[target],
        "reference": models[reference],
        "members": place / "in.jsonl",
        "nonmembers": place / "out.jsonl",
        "text": "note",
        "group": "who",
    }
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return ["language", "extract", *options, *more]


def test_the_command_writes_a_report(files, tmp_path, capsys):
    more = ("--out", str(tmp_path), "--tries", "10", "--suffix", "4", "--edits", "1")
    more += ("--unprompted", "2")
    done = run_inside(asked(files, *more, "--fail-above", "extracted.low=0.5"), capsys)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["kind"] == "extraction"
    assert found["asked"] == {"tries": 10, "chance": 0.5, "edits": 1, "unprompted": 2}
    assert found["how"]["suffix"] == 4
    assert (found["n_members"], found["n_others"]) == (4, 4)
    assert len(pd.read_parquet(tmp_path / "records.parquet")) == 16


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--top-k", "-1"), "top_k must be a whole number"),
        (("--chance", "1"), "chance must be in (0, 1), got 1"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(files, capsys, more, told):
    one_line(run_inside(asked(files, *more), capsys), told)


@pytest.mark.slow
def test_a_masked_model_fills_in_identifiers(files, tmp_path, capsys):
    texts = made_texts(30, 5, least=6, most=9)
    for name, some in (("in", texts[:15]), ("out", texts[15:])):
        notes = [f"{text.rstrip('.')} on 3 May 2021 at {name}" for text in some]
        frame = pd.DataFrame({"note": notes, "who": [f"{name}{row // 5}" for row in range(15)]})
        frame.to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    given = asked((tmp_path, files[1]), "--out", str(tmp_path / "out"), target=2, reference=3)
    done = run_inside((*given, "--fail-above", "extracted.low=0.5"), capsys)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (found["n_members"], found["n_others"]) == (3, 3)
    rows = pd.read_parquet(tmp_path / "out" / "records.parquet")
    assert rows["sample"].str.fullmatch(r"\S+ \[\d+:\d+\]").all()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "hidden alone in its text" in page
    assert "May 2021" not in page
    one_line(run_inside((*given, "--edits", "2"), capsys), "edits must be 0 for a masked model")


def test_models_of_two_kinds_are_refused_in_one_line(files, capsys):
    one_line(run_inside(asked(files, target=2), capsys), "got one of each kind")


@pytest.mark.slow
def test_a_finished_audit_is_written_again_and_asks_nobody(files, tmp_path, capsys, monkeypatch):
    given = asked(files, "--out", str(tmp_path / "out"), "--edits", "1", "--suffix", "4")
    assert run_inside((*given, "--quiet"), capsys).returncode == 0
    monkeypatch.setattr(extraction, "_score_batch", None)
    monkeypatch.setattr(extraction, "greedy", None)
    for verb in ("resume", "report"):
        again = (verb, tmp_path / "out", "--quiet", "--out", tmp_path / verb)
        assert run_inside(again, capsys).returncode == 0
        for name in ("report.json", "report.html", "records.parquet"):
            assert (tmp_path / verb / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    # What counts is decided when the answers are there.
    other = asked(files, "--out", str(tmp_path / "out"), "--edits", "1", "--suffix", "4")
    assert run_inside((*other, "--tries", "7", "--quiet"), capsys).returncode == 0
    one_line(run_inside((*given, "--top-k", "3"), capsys), "top_k is 40 there and 3 here")


def test_what_is_wrong_leaves_no_run_behind(files, tmp_path, capsys):
    out = tmp_path / "out"
    one_line(run_inside(asked(files, "--out", str(out), target=2), capsys), "one of each kind")
    assert not (out / "run").exists()


@pytest.mark.slow
def test_an_audit_that_was_stopped_goes_on(files, tmp_path, capsys, monkeypatch):
    _, models = files
    texts = made_texts(80, 8, least=9)
    for name, some in (("in", texts[:40]), ("out", texts[40:])):
        pd.DataFrame({"text": some}).to_json(
            tmp_path / f"{name}.jsonl", orient="records", lines=True
        )
    given = [
        "language", "extract", "--target", str(models[0]), "--reference", str(models[1]),
        "--members", str(tmp_path / "in.jsonl"), "--nonmembers", str(tmp_path / "out.jsonl"),
        "--edits", "1", "--quiet", "--out",
    ]  # fmt: skip
    stopped = tmp_path / "stopped"
    whole = tmp_path / "whole"
    assert run_inside([*given, whole], capsys).returncode == 0
    ask = extraction._score_batch
    n_asked = []

    def until_the_fourth(*batch):
        n_asked.append(batch)
        if len(n_asked) == 4:
            raise KeyboardInterrupt
        return ask(*batch)

    with monkeypatch.context() as patch:
        patch.setattr(extraction, "_score_batch", until_the_fourth)
        with pytest.raises(KeyboardInterrupt):
            run_inside([*given, stopped], capsys)
    assert [*stopped.glob("run/answers/*/observations.zarr/digest/c/*/0")]
    assert not (stopped / "report.json").exists()
    assert run_inside(["resume", stopped, "--quiet"], capsys).returncode == 0
    for name in ("report.json", "report.html", "records.parquet"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes()
