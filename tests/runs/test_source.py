"""Whose code is: what installers recorded is a package wherever it lies, all else is the user's."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path

import pytest

from privacygauge.runs import code_fingerprint, source
from privacygauge.runs.code_fingerprint import code_of
from privacygauge.runs.named import compared_code
from privacygauge.runs.source import files_beside, is_installed, pieces_of, version_of

MODULE = "def grown(x):\n    return x + {n}\n\nclass Forest:\n    depth = {n}\n"


def package(folder: Path, name: str, *, record: bool, n: int = 1) -> Path:
    """Write a package as ``pip install --target`` does."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(f"from {name}.core import Forest, grown\n")
    (place / "core.py").write_text(MODULE.format(n=n))
    about = folder / f"{name}_dist-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-dist\nVersion: 1.5\n")
    (about / "top_level.txt").write_text(f"{name}\n")
    if record:
        lines = (f"{name}/__init__.py,sha256=x,1", f'"{name}/core.py",sha256=x,1')
        (about / "RECORD").write_text("\n".join(lines))
    return folder


@pytest.fixture
def imports(monkeypatch):
    """Import from a folder, and forget it afterwards."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def imported(folder: Path, name: str):
        monkeypatch.syspath_prepend(folder)
        return importlib.import_module(name)

    yield imported
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize("record", [True, False])
def test_a_package_outside_the_site_folder_counts_by_name_and_version(record, tmp_path, imports):
    name = f"layered_{record}".lower()
    found = imports(package(tmp_path / "layer", name, record=record), name)
    code = code_of(found.grown, found.Forest)
    if record:
        assert code.digests == {f"package {name}": f"{name}-dist 1.5"}
        assert version_of(f"{name}.core") == f"{name}-dist 1.5"
    else:  # metadata beside code that is being written: the code counts
        assert f"{name}.core.grown" in code.digests
        assert f"package {name}" not in code.digests


def test_what_lies_beside_a_package_is_the_users(tmp_path, imports):
    folder = package(tmp_path, "beside_them", record=True)
    (folder / "train.py").write_text(
        "import beside_them\ndef make(s):\n    return beside_them.grown(s)\n"
    )
    (folder / "beside_them" / "mine.py").write_text("X = 1\n")
    assert not is_installed(str(folder / "train.py"))
    assert not is_installed(str(folder / "beside_them" / "mine.py"))
    assert set(files_beside(folder / "train.py")) == {"train"}
    code = code_of(imports(folder, "train").make)
    assert set(code.digests) == {"train.make", "package beside_them"}


@pytest.mark.parametrize("place", ["env/lib/python3/site-packages", "apps/x-1.0-py3.11.egg"])
def test_folders_of_installers_hold_packages(place, tmp_path):
    (tmp_path / place / "some").mkdir(parents=True)
    file = tmp_path / place / "some" / "module.py"
    file.touch()
    assert is_installed(str(file))
    assert not is_installed(str(tmp_path / "some" / "module.py"))


def test_no_more_than_a_bound_is_parsed_and_a_word_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MOST_FILES", 20)
    monkeypatch.setattr(source, "MOST_BYTES", 60_000)
    n = source.MOST_FILES + 5
    (tmp_path / "main.py").write_text("\n".join(f"import part{i}" for i in range(n)))
    for i in range(n):
        (tmp_path / f"part{i}.py").write_text(f"X = {i}\n")
    files = files_beside(tmp_path / "main.py")
    assert len(files) == source.MOST_FILES
    assert files.cut == f"main: of the files that it imports all after the first {len(files):,}"
    (pieces,) = compared_code({"model": f"{tmp_path / 'main.py'}:make"}, None).values()
    assert f"code not checked: {files.cut}" in pieces
    for i in range(n):
        (tmp_path / f"part{i}.py").write_text("#" * 10_000)
    assert len(files_beside(tmp_path / "main.py")) == 6
    # What can be read whole says nothing.
    (tmp_path / "short.py").write_text("import part4")
    assert files_beside(tmp_path / "short.py").cut == ""
    monkeypatch.setattr(code_fingerprint, "MOST_PIECES", 2)
    assert code_of(tell_all).unchecked == ("of the functions and classes all after the first 2",)


def one():
    return 1


def two():
    return one()


def tell_all():
    return two()


def test_a_file_is_parsed_once_however_often_it_is_imported(tmp_path):
    text = "\n".join(f"def f{i}(x):\n    return [x, {i}]" for i in range(50))
    for k in range(20):
        (tmp_path / f"once{k}.py").write_text(f"import once{(k + 1) % 20}\nK = {k}\n{text}")
    pieces_of(files_beside(tmp_path / "once0.py"))
    start = time.perf_counter()
    for _ in range(19):
        first = files_beside(tmp_path / "once0.py")
    spent = time.perf_counter() - start
    assert len(first) == 20
    assert spent < 0.5  # 19 times 20 files, parsed again, take a second
    (tmp_path / "once3.py").write_text("K = 'another'")
    assert len(files_beside(tmp_path / "once0.py")) == 4
