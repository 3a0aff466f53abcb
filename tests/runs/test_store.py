"""What a run holds, what it refuses, and what it says then."""

from __future__ import annotations

import copy
import dataclasses
import errno
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from privacygauge.errors import InputError, OutputError
from privacygauge.runs.contents import Static
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import Folder
from privacygauge.runs.plan import CONTINUED, ArraySpec, Plan
from privacygauge.runs.store import Run, only_read, open_run, read_run, runs_in
from tests.runs.sample import N_CLASSES, N_MODELS, N_RECORDS, Work, contents, made, plan, static


def test_holds_what_the_work_gave(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    expected = [Work()(task) for task in plan().tasks]
    for name in plan().arrays:
        stored = run.array(name)
        assert stored.dtype == plan().arrays[name].dtype
        values = np.concatenate([part[name] for part in expected]).astype(stored.dtype)
        np.testing.assert_array_equal(stored[:], values)
        np.testing.assert_array_equal(stored[3:5], values[3:5])
    for name, given in static().items():
        np.testing.assert_array_equal(run.array(name)[:], given.values)


def of_versions(own: str, numpy: str, *, epochs: int = 50) -> Plan:
    versions = {"privacygauge": own, "numpy": numpy}
    return dataclasses.replace(plan(), settings={"epochs": epochs, "versions": versions})


@pytest.mark.parametrize("alone", [False, True])
def test_a_run_of_an_earlier_version_is_continued(tmp_path: Path, alone: bool) -> None:
    """It stays the run that it was: its tasks count as done, and its plan names who began it."""

    def made_by(version: str) -> Plan:
        own = {"privacygauge": version}
        return dataclasses.replace(plan(), settings=own if alone else {"versions": own})

    (earlier, *_) = sorted(CONTINUED)
    complete(open_run(tmp_path, made_by(earlier)), Work())
    again = open_run(tmp_path, made_by("999.0"))
    assert again.plan == made_by(earlier)
    assert not again.missing()
    open_run(tmp_path / "unknown", made_by("0.0.1"))
    with pytest.raises(InputError, match=r"privacygauge is 0\.0\.1 there and 999\.0 here"):
        open_run(tmp_path / "unknown", made_by("999.0"))


def test_a_finished_run_is_read_whatever_made_it(tmp_path: Path) -> None:
    run = open_run(tmp_path, of_versions("0.0.1", "1.0"))
    complete(run, Work())
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"versions\.numpy is 1\.0 there and 2\.0 here"):
        open_run(tmp_path, of_versions("0.0.1", "2.0"))
    with only_read():
        found = open_run(tmp_path, of_versions("999.0", "2.0"))
        with pytest.raises(InputError, match="epochs is 50 there and 40 here"):
            open_run(tmp_path, of_versions("999.0", "2.0", epochs=40))
    assert not found.missing()
    assert contents(tmp_path) == before


def test_what_is_not_done_is_refused_and_never_read_as_a_value(tmp_path: Path) -> None:
    run = open_run(tmp_path, plan())
    run.write(plan().tasks[1], Work()(plan().tasks[1]))
    for name in plan().arrays:
        assert len(run.array(name)[2:4]) == 2
        for rows in (slice(None), slice(1, 3), 0):
            with pytest.raises(InputError, match=f"lacks a part of the array {name}: start the"):
                run.array(name)[rows]
    assert [task.number for task in run.missing()] == [0, 2, 3, 4, 5, 6, 7, 8]
    assert run.missing() == run.missing(verify=False)
    assert run.n_done() == 2


