"""Clusters on the command line: the folders of a run are the same byte for byte."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.runs.execute import backend
from tests.classifier.test_shadows import content
from tests.cli.test_main import COMMAND, privacygauge, run_inside
from tests.thorough import quarter

MODEL = """
from sklearn.naive_bayes import GaussianNB

def make(random_state):
    return GaussianNB()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cluster")
    (place / "mine.py").write_text(MODEL)
    rows = "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(60))
    (place / "data.csv").write_text("a,b,label\n" + rows)
    return place


OPTIONS = ("classifier", "--model", "mine.py:make", "--data", "data.csv", "--shadows", 5, "--quiet")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dask", "ray"])
def test_a_cluster_trains_the_same_bytes(name, folder, capsys, monkeypatch):
    pytest.importorskip({"dask": "distributed"}.get(name, name))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    command = (*OPTIONS, "--backend", name, "--jobs", 2, "--out", folder / name)
    done = privacygauge(*command, cwd=folder)
    assert done.returncode == 0, done.stderr
    alone = run_inside((*OPTIONS, "--jobs", 1, "--out", folder / "alone"), capsys)
    assert alone.returncode == 0, alone.stderr
    assert content(folder / name / "run") == content(folder / "alone" / "run")


@pytest.mark.parametrize("name", ["spark", "loky=here", ""])
def test_other_backends_are_refused(name):
    with pytest.raises(InputError, match=r"--backend must be loky, threading, dask\[=ADDRESS\]"):
        backend(name).__enter__()


SLOW_MODEL = """
import time

from sklearn.naive_bayes import GaussianNB


class Slow:
    def __init__(self, inner):
        self.inner = inner

    def fit(self, x, y):
        time.sleep(0.1)
        self.inner.fit(x, y)
        self.classes_ = self.inner.classes_
        return self

    def predict_proba(self, x):
        from beside import same

        return same(self.inner.predict_proba(x))


def make(random_state):
    return Slow(GaussianNB())
"""
OWN = ("classifier", "--model", "slow.py:make", "--data", "data.csv", "--shadows", "15", "--quiet")


@pytest.fixture(scope="module")
def own(folder):
    """A folder with code in two files, and the run that one process makes of it."""
    (folder / "slow.py").write_text(SLOW_MODEL)
    (folder / "beside.py").write_text("def same(x):\n    return x\n")
    done = privacygauge(*OWN, "--jobs", 1, "--out", "own", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


class DaskCluster:
    """A scheduler and two workers, each a process that stands in a folder of its own."""

    def __init__(self, place):
        self.place = place
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{found.getsockname()[1]}"
        self.processes = {}
        host, port = self.address.removeprefix("tcp://").split(":")
        self.start("scheduler", "scheduler", "--host", host, "--port", port)
        for name in ("one", "two"):
            self.start_worker(name)

    def start(self, name, *arguments):
        (self.place / name).mkdir(exist_ok=True)
        with (self.place / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments, "--no-dashboard"],
                cwd=self.place / name,
                stdout=log,
                stderr=log,
            )

    def start_worker(self, name):
        self.start(name, "worker", self.address, "--nthreads", "1", "--no-nanny")

    def end(self):
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait(20)


@pytest.fixture
def dask_cluster(tmp_path):
    pytest.importorskip("distributed")
    cluster = DaskCluster(tmp_path)
    yield cluster
    cluster.end()


def begun_on(cluster, own, out):
    return subprocess.Popen(
        [*COMMAND, *OWN, "--backend", f"dask={cluster.address}", "--out", str(out)],
        cwd=own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_tasks(out, process, n_tasks):
    place = out / "run" / "observations.zarr" / "digest" / "c"
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        if place.is_dir() and len(os.listdir(place)) >= n_tasks:
            return
        time.sleep(0.02)


@pytest.mark.slow
def test_workers_in_other_folders_run_code_of_ones_own(own, dask_cluster, tmp_path):
    process = begun_on(dask_cluster, own, tmp_path / "out")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert content(tmp_path / "out" / "run") == content(own / "own" / "run")


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(quarter(10)))
def test_a_worker_that_is_lost_is_survived(moment, own, dask_cluster, tmp_path):
    process = begun_on(dask_cluster, own, tmp_path / "out")
    wait_for_tasks(tmp_path / "out", process, np.random.default_rng(moment).integers(1, 12))
    dask_cluster.processes["one"].send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert content(tmp_path / "out" / "run") == content(own / "own" / "run")


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(quarter(10)))
def test_a_scheduler_that_is_lost_is_one_line_and_the_run_resumes(
    moment, own, dask_cluster, tmp_path
):
    process = begun_on(dask_cluster, own, tmp_path / "out")
    wait_for_tasks(tmp_path / "out", process, np.random.default_rng(moment).integers(1, 12))
    dask_cluster.processes["scheduler"].send_signal(signal.SIGKILL)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2, said
    (line,) = said.splitlines()
    assert "the Dask scheduler was lost: start it again, then privacygauge resume" in line
    for name in ("one", "two"):
        dask_cluster.processes[name].kill()
    again = ("resume", tmp_path / "out", "--model", own / "slow.py:make", "--jobs", 1, "--quiet")
    done = privacygauge(*again, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "out" / "run") == content(own / "own" / "run")


@pytest.mark.slow
def test_a_worker_with_another_version_is_one_line(own, dask_cluster, tmp_path):
    older = tmp_path / "site" / "scipy-0.9.dist-info"
    older.mkdir(parents=True)
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: scipy\nVersion: 0.9\n")
    dask_cluster.end()
    paths = os.pathsep.join([str(older.parent), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("PYTHONPATH", paths)
        other = DaskCluster(tmp_path)
    try:
        process = begun_on(other, own, tmp_path / "out")
        _, said = process.communicate(timeout=120)
    finally:
        other.end()
    assert process.returncode == 2
    (line,) = said.splitlines()
    assert "a worker has scipy 0.9, and here it is" in line
