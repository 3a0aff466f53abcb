"""Trust: a run folder from somebody else is read, and has no code run under any command."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from privacygauge.cli.commands import RESUMABLE
from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import Request
from privacygauge.runs.contents import Record, record_in
from privacygauge.runs.named import compared_code
from privacygauge.runs.options import Role, asks
from privacygauge.runs.store import read_run
from tests.cli.test_main import one_line, run_inside
from tests.runs.sample import made

pytestmark = pytest.mark.usefixtures("undrawn")

TREES = """
from sklearn.tree import DecisionTreeClassifier
import numpy as np
def depth():
    return 2
def tree(random_state):
    return DecisionTreeClassifier(max_depth=depth(), random_state=random_state)
def fitted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 2))
    return tree(0).fit(x, np.arange(20) % 2)
def rows(frame, n, seed):
    return frame.sample(n, replace=True, random_state=seed)
"""
NETS = """
import torch
from privacygauge import Networks
def make(d, c):
    return torch.nn.Sequential(torch.nn.Linear(d, 3), torch.nn.Tanh(), torch.nn.Linear(3, c))
net = Networks(make, epochs=2, batch_size=10)
"""
ROWS = ("--data", "t.csv", "--label", "sick", "--drop", "trained", "--jobs", 1)
FEW = ("--targets", "3,", "--shadows", 8, "--tests", 8, "--size", 40, "--jobs", 1)
MADE = (
    "command: awk -v n={n} -v s={seed} 'BEGIN {srand(s)} NR == 1 {print; next} "
    "{row[NR - 1] = $0} END {for (i = 0; i < n; i++) print row[1 + int(rand() * (NR - 1))]}'"
)
TREE = ("--model", "FILE.py:tree", *ROWS)
NET = ("--model", "NETS.py:net", *ROWS)
KNOWN = ("--data", "t.csv", "--label", "sick", "--member", "trained", "--jobs", 1, "--shadows", 4)
CANARIES = ("--canaries", 4, "--models", 4, "--fpr", "0.2")
KINDS = {
    "classifier": ("classifier", *TREE, "--shadows", 4),
    "classifier, networks": ("classifier", *NET, "--shadows", 4),
    "classifier, fitted": (
        *("classifier", "--model", "logistic", "--fitted", "FILE.py:fitted"),
        *KNOWN,
    ),
    "defend": (
        *("defend", *TREE, "--shadows", 2),
        *("--defence", "removal:0.2", "--defence", "rounding:1"),
    ),
    "worst-case": ("worst-case", *TREE, *CANARIES, "--wrong-label", "least-likely"),
    "worst-case, networks": ("worst-case", *NET, *CANARIES, "--defence", "dp-sgd:8"),
    "dtp": (
        *("dtp", *TREE, "--measure", 3, "--queries", 5),
        *("--training-sets", 1, "--vary", 2),
    ),
    "synthetic": ("synthetic", "t.csv", "--generator", "FILE.py:rows", *FEW),
    "synthetic, a program": ("synthetic", "t.csv", "--generator", MADE, *FEW),
}
CODE = {"--model": "model", "--fitted": "fitted", "--generator": "generator"}


def named(arguments):
    """Return the option of a command that names code, and its value."""
    places = [i for i, text in enumerate(arguments) if text in CODE and ":" in arguments[i + 1]]
    return arguments[places[0]], arguments[places[0] + 1]


@pytest.fixture
def inside(tmp_path, monkeypatch, capsys):
    """Run a command in this process, in a folder with a table."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    x = (rng.normal(size=(300, 2)) + y[:, None]).round(2)
    table = {"a": x[:, 0], "b": x[:, 1], "sick": y, "trained": rng.random(300) < 0.5}
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda *arguments: run_inside(arguments, capsys)


def marking(path, mark):
    """Write a file that says when it is imported, and return it."""
    path.write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).touch()\n"
        "tree = fitted = rows = net = print\n"
    )
    return path


