"""Worst-case records from the command line, with trainers of the user's own that are fast."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pytest

from privacygauge.core import seeds
from privacygauge.runs.results import LIST
from privacygauge.runs.store import read_run
from tests.cli.test_defend_training import TRAINERS
from tests.cli.test_main import one_line, run_inside


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])
    frame["name"] = [f"somebody-{i}" for i in range(80)]
    frame["sick"] = np.array(["never", "yes"])[np.arange(80) % 2]
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "worst_case_trainers.py").write_text(TRAINERS)
    return folder


@pytest.fixture
def inside(place, monkeypatch, capsys):
    """Run `privacygauge worst-case` on the table in this process."""
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    return lambda *arguments: run_inside(arguments, capsys)


ASKED = (
    "worst-case", "--data", "t.csv", "--label", "sick", "--id", "name", "--model",
    "worst_case_trainers.py:mine", "--canaries", 8, "--ordinary", 24, "--models", 4, "--fpr",
    "0.2,0.1", "--jobs", 1,
)  # fmt: skip


@pytest.mark.slow
def test_the_document_on_the_standard_output_is_all_there_is(inside):
    more = ("--defence", "removal:0.1", "--fail-above", "auc=0", "--fail-above", "tpr=1")
    done = inside(*ASKED, *more, "--json", "-", "--quiet")
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("privacygauge: auc is ")
    assert len(done.stderr.splitlines()) == 1
    found = json.loads(done.stdout)
    assert found["command"] == "worst-case"
    assert [t["title"] for t in found["trainings"]] == [
        "no defence", "removal (the riskiest 10%)",
    ]  # fmt: skip
    assert list(found["trainings"][0]["targets"][0]["highest"]) == ["0.2", "0.1"]
    assert found["trainings"][0]["targets"][0]["n_targets"] == 8
    assert found["provenance"]["data"].startswith("t.csv sha256:")
    assert "somebody" not in done.stdout


@pytest.mark.slow
def test_a_report_is_written_that_other_commands_read(inside, tmp_path):
    out = tmp_path / "out"
    done = inside(*ASKED, "--wrong-label", "least-likely", "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("Training 4 models, ")
    names = sorted(path.name for path in out.iterdir())
    assert names == [LIST, "attacks.csv", "report.html", "report.json", "run", "trainings.csv"]
    for name in names:
        if name != "run":
            assert b"somebody" not in (out / name).read_bytes()
    assert "the least likely class" in (out / "report.json").read_text()
    listed = inside("register", f"model={out}", "--json", "-")
    assert listed.returncode == 0, listed.stderr
    assert json.loads(listed.stdout)["lines"][0]["kind"] == "worst case"
    card = inside("report", out, "--model-card")
    assert card.returncode == 0, card.stderr
    assert "membership-inference-tpr-left" in card.stdout


@pytest.mark.slow
def test_an_interruption_is_gone_on_with(inside, tmp_path, monkeypatch, capsys):
    more = ("--defence", "removal:0.1", "--wrong-label", "least-likely")
    whole = inside(*ASKED, *more, "--json", "-", "--quiet")
    assert whole.returncode == 0, whole.stderr
    out = tmp_path / "out"
    third = int(seeds.stream(0, "model", 2).integers(2**31))
    monkeypatch.setenv("STOP", str(third))
    with pytest.raises(KeyboardInterrupt):
        inside(*ASKED, *more, "--out", out)
    assert f"privacygauge: resume with: privacygauge resume {out}" in capsys.readouterr().err
    assert read_run(out / "run").n_done() == 2
    one_line(inside("report", out), "is not finished")
    monkeypatch.delenv("STOP")
    # From another folder: a run knows where its files are.
    model = f"{os.getcwd()}/worst_case_trainers.py:mine"
    os.chdir(tmp_path)
    one_line(inside("resume", out, "--jobs", 1), "name it again with --model")
    done = inside("resume", out, "--jobs", 1, "--model", model)
    assert done.returncode == 0, done.stderr
    assert "Training" not in done.stderr
    assert (out / "report.json").read_text() == whole.stdout
    again = inside("report", out, "--json", "-", "--fail-above", "tpr@0.1=0")
    assert again.returncode == 3
    assert {**json.loads(again.stdout), "limits": []} == json.loads(whole.stdout)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--defence", "noise"), "defence must be one of early-stopping:10, l2:0.01"),
        (("--defence", "label-only"), "label-only changes a model's answers and not its training"),
        (("--defence", "dp-sgd:0"), "epsilon must be finite and above 0, got 0"),
        (("--defence", "dp-sgd:1", "--delta", 2), "delta must be in (0, 1), got 2"),
        (("--defence", "l2:0.1"), "l2 changes how networks are trained, got a model of another"),
        (("--canaries", 0), "n_canaries and n_ordinary must be at least 1"),
        (("--ordinary", 80), "at most 80 together"),
        (("--models", 3), "n_models must be at least 4, got 3"),
        (("--wrong-label", "any"), "--wrong-label must be one of uniform, least-likely"),
        (("--fpr", "low"), "--fpr must be numbers, such as 0.1,0.01, got '0.2,0.1,low'"),
        (("--fpr", "1.5"), "fpr must be in (0, 1), got 1.5"),
        (("--fail-above", "accuracy=0.6"), "no metric 'accuracy'; there are tpr, tpr@0.1"),
        (("--records", 99), "--records must be in 4..80"),
        (("--level", 1), "level must be in (0, 1), got 1"),
        (("--label", "x"), "x"),
    ],
)
def test_bad_options_get_one_line_and_code_2(inside, more, message):
    one_line(inside(*ASKED, *more, "--json", "-"), message)
