"""What the tests of the scoring server share: labels, boards, clients and a real process."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

import numpy as np
import pytest

SRC = Path(__file__).resolve().parents[3] / "src"
only_sqlite = pytest.mark.parametrize("place", ["sqlite"], indirect=True)
SERVE = ("-m", "privacygauge", "holdout", "serve")


def labels_of(seed: int, n: int, m: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, m, n)


def npy(labels) -> bytes:
    stream = io.BytesIO()
    np.save(stream, labels)
    return stream.getvalue()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


class NotServedError(Exception):
    """A server that ended before it served: its exit code, and what it said."""


class Server:
    """A server as its owner starts it, in a process of its own.

    `before` runs the command, as another user say; `patch` is a folder whose sitecustomize.py the
    interpreter runs first.
    """

    def __init__(
        self,
        *arguments: str,
        port: int = 0,
        before: tuple[str, ...] = (),
        patch: Path | None = None,
    ) -> None:
        paths = [str(SRC)] if patch is None else [str(patch), str(SRC)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, *SERVE, *arguments, "--port", str(port), "--quiet"]
        self.process = subprocess.Popen(
            [*before, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        lines = [self.process.stdout.readline() for _ in range(4)]
        if not lines[3]:
            told = self.process.communicate()[1]
            raise NotServedError(self.process.returncode, told)
        self.url = lines[3].split()[2].rstrip(";")
        self.port = int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode


@contextmanager
def served(*arguments: str):
    server = Server(*arguments)
    try:
        yield server
    finally:
        server.kill()


def post(url: str, token: str, labels, key: str | None = None, timeout: float = 60):
    """Return status and answer of one submission."""
    head = bearer(token) | {"Content-Type": "application/octet-stream"}
    if key is not None:
        head["Idempotency-Key"] = key
    request = urllib.request.Request(f"{url}/submissions", npy(labels), head)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def post_until_answered(url: str, token: str, labels, key: str, seconds: float = 120):
    """Return status and answer, asked for with the same key until there is one."""
    ends = time.monotonic() + seconds
    while True:
        try:
            return post(url, token, labels, key, timeout=10)
        except (OSError, HTTPException):  # refused, reset, cut off
            if time.monotonic() > ends:
                raise
            time.sleep(0.05)


class OverHttp:
    """All that an attack may use of an oracle: a server asked from accounts that take turns."""

    budget = None

    def __init__(self, ask, tokens: list[str], each: int, holdout, guard) -> None:
        self.ask = ask
        self.tokens = tokens
        self.total = each * len(tokens)
        self.n = len(holdout)
        self.n_classes = holdout.n_classes
        self.error = guard.error(self.n)
        self.used = 0

    def left(self, account: str = "") -> int:
        return self.total - self.used

    def submit(self, labels, *, account: str = "", claimed: float | None = None) -> float:
        return float(self.submit_all(np.asarray(labels)[None])[0])

    def submit_all(self, labels, *, account: str = "", claimed: float | None = None):
        answers = []
        for row in np.asarray(labels):
            status, answer = self.ask(self.tokens[self.used % len(self.tokens)], row)
            assert status == 200, answer
            answers.append(answer["score"])
            self.used += 1
        return np.array(answers)


def replayed(guard, truth, m, submissions, key):
    """Return a guard's answers to submissions, as it gives them without any database."""
    from privacygauge.leaderboards.mechanism import MarkedSubmission

    state = guard.start(key)
    answers = []
    for labels in submissions:
        marked = MarkedSubmission(int((labels == truth).sum()), len(truth), m, None, labels, truth)
        answer, state = guard.answer(marked, state)
        answers.append(answer)
    return answers


def replayed_apart(board, submissions):
    """Return the answers to (account, labels) in order, each account's own guard apart."""
    truth = board.holdout.labels
    m = board.holdout.n_classes
    of: dict[str, list] = {}
    for account, labels in submissions:
        of.setdefault(account, []).append(labels)
    answers = {
        account: iter(replayed(board.guard, truth, m, sent, key_of(board, account)))
        for account, sent in of.items()
    }
    return [next(answers[account]) for account, _ in submissions]


def key_of(board, account: str) -> bytes:
    """Return the key behind the noise of an account's answers."""
    from sqlalchemy import select

    from privacygauge.leaderboards.server.database import ACCOUNT, STATE, reading

    query = select(STATE.c.state_key).join(ACCOUNT, ACCOUNT.c.id == STATE.c.holder)
    with reading(board.engine) as connection:
        return connection.execute(query.where(ACCOUNT.c.name == account)).scalar_one()
