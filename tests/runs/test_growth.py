"""A run that grows holds the bytes of one that was as large from the start."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

from privacygauge.core.seeds import stream
from privacygauge.errors import InputError, OutputError
from privacygauge.runs.contents import Static
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import Folder
from privacygauge.runs.plan import ArraySpec, Plan, Task, first_difference
from privacygauge.runs.store import Run, open_run, read_run
from tests.runs.sample import N_CLASSES, N_RECORDS, Work, contents


def plan(n: int, *, a_task: int = 2, seed: int = 0, **options: object) -> Plan:
    units = tuple(f"{seed}-{i}" for i in range(n))
    spec = ArraySpec(("model", "record", "class"), (n, N_RECORDS, N_CLASSES), "float32")
    whole = Plan(
        "sample", seed, n, "model", a_task, {"prediction": spec}, {"epochs": 5}, units=units
    )
    return dataclasses.replace(whole, **options)


def static(n: int, seed: int = 0) -> dict[str, Static]:
    rng = stream(seed, "static")
    return {
        "member": Static(("model", "record"), rng.random((n, N_RECORDS)) < 0.5),
        "label": Static(("record",), stream(0, "labels").integers(3, size=N_RECORDS)),
    }


def predicted(task: Task) -> dict[str, np.ndarray]:
    return {"prediction": Work()(task)["prediction"]}


def made(path: Path, n: int, a_task: int = 2) -> Run:
    run = open_run(path, plan(n, a_task=a_task), static(n), invocation={"models": n})
    complete(run, predicted)
    return run


@pytest.mark.parametrize(
    ("sizes", "a_task"), [((1, 3), 1), ((1, 2), 2), ((3, 4, 7), 2), ((4, 9), 5), ((5, 5, 11), 5)]
)
def test_a_grown_run_has_the_bytes_of_one_made_at_once(
    sizes: tuple[int, ...], a_task: int, tmp_path: Path
) -> None:
    for n in sizes:
        run = made(tmp_path / "grown", n, a_task)
    made(tmp_path / "once", sizes[-1], a_task)
    assert run.missing() == []
    assert contents(tmp_path / "grown") == contents(tmp_path / "once")


def test_only_what_is_new_is_computed(tmp_path: Path) -> None:
    made(tmp_path, 7)
    assert plan(12).grown_from(plan(7))
    run = open_run(tmp_path, plan(12), static(12))
    # Of the fourth task one unit is there, and it is computed as a whole.
    for verify in (True, False):
        assert [task.number for task in run.missing(verify=verify)] == [3, 4, 5]


@pytest.mark.slow
def test_a_run_that_was_killed_at_any_write_as_it_grew_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "small", 3)
    made(tmp_path / "once", 6)
    expected = contents(tmp_path / "once")
    for last in range(100):
        place = tmp_path / str(last)
        left = [last]
        shutil.copytree(tmp_path / "small", place)
        with monkeypatch.context() as patched:
            for name in ("set", "remove"):
                real = getattr(Folder, name)

                def stopped(*given, real=real, left=left):
                    left[0] -= 1
                    if left[0] < 0:
                        raise KeyboardInterrupt
                    real(*given)

                patched.setattr(Folder, name, stopped)
            try:
                made(place, 6)
            except KeyboardInterrupt:
                pass
            else:
                break
        done = [task.number for task in open_run(place, plan(6), static(6)).missing()]
        assert 0 not in done
        made(place, 6)
        assert contents(place) == expected
    assert last > 8


def test_a_run_that_another_process_computes_does_not_grow_under_its_hands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privacygauge.runs.folder._PATIENCE", 0.05)
    made(tmp_path, 3)
    before = contents(tmp_path)
    with Folder(str(tmp_path)).held():
        with pytest.raises(OutputError, match="another process is working on"):
            made(tmp_path, 6)
        assert contents(tmp_path) == before
        open_run(tmp_path, plan(3), static(3))
    made(tmp_path, 6)


def test_a_run_of_other_units_or_settings_does_not_grow(tmp_path: Path) -> None:
    made(tmp_path, 5)
    before = contents(tmp_path)
    others = [
        (plan(9, seed=1), "seed is 0 there and 1 here"),
        (plan(9, settings={"epochs": 6}), "epochs is 5 there and 6 here"),
        (plan(9, a_task=3), "units_a_task is 2 there and 3 here"),
        (plan(9, units=("other",) * 9), "n_units is 5 there and 9 here"),
        (plan(9, units=()), "n_units is 5 there and 9 here"),
        (plan(5, units=("other",) * 5), "the digest of the models is"),
        (plan(4), "of 5 models, not of 4; a run can grow but not shrink: ask for 5 models or more"),
    ]
    for other, said in others:
        with pytest.raises(InputError, match=f"holds another run: .*{said}"):
            open_run(tmp_path, other, static(other.n_units))
    with pytest.raises(InputError, match="the array label differs"):
        open_run(tmp_path, plan(9), {**static(9), "label": Static(("record",), np.ones(N_RECORDS))})
    with pytest.raises(InputError, match="the array further differs"):
        open_run(tmp_path, plan(9), {**static(9), "further": Static(("model",), np.ones(9))})
    assert contents(tmp_path) == before
    assert read_run(tmp_path).missing() == []


def test_a_unit_that_was_made_of_something_else_is_computed_again(tmp_path: Path) -> None:
    made(tmp_path, 4)
    other = plan(4, units=("0-0", "0-1", "x", "0-3"))
    assert first_difference(plan(4), other) is not None
    assert [task.number for task in Run(str(tmp_path), other).missing()] == [1]


def test_units_and_their_digests_are_equally_many() -> None:
    with pytest.raises(InputError, match="one digest for each of the 3 units, got 2"):
        plan(3, units=("a", "b"))
    assert Plan.from_json(plan(3).to_json()) == plan(3)
