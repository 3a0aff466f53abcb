"""Processes that share a run do every task once, and leave the bytes of one that was alone."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from privacygauge.errors import OutputError
from privacygauge.runs import store
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import Task
from privacygauge.runs.sharing import Way, end_of_sharing, sharing, way
from privacygauge.runs.store import CLAIMS, Claims, Run, open_run, read_run
from tests.runs.s3 import BUCKET, objects, serving
from tests.runs.sample import Work, contents, made, plan, static
from tests.runs.test_survival import started
from tests.thorough import quarter

TASKS = range(plan().n_tasks)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("alone") / "run"
    made(path)
    return contents(path)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let claims lapse within a moment."""
    for name, seconds in (("BEAT", 0.02), ("LAPSE", 0.4), ("PAUSE", 0.02)):
        monkeypatch.setattr(store, name, seconds)


def opened(path: str | Path) -> Run:
    return open_run(path, plan(), static())


def counted(run: Run, **options: object) -> list[int]:
    """Return the tasks that a process computes which shares a run."""
    computed: list[int] = []

    def work(task: Task) -> dict[str, np.ndarray]:
        computed.append(task.number)
        return Work()(task)

    with sharing():
        complete(run, work, **options)
    return sorted(computed)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["", "memory://sharing"])
@pytest.mark.parametrize("turn", [0, 1])
def test_no_two_hold_a_task_at_once(place: str, turn: int, tmp_path: Path) -> None:
    run = opened(f"{place}/held-{turn}" if place else tmp_path)
    if turn:  # what a holder that died has left behind
        for task in plan().tasks:
            run.folder.set(f"{CLAIMS}/{task.number}.0", b"dead")
    lock = threading.Lock()
    holding = set()
    had = []

    def claim() -> None:
        for task in np.random.default_rng().permutation(TASKS).tolist() * 3:
            with Claims(dict.fromkeys(TASKS, turn)).held(run, plan().tasks[task]) as mine:
                if mine:
                    with lock:
                        assert task not in holding
                        holding.add(task)
                    time.sleep(0.001)
                    with lock:
                        holding.remove(task)
                    had.append(task)

    threads = [threading.Thread(target=claim) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(had) == set(TASKS)
    left = run.folder.names(CLAIMS)
    assert left == [f"{task}.0" for task in TASKS if turn]


def test_one_process_does_all_and_leaves_the_same_bytes(tmp_path, alone) -> None:
    told: list[tuple[int, int]] = []
    run = opened(tmp_path)
    assert counted(run, progress=lambda *now: told.append(now)) == [*TASKS]
    assert contents(tmp_path) == alone
    assert told == sorted(told)
    assert counted(run) == []


@pytest.mark.slow
def test_what_others_hold_is_left_to_them(tmp_path, alone, hasty) -> None:
    run = opened(tmp_path)
    begun = threading.Event()

    def other() -> None:
        with Claims().held(run, plan().tasks[4]) as mine:
            assert mine
            begun.set()
            time.sleep(3 * store.LAPSE)  # it beats, so it does not lapse
            run.write(plan().tasks[4], Work()(plan().tasks[4]))

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait()
    told: list[tuple[int, int]] = []
    assert counted(run, progress=lambda *now: told.append(now)) == [x for x in TASKS if x != 4]
    thread.join()
    assert contents(tmp_path) == alone
    assert (15, 17) in told  # it waited for the two models of task 4
    assert told == sorted(told)


@pytest.mark.slow
@pytest.mark.parametrize("left", ["4.0", "4.0.abcdef", "4.7"])
@pytest.mark.parametrize("place", ["", "memory://sharing"])
def test_what_a_dead_process_held_is_done_by_another(place, left, tmp_path, alone, hasty) -> None:
    run = opened(f"{place}/{left}" if place else tmp_path)
    run.folder.set(f"{CLAIMS}/{left}", b"dead")
    assert counted(run) == [*TASKS]
    assert run.folder.names(CLAIMS) == [left]
    complete(run, Work())  # as `resume` does: nothing is computed
    assert run.folder.names(CLAIMS) == []
    if not place:
        assert contents(tmp_path) == alone


@pytest.mark.slow
def test_a_claim_that_is_fresh_is_waited_for(tmp_path, hasty) -> None:
    run = opened(tmp_path)
    (tmp_path / CLAIMS).mkdir()
    (tmp_path / CLAIMS / "4.0").touch()
    start = time.monotonic()
    counted(run)
    assert time.monotonic() - start >= store.LAPSE


def test_what_another_ends_between_the_look_and_the_claim_is_not_done_again(
    tmp_path, monkeypatch
) -> None:
    run = opened(tmp_path)
    claimed = store._claim_task
    task = plan().tasks[4]

    def late(*asked: object) -> str | None:
        run.write(task, Work()(task))
        return claimed(*asked)

    monkeypatch.setattr(store, "_claim_task", late)
    with Claims().held(run, task) as mine:
        assert not mine
    assert run.folder.names(CLAIMS) == []


def test_what_the_work_raises_lets_the_task_go(tmp_path) -> None:
    run = opened(tmp_path)

    def broken(task: Task) -> dict[str, np.ndarray]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), sharing():
        complete(run, broken)
    assert run.folder.names(CLAIMS) == []


