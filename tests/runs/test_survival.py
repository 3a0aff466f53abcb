"""After any damage and any death a run ends with the bytes of an undisturbed one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from privacygauge.errors import PrivacyGaugeError
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import Folder
from privacygauge.runs.plan import Task
from privacygauge.runs.store import Run, open_run
from tests.runs.sample import N_MODELS, Work, contents, made, plan, static
from tests.thorough import quarter, times

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("undisturbed") / "run"
    made(path)
    return path


def truncate(path: Path, rng: np.random.Generator) -> None:
    path.write_bytes(path.read_bytes()[: rng.integers(path.stat().st_size)])


def flip(path: Path, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    path.write_bytes(content)


def extend(path: Path, rng: np.random.Generator) -> None:
    path.write_bytes(path.read_bytes() + rng.bytes(5))


def replace(path: Path, rng: np.random.Generator) -> None:
    path.write_bytes(rng.bytes(path.stat().st_size))


def delete(path: Path, rng: np.random.Generator) -> None:
    path.unlink()


def delete_folder(path: Path, rng: np.random.Generator) -> None:
    shutil.rmtree(path.parent)


DAMAGES = (truncate, flip, extend, replace, delete)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(times(40)))
def test_random_damage_is_found_and_repaired(moment: int, whole: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(moment)
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    files = sorted(at for at in path.rglob("*") if at.is_file())
    for at in rng.choice(files, size=rng.integers(1, 8), replace=False):
        DAMAGES[rng.integers(len(DAMAGES))](at, rng)
    made(path)
    assert contents(path) == contents(whole)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [*DAMAGES, delete_folder])
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("run.json", 0),
        ("observations.zarr/zarr.json", 0),
        ("observations.zarr/prediction/zarr.json", 0),
        ("observations.zarr/digest/zarr.json", 0),
        ("observations.zarr/label/c/0", 0),
        ("observations.zarr/prediction/c/8/1/0", 1),
        ("observations.zarr/digest/c/2/0", 1),
    ],
)
def test_damage_to_each_kind_of_file(
    damage, name: str, found: int, whole: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    damage(path / name, np.random.default_rng(0))
    run = open_run(path, plan(), static())
    assert damage is delete_folder or len(run.missing()) == found
    complete(run, Work())
    assert contents(path) == contents(whole)


def test_swapped_chunks_are_found(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    a, b = (path / f"observations.zarr/correct/c/{number}/0" for number in (1, 4))
    content = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(content)
    assert [task.number for task in made_open(path).missing()] == [1, 4]


def made_open(path: Path):
    return open_run(path, plan(), static())


def test_only_what_is_missing_is_computed(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(whole, path)
    (path / "observations.zarr/prediction/c/8/1/0").unlink()
    (path / "observations.zarr/digest/c/2/0").unlink()
    computed: list[int] = []

    def counted(task: Task):
        computed.append(task.number)
        return Work()(task)

    told: list[tuple[int, int]] = []
    complete(made_open(path), counted, progress=lambda *now: told.append(now))
    assert computed == [2, 8]
    assert told == [(14, N_MODELS), (16, N_MODELS), (17, N_MODELS)]


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, SystemExit])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_the_work_raises_comes_through(
    error: type[BaseException], n_jobs: int, whole: Path, tmp_path: Path
) -> None:
    with pytest.raises(error):
        complete(made_open(tmp_path), Raising(error), n_jobs=n_jobs)
    made(tmp_path)
    assert contents(tmp_path) == contents(whole)


class Raising(Work):
    def __init__(self, error: type[BaseException]) -> None:
        super().__init__()
        object.__setattr__(self, "error", error)

    def __call__(self, task: Task):
        if task.number == 4:
            raise self.error
        return super().__call__(task)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interruption_of_the_parent_loses_nothing(
    n_jobs: int, whole: Path, tmp_path: Path
) -> None:
    def interrupted(done: int, total: int) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    run = made_open(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        complete(run, Work(), n_jobs=n_jobs, progress=interrupted)
    assert run.n_done() >= 6
    made(tmp_path)
    assert contents(tmp_path) == contents(whole)


def started(
    path: str | Path, *options: object, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.runs.script", str(path), *map(str, options)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
def test_killed_at_any_write(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for last in range(len(contents(whole))):
        path = tmp_path / str(last)
        left = [last]
        with monkeypatch.context() as patched:

            def stopped(*given, real=Folder.set, left=left):
                left[0] -= 1
                if left[0] < 0:
                    raise KeyboardInterrupt
                real(*given)

            patched.setattr(Folder, "set", stopped)
            with pytest.raises(KeyboardInterrupt):
                made(path)
        made(path)
        assert contents(path) == contents(whole)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(quarter(24)))
def test_killed_with_all_its_workers(moment: int, whole: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(moment)
    n_jobs = 1 + moment % 2
    path = tmp_path / "run"
    with started(path, "--n-jobs", n_jobs, "--seconds", 0.03) as process:
        time.sleep(rng.uniform(0, 0.6 if n_jobs == 1 else 1.5))
        os.killpg(process.pid, signal.SIGKILL)
    made(path)
    assert contents(path) == contents(whole)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(quarter(12)))
def test_a_worker_killed_at_a_random_moment(moment: int, whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    (tmp_path / "deaths").mkdir()
    after = np.random.default_rng(moment).uniform(0.001, 0.15)
    deaths = ("--deaths", tmp_path / "deaths", "--times", 2, "--after", after)
    with started(path, "--n-jobs", 2, "--seconds", 0.03, *deaths) as process:
        assert process.wait(60) == 0
    assert contents(path) == contents(whole)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_disk_that_becomes_full(n_jobs: int, whole: Path, tmp_path: Path) -> None:
    pytest.importorskip("resource")
    path = tmp_path / "run"
    made_open(path)
    with started(path, "--n-jobs", n_jobs, "--limit", 300) as process:
        assert process.stdout is not None
        said = process.stdout.read().splitlines()
        assert process.wait(60) == 2
    assert len(said) == 1
    assert said[0].startswith(f"OutputError: {path}/observations.zarr/prediction/c/")
    assert said[0].endswith(
        " cannot be written (the file would be larger than is allowed): make room or allow writing "
        "there, then start again; what is done is kept"
    )
    made(path)
    assert contents(path) == contents(whole)


@pytest.mark.slow
def test_workers_that_started_elsewhere_write_to_the_same_folder(tmp_path, monkeypatch):
    # Workers live on from one run to the next, in the folder that was current at first.
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        run = open_run("run", plan(), static())
        complete(run, Work(), n_jobs=2)
        assert run.path == str(tmp_path / name / "run")
        assert not run.missing()


def test_results_that_are_nowhere_to_be_seen_are_an_error(tmp_path, monkeypatch):
    run = open_run(tmp_path / "run", plan(), static())
    monkeypatch.setattr(Run, "write", lambda self, task, values: None)
    with pytest.raises(PrivacyGaugeError, match="all machines must see the same folder"):
        complete(run, Work())
