"""Whatever goes wrong, a final name holds all of its old content or all of its new one."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

import pytest

from privacygauge.errors import InputError, OutputError
from privacygauge.runs import results

FILES = {"a.html": b"new a", "b.json": b"new b" * 1000, "c.csv": b""}


def test_writes_every_file(tmp_path: Path) -> None:
    assert results.write_all(tmp_path, FILES) == [tmp_path / name for name in FILES]
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == FILES


def test_replaces_earlier_files(tmp_path: Path) -> None:
    for content in (b"old", b"new"):
        results.write_all(tmp_path, {"a.html": content})
    assert (tmp_path / "a.html").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.html"]


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("s3://bucket/x", marks=pytest.mark.slow),
        *("nosuch://x", "file:///tmp/x", "abfs+x://y", "s3://bucket/x?region=a", "s3://no bucket"),
    ],
)
def test_a_url_does_not_become_a_folder_of_that_name(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # nobody listens there
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(key, "x")
    with pytest.raises((InputError, OutputError)) as error:
        results.check_writable(Path(url))
    assert str(error.value).startswith(re.sub(":/+", "://", url))
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("step", range(9))
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "no space")])
def test_failure_at_any_step_leaves_nothing_partial(
    step: int, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {name: b"old " + name.encode() for name in FILES}
    results.write_all(tmp_path, old)
    calls = iter(range(100))

    def failing(function):  # every write, flush to disk and rename counts as one step
        def wrapped(*args, **kwargs):
            if next(calls) == step:
                raise error
            return function(*args, **kwargs)

        return wrapped

    monkeypatch.setattr(os, "fsync", failing(os.fsync))
    monkeypatch.setattr(os, "replace", failing(os.replace))
    monkeypatch.setattr(Path, "open", failing(Path.open))
    expected = OutputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        results.write_all(tmp_path, FILES)
    monkeypatch.undo()
    left = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert set(left) == set(FILES)
    assert all(content in (old[name], FILES[name]) for name, content in left.items())


def test_interruption_in_the_middle_of_a_write_leaves_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(path: Path, content: bytes) -> None:
        path.write_bytes(content[: len(content) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "_write", half)
    with pytest.raises(KeyboardInterrupt):
        results.write_all(tmp_path, FILES)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"a\.html cannot be written \(no space is left on the"):
        results.write_all(tmp_path, FILES)


def test_a_directory_in_the_way_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "b.json").mkdir()
    with pytest.raises(OutputError, match=r"b\.json cannot be written"):
        results.write_all(tmp_path, FILES)
    assert not list(tmp_path.glob(".*"))


def test_check_creates_the_directory_and_leaves_nothing_in_it(tmp_path: Path) -> None:
    results.check_writable(tmp_path / "a" / "b")
    assert os.listdir(tmp_path / "a" / "b") == []


def test_new_folders_of_results_are_entered_by_their_owner_alone(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    results.check_writable(shared)
    results.check_writable(shared / "out")
    modes = [stat.S_IMODE(folder.stat().st_mode) for folder in (shared, shared / "out")]
    assert modes == [0o755, 0o700]


def test_check_rejects_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(OutputError, match=r"out is a file, not a directory: choose another folder"):
        results.check_writable(tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


def test_check_rejects_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot be created \(a part of the path is a file\)"):
        results.check_writable(tmp_path / "file" / "out")


@pytest.mark.parametrize("method", ["mkdir", "open"])
def test_check_says_that_there_is_no_permission(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, method, denied)
    with pytest.raises(OutputError, match=r"\(no permission\): choose another folder$"):
        results.check_writable(tmp_path / "out")
