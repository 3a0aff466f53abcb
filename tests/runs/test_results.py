"""Only what was written here before, and not touched since, is ever replaced by a result."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import OutputError
from privacygauge.runs import results
from privacygauge.runs.results import LIST, require_free, write_results

FILES = {"report.html": b"page", "roc.csv": b"fpr,tpr\n"}


def test_what_was_written_here_may_be_written_again(tmp_path: Path) -> None:
    for number in range(3):
        files = {name: content + b"%d" % number for name, content in FILES.items()}
        require_free(tmp_path, files)
        assert write_results(tmp_path, files) == [tmp_path / name for name in files]
        assert {name: (tmp_path / name).read_bytes() for name in files} == files


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_somebody_else_stays(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"mine")
    for attempt in (require_free, write_results):
        with pytest.raises(OutputError, match=f"{name} is there already, and Priv.*: choose") as e:
            attempt(tmp_path, FILES)
        assert "\n" not in str(e.value)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {name: b"mine"}


def test_a_folder_in_the_place_of_a_result_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "roc.csv").mkdir()
    for attempt in (require_free, write_results):
        with pytest.raises(OutputError, match=r"roc\.csv is a directory, and a file is to be") as e:
            attempt(tmp_path, FILES)
        assert "\n" not in str(e.value)
    assert [path.name for path in tmp_path.iterdir()] == ["roc.csv"]


def test_a_file_that_was_changed_since_is_its_owners(tmp_path: Path) -> None:
    write_results(tmp_path, FILES)
    (tmp_path / "roc.csv").write_bytes(b"edited")
    with pytest.raises(OutputError, match=r"roc\.csv has changed since PrivacyGauge wrote it"):
        write_results(tmp_path, dict.fromkeys(FILES, b"new"))
    assert (tmp_path / "report.html").read_bytes() == b"page"
    assert (tmp_path / "roc.csv").read_bytes() == b"edited"


def test_a_file_of_somebody_else_that_is_moved_here_is_not_ours(tmp_path: Path) -> None:
    write_results(tmp_path, FILES)
    (tmp_path / "own.csv").write_bytes(FILES["roc.csv"])
    with pytest.raises(OutputError, match=r"own\.csv is there already"):
        require_free(tmp_path, ["own.csv"])


def test_an_input_is_never_replaced_though_it_was_written_here(tmp_path: Path) -> None:
    write_results(tmp_path, FILES)
    link = tmp_path / "link"
    os.link(tmp_path / "roc.csv", link)
    for given_as in (tmp_path / "roc.csv", tmp_path / "x" / ".." / "roc.csv", link):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(OutputError, match=r"roc\.csv is an input, and a result of"):
            require_free(tmp_path, FILES, inputs=[given_as])
    require_free(tmp_path, ["report.html"], inputs=[tmp_path / "roc.csv"])


def test_links_and_folders_stay(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    os.symlink(tmp_path / "target", tmp_path / "roc.csv")
    os.symlink(tmp_path / "nowhere", tmp_path / "report.html")
    (tmp_path / "folder").mkdir()
    for name in ("roc.csv", "report.html", "folder"):
        with pytest.raises(OutputError, match=name):
            require_free(tmp_path, [name])


def test_an_empty_file_holds_nothing_to_lose(tmp_path: Path) -> None:
    (tmp_path / "roc.csv").touch()
    write_results(tmp_path, FILES)
    assert (tmp_path / "roc.csv").read_bytes() == FILES["roc.csv"]


@pytest.mark.parametrize("text", ["{", "[1]", '{"roc.csv": 3}', '{"roc.csv": [3]}', ""])
def test_where_the_list_is_damaged_nothing_is_replaced(text: str, tmp_path: Path) -> None:
    write_results(tmp_path, FILES)
    (tmp_path / LIST).write_text(text)
    with pytest.raises(OutputError):
        write_results(tmp_path, FILES)


@pytest.mark.parametrize("step", range(2))
def test_an_interrupted_write_can_be_done_again(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_results(tmp_path, FILES)
    calls = iter(range(9))
    replace = os.replace
    with monkeypatch.context() as patch:

        def interrupted(source: Path, to: Path) -> None:
            if next(calls) > step:
                raise KeyboardInterrupt
            replace(source, to)

        patch.setattr(results.os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_results(tmp_path, dict.fromkeys(FILES, b"new"))
    write_results(tmp_path, dict.fromkeys(FILES, b"newer"))
    assert {(tmp_path / name).read_bytes() for name in FILES} == {b"newer"}


@given(st.lists(st.sampled_from(["ours", "edit", "theirs", "remove"]), max_size=6))
def test_whatever_happens_nothing_that_is_not_ours_is_lost(steps: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kept: bytes | None = None  # what somebody else wrote
        for number, step in enumerate([*steps, "ours"]):
            file = folder / "roc.csv"
            if step == "remove":
                file.unlink(missing_ok=True)
                kept = None
            elif step != "ours":
                kept = b"by hand %d" % number
                file.write_bytes(kept)
            else:
                try:
                    write_results(folder, {"roc.csv": b"result %d" % number})
                except OutputError:
                    assert kept is not None
                else:
                    assert kept is None
            if kept is not None:
                assert file.read_bytes() == kept


def test_two_folders_of_results_do_not_know_each_other(tmp_path: Path) -> None:
    write_results_in = [tmp_path / "a", tmp_path / "b"]
    for folder in write_results_in:
        folder.mkdir()
    write_results(tmp_path / "a", FILES)
    os.replace(tmp_path / "a" / "roc.csv", tmp_path / "b" / "roc.csv")
    with pytest.raises(OutputError):
        write_results(tmp_path / "b", FILES)
    assert json.loads((tmp_path / "a" / LIST).read_text()).keys() == FILES.keys()
