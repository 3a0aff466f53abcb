"""The owner's commands and the server under faults.

A disk is full or read-only, a folder closed, a rename fails, a clock is wrong.
Each fault meets a command on a board with submissions. It ends in one line with exit code 2, or
does its work where the fault is none to it; the board and earlier exports are as they were, and
the same command succeeds as soon as the fault is gone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from privacygauge.leaderboards.server import open_board
from privacygauge.leaderboards.server.accounts import add_account
from tests.cli.test_faults import PATCHES, fill, mounted, one_line
from tests.leaderboards.server.serving import NotServedError, Server, labels_of, post
from tests.thorough import crossed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="mounts and users are those of POSIX"),
]

N = 400
TRUTH = labels_of(0, N, 3)
COMMAND = (sys.executable, "-m", "privacygauge", "holdout", "serve")
LABELS = ("--labels", "labels.npy")
COMMANDS = {
    "account": ("account", "cleo"),
    "invite": ("invite", "2"),
    "contest": ("contest", "--title", "Autumn", "--per-day", "5"),
    "phase": ("phase", "main", "--opens", "2026-01-01", "--closes", "2090-01-01"),
    "token": ("token", "ann"),
    "hide": ("hide", "ann", "--reason", "shared labels"),
    "merge": ("merge", "ann", "bea", *LABELS, "--reason", "one team"),
    "void": ("void", "2", *LABELS, "--reason", "leaked"),
    "publish": ("publish",),
    "rescore": ("rescore", "new.sqlite", *LABELS),
    "export": ("export", "log.csv", "--exact"),
    "answers": ("export", "log.jsonl", "--answers", "answers.npz"),
}
FAULTS = ("full", "read-only", "denied", "closed", "rename", "past", "future")


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A folder with a board that has submissions of two teams, and an earlier export."""
    folder = tmp_path_factory.mktemp("board")
    np.save(folder / "labels.npy", TRUTH)
    made = open_board(folder / "leaderboard.sqlite", TRUTH, keep=True, public=0.5)
    rng = np.random.default_rng(1)
    for name in ("ann", "bea"):
        token = add_account(made.engine, name)
        (folder / f"{name}.token").write_text(token)
        for _ in range(6):
            sent = np.where(rng.random(N) < 0.5, TRUTH, rng.integers(0, 3, N))
            made.submit(name, sent)
    made.close()
    for name in ("export", "answers"):
        done = started(COMMANDS[name], folder)
        assert done.returncode == 0, done.stderr
    return folder


