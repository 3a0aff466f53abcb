"""Kinds of audit come and go with their package or folder; nothing else knows them."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from privacygauge.cli import commands

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "privacygauge"
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

WINGS = {
    "papers": (),
    "decisions": (),
    "leaderboards": ("papers",),
    "language": ("papers", "hooks"),
    "tables": ("papers",),
    "claims": ("papers",),
    "inspection": (),
    "scores": (),
    "classifiers": ("papers", "claims", "hooks", "scores"),
}
"""What goes with a wing: what is built on it as a whole."""

EDGES = {
    "claims": {"language/canary_audit.py", "tables/few_fits_audit.py"},
    "classifiers": {
        "language/canary_audit.py",
        "language/unlearning_audit/audit.py",
        "tables/command.py",
        "tables/few_fits_audit.py",
    },
}
"""Modules of other wings that use one: canaries and few fits are judged as claims are, a classifier
may have to forget, and a game says how long it will take."""


def package(folder: Path, code: str, entry: str) -> Path:
    """Write a package as pip would install it, with one entry point."""
    (folder / "copies_audit").mkdir(parents=True)
    (folder / "copies_audit" / "command.py").write_text(code)
    about = folder / "copies_audit-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: copies-audit\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[privacygauge.audits]\n{entry}\n")
    return folder


def privacygauge(*arguments: str, path: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line with another folder before all on the path of modules."""
    start = f"import sys; sys.path.insert(0, {str(path)!r}); from privacygauge.__main__ import main"
    call = [sys.executable, "-c", f"{start}; main()", *arguments]
    return subprocess.run(call, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)