def forge(run, options, code, command=None):
    """Have a run name other options and other code; its checksum has no key."""
    there = record_in((run / "run.json").read_bytes())
    kept = dict(there.invocation or {})
    asked = {**dict(kept.get("options", {})), **options}
    told = {"command": command or kept.get("command"), "options": asked, "code": code}
    (run / "run.json").write_bytes(Record(there.plan, there.static, told).to_bytes())


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "asked"), KINDS.items(), ids=KINDS)
def test_a_report_needs_no_code_and_resume_asks_for_it(inside, tmp_path, kind, asked):
    if "networks" in kind:
        pytest.importorskip("torch")
    name = f"own_{''.join(filter(str.isalpha, kind))}"
    path = tmp_path / f"{name}.py"
    out = tmp_path / "out"
    text = NETS if "networks" in kind else TREES
    path.write_text(text)
    asked = [str(part).replace("FILE", name).replace("NETS", name) for part in asked]
    first = inside(*asked, "--out", out, "--quiet")
    assert first.returncode == 0, first.stderr
    report = (out / "report.json").read_bytes()
    option, value = named(asked)

    # The code is gone, so nothing can import it: every byte of the report is there.
    path.unlink()
    again = inside("report", out, "--out", tmp_path / "again", "--quiet")
    assert (again.returncode, again.stderr) == (0, "")
    assert (tmp_path / "again" / "report.json").read_bytes() == report

    # Resuming asks for the code, and takes what it was.
    one_line(inside("resume", out, "--quiet"), f"name it again with {option}")
    if value.startswith("command:"):
        one_line(inside("resume", out, option, "command: sh"), "the command has changed")
    else:
        one_line(inside("resume", out, option, value), "does not exist")
        path.write_text(f"# A comment.\n{text}")
        mark = tmp_path / "imported"
        other = marking(tmp_path / f"{name}_changed.py", mark)
        told = inside("resume", out, option, f"{other}:{value.rpartition(':')[2]}")
        one_line(told, "was made with other code")
        assert not mark.exists()
    gone_on = inside("resume", out, option, value, "--quiet")
    assert (gone_on.returncode, gone_on.stderr) == (0, "")
    assert (out / "report.json").read_bytes() == report

    # A forged run names code of its own.
    mark = tmp_path / "executed"
    evil = marking(tmp_path / f"{name}_evil.py", mark)
    there = f"{evil}:{value.rpartition(':')[2]}"
    if value.startswith("command:"):
        there = f"command: touch {mark}"
    forge(out / "run", {CODE[option]: there}, compared_code({CODE[option]: there}, None))
    inside("report", out, "--out", tmp_path / "third", "--quiet")
    inside("report", out, "--model-card")
    inside("runs", out)
    inside("register", f"model={out}", "--json", "-")
    one_line(inside("resume", out), f"name it again with {option}")
    assert not mark.exists()


EVIL = {
    "model": "{folder}/evil_module.py:tree",
    "fitted": "evil_module:fitted",
    "generator": "command: touch {folder}/executed",
}
EVERY = [(command, option) for command in RESUMABLE for option in EVIL]


@pytest.mark.parametrize(
    ("command", "option"),
    [pytest.param(*pair, marks=[pytest.mark.slow] * (pair[0] != "dtp")) for pair in EVERY],
)
def test_no_command_that_reads_a_folder_runs_what_it_names(inside, tmp_path, command, option):
    mark = tmp_path / "executed"
    marking(tmp_path / "evil_module.py", mark)
    out = tmp_path / "out"
    made(out / "run")
    asked = {"data": "t.csv", "label": "sick", option: EVIL[option].format(folder=tmp_path)}
    forge(out / "run", asked, {}, command)
    for verb in (("report",), ("resume",), ("report", "--model-card")):
        one_line(inside(verb[0], out, *verb[1:]), "")
    assert inside("runs", out, "--json", "-").returncode == 0
    one_line(inside("register", f"model={out}"), "")
    assert not mark.exists()


@dataclass(frozen=True, kw_only=True)
class DetectorRequest(Request):
    """Options of a kind from another package, with code of the user's under a name of its own."""

    detector: str = asks("FILE.py:NAME", "Detector.", role=Role.CODE)