@pytest.mark.slow
def test_a_store_that_was_copied_in_part_gives_no_value_for_what_is_gone(tmp_path: Path) -> None:
    """Other readers of the format give the fill value there: nobody a member, class 0."""
    run = made(tmp_path)
    chunks = [p for p in (tmp_path / "observations.zarr").rglob("c/**/*") if p.is_file()]
    arrays = {p: p.relative_to(tmp_path).parts[1] for p in chunks}
    assert set(arrays.values()) == {"prediction", "correct", "member", "label", "digest"}
    for chunk, name in arrays.items():
        content = chunk.read_bytes()
        chunk.unlink()
        with pytest.raises(InputError, match=f"lacks a part of the array {name}"):
            run.array(name)[:]
        chunk.write_bytes(content)
        assert len(run.array(name)[:]) == run.array(name).shape[0]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_numbers_beyond_the_planned_type_are_refused(dtype: str, tmp_path: Path) -> None:
    largest = np.finfo(dtype).max
    spec = ArraySpec(("model", "record"), (2, 3), dtype)
    run = open_run(tmp_path, Plan("logits", 0, 2, "model", 1, {"logit": spec}))
    sound = np.array([[largest, -np.inf, np.nan]], np.float64)
    run.write(run.plan.tasks[0], {"logit": sound})
    np.testing.assert_array_equal(run.array("logit")[0], sound[0].astype(dtype))
    with pytest.raises(InputError, match=f"logit holds 1e\\+60, which is beyond {dtype}: plan"):
        run.write(run.plan.tasks[1], {"logit": np.array([[0.0, 1e60, 1.0]])})
    assert [task.number for task in run.missing()] == [1]


def test_chunks_of_nothing_but_the_fill_value_are_written_too(tmp_path: Path) -> None:
    def nothing(task):
        empty = Work()(task)
        return {"prediction": empty["prediction"] * np.nan, "correct": empty["correct"] & False}

    run = open_run(tmp_path, plan())
    complete(run, nothing)
    assert run.missing() == []
    (tmp_path / "observations.zarr/correct/c/3/0").unlink()
    assert [task.number for task in run.missing()] == [3]


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    made(tmp_path)
    before = contents(tmp_path)
    assert made(tmp_path).missing() == []
    assert contents(tmp_path) == before


def test_the_invocation_is_kept(tmp_path: Path) -> None:
    given = {"command": "classifier", "data": ["a.csv"]}
    open_run(tmp_path, plan(), invocation=given)
    assert open_run(tmp_path, plan()).invocation == given
    (tmp_path / "run.json").unlink()
    assert read_run(tmp_path).invocation == given
    assert copy.deepcopy(read_run(tmp_path)).plan == plan()


@pytest.mark.parametrize("lost", ["run.json", "observations.zarr/zarr.json"])
@pytest.mark.parametrize("how", ["deleted", "truncated", "another plan's"])
def test_either_copy_of_the_plan_can_be_lost(lost: str, how: str, tmp_path: Path) -> None:
    made(tmp_path)
    before = contents(tmp_path)
    if how == "deleted":
        (tmp_path / lost).unlink()
    elif how == "truncated":
        (tmp_path / lost).write_bytes(before[lost][:100])
    else:
        (tmp_path / lost).write_bytes(before[lost].replace(b'"epochs": 50', b'"epochs": 51'))
    assert read_run(tmp_path).plan == plan()
    open_run(tmp_path, plan(), static())
    assert contents(tmp_path) == before


def test_chunks_of_another_plan_are_not_taken_for_ones_own(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "run.json").unlink()
    (tmp_path / "observations.zarr/zarr.json").unlink()
    assert len(open_run(tmp_path, plan(epochs=40), static()).missing()) == 9


def test_another_plan_in_the_folder(tmp_path: Path) -> None:
    open_run(tmp_path, plan(), static())
    before = contents(tmp_path)
    with pytest.raises(InputError) as caught:
        open_run(tmp_path, plan(epochs=40), static())
    assert str(caught.value) == (
        f"{tmp_path} holds another run: epochs is 50 there and 40 here; choose another folder, "
        "or the same settings"
    )
    assert contents(tmp_path) == before


