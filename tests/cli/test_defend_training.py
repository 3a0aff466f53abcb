"""Defences at training from the command line, with trainers of the user's own that are fast."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privacygauge.claims.defence_audit import audit as defended_training
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.runs.results import LIST
from privacygauge.runs.store import read_run
from tests.cli.test_main import one_line, run_inside

TRAINERS = '''
"""A user's file."""

import os
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Trainer:
    name: str = "mine"
    logits: bool = True

    def describe(self):
        return {"model": "mine"}

    def train(self, cohort):
        if os.environ.get("STOP") == str(cohort.seeds[0]):
            raise KeyboardInterrupt
        found = np.empty(cohort.shape, np.float32)
        for values, rows, seed in zip(found, cohort.inside, cohort.seeds):
            values[:] = np.random.default_rng(seed).normal(size=values.shape)
            values[np.arange(len(cohort.asked)), cohort.y[cohort.asked]] += 3 * rows[cohort.asked]
        return found


mine = Trainer()
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    frame["name"] = [f"p{i}" for i in range(80)]
    frame["sick"] = np.array(["no", "yes"])[np.arange(80) % 2]
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "defended_trainers.py").write_text(TRAINERS)
    return folder


@pytest.fixture
def inside(place, monkeypatch, capsys):
    """Run `privacygauge defend` on the table in this process, with few attacks."""
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    few = (Threshold("confidence"), Threshold("correctness"))
    monkeypatch.setattr(defended_training, "training_attacks", lambda logits: few)
    return lambda *arguments: run_inside(arguments, capsys)


ASKED = (
    "defend", "--data", "t.csv", "--label", "sick", "--id", "name", "--model",
    "defended_trainers.py:mine", "--shadows", 3, "--jobs", 1,
)  # fmt: skip


@pytest.mark.slow
def test_a_report_is_written_with_the_run_beside_it(inside, tmp_path):
    done = inside(*ASKED, "--defence", "label-only,rounding:1", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Training 4 models, ")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [LIST, "attacks.csv", "defences.csv", "report.html", "report.json", "run"]
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert found["command"] == "defend"
    assert found["n_shadows"] == 3
    assert found["provenance"]["data"].startswith("t.csv sha256:")
    assert found["provenance"]["model"] == "mine"
    assert found["defences"][0]["worst"][0]["id"].startswith("p")


@pytest.mark.slow
def test_an_interruption_is_gone_on_with(inside, tmp_path, monkeypatch, capsys):
    whole = inside(*ASKED, "--defence", "label-only", "--json", "-", "--quiet")
    assert whole.returncode == 0, whole.stderr
    out = tmp_path / "out"
    from privacygauge.core import seeds

    third = int(seeds.stream(0, "model", 2).integers(2**31))
    monkeypatch.setenv("STOP", str(third))
    with pytest.raises(KeyboardInterrupt):
        inside(*ASKED, "--defence", "label-only", "--out", out)
    assert f"privacygauge: resume with: privacygauge resume {out}" in capsys.readouterr().err
    assert read_run(out / "run").n_done() == 2
    one_line(inside("report", out), "is not finished")
    monkeypatch.delenv("STOP")
    # From another folder: a run knows where its files are.
    model = f"{os.getcwd()}/defended_trainers.py:mine"
    os.chdir(tmp_path)
    one_line(inside("resume", out, "--jobs", 1), "name it again with --model")
    done = inside("resume", out, "--jobs", 1, "--model", model, "--quiet")
    assert done.returncode == 0, done.stderr
    assert (out / "report.json").read_text() == whole.stdout
    again = inside("report", out, "--json", "-", "--fail-above", "accuracy=0.6")
    assert again.returncode == 3
    assert {**json.loads(again.stdout), "limits": []} == json.loads(whole.stdout)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "at least one defence is needed, got none"),
        (("--defence", "noise"), "defence must be one of early-stopping:10, l2:0.01"),
        (("--defence", "dp-sgd:0"), "epsilon must be finite and above 0, got 0"),
        (("--defence", "dp-sgd:1", "--delta", 2), "delta must be in (0, 1), got 2"),
        (("--defence", "l2:0.1"), "l2 changes how networks are trained, got a model of another"),
        (("--defence", "label-only", "--records", 99), "--records must be in 4..80"),
        (("--defence", "label-only", "--shadows", 0), "n_shadows must be at least 1, got 0"),
        (("--defence", "label-only", "--shadow", "x.npz"), "give either files of predictions, or"),
        (("--defence", "label-only", "--label", "x"), "x"),
    ],
)
def test_bad_options_get_one_line_and_code_2(inside, more, message):
    one_line(inside(*ASKED, *more, "--json", "-", "--quiet"), message)


def test_predictions_are_not_trained(inside):
    needs = inside("defend", "--defence", "label-only")
    one_line(needs, "give TARGET and --shadow SHADOW, files of predictions, or --data FILE")
    for name in ("made.npz", "other.npz"):
        Path(name).touch()
    files = ("defend", "made.npz", "--shadow", "other.npz", "--defence", "dropout:0.5")
    one_line(inside(*files), "for predictions, got 'dropout:0.5': give --data, and models are")