def test_code_of_kinds_of_other_packages_has_to_be_named_again(inside, tmp_path, monkeypatch):
    played = []
    command = Command(
        "detect", group="Others", request=DetectorRequest, keeps=True, metrics=(), limits="",
        help="Detect.", play=lambda asked, work: played.append(asked.detector),
    )  # fmt: skip
    monkeypatch.setitem(RESUMABLE, "detect", command)
    source = tmp_path / "own_detector.py"
    source.write_text("def find():\n    return 1\n")
    detector = f"{source}:find"
    out = tmp_path / "out"
    made(out / "run")
    forge(
        out / "run", {"detector": detector}, compared_code({"detector": detector}, None), "detect"
    )
    one_line(inside("resume", out), "name it again with --code detector=FILE.py:NAME")
    one_line(inside("worker", out), "name it again with --code detector=FILE.py:NAME")
    one_line(inside("worker", out, "--code", detector), "--code must be OPTION=FILE.py:NAME")
    assert not played
    assert inside("worker", out, "--code", f"detector={detector}").returncode == 0
    assert played == [detector]
    source.write_text("def find():\n    return 2\n")
    one_line(inside("worker", out, "--code", f"detector={detector}"), "was made with other code")


def test_code_is_compared_before_it_is_imported(inside, tmp_path):
    path = tmp_path / "compared_first.py"
    mark = tmp_path / "executed"
    path.write_text(TREES)
    code = compared_code({"model": f"{path}:tree"}, None)
    made(tmp_path / "out" / "run")
    forge(tmp_path / "out" / "run", {"model": f"{path}:tree"}, code)
    path.write_text(TREES + f"from pathlib import Path\nPath({str(mark)!r}).touch()\n")
    with pytest.raises(InputError, match="the top level of compared_first has changed"):
        compared_code({"model": f"{path}:tree"}, tmp_path / "out" / "run")
    path.write_text(TREES.replace("return 2", "return 3"))
    with pytest.raises(InputError, match=r"was made with other code: compared_first.depth has ch"):
        compared_code({"model": f"{path}:tree"}, tmp_path / "out" / "run")
    assert not mark.exists()


def test_what_a_file_imports_beside_it_counts(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "layers.py").write_text("from . import sizes\nWIDTH = sizes.ONE\n")
    (tmp_path / "parts" / "sizes.py").write_text("ONE = 1\n")
    (tmp_path / "unused.py").write_text("TWO = 1\n")
    path = tmp_path / "file.py"
    path.write_text("import numpy\nfrom parts import layers\ndef make(s):\n    import json\n")
    (found,) = compared_code({"model": f"{path}:make"}, None).values()
    assert set(found) >= {"file.make", "parts.layers.WIDTH", "parts.sizes.ONE"}
    assert not any(name.startswith(("unused", "numpy", "json")) for name in found)
    (tmp_path / "parts" / "sizes.py").write_text("# More.\nONE = 2\n")
    (other,) = compared_code({"model": f"{path}:make"}, None).values()
    assert {name for name in found if found[name] != other[name]} == {"parts.sizes.ONE"}


@pytest.mark.parametrize(
    "change",
    [
        {"codecs": [{"name": "numcodecs.pickle", "configuration": {}}]},
        {"data_type": "object"},
        {"zarr_format": 2},
        {"storage_transformers": [{"name": "other"}]},
    ],
)
def test_arrays_of_a_run_are_plain_numbers(tmp_path, change):
    run = tmp_path / "run"
    made(run)
    path = run / "observations.zarr" / "label" / "zarr.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match="has no readable array label"):
        read_run(run).array("label")


def test_an_older_format_beside_an_array_is_not_read(tmp_path):
    run = tmp_path / "run"
    made(run)
    folder = run / "observations.zarr" / "label"
    (folder / "zarr.json").unlink()
    old = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "order": "C"}
    told = {**old, "fill_value": 0, "compressor": None, "filters": [{"id": "pickle"}]}
    (folder / ".zarray").write_text(json.dumps(told))
    with pytest.raises(InputError, match="has no readable array label"):
        read_run(run).array("label")
