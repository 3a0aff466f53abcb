"""`--plan-only`, `worker` and `resume`: what an audit finds does not depend on who did it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from privacygauge.classifiers.shadows import random_states
from privacygauge.cli.commands import RESUMABLE
from privacygauge.language.audit.command import NAME as LANGUAGE
from privacygauge.runs.store import Run, read_run
from tests.cli.test_main import one_line, run_inside
from tests.runs.sample import contents
from tests.thorough import only_thorough

MODELS = '''
"""A user's file."""

import os
import time
from pathlib import Path

from sklearn.tree import DecisionTreeClassifier


def tree(random_state):
    time.sleep(float(os.environ.get("PAUSE", "0")))
    if "TOGETHER" in os.environ:
        # No worker begins before the other has: on a busy machine one could do everything alone.
        here = Path(os.environ["TOGETHER"])
        (here / str(os.getpgid(0))).touch()
        while len(list(here.iterdir())) < 2:
            time.sleep(0.02)
    if "NOTED" in os.environ:
        with Path(os.environ["NOTED"]).open("a") as file:
            file.write(f"{os.getpid()} {os.getppid()} {random_state}\\n")
    return DecisionTreeClassifier(random_state=random_state)
'''
TREE = ("--model", "worker_models.py:tree")
ON_RECORDS = ("--data", "t.csv", "--label", "sick", "--jobs", 1)
ASKED = {
    "classifier": (*ON_RECORDS, *TREE, "--shadows", 7),
    "defend": (*ON_RECORDS, "--model", "naive-bayes", "--shadows", 3, "--defence", "label-only"),
    "worst-case": (
        *(*ON_RECORDS, "--model", "logistic", "--canaries", 8, "--ordinary", 24, "--models", 4),
        *("--fpr", "0.2,0.1"),
    ),
    "dtp": (*ON_RECORDS, "--model", "random-forest", "--measure", 2, "--vary", 2),
    "synthetic": (
        *("t.csv", "--generator", "independent", "--targets", "1", "--select", "random"),
        *("--shadows", 8, "--tests", 8, "--size", 20, "--jobs", 1),
    ),
    "holdout attack": (
        *("--labels", "labels.npy", "--queries", 30, "--attack", "nb,scan", "--trials", 2),
        *("--jobs", 1),
    ),
}
"""A small audit of every command that keeps a run."""

HASTY = """
from privacygauge.__main__ import main
from privacygauge.runs import store

store.BEAT, store.LAPSE, store.PAUSE = 0.1, float("{lapse}"), 0.05
main()
"""
"""The command line, with claims that lapse soon."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 2)).round(3), columns=["a", "b"])
    frame["sick"] = np.array(["no", "yes"])[np.arange(80) % 2]
    frame.to_csv(folder / "t.csv", index=False)
    np.save(folder / "labels.npy", rng.integers(0, 3, 90))
    (folder / "worker_models.py").write_text(MODELS)
    return folder


@pytest.fixture
def inside(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    return lambda *arguments: run_inside(arguments, capsys)


def test_every_command_that_keeps_a_run_is_tried():
    # Answers of language models lie in folders of their own.
    others = {name for name in RESUMABLE if not name.startswith((LANGUAGE, "unlearning"))}
    assert set(ASKED) == others


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKED)
def test_a_shared_run_gives_the_same_report(name, inside, tmp_path, monkeypatch):
    command = (*name.split(), *ASKED[name])
    again = TREE if TREE[1] in ASKED[name] else ()
    alone = tmp_path / "alone"
    shared = tmp_path / "shared"
    assert inside(*command, "--out", alone, "--quiet").returncode == 0
    # How long a generator's fits take, which is foretold unless it is quiet, is never the same.
    quiet = ("--quiet",) if name == "synthetic" else ()
    planned = inside(*command, "--out", shared, "--plan-only", *quiet)
    assert (planned.returncode, planned.stdout) == (0, "")
    told = f"as many processes as you like: privacygauge worker {shared}\n"
    assert planned.stderr.endswith("" if quiet else told)
    assert read_run(shared / "run").n_done() == 0
    one_line(inside("report", shared), "is not finished")
    for _ in range(2):
        worked = inside("worker", shared, "--jobs", 1, *again)
        assert worked.returncode == 0, worked.stderr
        assert worked.stderr.endswith(f"Write the report: privacygauge resume {shared}\n")
    assert [path.name for path in shared.iterdir()] == ["run"]

    def write(run, task, values):
        raise AssertionError("everything is done")

    monkeypatch.setattr(Run, "write", write)
    assert inside("resume", shared, "--jobs", 1, "--quiet", *again).returncode == 0
    assert contents(shared) == contents(alone)


def test_what_keeps_no_run_is_not_planned(inside, tmp_path):
    for more in (("--json", "-"), ("--model", "naive-bayes", "--out", tmp_path / "out")):
        done = inside("dtp", "--data", "t.csv", "--label", "sick", *more, "--plan-only")
        one_line(done, "--plan-only needs a run, and none is kept here")
    assert not contents(tmp_path)


def test_no_code_runs_that_is_not_named_again(inside, tmp_path, place):
    out = tmp_path / "out"
    ran = tmp_path / "ran"
    assert inside("classifier", *ASKED["classifier"], "--out", out, "--plan-only").returncode == 0
    source = place / "worker_models.py"
    before = (place / "worker_models.py").read_text()
    source.write_text(f"open({str(ran)!r}, 'w')\n{before}")
    try:
        one_line(inside("worker", out), "name it again with --model")
        one_line(inside("worker", out, *TREE), "was made with other code")
    finally:
        source.write_text(before)
    assert not ran.exists()
    one_line(inside("worker", tmp_path), "holds no run")


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "lapse"), [pytest.param(1, 15.0, marks=only_thorough), (2, 15.0)])
def test_two_workers_share_a_run_and_one_is_killed(jobs, lapse, inside, place, tmp_path):
    # A claim that lapses while its model is trained, on a busy machine, has it trained once more.
    alone = tmp_path / "alone"
    out = tmp_path / "out"
    noted = tmp_path / "noted"
    command = ("classifier", *ASKED["classifier"])
    assert inside(*command, "--out", alone, "--quiet").returncode == 0
    assert inside(*command, "--out", out, "--plan-only").returncode == 0
    texts = ["worker", str(out), "--jobs", str(jobs), *TREE]
    together = tmp_path / "together"
    together.mkdir()
    places = {"NOTED": str(noted), "TOGETHER": str(together)}
    environment = {**os.environ, "PAUSE": "0.4", **places}
    first, second = (
        subprocess.Popen(
            [sys.executable, "-c", HASTY.format(lapse=lapse), *texts],
            cwd=place,
            env=environment,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        for _ in range(2)
    )
    trained = {str(state) for state in random_states(0, 8)}

    def begun() -> list[list[str]]:
        """Return the process, its parent and the random state of every model of the run."""
        lines = noted.read_text().splitlines() if noted.exists() else []
        return [line.split() for line in lines if line.split()[-1] in trained]

    until = time.monotonic() + 60
    while not {str(first.pid), str(second.pid)} <= {x for line in begun() for x in line[:2]}:
        assert time.monotonic() < until
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    assert (first.wait(60), second.wait(60)) == (-signal.SIGKILL, 0)
    assert not read_run(out / "run").missing()
    models = [state for _, _, state in begun()]
    assert set(models) == trained
    assert len(models) <= 8 + jobs  # those that were under way, once more
    assert inside("resume", out, "--jobs", 1, "--quiet", *TREE).returncode == 0
    assert contents(out) == contents(alone)
