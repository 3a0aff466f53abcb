"""Free memory: what the machine has, or less where a container may not use all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from privacygauge.runs import threads

AVAILABLE = 8 * 2**30


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the root of a made-up machine with 8 GiB available and no container."""
    monkeypatch.setattr(threads, "Path", lambda path: tmp_path / path.lstrip("/"))
    (tmp_path / "proc").mkdir()
    lines = f"MemTotal: 99 kB\nMemAvailable: {AVAILABLE // 1024} kB\n"
    (tmp_path / "proc/meminfo").write_text(lines)
    return tmp_path


def container(machine: Path, most: str, used: int) -> None:
    group = machine / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text(f"{most}\n")
    (group / "memory.current").write_text(f"{used}\n")


def test_a_machine_without_a_container_has_what_it_says(machine: Path) -> None:
    assert threads.free_memory() == AVAILABLE


@pytest.mark.parametrize(
    ("most", "used", "free"),
    [
        ("max", 2**30, AVAILABLE),
        (str(4 * 2**30), 2**30, 3 * 2**30),
        (str(2**30), 2 * 2**30, 0),
        (str(2**50), 2**30, AVAILABLE),
    ],
)
def test_a_container_takes_some_away(machine: Path, most: str, used: int, free: int) -> None:
    container(machine, most, used)
    assert threads.free_memory() == free


def test_a_machine_that_does_not_say_has_four_gibibytes(machine: Path) -> None:
    (machine / "proc/meminfo").unlink()
    assert threads.free_memory() == 4 * 2**30


@pytest.mark.parametrize(
    ("n_bytes", "words"),
    [
        (1023, "1023 bytes"),
        (3 * 2**20, "3 MiB"),
        (1536 * 2**20, "1.5 GiB"),
        (2**60, "more than a million GiB"),
    ],
)
def test_bytes_are_told_in_words(n_bytes: int, words: str) -> None:
    assert threads.bytes_text(n_bytes) == words