def test_a_kind_of_another_package_is_a_command_a_page_and_a_line_of_the_register(tmp_path):
    """The kind of CONTRIBUTING, less than 100 lines, as a package of its own."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = PYTHON.findall(text[text.index("## Add a kind of audit") :])
    audit = blocks[0].split("\ncopies = ")[0]
    command = blocks[1].split("\nPath(")[0]
    code = f"{audit}\n{command}"
    assert len([line for line in code.splitlines() if line.strip()]) <= 100
    others = package(tmp_path / "packages", code, "copies = copies_audit.command:COMMAND")
    (tmp_path / "real.csv").write_text("age\n31\n42\n53\n")
    (tmp_path / "synthetic.csv").write_text("age\n42\n7\n")

    listed = privacygauge("--help", path=others, cwd=tmp_path)
    assert "copies" in listed.stdout
    assert listed.stderr == ""
    played = ("copies", "real.csv", "synthetic.csv", "--out", "out", "--fail-above", "copies=0.1")
    done = privacygauge(*played, path=others, cwd=tmp_path)
    assert (done.returncode, "above the limit of 0.1" in done.stderr) == (3, True)
    assert "33.3%" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    known = privacygauge(
        "register", "out", "--json", "-", "--fail-above", "copies=0.5", path=others, cwd=tmp_path
    )
    assert known.returncode == 0, known.stderr
    assert [line["severity"] for line in json.loads(known.stdout)["lines"]] == ["grave"]


@pytest.mark.parametrize(
    ("code", "entry", "told"),
    [
        ("raise RuntimeError('not today')", "a = copies_audit.command:COMMAND", "not today"),
        ("", "b = copies_audit.command:COMMAND", "no attribute 'COMMAND'"),
        ("COMMAND = 1", "c = copies_audit.command:COMMAND", "is a int, not a Command"),
        (
            "from privacygauge.classifiers.audit.command import COMMAND",
            "d = copies_audit.command:COMMAND",
            "there is a command 'classifier' already",
        ),
        (
            "from privacygauge.kinds.command import Group\nCOMMAND = Group('no one', '')",
            "e = copies_audit.command:COMMAND",
            "there is no group 'no'",
        ),
    ],
)
def test_a_broken_package_costs_one_line_and_nothing_else(tmp_path, code, entry, told):
    others = package(tmp_path / "packages", code, entry)
    done = privacygauge("--version", path=others, cwd=tmp_path)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"privacygauge: {entry[0]} is left out: ")
    assert told in line


def test_an_install_without_entry_points_says_what_to_do(capsys, monkeypatch):
    monkeypatch.setattr(commands, "entry_points", lambda group: ())
    assert list(commands.load_commands()) == []
    assert "install it again" in capsys.readouterr().err


def without(wing: str, folder: Path) -> Path:
    """Copy the package without a wing, what is built on it, and the lines that only name it."""
    gone = {wing, *WINGS[wing]}
    copied = folder / "privacygauge"
    shutil.copytree(
        SRC,
        copied,
        ignore=lambda at, names: {
            name for name in names if name == "__pycache__" or (Path(at) == SRC and name in gone)
        },
    )
    for facade in (*copied.glob("*.py"), *copied.glob("*.pyi")):
        text = facade.read_text(encoding="utf-8")
        for name in sorted(gone):
            # One import is one line here, or goes to a closing parenthesis.
            form = rf"^from (?:privacygauge)?\.{name}\b[^\n]*?import (?:\([^)]*\)|[^(\n]*)\n"
            text = re.sub(form, "", text, flags=re.MULTILINE)
            text = re.sub(rf"^from \. import {name} as {name}\n", "", text, flags=re.MULTILINE)
        facade.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("wing", WINGS)
def test_without_a_wing_the_rest_works_and_says_the_same(tmp_path, wing):
    place = without(wing, tmp_path / "src")
    gone = {wing, *WINGS[wing]}
    listed = privacygauge("--help", path=place, cwd=tmp_path)
    assert listed.returncode == 0
    left_out = listed.stderr.splitlines()
    assert left_out
    assert all(" is left out: No module named" in line for line in left_out)
    everything = privacygauge("--help", path=tmp_path, cwd=tmp_path).stdout
    assert set(listed.stdout.split()) < set(everything.split())

    # Only the named edges miss what is gone, by lazy imports and by those for types too.
    missing = tuple(f"privacygauge.{name}" for name in gone)
    found = {
        file.relative_to(place / "privacygauge").as_posix()
        for file in place.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(missing)
    }
    assert found == EDGES.get(wing, set())

    # Pages of the kinds that stay are the same to the byte.
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i % 7},{i * i % 11}\n" for i in range(60)))
    (tmp_path / "h.csv").write_text(
        "submission,account,score\n" + "".join(f"{i},t{i % 4},0.{50 + i}\n" for i in range(40))
    )
    pages = {
        "tables": ("vulnerable", "t.csv"),
        "leaderboards": ("holdout", "bound", "--n", "1000", "--classes", "2", "--queries", "20"),
    }
    for kind, arguments in pages.items():
        if kind in gone:
            continue
        texts = []
        for path in (place, tmp_path):
            out = tmp_path / f"{kind}-{len(texts)}"
            done = privacygauge(*arguments, "--quiet", "--out", str(out), path=path, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            texts.append((out / "report.html").read_bytes())
        assert texts[0] == texts[1]


@pytest.mark.slow
def test_without_a_wing_the_types_of_the_rest_hold(tmp_path):
    """mypy finds what is gone in the installed package, so its Python has the libraries alone."""
    venv.create(tmp_path / "alone", with_pip=False)
    alone = tmp_path / "alone" / "bin" / "python"
    libraries = sysconfig.get_path("purelib", vars={"base": str(tmp_path / "alone")})
    # The path files in a folder that is named in a path file are not read: our own is one of them.
    Path(libraries, "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for wing in WINGS:
        place = without(wing, tmp_path / wing)
        options = ["--config-file", str(ROOT / "pyproject.toml"), "--package", "privacygauge"]
        options += ["--python-executable", str(alone), "--cache-dir", str(tmp_path / "cache")]
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *options],
            cwd=place,
            env={**os.environ, "MYPYPATH": str(place), "PYTHONPATH": ""},
            capture_output=True,
            text=True,
        )
        assert done.stderr == ""
        wrong = {line.split(":")[0] for line in done.stdout.splitlines() if ": error: " in line}
        assert wrong == {f"privacygauge/{file}" for file in EDGES.get(wing, ())}, done.stdout
