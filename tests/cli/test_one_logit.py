"""`--one-logit`: the same scores of attacks on single records, shared, resumed and read again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.runs.store import read_run
from tests.cli.test_main import one_line, run_inside
from tests.runs.sample import contents


@pytest.fixture
def asked(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 2)).round(3), columns=["a", "b"])
    frame["label"] = np.arange(80) % 4
    frame.to_csv(tmp_path / "t.csv", index=False)
    return ("classifier", "--data", tmp_path / "t.csv", "--shadows", 5, "--jobs", 1)


@pytest.mark.slow
@pytest.mark.torch
def test_a_run_of_logits_gives_the_same_scores(asked, tmp_path, capsys):
    pytest.importorskip("torch")
    asked = (*asked, "--model", "network")
    whole, one, shared = (tmp_path / name for name in ("whole", "one", "shared"))
    for out, options in ((whole, ()), (one, ("--one-logit",))):
        done = run_inside((*asked, *options, "--out", out, "--quiet"), capsys)
        assert (done.returncode, done.stderr) == (0, "")
    planned = (*asked, "--one-logit", "--out", shared, "--plan-only", "--quiet")
    assert run_inside(planned, capsys).stderr == ""
    for command in ("worker", "resume", "report"):
        done = run_inside((command, shared, "--quiet"), capsys)
        assert (done.returncode, done.stderr) == (0, "")
        if command != "worker":
            assert (shared / "report.json").read_bytes() == (one / "report.json").read_bytes()
    stored = "run/observations.zarr"
    assert contents(shared / stored) == contents(one / stored)
    records = [pd.read_parquet(out / "records.parquet") for out in (whole, one)]
    gone = set(records[0].columns) - set(records[1].columns)
    assert {name.split(":")[1] for name in gone} == {"distance (shared)", "frequency (shared)"}
    pd.testing.assert_frame_equal(records[0][records[1].columns], records[1], check_exact=True)
    assert read_run(one / "run").invocation["options"]["one_logit"] is True


def test_what_does_not_go_with_it_is_one_line(asked, tmp_path, capsys):
    out = ("--one-logit", "--out", tmp_path / "out")
    refused = "--one-logit does not go with --"
    for options, message in (
        (
            ("--model", "network", "--half-width", "0.1"),
            f"{refused}half-width",
        ),
        (("--model", "network", "--label-only"), f"{refused}label-only"),
        (("--model", "naive-bayes"), "naive_bayes answers with probabilities: leave it out"),
    ):
        one_line(run_inside((*asked, *options, *out), capsys), message)
    given = run_inside(("classifier", asked[2], *out), capsys)
    one_line(given, "--one-logit keeps a run: it goes with --model, not with TARGET")
