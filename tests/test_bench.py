"""Benchmarks go on where data are missing, and say which."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from tests.thorough import THOROUGH

BENCH = Path(__file__).parents[1] / "bench"
SLEEPER = """
import os, time
time.sleep(0.5)

def work():
    return lambda: [os.getpid()]
"""


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    """Neither the user's folder, nor a cache, nor a network."""
    monkeypatch.delenv("PRIVACYGAUGE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.syspath_prepend(BENCH)


@pytest.mark.slow
@pytest.mark.parametrize("quick", [True, False])
def test_listing_reads_no_data_and_makes_none(without_data, tmp_path, quick):
    duel = import_module("_duel")
    folder = tmp_path / "listed"
    folder.mkdir()
    for script in command_line().SCRIPTS:
        duels = list(import_module(script).duels(folder, quick))
        assert duels
        assert all(isinstance(one, duel.Duel) for one in duels)
    assert not list(folder.iterdir())


def command_line():
    """Return bench/__main__.py as a module."""
    spec = spec_from_file_location("bench_main", BENCH / "__main__.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_each_line_has_one_honest_baseline_or_libraries(without_data, tmp_path):
    rivals = defaultdict(list)
    for quick in (True, False):
        for one in command_line().listed(tmp_path, quick):
            rivals[quick, one.path, one.size].append(one.theirs.peer)
    for line, peers in rivals.items():
        assert len(set(peers)) == len(peers), line
        assert len(peers) == 1 or "" not in peers, line


@pytest.mark.slow
def test_only_what_is_still_measured_is_kept(without_data, tmp_path):
    page = import_module("_page")
    main = command_line()
    duels = [one for quick in (False, True) for one in main.listed(tmp_path, quick)]
    offered = page.rivals(duels)
    kept = json.loads(page.RESULTS.read_text())
    assert {page.key(row) for row in kept} <= set(offered)
    fewer = [rival for rival in offered if rival[0] != "ROC curve"]
    left = page.merged([], fewer)
    assert {row["path"] for row in kept if row not in left} == {"ROC curve"}


def test_each_version_keeps_its_ratio_and_the_tables_show_the_newest(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCH)
    page = import_module("_page")
    old = json.loads(page.RESULTS.read_text())
    monkeypatch.setattr(page, "RESULTS", tmp_path / "results.json")
    page.RESULTS.write_text(json.dumps(old))
    first = next(row for row in old if not row["error"])
    new = first | {"version": "0.10.0", "ratio": [7.0, 77.0, 777.0]}
    again = new | {"ratio": [8.0, 88.0, 888.0]}
    offered = list(dict.fromkeys(map(page.key, old)))
    page.keep([new], offered)
    page.keep([again], offered)
    kept = json.loads(page.RESULTS.read_text())
    assert len(kept) == len(old) + 1
    assert kept.index(again) == kept.index(first) + 1
    tables, history = page.page(kept, "figure.svg").split("## From version to version")
    assert "88 (8 to 888)" in tables
    assert page.spread(first["ratio"]) not in tables.split("## Where")[0].split(first["path"])[1]
    line = next(row for row in history.splitlines() if "88 (8 to 888)" in row)
    assert page.spread(first["ratio"]) in line
    assert "77 (7 to 777)" not in history


@pytest.mark.slow
def test_a_whole_turn_is_a_process_from_its_start_on(without_data, tmp_path):
    duel = import_module("_duel")
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    side = duel.Side("sleeper", str(tmp_path / "sleeper.py"), "work")
    with duel.at_work(side, whole=True) as turn:
        first = turn()
        second = turn()
    assert min(first["seconds"], second["seconds"]) > 0.5
    assert first["value"] != second["value"]
    with duel.at_work(side, whole=False) as turn:
        first = turn()
        second = turn()
    assert max(first["seconds"], second["seconds"]) < 0.5
    assert first["value"] == second["value"]


@pytest.mark.slow
def test_what_lacks_data_is_not_run_and_says_which_and_the_others_go_on(without_data):
    words = ["vulnerable", "released", "generator, "]
    if THOROUGH:  # as the first, but for the script
        words.append("leave-one-out")
    done = subprocess.run(
        [sys.executable, str(BENCH), "--quick", "--only", *words],
        capture_output=True,
        text=True,
        env=os.environ.copy(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.strip().splitlines()
    for word in words:
        assert any(word in line for line in lines)
    for line in lines:
        assert ": not run: " in line
        assert "PRIVACYGAUGE_DATA" in line or "not installed" in line
        if "vulnerable" in line:
            assert "adult.data is not in the folder that PRIVACYGAUGE_DATA names" in line