def started(command, folder: Path, *before: str, patch: Path | None = None):
    paths = [str(patch)] if patch else []
    paths += os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return subprocess.run(
        [*before, *COMMAND, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def content(folder: Path) -> dict[str, object]:
    """Return all rows of the board, and the bytes of the exports."""
    with contextlib.closing(sqlite3.connect(folder / "leaderboard.sqlite")) as database:
        (found,) = database.execute("PRAGMA integrity_check").fetchone()
        assert found == "ok"
        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        names = [name for (name,) in database.execute(query)]
        rows = {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    exports = [path for path in folder.iterdir() if path.name.startswith(("log", "answers"))]
    return {**rows, **{path.name: path.read_bytes() for path in exports}}


class Faulty:
    """A copy of the board under one fault, which can be taken away again."""

    def __init__(self, fault: str, board: Path, tmp_path: Path, after: contextlib.ExitStack):
        self.fault = fault
        self.folder = tmp_path / "disk"
        self.before: tuple[str, ...] = ()
        self.patch: Path | None = None
        if fault in ("full", "read-only"):
            after.enter_context(mounted(self.folder, "-o", "size=4m"))
        shutil.copytree(board, self.folder, dirs_exist_ok=True)
        self.content = content(self.folder)
        if fault in ("denied", "closed"):
            if os.geteuid() != 0 or shutil.which("setpriv") is None:
                pytest.skip("another user is needed")
            self.before = ("setpriv", "--reuid", "65534", "--clear-groups")
            for place in (self.folder, *self.folder.iterdir()):
                place.chmod(0o755 if place.is_dir() else 0o644)
            for place in tmp_path.parents:
                if place.stat().st_uid == os.geteuid() and place != Path("/"):
                    place.chmod(place.stat().st_mode | 0o055)
            tmp_path.chmod(0o755 if fault == "denied" else 0o700)
        elif fault not in ("full", "read-only"):
            self.patch = tmp_path / fault
            self.patch.mkdir()
            (self.patch / "sitecustomize.py").write_text(PATCHES[fault])

    def begin(self) -> None:
        if self.fault == "full":
            fill(self.folder, 0)
        elif self.fault == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", str(self.folder)], check=True)

    def end(self) -> None:
        if self.fault == "full":
            (self.folder / "filler").unlink()
        elif self.fault == "read-only":
            subprocess.run(["mount", "-o", "remount,rw", str(self.folder)], check=True)


@pytest.mark.parametrize(("name", "fault"), crossed(tuple(COMMANDS), FAULTS))
def test_a_fault_is_one_line_and_the_board_is_as_it_was(tmp_path, board, name, fault):
    with contextlib.ExitStack() as after:
        faulty = Faulty(fault, board, tmp_path, after)
        faulty.begin()
        folder = faulty.folder
        done = started(COMMANDS[name], folder, *faulty.before, patch=faulty.patch)
        if done.returncode == 0:
            # A wrong clock is none of their business, and most rename nothing.
            assert fault in ("past", "future", "rename"), done
            content(folder)
            return
        one_line(done)
        faulty.end()
        assert content(folder) == faulty.content
        assert not [path for path in folder.iterdir() if path.name.endswith((".tmp", ".partial"))]
        done = started(COMMANDS[name], folder)
        assert done.returncode == 0, done.stderr


def serving(faulty: Faulty) -> Server:
    files = ("--labels", str(faulty.folder / "labels.npy"))
    database = ("--database", str(faulty.folder / "leaderboard.sqlite"))
    return Server(*files, *database, before=faulty.before, patch=faulty.patch)


def sent(number: int) -> np.ndarray:
    return np.random.default_rng([7, number]).integers(0, 3, N)


def kept_numbers(folder: Path) -> list[int]:
    with contextlib.closing(sqlite3.connect(folder / "leaderboard.sqlite")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [row[0] for row in database.execute("SELECT number FROM submission ORDER BY number")]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_starts_under_a_fault_serves_or_says_why(tmp_path, board, fault):
    token = (board / "ann.token").read_text()
    with contextlib.ExitStack() as after:
        faulty = Faulty(fault, board, tmp_path, after)
        faulty.begin()
        try:
            server = serving(faulty)
        except NotServedError as refused:
            status, told = refused.args
            assert status == 2
            assert len(told.strip().splitlines()) == 1, told
            assert fault not in ("past", "future")
        else:
            after.callback(server.kill)
            status, answer = post(server.url, token, sent(0), key="first")
            expected = {200, 503} if fault in ("past", "future", "rename") else {503}
            assert status in expected, answer
            faulty.end()
            if fault in ("full", "read-only"):
                # The same server goes on where the fault is gone, and the same key is counted once.
                answers = {post(server.url, token, sent(0), key="first")[0] for _ in range(3)}
                assert answers == {200}
                assert kept_numbers(faulty.folder) == list(range(1, 14))
            assert server.stop() == 0
            return
        faulty.end()
        assert content(faulty.folder) == faulty.content


def test_a_disk_that_fills_under_a_server_loses_nothing(tmp_path, board):
    """What was answered is kept, what was not is answered again, and nothing is counted twice."""
    token = (board / "ann.token").read_text()
    with contextlib.ExitStack() as after:
        faulty = Faulty("full", board, tmp_path, after)
        server = serving(faulty)
        after.callback(server.kill)
        released = {}
        for number in range(3):
            status, released[number] = post(server.url, token, sent(number), key=str(number))
            assert status == 200
        faulty.begin()
        for number in range(3, 6):
            status, answer = post(server.url, token, sent(number), key=str(number))
            assert status in (200, 503), answer
            if status == 200:
                released[number] = answer
        faulty.end()
        for number in range(6):
            status, answer = post(server.url, token, sent(number), key=str(number))
            assert status == 200
            assert released.setdefault(number, answer) == answer
        assert sorted(answer["number"] for answer in released.values()) == list(range(13, 19))
        assert kept_numbers(faulty.folder) == list(range(1, 19))
        assert server.stop() == 0
