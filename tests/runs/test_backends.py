"""The same plan gives the same bytes, whoever computes it, and whatever happens to the workers."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import joblib
import pytest

from tests.runs.sample import N_MODELS, contents, made

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("undisturbed") / "run"
    made(path)
    return contents(path)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_two_workers_give_the_same_bytes(
    backend: str, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    told: list[tuple[int, int]] = []
    with joblib.parallel_config(backend, n_jobs=2):
        made(tmp_path / "run", progress=lambda *now: told.append(now))
    assert contents(tmp_path / "run") == undisturbed
    assert told[0] == (0, N_MODELS)
    assert told[-1] == (N_MODELS, N_MODELS)
    assert told == sorted(told)
    assert len(told) == 10


def script(backend: str, *options: object) -> tuple[int, list[str], str]:
    """Return the exit code of a process on a backend, a line for each of its runs, and errors."""
    module = {"dask": "distributed"}.get(backend, backend)
    if backend != "loky" and importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    path, *more = map(str, options)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.runs.script",
            path,
            "--backend",
            backend,
            "--n-jobs=2",
            *more,
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = [x for x in done.stdout.splitlines() if x.startswith(("told ", "PrivacyGaugeError: "))]
    return done.returncode, said, done.stderr


@cache
def two_runs(backend: str, folder: Path) -> list[str]:
    """Return the lines of two runs on one cluster: some workers of the second are killed."""
    (folder / "deaths").mkdir(parents=True)
    second = ("--deaths", folder / "deaths", "--times", 2, "--seconds", 0.02)
    code, said, errors = script(
        *(backend, folder / "sent", "--notes", folder / "notes"),
        *("--then", folder / "replaced", *second),
    )
    assert code == 0, errors
    return said


@pytest.fixture
def on(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what was done on a backend, once: a cluster takes seconds to start."""
    folder = tmp_path_factory.getbasetemp() / f"on-{request.param}"
    (folder / "said").write_text("\n".join(two_runs(request.param, folder)))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("on", ["dask", "ray"], indirect=True)
def test_a_cluster_gives_the_same_bytes(on: Path, undisturbed: dict[str, bytes]) -> None:
    assert contents(on / "sent") == undisturbed
    # Every task was told as it finished; Ray may put some tasks into one message.
    said = (on / "said").read_text().splitlines()[0]
    assert f"(0, {N_MODELS}) ({N_MODELS}, {N_MODELS})" in said
    assert int(said.split()[1]) > 4


@pytest.mark.slow
@pytest.mark.parametrize(("on", "copies"), [("dask", 3), ("ray", 1)], indirect=["on"])
def test_data_is_not_sent_with_every_task(on: Path, copies: int) -> None:
    sent = [int(line.split()[1]) for line in (on / "notes").read_text().splitlines()]
    # There are nine tasks. Dask measures what it sends, and its workers pass it on.
    assert 0 < sum(sent) <= copies * 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("on", ["loky", "dask", "ray"], indirect=True)
def test_a_killed_worker_is_replaced(on: Path, undisturbed: dict[str, bytes]) -> None:
    assert len(list((on / "deaths").iterdir())) == 2
    assert contents(on / "replaced") == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "dask", "ray"])
def test_workers_that_always_die_end_in_one_line(backend: str, tmp_path: Path) -> None:
    (tmp_path / "deaths").mkdir()
    deaths = ("--deaths", tmp_path / "deaths", "--times", 10**6)
    code, said, errors = script(backend, tmp_path / "run", *deaths)
    assert code == 2, errors
    assert said == [
        "PrivacyGaugeError: workers died 3 times without finishing a task (out of memory?): "
        "start again with fewer workers or more memory; "
        f"the 0 models done in {tmp_path / 'run'} are kept"
    ]