def test_what_is_damaged_is_done_again(tmp_path, alone) -> None:
    made(tmp_path)
    (tmp_path / "observations.zarr/prediction/c/8/1/0").write_bytes(b"damaged")
    (tmp_path / "observations.zarr/digest/c/2/0").unlink()
    assert counted(opened(tmp_path)) == [2, 8]
    assert contents(tmp_path) == alone


def test_a_task_is_not_done_where_its_process_died_before_the_digest_was_named(tmp_path) -> None:
    run = made(tmp_path)
    digest = tmp_path / "observations.zarr/digest/c/2/0"
    digest.rename(digest.with_name("0.abcdef.partial"))
    assert [task.number for task in run.missing(verify=False)] == [2]
    assert not run.is_done(plan().tasks[2])
    assert counted(run) == [2]


@pytest.mark.slow
def test_whoever_is_alone_waits_for_those_that_share_and_they_for_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("privacygauge.runs.folder._PATIENCE", 0.1)
    run = opened(tmp_path)
    with run.folder.held(shared=True):
        counted(run)
        with pytest.raises(OutputError, match="another process is working on"):
            complete(run, Work())
    with run.folder.held(), pytest.raises(OutputError, match="another process is working on"):
        counted(run)


def test_a_run_is_planned_and_none_of_it_computed(tmp_path) -> None:
    with sharing(plan_only=True):
        complete(opened(tmp_path / "run"), Work())
        raise AssertionError("it goes on")
    assert read_run(tmp_path / "run").n_done() == 0


def test_what_nobody_else_sees_is_not_shared(tmp_path) -> None:
    end_of_sharing()
    with sharing():
        with kept_or_scratch(None) as scratch:
            assert way() is Way.ALONE
            made(Path(scratch))
        with kept_or_scratch(tmp_path):
            assert way() is Way.BESIDE_OTHERS
        end_of_sharing()
        raise AssertionError("it goes on")
    assert way() is Way.ALONE


@contextlib.contextmanager
def both(
    path: str | Path, noted: Path, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], subprocess.Popen[str]]]:
    """Give two processes that share a run, once both have begun a task."""
    own = ("--shared", 1.0, "--seconds", 0.3, "--noted", noted)
    with (
        started(path, *own, environment=environment) as first,
        started(path, *own, environment=environment) as second,
    ):
        until = time.monotonic() + 60
        while {first.pid, second.pid} > {by for found in done_by(noted).values() for by in found}:
            assert time.monotonic() < until
            time.sleep(0.01)
        yield first, second


def done_by(noted: Path) -> dict[int, list[int]]:
    """Return by which processes each task was begun."""
    found: dict[int, list[int]] = {}
    for line in noted.read_text().splitlines() if noted.exists() else ():
        process, task = map(int, line.split())
        found.setdefault(task, []).append(process)
    return found


@pytest.mark.slow
def test_two_processes_do_each_task_once(tmp_path, alone) -> None:
    with both(tmp_path / "run", tmp_path / "noted") as processes:
        assert [process.wait(60) for process in processes] == [0, 0]
    done = done_by(tmp_path / "noted")
    assert sorted(done) == [*TASKS]
    assert all(len(by) == 1 for by in done.values())
    assert {by[0] for by in done.values()} == {process.pid for process in processes}
    assert contents(tmp_path / "run") == alone


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(quarter(8)))
def test_one_of_two_is_killed(moment: int, tmp_path, alone) -> None:
    path = tmp_path / "run"
    noted = tmp_path / "noted"
    with both(path, noted) as (first, second):
        time.sleep(np.random.default_rng(moment).uniform(0, 0.6))
        first.send_signal(signal.SIGKILL)
        assert (first.wait(60), second.wait(60)) == (-signal.SIGKILL, 0)
    by = done_by(noted)
    assert sorted(by) == [*TASKS]
    twice = [task for task in by if len(by[task]) > 1]
    assert len(twice) <= 1
    assert all(by[task] == [first.pid, second.pid] for task in twice)
    assert not read_run(path).missing()
    made(path)
    assert contents(path) == alone


@pytest.mark.slow
def test_both_are_killed_and_a_later_one_ends_it(tmp_path, alone) -> None:
    path = tmp_path / "run"
    with both(path, tmp_path / "noted") as processes:
        for process in processes:
            process.send_signal(signal.SIGKILL)
    assert read_run(path).missing()
    with started(path, "--shared", 1.0) as later:
        assert later.wait(60) == 0
    made(path)
    assert contents(path) == alone


@pytest.mark.slow
def test_two_processes_share_a_bucket_and_one_is_killed(tmp_path, alone) -> None:
    noted = tmp_path / "noted"
    environment = serving()
    with both(f"s3://{BUCKET}/run", noted, environment) as (first, second):
        first.send_signal(signal.SIGKILL)
        assert (first.wait(60), second.wait(120)) == (-signal.SIGKILL, 0)
    by = done_by(noted)
    assert sorted(by) == [*TASKS]
    assert sum(len(done) > 1 for done in by.values()) <= 1
    with started(f"s3://{BUCKET}/run", environment=environment) as last:
        assert last.wait(60) == 0
    assert objects(environment, "run") == alone
