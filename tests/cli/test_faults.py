"""Disks that are full or read-only, folders of others, renames that fail, clocks that are wrong.

Each fault meets a command that has written a result into the folder already. The command ends in
one line with exit code 2 (a wrong clock changes nothing), the earlier result is whole, and the same
command succeeds as soon as the fault is gone.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privacygauge.classifiers.files import save_predictions
from tests.classifiers.made import made_up
from tests.cli.test_main import COMMAND, privacygauge
from tests.thorough import crossed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="mounts and users are those of POSIX"),
]

FAULTS = ("full", "read-only", "denied", "rename", "past", "future")
COMMANDS = {
    "predictions": ("classifier", "t.npz"),
    "training": (
        *("classifier", "--model", "naive-bayes", "--data", "people.csv", "--shadows", "8"),
        *("--jobs", "1"),
    ),
    "dtp": ("dtp", "--data", "people.csv", "--model", "naive-bayes", "--jobs", "1"),
    "vulnerable": ("vulnerable", "people.csv"),
    "released": ("synthetic", "people.csv", "--synthetic", "made.csv", "--holdout", "rest.csv"),
    "claim": ("dp-audit", "canaries.csv", "--epsilon", "1"),
    "bound": ("holdout", "bound", "--n", "100", "--classes", "2", "--queries", "9"),
    "energies": ("language", "--scores", "scores.csv"),
}

# What a new interpreter runs first, from the folder of that name on its path.
PATCHES = {
    "rename": """
import errno, os
def failing(*_, **__):
    raise OSError(errno.EIO, "Input/output error")
os.replace = os.rename = failing
""",
    "past": "import time\nnow = time.time\ntime.time = lambda: now() - 20 * 365 * 86_400\n",
    "future": "import time\nnow = time.time\ntime.time = lambda: now() + 70 * 365 * 86_400\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the inputs of all commands, which everybody may read."""
    folder = tmp_path_factory.mktemp("faults")
    rng = np.random.default_rng(0)
    save_predictions(made_up(n=200), folder / "t.npz")

    def people(n):
        age = rng.normal(50, 10, n).round(1)
        label = (age + rng.normal(0, 9, n) > 50).astype(int)
        return pd.DataFrame({"age": age, "height": rng.normal(170, 9, n).round(1), "label": label})

    for name in ("people", "made", "rest"):
        people(120).to_csv(folder / f"{name}.csv", index=False)
    member = rng.integers(0, 2, 200)
    canaries = pd.DataFrame({"score": rng.normal(size=200) + member, "member": member})
    canaries.to_csv(folder / "canaries.csv", index=False)
    scores = {"sample": [f"{i:03}" for i in range(200)], "energy_target": rng.exponential(size=200)}
    pd.DataFrame({**scores, "member": member}).to_csv(folder / "scores.csv", index=False)
    for name, patch in PATCHES.items():
        (folder / name).mkdir()
        (folder / name / "sitecustomize.py").write_text(patch)
    return folder


@pytest.fixture(scope="module")
def earlier(place):
    """Returns a command's result from before a fault; each command runs once for all faults."""

    @functools.cache
    def of(name):
        done = privacygauge(*COMMANDS[name], "--quiet", "--out", f"{name}-out", cwd=place)
        assert done.returncode == 0, done.stderr
        return place / f"{name}-out"

    return of


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mount a small file system in memory, or skip where that is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as after:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)], capture_output=True
        )
        if done.returncode:
            pytest.skip("file systems cannot be mounted here")
        after.callback(subprocess.run, ["umount", "-l", str(folder)], check=True)
        yield


def fill(folder: Path, left: int) -> None:
    """Fill a file system but for some bytes."""
    free = shutil.disk_usage(folder).free
    (folder / "filler").write_bytes(b"\0" * max(0, free - left))


def whole(out: Path) -> dict[str, bytes]:
    """Return the files of a result, each of which must be complete."""
    # The record of what was written holds old and new content for as long as both may be there.
    files = [path for path in out.iterdir() if path.is_file() and not path.name.startswith(".")]
    found = {path.name: path.read_bytes() for path in files}
    assert found["report.html"].rstrip().endswith(b"</html>")
    json.loads(found["report.json"])
    assert not [name for name in found if name.endswith((".tmp", ".partial"))]
    return found


def one_line(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize(("name", "fault"), crossed(tuple(COMMANDS), FAULTS))
def test_a_fault_is_one_line_and_nothing_is_lost(tmp_path, place, earlier, name, fault):
    around = tmp_path / "disk"
    out = around / "out"
    command = (*COMMANDS[name], "--quiet", "--out", out)
    seeded = () if name in ("vulnerable", "bound") else ("--seed", 1)
    with contextlib.ExitStack() as after:
        if fault in ("full", "read-only"):
            after.enter_context(mounted(around, "-o", "size=16m"))
        shutil.copytree(earlier(name), out)
        before = whole(out)
        if name == "training":
            shutil.rmtree(next(path for path in out.iterdir() if path.is_dir()))
        if fault == "full":
            fill(around, 4096)
        elif fault == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", str(around)], check=True)
        path = os.pathsep.join(
            [str(place / fault), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        )
        faulty = {**os.environ, "PYTHONPATH": path}
        arguments = [str(part) for part in (*command, *seeded)]
        run = [*COMMAND, *arguments]
        if fault == "denied":
            if os.geteuid() != 0 or shutil.which("setpriv") is None:
                pytest.skip("another user is needed")
            os.chmod(out, 0o755)
            run = ["setpriv", "--reuid", "65534", "--clear-groups", *run]
            for folder in tmp_path.parents:
                if os.access(folder, os.W_OK) and folder.stat().st_uid == os.geteuid():
                    os.chmod(folder, folder.stat().st_mode | 0o055)
            for folder in (tmp_path, around):
                os.chmod(folder, 0o755)
            for path in (place, *place.rglob("*")):
                os.chmod(path, 0o755)
        done = subprocess.run(
            run, capture_output=True, text=True, cwd=place, env=faulty, timeout=300, check=False
        )
        if fault in ("past", "future"):
            assert done.returncode == 0, done.stderr
            whole(out)
            return
        one_line(done)
        assert whole(out) == before
        if fault == "full":
            (around / "filler").unlink()
        elif fault == "read-only":
            subprocess.run(["mount", "-o", "remount,rw", str(around)], check=True)
        done = privacygauge(*command, *seeded, cwd=place)
        assert done.returncode == 0, done.stderr
        whole(out)


@pytest.mark.parametrize("name", ["training", "dtp"])
def test_two_processes_on_one_run_lose_nothing(tmp_path, place, name):
    out = tmp_path / "out"
    arguments = [*COMMAND, *COMMANDS[name], "--quiet", "--out", str(out)]
    both = [
        subprocess.Popen(arguments, cwd=place, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    errors = [process.communicate(timeout=300)[1] for process in both]
    codes = [process.returncode for process in both]
    assert 0 in codes, errors
    for code, error in zip(codes, errors, strict=True):
        assert code in (0, 2), error
        assert code == 0 or len(error.strip().splitlines()) == 1, error
    whole(out)
