"""The user's code reaches workers that stand in other folders, and no other version of it runs."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.runs.execute import (
    PACKAGES,
    _require_versions_on_dask,
    require_versions,
    ship,
    versions_here,
)

pytest.importorskip("cloudpickle")

CODE = {
    "inner/__init__.py": "FACTOR = 2",
    "inner/deep.py": "from inner import FACTOR\n\ndef twice(x):\n    return FACTOR * x",
    "later.py": "def one():\n    return 1",
    "shipped_code.py": (
        "from inner import deep\n\n"
        "class Work:\n"
        "    def __init__(self, values):\n"
        "        self.values = values\n"
        "    def __call__(self, task):\n"
        "        import later\n"
        "        return deep.twice(self.values[task]) + later.one()\n"
    ),
}
ELSEWHERE = """
import pickle, sys
from pathlib import Path
for path in sys.argv[1:]:
    shipped = pickle.loads(Path(path).read_bytes())
    try:
        print(shipped(3), shipped(4))
    except Exception as error:
        print(type(error).__name__, error)
"""


def written(folder: Path, **changed: str) -> Path:
    for name, text in {**CODE, **changed}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def shipped_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    modules = [name.removesuffix(".py").replace("/", ".") for name in CODE]
    with monkeypatch.context() as inside:
        inside.syspath_prepend(str(folder))
        for name in (*modules, "inner"):
            inside.delitem(sys.modules, name, raising=False)
        module = __import__("shipped_code")
        content = pickle.dumps(ship(module.Work(np.arange(10))))
        for name in (*modules, "inner"):
            sys.modules.pop(name, None)
    return content


def elsewhere(folder: Path, *contents: bytes) -> list[str]:
    """Return the lines of one worker in a folder that calls what was shipped."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{i}.shipped" for i in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    command = [sys.executable, "-c", ELSEWHERE, *map(str, paths)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def test_code_and_what_it_imports_sooner_or_later_goes_along(tmp_path, monkeypatch):
    content = shipped_from(written(tmp_path / "own"), monkeypatch)
    assert elsewhere(tmp_path / "other", content) == ["7 9"]


def test_a_file_of_the_worker_is_not_taken_for_it(tmp_path, monkeypatch):
    content = shipped_from(written(tmp_path / "own"), monkeypatch)
    there = written(tmp_path / "other", **{"later.py": "def one():\n    return 1_000"})
    assert elsewhere(there, content) == ["7 9"]


def test_a_worker_that_goes_on_runs_the_code_of_each_run(tmp_path, monkeypatch):
    first = shipped_from(written(tmp_path / "own"), monkeypatch)
    changed = {"inner/__init__.py": "FACTOR = 3", "later.py": "def one():\n    return 100"}
    second = shipped_from(written(tmp_path / "own", **changed), monkeypatch)
    assert elsewhere(tmp_path / "other", first, second, first) == ["7 9", "109 112", "7 9"]


def test_another_module_of_the_name_in_a_worker_is_refused(tmp_path, monkeypatch):
    content = shipped_from(written(tmp_path / "own"), monkeypatch)
    here = written(tmp_path / "other", **{"later.py": "def one():\n    return 5"})
    monkeypatch.syspath_prepend(str(here))
    __import__("later")
    try:
        with pytest.raises(InputError, match=r"a worker has imported another later \("):
            pickle.loads(content)(3)  # noqa: S301  (made above)
    finally:
        sys.modules.pop("later")


def test_arrays_travel_beside_the_code_and_are_not_copied():
    values = np.arange(1_000_000)
    shipped = ship(values.__getitem__)
    assert len(shipped.content) < 1_000
    assert sum(buffer.nbytes for buffer in shipped.buffers) == values.nbytes
    assert np.shares_memory(shipped.buffers[0], values)
    assert shipped(5) == 5


def test_what_cannot_be_sent_is_one_line():
    with pytest.raises(InputError, match="cannot be sent to other machines"):
        ship(threading.Lock().acquire)


@pytest.mark.parametrize("there", ["0.0.9", ""])
def test_another_version_is_refused_in_one_line(there):
    here = versions_here()
    assert set(PACKAGES) >= set(here) >= {"numpy", "scipy", "scikit-learn"}
    require_versions(here, here)
    with pytest.raises(InputError) as refused:
        require_versions(here, {**here, "numpy": there})
    assert str(refused.value) == (
        f"a worker has numpy {there or '(not installed)'}, and here it is {here['numpy']}: "
        "install the same versions on all machines"
    )


class Answering:
    """A client of two workers: one has the versions here, the other answers as told."""

    def __init__(self, answer):
        self.answer = answer

    def run(self, call, package, on_error):
        assert on_error == "return"
        return {"first": call(package), "second": self.answer}


def test_a_worker_that_dies_while_it_is_asked_has_no_other_version():
    # A worker that dies while the run is tried again is one that died, not one to be mended.
    _require_versions_on_dask(Answering(OSError("Timed out trying to connect")))
    with pytest.raises(InputError, match="not installed"):
        _require_versions_on_dask(Answering(metadata.PackageNotFoundError("numpy")))
    with pytest.raises(InputError, match=r"a worker has \S+ 0\.0\.9,"):
        _require_versions_on_dask(Answering("0.0.9"))
