"""Clusters on the command line: the folders of a run are the same byte for byte."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.runs.execute import backend
from tests.classifiers.test_shadows import content
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


class Cluster:
    """A scheduler and two workers, each a process that stands in a folder of its own."""

    def __init__(self, place, **environment):
        self.place = place
        self.environment = {**os.environ, **environment}
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = str(found.getsockname()[1])
        self.processes = {}
        self.began()

    def start(self, name, *command):
        (self.place / name).mkdir(exist_ok=True)
        with (self.place / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=self.place / name,
                env=self.environment,
                stdout=log,
                stderr=log,
            )

    def end(self):
        import psutil

        found = [process.pid for process in self.processes.values()]
        for pid in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                found += [child.pid for child in psutil.Process(pid).children(recursive=True)]
        for pid in dict.fromkeys(found):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.processes.values():
            process.wait(20)


class DaskCluster(Cluster):
    lost = "the Dask scheduler was lost"

    def began(self):
        self.backend = f"dask=tcp://127.0.0.1:{self.port}"
        head = ("scheduler", "--host", "127.0.0.1", "--port", self.port)
        self.start("head", "dask", *head, "--no-dashboard")
        for name in ("one", "two"):
            address = self.backend.removeprefix("dask=")
            own = (address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
            self.start(name, "dask", "worker", *own)

    def kill(self, name, moment):
        self.processes[name].kill()


class RayCluster(Cluster):
    lost = "the Ray head was lost"

    def began(self):
        self.backend = f"ray=127.0.0.1:{self.port}"
        # Paths of sockets are short; nobody else on this machine may use the cluster.
        self.sockets = tempfile.mkdtemp(prefix="ray")
        self.environment |= {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_memory_monitor_refresh_ms": "0",
        }
        head = ("--head", "--port", self.port, "--num-cpus", "0", "--temp-dir", self.sockets)
        self.node("head", *head, "--include-dashboard", "false")
        for name in ("one", "two"):
            # One after the other: two that start at once on one machine wait for each other.
            self.node(name, "--address", f"127.0.0.1:{self.port}", "--num-cpus", "1")

    def node(self, name, *options):
        own = ("--block", "--node-ip-address", "127.0.0.1", "--object-store-memory", "100000000")
        self.start(name, "ray.scripts.scripts", "start", *options, *own)
        until = time.monotonic() + 120
        while "block forever" not in (self.place / f"{name}.log").read_text():
            assert time.monotonic() < until
            assert self.processes[name].poll() is None, (self.place / f"{name}.log").read_text()
            time.sleep(0.1)

    def kill(self, name, moment):
        """Kill a node, or, at every other moment, only what works there or knows the others."""
        import psutil

        part = "raylet" if moment % 2 else {"head": "gcs_server"}.get(name, "_do_as_ray")
        for process in psutil.Process(self.processes[name].pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                line = process.cmdline()
                if line and (line[0].endswith(f"/{part}") or part in line[0].split("::")):
                    process.kill()

    def end(self):
        super().end()
        shutil.rmtree(self.sockets, ignore_errors=True)


CLUSTERS = {"dask": DaskCluster, "ray": RayCluster}


@pytest.fixture
def cluster(request, tmp_path):
    pytest.importorskip({"dask": "distributed"}.get(request.param, request.param))
    found = CLUSTERS[request.param](tmp_path)
    yield found
    found.end()


on_both = pytest.mark.parametrize("cluster", CLUSTERS, indirect=True)
at_moments = pytest.mark.parametrize("moment", range(quarter(10)))


def begun_on(cluster, own, out):
    return subprocess.Popen(
        [*COMMAND, *OWN, "--backend", cluster.backend, "--out", str(out)],
        cwd=own,
        env=cluster.environment,
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
@on_both
def test_workers_in_other_folders_run_code_of_ones_own(own, cluster, tmp_path):
    process = begun_on(cluster, own, tmp_path / "out")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert not said
    assert content(tmp_path / "out" / "run") == content(own / "own" / "run")


@pytest.mark.slow
@on_both
@at_moments
def test_a_worker_that_is_lost_is_survived(moment, own, cluster, tmp_path):
    process = begun_on(cluster, own, tmp_path / "out")
    wait_for_tasks(tmp_path / "out", process, np.random.default_rng(moment).integers(1, 12))
    cluster.kill("one", moment)
    _, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert content(tmp_path / "out" / "run") == content(own / "own" / "run")


@pytest.mark.slow
@on_both
@at_moments
def test_a_scheduler_that_is_lost_is_one_line_and_the_run_resumes(moment, own, cluster, tmp_path):
    process = begun_on(cluster, own, tmp_path / "out")
    wait_for_tasks(tmp_path / "out", process, np.random.default_rng(moment).integers(0, 8))
    cluster.kill("head", moment)
    _, said = process.communicate(timeout=120)
    cluster.end()
    if process.returncode:
        assert process.returncode == 2, said
        (line,) = said.splitlines()
        assert f"{cluster.lost}: start it again, then privacygauge resume" in line
        again = ("resume", tmp_path / "out", "--model", own / "slow.py:make", "--jobs", 1)
        done = privacygauge(*again, "--quiet", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert content(tmp_path / "out" / "run") == content(own / "own" / "run")


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """A search path on which another version of this package says that it is installed."""
    site = tmp_path_factory.mktemp("site")
    (site / "privacygauge-0.0.1.dist-info").mkdir()
    (site / "privacygauge-0.0.1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: privacygauge\nVersion: 0.0.1\n"
    )
    return os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTERS)
def test_a_worker_with_another_version_is_one_line(name, own, older, tmp_path):
    pytest.importorskip({"dask": "distributed"}.get(name, name))
    cluster = CLUSTERS[name](tmp_path, PYTHONPATH=older)
    cluster.environment["PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    try:
        process = begun_on(cluster, own, tmp_path / "out")
        _, said = process.communicate(timeout=120)
    finally:
        cluster.end()
    assert process.returncode == 2
    (line,) = said.splitlines()
    assert "a worker has privacygauge 0.0.1, and here it is" in line


@pytest.mark.slow
@pytest.mark.parametrize("n_tasks", range(0, 12, 12 // quarter(12)))
def test_a_terminated_command_leaves_nothing_in_temporary_folders(n_tasks, own, tmp_path):
    """Its workers' shared memory, which joblib keeps in /dev/shm, among them."""
    aside = tmp_path / "tmp"
    aside.mkdir()
    environment = {**os.environ, "TMPDIR": str(aside)}
    command = [*COMMAND, *OWN, "--jobs", "2", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        command, cwd=own, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for_tasks(tmp_path / "out", process, n_tasks)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    *_, where, last = [line for line in said.splitlines() if line]
    assert where.startswith("privacygauge: resume with: ")
    assert last == "privacygauge: terminated: every file is whole or was not written"
    assert "resource_tracker" not in said

    def left():
        shared = Path("/dev/shm").glob(f"*{process.pid}*")
        return [*aside.iterdir(), *shared]

    until = time.monotonic() + 20  # workers are killed, and their tracker ends after them
    while left() and time.monotonic() < until:
        time.sleep(0.1)
    assert not left()
