"""The same plan gives the same bytes, whoever computes it, and whatever happens to the workers."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import joblib
import pytest

from tests.runs.sample import N_MODELS, contents, made

ROOT = Path(__file__).parents[2]
MORTAL = ["loky", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dask", "ray"))]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("undisturbed") / "run"
    made(path)
    return contents(path)


def script(path: Path, *options: object, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.runs.script", str(path), *map(str, options)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}", "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


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


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["dask", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_cluster_gives_the_same_bytes(
    backend: str, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    _need(backend)
    ended = script(tmp_path / "run", "--backend", backend, "--n-jobs", 2)
    assert ended.returncode == 0, ended.stderr
    assert contents(tmp_path / "run") == undisturbed
    # Every task was told as it finished; Ray may put some tasks into one message.
    assert f"(0, {N_MODELS}) ({N_MODELS}, {N_MODELS})" in ended.stdout
    assert int(ended.stdout.split("told ")[1].split()[0]) > 4


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "copies"), [("dask", 3), ("ray", 1)])
def test_data_is_not_sent_with_every_task(
    backend: str, copies: int, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    _need(backend)
    options = ("--backend", backend, "--n-jobs", 2, "--notes", tmp_path / "notes")
    ended = script(tmp_path / "run", *options)
    assert ended.returncode == 0, ended.stderr
    sent = [int(line.split()[1]) for line in (tmp_path / "notes").read_text().splitlines()]
    # There are nine tasks. Dask measures what it sends, and its workers pass it on.
    assert sum(sent) <= copies * 1_000_000
    assert contents(tmp_path / "run") == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("backend", MORTAL)
def test_a_killed_worker_is_replaced(
    backend: str, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    _need(backend)
    (tmp_path / "deaths").mkdir()
    options = ("--n-jobs", 2, "--deaths", tmp_path / "deaths", "--times", 2, "--seconds", 0.02)
    ended = script(tmp_path / "run", "--backend", backend, *options)
    assert ended.returncode == 0, ended.stderr
    assert len(list((tmp_path / "deaths").iterdir())) == 2
    assert contents(tmp_path / "run") == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("backend", MORTAL)
def test_workers_that_always_die_end_in_one_line(backend: str, tmp_path: Path) -> None:
    _need(backend)
    (tmp_path / "deaths").mkdir()
    options = ("--n-jobs", 2, "--deaths", tmp_path / "deaths", "--times", 10**6)
    ended = script(tmp_path / "run", "--backend", backend, *options)
    assert ended.returncode == 2, ended.stderr
    assert (
        "\nPrivacyGaugeError: workers died 3 times without finishing a task (out of memory?): "
        "start again with fewer workers or more memory; "
        f"the 0 models done in {tmp_path / 'run'} are kept"
    ) in ended.stdout


def _need(backend: str) -> None:
    module = {"dask": "distributed"}.get(backend, backend)
    if backend != "loky" and importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
