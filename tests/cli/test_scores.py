"""`privacygauge scores`: its main job, its limits, and bad input in one line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from privacygauge.cli.main import app
from privacygauge.errors import InputError
from tests.scores.made import numbers


def run(*arguments: object):
    return CliRunner().invoke(app, ["scores", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target, shadows = numbers(0, n=200, effect=1.5, models=4)
    target["ward"] = np.arange(200) // 20
    pd.DataFrame(target).to_parquet("target.parquet")
    (tmp_path / "shadows").mkdir()
    for number, one in enumerate(shadows):
        pd.DataFrame(one).to_csv(tmp_path / "shadows" / f"{number}.csv", index=False)
    return tmp_path


def test_a_folder_of_shadow_models_and_a_limit(folder, undrawn):
    done = run(
        "target.parquet", "--shadow", "shadows", "--lower", "score", "--out", "out",
        "--fail-above", "auc.low=0.6",
    )  # fmt: skip
    assert done.exit_code == 3, done.output
    found = json.loads((folder / "out" / "report.json").read_text())
    assert found["kind"] == "scores"
    assert "shadow 3" in str(found["provenance"])
    frame = pd.read_parquet(folder / "out" / "records.parquet")
    assert list(frame["id"][:2]) == ["r0", "r1"]
    assert {"vulnerability", "risk", "score:score (global)"} <= set(frame)
    assert (folder / "out" / "roc.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere.csv",), "nowhere.csv"),
        (("target.parquet", "--score", "loss"), "no column 'loss'"),
        (("target.parquet", "--lower", "ward"), "must name scores"),
        (("target.parquet", "--lower", "score", "--higher", "score"), "lower and higher"),
        (("target.parquet", "--pool", "target.parquet"), "known non-members only"),
        (("target.parquet", "--risk", "none"), "--risk must be"),
        (("target.parquet", "--shadow", "empty"), "holds no file"),
    ],
)
def test_bad_input_ends_in_one_line(folder, arguments, told):
    (folder / "empty").mkdir()
    done = run(*arguments)
    assert isinstance(done.exception, InputError), done.output  # exit code 2
    assert told in str(done.exception)
    assert "\n" not in str(done.exception)
