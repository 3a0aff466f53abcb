"""The demo: a real model on real data, and files to continue with."""

import json
import time

import pytest

from privacygauge.runs.results import LIST
from tests.cli.test_main import FILES, privacygauge, run_inside


@pytest.mark.slow  # CI runs the demo itself, and the worked example looks at its numbers
def test_the_demo_finds_the_leak_it_is_there_to_show(tmp_path, capsys):
    began = time.monotonic()
    done = privacygauge("demo", "--out", tmp_path / "out", "--seed", 1)
    spent = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "leak" in done.stdout.splitlines()[0]
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == sorted([LIST, *FILES, "target.npz", "shadow.npz"])
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert found["headline"]["accuracy"]["low"] > 0.6
    assert "drawn by a fair coin" in found["game"]["secret"]
    assert spent < 60

    target, shadow = (tmp_path / "out" / f"{name}.npz" for name in ("target", "shadow"))
    given = ("classifier", target, "--shadow", shadow, "--json", "-", "--seed", 1)
    again = run_inside(given, capsys)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["attacks"] == found["attacks"]
