"""The command that audits what a causal language model can be made to write."""

import json

import pandas as pd
import pytest

from tests.cli.test_main import one_line, run_inside
from tests.language.tiny_models import made_texts, saved

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    place = tmp_path_factory.mktemp("extract")
    texts = made_texts(16, 4, least=9)
    for name, some in (("in", texts[:8]), ("out", texts[8:])):
        people = [f"{name}{row // 2}" for row in range(8)]
        frame = pd.DataFrame({"note": some, "who": people})
        frame.to_json(place / f"{name}.jsonl", orient="records", lines=True)
    models = saved(place / "a", "gpt2"), saved(place / "b", "gpt2", seed=1), saved(place / "m")
    return place, models


def asked(files, *more, target=0):
    place, models = files
    given = {
        "target": models[target],
        "reference": models[1],
        "members": place / "in.jsonl",
        "nonmembers": place / "out.jsonl",
        "text": "note",
        "group": "who",
    }
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return ["language", "extract", *options, *more]


def test_the_command_writes_a_report(files, tmp_path, capsys):
    more = ("--out", str(tmp_path), "--tries", "10", "--suffix", "4", "--edits", "1")
    done = run_inside(asked(files, *more, "--fail-above", "extracted.low=0.5"), capsys)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["kind"] == "extraction"
    assert found["asked"] == {"tries": 10, "chance": 0.5, "edits": 1}
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


def test_masked_models_are_refused_in_one_line(files, capsys):
    one_line(run_inside(asked(files, target=2), capsys), "got a masked one")