def test_other_static_arrays_in_the_folder(tmp_path: Path) -> None:
    open_run(tmp_path, plan(), static())
    other = {**static(), "label": Static(("record",), np.zeros(N_RECORDS, int))}
    with pytest.raises(InputError, match="the array label differs; choose another folder, or the"):
        open_run(tmp_path, plan(), other)


def test_a_folder_with_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds something else than a run \(thesis.tex\): choose"):
        open_run(tmp_path, plan())
    assert list(contents(tmp_path)) == ["thesis.tex"]


def test_a_folder_of_an_interrupted_first_write_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "run.0123.partial").write_text("{")
    made(tmp_path)
    assert not list(tmp_path.rglob("*.partial"))


def test_a_later_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privacygauge.runs.contents._FORMAT", 2)
    open_run(tmp_path, plan())
    monkeypatch.undo()
    with pytest.raises(
        InputError, match="the run has format 2, this version of PrivacyGauge reads 1"
    ):
        read_run(tmp_path)


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run whose plan can be read: name the folder"):
        read_run(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_an_array_that_is_not_there(tmp_path: Path) -> None:
    run = open_run(tmp_path, plan())
    for damage in ("", "{", "[]", "{}"):
        if damage:
            (tmp_path / "observations.zarr/correct/zarr.json").write_text(damage)
        with pytest.raises(InputError, match=r"has no readable array \w+: start the run again to"):
            run.array("correct" if damage else "margin")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": [1]}, "a task must give the arrays correct, prediction, got correct, margin,"),
        ({"correct": [[True]]}, r"correct must have the shape \(2, 40\) in this task, got \(1, 1"),
        ({"correct": np.zeros((2, N_RECORDS))}, "correct must be of type bool, got float64"),
    ],
)
def test_results_that_were_not_planned(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    run = open_run(tmp_path, plan())
    with pytest.raises(InputError, match=message):
        complete(run, lambda task: {**Work()(task), **changes})
    assert run.n_done() == 0


def test_names_that_are_taken(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="digest is the run's own array: choose another name"):
        open_run(tmp_path, plan(), {"digest": static()["label"]})
    with pytest.raises(InputError, match="'correct' cannot name a static array"):
        open_run(tmp_path, plan(), {"correct": static()["label"]})


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "no space is left on the disk"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EACCES, "no permission"),
    ],
)
def test_a_disk_that_takes_nothing(
    number: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_run(tmp_path, plan(), static())
    complete_until(run, 3)

    def failing(*args: object) -> None:
        raise OSError(number, "said by the system")

    monkeypatch.setattr("privacygauge.runs.folder.os.replace", failing)
    with pytest.raises(OutputError) as caught:
        complete(run, Work())
    assert str(caught.value) == (
        f"{tmp_path}/observations.zarr/correct/c/3/0 cannot be written ({reason}): make room or "
        "allow writing there, then start again; what is done is kept"
    )
    monkeypatch.undo()
    assert not list(tmp_path.rglob("*.partial"))
    assert run.n_done() == 6
    made(tmp_path)
    assert run.missing() == []


def complete_until(run: Run, n_tasks: int) -> None:
    for task in run.plan.tasks[:n_tasks]:
        run.write(task, Work()(task))


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot be written \(a part of the path is a file\)"):
        open_run(tmp_path / "file" / "run", plan())


def test_a_folder_that_went_away(tmp_path: Path) -> None:
    run = Run(str(tmp_path / "gone"), plan())
    assert len(run.missing()) == 9
    with pytest.raises(OutputError, match="gone cannot be opened"):
        complete(run, Work())


def test_two_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privacygauge.runs.folder._PATIENCE", 0.1)
    run = open_run(tmp_path, plan())
    with Folder(str(tmp_path)).held(), pytest.raises(OutputError, match="another process is worki"):
        complete(run, Work())
    complete(run, Work())


@pytest.mark.slow
def test_waits_for_the_last_worker_of_a_killed_process(tmp_path: Path) -> None:
    run = open_run(tmp_path, plan())
    holder = Folder(str(tmp_path)).held()
    holder.__enter__()
    dying = threading.Timer(0.3, holder.__exit__, (None, None, None))
    dying.start()
    complete(run, Work())
    dying.join()
    assert not run.missing()


@pytest.mark.slow
def test_lists_the_runs_below_a_folder(tmp_path: Path) -> None:
    made(tmp_path / "b" / "whole")
    complete_until(open_run(tmp_path / "a", plan(seed=7)), 2)
    made(tmp_path / "a" / "answers")  # the other run's own
    (tmp_path / "c").mkdir()
    found = [(run.path, run.plan.seed, run.n_done()) for run in runs_in(tmp_path)]
    assert found == [(str(tmp_path / "a"), 7, 4), (str(tmp_path / "b" / "whole"), 0, 17)]
    with pytest.raises(InputError, match="nowhere is not a folder: name a folder that exists"):
        runs_in(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "rows",
    [0, -1, slice(3), slice(None, None, 5), [4, 1, 1], (slice(2, 9), 7), (3, 4, 2)],
)
def test_an_array_is_indexed_as_numpy_indexes(tmp_path: Path, rows: object) -> None:
    stored = made(tmp_path).array("prediction")
    whole = stored[:]
    assert whole.shape == stored.shape
    found = stored[rows]
    assert np.shape(found) == np.shape(whole[rows])
    np.testing.assert_array_equal(found, whole[rows])


@pytest.mark.slow
def test_no_thread_outlives_what_reads_a_run(tmp_path: Path) -> None:
    """Zarr's own threads complain at exit on a busy machine: a run is read without them."""
    made(tmp_path)
    code = (
        "import sys, threading; from privacygauge.runs.store import read_run; "
        f"run = read_run({str(tmp_path)!r}); run.array('prediction')[:]; run.missing(); "
        "assert 'zarr' not in sys.modules; assert threading.active_count() == 1"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_remote_folder(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    run = open_run("memory://privacygauge-test", plan(), static())
    complete(run, Work())
    assert read_run(run.path).missing() == []
    remote = {key: run.folder.get(key) for key in contents_of_local(tmp_path)}
    assert remote == contents(tmp_path)
    key = "observations.zarr/prediction/c/3/1/0"
    run.folder.set(key, run.folder.get(key)[:-1])
    assert [task.number for task in run.missing()] == [3]


def contents_of_local(path: Path) -> list[str]:
    made(path)
    return list(contents(path))


@pytest.mark.slow
def test_xarray_knows_the_dimensions(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    run = made(tmp_path)
    with xarray.open_zarr(tmp_path / "observations.zarr", consolidated=False, chunks=None) as data:
        sizes = {"model": N_MODELS, "record": N_RECORDS, "class": N_CLASSES}
        assert dict(data["prediction"].sizes) == sizes
        assert data["member"].dims == ("model", "record")
        assert data["label"].dims == ("record",)
        assert data["digest"].dims == ("task", "byte")
        np.testing.assert_array_equal(data["prediction"].values, run.array("prediction")[:])
        assert (
            Path(tmp_path, "run.json").read_text()
            == json.dumps(data.attrs["privacygauge"], indent=2) + "\n"
        )


def test_static_arrays_follow_the_rules_of_others() -> None:
    with pytest.raises(InputError, match="dims must be at least one, each named once"):
        dataclasses.replace(static()["member"], dims=("record", "record"))
    with pytest.raises(InputError, match="dtype must be a name such as"):
        Static(("record",), np.array(["a"]))


def test_a_task_may_be_larger_than_the_run(tmp_path: Path) -> None:
    run = open_run(tmp_path, dataclasses.replace(plan(), units_a_task=100), static())
    complete(run, Work())
    assert run.missing() == []
    np.testing.assert_array_equal(run.array("member")[:], static()["member"].values)
