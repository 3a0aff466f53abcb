"""Benchmarks go on where data are missing, and say which."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[1] / "bench"


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
    for script in ("leave_one_out", "generators", "differential_training_privacy",
                   "released_tables", "vulnerability", "masked_energies",
                   "causal_energies"):  # fmt: skip
        duels = list(import_module(script).duels(folder, quick))
        assert duels
        assert all(isinstance(one, duel.Duel) for one in duels)
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_what_lacks_data_is_not_run_and_says_which(without_data, tmp_path):
    duel, page, script = (import_module(name) for name in ("_duel", "_page", "vulnerability"))
    for one in list(script.duels(tmp_path, True))[:1]:
        outcome = duel.held(one)
        line = page.line(outcome)
        assert outcome.ours is None
        assert "not run: " in line
        assert "adult.data is not in the folder that PRIVACYGAUGE_DATA names" in line
        assert "\n" not in line


@pytest.mark.slow
@pytest.mark.parametrize("word", ["vulnerable", "leave-one-out", "released", "generator, "])
def test_the_others_go_on(without_data, word):
    done = subprocess.run(
        [sys.executable, str(BENCH), "--quick", "--only", word],
        capture_output=True,
        text=True,
        env=os.environ.copy(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.strip().splitlines()
    assert lines
    for line in lines:
        assert ": not run: " in line
        assert "PRIVACYGAUGE_DATA" in line or "not installed" in line
